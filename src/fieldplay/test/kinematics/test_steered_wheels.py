import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.kinematics.steered_wheels import (
    SteeredErrors,
    covariance_from_errors,
    symmetric_base,
    twist_from_wheels,
    wheel_poses_from_angles,
    wheel_positions_from_steering,
    wheels_from_twist,
)

AMEDS = symmetric_base(length_m=0.402, width_m=0.396, swivel_m=0.143, wheel_drop_m=0.135)
DRAW = np.random.default_rng(8)
Array = NDArray[np.float64]


@pytest.mark.parametrize(
    ("steering_deg", "expected"),
    [
        (0, [(0.402, 0.539), (-0.402, 0.539), (-0.402, -0.539), (0.402, -0.539)]),
        (20, [(0.353091, 0.530376), (-0.450909, 0.530376), (-0.353091, -0.530376), (0.450909, -0.530376)]),
        (90, [(0.259, 0.396), (-0.545, 0.396), (-0.259, -0.396), (0.545, -0.396)]),
    ],
)
def test_wheel_positions_match_documentation(steering_deg: float, expected: object) -> None:
    positions = wheel_positions_from_steering(AMEDS, np.full(4, np.radians(steering_deg)))
    np.testing.assert_allclose(positions, expected, atol=1e-6)


def test_wheel_rotations_match_documentation() -> None:
    poses = wheel_poses_from_angles(AMEDS, np.full(4, np.radians(20)), np.full(4, np.radians(30)))
    quaternions = quaternion_from_rotation(poses[:, :3, :3])
    left = (0.148452506, 0.212012150, 0.791240115, 0.554032293)
    right = (-0.212012150, 0.148452506, -0.554032293, 0.791240115)
    for quaternion, expected in zip(quaternions, (left, left, right, right), strict=True):
        error = Rotation.from_quat(quaternion) * Rotation.from_quat(expected).inv()
        assert error.magnitude() < 1e-6
    np.testing.assert_allclose(poses[:, 2, 3], -0.135)


def test_axle_stays_level_and_points_outwards_at_any_wheel_angle() -> None:
    steering, drive = DRAW.uniform(-1, 1, (100, 4)), DRAW.uniform(-9, 9, (100, 4))
    axle = wheel_poses_from_angles(AMEDS, steering, drive)[..., :3, 0]
    np.testing.assert_allclose(axle[..., 2], 0, atol=1e-12)
    outwards = wheel_positions_from_steering(AMEDS, steering) - AMEDS.pivots_m
    np.testing.assert_allclose(axle[..., :2] * AMEDS.swivel_m, outwards, atol=1e-12)


def test_twist_needs_documented_angles_and_speeds() -> None:
    steering, speed = wheels_from_twist(AMEDS, [0.5, 0.05, 0.2])
    np.testing.assert_allclose(np.degrees(steering), [17.217473, -4.132060, -3.004480, 12.687916], atol=1e-6)
    np.testing.assert_allclose(speed, [0.411941, 0.393297, 0.608597, 0.622298], atol=1e-6)


def test_turning_on_the_spot_needs_documented_angle() -> None:
    steering, _ = wheels_from_twist(AMEDS, [0, 0, 0.5])
    np.testing.assert_allclose(np.abs(np.degrees(steering)), 45.430787, atol=1e-6)


def test_consistent_wheels_give_their_twist_without_residual() -> None:
    twists = DRAW.uniform(-1, 1, (500, 3))
    twist, covariance = twist_from_wheels(AMEDS, *wheels_from_twist(AMEDS, twists))
    np.testing.assert_allclose(twist, twists, atol=1e-9)
    np.testing.assert_allclose(covariance, 0, atol=1e-15)


def test_rim_speed_equals_wheel_centre_velocity_also_while_steering() -> None:
    """Second route: differences of the centre's place in the world, over a short time."""
    step = 1e-6
    for twist, rate in zip(DRAW.uniform(-1, 1, (50, 3)), DRAW.uniform(-1, 1, 50), strict=True):
        steering, speed = wheels_from_twist(AMEDS, twist, rate)
        before = wheel_positions_from_steering(AMEDS, steering - rate * step / 2)
        after = wheel_positions_from_steering(AMEDS, steering + rate * step / 2)
        turn = twist[2] * step
        world = after @ Rotation.from_euler("z", turn).as_matrix()[:2, :2].T + twist[:2] * step
        velocity = (world - before) / step
        heading = np.stack([np.cos(steering), np.sin(steering)], axis=-1)
        np.testing.assert_allclose((velocity * heading).sum(axis=-1), speed, atol=1e-5)


def test_twist_agrees_with_solver_and_covariance_grows_with_residual() -> None:
    steering, speed = DRAW.uniform(-0.5, 0.5, (40, 4)), DRAW.uniform(-1, 1, (40, 4))
    twists, covariances = twist_from_wheels(AMEDS, steering, speed)
    for angles, speeds, twist, covariance in zip(steering, speed, twists, covariances, strict=True):
        rows, requested = [], []
        for (x, y), angle, rim in zip(wheel_positions_from_steering(AMEDS, angles), angles, speeds, strict=True):
            cos, sin = np.cos(angle), np.sin(angle)
            rows += [[cos, sin, x * sin - y * cos], [-sin, cos, x * cos + y * sin]]
            requested += [rim, 0]
        expected, residual, *_ = np.linalg.lstsq(np.array(rows), np.array(requested), rcond=None)
        np.testing.assert_allclose(twist, expected, atol=1e-9)
        unscaled = np.linalg.inv(np.array(rows).T @ np.array(rows))
        np.testing.assert_allclose(covariance, residual[0] / 5 * unscaled, atol=1e-9)


def test_standstill_needs_no_wheel_motion() -> None:
    steering, speed = wheels_from_twist(AMEDS, [0, 0, 0])
    assert steering.tolist() == speed.tolist() == [0, 0, 0, 0]


ERRORS = SteeredErrors(speed_std_m_s=0.01, slip_share=0.1, slide_share=0.05, steering_std_deg=2.0)


def covariance_of(errors: SteeredErrors, twist: list[float]) -> Array:
    steering, speed = wheels_from_twist(AMEDS, twist)
    return covariance_from_errors(AMEDS, errors, steering, rim_speed=speed, twist=np.array(twist, float))


def test_standstill_has_uncertainty() -> None:
    deviations = np.sqrt(np.diag(covariance_of(ERRORS, [0, 0, 0])))
    np.testing.assert_allclose(deviations[:2], 0.01 / 2, rtol=1e-9)  # four wheels, two equations each
    assert 0.005 < deviations[2] < 0.01


def test_slip_is_along_motion_and_slide_across_it() -> None:
    slip = SteeredErrors(speed_std_m_s=0, slip_share=0.1, slide_share=0, steering_std_deg=0)
    np.testing.assert_allclose(covariance_of(slip, [0.3, 0.4, 0.2]), 0.01 * np.outer([0.3, 0.4, 0.2], [0.3, 0.4, 0.2]))
    slide = SteeredErrors(speed_std_m_s=0, slip_share=0, slide_share=0.05, steering_std_deg=0)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance_of(slide, [0.5, 0, 0]))), [0, 0.025, 0], atol=1e-12)


def test_covariance_equals_that_of_wrong_steering_angles() -> None:
    """Second route: the spread of the twists that such wheels give."""
    only = SteeredErrors(speed_std_m_s=0, slip_share=0, slide_share=0, steering_std_deg=1.0)
    steering, speed = wheels_from_twist(AMEDS, [0.6, 0.0, 0.1])
    twists, _ = twist_from_wheels(AMEDS, steering + np.radians(1.0) * DRAW.normal(size=(40_000, 4)), speed)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance_of(only, [0.6, 0.0, 0.1]))), twists.std(axis=0), rtol=0.05)


def test_covariance_equals_that_of_noisy_speeds() -> None:
    """Second route: many solutions of the equations along and across, with noise on all of them."""
    only = SteeredErrors(speed_std_m_s=0.02, slip_share=0, slide_share=0, steering_std_deg=0)
    steering, _ = wheels_from_twist(AMEDS, [0.6, 0.0, 0.1])
    rows = []
    for (x, y), angle in zip(wheel_positions_from_steering(AMEDS, steering), steering, strict=True):
        cos, sin = np.cos(angle), np.sin(angle)
        rows += [[cos, sin, x * sin - y * cos], [-sin, cos, x * cos + y * sin]]
    solution = np.linalg.lstsq(np.array(rows), 0.02 * DRAW.normal(size=(8, 40_000)), rcond=None)[0]
    np.testing.assert_allclose(covariance_of(only, [0.6, 0.0, 0.1]), np.cov(solution), atol=1e-5)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_invalid_errors_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="slip_share: expected a number from 0 on"):
        SteeredErrors(speed_std_m_s=0.01, slip_share=value, slide_share=0.05, steering_std_deg=2.0)
