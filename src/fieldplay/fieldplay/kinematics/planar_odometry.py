"""Odometry in the plane: twists and their covariances become poses with covariances, row by row or in one batch.

The state goes in and comes out, so that a node with one row at a time and a batch with all rows give the same numbers.
"""

import math
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array

SMALL_TURN = 1e-4  # rad: below this, series replace the quotients
NS_PER_S = 1e9
State_co = TypeVar("State_co", covariant=True)


# Poses in the plane from twists, exactly along the arcs that constant twists drive.


def displacement_from_twist(twist: ArrayLike, duration: ArrayLike) -> Array:
    """Integrate constant twists exactly along their arcs.

    Args:
        twist: vx, vy in m/s, turn rate in rad/s (..., 3).
        duration: durations (...) in s.

    Returns:
        x, y in m and yaw in rad (..., 3) in the frame at the start.

    Example:
        >>> displacement_from_twist([1.0, 0.0, 0.0], 2.0).tolist()
        [2.0, 0.0, 0.0]
    """
    twist, duration = np.asarray(twist, float), np.asarray(duration, float)
    turn = twist[..., 2] * duration
    small = np.abs(turn) < SMALL_TURN
    safe = np.where(small, 1.0, turn)
    forward = np.where(small, 1 - turn**2 / 6, np.sin(safe) / safe)
    sideways = np.where(small, turn / 2, (1 - np.cos(safe)) / safe)
    dx, dy = twist[..., 0] * duration, twist[..., 1] * duration
    return np.stack([forward * dx - sideways * dy, sideways * dx + forward * dy, turn], axis=-1)


def move_poses(pose: ArrayLike, displacement: ArrayLike) -> Array:
    """Move poses by displacements in their own frames.

    Args:
        pose: x, y, yaw (..., 3).
        displacement: x, y, yaw (..., 3) in the frames of the poses.

    Returns:
        x, y, yaw (..., 3); yaw is not wrapped.
    """
    pose, displacement = np.asarray(pose, float), np.asarray(displacement, float)
    cos, sin = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    dx, dy = displacement[..., 0], displacement[..., 1]
    step = np.stack([cos * dx - sin * dy, sin * dx + cos * dy, displacement[..., 2]], axis=-1)
    after: Array = pose + step
    return after


def path_from_twists(twists: ArrayLike, durations: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Integrate a series of twists.

    Args:
        twists: vx, vy, turn rate (n, 3), each held for its duration.
        durations: (n,) in s.
        start: x, y, yaw (3,) before the first.

    Returns:
        Poses x, y, yaw (n + 1, 3), the start included; yaw is not wrapped.
    """
    return path_from_displacements(displacement_from_twist(twists, durations), start)


def path_from_displacements(displacements: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Chain displacements.

    Args:
        displacements: x, y, yaw (n, 3), each in the frame at the end of the one before.
        start: x, y, yaw (3,) before the first.

    Returns:
        Poses x, y, yaw (n + 1, 3), the start included; yaw is not wrapped.
    """
    steps, start = np.asarray(displacements, float), np.asarray(start, float)
    yaw = start[2] + np.concatenate([[0.0], np.cumsum(steps[:, 2])])
    cos, sin = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    x = start[0] + np.concatenate([[0.0], np.cumsum(cos * steps[:, 0] - sin * steps[:, 1])])
    y = start[1] + np.concatenate([[0.0], np.cumsum(sin * steps[:, 0] + cos * steps[:, 1])])
    return np.stack([x, y, yaw], axis=-1)


def covariance_from_planar(planar: ArrayLike, unknown: float) -> Array:
    """Expand covariances in the plane to those of messages.

    Args:
        planar: covariances (..., 3, 3) of x, y, yaw, or of their rates.
        unknown: the variance of the axes that the plane does not have.

    Returns:
        Covariances (..., 6, 6) of x y z and the rotations about them.
    """
    planar = np.asarray(planar, float)
    known = [0, 1, 5]
    covariance = np.zeros((*planar.shape[:-2], 6, 6))
    covariance[..., range(6), range(6)] = unknown
    covariance[..., np.array(known)[:, None], known] = planar
    return covariance


def quaternion_from_yaw(yaw: ArrayLike) -> Array:
    """Compute quaternions of rotations about z.

    Args:
        yaw: angles (...) in rad.

    Returns:
        Quaternions x y z w (..., 4); w is negative for angles beyond half a turn.
    """
    half = np.asarray(yaw, float) / 2
    zero = np.zeros_like(half)
    return np.stack([zero, zero, np.sin(half), np.cos(half)], axis=-1)


@dataclass(frozen=True, kw_only=True, eq=False)
class OdometryState:
    """The state of dead reckoning, which goes from one call to the next.

    Args:
        stamp_ns: time of the last row.
        twist: its vx, vy, turn rate (3,).
        pose: x, y, yaw (3,).
        error_sum: the covariances of all steps (3, 3), each carried to the origin; see `_covariances`.
    """

    stamp_ns: int
    twist: Array
    pose: Array = field(default_factory=lambda: np.zeros(3))
    error_sum: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True, kw_only=True)
class IntegrationLimits:
    """How the time between two rows is integrated: with the mean of their twists, along an exact arc.

    Args:
        longest_s: longer steps are not believed: the arc ends there, and the distance that the twist would have covered
            in the remaining time becomes the standard deviation of what was missed.
        euler_s: if set, the twist of the earlier row is held for this time, whatever the stamps say, straight on before
            the rotation: the numbers of some published bags.
    """

    longest_s: float = math.inf
    euler_s: float | None = None


REAL_TIME = IntegrationLimits()


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegratedOdometry:
    """The result of dead reckoning for n rows.

    Args:
        poses: x, y, yaw (n, 3).
        covariances: (n, 3, 3).
        lengths_m: distance to each pose from the one before (n,), backwards counted as forwards.
        last: the state after all rows.
    """

    poses: Array
    covariances: Array
    lengths_m: Array
    last: OdometryState


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanarOdometry(Generic[State_co]):
    """Odometry of n rows in the plane.

    Args:
        stamp_ns: times (n,).
        poses: x, y, yaw (n, 3) in the odometry's frame.
        twists: vx, vy, turn rate (n, 3) in the base.
        pose_covariances: (n, 6, 6).
        twist_covariances: (n, 6, 6).
        last: the state after all rows.
    """

    stamp_ns: NDArray[np.int64]
    poses: Array
    twists: Array
    pose_covariances: Array
    twist_covariances: Array
    last: State_co


@dataclass(frozen=True, kw_only=True, eq=False)
class _Steps:
    """The ways to n rows: their displacements (n, 3), lengths (n,) and covariances (n, 3, 3) in the body."""

    displacements: Array
    lengths_m: Array
    covariances: Array


def integrate_odometry(
    before: OdometryState | None,
    stamp_ns: NDArray[np.int64],
    twists: Array,
    twist_covariances: Array,
    *,
    stepping: IntegrationLimits = REAL_TIME,
) -> IntegratedOdometry:
    """Integrate twists into poses with covariances.

    One call for all rows and a call for each give the same numbers, as the state goes in and comes out.

    Args:
        before: the state after the rows before; None starts at zero with the first row.
        stamp_ns: times (n,) in ns, n > 0, not before those of the state.
        twists: vx, vy, turn rate (n, 3) in the base.
        twist_covariances: (n, 3, 3).
        stepping: how the time between two rows is integrated.

    Returns:
        Poses, covariances, distances and the state after all rows.

    Raises:
        ValueError: times run back: restart with None there.

    Example:
        >>> stamps, twists = np.array([0, 1, 2]) * 10**9, np.tile([1.0, 0.0, 0.0], (3, 1))
        >>> integrate_odometry(None, stamps, twists, np.zeros((3, 3, 3))).poses[:, 0].tolist()
        [0.0, 1.0, 2.0]
    """
    start = before or OdometryState(stamp_ns=int(stamp_ns[0]), twist=twists[0])
    durations = np.diff(stamp_ns, prepend=start.stamp_ns) / NS_PER_S
    if (durations < 0).any():
        raise ValueError("the times of the rows run back")
    # A step runs from the row before: with the mean of both twists, or as `euler_s` says with the earlier one alone.
    earlier = np.concatenate([start.twist[None], twists[:-1]])
    if stepping.euler_s is None:
        steps = _arcs((twists + earlier) / 2, durations, twist_covariances, longest_s=stepping.longest_s)
    else:
        fixed = np.full(len(twists), stepping.euler_s)
        if before is None:
            fixed[0] = 0.0
        steps = _straight_steps(earlier, fixed, twist_covariances)
    path = path_from_displacements(steps.displacements, start.pose)
    covariances, error_sum = _covariances(start.error_sum, path, steps.covariances)
    last = OdometryState(stamp_ns=int(stamp_ns[-1]), twist=twists[-1], pose=path[-1], error_sum=error_sum)
    return IntegratedOdometry(poses=path[1:], covariances=covariances, lengths_m=steps.lengths_m, last=last)


def _arcs(held: Array, durations: Array, covariances: Array, *, longest_s: float) -> _Steps:
    """Along arcs, over durations (n,) of which only a part may be believed."""
    believed = np.minimum(durations, longest_s)
    missed = held * (durations - believed)[:, None]
    errors = covariances * durations[:, None, None] ** 2
    errors[:, range(3), range(3)] += missed**2
    return _Steps(
        displacements=displacement_from_twist(held, believed),
        lengths_m=np.hypot(held[:, 0], held[:, 1]) * believed,
        covariances=errors,
    )


def _straight_steps(held: Array, durations: Array, covariances: Array) -> _Steps:
    """Straight on, and then the turn."""
    return _Steps(
        displacements=held * durations[:, None],
        lengths_m=np.hypot(held[:, 0], held[:, 1]) * durations,
        covariances=covariances * durations[:, None, None] ** 2,
    )


def _covariances(error_sum: Array, path: Array, steps: Array) -> tuple[Array, Array]:
    """Covariances (n, 3, 3) of the poses path[1:], from those of the steps in the body, and their new sum.

    An error of a step, turned into the world, moves the end by itself and, where it is one of the yaw, by the lever
    from the step's place to the end. The lever splits into a part of the end and one of the step, so the latter add up.
    """
    cos, sin = np.cos(path[:-1, 2]), np.sin(path[:-1, 2])
    to_world = np.zeros_like(steps)
    to_world[:, 0, 0] = to_world[:, 1, 1] = cos
    to_world[:, 0, 1], to_world[:, 1, 0], to_world[:, 2, 2] = -sin, sin, 1.0
    of_step = _lever_arms(path[1:], -1.0) @ to_world
    sums = error_sum + np.cumsum(of_step @ steps @ np.swapaxes(of_step, -1, -2), axis=0)
    of_end = _lever_arms(path[1:], 1.0)
    return of_end @ sums @ np.swapaxes(of_end, -1, -2), sums[-1]


def _lever_arms(poses: Array, sign: float) -> Array:
    levers = np.tile(np.eye(3), (len(poses), 1, 1))
    levers[:, 0, 2], levers[:, 1, 2] = -sign * poses[:, 1], sign * poses[:, 0]
    return levers
