"""A base with driven wheels, each steered about a vertical pivot with the wheel a swivel's length outside of it.

Base axes are forward, left, up. A steering angle of 0 drives straight ahead, positive to the left. The rim speed of a
wheel is positive when it drives forward.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array

BLOCK = 2048  # sets of wheels that are worked on at a time, so that they stay in the processor's cache


@dataclass(frozen=True, kw_only=True, eq=False)
class SteeredBase:
    """A base whose wheels are each steered about a vertical pivot.

    Args:
        pivots_m: positions of the pivots (n, 2) in the base: forward, left.
        side: (n,) 1 for a wheel on the left, -1 on the right.
        swivel_m: from a pivot outwards to its wheel.
        wheel_drop_m: from the base down to the wheels' centres.
    """

    pivots_m: Array
    side: Array
    swivel_m: float
    wheel_drop_m: float


@dataclass(frozen=True, kw_only=True)
class SteeredErrors:
    """Standard deviations of what the wheels say about the base's motion.

    Args:
        speed_std_m_s: of each wheel's speed along and across its heading, at standstill too.
        slip_share: of the twist, as a fraction of it, as all wheels slip together.
        slide_share: of the motion across the velocity, as a fraction of it, as on a slope.
        steering_std_deg: of each steering angle, as a suspension that nobody measures turns the wheels too.

    Raises:
        ValueError: a number is negative or not finite.
    """

    speed_std_m_s: float
    slip_share: float
    slide_share: float
    steering_std_deg: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{item.name}: expected a number from 0 on, got {value}")


def symmetric_base(*, length_m: float, width_m: float, swivel_m: float, wheel_drop_m: float) -> SteeredBase:
    """Make a base with four wheels: front left, rear left, rear right, front right.

    Args:
        length_m: from the centre forward to the front pivots.
        width_m: from the centre to the left pivots.
        swivel_m: from a pivot outwards to its wheel.
        wheel_drop_m: from the base down to the wheels' centres.

    Returns:
        The base.
    """
    pivots = np.array([[length_m, width_m], [-length_m, width_m], [-length_m, -width_m], [length_m, -width_m]])
    return SteeredBase(pivots_m=pivots, side=np.array([1.0, 1, -1, -1]), swivel_m=swivel_m, wheel_drop_m=wheel_drop_m)


def wheel_positions_from_steering(base: SteeredBase, steering: ArrayLike) -> Array:
    """Compute where the wheels are in the base's plane.

    The paper of AMEDS prints the first wheel's angle in all lines; only each wheel's own keeps its axle on its pivot.

    Args:
        base: the base.
        steering: steering angles (..., n) in rad, positive to the left.

    Returns:
        Centres of the wheels (..., n, 2) in m: forward, left.
    """
    steering = np.asarray(steering, float)
    outwards = np.stack([-np.sin(steering), np.cos(steering)], axis=-1) * base.side[:, None]
    positions: Array = base.pivots_m + base.swivel_m * outwards
    return positions


def wheel_poses_from_angles(base: SteeredBase, steering: ArrayLike, drive: ArrayLike) -> Array:
    """Compute the poses of the wheels: R = Rz(gamma) Rx(beta), x the axle outwards.

    gamma is the steering angle rotated by a quarter turn to the side of the wheel, beta the drive angle with its sign.
    Read as intrinsic z-x-z angles, as AMEDS prints them, the axle would stand upright after a quarter turn of the
    wheel.

    Args:
        base: the base.
        steering: steering angles (..., n) in rad, positive to the left.
        drive: drive angles (..., n) in rad.

    Returns:
        base_T_wheel (..., n, 4, 4).
    """
    steering, drive = np.broadcast_arrays(np.asarray(steering, float), np.asarray(drive, float))
    poses = np.zeros((*steering.shape, 4, 4))
    count = steering.shape[-1]
    flat, angles, wheel_angles = poses.reshape(-1, count, 4, 4), steering.reshape(-1, count), drive.reshape(-1, count)
    for start in range(0, len(flat), BLOCK):
        part = slice(start, start + BLOCK)
        _write_poses(base, angles[part], wheel_angles[part], flat[part])
    return poses


def _write_poses(base: SteeredBase, steering: Array, drive: Array, poses: Array) -> None:
    """The product Rz(gamma) Rx(beta) written out, with cos(gamma) = -side sin(steering) and so on."""
    cos_gamma, sin_gamma = -base.side * np.sin(steering), base.side * np.cos(steering)
    cos_beta, sin_beta = np.cos(drive), base.side * np.sin(drive)
    poses[..., 0, 0], poses[..., 1, 0] = cos_gamma, sin_gamma
    poses[..., 0, 1], poses[..., 1, 1], poses[..., 2, 1] = -sin_gamma * cos_beta, cos_gamma * cos_beta, sin_beta
    poses[..., 0, 2], poses[..., 1, 2], poses[..., 2, 2] = sin_gamma * sin_beta, -cos_gamma * sin_beta, cos_beta
    poses[..., 0, 3] = base.pivots_m[:, 0] + base.swivel_m * cos_gamma
    poses[..., 1, 3] = base.pivots_m[:, 1] + base.swivel_m * sin_gamma
    poses[..., 2, 3], poses[..., 3, 3] = -base.wheel_drop_m, 1.0


def twist_from_wheels(base: SteeredBase, steering: ArrayLike, rim_speed: ArrayLike) -> tuple[Array, Array]:
    """Compute the body twist that fits the wheels best.

    Each wheel says two things about the velocity at its centre: along its heading it is the rim speed, across it is
    zero. These are 2 n equations for 3 unknowns, solved by least squares; the residual gives the covariance.

    Args:
        base: the base.
        steering: steering angles (..., n) in rad, positive to the left.
        rim_speed: rim speeds (..., n) in m/s, positive forward.

    Returns:
        Twists (..., 3): vx and vy in m/s, turn rate in rad/s, in the base; and their covariances (..., 3, 3), which are
        zero where the wheels agree: see `covariance_from_errors`.

    Example:
        >>> base = symmetric_base(length_m=0.6, width_m=0.5, swivel_m=0.1, wheel_drop_m=0.3)
        >>> twist, _ = twist_from_wheels(base, np.zeros(4), np.full(4, 0.2))
        >>> round(float(twist[0]), 6)
        0.2
    """
    steering, speed = np.broadcast_arrays(np.asarray(steering, float), np.asarray(rim_speed, float))
    matrix = _constraints(base, steering)
    requested = np.concatenate([speed, np.zeros_like(speed)], axis=-1)
    transposed = np.swapaxes(matrix, -1, -2)
    inverse = np.linalg.inv(transposed @ matrix)
    twist = (inverse @ (transposed @ requested[..., None]))[..., 0]
    residual = requested - (matrix @ twist[..., None])[..., 0]
    freedom = matrix.shape[-2] - 3
    variance = (residual**2).sum(axis=-1) / freedom
    return twist, variance[..., None, None] * inverse


def covariance_from_errors(
    base: SteeredBase, errors: SteeredErrors, steering: ArrayLike, *, rim_speed: ArrayLike, twist: Array
) -> Array:
    """Propagate errors of the wheels to the twist, in addition to what does not fit.

    Errors of single wheels go through the least squares; slip and slide of all together are of the twist itself.

    Args:
        base: the base.
        errors: standard deviations.
        steering: steering angles (..., n) in rad.
        rim_speed: rim speeds (..., n) in m/s.
        twist: twists (..., 3) from `twist_from_wheels`.

    Returns:
        Covariances (..., 3, 3).
    """
    steering, speed = np.broadcast_arrays(np.asarray(steering, float), np.asarray(rim_speed, float))
    matrix = _constraints(base, steering)
    transposed = np.swapaxes(matrix, -1, -2)
    gain = np.linalg.inv(transposed @ matrix) @ transposed
    floor = np.full_like(speed, errors.speed_std_m_s**2)
    across = floor + (speed * math.radians(errors.steering_std_deg)) ** 2
    variances = np.concatenate([floor, across], axis=-1)
    slipped = errors.slip_share * twist
    slid = errors.slide_share * np.stack([-twist[..., 1], twist[..., 0], np.zeros_like(twist[..., 0])], axis=-1)
    of_all = slipped[..., :, None] * slipped[..., None, :] + slid[..., :, None] * slid[..., None, :]
    covariance: Array = of_all + (gain * variances[..., None, :]) @ np.swapaxes(gain, -1, -2)
    return covariance


def _constraints(base: SteeredBase, steering: Array) -> Array:
    """The rows (..., 2 n, 3): along the heading of each wheel, then across it."""
    position = wheel_positions_from_steering(base, steering)
    x, y = position[..., 0], position[..., 1]
    cos, sin = np.cos(steering), np.sin(steering)
    along = np.stack([cos, sin, x * sin - y * cos], axis=-1)
    across = np.stack([-sin, cos, x * cos + y * sin], axis=-1)
    return np.concatenate([along, across], axis=-2)


def wheels_from_twist(base: SteeredBase, twist: ArrayLike, steering_rate: ArrayLike = 0.0) -> tuple[Array, Array]:
    """Compute the steering angles and rim speeds that a body twist needs.

    A wheel that would point backwards is rotated by half a turn and driven the other way. While a wheel steers, its
    swing about the pivot adds to the rim speed. At standstill the angles are 0.

    Args:
        base: the base.
        twist: twists (..., 3): vx and vy in m/s, turn rate in rad/s.
        steering_rate: rates (..., n) of the steering angles in rad/s.

    Returns:
        Steering angles (..., n) in rad, at most a quarter turn, and rim speeds (..., n) in m/s.
    """
    twist = np.asarray(twist, float)
    vx, vy, rate = (twist[..., axis, None] for axis in range(3))
    ux, uy = vx - rate * base.pivots_m[:, 1], vy + rate * base.pivots_m[:, 0]
    angle = np.arctan2(uy, ux)
    backwards = np.abs(angle) > np.pi / 2
    steering = np.where(backwards, angle - np.copysign(np.pi, angle), angle)
    along = np.where(backwards, -1.0, 1.0) * np.hypot(ux, uy)
    swing = base.side * base.swivel_m * (rate + np.asarray(steering_rate, float))
    speed: Array = along - swing
    return steering, speed
