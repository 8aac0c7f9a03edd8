"""By how much the times of an estimate and of the truth are apart."""

from collections.abc import Iterable

import numpy as np
import small_gicp

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import Array, inverse_from_transform
from fieldplay.trajectories.trajectory import FusionError, Stamps, Trajectory, poses_between

VOXEL_M = 0.4
NEIGHBOURS = 12
FARTHEST_PAIR_M = 2.0
FEWEST_POINTS = 200
REACH_S, COARSE, FINE = 1.0, 100, 20  # how far is looked, in how many steps to each side, and then around the best
MOST_STEPS = 2000
STEP_S = 2.0  # over which motions are compared: over shorter ones the noise of the poses outweighs them
LEAST_STEPS = 20
LEAST_ANGLE_RAD, LEAST_DISTANCE_M = 1e-9, 1e-9
LEAST_GAIN = 0.02  # of the errors: a best that is no better than the worst says nothing


# How a lidar moves from scan to scan, by putting each onto the one before: enough to compare motions over seconds.


def poses_of_scans(scans: Iterable[Array]) -> Array:
    """Estimate the motion of a lidar from scan to scan by GICP: enough to compare motions over seconds.

    Motion within a scan is not compensated, so a pose is that of the middle of its sweep.

    Args:
        scans: points (m, 3) in m of each scan, in the lidar's frame; one with too few points repeats the last motion.

    Returns:
        first_T_scan (n, 4, 4).
    """
    poses, step = [np.eye(4)], np.eye(4)
    before = None
    for points in scans:
        if len(points) < FEWEST_POINTS:
            ready = None
        else:
            ready = small_gicp.preprocess_points(
                np.asarray(points, np.float64), downsampling_resolution=VOXEL_M, num_neighbors=NEIGHBOURS, num_threads=1
            )
        if before is not None and ready is not None:
            result = small_gicp.align(
                before[0], ready[0], before[1], init_T_target_source=step, registration_type="GICP",
                max_correspondence_distance=FARTHEST_PAIR_M, num_threads=1,
            )  # fmt: skip
            step = np.asarray(result.T_target_source, np.float64)
        if before is not None:
            poses.append(poses[-1] @ step)
        before = ready or before
    return np.array(poses)


def find_time_offset(estimate: Trajectory, truth: Trajectory, *, within_s: float, reach_s: float = REACH_S) -> float:
    """Find the time offset at which the motions of two trajectories agree.

    Motions over two seconds are compared, by distance and where both have an orientation by angle, so neither alignment
    nor drift matters.

    Args:
        estimate: the estimate.
        truth: the truth, of the same frame.
        within_s: half the longest gap that is interpolated.
        reach_s: the largest offset that is tried, to both sides.

    Returns:
        The seconds to be added to the estimate's times.

    Raises:
        FusionError: there are too few motions, or no offset fits better than the others.
    """
    is_fewer = len(estimate) < len(truth)
    fewer, more = (estimate, truth) if is_fewer else (truth, estimate)
    starts, ends = _steps(fewer.stamp_ns)
    if len(starts) < LEAST_STEPS:
        raise FusionError(f"--offset auto: expected {LEAST_STEPS} motions to compare, got {len(starts)}")
    known = _motions(fewer.poses[starts], fewer.poses[ends])
    turned = estimate.has_orientation and truth.has_orientation

    def cost(offset_s: float) -> float:
        shift_ns = round((offset_s if is_fewer else -offset_s) * NS_PER_S)
        low, is_low = poses_between(more, fewer.stamp_ns[starts] + shift_ns, longest_gap_ns=2 * within_s * NS_PER_S)
        high, is_high = poses_between(more, fewer.stamp_ns[ends] + shift_ns, longest_gap_ns=2 * within_s * NS_PER_S)
        there = is_low & is_high
        if there.sum() < max(LEAST_STEPS, len(starts) / 3):
            return np.inf
        difference = np.abs(_motions(low, high) - known)[there].mean(axis=0)
        # The sum of logarithms is that of a product: the units of distance and angle need no weights.
        distance, angle = np.log(difference + np.array([LEAST_DISTANCE_M, LEAST_ANGLE_RAD]))
        return float(distance + angle if turned else distance)

    coarse = np.linspace(-reach_s, reach_s, 2 * COARSE + 1)
    costs = np.array([cost(float(offset)) for offset in coarse])
    if not np.isfinite(costs).any():
        raise FusionError(f"--offset auto: estimate and truth are at no times within {reach_s:g} s of each other")
    best = int(np.argmin(costs))
    finite = costs[np.isfinite(costs)]
    if finite.max() - finite.min() < LEAST_GAIN or best in (0, len(coarse) - 1):
        raise FusionError(f"--offset auto: no offset within {reach_s:g} s fits better than the others; give --offset S")
    step = reach_s / COARSE
    fine = coarse[best] + np.linspace(-step, step, 2 * FINE + 1)
    return round(float(fine[np.argmin([cost(float(offset)) for offset in fine])]), 6)


def _steps(stamp_ns: Stamps) -> tuple[Stamps, Stamps]:
    """Rows at which motions begin and end, so far apart or the next row that is farther."""
    ends = np.searchsorted(stamp_ns, stamp_ns + round(STEP_S * NS_PER_S))
    starts = np.flatnonzero(ends < len(stamp_ns))
    starts = starts[:: max(1, len(starts) // MOST_STEPS)]
    ends = ends[starts]
    near = stamp_ns[ends] - stamp_ns[starts] < 4 * STEP_S * NS_PER_S
    return starts[near], ends[near]


def _motions(start: Array, end: Array) -> Array:
    """Ways in m and angles in rad from poses to others (n, 2)."""
    moved = inverse_from_transform(start) @ end
    sine = np.stack([moved[:, 2, 1] - moved[:, 1, 2], moved[:, 0, 2] - moved[:, 2, 0], moved[:, 1, 0] - moved[:, 0, 1]])
    angle = np.arctan2(np.linalg.norm(sine, axis=0), np.trace(moved[:, :3, :3], axis1=1, axis2=2) - 1.0)
    return np.stack([np.linalg.norm(moved[:, :3, 3], axis=1), angle], axis=1)


def usual_period_s(trajectory: Trajectory) -> float:
    """Compute the median time from pose to pose.

    Args:
        trajectory: the trajectory.

    Returns:
        The time in s; 0 of a single pose.
    """
    return float(np.median(np.diff(trajectory.stamp_ns))) / NS_PER_S if len(trajectory) > 1 else 0.0
