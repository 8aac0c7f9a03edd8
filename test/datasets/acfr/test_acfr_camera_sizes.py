"""ACFR's cameras whose pictures have another size than the report's: CameraInfo fits them, or there is none."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.datasets.registry import open_dataset
from fieldplay.io.bmp import pixels_from_bmp
from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import messages_of, notes_of
from support.tiny_acfr import TinyAcfr
from support.tiny_acfr_places import GREYS, bmp_of

FX, FY, CX, CY = 1023.094873083798120, 1020.891695892045050, 643.139025535655492, 482.455417980580421
IMAGE, INFO = "visual_camera/image_raw", "visual_camera/camera_info"


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    return TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")


def visual(archive: TinyAcfr, width: int, height: int, *, count: int = 3) -> None:
    images = {f"{n}.bmp": bmp_of(np.full((height, width, 3), 9, np.uint8)) for n in range(count)}
    places.write_video(archive, "VideoVisual", images)


@pytest.mark.parametrize("size", [(680, 512), (136, 102), (2720, 2048)])
def test_camera_info_of_smaller_or_larger_images_of_same_shape_is_scaled(
    archive: TinyAcfr, size: tuple[int, int]
) -> None:
    visual(archive, *size)
    info: Any = messages_of(archive.root)[INFO][0][1]
    assert (info.width, info.height) == size
    across, down = size[0] / 1360, size[1] / 1024
    expected = [FX * across, 0, (CX + 0.5) * across - 0.5, 0, FY * down, (CY + 0.5) * down - 0.5, 0, 0, 1]
    np.testing.assert_allclose(info.k, expected, rtol=1e-12)
    assert noted(notes_of(archive.root), "warning: visual_camera: images of").endswith("these are scaled")
    assert inspected(archive)[1] == []


def test_images_of_another_shape_play_without_camera_info(archive: TinyAcfr) -> None:
    visual(archive, 1024, 1024)
    messages = messages_of(archive.root)
    assert len(messages[IMAGE]) == 3 and INFO not in messages
    _, (defect,) = inspected(archive)
    assert (defect.kind, defect.file) == ("picture_size", "VideoVisual/Images/0.bmp")
    assert "expected images of 1360 x 1024" in defect.message
    assert defect.message.endswith("got 1024 x 1024; they play without camera_info")


def test_one_image_of_another_size_does_not_decide_for_all(archive: TinyAcfr) -> None:
    sizes = [(4, 4), (1360, 1024), (1360, 1024)]
    images = {f"{n}.bmp": bmp_of(np.full((h, w, 3), 9, np.uint8)) for n, (w, h) in enumerate(sizes)}
    places.write_video(archive, "VideoVisual", images)
    assert messages_of(archive.root)[INFO][0][1].width == 1360
    assert [(d.kind, d.file) for d in inspected(archive)[1]] == [("picture_size", "VideoVisual/Images/0.bmp")]


def test_results_of_calibration_that_fit_images_are_taken(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "VisualCameraCalibration")
    archive.write_lasers()
    visual(archive, 136, 104)
    results = (
        places.CALIB_RESULTS.replace("{skew}", "0").replace("nx = 640", "nx = 136").replace("ny = 480", "ny = 104")
    )
    archive.write("Calibration/Calib_Results.m", [results])
    info: Any = messages_of(archive.root)[INFO][0][1]
    assert (info.width, info.height, info.k[0]) == (136, 104, 790.131547995049573)
    assert inspected(archive)[1] == []
    visual(archive, 200, 100)
    defects = {defect.kind: defect.message for defect in inspected(archive)[1]}
    assert (
        "nx, ny: expected 1360 x 1024 or 640 x 480 or 200 x 100, of one camera, got 136 x 104"
        in defects["bad_calibration"]
    )


def black_and_white(width: int, height: int) -> bytes:
    """A bitmap of one bit for each pixel, black and white by turns."""
    step = (width + 31) // 32 * 4
    data = b"\x55" * step * height
    head = struct.pack("<2sIHHI", b"BM", 62 + len(data), 0, 0, 62)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 1, 0, len(data), 0, 0, 2, 0)
    return head + info + bytes([0, 0, 0, 0, 255, 255, 255, 0]) + data


def test_bitmap_of_single_bits_is_no_mosaic(archive: TinyAcfr) -> None:
    assert pixels_from_bmp(black_and_white(64, 4), grey="bayer_rggb8").encoding == "mono8"
    assert (
        pixels_from_bmp(bmp_of(np.zeros((4, 4), np.uint8), palette=GREYS), grey="bayer_rggb8").encoding == "bayer_rggb8"
    )
    places.write_video(archive, "VideoVisual", {"a.bmp": black_and_white(1360, 1024)})
    ((_, message),) = messages_of(archive.root)[IMAGE]
    assert message.encoding == "mono8"
    assert set(np.unique(message.data)) == {0, 255}
    assert not any("one number for each pixel" in note for note in notes_of(archive.root))


def test_set_for_range_sensors_has_no_cameras(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "RangeSensorsCalibration")
    archive.write_lasers()
    archive.write_nav()
    archive.write_radar()
    with open_dataset(archive.root) as opened:
        assert [defect for defect in opened.defects.listed if defect.kind == "missing_file"] == []
