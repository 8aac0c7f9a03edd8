"""Curves over time. Lines stretch with the page while letters and strokes keep their size, on a phone as on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_player.report.html.markup import Html, element, joined, path_text
from fieldplay_player.report.html.ticks import Axis, number_axis

UNITS = 1000  # of a drawing, in either direction
SERIES_COLOURS = 8
MOST_SERIES = 8
FAR = 4.0  # steps without a value that break a curve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at x (n,), and where they vary within a step, from low to high."""

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


def line_chart(
    title: str, curves: Sequence[Curve], *, unit: str, x_axis: Axis, note: str = "", x_title: str = ""
) -> Html:
    """A chart with a legend where there are several curves."""
    told = [curve for curve in curves if np.isfinite(curve.y).any()]
    shown = told[:MOST_SERIES]
    y_axis = _y_axis(shown)
    left_out = f"{len(told) - len(shown)} more not drawn" if len(told) > len(shown) else ""
    drawn = [_curve(curve, index, axes=(x_axis, y_axis)) for index, curve in enumerate(shown)]
    field = element(
        "svg",
        _grid(x_axis, y_axis),
        *drawn,
        viewBox=f"0 0 {UNITS} {UNITS}",
        preserveAspectRatio="none",
        role="img",
        aria_label=title,
    )
    return element(
        "figure",
        _caption(title, unit, [curve.label for curve in shown], notes=[note, left_out]),
        element("div", y_labels(y_axis), element("div", field, class_="field"), x_labels(x_axis), class_="axes"),
        element("div", x_title, class_="x-title") if x_title else "",
        class_="chart card",
    )


def _caption(title: str, unit: str, labels: Sequence[str], *, notes: Sequence[str]) -> Html:
    several = len(labels) > 1 or (len(labels) == 1 and labels[0])
    legend = legend_of(labels) if several else ""
    told = [element("span", note, class_="muted") for note in notes if note]
    return element(
        "figcaption",
        element("b", path_text(title)),
        " ",
        element("span", unit, class_="muted") if unit else "",
        *told,
        legend,
    )


def legend_of(labels: Sequence[str]) -> Html:
    """The names of curves with their colours."""
    entries = (
        element("span", element("i", class_=f"key s{index % SERIES_COLOURS}"), label)
        for index, label in enumerate(labels)
    )
    return element("div", *entries, class_="legend")


def y_labels(axis: Axis) -> Html:
    """The labels beside a field, from low to high."""
    labels = (element("span", label, style=f"bottom:{percent(axis.share(value))}") for value, label in axis.ticks)
    return element("div", *labels, class_="y-labels")


def x_labels(axis: Axis) -> Html:
    """The labels below a field, from left to right."""
    labels = (element("span", label, style=f"left:{percent(axis.share(value))}") for value, label in axis.ticks)
    return element("div", *labels, class_="x-labels")


def percent(share: float) -> str:
    """A share as CSS has it."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def path_of_points(points: NDArray[np.float64], *, close: bool = False) -> Html:
    """A path through points (n, 2) in units of a drawing; points in a row on the same spot are drawn once."""
    whole = np.rint(points).astype(int)
    if len(whole) > 1:
        moved = np.r_[True, (np.diff(whole, axis=0) != 0).any(axis=1)]
        whole = whole[moved] if moved.sum() > 1 else whole[:2]
    steps = " ".join(f"{x} {y}" for x, y in whole.tolist())
    return Html(f"M{steps}{'Z' if close else ''}" if steps else "")


def _y_axis(curves: Sequence[Curve]) -> Axis:
    values = [array for curve in curves for array in (curve.y, curve.low, curve.high) if array is not None]
    joined_values = np.concatenate([np.zeros(0), *values])
    finite = joined_values[np.isfinite(joined_values)]
    return number_axis(float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf)))


def _grid(x_axis: Axis, y_axis: Axis) -> Html:
    across = "".join(f"M0 {UNITS * (1 - y_axis.share(value)):.0f}h{UNITS}" for value, _ in y_axis.ticks)
    down = "".join(f"M{UNITS * x_axis.share(value):.0f} 0v{UNITS}" for value, _ in x_axis.ticks)
    return element("path", d=Html(across + down), class_="grid")


def _curve(curve: Curve, index: int, *, axes: tuple[Axis, Axis]) -> Html:
    x_axis, y_axis = axes
    place = f"s{index % SERIES_COLOURS}"
    made: list[Html] = []
    for run in _runs(curve):
        x = _units_across(curve.x[run], x_axis)
        if curve.low is not None and curve.high is not None:
            low, high = _units_up(curve.low[run], y_axis), _units_up(curve.high[run], y_axis)
            if (low - high).max(initial=0) > UNITS / 200:
                around = np.concatenate([np.stack([x, high], -1), np.stack([x, low], -1)[::-1]])
                made.append(element("path", d=path_of_points(around, close=True), class_=f"band {place}"))
        line = np.stack([x, _units_up(curve.y[run], y_axis)], -1)
        if len(line) == 1:
            line = np.concatenate([line, line])
        made.append(element("path", d=path_of_points(line), class_=f"line {place}"))
    return joined(made)


def _runs(curve: Curve) -> list[NDArray[np.intp]]:
    """Where a curve has values, broken where it lacks them for long."""
    there = np.flatnonzero(np.isfinite(curve.y))
    if len(there) < 2:
        return [there] if len(there) else []
    steps = np.diff(curve.x[there])
    usual = float(np.median(steps))
    return np.split(there, np.flatnonzero(steps > FAR * usual) + 1)


def _units_across(values: Array, axis: Axis) -> Array:
    return UNITS * (values - axis.low) / (axis.high - axis.low)


def _units_up(values: Array, axis: Axis) -> Array:
    return UNITS * (1 - (values - axis.low) / (axis.high - axis.low))
