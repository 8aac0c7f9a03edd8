"""Trajectories: where a frame was in another over time, how far it went, and where it was between two times.

Poses are parent_T_child (n, 4, 4), times are nanoseconds that grow from row to row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UserError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import (
    Array,
    quaternion_from_rotation,
    rotation_from_quaternion,
    transform_from_rotation,
)

Stamps = NDArray[np.int64]
Flags = NDArray[np.bool_]
SHORTEST_QUATERNION = 0.5  # a shorter one has no rotation; none at all is 0
LEAST_ANGLE = 1e-6  # between two quaternions: below it straight and round are one
FIRST_REACH = 64  # poses looked at together on the way to the next place


class FusionError(UserError):
    """Two sensors or trajectories that cannot be compared."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory:
    """Poses of a child frame in a parent frame over time.

    Args:
        stamp_ns: times (n,) in ns, strictly ascending.
        poses: parent_T_child (n, 4, 4).
        has_orientation: whether the rotations mean something; else they are identities.
        std_m: the reported standard deviation of each position along its worst axis (n,), NaN where it is not known.

    Raises:
        ValueError: the shapes differ, or the times are not ascending.
    """

    stamp_ns: Stamps
    poses: Array
    has_orientation: bool = True
    std_m: Array | None = None

    def __post_init__(self) -> None:
        if self.poses.shape != (len(self.stamp_ns), 4, 4):
            raise ValueError(f"expected poses ({len(self.stamp_ns)}, 4, 4), got {self.poses.shape}")
        if (np.diff(self.stamp_ns) <= 0).any():
            raise ValueError("expected times that grow")

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def positions_m(self) -> Array:
        """Positions (n, 3)."""
        return self.poses[:, :3, 3]

    def only(self, which: Flags | NDArray[np.intp] | slice) -> "Trajectory":
        """Select poses.

        Args:
            which: a mask (n,), ascending indices, or a slice.

        Returns:
            The selected poses.
        """
        std_m = None if self.std_m is None else self.std_m[which]
        return replace(self, stamp_ns=self.stamp_ns[which], poses=self.poses[which], std_m=std_m)

    def between(self, first_ns: int | None, last_ns: int | None) -> "Trajectory":
        """Select a time range.

        Args:
            first_ns: the first time, inclusive; None for no limit.
            last_ns: the last time, inclusive; None for no limit.

        Returns:
            The poses within.
        """
        is_in = np.ones(len(self.stamp_ns), bool) if first_ns is None else self.stamp_ns >= first_ns
        return self.only(is_in if last_ns is None else is_in & (self.stamp_ns <= last_ns))

    def of_frame(self, child_t_other: Array) -> "Trajectory":
        """Move the trajectory to another frame on the same body.

        Args:
            child_t_other: child_T_other (4, 4), or (n, 4, 4) of a frame that moves on the body.

        Returns:
            parent_T_other over time.
        """
        return replace(self, poses=self.poses @ child_t_other)


def trajectory_from_rows(
    stamp_ns: Stamps, position_m: Array, quaternion: Array | None, *, std_m: Array | None = None
) -> Trajectory:
    """Make a trajectory of rows in any order of time.

    Rows that are not finite are left out, and all but the first of equal times. Where no row has a valid quaternion the
    trajectory has no orientation; where some have, the others are left out.

    Args:
        stamp_ns: times (n,) in ns.
        position_m: positions (n, 3).
        quaternion: quaternions x y z w (n, 4), or None.
        std_m: reported standard deviations (n,), or None.

    Returns:
        The trajectory; it may have no poses.

    Example:
        >>> rows = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
        >>> travelled_from_positions(trajectory_from_rows(np.array([0, 10**9]), rows, None).positions_m).tolist()
        [0.0, 5.0]
    """
    is_valid = np.isfinite(position_m).all(axis=1)
    turned: Flags = np.zeros(len(stamp_ns), bool)
    if quaternion is not None:
        turned = is_valid_rotation(quaternion)
    has_orientation = bool((turned & is_valid).any())
    if has_orientation:
        is_valid &= turned
    stamps, first = np.unique(stamp_ns[is_valid], return_index=True)
    rotation = np.eye(3)
    if quaternion is not None and has_orientation:
        rotation = rotation_from_quaternion(quaternion[is_valid][first])
    poses = transform_from_rotation(rotation, position_m[is_valid][first])
    claims = None if std_m is None else std_m[is_valid][first]
    return Trajectory(stamp_ns=stamps.astype(np.int64), poses=poses, has_orientation=has_orientation, std_m=claims)


def is_valid_rotation(quaternion: Array) -> Flags:
    """Find usable quaternions.

    Args:
        quaternion: (n, 4).

    Returns:
        Which of them (n,) are finite and can be normalised; all zero means no rotation.
    """
    with np.errstate(over="ignore"):
        length = np.linalg.norm(np.nan_to_num(quaternion), axis=1)
    is_valid: Flags = (length >= SHORTEST_QUATERNION) & np.isfinite(length) & np.isfinite(quaternion).all(axis=1)
    return is_valid


def step_indices(positions_m: Array, step_m: float) -> NDArray[np.intp]:
    """Thin out positions by distance.

    Args:
        positions_m: positions (n, 3), n > 0.
        step_m: the distance.

    Returns:
        Indices: the first, and each first one at least `step_m` from the last one chosen, in a straight line.
    """
    indices, start, reach = [0], 0, FIRST_REACH
    while start + 1 < len(positions_m):
        away = np.linalg.norm(positions_m[start : start + reach] - positions_m[start], axis=1)
        beyond = np.flatnonzero(away >= step_m)
        if len(beyond):
            start += int(beyond[0])
            indices.append(start)
            reach = FIRST_REACH
        elif start + reach >= len(positions_m):
            break
        else:
            reach *= 2
    return np.array(indices if len(positions_m) else [], np.intp)


def travelled_from_positions(positions_m: Array, step_m: float = 0.0) -> Array:
    """Compute the path length up to each position.

    Args:
        positions_m: positions (n, 3).
        step_m: if positive, only positions that far from the last one count: noise at standstill adds no length.

    Returns:
        Lengths (n,) in m that never decrease.
    """
    if not step_m > 0:
        steps = np.linalg.norm(np.diff(positions_m, axis=0), axis=1)
        return np.concatenate([np.zeros(min(1, len(positions_m))), np.cumsum(steps)])
    indices = step_indices(positions_m, step_m)
    number = np.searchsorted(indices, np.arange(len(positions_m)), side="right") - 1
    before = travelled_from_positions(positions_m[indices])[number]
    away = np.linalg.norm(positions_m - positions_m[indices][number], axis=1)
    return np.asarray(np.maximum.accumulate(before + away), np.float64)


def poses_between(trajectory: Trajectory, stamp_ns: Stamps, *, longest_gap_ns: float) -> tuple[Array, Flags]:
    """Interpolate a trajectory: positions along straight lines, rotations about one axis from pose to pose.

    Args:
        trajectory: the trajectory.
        stamp_ns: times (m,) in ns.
        longest_gap_ns: the longest time between two poses that is interpolated.

    Returns:
        Poses (m, 4, 4), and which of them are within the trajectory and in no longer gap; the others mean nothing.
    """
    if not len(trajectory):
        return np.tile(np.eye(4), (len(stamp_ns), 1, 1)), np.zeros(len(stamp_ns), bool)
    after = np.clip(np.searchsorted(trajectory.stamp_ns, stamp_ns), 0, len(trajectory) - 1)
    # At the time of a pose it is that pose, however long the gap beside it.
    hit = trajectory.stamp_ns[after] == stamp_ns
    before = np.where(hit, after, np.maximum(after - 1, 0))
    gap_ns = trajectory.stamp_ns[after] - trajectory.stamp_ns[before]
    inside = (stamp_ns >= trajectory.stamp_ns[0]) & (stamp_ns <= trajectory.stamp_ns[-1])
    fraction = np.clip((stamp_ns - trajectory.stamp_ns[before]) / np.maximum(gap_ns, 1), 0.0, 1.0)
    low, high = trajectory.poses[before], trajectory.poses[after]
    position = low[:, :3, 3] + fraction[:, None] * (high[:, :3, 3] - low[:, :3, 3])
    quaternions = quaternion_from_rotation(low[:, :3, :3]), quaternion_from_rotation(high[:, :3, :3])
    quaternion = slerp(quaternions[0], quaternions[1], fraction)
    return transform_from_rotation(rotation_from_quaternion(quaternion), position), inside & (gap_ns <= longest_gap_ns)


def slerp(low: Array, high: Array, fraction: Array) -> Array:
    """Interpolate between unit quaternions along the shorter arc.

    Args:
        low: quaternions (n, 4) at fraction 0.
        high: quaternions (n, 4) at fraction 1.
        fraction: (n,) from 0 to 1.

    Returns:
        Quaternions (n, 4).
    """
    cosine = (low * high).sum(axis=1)
    high = np.where(cosine[:, None] < 0, -high, high)
    angle = np.arctan2(np.linalg.norm(high - low, axis=1) / 2, np.linalg.norm(high + low, axis=1) / 2) * 2
    is_small = angle < LEAST_ANGLE
    sine = np.where(is_small, 1.0, np.sin(angle))
    of_low = np.where(is_small, 1 - fraction, np.sin((1 - fraction) * angle) / sine)
    of_high = np.where(is_small, fraction, np.sin(fraction * angle) / sine)
    return np.asarray(of_low[:, None] * low + of_high[:, None] * high, np.float64)


def tum_lines(trajectory: Trajectory) -> Iterator[str]:
    """Format a trajectory as a TUM file: lines `t x y z qx qy qz qw`.

    Args:
        trajectory: the trajectory; without orientation the rotations are identities.

    Yields:
        Lines with their ends; times are seconds with all nine decimals.
    """
    quaternions = quaternion_from_rotation(trajectory.poses[:, :3, :3])
    rows = zip(trajectory.stamp_ns.tolist(), trajectory.positions_m.tolist(), quaternions.tolist(), strict=True)
    for stamp_ns, position, quaternion in rows:
        seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
        numbers = " ".join(f"{value:.9f}" for value in (*position, *quaternion))
        yield f"{seconds}.{nanoseconds:09d} {numbers}\n"
