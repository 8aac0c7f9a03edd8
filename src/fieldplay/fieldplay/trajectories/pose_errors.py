"""Errors of one trajectory against another: absolute, relative from pose to pose, and relative over a length of way.

Relative errors are those of the motion between two poses, E = (G_i^-1 G_j)^-1 (P_i^-1 P_j) with the truth G and the
estimate P, and do not depend on how the two frames of reference lie. Lengths are metres, angles rad.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array, transform_from_rotation
from fieldplay.trajectories.association import PosePairs

Indices = NDArray[np.intp]
ROUNDING_M = 1e-9  # a way that falls short of a length by less has that length
PERCENTILES = (5, 25, 75, 95)
KITTI_LENGTHS_M, KITTI_STEP = tuple(range(100, 900, 100)), 10  # of segments, and poses from start to start


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Statistics of errors; NaN where there are none.

    Args:
        count: how many.
        rmse: root mean square.
        mean: the mean.
        median: the median.
        std: the standard deviation about the mean.
        least: the smallest.
        most: the largest.
        percentiles: those of PERCENTILES.
    """

    count: int
    rmse: float
    mean: float
    median: float
    std: float
    least: float
    most: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Errors of n poses or motions.

    Args:
        translation: (n,) in m, or in the unit that the function says.
        rotation: (n,) in rad; NaN where there is no orientation.
    """

    translation: Array
    rotation: Array

    def __len__(self) -> int:
        return len(self.translation)


@dataclass(frozen=True, kw_only=True, eq=False)
class LengthErrors:
    """Relative errors over a length of path.

    Args:
        length_m: the length.
        starts: indices (k,) of the pairs where it starts.
        errors: of translation as a fraction of the length, of rotation in rad/m.
    """

    length_m: float
    starts: Indices
    errors: Errors


def statistics_of(errors: Array) -> Statistics:
    """Compute statistics.

    Args:
        errors: errors (n,).

    Returns:
        Their statistics, in the unit of the errors; count 0 and NaN where there are none.
    """
    if not len(errors) or np.isnan(errors).all():
        nan = float("nan")
        return Statistics(
            count=0, rmse=nan, mean=nan, median=nan, std=nan, least=nan, most=nan, percentiles=(nan,) * len(PERCENTILES)
        )
    return Statistics(
        count=len(errors),
        rmse=float(np.sqrt(np.mean(errors**2))),
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        std=float(errors.std()),
        least=float(errors.min()),
        most=float(errors.max()),
        percentiles=tuple(float(value) for value in np.percentile(errors, PERCENTILES)),
    )


def absolute_errors(pairs: PosePairs) -> Errors:
    """Compute absolute errors (ATE) of aligned pairs.

    Args:
        pairs: pairs (n,) in one frame of reference.

    Returns:
        Distances in m and angles in rad (n,).
    """
    return _errors(motion_between(pairs.truth, pairs.estimate), pairs.has_orientation)


def axis_errors(pairs: PosePairs) -> Array:
    """Compute position errors by axis.

    Args:
        pairs: pairs (n,) in one frame of reference.

    Returns:
        Estimate minus truth (n, 3) in m along the axes of the frame of reference.
    """
    return np.asarray(pairs.estimate[:, :3, 3] - pairs.truth[:, :3, 3], np.float64)


def steps_over_frames(count: int, delta: int, *, all_pairs: bool = False) -> tuple[Indices, Indices]:
    """Choose steps of a number of poses.

    Args:
        count: how many poses there are.
        delta: how many poses a step has.
        all_pairs: start a step at each pose; else where the one before ends.

    Returns:
        First and last indices (k,).

    Raises:
        ValueError: delta is below 1.

    Example:
        >>> [indices.tolist() for indices in steps_over_frames(5, 2)]
        [[0, 2], [2, 4]]
    """
    if delta < 1:
        raise ValueError(f"delta: expected 1 pose or more, got {delta}")
    first = np.arange(0, max(count - delta, 0), 1 if all_pairs else delta)
    return first, first + delta


def steps_over_distance(positions_m: Array, delta_m: float) -> tuple[Indices, Indices]:
    """Choose steps of a path length, one after the other.

    Args:
        positions_m: positions (n, 3).
        delta_m: the least path length of a step.

    Returns:
        First and last indices (k,).

    Raises:
        ValueError: the length is not positive.
    """
    if not delta_m > 0:
        raise ValueError(f"delta: expected more than 0 m, got {delta_m}")
    lengths = np.linalg.norm(np.diff(positions_m, axis=0), axis=1)
    travelled = np.concatenate([np.zeros(1), np.cumsum(lengths)])
    met = [0]
    while (following := int(np.searchsorted(travelled, travelled[met[-1]] + delta_m - ROUNDING_M))) < len(travelled):
        met.append(max(following, met[-1] + 1))
    met_at = np.array(met if len(positions_m) else [], np.intp)
    return met_at[:-1], met_at[1:]


def relative_pose_errors(pairs: PosePairs, steps: tuple[Indices, Indices]) -> Errors:
    """Compute relative pose errors (RPE).

    Args:
        pairs: pairs (n,), aligned or not.
        steps: first and last indices (k,).

    Returns:
        Errors of the motions in m and rad (k,).
    """
    return _errors(_relative(pairs, *steps), pairs.has_orientation)


def errors_over_length(
    pairs: PosePairs, travelled_m: Array, length_m: float, *, per_travelled: bool = False
) -> LengthErrors:
    """Compute relative errors over a length of the truth's path, from each pose with so much path after it.

    As the KITTI benchmark, after Kuemmerle et al. A motion ends at the first pose that is so far along the path.

    Args:
        pairs: pairs (n,), aligned or not.
        travelled_m: path length of the truth at each pair (n,).
        length_m: the length.
        per_travelled: divide by the path length between the two poses, which fits poses far apart; else by `length_m`.

    Returns:
        Errors of translation in m/m and of rotation in rad/m.
    """
    last = np.searchsorted(travelled_m, travelled_m + (length_m - ROUNDING_M))
    starts = np.flatnonzero(last < len(travelled_m))
    ends = last[starts]
    differences = _errors(_relative(pairs, starts, ends), pairs.has_orientation)
    distance_m = travelled_m[ends] - travelled_m[starts] if per_travelled else np.full(len(starts), length_m)
    errors = Errors(translation=differences.translation / distance_m, rotation=differences.rotation / distance_m)
    return LengthErrors(length_m=length_m, starts=starts, errors=errors)


def segment_errors(
    pairs: PosePairs, lengths_m: Sequence[float] = KITTI_LENGTHS_M, *, every: int = KITTI_STEP
) -> tuple[LengthErrors, ...]:
    """Compute the errors over segments as the development kit of KITTI's odometry benchmark does.

    A segment starts at each tenth pose and ends at the first one that is further along the truth than its length; the
    path is measured from pose to pose. KITTI's figures are the means over the segments of all lengths.

    Args:
        pairs: pairs (n,), aligned or not.
        lengths_m: lengths of the segments.
        every: how many poses apart segments start.

    Returns:
        Errors of translation in m/m and of rotation in rad/m, for each length that some segment has.
    """
    steps_m = np.linalg.norm(np.diff(pairs.truth[:, :3, 3], axis=0), axis=1)
    travelled_m = np.concatenate([np.zeros(1), np.cumsum(steps_m)])
    starts = np.arange(0, len(pairs), every)
    segments = []
    for length_m in lengths_m:
        ends = np.searchsorted(travelled_m, travelled_m[starts] + length_m, side="right")
        is_whole = ends < len(travelled_m)
        errors = _errors(_relative(pairs, starts[is_whole], ends[is_whole]), pairs.has_orientation)
        per_m = Errors(translation=errors.translation / length_m, rotation=errors.rotation / length_m)
        if is_whole.any():
            segments.append(LengthErrors(length_m=length_m, starts=starts[is_whole], errors=per_m))
    return tuple(segments)


def angle_from_rotation(rotation: Array) -> Array:
    """Compute the angles of rotations, precise for small ones too.

    Args:
        rotation: rotation matrices (..., 3, 3).

    Returns:
        Angles (...) in rad, from 0 to pi.
    """
    r = np.asarray(rotation, np.float64)
    skew = np.stack([r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], axis=-1)
    trace = np.trace(r, axis1=-2, axis2=-1)
    return np.asarray(np.arctan2(np.linalg.norm(skew, axis=-1), trace - 1), np.float64)


def motion_between(first: Array, last: Array) -> Array:
    """Compute motions between poses; exact also far from the origin, as with positions in a map.

    Args:
        first: poses (n, 4, 4).
        last: poses (n, 4, 4) in the same frame of reference.

    Returns:
        first_T_last (n, 4, 4).
    """
    turned_back = np.swapaxes(first[:, :3, :3], -1, -2)
    difference = last[:, :3, 3:] - first[:, :3, 3:]
    return transform_from_rotation(turned_back @ last[:, :3, :3], (turned_back @ difference)[..., 0])


def _relative(pairs: PosePairs, first: Indices, last: Indices) -> Array:
    of_truth = motion_between(pairs.truth[first], pairs.truth[last])
    return motion_between(of_truth, motion_between(pairs.estimate[first], pairs.estimate[last]))


def _errors(differences: Array, has_orientation: bool) -> Errors:
    rotation = angle_from_rotation(differences[:, :3, :3]) if has_orientation else np.full(len(differences), np.nan)
    return Errors(translation=np.linalg.norm(differences[:, :3, 3], axis=1), rotation=rotation)
