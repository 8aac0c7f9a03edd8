"""A robot with two driven rear wheels and steered front wheels, base_link on the rear axle: the bicycle model."""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.ride import GroundDrive, Spline, Stance, knots_s, spline_through
from fieldplay_samples.motion.rotations import Floats, floats

SLOW_M_S = 0.01  # below it a twist does not determine the steering well, the planned curvature does


@dataclass(frozen=True, kw_only=True)
class Ackermann:
    """Wheelbase, track and wheel diameter in m; the steering's degrees per raw unit, and the raw unit's zero.

    A raw unit is positive to the right: the angle (left positive) is -steering_deg_per_unit (raw + zero).
    """

    wheelbase_m: float
    track_m: float
    wheel_diameter_m: float
    steering_deg_per_unit: float
    steering_zero_units: float

    def stance(self) -> Stance:
        """How it stands: the ground about the rear axle, as far as half the wheelbase, carries it."""
        return Stance(
            half_base_m=0.5 * self.wheelbase_m,
            half_track_m=0.5 * self.track_m,
            base_height_m=0.5 * self.wheel_diameter_m,
        )

    def rpm_from_speed(self, speed_m_s: Floats) -> Floats:
        """Turns per minute (...) of a wheel whose rim has the speed (...)."""
        return speed_m_s * 60.0 / (np.pi * self.wheel_diameter_m)

    def raw_from_steering(self, steering_rad: Floats) -> Floats:
        """The controller's units (...) for steering angles (...), left positive."""
        return -np.degrees(steering_rad) / self.steering_deg_per_unit - self.steering_zero_units


@dataclass(frozen=True, eq=False, kw_only=True)
class AckermannMotion:
    """What it does over time: the steering in rad (left positive), the rear axle's speed in m/s, its turn in rad/s."""

    steering_rad: Spline
    speed_m_s: Spline
    turn_rad_s: Spline


def ackermann_motion(drive: GroundDrive, robot: Ackermann) -> AckermannMotion:
    """What wheels and steering do in a drive."""
    time = knots_s(drive.motion.seconds)
    speed = drive.motion.body_velocity(time)[:, 0]
    turn = drive.motion.body_rate(time)[:, 2]
    little = SLOW_M_S * SLOW_M_S
    curvature = (speed * turn + little * drive.curvature_1_m.at(time)) / (speed * speed + little)
    return AckermannMotion(
        steering_rad=spline_through(time, np.arctan(robot.wheelbase_m * curvature)),
        speed_m_s=spline_through(time, speed),
        turn_rad_s=spline_through(time, turn),
    )


def wheel_speeds(robot: Ackermann, motion: AckermannMotion, time_s: Floats) -> Floats:
    """Rim speeds (n, 4) in m/s at times (n,): front left, front right, rear left, rear right."""
    speed, turn = motion.speed_m_s.at(time_s)[:, None], motion.turn_rad_s.at(time_s)[:, None]
    aside = 0.5 * robot.track_m * floats([1.0, -1.0])
    rear = speed - turn * aside
    front = np.where(speed < 0.0, -1.0, 1.0) * np.hypot(rear, turn * robot.wheelbase_m)
    return np.hstack([front, rear])
