"""Wheels on swivels: against the numbers that are known, and by solving the other way round."""

import numpy as np
import pytest

from fieldplay_samples.motion.plan import plan_drive
from fieldplay_samples.motion.ride import GroundDrive, drive_over
from fieldplay_samples.motion.rotations import Floats, quaternion_from_rotation
from fieldplay_samples.robots.interact import (
    LIMITS,
    base_T_wheels,
    load_interact,
    rim_speeds,
    stance_of,
    steering_angles,
    wheel_motion,
)

ROBOT = load_interact()
WHEELS = ROBOT.wheels
TIME = np.linspace(0.0, 20.0, 801)


def bumps(x: Floats, y: Floats) -> Floats:
    return 0.05 * np.sin(1.3 * x) * np.cos(1.1 * y) + 0.06 * x


@pytest.fixture(scope="module")
def drive() -> GroundDrive:
    return drive_over(plan_drive(20.0, np.random.default_rng(4), LIMITS), bumps, stance_of(ROBOT))


def test_twist_gives_known_steering_and_speeds() -> None:
    twist = np.array([[0.5, 0.05, 0.2]])
    steer = steering_angles(WHEELS, twist[:, 1] / 0.5, twist[:, 2] / 0.5)
    np.testing.assert_allclose(np.degrees(steer), [[17.217473, -4.132060, -3.004480, 12.687916]], atol=1e-6)
    speeds = rim_speeds(WHEELS, twist, steer, steer_rate_rad_s=np.zeros((1, 4)))
    np.testing.assert_allclose(speeds, [[0.411941, 0.393297, 0.608597, 0.622298]], atol=1e-6)


def test_wheel_steered_in_place_rolls_about_its_pivot() -> None:
    speeds = rim_speeds(WHEELS, np.zeros((1, 3)), np.zeros((1, 4)), steer_rate_rad_s=np.full((1, 4), 0.5))
    np.testing.assert_allclose(speeds, [[-0.0715, -0.0715, 0.0715, 0.0715]])


@pytest.mark.parametrize(
    ("degrees", "positions"),
    [
        (0, [[0.402, 0.539], [-0.402, 0.539], [-0.402, -0.539], [0.402, -0.539]]),
        (20, [[0.353091, 0.530376], [-0.450909, 0.530376], [-0.353091, -0.530376], [0.450909, -0.530376]]),
        (90, [[0.259, 0.396], [-0.545, 0.396], [-0.259, -0.396], [0.545, -0.396]]),
    ],
)
def test_wheels_swing_about_their_pivots(degrees: float, positions: list[list[float]]) -> None:
    poses = base_T_wheels(WHEELS, np.full((1, 4), np.radians(degrees)), np.zeros((1, 4)))
    np.testing.assert_allclose(poses[0, :, :2, 3], positions, atol=1e-6)
    np.testing.assert_allclose(poses[0, :, 2, 3], -0.135)


def test_steered_and_turned_wheels_lie_as_known() -> None:
    poses = base_T_wheels(WHEELS, np.full((1, 4), np.radians(20)), np.full((1, 4), np.radians(30)))
    left, right = (
        [0.148452506, 0.212012150, 0.791240115, 0.554032293],
        [-0.21201215, 0.148452506, -0.554032293, 0.791240115],
    )
    np.testing.assert_allclose(quaternion_from_rotation(poses[0, :, :3, :3]), [left, left, right, right], atol=1e-6)


def test_wheel_motion_gives_body_twist(drive: GroundDrive) -> None:
    motion = wheel_motion(drive, WHEELS)
    steer, speed = motion.steer_rad.at(TIME), motion.rolled_m.at(TIME, 1)
    x = np.array([1, -1, -1, 1]) * WHEELS.half_base_m
    y = np.array([1, 1, -1, -1]) * WHEELS.half_track_m
    side = np.array([1, 1, -1, -1]) * WHEELS.swivel_m
    rolled = speed + side * motion.steer_rad.at(TIME, 1)
    cos, sin = np.cos(steer), np.sin(steer)
    along = np.stack([cos, sin, x * sin - y * cos - side], axis=2)
    across = np.stack([-sin, cos, x * cos + y * sin], axis=2)
    equations = np.concatenate([along, across], axis=1)
    values = np.concatenate([rolled, np.zeros_like(rolled)], axis=1)
    twist = np.stack([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(equations, values, strict=True)])
    velocity, rate = drive.motion.body_velocity(TIME), drive.motion.body_rate(TIME)
    np.testing.assert_allclose(twist[:, 0], velocity[:, 0], atol=3e-4)
    np.testing.assert_allclose(twist[:, 2], rate[:, 2], atol=1e-3)


def test_steering_stays_within_rack(drive: GroundDrive) -> None:
    steer = wheel_motion(drive, WHEELS).steer_rad.at(TIME)
    assert np.degrees(np.abs(steer)).max() < ROBOT.numbers["published"]["wheels"]["most_steer_deg"]
    assert np.degrees(np.abs(steer)).max() > 5.0


def test_wheel_angle_is_integral_of_speed(drive: GroundDrive) -> None:
    motion = wheel_motion(drive, WHEELS)
    fine = np.linspace(0.0, 20.0, 20001)
    speed = motion.rolled_m.at(fine, 1)
    total = ((speed[1:] + speed[:-1]) / 2 * np.diff(fine)[:, None]).sum(axis=0)
    np.testing.assert_allclose(motion.rolled_m.at(np.array([20.0]))[0], total, atol=1e-6)
    assert not motion.rolled_m.at(np.array([0.0])).any()
