"""Pictures of an archive that are whole but not what the camera's description says."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection


def test_image_of_another_size_than_its_camera_plays_and_is_reported_once(tiny_ameds: Any, tmp_path: Path) -> None:
    name = "MainCam_1656931512.033333.jpg"
    small = cv2.imencode(".jpg", np.zeros((480, 640, 3), np.uint8))[1]
    (tiny_ameds.root / name).write_bytes(small.tobytes())
    with open_dataset(tiny_ameds.root) as archive:
        written = convert(archive, tmp_path / "bag", Selection(images="both", topics="main_cam/"), BagOptions())
        actual = [(defect.file, defect.kind, defect.message) for defect in archive.defects.listed]
    expected = "expected 1920 x 1080 pixels, for which its CameraInfo is, got 640 x 480; it is kept"
    assert actual == [(name, "picture_size", expected)]
    counts = dict(zip(written.topics, written.counts.tolist(), strict=True))
    assert counts["/ameds/main_cam/image_raw"] == counts["/ameds/main_cam/camera_info"] == 60
