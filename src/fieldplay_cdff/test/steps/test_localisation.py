"""Localisation in a map of painted ground, by another light: found, held, lost and found again."""

from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.geometry.transforms import inverse_from_transform, transform_from_vectors
from fieldplay_cdff.pipeline.pipeline_run import load_pipeline
from fieldplay_cdff.steps.slam import InMapOfKeyframes, KeyframeSlam
from fieldplay_cdff.steps.step import ParameterGroups
from fieldplay_cdff.steps.values import Array
from fieldplay_testing.painted_ground import CAMERA, SETTINGS, Drive, at, pair

STEPS = 24
ALONG = [at(0.12 * number, 0, 0) for number in range(STEPS)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ParameterGroups:
    """The settings of a step that knows the map of a straight way."""
    file = tmp_path_factory.mktemp("map") / "map.npz"
    drive = Drive(
        KeyframeSlam({**SETTINGS, "GeneralParameters": {"SaveMap": True, "MapFile": str(file)}}), drifts=False
    )
    for pose in ALONG:
        drive.go(pose)
    drive.step.finish()
    return {"Views": SETTINGS["Views"], "GeneralParameters": {"MapFile": str(file)}}


def error_m(pose: Array, true: Array) -> float:
    own = inverse_from_transform(ALONG[0]) @ true
    return float(np.linalg.norm(pose[:3, 3] - own[:3, 3]))


def test_second_drive_is_localised_at_once_and_stays_so(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings))
    for number in range(5, STEPS - 3):
        pose = at(0.12 * number, 0.06, 0.05)
        out = drive.go(pose, light=0.7)
        assert out["success"] and error_m(out["pose"].pose, pose) < 0.02
        assert np.sqrt(np.trace(out["pose"].covariance[:3, :3])) < 0.05


def test_unknown_surroundings_report_no_localisation(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings))
    for number in range(5, 11):
        assert drive.go(ALONG[number], seed=4) == {"success": False}


def test_localisation_is_lost_off_map_and_recovered_on_it(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings), drifts=False)
    away = [at(0.3 * number, -0.3 * number, -0.6) for number in range(2, 20)]
    outs = [drive.go(pose)["success"] for pose in [ALONG[4], ALONG[5]]]
    outs += [drive.go(pose, seed=4)["success"] for pose in away]
    assert outs[:8] == [True] * 8 and not any(outs[-6:])
    back = [drive.go(ALONG[number]) for number in (10, 11, 12)]
    assert back[-1]["success"] and error_m(back[-1]["pose"].pose, ALONG[12]) < 0.02


def test_images_suffice_and_failing_odometry_is_bridged(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings), drifts=False)
    outs = [drive.go(ALONG[number], has_odometry=number not in (8, 9, 10)) for number in range(5, 14)]
    assert all(out["success"] for out in outs)
    assert max(error_m(out["pose"].pose, ALONG[5 + row]) for row, out in enumerate(outs)) < 0.02


def test_odometry_jump_is_corrected(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings), drifts=False)
    for number in range(5, STEPS - 2):
        if number == 9:
            drive.odometry = drive.odometry @ transform_from_vectors(np.zeros(3), np.array([0.5, 0, 0]))
        out = drive.go(ALONG[number])
    assert out["success"] and error_m(out["pose"].pose, ALONG[STEPS - 3]) < 0.02


def test_time_jump_restarts_localisation(settings: ParameterGroups) -> None:
    drive = Drive(InMapOfKeyframes(settings), drifts=False)
    assert drive.go(ALONG[3])["success"]
    drive.step.reset()
    drive.last = None
    out = drive.go(ALONG[15])
    assert out["success"] and error_m(out["pose"].pose, ALONG[15]) < 0.02


def test_invalid_map_and_other_camera_are_reported(settings: ParameterGroups, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"MapFile: expected the map in which to find the camera, got nothing \(--set"):
        load_pipeline("MapLocalisation", None, None, {"left": CAMERA, "right": CAMERA}, 0.2)
    with pytest.raises(ArchiveError, match=r"none\.npz: there is no such map"):
        InMapOfKeyframes({"GeneralParameters": {"MapFile": str(tmp_path / "none.npz")}})
    wide = pair(ALONG[0], 0)
    small = wide.left.image[:100, :100]
    step = InMapOfKeyframes(settings)
    with pytest.raises(ValueError, match="expected images of 320 x 240 as those of the map, got 100 x 100"):
        step.process(imagePair=type(wide)(left=type(wide.left)(image=small), right=type(wide.left)(image=small)))
