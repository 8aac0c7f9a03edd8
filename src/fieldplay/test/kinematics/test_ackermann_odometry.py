"""The bicycle model, against the authors' printed numbers, an integrator of ODEs, and many noisy drives."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from fieldplay.kinematics.ackermann_odometry import (
    AckermannBase,
    AckermannDrive,
    AckermannErrors,
    AckermannState,
    ackermann_from_settings,
    ackermann_odometry_from_joints,
    speeds_from_wheels,
    transforms_of_odometry,
    twists_from_wheels,
    wheels_of_joints,
)

Array = NDArray[np.float64]
SETTINGS: Mapping[str, object] = {
    "wheelbase_m": 1.6, "track_m": 1.054, "wheel_diameter_m": 0.57, "noise_limit_rpm": 70.0,
    "speed_std_m_s": 0.02, "speed_share": 0.05, "one_wheel_share": 0.15, "slide_share": 0.03,
    "steering_std_deg": 1.0, "turn_rate_std_rad_s": 0.01, "integration": "arcs", "longest_step_s": 1.0,
    "path_step_m": 1.0, "path_poses": 1000,
}  # fmt: skip
OURS = ackermann_from_settings(SETTINGS)
AUTHORS = ackermann_from_settings({**SETTINGS, "integration": "authors"})
BASE = OURS.base
M_S_PER_RPM = 0.02984513020910303
# right rpm, left rpm, steering, direction digit; and what the authors' programs make of them: x, y, yaw, v, turn rate
LOG = [(30, 32, 0, 0), (30, 32, 0, 0), (80, 31, -50, 0), (90, 95, -50, 0), (30, 32, 100, 1), (0, 0, 0, 0)]
BAG = [
    (0, 0, 0, 0.925199036, -0.010873776),
    (0.092519904, 0, -0.001087378, 0.925199036, -0.010873776),
    (0.185039753, -0.000100604, -0.002174755, 0.925199036, 0.085622548),
    (0.277559437, -0.000301812, 0.006387499, 0.925199036, 0.085622548),
    (0.370077454, 0.000289155, 0.014949754, -0.925199036, 0.211349491),
    (0.277567889, -0.001093944, 0.036084703, 0, 0),
]


def joints_of_log(log: list[tuple[int, int, int, int]]) -> tuple[Array, Array]:
    """Rates of the left and right wheel in rad/s, and steering angles in rad, as the archive's reader gives them."""
    right, left, steering, digit = np.array(log, float).T
    rates = np.stack([left, right], axis=-1) * 2 * np.pi / 60 * np.where(digit == 0, 1, -1)[:, None]
    return rates, -np.radians(0.19 * (steering + 5.67))


def integrate(
    stamp_s: Array, rates: Array, steering: Array, settings: object = OURS, before: AckermannState | None = None
) -> AckermannDrive:
    stamps = np.round(np.asarray(stamp_s) * 1e9).astype(np.int64)
    return ackermann_odometry_from_joints(settings, before, stamps, wheel_rates=rates, steering=steering)


def rates_of_rpm(*rows: tuple[float, float]) -> Array:
    return np.array(rows) * 2 * np.pi / 60


def speeds_of_rpm(*rows: tuple[float, float], before_rpm: float = 0.0) -> list[float]:
    speeds = speeds_from_wheels(BASE, OURS.errors, rates_of_rpm(*rows), before_m_s=before_rpm * M_S_PER_RPM)
    return (speeds.speed_m_s / M_S_PER_RPM).tolist()


def test_published_bags_are_reproduced_for_any_stamps() -> None:
    drive = integrate([0, 0.11, 0.11, 0.35, 9.0, 9.1], *joints_of_log(LOG), AUTHORS)
    np.testing.assert_allclose(drive.poses, np.array(BAG)[:, :3], atol=1e-9)
    np.testing.assert_allclose(drive.twists[:, [0, 2]], np.array(BAG)[:, 3:], atol=1e-9)
    assert not drive.twists[:, 1].any()


def test_implausible_wheel_is_ignored_as_by_the_authors() -> None:
    assert speeds_of_rpm((30, 32), (80, 31), (30, 71), (90, 95), (20, 10)) == pytest.approx([31, 31, 30, 30, 15])


def test_wheel_at_limit_is_implausible() -> None:
    assert speeds_of_rpm((70, 20), (69.999, 20), (20, 70)) == pytest.approx([20, 44.9995, 20])


def test_without_plausible_wheel_previous_speed_is_kept_with_current_direction() -> None:
    assert speeds_of_rpm((90, 80), before_rpm=12) == pytest.approx([12])
    assert speeds_of_rpm((-90, -80), before_rpm=12) == pytest.approx([-12])
    assert speeds_of_rpm((-30, -32), (90, 80), (-75, -75)) == pytest.approx([-31, 31, -31])
    assert speeds_of_rpm((90, 80)) == [0]


def test_constant_wheels_drive_bicycle_circle_for_any_steps() -> None:
    """The rear axle's radius is L / tan(angle): 1.6 m at 45 degrees."""
    stamps = np.cumsum(np.random.default_rng(5).uniform(0.05, 0.3, 60))
    rates = np.tile(rates_of_rpm((30, 30)), (60, 1))
    drive = integrate(stamps, rates, np.full(60, np.pi / 4))
    turned = 30 * M_S_PER_RPM / 1.6 * (stamps - stamps[0])
    expected = np.stack([1.6 * np.sin(turned), 1.6 * (1 - np.cos(turned)), turned], axis=-1)
    np.testing.assert_allclose(drive.poses, expected, atol=1e-8)  # stamps are whole nanoseconds


def test_drive_agrees_with_ode_solver() -> None:
    def rate_at(t: Array) -> Array:
        return 3.0 + 1.5 * np.sin(0.7 * t)

    def angle_at(t: Array) -> Array:
        return 0.3 * np.sin(0.4 * t)

    def slope(t: Array, pose: Array) -> list[Array]:
        speed = rate_at(t) * 0.285
        return [speed * np.cos(pose[2]), speed * np.sin(pose[2]), speed * np.tan(angle_at(t)) / 1.6]

    stamps = np.concatenate([[0.0], np.cumsum(np.random.default_rng(6).uniform(0.005, 0.015, 3000))])
    drive = integrate(stamps, np.repeat(rate_at(stamps)[:, None], 2, axis=1), angle_at(stamps))
    exact = solve_ivp(slope, (0, stamps[-1]), [0, 0, 0], t_eval=stamps, rtol=1e-10, atol=1e-12).y.T
    assert np.abs(exact[-1, :2]).max() > 10
    np.testing.assert_allclose(drive.poses, exact, atol=5e-5)


def test_rows_of_same_time_do_not_move_and_last_one_continues() -> None:
    rates = rates_of_rpm((30, 30), (30, 30), (60, 60), (60, 60))
    drive = integrate([0, 0.1, 0.1, 0.2], rates, np.zeros(4))
    np.testing.assert_allclose(drive.poses[:, 0], np.array([0, 3, 3, 9]) * M_S_PER_RPM, atol=1e-12)


def test_long_gap_is_integrated_up_to_longest_step_and_then_uncertain() -> None:
    drive = integrate([0, 0.1, 300.1], np.tile(rates_of_rpm((30, 30)), (3, 1)), np.zeros(3))
    speed = 30 * M_S_PER_RPM
    np.testing.assert_allclose(drive.poses[:, 0], [0, 0.1 * speed, 1.1 * speed], atol=1e-12)
    assert drive.pose_covariances[1, 0, 0] ** 0.5 < 0.01
    assert drive.pose_covariances[2, 0, 0] ** 0.5 > 299 * speed


def test_differing_or_implausible_wheels_increase_speed_variance() -> None:
    rates = rates_of_rpm((40, 40), (30, 50), (40, 90), (90, 90))
    drive = integrate([0, 0.1, 0.2, 0.3], rates, np.zeros(4))
    speeds = 40 * M_S_PER_RPM
    assert drive.twists[:, 0] == pytest.approx(speeds)
    variance = 0.02**2 + (0.05 * speeds) ** 2
    expected = [variance, variance + (10 * M_S_PER_RPM) ** 2, variance + (0.15 * speeds) ** 2, variance + speeds**2]
    np.testing.assert_allclose(drive.twist_covariances[:, 0, 0], expected)


def test_twist_covariance_equals_that_of_many_noisy_rows() -> None:
    errors = AckermannErrors(
        speed_std_m_s=0.05, speed_share=0.0, one_wheel_share=0.0, slide_share=0.0, steering_std_deg=2.0,
        turn_rate_std_rad_s=0.0,
    )  # fmt: skip
    draw, count = np.random.default_rng(7), 200_000
    speed, steering = 0.9 + 0.05 * draw.normal(size=count), 0.25 + np.radians(2.0) * draw.normal(size=count)
    sampled = np.cov(speed, speed * np.tan(steering) / 1.6)
    rear = speeds_from_wheels(BASE, errors, np.full((1, 2), 0.9 / 0.285))
    _, covariances = twists_from_wheels(BASE, errors, rear, steering=np.array([0.25]))
    np.testing.assert_allclose(covariances[0][np.ix_([0, 2], [0, 2])], sampled, rtol=0.03)
    assert covariances[0, 1, 1] == pytest.approx(0.05**2)


def test_row_by_row_equals_batch() -> None:
    draw = np.random.default_rng(8)
    stamps = np.cumsum(draw.choice([0.0, 0.1, 0.1, 0.11, 5.0], 400))
    rates = rates_of_rpm(*draw.choice([-30.0, 20.0, 28.0, 95.0], (400, 2)))
    steering = draw.uniform(-0.3, 0.3, 400)
    for settings in (OURS, AUTHORS):
        settings = replace(settings, limits=replace(settings.limits, step_m=0.3, poses=20))
        batch = integrate(stamps, rates, steering, settings)
        state, rows, grown = None, [], []
        for row in range(len(stamps)):
            part = slice(row, row + 1)
            rows.append(integrate(stamps[part], rates[part], steering[part], settings, state))
            grown += [growth.stamp_ns[0] for growth in rows[-1].growths]
            state = rows[-1].last
        for name in ("poses", "twists", "pose_covariances", "twist_covariances", "joint_transforms"):
            stepwise = np.concatenate([getattr(row, name) for row in rows])
            np.testing.assert_allclose(stepwise, getattr(batch, name), rtol=1e-9, atol=1e-12, err_msg=name)
        assert grown == [stamp for growth in batch.growths for stamp in growth.stamp_ns]
        np.testing.assert_array_equal(state.path.points.stamp_ns, batch.last.path.points.stamp_ns)


def test_joint_transforms_rotate_with_wheels_and_steering() -> None:
    """A wheel that rolls forward takes its top forward; a steering to the left takes the front of it to the left."""
    drive = integrate([0, 0.5], np.full((2, 2), np.pi), np.array([0.0, np.pi / 6]))
    base, left, right, steering = transforms_of_odometry(drive)[1]
    np.testing.assert_allclose(base[0, 3], np.pi * 0.285 * 0.5, rtol=0.1)
    np.testing.assert_allclose([left[:3, 3], right[:3, 3]], [[0, 0.527, 0], [0, -0.527, 0]])
    np.testing.assert_allclose(left[:3, :3] @ [0, 0, 1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(steering[:3, 3], [1.6, 0, 0])
    np.testing.assert_allclose(steering[:3, :3] @ [1, 0, 0], [np.sqrt(0.75), 0.5, 0], atol=1e-12)


def test_joints_are_found_by_name_and_must_be_finite() -> None:
    names = ("front_steering", "rear_right_wheel", "rear_left_wheel")
    nan = float("nan")
    rates, steering = wheels_of_joints(names, np.array([[0.2, nan, nan]]), np.array([[nan, 2.0, 3.0]]))
    assert (rates.tolist(), steering.tolist()) == ([[3, 2]], [0.2])
    with pytest.raises(ValueError, match="numbers"):
        wheels_of_joints(names, np.array([[nan, nan, nan]]), np.array([[nan, 2.0, 3.0]]))
    with pytest.raises(ValueError, match="3 joints"):
        wheels_of_joints(names, np.array([[0.2]]), np.array([[nan, 2.0, 3.0]]))
    with pytest.raises(ValueError, match="rear_left_wheel"):
        wheels_of_joints(names[:2], np.array([[0.2, nan]]), np.array([[nan, 2.0]]))


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("wheelbase_m", 0.0, "wheelbase_m: expected more than 0"),
        ("integration", "euler", "integration: expected 'arcs' or 'authors', got 'euler'"),
        ("path_poses", 1, "2 poses or more"),
    ],
)
def test_invalid_settings_are_refused(name: str, value: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ackermann_from_settings({**SETTINGS, name: value})


def test_base_is_the_robot_of_the_paper() -> None:
    assert AckermannBase(wheelbase_m=1.6, track_m=1.054, wheel_diameter_m=0.57, noise_limit_rpm=70.0) == BASE
