"""Rides over the ground, and motions as functions of time."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay_samples.motion.plan import DriveLimits, plan_drive
from fieldplay_samples.motion.ride import GroundDrive, RigidMotion, Stance, drive_over, motion_through
from fieldplay_samples.motion.rotations import Floats

STANCE = Stance(half_base_m=0.4, half_track_m=0.5, base_height_m=0.3)
TIME = np.linspace(0.5, 19.5, 400)
STEP_S = 1e-4


def hills(x: Floats, y: Floats) -> Floats:
    return 0.3 * np.sin(0.9 * x) * np.cos(0.7 * y) + 0.02 * np.sin(5.0 * x + 3.0 * y) + 0.1 * x


def slope(x: Floats, y: Floats) -> Floats:
    return 0.2 * x - 0.1 * y + 5.0


@pytest.fixture(scope="module")
def drive() -> GroundDrive:
    plan = plan_drive(20.0, np.random.default_rng(1), DriveLimits())
    return drive_over(plan, hills, STANCE, start_xy_m=(2.0, 1.0), start_heading_rad=0.4)


@pytest.fixture(scope="module")
def motion(drive: GroundDrive) -> RigidMotion:
    return drive.motion


def test_on_slope_all_wheels_touch_ground() -> None:
    plan = plan_drive(20.0, np.random.default_rng(2), DriveLimits())
    poses = drive_over(plan, slope, STANCE, start_heading_rad=1.0).motion.pose_at(TIME)
    for forward, left in ((0.4, 0.5), (-0.4, 0.5), (-0.4, -0.5), (0.4, -0.5)):
        contact = poses @ np.array([forward, left, -0.3, 1.0])
        np.testing.assert_allclose(contact[:, 2], slope(contact[:, 0], contact[:, 1]), atol=1e-9)


def test_on_hills_wheels_are_near_ground_on_average(motion: RigidMotion) -> None:
    corners = np.array([[a, b, -0.3, 1.0] for a in (0.4, -0.4) for b in (0.5, -0.5)])
    contacts = motion.pose_at(TIME) @ corners.T
    gap = contacts[:, 2] - hills(contacts[:, 0], contacts[:, 1])
    assert np.abs(gap.mean(axis=1)).max() < 0.03
    assert np.abs(gap).max() < 0.06


def test_body_moves_along_its_own_x_axis(drive: GroundDrive) -> None:
    velocity = drive.motion.body_velocity(TIME)
    assert velocity[:, 0].max() > 0.4
    assert np.abs(velocity[:, 1]).max() < 2e-3
    assert np.abs(velocity[:, 2]).max() < 0.02


def test_velocity_and_acceleration_are_derivatives_of_pose(motion: RigidMotion) -> None:
    point = np.array([0.3, -0.2, 0.9])
    positions = [(motion.pose_at(TIME + shift) @ [*point, 1.0])[:, :3] for shift in (-STEP_S, 0.0, STEP_S)]
    np.testing.assert_allclose(motion.velocity(TIME, point), (positions[2] - positions[0]) / (2 * STEP_S), atol=1e-6)
    before, after = (motion.velocity(TIME + shift, point) for shift in (-STEP_S, STEP_S))
    np.testing.assert_allclose(motion.acceleration(TIME, point), (after - before) / (2 * STEP_S), atol=1e-6)


def test_body_rates_are_derivatives_of_rotation(motion: RigidMotion) -> None:
    before, after = (Rotation.from_matrix(motion.pose_at(TIME + shift)[:, :3, :3]) for shift in (-STEP_S, STEP_S))
    rates = (before.inv() * after).as_rotvec() / (2 * STEP_S)
    np.testing.assert_allclose(motion.body_rate(TIME), rates, atol=1e-6)
    earlier, later = (motion.body_rate(TIME + shift) for shift in (-STEP_S, STEP_S))
    np.testing.assert_allclose(motion.body_rate_change(TIME), (later - earlier) / (2 * STEP_S), atol=1e-6)


def test_acceleration_has_no_steps(motion: RigidMotion) -> None:
    fine = np.linspace(0.0, 20.0, 20001)
    assert np.abs(np.diff(motion.acceleration(fine), axis=0)).max() < 0.03


def test_motion_is_static_outside_its_time(motion: RigidMotion) -> None:
    outside = np.array([-1.0, 20.5, 100.0])
    np.testing.assert_array_equal(motion.pose_at(outside)[1], motion.pose_at(np.array([20.0]))[0])
    assert not motion.velocity(outside).any()
    assert not motion.acceleration(outside).any()
    assert not motion.body_rate(outside).any()


def test_spinning_top_turns_at_its_rate() -> None:
    time = np.linspace(0.0, 4.0, 41)
    level = np.zeros((41, 6))
    level[:, 5] = 0.8 * time
    rates = motion_through(time, level).body_rate(np.array([1.03, 2.5]))
    np.testing.assert_allclose(rates, [[0.0, 0.0, 0.8]] * 2, atol=1e-12)
