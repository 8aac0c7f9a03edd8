"""Trajectories made by hand, whose errors are known beforehand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from fieldplay.geometry.transforms import rotation_about_axis, rotation_from_fixed_xyz, transform_from_rotation
from fieldplay.trajectories.alignment import alignment_of_pairs, umeyama
from fieldplay.trajectories.association import PosePairs
from fieldplay.trajectories.evaluation import (
    Evaluation,
    EvaluationSettings,
    evaluate,
    evaluation_from_settings,
    segment_lengths,
)
from fieldplay.trajectories.pose_errors import angle_from_rotation
from fieldplay.trajectories.trajectory import (
    FusionError,
    Trajectory,
    poses_between,
    trajectory_from_rows,
    travelled_from_positions,
    tum_lines,
)
from fieldplay_testing.reference_trajectories import (
    Array,
    drift_trajectory,
    headings,
    transforms,
    wander,
)

SECOND = 1_000_000_000
STRAIGHT = np.c_[np.arange(2001) * 0.01, np.zeros((2001, 2))]
UPRIGHT = headings(np.zeros(2001))


def trajectory(poses: Array, step_ns: int = SECOND // 20, **options: bool) -> Trajectory:
    return Trajectory(stamp_ns=np.arange(len(poses)) * step_ns, poses=poses, **options)


def evaluate_poses(estimate: Array, truth: Array, **settings: object) -> Evaluation:
    return evaluate(EvaluationSettings(**settings), trajectory(estimate), trajectory(truth))


def test_one_percent_scale_error_is_one_percent_at_every_length() -> None:
    evaluation = evaluate_poses(
        transforms(UPRIGHT, 1.01 * STRAIGHT), transforms(UPRIGHT, STRAIGHT), lengths_m=(0.5, 1.0, 2.0, 5.0, 10.0)
    )
    for one in evaluation.over_lengths:
        assert len(one.errors) == 2001 - round(one.length_m / 0.01)
        assert one.errors.translation == pytest.approx(0.01, abs=1e-9)
        assert one.errors.rotation == pytest.approx(0.0, abs=1e-9)
    assert evaluation.absolute.translation[-1] == pytest.approx(0.2)
    assert evaluation.axes_m[-1] == pytest.approx([0.2, 0, 0])


def test_heading_drift_shows_as_degrees_per_metre_and_curved_path() -> None:
    """On an arc of curvature k the chord of a length L ends at sin(kL)/k and (1 - cos(kL))/k."""
    curvature = np.radians(0.5)
    yaw = curvature * STRAIGHT[:, 0]
    bent = np.c_[np.sin(yaw), 1 - np.cos(yaw), 0 * yaw] / curvature
    evaluation = evaluate_poses(transforms(headings(yaw), bent), transforms(UPRIGHT, STRAIGHT), lengths_m=(1.0, 10.0))
    for one in evaluation.over_lengths:
        turned = curvature * one.length_m
        difference = np.hypot(np.sin(turned) / curvature - one.length_m, (1 - np.cos(turned)) / curvature)
        assert one.errors.rotation == pytest.approx(curvature, abs=1e-9)
        assert one.errors.translation == pytest.approx(difference / one.length_m, abs=1e-9)


def test_segment_ends_at_first_pose_beyond_its_length() -> None:
    truth = wander(300, step_m=0.03)
    evaluation = evaluate_poses(drift_trajectory(truth), truth, lengths_m=(0.5, 2.0), step_m=0.0)
    travelled = np.r_[0, np.cumsum(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1))]
    assert evaluation.travelled_m == pytest.approx(travelled)
    for one in evaluation.over_lengths:
        pairs = [
            (i, j) for i in range(300) for j in range(i, 300) if travelled[j] - travelled[i] >= one.length_m - 1e-9
        ]
        first = {i: j for i, j in reversed(pairs)}
        assert one.starts.tolist() == sorted(first)
        for number, i in enumerate(one.starts.tolist()):
            motions = [np.linalg.inv(p[i]) @ p[first[i]] for p in (evaluation.pairs.truth, evaluation.pairs.estimate)]
            difference = np.linalg.inv(motions[0]) @ motions[1]
            distance = np.linalg.norm(difference[:3, 3]) / one.length_m
            angle = Rotation.from_matrix(difference[:3, :3]).magnitude() / one.length_m
            errors = one.errors.translation[number], one.errors.rotation[number]
            assert errors == pytest.approx((distance, angle), abs=1e-12)


def test_time_offset_is_compensated() -> None:
    """At 1 m/s half a second is half a metre, and none once the estimate's times are put right."""
    truth = trajectory(transforms(UPRIGHT, STRAIGHT), SECOND // 100)
    late = Trajectory(stamp_ns=truth.stamp_ns + SECOND // 2, poses=truth.poses)
    wrong, right = (evaluate(EvaluationSettings(alignment="none", offset_s=s), late, truth) for s in (0.0, -0.5))
    assert wrong.absolute.translation == pytest.approx(0.5)
    assert right.absolute.translation == pytest.approx(0.0, abs=1e-9)
    assert len(right.pairs) == 2001


def test_interpolated_poses_are_on_a_line_and_rotate_evenly() -> None:
    random = np.random.default_rng(3)
    turns = Rotation.random(6, random_state=3)
    known = trajectory(transforms(turns, random.normal(size=(6, 3))), SECOND)
    requested = np.sort(random.integers(0, 5 * SECOND, 50))
    poses, inside = poses_between(known, requested, longest_gap_ns=SECOND)
    assert inside.all()
    seconds = requested / SECOND
    assert poses[:, :3, :3] == pytest.approx(Slerp(np.arange(6), turns)(seconds).as_matrix(), abs=1e-9)
    for axis in range(3):
        assert poses[:, axis, 3] == pytest.approx(np.interp(seconds, np.arange(6), known.positions_m[:, axis]))


def test_no_pose_is_extrapolated_or_interpolated_in_gaps() -> None:
    poses = transforms(UPRIGHT[:4], STRAIGHT[:4])
    known = Trajectory(stamp_ns=np.array([0, 1, 2, 9]) * SECOND, poses=poses)
    requested = np.array([-1, 0, 1.5, 2, 3, 8, 9, 10]) * SECOND
    _, inside = poses_between(known, requested.astype(np.int64), longest_gap_ns=SECOND)
    assert inside.tolist() == [False, True, True, True, False, False, True, False]


def test_disjoint_times_are_reported_with_both_spans() -> None:
    truth = trajectory(transforms(UPRIGHT, STRAIGHT))
    other = Trajectory(stamp_ns=truth.stamp_ns + 1000 * SECOND, poses=truth.poses)
    with pytest.raises(FusionError, match=r"estimate from 1000.000 to 1100.000 s and the truth from 0.000 to 100"):
        evaluate(EvaluationSettings(), other, truth)
    with pytest.raises(FusionError, match="no pose of the truth"):
        evaluate(EvaluationSettings(), other, truth.only(slice(0)))


def test_sensor_off_robot_centre_adds_no_error_with_its_transform() -> None:
    """A satellite unit behind and above, turned over: it goes wider ways in bends than the body."""
    body_t_unit = transforms(Rotation.from_euler("xyz", [[np.pi, 0, 0.5]]), np.array([[-0.4, 0.1, 0.53]]))[0]
    body = wander(500)
    units = np.linalg.inv(body[0]) @ body @ body_t_unit
    without_transform = evaluate_poses(body, units)
    assert without_transform.absolute.translation.max() > 0.1
    moved = evaluate(EvaluationSettings(), trajectory(body).of_frame(body_t_unit), trajectory(units))
    assert moved.absolute.translation == pytest.approx(0.0, abs=1e-9)
    assert moved.absolute.rotation == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("alignment", ["first", "se3", "yaw"])
def test_truth_without_orientation_gives_translation_errors_only(alignment: str) -> None:
    yaw = np.cumsum(np.random.default_rng(4).normal(0, 0.02, 1500))
    steps = 0.02 * np.stack([np.cos(yaw), np.sin(yaw), np.zeros(1500)], axis=1)
    drive = transforms(headings(yaw), np.cumsum(steps, axis=0))
    estimate = drive.copy()
    estimate[:, :3, 3] *= 1.01
    world = transforms(headings(np.array([2.0])), np.array([[5.0, 6.0, 7.0]]))[0]
    truth = trajectory(transforms(headings(np.zeros(1500)), (world @ drive)[:, :3, 3]), has_orientation=False)
    evaluation = evaluate(EvaluationSettings(alignment=alignment, lengths_m=(1.0, 5.0)), trajectory(estimate), truth)
    known = evaluate_poses(estimate, world @ drive, alignment=alignment, lengths_m=(1.0, 5.0))
    assert not evaluation.has_orientation and np.isnan(evaluation.absolute.rotation).all()
    for ours, theirs in zip(evaluation.over_lengths, known.over_lengths, strict=True):
        assert np.isnan(ours.errors.rotation).all()
        assert ours.errors.translation == pytest.approx(theirs.errors.translation, rel=0.01)
    assert evaluation.absolute.translation == pytest.approx(known.absolute.translation, abs=0.01)


def test_yaw_alignment_keeps_tilt_and_flips_z_down_frame() -> None:
    truth = wander(400)
    down = np.diag([1.0, -1.0, -1.0, 1.0])
    odom_t_map = transforms(headings(np.array([0.7])), np.array([[3.0, 2.0, 1.0]]))[0]
    evaluation = evaluate_poses(odom_t_map @ truth, down @ truth, alignment="yaw")
    assert evaluation.absolute.translation == pytest.approx(0.0, abs=1e-9)
    tilted = transforms(Rotation.from_euler("xyz", [[0.1, 0, 0]]), np.zeros((1, 3)))[0]
    assert evaluate_poses(tilted @ truth, truth, alignment="yaw").absolute.rotation.min() > 0.09
    assert evaluate_poses(tilted @ truth, truth, alignment="se3").absolute.rotation.max() < 1e-7


def test_positions_on_a_line_leave_rotation_about_it_undetermined() -> None:
    pairs = PosePairs(
        stamp_ns=np.arange(2001), estimate=transforms(UPRIGHT, STRAIGHT), truth=transforms(UPRIGHT, STRAIGHT)
    )
    with pytest.raises(FusionError, match="are collinear"):
        alignment_of_pairs("se3", pairs)
    with pytest.raises(FusionError, match="no poses"):
        alignment_of_pairs("first", pairs.only(slice(0)))
    assert alignment_of_pairs("yaw", pairs).transform == pytest.approx(np.eye(4))


def test_mirrored_points_give_a_proper_rotation() -> None:
    points = wander(50)[:, :3, 3]
    alignment = umeyama(points, points * [1, 1, -1])
    assert np.linalg.det(alignment.transform[:3, :3]) == pytest.approx(1.0)


def test_noise_at_standstill_adds_no_path_length() -> None:
    random = np.random.default_rng(2)
    standing = random.normal(0, 0.01, (5000, 3))
    assert travelled_from_positions(standing)[-1] > 50
    assert travelled_from_positions(standing, 0.1)[-1] < 0.1
    driven = STRAIGHT + random.normal(0, 0.01, STRAIGHT.shape)
    assert travelled_from_positions(driven)[-1] > 40
    travelled = travelled_from_positions(driven, 0.1)
    assert travelled == pytest.approx(STRAIGHT[:, 0], abs=0.6)
    assert (np.diff(travelled) >= 0).all()


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 1000])
def test_path_length_is_exact_for_any_number_of_positions(count: int) -> None:
    positions = STRAIGHT[:count]
    for step_m in (0.0, 0.005, 0.05, 1.0, 100.0):
        assert travelled_from_positions(positions, step_m) == pytest.approx(positions[:, 0], abs=1e-9)


def test_unordered_rows_with_gaps_become_a_trajectory() -> None:
    stamps = np.array([5, 1, 3, 3, 4])
    positions = np.array([[5.0, 0, 0], [1, 0, 0], [3, 0, 0], [9, 9, 9], [np.nan, 0, 0]])
    quaternions = np.array([[0, 0, 0, 1.0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1]])
    result = trajectory_from_rows(stamps, positions, quaternions)
    assert result.stamp_ns.tolist() == [1, 3, 5] and result.has_orientation
    assert result.positions_m[:, 0].tolist() == [1, 3, 5]
    assert result.poses[0, :2, :2] == pytest.approx(-np.eye(2))
    for nothing in (None, np.zeros((5, 4))):
        assert not trajectory_from_rows(stamps, positions, nothing).has_orientation
    quaternions[1] = 0
    assert trajectory_from_rows(stamps, positions, quaternions).stamp_ns.tolist() == [3, 5]


def test_non_increasing_times_are_refused() -> None:
    with pytest.raises(ValueError, match="times that grow"):
        Trajectory(stamp_ns=np.array([1, 1]), poses=np.tile(np.eye(4), (2, 1, 1)))


def test_tum_file_keeps_every_nanosecond() -> None:
    poses = transforms(headings(np.array([np.pi / 2])), np.array([[1.0, -2.0, 0.25]]))
    line = next(tum_lines(Trajectory(stamp_ns=np.array([1_543_311_000_000_000_001]), poses=poses)))
    half = "0.707106781"
    assert line == f"1543311000.000000001 1.000000000 -2.000000000 0.250000000 0.000000000 0.000000000 {half} {half}\n"


@pytest.mark.parametrize(
    ("path_length_m", "expected"),
    [(650.0, (2, 5, 10, 20, 50, 100, 200)), (6.0, (0.5, 1, 2)), (0.3, (0.1,)), (0.0, (0.5,)), (1.1, (0.5,))],
)
def test_segment_lengths_fit_the_path(path_length_m: float, expected: tuple[float, ...]) -> None:
    assert segment_lengths(path_length_m) == pytest.approx(expected)


@pytest.mark.parametrize(
    "settings", [{"alignment": "best"}, {"association": "best"}, {"lengths_m": [0]}, {"within_s": 0}, {"frames": 0}]
)
def test_invalid_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        evaluation_from_settings(settings)


numbers = st.floats(-100, 100)


@given(st.tuples(*[st.floats(-3, 3)] * 6), st.tuples(*[numbers] * 6), st.sampled_from(["first", "se3"]))
def test_errors_do_not_depend_on_frames_of_reference(
    angles: tuple[float, ...], origins: tuple[float, ...], alignment: str
) -> None:
    truth = wander(60, step_m=0.2)
    estimate = drift_trajectory(truth)
    turns = Rotation.from_euler("xyz", np.reshape(angles, (2, 3)))
    worlds = transforms(turns, np.reshape(origins, (2, 3)))
    known = evaluate_poses(estimate, truth, alignment=alignment, lengths_m=(1.0, 3.0))
    moved = evaluate_poses(worlds[0] @ estimate, worlds[1] @ truth, alignment=alignment, lengths_m=(1.0, 3.0))
    assert moved.absolute.translation == pytest.approx(known.absolute.translation, abs=1e-6)
    assert moved.absolute.rotation == pytest.approx(known.absolute.rotation, abs=1e-6)
    for one, other in zip(moved.over_lengths, known.over_lengths, strict=True):
        assert one.errors.translation == pytest.approx(other.errors.translation, abs=1e-6)
        assert one.errors.rotation == pytest.approx(other.errors.rotation, abs=1e-6)


@given(st.floats(0, np.pi), st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda axis: np.linalg.norm(axis) > 0.1))
def test_rotation_angle_is_exact_for_small_angles(angle: float, axis: tuple[float, ...]) -> None:
    rotation = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis)).as_matrix()
    assert angle_from_rotation(rotation) == pytest.approx(angle, abs=1e-7)
    assert angle > 1 or angle_from_rotation(rotation) == pytest.approx(angle, abs=1e-14)


def test_estimate_in_camera_frame_is_leveled_for_truth_without_orientation() -> None:
    """A camera that looks ahead and 20 degrees down, on ground that rises; the truth knows places alone."""
    t = np.linspace(0, 6, 241)
    heading = 0.4 * np.sin(t)
    steps = 0.25 * np.stack([np.cos(heading), np.sin(heading), 0.05 * np.ones_like(t)], axis=1)
    positions = np.cumsum(steps, axis=0)
    body = transform_from_rotation(rotation_about_axis(2, heading), positions)
    first = transform_from_rotation(rotation_from_fixed_xyz([-np.radians(110), 0, -np.pi / 2]), np.array([0.0, 0, 1]))
    estimate = Trajectory(stamp_ns=np.arange(241) * 10**8, poses=np.linalg.inv(body[0] @ first) @ body)
    truth = Trajectory(stamp_ns=estimate.stamp_ns, poses=transform_from_rotation(np.eye(3), positions))
    evaluation = evaluate(EvaluationSettings(lengths_m=(5.0,)), estimate, replace(truth, has_orientation=False))
    assert evaluation.absolute.translation.max() < 0.05
    assert np.median(evaluation.over_lengths[0].errors.translation) < 0.01
    assert np.allclose(evaluation.alignment.of_poses(estimate.poses)[:, :3, 3], evaluation.pairs.estimate[:, :3, 3])
