"""A tumbling satellite: its pictures are of its model, and following it by its edges finds where it is."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.transforms import rotation_from_quaternion, vector_from_rotation
from fieldplay_cdff.steps.cad_model import read_body
from fieldplay_samples.write_sample import SampleOptions, write_sample

Array = NDArray[np.float64]
PICTURES = 6
ALONE = SampleOptions(seconds=2.0, workers=1)
TOPICS = {
    "ModelBasedVisualTracking": "model_visual_tracking",
    "ModelBasedVisualTrackingMono": "model_visual_tracking_mono",
}
MATRIX = np.array([[682.48, 0, 284.03], [0, 682.61, 219.94], [0, 0, 1]])  # as published for the tracker's camera
DISTORTION = np.array([-0.186, 0.232, 0, 0, 0])


@pytest.fixture(scope="module")
def satellite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Array]:
    """The bag, and where the satellite is: stamp, position, quaternion (n, 8)."""
    sample = write_sample("satellite", tmp_path_factory.mktemp("space") / "satellite", ALONE)
    truth = np.loadtxt(sample.truth, delimiter=",", skiprows=1)
    return sample.path, truth[:, :8]


def test_its_images_show_model_where_it_is(tmp_path: Path) -> None:
    sample = write_sample("satellite", tmp_path / "dark", replace(ALONE, settings={"earth": False, "rate_hz": 1.0}))
    truth = np.loadtxt(sample.truth, delimiter=",", skiprows=1)
    body = read_body(sample.path / "model.obj")
    with fieldplay.open(sample.path) as data:
        for side, shift_m in (("left", 0.0), ("right", 0.3)):
            image = next(iter(data.images(f"{side}/image_raw")))[1]
            turn, position = rotation_from_quaternion(truth[0, 4:8]), truth[0, 1:4] - [shift_m, 0, 0]
            pixels = cv2.projectPoints(body.corners @ turn.T + position, np.zeros(3), np.zeros(3), MATRIX, DISTORTION)[
                0
            ]
            expected = np.zeros(image.shape[:2], np.uint8)
            for corners in pixels[:, 0][body.triangles]:
                cv2.fillConvexPoly(expected, np.rint(corners * 16).astype(np.int32), 1, shift=4)
            bright = cv2.morphologyEx((image[..., 0] > 6).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
            paired = bright & ~cv2.dilate(expected, np.ones((3, 3), np.uint8))
            assert paired.sum() < 0.002 * bright.sum(), side
            assert (bright & expected).sum() > 0.8 * expected.sum(), side  # the rest is in the dark


@pytest.mark.parametrize("dfpc", TOPICS)
def test_it_is_followed_by_its_edges(dfpc: str, satellite: tuple[Path, Array], tmp_path: Path) -> None:
    archive, truth = satellite
    model = f"tracker.Model.File={archive / 'model.obj'}"
    positions = ["--input", "init=/satellite/init", "--set", model]
    positions += ["--input", "imageLeft=/satellite/left/image_raw"] if dfpc.endswith("Mono") else []
    assert main(["fuse", str(archive), dfpc, str(tmp_path / "out"), *positions]) == 0
    with fieldplay.open(tmp_path / "out") as data:
        result, success = (data.records(f"{TOPICS[dfpc]}/{port}") for port in ("state", "success"))
        first = next(iter(data.messages(f"{TOPICS[dfpc]}/state")))
    assert b"left_camera" in first.data and b"/body" in first.data
    assert success["values"].tolist() == [True] * PICTURES
    shift_m = np.linalg.norm(result["position_m"] - truth[:, 1:4], axis=1)
    estimated, true = (rotation_from_quaternion(turn) for turn in (result["orientation_xyzw"], truth[:, 4:8]))
    turns = np.swapaxes(estimated, 1, 2) @ true
    turn_deg = np.degrees(np.linalg.norm(vector_from_rotation(turns), axis=1))
    assert (shift_m / np.linalg.norm(truth[:, 1:4], axis=1)).max() < 0.005
    assert turn_deg.max() < 0.5
