"""Poses of two trajectories that belong together by their times."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array, rotation_about_axis, transform_from_rotation
from fieldplay.trajectories.trajectory import (
    Flags,
    Stamps,
    Trajectory,
    poses_between,
)

INTERPOLATE, NEAREST = "interpolate", "nearest"
ASSOCIATIONS = (INTERPOLATE, NEAREST)
LEAST_MOTION_M2 = 1e-12  # m2: less motion gives no heading
UPRIGHT = 0.7  # of the z axis: less is no slope that a robot stands on


@dataclass(frozen=True, kw_only=True, eq=False)
class PosePairs:
    """Poses of an estimate and of the truth at equal times, each in its own frame of reference.

    Args:
        stamp_ns: times (n,) in ns.
        estimate: poses (n, 4, 4).
        truth: poses (n, 4, 4).
        has_orientation: whether both have orientations: else only positions can be compared.
    """

    stamp_ns: Stamps
    estimate: Array
    truth: Array
    has_orientation: bool = True  # both have one: else only positions can be compared

    def __len__(self) -> int:
        return len(self.stamp_ns)

    def only(self, which: Flags | NDArray[np.intp] | slice) -> "PosePairs":
        """Select pairs.

        Args:
            which: a mask (n,), indices, or a slice.

        Returns:
            The selected pairs.
        """
        return replace(self, stamp_ns=self.stamp_ns[which], estimate=self.estimate[which], truth=self.truth[which])

    def and_then(self, other: "PosePairs") -> "PosePairs":
        """Append pairs.

        Args:
            other: later pairs.

        Returns:
            All pairs; they have an orientation where both have.
        """
        return PosePairs(
            stamp_ns=np.concatenate([self.stamp_ns, other.stamp_ns]),
            estimate=np.concatenate([self.estimate, other.estimate]),
            truth=np.concatenate([self.truth, other.truth]),
            has_orientation=self.has_orientation and other.has_orientation,
        )


def no_pairs() -> PosePairs:
    """Make an empty set of pairs.

    Returns:
        Pairs (0,).
    """
    return PosePairs(stamp_ns=np.zeros(0, np.int64), estimate=np.zeros((0, 4, 4)), truth=np.zeros((0, 4, 4)))


def associate(
    estimate: Trajectory, truth: Trajectory, *, within_s: float, method: str = INTERPOLATE, offset_s: float = 0.0
) -> PosePairs:
    """Pair the poses of two trajectories by time, at the times of the one with fewer poses (of the truth at a tie).

    Args:
        estimate: the estimate.
        truth: the truth.
        within_s: `nearest`: the largest difference in time; `interpolate`: half the longest gap that is interpolated.
        method: `interpolate` the trajectory with more poses, or take its `nearest` pose.
        offset_s: added to the times of the estimate.

    Returns:
        The pairs; there may be none.

    Raises:
        ValueError: the method is unknown.
    """
    moved = replace(estimate, stamp_ns=estimate.stamp_ns + round(offset_s * 1e9))
    fewer, more = (moved, truth) if len(moved) < len(truth) else (truth, moved)
    if method == INTERPOLATE:
        poses, known = poses_between(more, fewer.stamp_ns, longest_gap_ns=2 * within_s * 1e9)
    elif method == NEAREST:
        poses, known = _nearest(more, fewer.stamp_ns, within_s * 1e9)
    else:
        raise ValueError(f"association: expected {' or '.join(ASSOCIATIONS)}, got '{method}'")
    of_fewer, of_more = fewer.poses[known], poses[known]
    pair = (of_fewer, of_more) if fewer is moved else (of_more, of_fewer)
    has_orientation = estimate.has_orientation and truth.has_orientation
    return PosePairs(stamp_ns=fewer.stamp_ns[known], estimate=pair[0], truth=pair[1], has_orientation=has_orientation)


def _nearest(trajectory: Trajectory, stamp_ns: Stamps, within_ns: float) -> tuple[Array, Flags]:
    if not len(trajectory):
        return np.tile(np.eye(4), (len(stamp_ns), 1, 1)), np.zeros(len(stamp_ns), bool)
    after = np.clip(np.searchsorted(trajectory.stamp_ns, stamp_ns, side="right"), 0, len(trajectory) - 1)
    before = np.maximum(after - 1, 0)
    is_after = np.abs(trajectory.stamp_ns[after] - stamp_ns) < np.abs(stamp_ns - trajectory.stamp_ns[before])
    chosen = np.where(is_after, after, before)
    return trajectory.poses[chosen], np.abs(trajectory.stamp_ns[chosen] - stamp_ns) <= within_ns


def relative_yaw(estimate_xy: Array, truth_xy: Array) -> float:
    """Compute the rotation about z that aligns one path with another.

    Args:
        estimate_xy: positions (n, 2).
        truth_xy: positions (n, 2).

    Returns:
        The angle in rad by which the estimate has to be rotated; 0 where nothing moved.
    """
    one, other = (points - points.mean(axis=0) for points in (estimate_xy, truth_xy))
    along, across = (one * other).sum(), (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]).sum()
    return float(np.arctan2(across, along)) if np.hypot(along, across) > LEAST_MOTION_M2 else 0.0


def leveling_transform(pairs: PosePairs) -> Array:
    """Compute the transform that levels the estimate, so that its z axis points up.

    The odometry of a camera is in the frame of its first image, which looks ahead. Up is where the robot's own z axis
    points on average, and then where the heights of both trajectories fit best.

    Args:
        pairs: pairs (n,), n > 0.

    Returns:
        level_T_estimate (4, 4) without translation; the identity where the estimate is nearly level.
    """
    up = pairs.estimate[:, :3, 2].mean(axis=0)
    if not np.linalg.norm(up) > LEAST_MOTION_M2 or abs(up[2]) > UPRIGHT * np.linalg.norm(up):
        return np.eye(4)
    rotation = _turn_up(up, pairs.estimate[0, :3, 0])
    x, y, z = (pairs.estimate[:, :3, 3] @ rotation.T).T
    tilt = np.linalg.lstsq(np.column_stack([x, y, np.ones(len(x))]), pairs.truth[:, 2, 3] - z, rcond=None)[0]
    level = _turn_up(np.array([tilt[0], tilt[1], 1.0]), np.array([1.0, 0.0, 0.0]))
    return np.asarray(transform_from_rotation(level @ rotation, np.zeros(3)), np.float64)


def _turn_up(up: Array, ahead: Array) -> Array:
    """The rotation (3, 3) that turns one direction (3,) up, and another, as far as it is across that, along x."""
    up = up / np.linalg.norm(up)
    ahead = ahead - (ahead @ up) * up
    ahead = ahead / np.linalg.norm(ahead)
    return np.stack([ahead, np.cross(up, ahead), up])


def with_headings(pairs: PosePairs, travelled_m: Array, *, reach_m: float) -> PosePairs:
    """Give a truth without orientation that of the estimate, rotated about z so that the paths fit.

    It makes errors of translation comparable, and says nothing about those of rotation. Both z axes must point up.

    Args:
        pairs: pairs (n,).
        travelled_m: path length of the truth at each pair (n,).
        reach_m: paths are compared from so far before to so far after each pose.

    Returns:
        The pairs, with rotations in the truth.
    """
    first = np.searchsorted(travelled_m, travelled_m - reach_m, side="left")
    last = np.searchsorted(travelled_m, travelled_m + reach_m, side="right")
    one, other = (poses[:, :2, 3] - poses[:, :2, 3].mean(axis=0) for poses in (pairs.estimate, pairs.truth))
    count = (last - first)[:, None]
    sums_one, sums_other = _window_sums(one, first, last), _window_sums(other, first, last)
    products = np.stack([(one * other).sum(axis=1), one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]], axis=1)
    crossed = sums_one[:, 0] * sums_other[:, 1] - sums_one[:, 1] * sums_other[:, 0]
    of_means = np.stack([(sums_one * sums_other).sum(axis=1), crossed], axis=1) / count
    along, across = (_window_sums(products, first, last) - of_means).T
    yaw = np.where(np.hypot(along, across) > LEAST_MOTION_M2, np.arctan2(across, along), relative_yaw(one, other))
    truth = pairs.truth.copy()
    truth[:, :3, :3] = rotation_about_axis(2, yaw) @ pairs.estimate[:, :3, :3]
    return replace(pairs, truth=truth)


def _window_sums(values: Array, first: NDArray[np.intp], last: NDArray[np.intp]) -> Array:
    """Sums (n, k) of values (n, k) from each first row to the row before each last one."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray(sums[last] - sums[first], np.float64)
