"""Charts of curves over an axis."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import Axis, number_axis
from fieldplay.report.html.cut_axis import break_labels, break_marks
from fieldplay.report.html.markup import Html, element, joined, path_text

FAR = 4.0  # steps without a value that break a curve

Array = NDArray[np.float64]

UNITS = 1000  # of a drawing, in either direction
SERIES_COLOURS = 8
MOST_SERIES = 8


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at x (n,), and where they vary within a step, from low to high.

    Lines join values that are not far apart, or those of the same piece (n,). A value that is held stays until the next
    one, as a state does. The colour is that of the curve's place among others unless it is told.
    """

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    piece: NDArray[np.intp] | None = None
    is_held: bool = False
    colour: int | None = None


def held(curve: Curve, x_axis: Axis) -> Curve:
    """A curve as steps: each value up to the x of the next, in all pieces of the axis, and the last up to the end."""
    there = np.isfinite(curve.y)
    x, y = curve.x[there], curve.y[there]
    borders = np.array([*(at for each in x_axis.breaks for at in (each.begin, each.end)), x_axis.high])
    last = np.searchsorted(x, borders, side="right") - 1
    at = np.concatenate([x, x[1:], borders[last >= 0]])
    row = np.concatenate([np.arange(len(x)), np.arange(len(x) - 1), last[last >= 0]])
    order = np.lexsort((row, at))
    return Curve(curve.label, at[order], y[row[order]], is_held=True)


def runs(curve: Curve, x_axis: Axis) -> list[NDArray[np.intp]]:
    """Where a curve has values, broken where it lacks them for long, and where the axis passes over a gap."""
    there = np.flatnonzero(np.isfinite(curve.y))
    if len(there) < 2:
        return [there] if len(there) else []
    steps, leaps = np.diff(curve.x[there]), np.diff(x_axis.pieces_of(curve.x[there])) != 0
    if curve.piece is not None:
        leaps |= np.diff(curve.piece[there]) != 0
    if curve.is_held or curve.piece is not None:
        return np.split(there, np.flatnonzero(leaps) + 1)
    usual = float(np.median(steps[~leaps])) if not leaps.all() else 0.0
    return np.split(there, np.flatnonzero(leaps | (steps > FAR * usual)) + 1)


def line_chart(
    title: str, curves: Sequence[Curve], *, unit: str, x_axis: Axis, note: str = "", x_title: str = ""
) -> Html:
    """A chart with a legend where there are several curves."""
    told = [curve for curve in curves if np.isfinite(curve.y).any()]
    shown = told[:MOST_SERIES]
    y_axis = _y_axis(shown)
    left_out = f"{len(told) - len(shown)} more not drawn" if len(told) > len(shown) else ""
    colours = [index if curve.colour is None else curve.colour for index, curve in enumerate(shown)]
    drawn = [_curve(curve, colour, axes=(x_axis, y_axis)) for curve, colour in zip(shown, colours, strict=True)]
    field = element(
        "svg",
        _grid(x_axis, y_axis),
        *drawn,
        break_marks(x_axis, units=UNITS, height=UNITS),
        viewBox=f"0 0 {UNITS} {UNITS}",
        preserveAspectRatio="none",
        role="img",
        aria_label=title,
    )
    return element(
        "figure",
        _caption(title, unit, _legend(shown, colours), notes=[note, left_out]),
        element(
            "div",
            y_labels(y_axis),
            element("div", field, break_labels(x_axis), class_="field"),
            x_labels(x_axis),
            class_="axes",
        ),
        element("div", x_title, class_="x-title") if x_title else "",
        class_="chart card",
    )


def _legend(shown: Sequence[Curve], colours: Sequence[int]) -> Html:
    is_needed = len(shown) > 1 or any(curve.label for curve in shown)
    return legend_of([curve.label for curve in shown], colours) if is_needed else Html("")


def _caption(title: str, unit: str, legend: Html, *, notes: Sequence[str]) -> Html:
    told = [element("span", note, class_="muted") for note in notes if note]
    return element(
        "figcaption",
        element("b", path_text(title)),
        " ",
        element("span", unit, class_="muted") if unit else "",
        *told,
        legend,
    )


def legend_of(labels: Sequence[str], colours: Sequence[int] | None = None) -> Html:
    """The names of curves with their colours, which are in order unless they are told."""
    entries = (
        element("span", element("i", class_=f"key s{colour % SERIES_COLOURS}"), label)
        for label, colour in zip(labels, range(len(labels)) if colours is None else colours, strict=True)
    )
    return element("div", *entries, class_="legend")


def y_labels(axis: Axis) -> Html:
    """The labels beside a field, from low to high."""
    return element("div", *_labels(axis, "bottom"), class_="y-labels dated" if axis.breaks else "y-labels")


def x_labels(axis: Axis) -> Html:
    """The labels below a field, from left to right."""
    return element("div", *_labels(axis, "left"), class_="x-labels dated" if axis.breaks else "x-labels")


def _labels(axis: Axis, side: str) -> list[Html]:
    """Along an axis with dates, those without one are minor: a narrow page leaves them out."""
    has_dates = any("\n" in label for _, label in axis.ticks)
    return [
        element(
            "span",
            label,
            class_="minor" if has_dates and "\n" not in label else None,
            style=f"{side}:{percent(axis.share(value))}",
        )
        for value, label in axis.ticks
        if label
    ]


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
    curve = held(curve, x_axis) if curve.is_held else curve
    for run in runs(curve, x_axis):
        x = UNITS * x_axis.shares(curve.x[run])
        if curve.low is not None and curve.high is not None:
            low, high = _units_up(curve.low[run], y_axis), _units_up(curve.high[run], y_axis)
            if (low - high).max(initial=0) > UNITS / 200:
                around = np.concatenate([np.stack([x, high], -1), np.stack([x, low], -1)[::-1]])
                made.append(element("path", d=path_of_points(around, close=True), class_=f"band {place}"))
        line = np.stack([x, _units_up(curve.y[run], y_axis)], -1)
        if len(line) == 1:
            made.append(_alone(curve, run, line, y_axis=y_axis, place=place))
        else:
            made.append(element("path", d=path_of_points(line), class_=f"line {place}"))
    return joined(made)


def _alone(curve: Curve, row: NDArray[np.intp], point: Array, *, y_axis: Axis, place: str) -> Html:
    """A value without neighbours (1, 2) is a point, and a line upright from its low to its high."""
    ends = [values[row] for values in (curve.low, curve.high) if values is not None] or [curve.y[row]]
    upright = np.stack([np.repeat(point[0, 0], len(ends)), _units_up(np.concatenate(ends), y_axis)], axis=-1)
    line = element("path", d=path_of_points(upright), class_=f"line {place}") if np.ptp(upright[:, 1]) else ""
    return joined([line, element("path", d=path_of_points(np.repeat(point, 2, axis=0)), class_=f"point {place}")])


def _units_up(values: Array, axis: Axis) -> Array:
    return UNITS * (1 - axis.shares(values))
