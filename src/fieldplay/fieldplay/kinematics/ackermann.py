"""A base that drives on its rear wheels and steers the front ones, as a bicycle: one wheel behind, one in front.

Base axes are forward, left, up from the middle of the rear axle. The steering angle is positive to the left, a wheel's
rate (rad/s) where it drives forward. The rear axle moves along the base alone, and the base turns by v tan(angle) / L.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array, rotation_about_axis, transform_from_rotation

RAD_S_PER_RPM = 2 * math.pi / 60
ROUNDING = 1e-9  # a rate at the limit, turned from rpm to rad/s, must not slip below it


@dataclass(frozen=True, kw_only=True)
class AckermannBase:
    """From axle to axle, from wheel to wheel of an axle, a wheel's diameter, and from where on its rate is noise."""

    wheelbase_m: float
    track_m: float
    wheel_diameter_m: float
    noise_limit_rpm: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}: expected more than 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class AckermannErrors:
    """Standard deviations of what the wheels say, the shares in parts of the speed.

    The speed: a part that is always there, a share (of a diameter that is not quite known), and half of what the rear
    wheels differ by; with one believed wheel a share instead, since it goes another way in a turn than the axle's
    middle. The slide to the side, the steering angle, and a part of the turn rate that is always there.
    """

    speed_std_m_s: float
    speed_share: float
    one_wheel_share: float
    slide_share: float
    steering_std_deg: float
    turn_rate_std_rad_s: float


@dataclass(frozen=True, kw_only=True, eq=False)
class RearSpeeds:
    """Speeds (n,) of the middle of the rear axle, and what about them is uncertain (n,) because of the wheels."""

    speed_m_s: Array
    doubt_m_s: Array


def speeds_from_wheels(
    base: AckermannBase, errors: AckermannErrors, wheel_rates: ArrayLike, *, before_m_s: float = 0.0
) -> RearSpeeds:
    """Speeds from the rates (n, 2) of the left and the right rear wheel, in the order of time, in rad/s.

    The mean of both wheels where both are below the limit of noise, else the slower if that one is, else how fast it
    was before (before_m_s for the first row), the way that the wheels turn now. Then nothing is known: the doubt is
    the speed itself.
    """
    rims = np.asarray(wheel_rates, float) * (base.wheel_diameter_m / 2)
    limit = base.noise_limit_rpm * RAD_S_PER_RPM * base.wheel_diameter_m / 2
    believed = (np.abs(rims) < limit * (1 - ROUNDING)).sum(axis=1)
    left, right = rims[:, 0], rims[:, 1]
    slower = np.where(np.abs(left) <= np.abs(right), left, right)
    found = np.where(believed == 2, (left + right) / 2, slower)
    latest = np.maximum.accumulate(np.where(believed > 0, np.arange(len(rims)), -1))
    stale = np.where(latest >= 0, found[latest], before_m_s)
    speed = np.where(believed > 0, found, np.copysign(stale, slower))
    doubts = [np.abs(speed), errors.one_wheel_share * np.abs(speed), np.abs(left - right) / 2]
    return RearSpeeds(speed_m_s=speed, doubt_m_s=np.choose(believed, doubts))


def twists_from_wheels(
    base: AckermannBase, errors: AckermannErrors, speeds: RearSpeeds, *, steering: ArrayLike
) -> tuple[Array, Array]:
    """Twists (n, 3) of the base as vx, vy, turn rate, from speeds and steering angles (n,), and covariances (n, 3, 3).

    vy is 0. An error of the speed is one of the turn rate too, by the same factor; errors of different rows are taken
    as independent.
    """
    speed, steering = speeds.speed_m_s, np.asarray(steering, float)
    curvature = np.tan(steering) / base.wheelbase_m
    zero = np.zeros_like(speed)
    floor = errors.speed_std_m_s**2
    of_speed = floor + (errors.speed_share * speed) ** 2 + speeds.doubt_m_s**2
    by_steering = speed / (base.wheelbase_m * np.cos(steering) ** 2) * math.radians(errors.steering_std_deg)
    covariances = np.zeros((len(speed), 3, 3))
    covariances[:, 0, 0] = of_speed
    covariances[:, 1, 1] = floor + (errors.slide_share * speed) ** 2
    covariances[:, 0, 2] = covariances[:, 2, 0] = curvature * of_speed
    covariances[:, 2, 2] = curvature**2 * of_speed + by_steering**2 + errors.turn_rate_std_rad_s**2
    return np.stack([speed, zero, speed * curvature], axis=-1), covariances


def joint_transforms_from_angles(base: AckermannBase, turned: ArrayLike, steering: ArrayLike) -> Array:
    """base_T_joint (n, 3, 4, 4) of the left and right rear wheel and the steering, from angles (n, 2) and (n,).

    A wheel turns about its axle, y; the steering stands in the middle of the front axle and turns about z.
    """
    turned, steering = np.asarray(turned, float), np.asarray(steering, float)
    half = base.track_m / 2
    places = np.array([[0.0, half, 0.0], [0.0, -half, 0.0], [base.wheelbase_m, 0.0, 0.0]])
    rotations = np.concatenate([rotation_about_axis(1, turned), rotation_about_axis(2, steering)[:, None]], axis=1)
    return transform_from_rotation(rotations, places)
