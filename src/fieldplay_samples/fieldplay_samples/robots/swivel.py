"""Wheels that are each driven and steered, on swivels: what they do when the body moves, by inverse kinematics.

A wheel stands `swivel_m` outwards of its pivot. The pivot's velocity gives the steering angle (0 straight, to the left
positive); the rim's speed is the pivot's and that of the wheel about the pivot.
"""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, rotation_about, transform
from fieldplay_samples.motion.path import knots_s
from fieldplay_samples.motion.ride import GroundDrive
from fieldplay_samples.motion.splines import Spline, integral_of, spline_through

LEFT = floats([1, 1, -1, -1])  # wheels 1 front left, 2 rear left, 3 rear right, 4 front right
FRONT = floats([1, -1, -1, 1])
SLOW_M_S = 0.01  # below it a twist does not tell directions well, and the planned curvature does


@dataclass(frozen=True, kw_only=True)
class SwivelWheels:
    """Four wheels in the body's frame, forward left up, in m: pivots (+-half_base, +-half_track), axles at height."""

    half_base_m: float
    half_track_m: float
    height_m: float
    swivel_m: float
    radius_m: float


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelMotion:
    """What four wheels do over time: steering angles in rad (4), and how far their rims have rolled in m (4)."""

    steer_rad: Spline
    rolled_m: Spline


def wheel_motion(drive: GroundDrive, wheels: SwivelWheels) -> WheelMotion:
    """What the wheels do in a drive."""
    time = knots_s(drive.motion.seconds)
    steer = spline_through(time, _steering_of_drive(drive, wheels, time))
    speeds = spline_through(
        time, rim_speeds(wheels, _twists(drive, time), steer.at(time), steer_rate_rad_s=steer.at(time, 1))
    )
    return WheelMotion(steer_rad=steer, rolled_m=integral_of(speeds))


def steering_angles(wheels: SwivelWheels, sideways: Floats, curvature_1_m: Floats) -> Floats:
    """Steering angles (n, 4) in rad from velocities' ratios (n,): sideways to forward, and turn rate to forward."""
    x, y = FRONT * wheels.half_base_m, LEFT * wheels.half_track_m
    across = sideways[:, None] + curvature_1_m[:, None] * x
    return np.arctan(across / (1.0 - curvature_1_m[:, None] * y))


def rim_speeds(wheels: SwivelWheels, twist: Floats, steer_rad: Floats, *, steer_rate_rad_s: Floats) -> Floats:
    """Rim speeds (n, 4) in m/s from twists (n, 3), forward, left and turn; steering (n, 4) and its rate in rad/s."""
    forward, left, turn = (twist[:, [column]] for column in range(3))
    pivot_x = forward - turn * LEFT * wheels.half_track_m
    pivot_y = left + turn * FRONT * wheels.half_base_m
    along = pivot_x * np.cos(steer_rad) + pivot_y * np.sin(steer_rad)
    return floats(along - LEFT * wheels.swivel_m * (turn + steer_rate_rad_s))


def base_T_wheels(wheels: SwivelWheels, steer_rad: Floats, turned_rad: Floats) -> Floats:
    """Poses (n, 4, 4, 4) of wheels from steering and drive angles (n, 4); a wheel's x axis is its axle, outwards."""
    about_axle = rotation_about((1, 0, 0), LEFT * turned_rad)
    upright = rotation_about((0, 0, 1), steer_rad + LEFT * np.pi / 2.0)
    x = FRONT * wheels.half_base_m - LEFT * wheels.swivel_m * np.sin(steer_rad)
    y = LEFT * (wheels.half_track_m + wheels.swivel_m * np.cos(steer_rad))
    position = np.stack([x, y, np.full_like(x, wheels.height_m)], axis=-1)
    return transform(upright @ about_axle, position)


def _steering_of_drive(drive: GroundDrive, wheels: SwivelWheels, time_s: Floats) -> Floats:
    forward, left, turn = _twists(drive, time_s).T
    little = SLOW_M_S * SLOW_M_S
    weight = forward * forward + little
    curvature = (forward * turn + little * drive.curvature_1_m.at(time_s)) / weight
    return steering_angles(wheels, forward * left / weight, curvature)


def _twists(drive: GroundDrive, time_s: Floats) -> Floats:
    """Twists (n, 3) of base_link in its own plane."""
    velocity, rate = drive.motion.body_velocity(time_s), drive.motion.body_rate(time_s)
    return np.stack([velocity[:, 0], velocity[:, 1], rate[:, 2]], axis=1)
