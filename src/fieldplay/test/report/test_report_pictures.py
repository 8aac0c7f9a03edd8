"""Pictures of any encoding as a page shows them, and frames as a camera sees them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.frames import Frames
from fieldplay.messages.image_pixels import pixels_from_compressed, pixels_from_image
from fieldplay.messages.record_decoder import camera_of_info
from fieldplay.projection.frames_in_image import (
    FramesInImage,
    camera_of_drawing,
    draw_axes,
    frame_labels,
    frames_in_image,
)
from fieldplay.recording.record_batches import Issues
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.camera_panel import CameraPanel, ImageLinePanel
from fieldplay.report.overview import Overview
from fieldplay.report.tf_panel import TransformPanel
from fieldplay.streams.stream_times import StreamTimes
from fieldplay_testing.drawn import drawn_image
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
    transform,
    transforms,
)

IMAGE, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
RANDOM = np.random.default_rng(3)
BGR = RANDOM.integers(0, 256, (4, 6, 3), np.uint8)


def image(values: np.ndarray, encoding: str, *, padding: int = 0, big: bool = False) -> Any:
    rows = np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)
    data = np.pad(rows, ((0, 0), (0, padding)))
    return make(
        IMAGE,
        height=values.shape[0],
        width=values.shape[1],
        encoding=encoding,
        step=data.shape[1],
        data=data.reshape(-1),
        is_bigendian=int(big),
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (image(BGR, "bgr8"), BGR),
        (image(BGR, "bgr8", padding=5), BGR),
        (image(BGR[:, :, ::-1], "rgb8"), BGR),
        (image(np.dstack([BGR, BGR[:, :, 0]]), "bgra8"), BGR),
        (image(np.dstack([BGR[:, :, ::-1], BGR[:, :, 0]]), "rgba8"), BGR),
        (image(BGR[:, :, 0], "mono8"), np.repeat(BGR[:, :, :1], 3, axis=2)),
        (image(BGR.astype(np.uint16) << 8, "bgr16"), BGR),
        (image((BGR.astype(np.uint16) << 8).byteswap(), "bgr16", big=True), BGR),
    ],
)
def test_colour_encodings_round_trip(message: Any, expected: np.ndarray) -> None:
    assert pixels_from_image(message).tolist() == expected.tolist()


@pytest.mark.parametrize("pattern", ["rggb", "bggr", "gbrg", "grbg"])
def test_bayer_pattern_of_one_colour_is_decoded(pattern: str) -> None:
    levels = {"r": 200, "g": 120, "b": 40}
    tile = np.array([levels[letter] for letter in pattern], np.uint8).reshape(2, 2)
    pixels = pixels_from_image(image(np.tile(tile, (4, 4)), f"bayer_{pattern}8"))
    assert pixels[2:-2, 2:-2].reshape(-1, 3).tolist() == [[40, 120, 200]] * 16


def test_yuv_matches_opencv() -> None:
    grey = np.full((2, 4, 2), 128, np.uint8)
    assert np.abs(pixels_from_image(image(grey, "yuv422_yuy2")).astype(int) - 130).max() <= 2
    with pytest.raises(ArchiveError, match="expected an even width of uyvy, got 3"):
        pixels_from_image(image(grey[:, :3], "uyvy"))


def test_depth_is_coloured_by_distance_and_black_without_value() -> None:
    depth = np.linspace(1, 5, 24, dtype=np.float32).reshape(4, 6)
    depth[0, 0] = np.nan
    pixels = pixels_from_image(image(depth, "32FC1"))
    assert pixels[0, 0].tolist() == [0, 0, 0]
    assert pixels[-1, -1].sum() > pixels[0, 1].sum()  # bright is far
    assert pixels_from_image(image(np.zeros((2, 2), np.uint16), "16UC1")).max() == 0


@pytest.mark.parametrize(
    ("message", "issue"),
    [
        (image(BGR, "nv21"), "its encoding 'nv21' is not known here"),
        (make(IMAGE, height=4, width=6, encoding="bgr8", step=18), "6 x 4 pixels of bgr8 in steps of 18, got 0 bytes"),
        (make(IMAGE, encoding="mono8"), "expected 0 x 0 pixels"),
        (make(IMAGE, height=2**31, width=2**31, encoding="mono8", step=9), "expected 2147483648 x"),
    ],
)  # fmt: skip
def test_undecodable_image_gives_reason(message: Any, issue: str) -> None:
    with pytest.raises(ArchiveError, match=issue):
        pixels_from_image(message)


def test_compressed_images_and_depth_are_decoded() -> None:
    good, png = cv2.imencode(".png", BGR)
    assert good
    assert pixels_from_compressed(make(COMPRESSED, format="png", data=png)).tolist() == BGR.tolist()
    good, png = cv2.imencode(".png", BGR[:, :, 0].astype(np.uint16) * 9)
    depth = make(COMPRESSED, format="16UC1; compressedDepth png", data=np.r_[np.zeros(12, np.uint8), png])
    assert pixels_from_compressed(depth).shape == BGR.shape
    with pytest.raises(ArchiveError, match="its 3 bytes do not decode as an image"):
        pixels_from_compressed(make(COMPRESSED, format="jpeg", data=np.zeros(3, np.uint8)))


def camera(**more: Any) -> Any:
    members = {"width": 640, "height": 480, "d": np.zeros(0), "distortion_model": "plumb_bob"}
    return make(INFO, **{"k": np.array([400.0, 0, 320, 0, 410, 240, 0, 0, 1]), **members, **more})


def frames_before_a_camera() -> Frames:
    """`ahead` 2 m before the camera and 0.5 m to its right, `behind` at its back, `aside` out of sight."""
    frames = Frames()
    looks_forward = Rotation.from_matrix([[0, 0, 1], [-1, 0, 0], [0, -1, 0]]).as_quat().tolist()
    message = transforms(
        transform(START_NS, "base", "camera", (0, 0, 1), looks_forward),
        transform(START_NS, "base", "ahead", (2, -0.5, 1)),
        transform(START_NS, "base", "behind", (-2, 0, 1)),
        transform(START_NS, "base", "aside", (1, 5, 1)),
    )
    TransformPanel(frames).add(batch("/tf_static", [(START_NS, message)]))
    return frames


def frames_seen_by(info: Any, *, is_rectified: bool = False) -> FramesInImage | None:
    intrinsics = camera_of_drawing(camera_of_info(info), is_rectified=is_rectified)
    return frames_in_image(intrinsics, "camera", frames=frames_before_a_camera(), stamp_ns=START_NS)


def test_frame_in_front_of_camera_matches_pinhole_projection() -> None:
    seen = frames_seen_by(camera())
    assert seen is not None
    assert seen.names == ["ahead"]
    u, v = 320 + 400 * 0.5 / 2, 240.0
    assert seen.origins[0] == pytest.approx([u / 640, v / 480])
    length = 0.055 * 640 / 400 * 2  # so that an axis seen from the side takes 5.5 % of the width
    x, y, z = (tip - seen.origins[0] for tip in seen.tips[0])
    assert x == pytest.approx([(400 * 0.5 / (2 + length) - 100) / 640, 0.0])  # x leads away from the camera
    assert y == pytest.approx([-0.055, 0.0])  # y to the left
    assert z == pytest.approx([0.0, -length / 2 * 410 / 480])  # z up


def test_distortion_is_applied_to_frame() -> None:
    info = camera(d=np.array([0.2, 0, 0, 0, 0]))
    seen = frames_seen_by(info)
    assert seen is not None
    radius = 0.25
    assert seen.origins[0, 0] * 640 == pytest.approx(320 + 400 * radius * (1 + 0.2 * radius**2))
    fisheye = camera(d=np.array([0.1, 0.0, 0.0, 0.0]), distortion_model="equidistant")
    seen = frames_seen_by(fisheye)
    assert seen is not None
    angle = np.arctan(radius)
    assert seen.origins[0, 0] * 640 == pytest.approx(320 + 400 * (angle + 0.1 * angle**3))


def test_rectified_image_uses_projection_matrix() -> None:
    info = camera(d=np.array([0.2, 0, 0, 0, 0]), p=np.array([300.0, 0, 310, 0, 0, 300, 240, 0, 0, 0, 1, 0]))
    seen = frames_seen_by(info, is_rectified=True)
    assert seen is not None
    assert seen.origins[0, 0] * 640 == pytest.approx(310 + 300 * 0.25)


@pytest.mark.parametrize("k", [np.zeros(9), np.full(9, np.nan)])
def test_uncalibrated_camera_sees_no_frame(k: np.ndarray) -> None:
    assert frames_seen_by(camera(k=k)) is None


def test_coincident_frames_share_label_and_labels_do_not_overlap() -> None:
    positions = np.array([[0.5, 0.5], [0.5005, 0.5], [0.52, 0.5], [0.9, 0.1]])
    seen = SimpleNamespace(
        names=["a", "b", "c_with_a_long_name", "d<e>"],
        origins=positions,
        tips=positions[:, None] + np.eye(3)[None, :, :2] / 20,
    )
    names = [label["name"] for label in frame_labels(seen, 4 / 3)]
    assert "a +1" in names and "b" not in names
    assert "d<e>" in names and len(names) == 3
    pixels = np.zeros((480, 640, 3), np.uint8)
    draw_axes(pixels, seen)
    x_axis, ground = pixels[240, 336], pixels[200, 200]  # to the right of the first frame's origin, and nowhere near
    assert x_axis[2] > 200 > x_axis[0] and ground.max() == 0


def test_panel_shows_first_middle_and_last_image_and_reports_errors() -> None:
    panel, issues = CameraPanel(), Issues()
    times = [START_NS + k * 10**9 for k in range(21)]
    panel.add(
        batch(
            "/cam/image_raw", [(t, stamped_message(IMAGE, t, "camera", **vars_of(image(BGR, "bgr8")))) for t in times]
        )
    )
    panel.add(batch("/bad/image_raw", [(times[0], stamped_message(IMAGE, times[0], "x", encoding="nv21"))]))
    panel.add(
        batch("/cam/camera_info", [(times[0], camera(width=6, height=4, k=np.array([4.0, 0, 3, 0, 4, 2, 0, 0, 1])))])
    )
    panel.report_issues(issues)
    assert [(f.location, f.message) for f in issues.listed["unreadable_picture"]] == [
        ("/bad/image_raw", "its encoding 'nv21' is not known here")
    ]
    overview = Overview(
        subject=RecordingInfo(title="", name="", kind="", size_bytes=0), frames=frames_before_a_camera()
    )
    (section,) = panel.sections(overview)
    assert section.body.count("<img") == 3
    assert "/bad/" not in section.body
    assert "6 × 4, in camera" in section.body
    assert "ahead" in section.body


def vars_of(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("height", "width", "encoding", "step", "data")}


def lines_section(*batches: Any) -> str:
    """The body of the section of lines over time, empty where there is none."""
    overview, panel = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0)), ImageLinePanel()
    for each in batches:
        overview.streams.setdefault(each.topic, StreamTimes()).add(each.stamp_ns)
        overview.streams[each.topic].flush_pending()
        panel.add(each)
    sections = panel.sections(overview)
    return str(sections[0].body) if sections else ""


def series(make_image: Callable[[int], np.ndarray], encoding: str, count: int = 200) -> list[tuple[int, Any]]:
    return [(START_NS + row * 100_000_000, image(make_image(row), encoding)) for row in range(count)]


def three_colour_image(row: int) -> np.ndarray:
    """Blue above and below; the line in the middle is red on its left, and green on its right from the half on."""
    values = np.zeros((7, 40, 3), np.uint8)
    values[..., 0] = 255
    values[2] = values[3] = 0
    values[2, :20, 2], values[2, 20:, 1] = 200, 200 * (row >= 100)
    return values


def test_middle_line_is_drawn_over_time_with_means() -> None:
    body = lines_section(batch("/camera/image_raw", series(three_colour_image, "bgr8")))
    pixels = drawn_image(body, "/camera/image_raw, the middle line")[..., :3]
    rows, columns = pixels.shape[:2]
    early, late = rows // 4, 3 * rows // 4
    assert pixels[early, columns // 4].tolist() == pixels[late, columns // 4].tolist() == [200, 0, 0]
    assert pixels[early, 3 * columns // 4].tolist() == [0, 0, 0]
    assert pixels[late, 3 * columns // 4].tolist() == [0, 200, 0]
    assert "of 200 images" in body and all(name in body for name in ("red", "green", "blue"))


def test_grey_images_have_one_curve_and_invalid_images_are_skipped() -> None:
    grey = series(lambda row: np.full((5, 6), row, np.uint8), "mono8", count=20)
    body = lines_section(batch("/ir/image_raw", grey))
    assert "brightness" in body and "green" not in body
    bytes_of = cv2.imencode(".jpg", np.full((32, 64, 3), (10, 200, 60), np.uint8))[1].reshape(-1)
    packed = [(START_NS + row, make(COMPRESSED, format="jpeg", data=bytes_of)) for row in (0, 10**9)]
    assert "of 2 images" in lines_section(batch("/camera/image_raw/compressed", packed))
    depth = series(lambda row: np.ones((5, 6), np.float32), "32FC1", count=20)
    damaged = [(stamp_ns, make(COMPRESSED, format="jpeg", data=bytes_of[:20])) for stamp_ns, _ in packed]
    assert lines_section(batch("/depth", depth), batch("/torn", damaged), batch("/one", grey[:1])) == ""
