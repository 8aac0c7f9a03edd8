"""Points drawn into an image: coloured by range, the nearest on top, with a bar that says what the colours mean."""

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import Projection
from fieldplay.messages.image_pixels import colour_map

Image = TypeVar("Image")
Scan = TypeVar("Scan")
MAX_SCANS = 200
PATIENCE = 4  # images that wait for scans which may not come
MAX_WAITING = 8
GRACE_S = 1.0  # for scans on their way, once an image has come that is later than any scan that could still be near
Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
FINE = 2  # so many times finer than the image are points drawn, for smooth edges
RIM = 0.55  # of the light that the rim around points takes away
PANEL = 0.6  # and the panel behind the bar
USUAL = (2.0, 98.0)  # percentiles of the ranges that the colours reach by default
LOG_RATIO = 8.0  # from which ratio of the farthest to the nearest on the colours follow the logarithm
MIN_SPAN_M = 0.1
MAX_TICKS = 7
MIN_UNIT = 0.75  # of letters that can be read
WHITE = (255, 255, 255)
FONT = cv2.FONT_HERSHEY_SIMPLEX


# Images wait until it is known which scan is nearest to each.


@dataclass(frozen=True)
class ImageAndScan(Generic[Image, Scan]):
    """An image with the scan nearest to it, None where none is near enough."""

    image: Image
    scan: Scan | None


class NearestPairs(Generic[Image, Scan]):
    """Images and scans as they come, each in the order of its own times; where these run back all starts anew."""

    def __init__(self, within_ns: int, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._within_ns = within_ns
        self._clock_s = clock_s
        self._scan_ns: deque[int] = deque(maxlen=MAX_SCANS)
        self._scans: deque[Scan] = deque(maxlen=MAX_SCANS)
        self._waiting: deque[tuple[int, Image]] = deque(maxlen=MAX_WAITING)
        self._image_ns: int | None = None  # of the last image
        self._image_s = 0.0  # when it came

    @property
    def is_backlogged(self) -> bool:
        """Whether so many images wait that the first should be done with what is there."""
        return len(self._waiting) > PATIENCE

    def add_scan(self, stamp_ns: int, scan: Scan) -> None:
        """A further scan."""
        if self._scan_ns and stamp_ns < self._scan_ns[-1]:
            self._scan_ns.clear()
            self._scans.clear()
        self._scan_ns.append(stamp_ns)
        self._scans.append(scan)

    def add_image(self, stamp_ns: int, image: Image) -> None:
        """A further image; where too many wait the oldest is given up."""
        if self._image_ns is not None and stamp_ns < self._image_ns:
            self._waiting.clear()
            # The scans of this image may come after it: those played before the jump must not be taken for later ones.
            while self._scan_ns and self._scan_ns[-1] > stamp_ns + self._within_ns:
                self._scan_ns.pop()
                self._scans.pop()
        self._image_ns, self._image_s = stamp_ns, self._clock_s()
        self._waiting.append((stamp_ns, image))

    def first(self) -> ImageAndScan[Image, Scan] | None:
        """The first image that waits with its scan, as soon as no scan to come can be nearer."""
        if not self._waiting:
            return None
        stamp_ns, image = self._waiting[0]
        last_ns = self._scan_ns[-1] if self._scan_ns else None
        # DDS keeps the order within a topic only: a later image does not mean that all scans before it have come.
        is_late = self._waiting[-1][0] > stamp_ns + self._within_ns and self._clock_s() > self._image_s + GRACE_S
        if (last_ns is None or last_ns < stamp_ns) and not (is_late or self.is_backlogged):
            return None
        return ImageAndScan(image, self._nearest(stamp_ns))

    def drop_first(self) -> None:
        """The first image is done."""
        self._waiting.popleft()

    def _nearest(self, stamp_ns: int) -> Scan | None:
        after = bisect_left(self._scan_ns, stamp_ns)
        near = [index for index in (after - 1, after) if 0 <= index < len(self._scan_ns)]
        gap_ns = {index: abs(self._scan_ns[index] - stamp_ns) for index in near}
        best = min(near, key=lambda index: gap_ns[index], default=None)
        return None if best is None or gap_ns[best] > self._within_ns else self._scans[best]


@dataclass(frozen=True)
class ColourScale:
    """The ranges in m at the two ends of the colours; beyond them the colour stays."""

    low_m: float
    high_m: float

    def __post_init__(self) -> None:
        if not (0 <= self.low_m < self.high_m < np.inf):
            raise ValueError(f"expected ranges from 0 on, the second larger, got {self.low_m:g} {self.high_m:g}")

    @property
    def is_log(self) -> bool:
        return self.low_m > 0 and self.high_m / self.low_m >= LOG_RATIO

    def fractions(self, ranges_m: Array) -> Array:
        """Where ranges (n,) lie on the scale, from 0 to 1."""
        ranges_m = np.clip(ranges_m, self.low_m, self.high_m)
        if self.is_log:
            return np.asarray(np.log(ranges_m / self.low_m) / np.log(self.high_m / self.low_m), np.float64)
        return np.asarray((ranges_m - self.low_m) / (self.high_m - self.low_m), np.float64)


def scale_of_ranges(ranges_m: Array) -> ColourScale:
    """The scale that most of the ranges (n,) lie on."""
    if not len(ranges_m):
        return ColourScale(0.0, 1.0)
    low, high = (float(value) for value in np.percentile(ranges_m, USUAL))
    return ColourScale(low, high) if high - low >= MIN_SPAN_M else ColourScale(max(low - 0.5, 0.0), high + 0.5)


def colours_from_fractions(fractions: Array) -> Pixels:
    """BGR (n, 3) of fractions (n,): bright near to dark far, perceptually uniform, safe for the colour-blind."""
    return colour_map(1 - fractions, "PLASMA")


def size_of_points(width: int, count: int) -> float:
    """A diameter in pixels at which so many points are seen and the image still is."""
    return float(max(2.0, width * np.interp(np.log10(max(count, 1)), [2.0, 4.0], [0.007, 0.003])))


def overlay(
    image: Pixels,
    projection: Projection,
    ranges_m: Array,
    *,
    scale: ColourScale | None = None,
    size_px: float | None = None,
    caption: str = "",
) -> Pixels:
    """The image (h, w, 3) with the points that it shows, coloured by their ranges (n,), and with the legend."""
    shown = projection.is_visible
    scale = scale or scale_of_ranges(ranges_m[shown])
    drawn = with_points(
        image,
        projection.pixels[shown],
        projection.depths[shown],
        colours=colours_from_fractions(scale.fractions(ranges_m[shown])),
        size_px=size_px or size_of_points(image.shape[1], int(shown.sum())),
    )
    return with_legend(drawn, scale, caption)


def with_points(image: Pixels, pixels: Array, depths: Array, *, colours: Pixels, size_px: float) -> Pixels:
    """The image (h, w, 3) with discs of a diameter at pixels (n, 2) in colours (n, 3); nearer ones lie on others."""
    if not len(pixels):
        return np.array(image, np.uint8)
    height, width = image.shape[:2]
    order = np.argsort(-depths, kind="stable")
    indices, owner = _discs((pixels[order] + 0.5) * FINE - 0.5, size_px * FINE / 2, (height * FINE, width * FINE))
    opaque = np.concatenate([colours[order], np.full((len(order), 1), 255, np.uint8)], axis=1).view(np.uint32)[:, 0]
    fine = np.zeros(height * width * FINE**2, np.uint32)  # four bytes at once: BGR and how much is covered
    fine[indices] = opaque[owner]  # of equal places the last one stays
    fine_bytes = fine.view(np.uint8).reshape(height * FINE, width * FINE, 4)
    drawn = np.asarray(cv2.resize(fine_bytes, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    return _blend(image, np.ascontiguousarray(drawn[..., :3]), np.ascontiguousarray(drawn[..., 3]))


def _blend(image: Pixels, drawn: Pixels, cover: Pixels) -> Pixels:
    """Blend colours (h, w, 3) with coverage (h, w) from 0 to 255 over an image, with a dark rim around them."""
    rim = cv2.convertScaleAbs(cv2.dilate(cover, np.ones((3, 3), np.uint8)), alpha=RIM)
    light = cv2.multiply(255 - rim, 255 - cover, scale=1 / 255)
    background = cv2.multiply(image, cv2.merge([light, light, light]), scale=1 / 255)
    return np.asarray(cv2.add(background, drawn), np.uint8)


def _discs(centres: Array, radius: float, shape: tuple[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places (m,) of discs around centres u v (n, 2) in a flat image, disc by disc, and the number of each's disc."""
    reach = int(np.ceil(radius))
    down, right = np.mgrid[-reach : reach + 2, -reach : reach + 2].reshape(2, -1)
    inside = np.hypot(down - 0.5, right - 0.5) <= max(radius, 0.8)  # the middles lie between four places
    corner = np.floor(centres).astype(np.intp)
    columns, rows = corner[:, :1] + right[inside], corner[:, 1:] + down[inside]
    is_inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return (rows * shape[1] + columns)[is_inside], np.nonzero(is_inside)[0]


def with_legend(image: Pixels, scale: ColourScale, caption: str = "") -> Pixels:
    """The image with the bar of colours and its metres at the right, and a line of words at the lower left."""
    drawn = np.array(image, np.uint8)
    unit = max(min(image.shape[0] / 540, image.shape[1] / 960), MIN_UNIT)  # of letters and lines, 1 in 960 x 540 pixels
    if caption:
        _write_caption(drawn, caption, unit)
    _draw_bar(drawn, scale, unit)
    return drawn


def _draw_bar(drawn: Pixels, scale: ColourScale, unit: float) -> None:
    height, width = drawn.shape[:2]
    margin, bar, tick = (max(1, round(length * unit)) for length in (12, 14, 5))
    ticks = ticks_of_scale(scale)
    labels = [f"{tick_m:g} m" for tick_m in ticks]
    letters = max((_text_size(label, unit)[0] for label in labels), default=0)
    top, long = round(0.18 * height), round(0.64 * height)
    right = width - 2 * margin - letters - tick
    left = right - bar
    _darken(drawn, (left - margin, top - margin, width - margin // 2, top + long + margin))
    fractions = np.linspace(1.0, 0.0, max(long, 1))
    strip = colours_from_fractions(fractions)[:, None]
    target = drawn[max(top, 0) : top + long, max(left, 0) : right]
    target[:] = strip[: target.shape[0]]
    for label, fraction in zip(labels, scale.fractions(np.array(ticks)).tolist(), strict=True):
        row = top + round((1 - fraction) * (long - 1))
        cv2.line(drawn, (right, row), (right + tick, row), WHITE, max(1, round(unit)), cv2.LINE_AA)
        below = _text_size(label, unit)[1] // 2
        _write(drawn, label, (right + 2 * tick, row + below), unit)


def _write_caption(drawn: Pixels, caption: str, unit: float) -> None:
    height, width = drawn.shape[:2]
    margin = max(1, round(8 * unit))
    fitting = min(1.0, (width - 4 * margin) / max(_text_size(caption, unit)[0], 1)) * unit
    length, tall = _text_size(caption, fitting)
    _darken(drawn, (margin, height - 3 * margin - tall, 3 * margin + length, height - margin))
    _write(drawn, caption, (2 * margin, height - 2 * margin), fitting)


def _darken(drawn: Pixels, box: tuple[int, int, int, int]) -> None:
    """A panel from left, top to right, bottom on which white letters are read."""
    left, top, right, bottom = (max(side, 0) for side in box)
    part = drawn[top:bottom, left:right]
    part[:] = np.rint(part * (1 - PANEL)).astype(np.uint8)


def _write(drawn: Pixels, text: str, position: tuple[int, int], unit: float) -> None:
    cv2.putText(drawn, text, position, FONT, _font_scale(unit), WHITE, max(1, round(unit)), cv2.LINE_AA)


def _text_size(text: str, unit: float) -> tuple[int, int]:
    (width, height), _ = cv2.getTextSize(text, FONT, _font_scale(unit), max(1, round(unit)))
    return int(width), int(height)


def _font_scale(unit: float) -> float:
    return 0.48 * unit


def ticks_of_scale(scale: ColourScale) -> list[float]:
    """Round ranges in m on the scale, seven at most."""
    if scale.is_log:
        powers = 10.0 ** np.arange(np.floor(np.log10(scale.low_m)), np.ceil(np.log10(scale.high_m)) + 1)
        candidates = [(powers[:, None] * steps).reshape(-1) for steps in ([1.0, 2.0, 5.0], [1.0, 3.0], [1.0])]
    else:
        step = 10.0 ** np.floor(np.log10(scale.high_m - scale.low_m)) / 10
        sizes = step * np.array([1, 2, 5, 10, 20, 50])
        candidates = [size * np.arange(np.ceil(scale.low_m / size), scale.high_m // size + 1) for size in sizes]
    on_scale = [ticks[(ticks >= scale.low_m) & (ticks <= scale.high_m)] for ticks in candidates]
    fitting = [ticks for ticks in on_scale if len(ticks) <= MAX_TICKS] or on_scale[-1:]
    return [float(f"{tick:.6g}") for tick in fitting[0]]
