"""Our errors against those that evo finds of the same trajectories."""

from itertools import pairwise

import numpy as np
import pytest
from evo.core import metrics, sync
from evo.core.trajectory import PoseTrajectory3D

from fieldplay.trajectories.alignment import alignment_of_pairs
from fieldplay.trajectories.association import NEAREST, PosePairs, associate
from fieldplay.trajectories.evaluation import EvaluationSettings, evaluate
from fieldplay.trajectories.pose_errors import (
    Errors,
    absolute_errors,
    relative_pose_errors,
    segment_errors,
    statistics_of,
    steps_over_distance,
    steps_over_frames,
)
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_testing.reference_trajectories import drift_trajectory, wander

START_S = 1_543_311_000
TRUTH = wander(400)
ESTIMATE = drift_trajectory(TRUTH)
STAMPS = np.arange(400) * 50_000_000
TOLERANCE = 1e-9
TRANSLATION, ANGLE = metrics.PoseRelation.translation_part, metrics.PoseRelation.rotation_angle_rad


def pairs() -> PosePairs:
    return PosePairs(stamp_ns=STAMPS, estimate=ESTIMATE, truth=TRUTH)


def evos(poses: np.ndarray, stamps_ns: np.ndarray = STAMPS) -> PoseTrajectory3D:
    return PoseTrajectory3D(poses_se3=list(poses), timestamps=stamps_ns * 1e-9)


def evo_errors(metric: metrics.PE, estimate: PoseTrajectory3D, truth: PoseTrajectory3D) -> np.ndarray:
    metric.process_data((truth, estimate))
    return np.asarray(metric.error)


@pytest.mark.parametrize(("kind", "scale"), [("se3", False), ("sim3", True)])
def test_alignment_agrees_with_evo(kind: str, scale: bool) -> None:
    estimate, truth = evos(ESTIMATE.copy()), evos(TRUTH.copy())
    rotation, translation, factor = estimate.align(truth, correct_scale=scale)
    alignment = alignment_of_pairs(kind, pairs())
    assert alignment.transform[:3, :3] == pytest.approx(rotation, abs=TOLERANCE)
    assert alignment.transform[:3, 3] == pytest.approx(translation, abs=TOLERANCE)
    assert alignment.scale == pytest.approx(factor, abs=TOLERANCE)
    assert alignment.of_poses(ESTIMATE)[:, :3, 3] == pytest.approx(estimate.positions_xyz, abs=TOLERANCE)


@pytest.mark.parametrize("kind", ["se3", "sim3", "first"])
def test_absolute_errors_agree_with_evo(kind: str) -> None:
    estimate, truth = evos(ESTIMATE.copy()), evos(TRUTH.copy())
    if kind == "first":
        estimate.align_origin(truth)
    else:
        estimate.align(truth, correct_scale=kind == "sim3")
    errors = absolute_errors(alignment_of_pairs(kind, pairs()).of_pairs(pairs()))
    expected = evo_errors(metrics.APE(TRANSLATION), estimate, truth)
    assert errors.translation == pytest.approx(expected, abs=TOLERANCE)
    assert errors.rotation == pytest.approx(evo_errors(metrics.APE(ANGLE), estimate, truth), abs=TOLERANCE)
    metric = metrics.APE(TRANSLATION)
    metric.process_data((truth, estimate))
    ours, theirs = statistics_of(errors.translation), metric.get_all_statistics()
    for name in ("rmse", "mean", "median", "std"):
        assert getattr(ours, name) == pytest.approx(theirs[name], abs=TOLERANCE)
    assert (ours.least, ours.most) == pytest.approx((theirs["min"], theirs["max"]), abs=TOLERANCE)


def compare_relative(errors_of_pairs: Errors, **options: object) -> None:
    for relation, errors in ((TRANSLATION, errors_of_pairs.translation), (ANGLE, errors_of_pairs.rotation)):
        expected = evo_errors(metrics.RPE(relation, **options), evos(ESTIMATE), evos(TRUTH))
        assert len(expected) > 10
        assert errors == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("all_pairs", [False, True])
@pytest.mark.parametrize("delta", [1, 7])
def test_relative_pose_errors_over_frames_agree_with_evo(delta: int, all_pairs: bool) -> None:
    errors = relative_pose_errors(pairs(), steps_over_frames(len(STAMPS), delta, all_pairs=all_pairs))
    compare_relative(errors, delta=delta, delta_unit=metrics.Unit.frames, all_pairs=all_pairs)


@pytest.mark.parametrize("delta_m", [0.4, 1.0])
def test_relative_pose_errors_over_distance_agree_with_evo(delta_m: float) -> None:
    errors = relative_pose_errors(pairs(), steps_over_distance(ESTIMATE[:, :3, 3], delta_m))
    compare_relative(errors, delta=delta_m, delta_unit=metrics.Unit.meters)


def test_nearest_association_agrees_with_evo() -> None:
    random = np.random.default_rng(5)
    often = np.sort(random.choice(20_000_000_000, 380, replace=False)) + START_S * 1_000_000_000
    seldom = np.sort(random.choice(20_000_000_000, 200, replace=False)) + START_S * 1_000_000_000
    estimate, truth = ESTIMATE[:380], TRUTH[:200]
    theirs = sync.associate_trajectories(evos(truth, seldom), evos(estimate, often), max_diff=0.02)
    ours = associate(
        Trajectory(stamp_ns=often, poses=estimate),
        Trajectory(stamp_ns=seldom, poses=truth),
        within_s=0.02,
        method=NEAREST,
    )
    assert 50 < len(ours) < 200
    assert ours.truth[:, :3, 3] == pytest.approx(theirs[0].positions_xyz, abs=TOLERANCE)
    assert ours.estimate[:, :3, 3] == pytest.approx(theirs[1].positions_xyz, abs=TOLERANCE)


def test_interpolated_association_agrees_with_evo() -> None:
    seldom = np.arange(10, 380, 2) * 50_000_000 + 17_000_000
    seldom_truth = np.array([TRUTH[index] for index in range(10, 380, 2)])
    theirs = sync.associate_trajectories(
        evos(seldom_truth, seldom), evos(ESTIMATE), max_diff=0.1, sync_method=sync.SyncMethod.interpolation
    )
    theirs[1].align(theirs[0])
    expected = evo_errors(metrics.APE(TRANSLATION), theirs[1], theirs[0])
    evaluation = evaluate(
        EvaluationSettings(alignment="se3"),
        Trajectory(stamp_ns=STAMPS, poses=ESTIMATE),
        Trajectory(stamp_ns=seldom, poses=seldom_truth),
    )
    assert evaluation.absolute.translation == pytest.approx(expected, abs=1e-8)  # its times are floats


def kitti_errors(estimate: np.ndarray, truth: np.ndarray) -> list[tuple[float, float, float]]:
    """Length, translation and rotation error of each segment, by the steps that KITTI's development kit describes."""
    distance, errors = [0.0], []
    for before, after in pairwise(truth):
        distance.append(distance[-1] + float(np.linalg.norm(after[:3, 3] - before[:3, 3])))
    for first in range(0, len(truth), 10):
        for length in (100, 200, 300, 400, 500, 600, 700, 800):
            last = next((i for i in range(first, len(truth)) if distance[i] > distance[first] + length), None)
            if last is None:
                continue
            of_truth = np.linalg.inv(truth[first]) @ truth[last]
            error = np.linalg.inv(np.linalg.inv(estimate[first]) @ estimate[last]) @ of_truth
            angle = np.arccos(np.clip((np.trace(error[:3, :3]) - 1) / 2, -1, 1))
            errors.append((float(length), float(np.linalg.norm(error[:3, 3])) / length, angle / length))
    return errors


def test_segments_agree_with_the_development_kit_of_kitti() -> None:
    truth, estimate = TRUTH.copy(), ESTIMATE.copy()
    factor = 700 / np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).sum()  # so long that some lengths fit
    truth[:, :3, 3] *= factor
    estimate[:, :3, 3] *= factor
    expected = np.array(kitti_errors(estimate, truth))
    segments = segment_errors(PosePairs(stamp_ns=STAMPS, estimate=estimate, truth=truth))
    assert [one.length_m for one in segments] == sorted(set(expected[:, 0])) == [100, 200, 300, 400, 500, 600]
    for one in segments:
        rows = expected[expected[:, 0] == one.length_m]
        np.testing.assert_allclose(one.errors.translation, rows[:, 1], rtol=1e-9)
        np.testing.assert_allclose(one.errors.rotation, rows[:, 2], atol=1e-9)


def test_path_of_less_than_100_m_has_no_segments() -> None:
    assert segment_errors(PosePairs(stamp_ns=STAMPS[:3], estimate=ESTIMATE[:3], truth=TRUTH[:3])) == ()
