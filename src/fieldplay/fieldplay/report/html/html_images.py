"""Pictures inside the page, as data URIs."""

import base64
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import Axis
from fieldplay.messages.image_pixels import colour_map
from fieldplay.report.html.charts import (
    UNITS,
    break_labels,
    break_marks_across,
    path_of_points,
    percent,
    x_labels,
    y_labels,
)
from fieldplay.report.html.html_page import (
    Html,
    element,
    join_html,
    path_text,
    void_element,
)

JPEG_QUALITY, WEBP_QUALITY = 80, 82
LOSSLESS = 101  # as OpenCV has it
Pixels = NDArray[np.uint8]
FLAGGED_BGR = (0, 94, 213)  # as series 1 of the page
Array = NDArray[np.float64]


def photo(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 3) in BGR as JPEG."""
    return _image(pixels, "jpeg", [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY], alternative=alternative)


def drawing(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 4) in BGRA as WebP, whose transparent parts show what is behind."""
    return _image(pixels, "webp", [cv2.IMWRITE_WEBP_QUALITY, WEBP_QUALITY], alternative=alternative)


def exact_drawing(pixels: Pixels, *, alternative: str) -> Html:
    """A picture (h, w, 4) in BGRA as WebP without any loss, for one of few and sharp cells."""
    return _image(pixels, "webp", [cv2.IMWRITE_WEBP_QUALITY, LOSSLESS], alternative=alternative)


def limit_width(pixels: Pixels, widest: int) -> Pixels:
    """Scale an image down to a maximum width in pixels."""
    height, width = pixels.shape[:2]
    if width <= widest:
        return pixels
    size = (widest, max(1, round(height * widest / width)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _image(pixels: Pixels, kind: str, options: list[int], *, alternative: str) -> Html:
    good, data = cv2.imencode(f".{'jpg' if kind == 'jpeg' else kind}", pixels, options)
    if not good:
        raise ValueError(f"expected a picture that can be stored as {kind}, got one of shape {pixels.shape}")
    source = f"data:image/{kind};base64,{base64.b64encode(data.tobytes()).decode()}"
    height, width = pixels.shape[:2]
    return void_element("img", src=Html(source), alt=alternative, width=width, height=height)


def gradient() -> str:
    """The colours of the map from low to high, as CSS has it."""
    stops = colour_map(np.linspace(0, 1, 9).astype(np.float64))[:, ::-1].tolist()
    return f"linear-gradient(90deg,{','.join('rgb({},{},{})'.format(*stop) for stop in stops)})"


# Pictures of cells between two axes: how often, how far or when, as colours.


def raster_figure(
    title: str, caption: str, pixels: Pixels, *, axes: tuple[Axis, Axis], layers: Sequence[Html] = (),
    labels: Sequence[Html] = (), foot: Html,
) -> Html:  # fmt: skip
    """A card with cells (rows, columns, 4) in BGRA between an x and a y axis; drawings in UNITS and labels over it."""
    x_axis, y_axis = axes
    image = exact_drawing(pixels, alternative=f"{title}, {caption}")
    marks = break_marks_across(y_axis, units=UNITS, most=6)
    svg = element("svg", *layers, marks, viewBox=f"0 0 {UNITS} {UNITS}", preserveAspectRatio="none")
    field = element("div", image, svg, *labels, break_labels(y_axis, most=6, is_upright=False), class_="field cells")
    return element(
        "figure",
        element("figcaption", element("b", path_text(title)), element("span", caption, class_="muted")),
        element("div", y_labels(y_axis), field, x_labels(x_axis), class_="axes tall"),
        foot,
        class_="card",
    )


def cells_of_fractions(fractions: Array, flagged: NDArray[np.bool_] | None = None) -> Pixels:
    """Colours (rows, columns, 4) of fractions from 0 to 1, transparent for NaN; flagged cells are highlighted."""
    pixels = np.zeros((*fractions.shape, 4), np.uint8)
    pixels[..., :3] = colour_map(fractions)
    if flagged is not None:
        pixels[flagged, :3] = FLAGGED_BGR
    pixels[..., 3] = np.where(np.isnan(fractions), 0, 255)
    return pixels


def curve_over(x: Array, y: Array, axes: tuple[Axis, Axis], css_class: str) -> Html:
    """A line through values (n,), broken where there are none."""
    points = np.stack([axes[0].fractions(x), 1 - axes[1].fractions(y)], axis=-1) * UNITS
    there = np.asarray(np.isfinite(points).all(axis=1), bool)
    runs = np.split(np.arange(len(points)), np.flatnonzero(np.diff(there)) + 1)
    lines = (path_of_points(points[run]) for run in runs if len(run) > 1 and there[run[0]])
    return element("path", d=Html("".join(lines)), class_=f"line {css_class}")


def label_over(x: float, y: float, axes: tuple[Axis, Axis], text: str) -> Html:
    """A short text with its middle at a point, for `labels` of a figure."""
    style = f"left:{percent(axes[0].fraction(x))};top:{percent(1 - axes[1].fraction(y))}"
    return element("span", text, class_="object", style=style)


def ramp(low: str, high: str, keys: Sequence[Html] = ()) -> Html:
    """What the colours mean, from low to high, and what else is drawn."""
    colours = element("div", low, element("i", style=f"background:{gradient()}"), high, class_="ramp")
    return join_html([colours, element("div", *keys, class_="legend") if keys else ""])


def key(css_class: str, name: str) -> Html:
    """A sign of a drawing with its name."""
    return element("span", element("i", class_=f"key {css_class}"), name)
