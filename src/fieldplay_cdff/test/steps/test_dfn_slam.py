"""A stereo camera over painted ground that is known: laps that close, and all that must not be taken for one."""

import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay.geometry.transforms import inverse_from_transform, transform_from_vectors, vector_from_rotation
from fieldplay_cdff.steps.slam import KeyframeSlam
from fieldplay_cdff.steps.values import Array, Frame, FramePair
from fieldplay_testing.painted_ground import BASELINE_M, CAMERA, HEIGHT, PERIOD_NS, SETTINGS, WIDTH, Drive, at


def lap(more: int = 5, steps: int = 44, radius: float = 1.5) -> list[Array]:
    """A circle, and its begin again."""
    turns = 2 * np.pi * np.arange(steps + more) / steps
    return [at(radius * np.sin(turn), -radius * np.cos(turn), turn) for turn in turns]


def off(poses: Array, true: list[Array]) -> Array:
    """By how many m (n,) poses differ from those in the frame of the first."""
    own = inverse_from_transform(true[0]) @ np.array(true)
    return np.linalg.norm(poses[:, :3, 3] - own[:, :3, 3], axis=1)


def test_closed_lap_is_corrected() -> None:
    drive, true, odometry, live = Drive(KeyframeSlam(SETTINGS)), lap(), [], []
    closed, deviations = [], []
    for pose in true:
        out = drive.go(pose)
        assert out["success"]
        odometry.append(drive.odometry)
        live.append(out["pose"].pose)
        closed.append("path" in out)
        deviations.append(float(np.sqrt(np.trace(out["pose"].covariance[:3, :3]))))
    first = closed.index(True)
    assert 41 < first < 47
    assert off(np.array(odometry), true)[-1] > 0.2 > 0.03 > off(np.array(live), true)[-1]
    assert deviations[first] < deviations[first - 1] / 2
    last = drive.step.finish()
    assert (np.diff(last["path"].stamp_ns) == PERIOD_NS).all() and len(last["path"]) == len(true)
    errors = off(last["path"].poses, true)
    assert errors.max() < 0.25 * off(np.array(odometry), true).max() and errors.max() < 0.12
    keyframe_map = last["map"]
    assert 24 < len(keyframe_map) < 49 and 4 <= len(keyframe_map.closures) <= 3 * (len(true) - first)
    for edge in keyframe_map.closures:
        periods = [keyframe_map.keyframes[number].stamp_ns // PERIOD_NS for number in (edge.first, edge.second)]
        expected = inverse_from_transform(true[periods[0]]) @ true[periods[1]]
        np.testing.assert_allclose(edge.measured[:3, 3], expected[:3, 3], atol=0.01)


def test_same_pairs_give_same_map() -> None:
    paths = []
    for _ in range(2):
        drive = Drive(KeyframeSlam(SETTINGS))
        for pose in lap()[:12]:
            drive.go(pose)
        paths.append(drive.step.finish()["path"].poses)
    np.testing.assert_array_equal(*paths)


def test_other_ground_at_same_odometry_closes_no_loop() -> None:
    drive = Drive(KeyframeSlam(SETTINGS), drifts=False)
    true = lap()
    for number, pose in enumerate(true):
        drive.go(pose, seed=1 if number < 30 else 2)
    assert not drive.step.finish()["map"].closures


def test_loop_closure_beyond_any_odometry_drift_is_rejected() -> None:
    near = {**SETTINGS, "Places": {"DriftShift": 0.05, "DriftShare": 0.0}}
    drive = Drive(KeyframeSlam(near))
    for pose in lap():
        drive.go(pose)
    assert not drive.step.finish()["map"].closures


def test_covered_camera_ends_in_failure_and_recovers_in_place() -> None:
    drive = Drive(KeyframeSlam(SETTINGS), drifts=False)
    true = [at(0.1 * number, 0, 0.02 * number) for number in range(16)]
    dark = [Frame(image=np.full((HEIGHT, WIDTH), 4, np.uint8), camera=CAMERA, baseline_m=BASELINE_M, stamp_ns=0)] * 2
    outs = []
    for number, pose in enumerate(true):
        is_covered = 8 <= number < 11
        seen = FramePair(left=dark[0], right=dark[1]) if is_covered else None
        outs.append(drive.go(pose, has_odometry=not is_covered, seen=seen))
        if number == 10:  # it goes on as if nothing had been
            drive.odometry = drive.odometry @ transform_from_vectors(np.zeros(3), np.array([0.4, 0, 0.3]))
    assert [out["success"] for out in outs] == [True] * 8 + [False] * 3 + [True] * 5
    assert all("pose" not in out for out in outs[8:11])
    poses = np.array([out["pose"].pose for out in outs if "pose" in out])
    assert off(poses, [pose for number, pose in enumerate(true) if not 8 <= number < 11]).max() < 0.03


def test_images_bridge_failing_odometry() -> None:
    drive, true = Drive(KeyframeSlam(SETTINGS), drifts=False), lap()[:20]
    outs = [drive.go(pose, has_odometry=number < 5 or number > 14) for number, pose in enumerate(true)]
    assert all(out["success"] for out in outs)
    assert off(np.array([out["pose"].pose for out in outs]), true).max() < 0.03


def test_unbridged_gap_increases_covariance() -> None:
    drive, true = Drive(KeyframeSlam(SETTINGS), drifts=False), lap()
    for pose in true[:8]:
        before = drive.go(pose)
    for pose in true[8:24]:
        assert not drive.go(pose, has_odometry=False, seed=3)["success"]
    after = drive.go(true[24])
    deviations = [np.sqrt(np.trace(out["pose"].covariance[:3, :3])) for out in (before, after)]
    assert deviations[0] < 0.05 and deviations[1] > 1.0


def test_blank_wall_gives_no_keyframe_and_rest_no_second_one() -> None:
    drive = Drive(KeyframeSlam({**SETTINGS, "Keyframes": {"MaximumFrames": 100}}), drifts=False)
    blank = [Frame(image=np.full((HEIGHT, WIDTH), 120, np.uint8), camera=CAMERA, baseline_m=BASELINE_M)] * 2
    wall = FramePair(left=blank[0], right=blank[1])
    assert drive.go(at(0, 0, 0), seen=wall) == {"success": False}
    assert drive.step.finish() == {}
    outs = [drive.go(at(0, 0, 0)) for _ in range(240)]
    assert all(out["success"] for out in outs)
    keyframe_map = drive.step.finish()["map"]
    assert len(keyframe_map) == 1 and len(keyframe_map.frames) <= 100 and not keyframe_map.edges
    for number in range(8):
        assert drive.go(at(0.1 * number, 0, 0), seen=wall)["success"]  # by the odometry
    assert len(keyframe_map) == 1


def test_rotation_in_place_closes_after_full_turn() -> None:
    drive = Drive(KeyframeSlam(SETTINGS), drifts=False)
    true = [at(0, 0, turn) for turn in np.radians(np.arange(0, 420, 10))]
    outs = [drive.go(pose) for pose in true]
    assert off(np.array([out["pose"].pose for out in outs]), true).max() < 0.03
    keyframe_map = drive.step.finish()["map"]
    assert keyframe_map.closures and len(keyframe_map) < 24


def test_too_many_keyframes_are_pruned_and_trajectory_stays_complete() -> None:
    few = {**SETTINGS, "Keyframes": {**SETTINGS["Keyframes"], "MaximumKeyframes": 20, "RecentKept": 5}}
    drive, true = Drive(KeyframeSlam(few)), lap()
    for pose in true:
        drive.go(pose)
    last = drive.step.finish()
    assert len(last["map"]) == 20 and len(last["path"]) == len(true) and last["map"].closures
    assert off(last["path"].poses, true).max() < 0.15
    closed = {number for edge in last["map"].edges for number in (edge.first, edge.second)}
    assert closed == set(last["map"].keyframes)


def test_map_is_saved_only_where_requested() -> None:
    with pytest.raises(UsageError, match="SaveMap: expected a MapFile to save the map to"):
        KeyframeSlam({"GeneralParameters": {"SaveMap": True}})


def test_reset_starts_again() -> None:
    drive = Drive(KeyframeSlam(SETTINGS))
    for pose in lap()[:5]:
        drive.go(pose)
    drive.step.reset()
    out = drive.go(lap()[5])
    np.testing.assert_array_equal(out["pose"].pose, np.eye(4))
    assert np.linalg.norm(vector_from_rotation(out["pose"].pose[:3, :3])) == 0
