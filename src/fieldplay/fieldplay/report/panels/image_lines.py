"""One line of a camera's images over time: its colours row by row, and their means as curves."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import (
    Axis,
    count_text,
    many,
    number_axis,
)
from fieldplay.messages.image_pixels import pixels_from_image, reduced_pixels_from_file
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import COMPRESSED, IMAGE
from fieldplay.messages.records import Pictures
from fieldplay.messages.records import Pixels as ArchivePixels
from fieldplay.recording.record_source import Issues, RecordBatch, Single
from fieldplay.report.html.charts import Curve, line_chart
from fieldplay.report.html.markup import Html, element
from fieldplay.report.html.page import Section, cards
from fieldplay.report.html.raster import raster_figure
from fieldplay.report.panels.overview import Overview

KEPT, MOST_CAMERAS = 48, 8
COLUMNS, ROWS = 480, 160  # of a figure
ROWS_OF_MOSAIC = 2
NO_COLOURS = ("FC1", "SC1", "16UC1", "mono16")  # ends of encodings whose numbers are no brightness
CHANNELS = (("red", 2, 1), ("green", 1, 2), ("blue", 0, 0))  # name, channel of BGR, colour of the page's series
LEAD = "The middle line of each camera's images, the first image at the top, and the mean brightness of that line."

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class _Line:
    """The middle line of an image in BGR (columns, 3), when the image left, and how wide the image is."""

    stamp_ns: int
    colours: Pixels
    width: int


@dataclass
class _Camera:
    picks: Decimator[_Line] = field(default_factory=lambda: Decimator(KEPT))


class ImageLinePanel:
    """Keeps the middle line of some images of each topic, evenly picked."""

    msgtypes = (IMAGE, COMPRESSED)

    def __init__(self) -> None:
        self._cameras: dict[Topic, _Camera] = {}

    def add(self, batch: RecordBatch) -> None:
        """Images, of which few are decoded."""
        camera = self._cameras.setdefault(batch.topic, _Camera())
        for stamp_ns, make in batch.single():
            camera.picks.offer(partial(_line, stamp_ns, make))

    def tell(self, findings: Issues) -> None:
        """Nothing: the panel of images reports those that cannot be shown."""

    def sections(self, overview: Overview) -> list[Section]:
        """Two figures for each camera with images at several times."""
        topics = [item for item in overview.in_order(self._cameras) if not self._is_double(item[0])]
        figures: list[Html] = []
        for topic, camera in topics[:MOST_CAMERAS]:
            lines = camera.picks.items()
            if len({line.stamp_ns for line in lines}) > 1:
                figures += [_figure(overview, topic, lines, count=camera.picks.seen), _chart(overview, topic, lines)]
        return (
            [Section("image-lines", "A line of the images over time", cards(figures, "wide"), LEAD)] if figures else []
        )

    def _is_double(self, topic: Topic) -> bool:
        """Whether the images are there uncompressed too."""
        plain = topic.name.removesuffix("/compressed").removesuffix("/compressedDepth")
        return topic.msgtype == COMPRESSED and Topic(plain, IMAGE) in self._cameras


def _line(stamp_ns: int, make: Single) -> _Line | None:
    """The middle line of an image; None where it has none, or no colours."""
    framed = make()
    if framed is None or not isinstance(framed.record, Pictures):
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


def _figure(overview: Overview, topic: Topic, lines: list[_Line], *, count: int) -> Html:
    """The lines from the top down at their times."""
    down = overview.time_axis()
    stamp_ns = np.array([line.stamp_ns for line in lines], np.int64)
    colours = np.stack([line.colours for line in lines])
    pixels = _evenly(overview.seconds(stamp_ns), colours, down)
    width = max(line.width for line in lines)
    x_axis = Axis(0.0, float(width), tuple(tick for tick in number_axis(0.0, width).ticks if tick[0] <= width))
    told = f"the middle line over time, of {count_text(len(lines))} of {many(count, 'image')}"
    foot = element("div", "columns of the image", class_="legend")
    return raster_figure(topic.name, told, pixels, axes=(x_axis, down.turned()), foot=foot)


def _evenly(seconds: NDArray[np.float64], colours: Pixels, axis: Axis) -> Pixels:
    """The lines (ROWS, columns, 4) in BGRA nearest to even times, transparent where an axis passes over a gap."""
    wanted = axis.values((np.arange(ROWS) + 0.5) / ROWS)
    there = np.isfinite(wanted)
    nearest = np.abs(np.where(there, wanted, 0.0)[:, None] - seconds).argmin(axis=1)
    usual = float(np.median(np.diff(seconds))) if len(seconds) > 1 else axis.high
    there &= np.abs(np.where(there, wanted, np.inf) - seconds[nearest]) <= max(2 * usual, axis.high / ROWS)
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
