"""Odometry, SLAM and localisation as classes, over painted ground, and the steps that wrap them."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import Array, inverse_from_transform
from fieldplay_cdff.pipeline import load_pipeline
from fieldplay_cdff.steps.step import parameters
from fieldplay_cdff.stereo import (
    LocalisationSettings,
    MapLocalisation,
    OdometrySettings,
    SlamSettings,
    StereoCamera,
    StereoOdometry,
    StereoSlam,
    load_map,
    save_map,
)
from fieldplay_cdff.stereo.keyframe_map import ViewSettings
from fieldplay_cdff.stereo.parameters import is_auto
from fieldplay_cdff.stereo.stereo_slam import KeyframeSettings
from fieldplay_testing.painted_ground import BASELINE_M, CAMERA, MATRIX, PERIOD_NS, at, pair

STEREO = StereoCamera.from_matrix(MATRIX, BASELINE_M)
TRAJECTORY = [at(0.08 * number, 0, 0.02 * number) for number in range(12)]
DARK = range(5, 9)
VIEWS = ViewSettings(maximum_points=300, minimum_points=50)


def images(number: int, *, is_dark: bool = False, seed: int = 1) -> tuple[Any, Any]:
    seen = pair(TRAJECTORY[number], number, seed=seed)
    return tuple(np.full_like(side.image, 9) if is_dark else side.image for side in (seen.left, seen.right))


def off_m(pose: Array | None, number: int) -> float:
    assert pose is not None
    return float(np.linalg.norm((pose - inverse_from_transform(TRAJECTORY[0]) @ TRAJECTORY[number])[:3, 3]))


def test_odometry_knows_poses_of_pairs() -> None:
    odometry = StereoOdometry(STEREO)
    for number in range(len(TRAJECTORY)):
        estimate = odometry.track(*images(number), number * PERIOD_NS)
        assert estimate.success and estimate.quality > 0.6 and off_m(estimate.pose, number) < 0.01
    assert estimate.covariance is not None and 0 < np.trace(estimate.covariance[:3, :3]) < 0.02**2
    odometry.reset()
    again = odometry.track(*images(3), 0)
    np.testing.assert_array_equal(again.pose, np.eye(4))


def test_odometry_refuses_dark_pairs_and_restarts_as_a_guess() -> None:
    odometry, deviations = StereoOdometry(STEREO), {}
    for number in range(len(TRAJECTORY)):
        seed = 1 if number in range(DARK[0]) else 2  # nothing is known again afterwards
        estimate = odometry.track(*images(number, is_dark=number in DARK, seed=seed), number * PERIOD_NS)
        assert estimate.success == (estimate.pose is not None)
        if estimate.covariance is not None:
            deviations[number] = float(np.sqrt(estimate.covariance[0, 0]))
    assert list(deviations) == [0, 1, 2, 3, 4, 10, 11], "the first pair that is seen again is where it is taken to be"
    assert deviations[4] < 0.01 and 0.3 < deviations[11] < 0.6 and off_m(estimate.pose, 11) < 0.1


def test_images_of_another_size_start_anew_after_some_pairs() -> None:
    odometry = StereoOdometry(STEREO)
    assert odometry.track(*images(0), 0).success
    small = [[np.ascontiguousarray(image[40:, 40:]) for image in images(number)] for number in range(6)]
    success = [odometry.track(*pair_, (1 + number) * PERIOD_NS).success for number, pair_ in enumerate(small)]
    assert success == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (
            np.zeros((40, 50, 3), np.uint8),
            np.zeros((40, 50), np.uint8),
            r"left: expected a grey image \(h, w\) of uint8",
        ),
        (np.zeros((40, 50), np.uint8), np.zeros((40, 60), np.uint8), r"right: expected an image of \(40, 50\) as left"),
    ],
)
def test_images_that_are_no_pair_are_refused(left: Any, right: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StereoOdometry(STEREO).track(left, right, 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_class_and_its_steps_one_by_one_give_same_bytes(threads: int) -> None:
    """Without the refinement, which is no step: through good pairs, dark ones, and the restart after these."""
    outputs: list[list[Any]] = []
    track = {"MaximumShift": 0.5, "MaximumTurn": 0.35, "KeptWithin": 0.1}
    plain = {"stereoOdometry": {"Refinement": {"Enabled": False}, "PoseTrack": track}}
    for implementation, settings in (("LucasKanadePnp", plain), ("LucasKanadePnpSteps", None)):
        cameras = {"left": CAMERA, "right": CAMERA}
        with load_pipeline(
            "VisualOdometry", implementation, settings, cameras, BASELINE_M, threads=threads
        ) as pipeline:
            own: list[Any] = []
            for number, pose in enumerate(TRAJECTORY):
                seen = pair(pose, number, light=0.0 if number in DARK else 1.0)
                pipeline.feed("leftImage", seen.left, number * PERIOD_NS)
                for port, value, stamp_ns in pipeline.feed("rightImage", seen.right, number * PERIOD_NS):
                    is_pose = port == "pose"
                    own.append(
                        (port, stamp_ns, (value.pose.tobytes(), value.covariance.tobytes()) if is_pose else value)
                    )
            assert not pipeline.failures
        outputs.append(own)
    assert outputs[0] == outputs[1]
    success = [value for port, _, value in outputs[0] if port == "success"]
    assert success[:5] == [True] * 5 and not any(success[5:9]) and success[-1]


def test_slam_maps_and_localisation_finds_poses_in_the_map(tmp_path: Path) -> None:
    slam = StereoSlam(STEREO, SlamSettings(views=VIEWS, keyframes=KeyframeSettings(shift_m=0.25, turn_rad=0.3)))
    assert slam.map is None
    for number in range(len(TRAJECTORY)):
        estimate = slam.track(*images(number), number * PERIOD_NS)
        assert estimate.success and off_m(estimate.pose, number) < 0.01
    assert slam.map is not None and 3 <= len(slam.map) <= 5 and len(slam.trajectory) == len(TRAJECTORY)
    save_map(tmp_path / "map.npz", slam.map)
    keyframe_map, index = load_map(tmp_path / "map.npz", pytest.fail)
    assert keyframe_map.camera == STEREO
    localisation = MapLocalisation(keyframe_map, index=index, settings=LocalisationSettings(views=VIEWS))
    for number in range(3, len(TRAJECTORY)):
        estimate = localisation.track(*images(number), number * PERIOD_NS)
        assert estimate.success and off_m(estimate.pose, number) < 0.02


def defaults(settings: Any) -> dict[str, Any]:
    """The defaults by the names of parameters, nested by group."""
    return {
        each.metadata["parameter"]: defaults(value)
        if is_dataclass(value := getattr(settings, each.name))
        else None
        if is_auto(value)
        else value
        for each in fields(settings)
    }


@pytest.mark.parametrize(
    ("step", "settings"),
    [
        ("LucasKanadePnp", OdometrySettings()),
        ("KeyframeSlam", SlamSettings()),
        ("KeyframeLocalisation", LocalisationSettings()),
    ],
)
def test_settings_have_the_defaults_and_names_of_the_step(step: str, settings: Any) -> None:
    groups = {
        group: {name: each.default for name, each in known.items()}
        for group, known in parameters()[step].items()
        if group not in ("GeneralParameters", "CameraMatrix")
    }
    assert defaults(settings) == groups
