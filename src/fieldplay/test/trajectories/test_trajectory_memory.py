"""The comparison that goes on while both come in: the same as of the whole, in bounded memory, in any order."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.trajectories.evaluation import EvaluationSettings, evaluate, states_of_evaluation
from fieldplay.trajectories.odometry_evaluation import (
    MOST_WAITING,
    PeriodReport,
    PoseBuffer,
    RunningEvaluation,
)
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_testing.reference_trajectories import (
    Array,
    drift_trajectory,
    headings,
    transforms,
    wander,
)

SECOND = 1_000_000_000
TRUTH = wander(2000, step_m=0.01)
ESTIMATE = drift_trajectory(TRUTH)
STAMPS = 1_543_311_000 * SECOND + np.arange(2000) * (SECOND // 50)
SETTINGS = EvaluationSettings(lengths_m=(1.0, 2.0, 5.0))


def running(settings: EvaluationSettings = SETTINGS, **options: int) -> RunningEvaluation:
    return RunningEvaluation(settings, **options)


def reports_of(at_once: int, *, truth_first: bool = False, every: int = 5) -> list[PeriodReport]:
    """Poses of both in portions; the truth has every fifth."""
    state, reports = running(), []
    for start in range(0, 2000, at_once):
        rows = range(start, min(start + at_once, 2000))
        for is_truth in (truth_first, not truth_first):
            for row in rows:
                if is_truth and row % every == 0:
                    state.add_truth(int(STAMPS[row]), TRUTH[row])
                elif not is_truth:
                    state.add_estimate(int(STAMPS[row]), ESTIMATE[row])
            reports += state.reports()
    return reports


def test_one_report_for_each_second_that_both_have_passed() -> None:
    reports = reports_of(1)
    assert [report.stamp_ns for report in reports] == [int(STAMPS[second * 50 + 45]) for second in range(39)]
    aligned = TRUTH[0] @ np.linalg.inv(ESTIMATE[0])
    errors_m = np.linalg.norm((aligned @ ESTIMATE)[:, :3, 3] - TRUTH[:, :3, 3], axis=1)
    assert [report.position_error_m for report in reports] == pytest.approx(errors_m[45 : 39 * 50 : 50], abs=1e-9)


@pytest.mark.parametrize("truth_first", [False, True])
@pytest.mark.parametrize("at_once", [7, 333, 2000])
def test_reports_do_not_depend_on_batches_of_poses(at_once: int, truth_first: bool) -> None:
    known, reports = reports_of(1), reports_of(at_once, truth_first=truth_first)
    assert [report.stamp_ns for report in reports] == [report.stamp_ns for report in known]
    for one, other in zip(reports, known, strict=True):
        assert one.position_error_m == other.position_error_m
        assert states_of_evaluation("", one.evaluation) == states_of_evaluation("", other.evaluation)


def test_online_errors_equal_offline_errors() -> None:
    last = reports_of(100)[-1].evaluation
    until = int(np.searchsorted(STAMPS, last.pairs.stamp_ns[-1], side="right"))
    known = evaluate(
        SETTINGS,
        Trajectory(stamp_ns=STAMPS[:until], poses=ESTIMATE[:until]),
        Trajectory(stamp_ns=STAMPS[:until:5], poses=TRUTH[:until:5]),
    )
    assert last.travelled_m[-1] == pytest.approx(known.travelled_m[-1], rel=0.02)
    assert last.absolute.translation.mean() == pytest.approx(known.absolute.translation.mean(), rel=0.05)
    for one, other in zip(last.over_lengths, known.over_lengths, strict=True):
        assert one.errors.translation.mean() == pytest.approx(other.errors.translation.mean(), rel=0.05)
        assert one.errors.rotation.mean() == pytest.approx(other.errors.rotation.mean(), rel=0.05)


def test_scale_error_is_constant_over_any_distance() -> None:
    """With room for 50 pairs a way of 100 m is kept in steps of 3.2 m; 1 % is 1 % at each length."""
    state = running(EvaluationSettings(lengths_m=(1.0, 10.0)), max_pairs=50)
    positions = np.c_[np.arange(10_000) * 0.01, np.zeros((10_000, 2))]
    truth = transforms(headings(np.zeros(10_000)), positions)
    reports = []
    for row in range(10_000):
        state.add_truth(int(row * SECOND // 100), truth[row])
        state.add_estimate(
            int(row * SECOND // 100), transforms(headings(np.zeros(1)), 1.01 * positions[row : row + 1])[0]
        )
        reports += state.reports()
    evaluation = reports[-1].evaluation
    assert len(evaluation.pairs) <= 51 and state.history.step_m > 1
    assert evaluation.travelled_m[-1] == pytest.approx(98.99, abs=0.05)
    assert reports[-1].position_error_m == pytest.approx(0.9899, abs=1e-3)
    for one in evaluation.over_lengths:
        assert one.errors.translation == pytest.approx(0.01, abs=1e-9)
    assert evaluation.pairs.stamp_ns[0] == 0


def test_standing_rover_uses_bounded_memory() -> None:
    state, random = running(), np.random.default_rng(1)
    for row in range(3000):
        pose = transforms(Rotation.identity(1), random.normal(0, 0.01, (1, 3)))[0]
        state.add_truth(int(row * SECOND // 20), pose)
        state.add_estimate(int(row * SECOND // 20), np.eye(4))
        state.reports()
    assert len(state.history.pairs) == 1
    assert len(state.estimate.stamps) < 50


def test_estimate_waiting_for_missing_truth_drops_its_past() -> None:
    waiting = PoseBuffer()
    for row in range(3 * MOST_WAITING):
        waiting.add(row, np.eye(4))
    assert len(waiting.stamps) <= MOST_WAITING
    assert waiting.stamps[-1] == 3 * MOST_WAITING - 1
    waiting.add(5, np.eye(4))
    assert waiting.stamps[-1] == 3 * MOST_WAITING - 1


def test_hours_without_poses_are_cheap_and_not_bridged() -> None:
    state = running()
    gap = 10**18
    for offset in (0, gap):
        for row in range(100):
            state.add_truth(offset + int(STAMPS[row]), TRUTH[row])
            state.add_estimate(offset + int(STAMPS[row]), ESTIMATE[row])
    reports = state.reports()
    assert [report.stamp_ns - int(STAMPS[0]) > gap // 2 for report in reports] == [False, False, True]


def test_first_pose_alignment_is_used_until_se3_is_determined() -> None:
    state = running(EvaluationSettings(alignment="se3", lengths_m=(1.0,)))
    positions = np.zeros((1000, 3))
    positions[:, 0] = np.arange(1000) * 0.01
    positions[500:, 1] = np.arange(500) * 0.01
    poses: Array = transforms(headings(np.zeros(1000)), positions)
    reports = []
    for row in range(1000):
        state.add_truth(row * SECOND // 100, poses[row])
        state.add_estimate(row * SECOND // 100, poses[row])
        reports += state.reports()
    assert [report.evaluation.settings.alignment for report in reports] == ["first"] * 5 + ["se3"] * 4


def test_truth_without_orientation_is_reported_as_such() -> None:
    state = running()
    for row in range(0, 2000):
        state.add_truth(
            int(STAMPS[row]), transforms(Rotation.identity(1), TRUTH[row : row + 1, :3, 3])[0], has_orientation=False
        )
        state.add_estimate(int(STAMPS[row]), ESTIMATE[row])
    last = state.reports()[-1].evaluation
    assert not last.has_orientation
    names = [key for _, _, values in states_of_evaluation("odom", last) for key, _ in values]
    assert names and not any(name.startswith("rotation") for name in names)
