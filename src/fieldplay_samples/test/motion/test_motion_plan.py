"""Plans of drives: what a robot can follow, for any length of time."""

import numpy as np
import pytest

from fieldplay_samples.motion.plan import DriveLimits, Leg, plan_drive, plan_from_legs
from fieldplay_samples.motion.ride import path_of_plan

LIMITS = DriveLimits()
LENGTHS = (2.0, 5.0, 10.0, 20.0, 60.0, 600.0)


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_drive_of_any_length_keeps_to_limits(seconds: float, seed: int) -> None:
    plan = plan_drive(seconds, np.random.default_rng(seed), LIMITS)
    time = np.linspace(0.0, seconds, round(seconds * 200) + 1)
    speed, curvature = plan.speed_m_s.at(time), plan.curvature_1_m.at(time)
    assert np.abs(curvature).max() <= 1.0 / LIMITS.least_radius_m + 1e-12
    assert LIMITS.slowest_m_s - 1e-9 <= speed.max() <= LIMITS.fastest_m_s + 1e-9
    assert -LIMITS.fastest_m_s <= speed.min() <= 1e-9 - LIMITS.slowest_m_s
    assert np.abs(np.gradient(speed, time)).max() < 2.0


@pytest.mark.parametrize("seconds", LENGTHS)
def test_drive_rests_at_start_and_stop_and_goes_left_right_and_back(seconds: float) -> None:
    plan = plan_drive(seconds, np.random.default_rng(7), LIMITS)
    rests = np.array([0.0, 0.05, seconds - 0.05, seconds])
    assert np.abs(plan.speed_m_s.at(rests)).max() < 1e-4
    time = np.linspace(0.0, seconds, 4000)
    speed, curvature = plan.speed_m_s.at(time), plan.curvature_1_m.at(time)
    forward = speed > 0.1
    assert curvature[forward].max() > 0.2
    assert (speed < -0.1).any()
    assert curvature.min() < -0.2


def test_curvature_changes_only_while_robot_moves() -> None:
    plan = plan_drive(20.0, np.random.default_rng(3), LIMITS)
    time = np.linspace(0.0, 20.0, 20001)
    changes = np.abs(np.diff(plan.curvature_1_m.at(time))) > 1e-9
    assert changes.any()
    assert np.abs(plan.speed_m_s.at(time)[:-1][changes]).min() > 0.15


def test_constant_curvature_makes_circle() -> None:
    legs = [
        Leg(fraction=0.1, speed_m_s=0.0),
        Leg(fraction=1.0, speed_m_s=0.5, curvature_1_m=0.4),
        Leg(fraction=0.1, speed_m_s=0.0),
    ]
    path = path_of_plan(plan_from_legs(legs, 60.0), start_xy_m=(3.0, -2.0), start_heading_rad=0.7)
    settled = np.flatnonzero(path.curvature_1_m == path.curvature_1_m.max())
    left = np.array([-np.sin(path.heading_rad), np.cos(path.heading_rad)])
    centres = (np.array([path.x_m, path.y_m]) + left / 0.4)[:, settled]
    assert len(settled) > 1000
    np.testing.assert_allclose(centres, centres[:, [0]].repeat(len(settled), axis=1), atol=1e-8)


def test_reversing_counts_as_travelled() -> None:
    legs = [Leg(fraction=1, speed_m_s=0.0), Leg(fraction=4, speed_m_s=0.5), Leg(fraction=1, speed_m_s=0.0)]
    legs += [Leg(fraction=4, speed_m_s=-0.5), Leg(fraction=1, speed_m_s=0.0)]
    path = path_of_plan(plan_from_legs(legs, 22.0), start_xy_m=(0.0, 0.0), start_heading_rad=0.0)
    assert abs(path.x_m[-1]) < 1e-9
    assert path.travelled_m[-1] == pytest.approx(2.0 * path.x_m.max())
    assert path.x_m.max() == pytest.approx(0.5 * (8.0 - 1.5), rel=1e-9)  # less half of each change of speed, 1.5 s
