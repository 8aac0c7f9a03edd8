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
    """Displacements (..., 3), x, y, turn in the frame at the start, of twists (..., 3) held for durations (...)."""
    twist, duration = np.asarray(twist, float), np.asarray(duration, float)
    turn = twist[..., 2] * duration
    small = np.abs(turn) < SMALL_TURN
    safe = np.where(small, 1.0, turn)
    forward = np.where(small, 1 - turn**2 / 6, np.sin(safe) / safe)
    sideways = np.where(small, turn / 2, (1 - np.cos(safe)) / safe)
    dx, dy = twist[..., 0] * duration, twist[..., 1] * duration
    return np.stack([forward * dx - sideways * dy, sideways * dx + forward * dy, turn], axis=-1)


def move_poses(pose: ArrayLike, displacement: ArrayLike) -> Array:
    """Move poses (..., 3) x, y, yaw by displacements (..., 3) in their own frames; yaw is not wrapped."""
    pose, displacement = np.asarray(pose, float), np.asarray(displacement, float)
    cos, sin = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    dx, dy = displacement[..., 0], displacement[..., 1]
    step = np.stack([cos * dx - sin * dy, sin * dx + cos * dy, displacement[..., 2]], axis=-1)
    after: Array = pose + step
    return after


def path_from_twists(twists: ArrayLike, durations: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Poses (n + 1, 3) along n twists (n, 3), each held for its duration (n,), from the start on."""
    return path_from_displacements(displacement_from_twist(twists, durations), start)


def path_from_displacements(displacements: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Poses (n + 1, 3) along n displacements (n, 3), each in the frame at the end of the one before."""
    steps, start = np.asarray(displacements, float), np.asarray(start, float)
    yaw = start[2] + np.concatenate([[0.0], np.cumsum(steps[:, 2])])
    cos, sin = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    x = start[0] + np.concatenate([[0.0], np.cumsum(cos * steps[:, 0] - sin * steps[:, 1])])
    y = start[1] + np.concatenate([[0.0], np.cumsum(sin * steps[:, 0] + cos * steps[:, 1])])
    return np.stack([x, y, yaw], axis=-1)


def covariance_from_planar(planar: ArrayLike, unknown: float) -> Array:
    """Covariances (..., 6, 6) of x y z and the turns from those of x, y, yaw (..., 3, 3); the rest is unknown."""
    planar = np.asarray(planar, float)
    known = [0, 1, 5]
    covariance = np.zeros((*planar.shape[:-2], 6, 6))
    covariance[..., range(6), range(6)] = unknown
    covariance[..., np.array(known)[:, None], known] = planar
    return covariance


def quaternion_from_yaw(yaw: ArrayLike) -> Array:
    """Quaternions x y z w (..., 4) of turns about z."""
    half = np.asarray(yaw, float) / 2
    zero = np.zeros_like(half)
    return np.stack([zero, zero, np.sin(half), np.cos(half)], axis=-1)


@dataclass(frozen=True, kw_only=True, eq=False)
class OdometryState:
    """Where dead reckoning stands: the time and twist of the last row, the pose x, y, yaw, and the errors summed up.

    The sum (3, 3) is that of all steps' covariances, each carried to the origin; see `_covariances`.
    """

    stamp_ns: int
    twist: Array
    pose: Array = field(default_factory=lambda: np.zeros(3))
    error_sum: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True, kw_only=True)
class IntegrationLimits:
    """How the time between two rows is gone over: the mean of their twists, along an exact arc, for the real time.

    In a step longer than `longest_s` that is not believed: the arc ends there, and the way that the twist would have
    made in the rest of the time is the standard deviation of what was missed. With `euler_s` there is nothing of this:
    the twist of the earlier row is held for this time, whatever the stamps say, straight on before the turn.
    """

    longest_s: float = math.inf
    euler_s: float | None = None


REAL_TIME = IntegrationLimits()


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegratedOdometry:
    """The result of dead reckoning for n rows: poses (n, 3) as x, y, yaw, covariances (n, 3, 3), and the last state.

    `lengths_m` (n,) is the distance to each pose from the one before, backwards as forwards.
    """

    poses: Array
    covariances: Array
    lengths_m: Array
    last: OdometryState


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanarOdometry(Generic[State_co]):
    """Odometry of n rows at times (n,): poses x, y, yaw and twists vx, vy, turn rate (n, 3), covariances (n, 6, 6).

    `last` is where it stands after all rows.
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
    """Go on from a state (None: at zero with the first row) over times (n,), twists (n, 3) and covariances (n, 3, 3).

    Times must not run back: start anew there.
    """
    start = before or OdometryState(stamp_ns=int(stamp_ns[0]), twist=twists[0])
    durations = np.diff(stamp_ns, prepend=start.stamp_ns) / NS_PER_S
    if (durations < 0).any():
        raise ValueError("the times of the rows run back")
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
