"""A piece of a plane seen from above, in metres and to scale: routes, clouds and scans are drawn on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import number_text, round_step, tick_text
from fieldplay.report.html.charts import UNITS, path_of_points, percent
from fieldplay.report.html.markup import Html, element, joined

NARROWEST, WIDEST = 1.0, 1.9  # width by height
LEAST_M = 0.02

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plane:
    """The piece that is seen, x to the right and y up."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    @property
    def width(self) -> float:
        return self.x_high - self.x_low

    @property
    def height(self) -> float:
        return self.y_high - self.y_low

    @property
    def ratio(self) -> float:
        return self.width / self.height

    def units(self, points: Array) -> Array:
        """Places (n, 2) in a drawing that is UNITS wide, of points (n, 2) in metres."""
        scale = UNITS / self.width
        return np.stack([(points[:, 0] - self.x_low) * scale, (self.y_high - points[:, 1]) * scale], axis=-1)

    def style(self, x: float, y: float) -> str:
        """The place of a label at a point."""
        return f"left:{percent((x - self.x_low) / self.width)};top:{percent((self.y_high - y) / self.height)}"

    def holds(self, x: float, y: float) -> bool:
        return self.x_low <= x <= self.x_high and self.y_low <= y <= self.y_high


def plane_of_points(points: Array, *, room: float = 0.08, least_m: float = LEAST_M) -> Plane:
    """The piece that holds points (n, 2), with room around them, not too narrow and not too wide."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    size = np.maximum((high - low) * (1 + 2 * room), least_m)
    width, height = max(size[0], NARROWEST * size[1]), max(size[1], size[0] / WIDEST)
    return Plane(*(float(v) for v in (middle[0] - width / 2, middle[0] + width / 2)),
                 *(float(v) for v in (middle[1] - height / 2, middle[1] + height / 2)))  # fmt: skip


def plane_drawing(plane: Plane, layers: Sequence[Html], marks: Sequence[Html], *, picture: Html | None = None) -> Html:
    """The plane with a grid and its numbers, drawings over it (SVG) and labels (HTML) on top."""
    step = round_step(max(plane.width, plane.height), 5)
    height = UNITS / plane.ratio
    svg = element("svg", _grid(plane, step), *layers, viewBox=f"0 0 {UNITS} {height:.0f}", preserveAspectRatio="none")
    return element(
        "div", picture or "", svg, _numbers(plane, step), *marks, class_="plane", style=f"--ratio:{plane.ratio:.4f}"
    )


def route(plane: Plane, points: Array, place: str, *, breaks: Sequence[int] = ()) -> Html:
    """A line through points (n, 2), broken before some of them."""
    runs = np.split(plane.units(points), list(breaks))
    lines = "".join(path_of_points(run) for run in runs if len(run) > 1)
    return element("path", d=Html(lines), class_=f"line {place}") if lines else Html("")


def dots(plane: Plane, points: Array, place: str) -> Html:
    """Points (n, 2), each for itself."""
    inside = np.unique(np.rint(plane.units(points)).astype(int), axis=0)
    return element("path", d=Html("".join(f"M{x} {y}h0" for x, y in inside.tolist())), class_=f"dots {place}")


def mark(plane: Plane, x: float, y: float, *, kind: str, label: str = "") -> Html:
    """A sign at a point: start or end."""
    inner = element("span", label, class_="name") if label else ""
    return element("span", inner, class_=f"mark {kind}", style=plane.style(x, y))


def _ticks(low: float, high: float, step: float) -> list[float]:
    return [index * step for index in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _grid(plane: Plane, step: float) -> Html:
    scale, height = UNITS / plane.width, UNITS / plane.ratio
    lines = [f"M{(x - plane.x_low) * scale:.0f} 0v{height:.0f}" for x in _ticks(plane.x_low, plane.x_high, step)]
    lines += [f"M0 {(plane.y_high - y) * scale:.0f}h{UNITS}" for y in _ticks(plane.y_low, plane.y_high, step)]
    return element("path", d=Html("".join(lines)), class_="grid")


def _numbers(plane: Plane, step: float) -> Html:
    """Numbers along the lower and the left edge, but for those that would meet in the corner; and the scale."""
    below = [
        element("span", tick_text(x, step), class_="x-number", style=f"left:{percent((x - plane.x_low) / plane.width)}")
        for x in _ticks(plane.x_low + 0.12 * plane.width, plane.x_high - 0.03 * plane.width, step)
    ]
    beside = [
        element(
            "span", tick_text(y, step), class_="y-number", style=f"top:{percent((plane.y_high - y) / plane.height)}"
        )
        for y in _ticks(plane.y_low + 0.08 * plane.height, plane.y_high - 0.03 * plane.height, step)
    ]
    scale = element("span", f"{number_text(step)} m", class_="scale", style=f"width:{percent(step / plane.width)}")
    return joined([*below, *beside, scale])
