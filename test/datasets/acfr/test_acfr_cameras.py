"""ACFR's cameras: pictures by their logs, in whatever form a BMP has; intrinsics, and clipped pictures."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.datasets.acfr.acfr_cameras import camera_from_matlab
from fieldplay.datasets.registry import open_dataset
from fieldplay.io.bmp import pixels_from_bmp
from fieldplay.topics.selection import Selection
from support import tiny_acfr as tiny
from support import tiny_acfr_places as places
from support.acfr_checked import inspected, noted
from support.archive_messages import messages_of, notes_of
from support.tiny_acfr import TinyAcfr
from support.tiny_acfr_places import GREYS, bmp_of

Bytes = NDArray[np.uint8]
VISUAL, IR = "visual_camera/image_raw", "ir_camera/image_raw"
CHANCE = np.random.default_rng(8)


@pytest.fixture
def archive(tmp_path: Path) -> TinyAcfr:
    return TinyAcfr(tmp_path / "29-DynamicDayTriangleClear")


def image_of(message: Any) -> Bytes:
    rows = message.data.reshape(message.height, message.step)
    channels = 1 if message.encoding.startswith(("mono", "bayer")) else 3
    pixels: Bytes = rows[:, : message.width * channels].reshape(message.height, message.width, channels)
    return pixels


def colours(width: int = 13, height: int = 7) -> Bytes:
    return CHANCE.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("width", [12, 13, 14, 15])
@pytest.mark.parametrize("top_down", [False, True])
def test_bitmap_of_colours_of_any_width_from_below_or_above(width: int, top_down: bool) -> None:
    image = colours(width)
    data = bmp_of(image, top_down=top_down)
    pixels = pixels_from_bmp(data)
    assert (pixels.height, pixels.width, pixels.encoding) == (7, width, "bgr8")
    rows = np.frombuffer(pixels.data, np.uint8).reshape(7, pixels.step)[:, : 3 * width]
    np.testing.assert_array_equal(rows.reshape(image.shape), image)
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), image)


@pytest.mark.parametrize("palette", [GREYS, GREYS[::-1], [], GREYS[:200]], ids=["greys", "turned", "none", "short"])
@pytest.mark.parametrize("top_down", [False, True])
def test_bitmap_of_greys_has_brightness_of_its_palette(palette: list[Any], top_down: bool) -> None:
    image = CHANCE.integers(0, 200, (5, 9), dtype=np.uint8)
    pixels = pixels_from_bmp(bmp_of(image, palette=palette, top_down=top_down), grey="bayer_gbrg8")
    assert pixels.encoding == "bayer_gbrg8"
    rows = np.frombuffer(pixels.data, np.uint8).reshape(5, pixels.step)[:, :9]
    np.testing.assert_array_equal(rows, 255 - image if palette == GREYS[::-1] else image)


def test_bitmap_with_palette_of_colours_is_coloured() -> None:
    palette = [(index, 255 - index, 7) for index in range(256)]
    image = CHANCE.integers(0, 256, (5, 9), dtype=np.uint8)
    pixels = pixels_from_bmp(bmp_of(image, palette=palette), grey="bayer_rggb8")
    assert pixels.encoding == "bgr8"
    rows = np.frombuffer(pixels.data, np.uint8).reshape(5, 9, 3)
    np.testing.assert_array_equal(rows, np.array(palette, np.uint8)[image])


def test_bitmap_of_four_channels_is_left_to_opencv() -> None:
    image = CHANCE.integers(0, 256, (5, 9, 4), dtype=np.uint8)
    pixels = pixels_from_bmp(bmp_of(image))
    shown = np.frombuffer(pixels.data, np.uint8).reshape(5, 9, -1)
    np.testing.assert_array_equal(shown[:, :, :3], image[:, :, :3])


@pytest.mark.parametrize("remaining", [0, 1, 20, 53, 60, -1])
def test_bitmap_that_is_cut_off_is_none(remaining: int) -> None:
    with pytest.raises(ArchiveError, match=r"expected an? (BMP )?image"):
        pixels_from_bmp(bmp_of(colours())[:remaining])


def test_images_have_times_of_log_whatever_their_names_say(archive: TinyAcfr) -> None:
    images = {name: bmp_of(colours(1360, 4)) for name in ("Image99-05.bmp", "b.bmp", "IMAGE1224-01.BMP")}
    places.write_video(archive, "VideoVisual", images)
    messages = messages_of(archive.root, Selection(topics=VISUAL))[VISUAL]
    assert [stamp - tiny.START_NS for stamp, _ in messages] == [0, 100_000_000, 200_000_000]
    for (_, message), data in zip(messages, images.values(), strict=True):
        np.testing.assert_array_equal(image_of(message), cv2.imdecode(np.frombuffer(data, np.uint8), 1))
        assert message.header.frame_id == "visual_camera" and message.encoding == "bgr8"


def test_images_of_log_with_paths_and_other_letters_are_found(archive: TinyAcfr) -> None:
    places.write_video(archive, "VideoIR", {"a.bmp": bmp_of(colours(640, 480)), "b.bmp": bmp_of(colours(640, 480))})
    lines = [
        archive.line(places.text_at(t), "VISION_FRAME", name) for t, name in ((0, r"D:\x\A.BMP"), (1, "Images/b.bmp"))
    ]
    archive.write("VideoIR/VideoLogAscii.txt", lines)
    assert len(messages_of(archive.root, Selection(topics=IR))[IR]) == 2


def defects_of(archive: TinyAcfr, folder: str) -> list[tuple[str, int | None, str]]:
    return [(d.file, d.row, d.kind) for d in inspected(archive)[1] if d.file.startswith(folder)]


def small(archive: TinyAcfr, count: int = 4) -> None:
    """Four infra-red images of the whole size."""
    places.write_video(archive, "VideoIR", {f"{n}.bmp": bmp_of(colours(640, 480)) for n in range(count)})


def test_image_that_is_cut_off_is_reported_with_its_file_and_others_play(archive: TinyAcfr) -> None:
    small(archive)
    path = archive.root / "VideoIR" / "Images" / "1.bmp"
    path.write_bytes(path.read_bytes()[:5000])
    assert defects_of(archive, "VideoIR") == [("VideoIR/Images/1.bmp", None, "damaged_picture")]
    messages = messages_of(archive.root, Selection(topics="ir_camera"))
    assert [len(messages[topic]) for topic in (IR, "ir_camera/camera_info")] == [3, 3]


def test_image_that_is_not_there_is_reported_by_its_line(archive: TinyAcfr) -> None:
    small(archive)
    (archive.root / "VideoIR" / "Images" / "2.bmp").unlink()
    assert defects_of(archive, "VideoIR") == [("VideoIR/VideoLogAscii.txt", 3, "missing_picture")]
    assert len(messages_of(archive.root, Selection(topics=IR))[IR]) == 3


def test_image_that_log_does_not_name_is_reported(archive: TinyAcfr) -> None:
    small(archive)
    (archive.root / "VideoIR" / "Images" / "Image1224198733-05.bmp").write_bytes(bmp_of(colours(640, 480)))
    expected = [("VideoIR/Images/Image1224198733-05.bmp", None, "picture_not_in_log")]
    assert defects_of(archive, "VideoIR") == expected
    assert len(messages_of(archive.root, Selection(topics=IR))[IR]) == 4


LINE_FAULTS = [
    ("*12241x VISION_FRAME 1.bmp\n", [("not_a_number", 2)]),
    ("*1224198733.1 VISION_FRAME\n", [("short_row", 2)]),
    ("*1224198733.1\n", [("short_row", 2)]),
    ("*1224198733.1 VISION_FRAME 1.bmp more\n", [("long_row", 2)]),
    ("*12.5 VISION_FRAME 1.bmp\n", [("implausible_time", 2)]),
]


@pytest.mark.parametrize(("line", "expected"), LINE_FAULTS)
def test_bad_line_of_log_is_reported_once(archive: TinyAcfr, line: str, expected: list[tuple[str, int]]) -> None:
    small(archive)
    path = archive.root / "VideoIR" / "VideoLogAscii.txt"
    lines = path.read_text().splitlines(keepends=True)
    lines[1] = line
    path.write_text("".join(lines))
    (archive.root / "VideoIR" / "Images" / "1.bmp").unlink()
    actual = [(kind, row) for _, row, kind in defects_of(archive, "VideoIR")]
    assert sorted(actual) == sorted(expected)
    assert len(messages_of(archive.root, Selection(topics=IR))[IR]) == 3


def test_times_that_repeat_or_run_back_or_pause_are_reported_and_play(archive: TinyAcfr) -> None:
    small(archive)
    times = (0.0, 0.1, 0.1, 0.05)
    lines = [archive.line(places.text_at(t), "VISION_FRAME", f"{n}.bmp") for n, t in enumerate(times)]
    archive.write("VideoIR/VideoLogAscii.txt", lines)
    kinds = [(kind, row) for _, row, kind in defects_of(archive, "VideoIR")]
    assert kinds == [("duplicate_time", 3), ("backward_time", 4)]
    messages = messages_of(archive.root, Selection(topics=IR))[IR]
    assert [stamp - tiny.START_NS for stamp, _ in messages] == [0, 50_000_000, 100_000_000, 100_000_000]


def test_images_without_log_do_not_play_and_log_is_missed(archive: TinyAcfr) -> None:
    archive.write_nav()
    small(archive)
    (archive.root / "VideoIR" / "VideoLogAscii.txt").unlink()
    assert not any(topic.startswith("ir_camera") for topic in messages_of(archive.root))


def test_calibration_set_misses_log_of_camera_that_it_has(ir_set: TinyAcfr) -> None:
    def missed() -> set[str | None]:
        with open_dataset(ir_set.root) as opened:
            return {defect.stream for defect in opened.missing}

    calibration(ir_set)
    before = missed()
    (ir_set.root / "VideoIR" / "VideoLogAscii.txt").unlink()
    assert missed() - before == {"ir_log"} and not before & {"visual_log", "visual_images"}


@pytest.mark.parametrize("bayer", ["rggb", "grbg", "gbrg", "bggr"])
def test_visual_camera_s_single_numbers_are_mosaic(archive: TinyAcfr, bayer: str) -> None:
    mosaic = CHANCE.integers(0, 256, (1024, 1360), dtype=np.uint8)
    places.write_video(archive, "VideoVisual", {"a.bmp": bmp_of(mosaic, palette=GREYS)})
    ((_, message),) = messages_of(archive.root, Selection(topics=VISUAL), bayer=bayer)[VISUAL]
    assert message.encoding == f"bayer_{bayer}8"
    np.testing.assert_array_equal(image_of(message)[:, :, 0], mosaic)
    note = noted(notes_of(archive.root, bayer=bayer), "one number for each pixel")
    assert f"sent as bayer_{bayer}8" in note
    (_, packed), = messages_of(archive.root, Selection(topics="visual", images="compressed"), bayer=bayer)[
        f"{VISUAL}/compressed"
    ]  # fmt: skip
    assert packed.format == f"bayer_{bayer}8; png compressed "
    np.testing.assert_array_equal(cv2.imdecode(packed.data, cv2.IMREAD_UNCHANGED), mosaic)


def test_single_numbers_may_be_greys_and_those_of_infra_red_camera_always_are(archive: TinyAcfr) -> None:
    grey = CHANCE.integers(0, 256, (480, 640), dtype=np.uint8)
    places.write_video(archive, "VideoVisual", {"a.bmp": bmp_of(grey, palette=GREYS)})
    places.write_video(archive, "VideoIR", {"a.bmp": bmp_of(grey, palette=GREYS)})
    assert messages_of(archive.root, bayer="none")[VISUAL][0][1].encoding == "mono8"
    messages = messages_of(archive.root, Selection(images="both"))
    assert messages[IR][0][1].encoding == "mono8" and messages[f"{IR}/compressed"][0][1].format == "png"


def mosaic_of(colour: tuple[int, int, int], bayer: str) -> Bytes:
    """One colour (red, green, blue) behind a mosaic."""
    tile = np.array([dict(zip("rgb", colour, strict=True))[sign] for sign in bayer], np.uint8).reshape(2, 2)
    return np.tile(tile, (512, 680))


@pytest.mark.parametrize(("bayer", "fits"), [("rggb", True), ("bggr", True), ("grbg", False), ("gbrg", False)])
def test_where_greens_lie_is_measured(archive: TinyAcfr, bayer: str, fits: bool) -> None:
    places.write_video(archive, "VideoVisual", {"a.bmp": bmp_of(mosaic_of((180, 120, 60), bayer), palette=GREYS)})
    note = noted(inspected(archive)[0], "the greens of the visual camera's mosaic lie as in")
    assert note.startswith("measured" if fits else "warning")


INTRINSICS = {
    "visual_camera": (1023.094873083798120, 1020.891695892045050, 643.139025535655492, 482.455417980580421),
    "ir_camera": (790.131547995049573, 826.825751328548790, 328.685823692670340, 164.376489311973216),
}


def info(archive: TinyAcfr, camera: str, **parameters: Any) -> Any:
    return messages_of(archive.root, Selection(topics=camera), **parameters)[f"{camera}/camera_info"][0][1]


def matrix(fx: float, fy: float, cx: float, cy: float) -> list[float]:
    return [fx, 0, cx, 0, fy, cy, 0, 0, 1]


def test_camera_info_has_report_s_intrinsics(archive: TinyAcfr) -> None:
    archive.write_videos()
    visual = info(archive, "visual_camera")
    assert (visual.width, visual.height, visual.distortion_model) == (1360, 1024, "plumb_bob")
    assert visual.k.tolist() == matrix(*INTRINSICS["visual_camera"])
    distortion = [-0.218504818968279, 0.138951469767851, -0.000755791245166, 0.000175881419552, 0]
    assert visual.d.tolist() == distortion
    small(archive)
    ir = info(archive, "ir_camera")
    assert (ir.width, ir.height) == (640, 480)
    assert ir.k.tolist() == matrix(*INTRINSICS["ir_camera"])
    assert ir.d.tolist() == [-0.466898225930376, 0.246094535921152, 0, 0, 0]


def test_clipped_infra_red_images_have_principal_point_moved(archive: TinyAcfr) -> None:
    archive.write_videos()
    ir = info(archive, "ir_camera", ir_clip_x_px=100, ir_clip_y_px=33)
    fx, fy, cx, cy = INTRINSICS["ir_camera"]
    assert (ir.width, ir.height) == (511, 398)
    np.testing.assert_allclose(ir.k, matrix(fx, fy, cx - 100, cy - 33), rtol=1e-15)
    assert not any("clipped" in note for note in notes_of(archive.root, ir_clip_x_px=100, ir_clip_y_px=33))


def test_where_they_were_clipped_is_not_known_unless_given(archive: TinyAcfr) -> None:
    archive.write_videos()
    fx, fy, cx, cy = INTRINSICS["ir_camera"]
    np.testing.assert_allclose(info(archive, "ir_camera").k, matrix(fx, fy, cx - 64, cy - 41), rtol=1e-15)
    warning = noted(notes_of(archive.root), "warning: ir_camera: images of 511 x 398 are clipped")
    assert "the principal point is that of ir_clip_x_px=64, ir_clip_y_px=41" in warning
    assert not [defect for defect in inspected(archive)[1] if defect.stream == "ir_camera_image_raw"]
    with pytest.raises(UsageError, match="parameter ir_clip_x_px: expected 0 to 129, or -1 for unknown, got 130"):
        notes_of(archive.root, ir_clip_x_px=130)


def test_black_bands_of_whole_images_give_where_others_were_clipped(archive: TinyAcfr) -> None:
    whole = np.zeros((480, 640), np.uint8)
    whole[37 : 37 + 398, 70 : 70 + 511] = CHANCE.integers(30, 255, (398, 511), dtype=np.uint8)
    places.write_video(archive, "VideoIR", {"a.bmp": bmp_of(whole, palette=GREYS)})
    note = noted(inspected(archive)[0], "without black bands")
    assert "are 511 x 398, from column 70, row 37" in note
    assert note.endswith("--set ir_clip_x_px=70 --set ir_clip_y_px=37")


def test_calib_results_is_read_with_exponents_and_without_being_run() -> None:
    camera, skew = camera_from_matlab(places.CALIB_RESULTS.replace("{skew}", "1.25e-4"), "here")
    assert (camera.fx, camera.fy) == (790.131547995049573, 826.825751328548790)
    assert (camera.cx, camera.cy) == (328.685823692670340, 164.376489311973216)
    assert camera.distortion == (-0.466898225930376, 0.246094535921152, -0.0015, 0.00225, 0)
    assert (camera.width, camera.height, skew) == (640, 480, 1.25e-4)


BAD_RESULTS = [
    ("nx = 640;", "", "expected numbers for nx, got none"),
    ("nx = 640;", "nx = system('x');", "expected numbers for nx, got none"),
    ("cc = [ 328.685823692670340 ;", "cc = [ pi ;", "cc: expected numbers, 2 of them"),
    ("kc = [ -0.466898225930376 ;", "kc = [", "kc: expected numbers|expected numbers for kc"),
    ("fc = [ 7.90131547995049573e+02", "fc = [ -7", "expected focal lengths and a size above 0"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_RESULTS)
def test_what_is_no_calib_results_reports_why(old: str, new: str, message: str) -> None:
    text = places.CALIB_RESULTS.replace("{skew}", "0")
    changed = text.replace(old, new)
    if "kc" in old:
        changed = changed.replace(" 2.46094535921152e-01 ;", "")
    assert changed != text
    with pytest.raises(ArchiveError, match=message):
        camera_from_matlab(changed, "here")


def calibration(archive: TinyAcfr, *, skew: str = "0.000000000000000", count: int = 3) -> None:
    """Calibration/ of the infra-red camera: its results, and pictures that are numbered as their lines."""
    archive.write("Calibration/Calib_Results.m", [places.CALIB_RESULTS.replace("{skew}", skew)])
    (archive.root / "Calibration" / "Images").mkdir()
    for number in range(1, count + 1):
        data = bmp_of(np.full((480, 640), 20 * number, np.uint8), palette=GREYS)
        (archive.root / "Calibration" / "Images" / f"image{number}.bmp").write_bytes(data)
    lines = [archive.line(places.text_at(number / 4)) for number in range(1, count + 1)]
    archive.write("Calibration/VideoLogAsciiCalibration.txt", lines)


@pytest.fixture
def ir_set(tmp_path: Path) -> TinyAcfr:
    """The set of the infra-red camera's calibration."""
    archive = TinyAcfr(tmp_path / "IRcameraCalibration")
    archive.write_lasers()
    small(archive)
    return archive


def test_calibration_set_has_its_own_intrinsics(ir_set: TinyAcfr) -> None:
    calibration(ir_set)
    ir = info(ir_set, "ir_camera")
    assert ir.d.tolist() == [-0.466898225930376, 0.246094535921152, -0.0015, 0.00225, 0]
    note = noted(notes_of(ir_set.root), "intrinsics of Calibration/Calib_Results.m")
    assert note.startswith("ir_camera:") and "at most 0 pixels from the report's" in note
    assert info(ir_set, "ir_camera", intrinsics_from="report").d.tolist()[2:] == [0, 0, 0]
    assert inspected(ir_set)[1] == []


def test_skew_is_reported_as_camera_info_has_no_position_for_it(ir_set: TinyAcfr) -> None:
    calibration(ir_set, skew="0.001")
    assert noted(notes_of(ir_set.root), "warning: ir_camera: alpha_c is 0.001")


def test_intrinsics_are_also_taken_from_calibration_set_next_to_archive(archive: TinyAcfr, ir_set: TinyAcfr) -> None:
    calibration(ir_set)
    archive.write_videos()
    ir = info(archive, "ir_camera", ir_clip_x_px=100, ir_clip_y_px=33)
    assert ir.d.tolist()[2:4] == [-0.0015, 0.00225]
    assert ir.k[2] == pytest.approx(228.685823692670340)


def test_results_that_cannot_be_read_are_reported_and_report_s_are_taken(ir_set: TinyAcfr) -> None:
    calibration(ir_set)
    ir_set.write("Calibration/Calib_Results.m", ["fc = [ 1 ; 2 ];\n"])
    _, (defect,) = inspected(ir_set)
    assert (defect.file, defect.kind) == ("Calibration/Calib_Results.m", "bad_calibration")
    assert info(ir_set, "ir_camera").k.tolist() == matrix(*INTRINSICS["ir_camera"])


def test_line_n_of_calibration_s_log_is_time_of_image_n(ir_set: TinyAcfr) -> None:
    calibration(ir_set, count=12)
    messages = messages_of(ir_set.root, Selection(topics=IR), pictures="calibration")[IR]
    times = [(stamp - tiny.START_NS) / 1e9 for stamp, _ in messages]
    assert times == [number / 4 for number in range(1, 13)]
    assert [int(image_of(message)[0, 0, 0]) for _, message in messages] == [20 * number for number in range(1, 13)]
    assert len(messages_of(ir_set.root, Selection(topics=IR))[IR]) == 4
    assert noted(notes_of(ir_set.root), "12 images of the camera's calibration are not played")


def test_image_of_calibration_that_is_gone_does_not_shift_others(ir_set: TinyAcfr) -> None:
    calibration(ir_set)
    (ir_set.root / "Calibration" / "Images" / "image2.bmp").unlink()
    messages = messages_of(ir_set.root, Selection(topics=IR), pictures="calibration")[IR]
    assert [stamp - tiny.START_NS for stamp, _ in messages] == [250_000_000, 750_000_000]
    assert [int(image_of(message)[0, 0, 0]) for _, message in messages] == [20, 60]
    _, (defect,) = inspected(ir_set)
    assert defect.kind == "count_mismatch"
    assert defect.message == "expected a line for each of the 2 images, got 3 with a time"
