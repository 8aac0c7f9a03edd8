"""What the cameras saw: the first, a middle and the last image with the frames before it, and a line over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cv2
import numpy as np

from fieldplay.core.decimation import Decimator, middle_index
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import count_noun, count_text, tight_axis
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.image_pixels import middle_line, pixels_from_file, pixels_from_image
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import COMPRESSED, IMAGE, INFO
from fieldplay.messages.records import CameraInfos, Images
from fieldplay.messages.records import Pixels as ArchivePixels
from fieldplay.projection.frames_in_image import camera_of_drawing, draw_axes, frame_labels, frames_in_image
from fieldplay.recording.record_batches import Issues, RecordBatch, Single
from fieldplay.report import figures as fig
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Html, Section, join, render

MAX_LINES, MAX_LINE_CAMERAS = 48, 8
COLUMNS, ROWS = 480, 160  # of a figure
CHANNELS = (("red", 2, 1), ("green", 1, 2), ("blue", 0, 0))  # name, channel of BGR, colour of the page's series
LARGE, SMALL = 960, 560  # pixels of width
MAX_CAMERAS, MAX_IMAGES = 16, 2
RECTIFIED = "rect"  # what the names of rectified images have in them
AXES_KEY = [("ax", "x"), ("ay", "y"), ("az", "z")]
LEAD = (
    "The first, a middle and the last image. Where the camera's numbers and the tf tree allow, the frames before the "
    "camera are drawn with their axes."
)
LINES_LEAD = (
    "The middle line of each camera's images, the first image at the top, and the mean brightness of that line."
)
Stored = tuple[int, FramedRecord | None]  # when an image leaves, and the image, if it can be read


def _plain_name(topic: Topic) -> str:
    return topic.name.removesuffix("/compressed").removesuffix("/compressedDepth")


def _has_uncompressed(topic: Topic, topics: dict[Topic, Any]) -> bool:
    return topic.msgtype == COMPRESSED and Topic(_plain_name(topic), IMAGE) in topics


@dataclass(frozen=True, eq=False)
class _DecodedImage:
    """A decoded image with its original size, or the error."""

    log_ns: int
    stamp_ns: int
    frame: str
    pixels: fig.Pixels | None = None
    size: tuple[int, int] = (0, 0)
    error: str = ""


@dataclass
class _Camera:
    """Some messages of a topic of images as they came, and what was made of them."""

    samples: Decimator[Stored] = field(default_factory=lambda: Decimator(MAX_IMAGES))
    images: list[_DecodedImage] | None = None


class CameraPanel(Panel):
    """Keeps a few images of each topic, and what its CameraInfo says."""

    msgtypes = (IMAGE, COMPRESSED, INFO)

    def __init__(self) -> None:
        self._cameras: dict[Topic, _Camera] = {}
        self._infos: dict[str, FramedRecord | None] = {}

    def add(self, batch: RecordBatch) -> None:
        """Images, of which few are decoded; of CameraInfo the first is enough."""
        if batch.topic.msgtype == INFO:
            if batch.topic.name not in self._infos:
                _, first = next(batch.single())
                self._infos[batch.topic.name] = first()
            return
        camera = self._cameras.setdefault(batch.topic, _Camera())
        for stamp_ns, make in batch.single():
            camera.samples.offer(partial(_load_stored, stamp_ns, make))

    def report_issues(self, issues: Issues) -> None:
        """Images that were to be shown and cannot be."""
        for topic, camera in self._cameras.items():
            for image in _decoded_images(topic, camera):
                if image.error:
                    issues.add("unreadable_picture", topic.name, image.error)

    def sections(self, overview: Overview) -> list[Section]:
        """A group for each camera."""
        requested = [item for item in overview.in_order(self._cameras) if not _has_uncompressed(item[0], self._cameras)]
        groups = [self._group(overview, topic, camera) for topic, camera in requested[:MAX_CAMERAS]]
        if not any(groups):
            return []
        left_out = len(requested) - MAX_CAMERAS
        more = render("paragraph", f"{left_out} more cameras are not shown.", "muted") if left_out > 0 else ""
        return [Section("pictures", "What the cameras saw", join([*groups, more]), LEAD)]

    def _group(self, overview: Overview, topic: Topic, camera: _Camera) -> Html:
        images = [image for image in _decoded_images(topic, camera) if image.pixels is not None]
        model = self._camera_model(topic)
        figures = [_figure(overview, topic, one, model if not index else None) for index, one in enumerate(images)]
        return render("camera", topic.name, figures) if figures else join([])

    def _camera_model(self, topic: Topic) -> CameraModel | None:
        """What the CameraInfo of the images' topic says."""
        folder, _, name = _plain_name(topic).rpartition("/")
        info = self._infos.get(f"{folder}/camera_info")
        if info is None or not isinstance(info.record, CameraInfos):
            return None
        return camera_of_drawing(info.record.camera, is_rectified=RECTIFIED in name)


def _load_stored(stamp_ns: int, make: Single) -> Stored:
    return stamp_ns, make()


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
        if isinstance(data, ArchivePixels):
            pixels = pixels_from_image(data)
        else:
            pixels = pixels_from_file(data, "png" if data.startswith(b"\x89PNG") else "jpeg")
    except ArchiveError as error:
        return _DecodedImage(log_ns, stamp_ns, frame, error=str(error))
    height, width = pixels.shape[:2]
    return _DecodedImage(log_ns, stamp_ns, frame, fig.limit_width(pixels, widest), (width, height))


def _figure(overview: Overview, topic: Topic, image: _DecodedImage, camera: CameraModel | None) -> Html:
    assert image.pixels is not None
    width, height = image.size
    moment = f"at {overview.moment_text(image.log_ns)}"
    pixels, labels, seen = image.pixels, [], None
    if camera is not None and (camera.width, camera.height) == image.size:
        seen = frames_in_image(camera, image.frame, frames=overview.frames, stamp_ns=image.stamp_ns)
    if seen is not None:
        pixels = np.ascontiguousarray(pixels).copy()
        labels = frame_labels(seen, width / height)
        draw_axes(pixels, seen)
    details = f"{width} × {height}" + (f", in {image.frame}" if image.frame else "")
    shown = render("photo", fig.photo(pixels, alternative=f"{topic.name} {moment}"), labels)
    return render("figure", shown, moment, details, AXES_KEY if seen is not None else ())


# One line of a camera's images over time: its colours row by row, and their means as curves.


@dataclass(frozen=True, eq=False)
class _Line:
    """The middle line of an image in BGR (columns, 3), when the image left, and how wide the image is."""

    stamp_ns: int
    colours: fig.Pixels
    width: int


class ImageLinePanel(Panel):
    """Keeps the middle line of some images of each topic, evenly picked."""

    msgtypes = (IMAGE, COMPRESSED)

    def __init__(self, expected: Mapping[str, int] | None = None) -> None:
        self._expected = expected or {}
        self._cameras: dict[Topic, Decimator[_Line]] = {}

    def add(self, batch: RecordBatch) -> None:
        """Images, of which few are decoded."""
        empty: Decimator[_Line] = Decimator(MAX_LINES, expected=self._expected.get(batch.topic.name, 0))
        samples = self._cameras.setdefault(batch.topic, empty)
        for stamp_ns, make in batch.single():
            samples.offer(partial(_line, stamp_ns, make))

    def sections(self, overview: Overview) -> list[Section]:
        """Two figures for each camera with images at several times."""
        topics = [item for item in overview.in_order(self._cameras) if not _has_uncompressed(item[0], self._cameras)]
        figures: list[Html] = []
        for topic, samples in topics[:MAX_LINE_CAMERAS]:
            lines = samples.items()
            if len({line.stamp_ns for line in lines}) > 1:
                figures += [_lines_figure(overview, topic, lines, count=samples.seen), _means(overview, topic, lines)]
        body = render("cards", figures, "wide") if figures else None
        return [Section("image-lines", "A line of the images over time", body, LINES_LEAD)] if body else []


def _line(stamp_ns: int, make: Single) -> _Line | None:
    """The middle line of an image; None where it has none, or no colours."""
    framed = make()
    if framed is None or not isinstance(framed.record, Images):
        return None
    try:
        data = framed.record.load(0)
        colours = middle_line(data)
    except (ArchiveError, OSError):
        return None
    if colours is None:
        return None
    narrow = cv2.resize(colours[None], (COLUMNS, 1), interpolation=cv2.INTER_AREA)[0]
    return _Line(stamp_ns=stamp_ns, colours=np.asarray(narrow, np.uint8), width=len(colours))


def _lines_figure(overview: Overview, topic: Topic, lines: list[_Line], *, count: int) -> Html:
    """The lines nearest to even times, from the top down; nothing where an axis passes over a gap."""
    down = overview.time_axis()
    seconds = overview.seconds(np.array([line.stamp_ns for line in lines], np.int64))
    requested = down.values((np.arange(ROWS) + 0.5) / ROWS)
    there = np.isfinite(requested)
    nearest = np.abs(np.where(there, requested, 0.0)[:, None] - seconds).argmin(axis=1)
    within = max(2 * float(np.median(np.diff(seconds))), down.high / ROWS)
    there &= np.abs(np.where(there, requested, np.inf) - seconds[nearest]) <= within
    pixels = np.zeros((ROWS, COLUMNS, 4), np.uint8)
    pixels[there, :, :3], pixels[there, :, 3] = np.stack([line.colours for line in lines])[nearest[there]], 255
    width = float(max(line.width for line in lines))
    axes = fig.raster_axes(tight_axis(width), down.flip(), height=240)
    caption = f"the middle line over time, of {count_text(len(lines))} of {count_noun(count, 'image')}, by its columns"
    drawn = fig.svg_of(axes, f"{topic.name}, the middle line", below=fig.image_below(axes, pixels, is_exact=True))
    return render("figure", drawn, topic.name, caption)


def _means(overview: Overview, topic: Topic, lines: list[_Line]) -> Html:
    """The mean of each colour, or of the one brightness where all are the same."""
    seconds = overview.seconds(np.array([line.stamp_ns for line in lines], np.int64))
    means = np.array([line.colours.mean(axis=0, dtype=np.float64) for line in lines])
    is_grey = all((line.colours == line.colours[:, :1]).all() for line in lines)
    curves = [fig.Curve("brightness", seconds, means[:, 0])] if is_grey else []
    curves = curves or [fig.Curve(name, seconds, means[:, at], colour=colour) for name, at, colour in CHANNELS]
    title = f"{topic.name}, mean of the middle line"
    return fig.line_chart(
        fig.Chart(title=title, curves=curves, unit="0 to 255", x_axis=overview.time_axis(), width=fig.WIDE)
    )
