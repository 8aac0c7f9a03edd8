"""What the cameras saw: the first, a middle and the last picture of each, with the frames that stand before it."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator, middle_index
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import (
    Axis,
    count_noun,
    count_text,
    number_axis,
)
from fieldplay.geometry.frames import Frames
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.image_pixels import pixels_from_file, pixels_from_image, reduced_pixels_from_file
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import COMPRESSED, IMAGE, INFO
from fieldplay.messages.records import CameraInfos, Images
from fieldplay.messages.records import Pixels as ArchivePixels
from fieldplay.messages.stream_spec import Camera
from fieldplay.recording.record_batches import Issues, RecordBatch, Single
from fieldplay.report.html.charts import UNITS, Curve, line_chart, percent
from fieldplay.report.html.html_images import limit_width, photo, raster_figure
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
    path_text,
)
from fieldplay.report.panels.overview_panel import Overview

NEAREST_M = 0.05
AXIS = 0.055  # length of an axis on the picture, as a share of its width, were it seen from the side
MARGIN = 0.02
FAR = 5.0  # of the picture's sides: an axis does not lead so far
FISHEYES = ("equidistant", "fisheye")
SAME = 0.012  # frames closer than this share of the width are one sign
MAX_LABELS = 24
NARROW, WIDE = 330.0, 720.0  # widths in pixels of a picture on a phone and on a desk
LETTER, LINE = 6.6, 17.0  # size of a letter and height of a label, in pixels
Array = NDArray[np.float64]
MAX_LINES, MAX_LINE_CAMERAS = 48, 8
COLUMNS, ROWS = 480, 160  # of a figure
ROWS_OF_MOSAIC = 2
NO_COLOURS = ("FC1", "SC1", "16UC1", "mono16")  # ends of encodings whose numbers are no brightness
CHANNELS = (("red", 2, 1), ("green", 1, 2), ("blue", 0, 0))  # name, channel of BGR, colour of the page's series
LINES_LEAD = (
    "The middle line of each camera's images, the first image at the top, and the mean brightness of that line."
)
Pixels = NDArray[np.uint8]
PNG = b"\x89PNG"
LARGE, SMALL = 960, 560  # pixels of width
MAX_CAMERAS = 16
RECTIFIED = "rect"  # what the names of rectified pictures have in them
MAX_IMAGES = 2
LEAD = (
    "The first, a middle and the last picture. Where the camera's numbers and the tf tree allow, the frames before the "
    "camera are drawn with their axes."
)
Stored = tuple[int, FramedRecord | None]  # when a picture leaves, and the picture, if it can be read


# Frames of the tf tree as a camera sees them: three axes for each, drawn over its picture.


@dataclass(frozen=True, eq=False)
class Intrinsics:
    """Camera matrix (3, 3), distortion and its model, and the image size."""

    matrix: Array
    distortion: Array
    model: str
    size: tuple[int, int]


def intrinsics_from_camera(camera: Camera, *, is_rectified: bool) -> Intrinsics:
    """Intrinsics of a camera; rectified images use the projection matrix without distortion."""
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]], float)
    projection = np.array(camera.projection or np.zeros(12), float).reshape(3, 4)[:, :3]
    distortion = np.zeros(0) if is_rectified else np.nan_to_num(np.array(camera.distortion, float))
    rectified = projection if is_rectified and projection.any() else matrix
    return Intrinsics(rectified, distortion, camera.distortion_model, (camera.width, camera.height))


@dataclass(frozen=True, eq=False)
class FramesInImage:
    """Frames in a picture: where their origins (n, 2) and axes (n, 3, 2) are, as shares of its width and height."""

    names: list[str]
    origins: Array
    tips: Array


def frames_in_image(intrinsics: Intrinsics, frame: str, *, frames: Frames, stamp_ns: int) -> FramesInImage | None:
    """The frames in front of a camera and within its picture; None where nothing can be projected."""
    matrix = intrinsics.matrix
    size = np.array(intrinsics.size, float)
    if not np.isfinite(matrix).all() or matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or (size <= 0).any():
        return None
    names, transforms = _in_camera(frame, frames, stamp_ns)
    if not names:
        return None
    depth = transforms[:, 2, 3]
    length = AXIS * size[0] / matrix[0, 0] * depth
    points = transforms[:, None, :3, 3] + np.concatenate(
        [np.zeros((len(names), 1, 3)), np.swapaxes(transforms[:, :3, :3], 1, 2) * length[:, None, None]], axis=1
    )
    pinhole = points[..., :2] / np.maximum(points[..., 2:], NEAREST_M) * np.diag(matrix)[:2] + matrix[:2, 2]
    about = ((pinhole[:, 0] > -0.3 * size) & (pinhole[:, 0] < 1.3 * size)).all(axis=1)
    positions = _project(points.reshape(-1, 3), intrinsics).reshape(len(names), 4, 2) / size
    inside = ((positions[:, 0] > MARGIN) & (positions[:, 0] < 1 - MARGIN)).all(axis=1)
    visible = np.flatnonzero(about & inside & (np.abs(positions) < FAR).all(axis=(1, 2)))
    visible = visible[np.argsort(depth[visible], kind="stable")]
    return (
        FramesInImage([names[index] for index in visible], positions[visible, 0], positions[visible, 1:])
        if len(visible)
        else None
    )


def overlay(seen: FramesInImage, ratio: float) -> Html:
    """The axes as lines over a picture (width by height is ratio), and the names beside them where there is room."""
    labels = _merge_overlapping(seen)[:MAX_LABELS]
    rows = [index for index, _ in labels]
    lines = [_axes(seen.origins[row], seen.tips[row]) for row in rows]
    svg = element("svg", *lines, viewBox=f"0 0 {UNITS} {UNITS}", preserveAspectRatio="none")
    texts = _labels([name for _, name in labels], seen.origins[rows], ratio)
    return join_html([svg, *texts])


def _in_camera(frame: str, frames: Frames, stamp_ns: int) -> tuple[list[str], Array]:
    names, transforms = [], []
    for name in frames.names:
        joined_by = frames.transform(frame, name, np.array([stamp_ns], np.int64)) if name != frame else None
        if joined_by is not None and joined_by[1][0] and joined_by[0][0, 2, 3] > NEAREST_M:
            names.append(name)
            transforms.append(joined_by[0][0])
    return names, np.array(transforms).reshape(-1, 4, 4)


def _project(points: Array, intrinsics: Intrinsics) -> Array:
    """Pixels (n, 2) of points (n, 3) in the camera's frame, with its distortion."""
    matrix, distortion = intrinsics.matrix, intrinsics.distortion
    points = np.where(points[:, 2:] > NEAREST_M, points, [0.0, 0.0, NEAREST_M])
    still = np.zeros(3)
    if intrinsics.model in FISHEYES and len(distortion) >= 4:
        pixels, _ = cv2.fisheye.projectPoints(points[:, None, :], still, still, matrix, distortion[:4])
    else:
        usable = distortion if len(distortion) in (4, 5, 8, 12, 14) else np.zeros(5)
        pixels, _ = cv2.projectPoints(points, still, still, matrix, usable)
    return np.asarray(pixels, float).reshape(-1, 2)


def _merge_overlapping(seen: FramesInImage) -> list[tuple[int, str]]:
    """Merge frames at the same position: the row of the first, and a text of all names."""
    groups: list[tuple[int, list[str]]] = []
    for row, name in enumerate(seen.names):
        near = [group for group in groups if np.abs(seen.origins[group[0]] - seen.origins[row]).max() < SAME]
        if near:
            near[0][1].append(name)
        else:
            groups.append((row, [name]))
    return [(row, names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}") for row, names in groups]


def _axes(origin: Array, tips: Array) -> Html:
    def line(tip: Array, kind: str) -> Html:
        (x1, y1), (x2, y2) = np.rint(origin * UNITS).astype(int).tolist(), np.rint(tip * UNITS).astype(int).tolist()
        return element("path", d=f"M{x1} {y1}L{x2} {y2}", class_=kind)

    return join_html(
        [line(tip, "under") for tip in tips] + [line(tip, f"a{axis}") for axis, tip in zip("xyz", tips, strict=True)]
    )


def _labels(names: list[str], positions: Array, ratio: float) -> list[Html]:
    """Names where they do not lie on each other: those that a phone has room for, then those for wider pages."""
    labels: list[Html] = []
    settled: list[tuple[int, bool]] = []
    for width, kind in ((NARROW, ""), (WIDE, "wide-only")):
        size = (width, width / ratio)
        taken = [_box(names[row], positions[row], size, is_left=is_left) for row, is_left in settled]
        for row, name in enumerate(names):
            if any(row == done for done, _ in settled):
                continue
            for is_left in (False, True):
                box = _box(name, positions[row], size, is_left=is_left)
                if box[0] >= 0 and box[2] <= width and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    settled.append((row, is_left))
                    labels.append(_label(name, positions[row], kind, is_left=is_left))
                    break
    return labels


def _label(name: str, position: Array, kind: str, *, is_left: bool) -> Html:
    offset = "-.45rem" if is_left else ".45rem"
    style = f"left:calc({percent(float(position[0]))} + {offset});top:{percent(float(position[1]))}"
    return element("span", name, class_=f"{kind} {'left' if is_left else ''}".strip() or None, style=style)


Box = tuple[float, float, float, float]


def _box(name: str, position: Array, size: tuple[float, float], *, is_left: bool) -> Box:
    """Left, top, right, bottom of a label on a picture of a size in pixels."""
    x, y = float(position[0]) * size[0], float(position[1]) * size[1]
    length = LETTER * len(name) + 8
    left = x - 7 - length if is_left else x + 7
    return left, y - LINE / 2, left + length, y + LINE / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# One line of a camera's images over time: its colours row by row, and their means as curves.


@dataclass(frozen=True, eq=False)
class _Line:
    """The middle line of an image in BGR (columns, 3), when the image left, and how wide the image is."""

    stamp_ns: int
    colours: Pixels
    width: int


@dataclass
class _CameraLines:
    samples: Decimator[_Line] = field(default_factory=lambda: Decimator(MAX_LINES))


class ImageLinePanel:
    """Keeps the middle line of some images of each topic, evenly picked."""

    msgtypes = (IMAGE, COMPRESSED)

    def __init__(self) -> None:
        self._cameras: dict[Topic, _CameraLines] = {}

    def add(self, batch: RecordBatch) -> None:
        """Images, of which few are decoded."""
        camera = self._cameras.setdefault(batch.topic, _CameraLines())
        for stamp_ns, make in batch.single():
            camera.samples.offer(partial(_line, stamp_ns, make))

    def report_issues(self, issues: Issues) -> None:
        """Nothing: the panel of images reports those that cannot be shown."""

    def sections(self, overview: Overview) -> list[Section]:
        """Two figures for each camera with images at several times."""
        topics = [item for item in overview.in_order(self._cameras) if not self._has_uncompressed(item[0])]
        figures: list[Html] = []
        for topic, camera in topics[:MAX_LINE_CAMERAS]:
            lines = camera.samples.items()
            if len({line.stamp_ns for line in lines}) > 1:
                figures += [
                    _lines_figure(overview, topic, lines, count=camera.samples.seen),
                    _chart(overview, topic, lines),
                ]
        return (
            [Section("image-lines", "A line of the images over time", cards(figures, "wide"), LINES_LEAD)]
            if figures
            else []
        )

    def _has_uncompressed(self, topic: Topic) -> bool:
        """Whether the images are there uncompressed too."""
        plain = topic.name.removesuffix("/compressed").removesuffix("/compressedDepth")
        return topic.msgtype == COMPRESSED and Topic(plain, IMAGE) in self._cameras


def _line(stamp_ns: int, make: Single) -> _Line | None:
    """The middle line of an image; None where it has none, or no colours."""
    framed = make()
    if framed is None or not isinstance(framed.record, Images):
        return None
    try:
        data = framed.record.load(0)
        colours = _line_of_pixels(data) if isinstance(data, ArchivePixels) else _line_of_file(data)
    except (ArchiveError, OSError):
        return None
    if colours is None:
        return None
    narrow = cv2.resize(colours[None], (COLUMNS, 1), interpolation=cv2.INTER_AREA)[0]
    return _Line(stamp_ns=stamp_ns, colours=np.asarray(narrow, np.uint8), width=len(colours))


def _line_of_pixels(pixels: ArchivePixels) -> Pixels | None:
    """Of pixels in rows only those of the middle are converted: an even row and the next, as mosaics need both."""
    if pixels.encoding.endswith(NO_COLOURS):
        return None
    first = pixels.height // 2 // ROWS_OF_MOSAIC * ROWS_OF_MOSAIC
    data: Any = pixels.data
    part = data[first * pixels.step : (first + ROWS_OF_MOSAIC) * pixels.step]
    height = min(ROWS_OF_MOSAIC, pixels.height - first)
    lines = pixels_from_image(replace(pixels, height=height, data=part))
    return np.asarray(lines[0], np.uint8)


def _line_of_file(data: bytes) -> Pixels:
    pixels = reduced_pixels_from_file(data)
    return np.asarray(pixels[len(pixels) // 2], np.uint8)


def _lines_figure(overview: Overview, topic: Topic, lines: list[_Line], *, count: int) -> Html:
    """The lines from the top down at their times."""
    down = overview.time_axis()
    stamp_ns = np.array([line.stamp_ns for line in lines], np.int64)
    colours = np.stack([line.colours for line in lines])
    pixels = _evenly(overview.seconds(stamp_ns), colours, down)
    width = max(line.width for line in lines)
    x_axis = Axis(0.0, float(width), tuple(tick for tick in number_axis(0.0, width).ticks if tick[0] <= width))
    caption = f"the middle line over time, of {count_text(len(lines))} of {count_noun(count, 'image')}"
    foot = element("div", "columns of the image", class_="legend")
    return raster_figure(topic.name, caption, pixels, axes=(x_axis, down.flip()), foot=foot)


def _evenly(seconds: NDArray[np.float64], colours: Pixels, axis: Axis) -> Pixels:
    """The lines (ROWS, columns, 4) in BGRA nearest to even times, transparent where an axis passes over a gap."""
    requested = axis.values((np.arange(ROWS) + 0.5) / ROWS)
    there = np.isfinite(requested)
    nearest = np.abs(np.where(there, requested, 0.0)[:, None] - seconds).argmin(axis=1)
    usual = float(np.median(np.diff(seconds))) if len(seconds) > 1 else axis.high
    there &= np.abs(np.where(there, requested, np.inf) - seconds[nearest]) <= max(2 * usual, axis.high / ROWS)
    pixels = np.zeros((ROWS, colours.shape[1], 4), np.uint8)
    pixels[there, :, :3], pixels[there, :, 3] = colours[nearest[there]], 255
    return pixels


def _chart(overview: Overview, topic: Topic, lines: list[_Line]) -> Html:
    """The mean of each colour, or of the one brightness where all are the same."""
    seconds = overview.seconds(np.array([line.stamp_ns for line in lines], np.int64))
    means = np.array([line.colours.mean(axis=0, dtype=np.float64) for line in lines])
    is_grey = all((line.colours == line.colours[:, :1]).all() for line in lines)
    curves = [Curve("brightness", seconds, means[:, 0])] if is_grey else []
    curves = curves or [Curve(name, seconds, means[:, at], colour=colour) for name, at, colour in CHANNELS]
    return line_chart(f"{topic.name}, mean of the middle line", curves, unit="0 to 255", x_axis=overview.time_axis())


@dataclass(frozen=True, eq=False)
class _DecodedImage:
    """A decoded image with its original size, or the error."""

    log_ns: int
    stamp_ns: int
    frame: str
    pixels: Pixels | None = None
    size: tuple[int, int] = (0, 0)
    error: str = ""


@dataclass
class _Camera:
    """Some messages of a topic of pictures as they came, and what was made of them."""

    samples: Decimator[Stored] = field(default_factory=lambda: Decimator(MAX_IMAGES))
    images: list[_DecodedImage] | None = None


class CameraPanel:
    """Keeps a few pictures of each topic, and what its CameraInfo says."""

    msgtypes = (IMAGE, COMPRESSED, INFO)

    def __init__(self) -> None:
        self._cameras: dict[Topic, _Camera] = {}
        self._infos: dict[str, FramedRecord | None] = {}

    def add(self, batch: RecordBatch) -> None:
        """Pictures, of which few are decoded; of CameraInfo the first is enough."""
        if batch.topic.msgtype == INFO:
            if batch.topic.name not in self._infos:
                _, first = next(batch.single())
                self._infos[batch.topic.name] = first()
            return
        camera = self._cameras.setdefault(batch.topic, _Camera())
        for stamp_ns, make in batch.single():
            camera.samples.offer(partial(_load_stored, stamp_ns, make))

    def report_issues(self, issues: Issues) -> None:
        """Pictures that were to be shown and cannot be."""
        for topic, camera in self._cameras.items():
            for image in _decoded_images(topic, camera):
                if image.error:
                    issues.add("unreadable_picture", topic.name, image.error)

    def sections(self, overview: Overview) -> list[Section]:
        """A group for each camera."""
        requested = [item for item in overview.in_order(self._cameras) if not self._has_uncompressed(item[0])]
        optional_groups = (self._group(overview, topic, camera) for topic, camera in requested[:MAX_CAMERAS])
        groups = [group for group in optional_groups if group is not None]
        if not groups:
            return []
        left_out = len(requested) - MAX_CAMERAS
        more = element("p", f"{left_out} more cameras are not shown.", class_="muted") if left_out > 0 else ""
        return [Section("pictures", "What the cameras saw", join_html([*groups, more]), LEAD)]

    def _has_uncompressed(self, topic: Topic) -> bool:
        """Whether the pictures are there uncompressed too."""
        return Topic(_plain_name(topic), IMAGE) in self._cameras and topic.msgtype == COMPRESSED

    def _group(self, overview: Overview, topic: Topic, camera: _Camera) -> Html | None:
        images = [image for image in _decoded_images(topic, camera) if image.pixels is not None]
        if not images:
            return None
        intrinsics = self._intrinsics(topic)
        figures = [
            _figure(overview, topic, image, intrinsics=None if index else intrinsics)
            for index, image in enumerate(images)
        ]
        return join_html(
            [element("h3", path_text(topic.name)), cards(figures, "photos" if len(figures) > 1 else "photos one")]
        )

    def _intrinsics(self, topic: Topic) -> Intrinsics | None:
        """What the CameraInfo beside the pictures' topic says."""
        folder, _, name = _plain_name(topic).rpartition("/")
        info = self._infos.get(f"{folder}/camera_info")
        if info is None or not isinstance(info.record, CameraInfos):
            return None
        return intrinsics_from_camera(info.record.camera, is_rectified=RECTIFIED in name)


def _load_stored(stamp_ns: int, make: Single) -> Stored:
    return stamp_ns, make()


def _plain_name(topic: Topic) -> str:
    return topic.name.removesuffix("/compressed").removesuffix("/compressedDepth")


def _decoded_images(topic: Topic, camera: _Camera) -> list[_DecodedImage]:
    """The first, middle and last image, decoded once."""
    if camera.images is None:
        items = camera.samples.items()
        middle = middle_index([stamp_ns for stamp_ns, _ in items]) if items else 0
        chosen = [items[index] for index in sorted({0, middle, len(items) - 1})] if items else []
        camera.images = [
            _decode_image(topic, *item, widest=SMALL if number else LARGE) for number, item in enumerate(chosen)
        ]
    return camera.images


def _decode_image(topic: Topic, log_ns: int, framed: FramedRecord | None, *, widest: int) -> _DecodedImage:
    if framed is None or not isinstance(framed.record, Images):
        return _DecodedImage(log_ns, log_ns, "", error=f"the message does not decode as {topic.msgtype}")
    frame, stamp_ns = framed.frame.lstrip("/"), int(framed.record.stamp_ns[0])
    data = framed.record.load(0)
    try:
        pixels = pixels_from_image(data) if isinstance(data, ArchivePixels) else pixels_from_file(data, _kind(data))
    except ArchiveError as error:
        return _DecodedImage(log_ns, stamp_ns, frame, error=str(error))
    height, width = pixels.shape[:2]
    return _DecodedImage(log_ns, stamp_ns, frame, limit_width(pixels, widest), (width, height))


def _kind(data: bytes) -> str:
    return "png" if data.startswith(PNG) else "jpeg"


def _figure(overview: Overview, topic: Topic, image: _DecodedImage, *, intrinsics: Intrinsics | None) -> Html:
    assert image.pixels is not None
    width, height = image.size
    moment = f"at {overview.moment_text(image.log_ns)}"
    seen = None
    if intrinsics is not None and intrinsics.size == image.size:
        seen = frames_in_image(intrinsics, image.frame, frames=overview.frames, stamp_ns=image.stamp_ns)
    drawn = overlay(seen, width / height) if seen is not None else ""
    size_text = element("span", f"{width} × {height}" + (f", in {image.frame}" if image.frame else ""), class_="muted")
    caption = element("figcaption", element("b", moment), size_text, _key() if seen else "")
    shown = photo(image.pixels, alternative=f"{topic.name} {moment}")
    return element("figure", caption, element("div", shown, drawn, class_="photo"), class_="card")


def _key() -> Html:
    axes = (element("span", element("i", class_=f"key a{axis}"), axis) for axis in "xyz")
    return element("div", *axes, class_="legend")
