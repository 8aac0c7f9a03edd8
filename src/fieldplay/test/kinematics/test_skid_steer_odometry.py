"""Skid steering, against a circle by hand, an integrator of ODEs and many noisy rows; sides told apart or together."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from fieldplay.kinematics.planar_odometry import PlanarOdometry
from fieldplay.kinematics.skid_steer_odometry import (
    SkidSteerBase,
    SkidSteerErrors,
    SkidSteerState,
    covariances_from_wheel_rates,
    hold_rates,
    skid_steer_from_settings,
    skid_steer_odometry_from_wheels,
    twists_from_wheel_rates,
    wheel_rates_from_twists,
    wheel_rates_of_joints,
)

Array = NDArray[np.float64]
NAN = float("nan")
SETTINGS: Mapping[str, float] = {
    "wheel_radius_m": 0.25, "track_m": 2.0, "speed_std_m_s": 0.02, "slip_share": 0.1, "track_share": 0.3,
    "slide_share": 0.2, "longest_hold_s": 0.5, "longest_step_s": 1.0,
}  # fmt: skip
OURS = skid_steer_from_settings(SETTINGS)
BASE = OURS.base


def stamps_of(seconds: object) -> NDArray[np.int64]:
    return np.round(np.asarray(seconds, float) * 1e9).astype(np.int64)


def integrate(seconds: object, rates: object, before: SkidSteerState | None = None) -> PlanarOdometry[SkidSteerState]:
    return skid_steer_odometry_from_wheels(OURS, before, stamps_of(seconds), np.asarray(rates, float))


def test_mean_of_sides_is_speed_and_difference_is_turn_rate() -> None:
    """Radius 0.25 m, track 2 m: 8 and 12 rad/s are rims of 2 and 3 m/s."""
    twists = twists_from_wheel_rates(BASE, [[8, 12], [12, 8], [-4, -4], [-4, 4]])
    np.testing.assert_allclose(twists, [[2.5, 0, 0.5], [2.5, 0, -0.5], [-1, 0, 0], [0, 0, 1]])


def test_twists_round_trip_through_wheel_rates() -> None:
    twists = np.random.default_rng(1).normal(size=(2, 50, 3)) * [1, 0, 1]
    np.testing.assert_allclose(twists_from_wheel_rates(BASE, wheel_rates_from_twists(BASE, twists)), twists, atol=1e-12)


def test_constant_wheels_drive_circle_for_any_steps() -> None:
    """2.5 m/s at 0.5 rad/s: a circle of 5 m about (0, 5), which is come back to after 4 pi seconds."""
    seconds = np.sort(np.random.default_rng(2).uniform(0, 4 * np.pi, 200))
    seconds[[0, -1]] = 0, 4 * np.pi
    drive = integrate(seconds, np.tile([8.0, 12.0], (200, 1)))
    turned = 0.5 * seconds
    expected = np.stack([5 * np.sin(turned), 5 - 5 * np.cos(turned), turned], axis=-1)
    np.testing.assert_allclose(drive.poses, expected, atol=1e-7)  # stamps are whole nanoseconds
    np.testing.assert_allclose(drive.poses[-1], [0, 0, 2 * np.pi], atol=1e-7)


def test_drive_agrees_with_ode_solver() -> None:
    def rates_at(t: Array) -> Array:
        return np.stack([6 + 3 * np.sin(0.7 * t), 6 + 3 * np.cos(0.4 * t)], axis=-1)

    def slope(t: float, pose: Array) -> list[float]:
        left, right = 0.25 * rates_at(np.asarray(t))
        return [(left + right) / 2 * np.cos(pose[2]), (left + right) / 2 * np.sin(pose[2]), (right - left) / 2.0]

    seconds = np.concatenate([[0.0], np.cumsum(np.random.default_rng(3).uniform(0.005, 0.015, 3000))])
    exact = solve_ivp(slope, (0, seconds[-1]), [0, 0, 0], t_eval=seconds, rtol=1e-10, atol=1e-12).y.T
    assert np.abs(exact[-1, :2]).max() > 5
    np.testing.assert_allclose(integrate(seconds, rates_at(seconds)).poses, exact, atol=3e-4)


def test_twist_covariance_equals_that_of_many_noisy_rows() -> None:
    errors = SkidSteerErrors(speed_std_m_s=0.05, slip_share=0.1, track_share=0.2, slide_share=0.3)
    draw, count = np.random.default_rng(4), 400_000
    rims = np.array([2.0, 3.0])
    noisy = rims + draw.normal(size=(count, 2)) * np.sqrt(0.05**2 + (0.1 * rims) ** 2)
    turn_rate = (noisy[:, 1] - noisy[:, 0]) / 2.0 + 0.2 * 0.5 * draw.normal(size=count)
    slide = 0.05 * draw.normal(size=count) + 0.3 * 1.0 * draw.normal(size=count)
    sampled = np.cov(np.stack([noisy.mean(axis=1), slide, turn_rate]))
    covariance = covariances_from_wheel_rates(BASE, errors, np.array([[8.0, 12.0]]))[0]
    np.testing.assert_allclose(covariance, sampled, rtol=0.02, atol=2e-4)


def test_sides_are_held_until_updated_or_too_old() -> None:
    seconds = [0.0, 0.1, 0.2, 0.6, 0.7, 0.8]
    rates = [[1, NAN], [NAN, 2], [3, NAN], [NAN, NAN], [NAN, 4], [5, NAN]]
    held, last = hold_rates(None, stamps_of(seconds), rates, longest_hold_s=0.5)
    np.testing.assert_array_equal(held, [[1, NAN], [1, 2], [3, 2], [3, 2], [3, 4], [5, 4]])
    later, _ = hold_rates(last, stamps_of([1.2, 1.21]), [[NAN, 6], [NAN, NAN]], longest_hold_s=0.4)
    np.testing.assert_array_equal(later, [[5, 6], [NAN, 6]])


def test_odometry_needs_both_sides_known_and_one_updated() -> None:
    seconds = [0.0, 0.1, 0.2, 0.3, 1.0, 1.1]
    drive = integrate(seconds, [[8, NAN], [NAN, 12], [NAN, NAN], [8, NAN], [8, NAN], [NAN, 12]])
    np.testing.assert_array_equal(drive.stamp_ns, stamps_of([0.1, 0.3, 1.1]))
    np.testing.assert_allclose(drive.twists, [[2.5, 0, 0.5]] * 3)
    np.testing.assert_allclose(drive.poses[:, 2], [0, 0.1, 0.5])


def test_alternating_sides_drive_nearly_as_simultaneous_sides() -> None:
    """Each side lags by 25 ms in the mean, on a way of some 90 m."""
    seconds = np.arange(0, 60, 0.05)
    rates = np.stack([6 + 3 * np.sin(0.3 * seconds), 6 + 3 * np.cos(0.2 * seconds)], axis=-1)
    alternating = rates.copy()
    alternating[::2, 0], alternating[1::2, 1] = NAN, NAN
    together, in_turns = integrate(seconds, rates), integrate(seconds, alternating)
    assert together.twists[:, 0].mean() * 60 > 80
    np.testing.assert_allclose(in_turns.poses[-1], together.poses[-1], atol=0.3)
    np.testing.assert_array_equal(in_turns.stamp_ns, together.stamp_ns[1:])


def test_long_gap_is_integrated_up_to_longest_step_and_then_uncertain() -> None:
    drive = integrate([0, 0.1, 300.1], np.full((3, 2), 4.0))
    np.testing.assert_allclose(drive.poses[:, 0], [0, 0.1, 1.1], atol=1e-12)
    assert drive.pose_covariances[1, 0, 0] ** 0.5 < 0.02
    assert drive.pose_covariances[2, 0, 0] ** 0.5 > 298


def test_unobserved_variances_are_unknown() -> None:
    drive = integrate([0, 0.1], np.full((2, 2), 4.0))
    for covariances in (drive.pose_covariances, drive.twist_covariances):
        np.testing.assert_array_equal(covariances[:, [2, 3, 4], [2, 3, 4]], 1e6)


def test_row_by_row_equals_batch() -> None:
    draw = np.random.default_rng(5)
    seconds = np.cumsum(draw.choice([0.0, 0.05, 0.1, 0.7, 5.0], 300, p=[0.1, 0.4, 0.4, 0.05, 0.05]))
    rates = np.where(draw.uniform(size=(300, 2)) < 0.4, NAN, draw.normal(4.0, 3.0, (300, 2)))
    batch = integrate(seconds, rates)
    state, rows = None, []
    for row in range(300):
        rows.append(integrate(seconds[row : row + 1], rates[row : row + 1], state))
        state = rows[-1].last
    assert 100 < len(batch.stamp_ns) < 290
    for name in ("stamp_ns", "poses", "twists", "pose_covariances", "twist_covariances"):
        stepwise = np.concatenate([getattr(row, name) for row in rows])
        np.testing.assert_allclose(stepwise, getattr(batch, name), rtol=1e-9, atol=1e-12, err_msg=name)


def test_joints_are_found_by_name_and_one_side_may_be_missing() -> None:
    rates = wheel_rates_of_joints(("right_wheel", "engine", "left_wheel"), np.array([[2.0, 9.0, 1.0], [NAN, 9.0, 1.0]]))
    np.testing.assert_array_equal(rates, [[1, 2], [1, NAN]])
    np.testing.assert_array_equal(wheel_rates_of_joints(("right_wheel",), np.array([[2.0]])), [[NAN, 2]])
    np.testing.assert_array_equal(wheel_rates_of_joints(("left_wheel",), np.array([[np.inf]])), [[NAN, NAN]])
    with pytest.raises(ValueError, match="left_wheel or right_wheel"):
        wheel_rates_of_joints(("engine",), np.array([[2.0]]))
    with pytest.raises(ValueError, match="2 joints"):
        wheel_rates_of_joints(("left_wheel", "right_wheel"), np.array([[2.0]]))


@pytest.mark.parametrize("name", ["wheel_radius_m", "track_m"])
def test_invalid_lengths_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected more than 0"):
        skid_steer_from_settings({**SETTINGS, name: 0.0})


def test_base_equals_settings() -> None:
    assert SkidSteerBase(wheel_radius_m=0.25, track_m=2.0) == BASE
