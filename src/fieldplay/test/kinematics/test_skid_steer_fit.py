"""Wheel radius and track from a drive: exact numbers, noise, slip, one side a line, and drives that tell nothing."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from fieldplay.kinematics.skid_steer_fit import WheelDrive, skid_steer_fit

Array = NDArray[np.float64]
RADIUS_M, TRACK_M = 0.3, 1.8
START_NS = 1_224_198_733_114_000_000


def stamps_of(seconds: Array) -> NDArray[np.int64]:
    return START_NS + np.round(seconds * 1e9).astype(np.int64)


def speeds_at(seconds: Array) -> tuple[Array, Array]:
    """Forward speed and turn rate of a drive with turns to both sides."""
    return 1.5 + 0.8 * np.sin(0.11 * seconds), 0.5 * np.sin(0.23 * seconds)


def rates_at(seconds: Array) -> Array:
    """What the wheels of such a base turn: the equations solved for the sides."""
    speed, turn = speeds_at(seconds)
    return np.stack([speed - turn * TRACK_M / 2, speed + turn * TRACK_M / 2], axis=-1) / RADIUS_M


def drive_of(seconds: float = 120.0, noise: float = 0.0, seed: int = 1) -> WheelDrive:
    draw = np.random.default_rng(seed)
    of_wheels, of_motion = np.arange(0, seconds, 0.05), np.arange(0.003, seconds, 0.02)
    speed, turn = speeds_at(of_motion)
    return WheelDrive(
        wheel_stamp_ns=stamps_of(of_wheels),
        wheel_rates_rad_s=rates_at(of_wheels),
        moved_stamp_ns=stamps_of(of_motion),
        speed_m_s=speed + noise * draw.normal(size=len(speed)),
        turn_rate_rad_s=turn + noise * draw.normal(size=len(turn)),
    )


def test_noise_free_drive_gives_its_base() -> None:
    fit = skid_steer_fit(drive_of())
    assert fit.wheel_radius_m.value == pytest.approx(RADIUS_M, rel=1e-4)
    assert fit.track_m.value == pytest.approx(TRACK_M, rel=1e-3)
    assert fit.wheel_radius_m.std < 1e-4 and fit.track_m.std < 5e-3
    assert fit.rows > 5900


def test_fit_agrees_with_general_solver_of_same_loss() -> None:
    """SciPy's soft_l1 weighs outliers otherwise than Tukey: both come near the truth and near each other."""
    drive = drive_of(noise=0.05)
    fit = skid_steer_fit(drive)
    seconds = (drive.moved_stamp_ns - START_NS) / 1e9
    rates = rates_at(seconds)

    def misses(unknown: Array) -> Array:
        radius, track = unknown
        speed, turn = radius * rates.mean(axis=1), radius * np.diff(rates, axis=1)[:, 0] / track
        return np.concatenate([speed - drive.speed_m_s, turn - drive.turn_rate_rad_s]) / 0.05

    radius, track = least_squares(misses, [0.2, 1.0], loss="soft_l1").x
    assert fit.wheel_radius_m.value == pytest.approx(radius, abs=3 * fit.wheel_radius_m.std)
    assert fit.track_m.value == pytest.approx(track, abs=3 * fit.track_m.std)


def test_reported_std_equals_spread_of_results() -> None:
    fits = [skid_steer_fit(drive_of(60.0, noise=0.1, seed=seed)) for seed in range(40)]
    for name, truth in (("wheel_radius_m", RADIUS_M), ("track_m", TRACK_M)):
        values = np.array([getattr(fit, name).value for fit in fits])
        reported = np.median([getattr(fit, name).std for fit in fits])
        assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(len(values)) + 1e-3 * truth)
        assert 0.6 < reported / values.std(ddof=1) < 1.7, name


def test_slip_biases_plain_fit_but_not_robust_fit() -> None:
    drive = drive_of(noise=0.02)
    seconds = (drive.moved_stamp_ns - START_NS) / 1e9
    slips = (seconds % 20) < 4
    drive = replace(drive, speed_m_s=np.where(slips, 0.3, 1.0) * drive.speed_m_s)
    rates = rates_at(seconds).mean(axis=1)
    plain = (rates * drive.speed_m_s).sum() / (rates**2).sum()
    fit = skid_steer_fit(drive)
    assert abs(plain - RADIUS_M) > 0.03
    assert fit.wheel_radius_m.value == pytest.approx(RADIUS_M, rel=0.01)
    assert fit.slipping == pytest.approx(0.2, abs=0.03)


def test_alternating_sides_give_same_fit() -> None:
    drive = drive_of()
    rates = drive.wheel_rates_rad_s.copy()
    rates[::2, 0], rates[1::2, 1] = np.nan, np.nan
    fit = skid_steer_fit(replace(drive, wheel_rates_rad_s=rates))
    assert fit.wheel_radius_m.value == pytest.approx(RADIUS_M, rel=1e-3)
    assert fit.track_m.value == pytest.approx(TRACK_M, rel=1e-2)


def test_standing_most_of_the_time_does_not_affect_fit() -> None:
    drive = drive_of(noise=0.01)
    stands = drive.moved_stamp_ns > START_NS + 30 * 10**9
    wheels_stand = drive.wheel_stamp_ns > START_NS + 30 * 10**9
    drive = replace(
        drive,
        wheel_rates_rad_s=np.where(wheels_stand[:, None], 0.0, drive.wheel_rates_rad_s),
        speed_m_s=np.where(stands, 0.0, drive.speed_m_s),
        turn_rate_rad_s=np.where(stands, 0.0, drive.turn_rate_rad_s),
    )
    fit = skid_steer_fit(drive)
    assert fit.wheel_radius_m.value == pytest.approx(RADIUS_M, rel=0.01)
    assert fit.track_m.value == pytest.approx(TRACK_M, rel=0.02)


def test_undetermined_parameters_are_none() -> None:
    drive = drive_of()
    straight = replace(drive, wheel_rates_rad_s=np.repeat(rates_at(np.arange(2400) * 0.05).mean(axis=1)[:, None], 2, 1))
    assert skid_steer_fit(straight).track_m is None
    assert skid_steer_fit(straight).wheel_radius_m is not None
    still = skid_steer_fit(replace(drive, wheel_rates_rad_s=np.zeros_like(drive.wheel_rates_rad_s)))
    assert (still.wheel_radius_m, still.track_m) == (None, None)
    silent = skid_steer_fit(replace(drive, wheel_rates_rad_s=np.full_like(drive.wheel_rates_rad_s, np.nan)))
    assert (silent.wheel_radius_m, silent.rows) == (None, 0)
    short = replace(
        drive, **{name: getattr(drive, name)[:100] for name in ("moved_stamp_ns", "speed_m_s", "turn_rate_rad_s")}
    )
    assert skid_steer_fit(short).wheel_radius_m is None


def test_exchanged_sides_give_negative_track() -> None:
    drive = drive_of()
    fit = skid_steer_fit(replace(drive, wheel_rates_rad_s=drive.wheel_rates_rad_s[:, ::-1]))
    assert fit.track_m.value == pytest.approx(-TRACK_M, rel=1e-3)
    assert fit.wheel_radius_m.value == pytest.approx(RADIUS_M, rel=1e-3)


def test_wheel_gaps_are_not_interpolated() -> None:
    drive = drive_of()
    gone = (drive.wheel_stamp_ns > START_NS + 40 * 10**9) & (drive.wheel_stamp_ns < START_NS + 80 * 10**9)
    rates = np.where(gone[:, None], np.nan, drive.wheel_rates_rad_s)
    fit = skid_steer_fit(replace(drive, wheel_rates_rad_s=rates))
    assert fit.rows == pytest.approx(4000, abs=10)
    assert fit.track_m.value == pytest.approx(TRACK_M, rel=1e-3)
