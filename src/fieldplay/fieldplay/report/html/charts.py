"""Charts of curves over an axis."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import (
    NS_PER_S,
    Axis,
    Break,
    number_axis,
    number_text,
    round_step,
    tick_text,
    time_step,
)
from fieldplay.core.timestamps import utc_text
from fieldplay.report.html.html_page import (
    Html,
    element,
    join_html,
    path_text,
)

BREAK_ROOM = 0.8  # of a label, by the most labels that are wanted
MAX_TORN = 24  # more strips with edges would hide what is between them
Strip = Callable[[Break], str]
MARK_FRACTION, MARKS_FRACTION = 0.02, 0.3  # of an axis, for one mark and for all at most
DATED_FROM_S, DATED_SINCE_NS = 3600.0, 315_532_800 * NS_PER_S  # shorter ones, and clocks set before 1980, have no dates
ROOM = 1.2  # of a label, by the most labels that are wanted
LINES = 12  # along all pieces
Array = NDArray[np.float64]
FAR = 4.0  # steps without a value that break a curve
UNITS = 1000  # of a drawing, in either direction
SERIES_COLOURS = 8
MAX_SERIES = 8
NARROWEST, WIDEST = 1.0, 1.9  # width by height
MIN_M = 0.02


# Axes of time without the gaps of a recording, and the marks that stand for these.


def break_marks(axis: Axis, *, units: int, height: int, most: int = 4) -> Html:
    """Strips from the top to the bottom of a drawing that is so wide and high; of many, only the told ones are torn."""

    def strip(each: Break) -> str:
        return f"M{units * each.fractions[0]:.1f} 0V{height}H{units * each.fractions[1]:.1f}V0Z"

    return _marks(axis, strip, most=most)


def break_marks_across(axis: Axis, *, units: int, most: int = 4) -> Html:
    """Strips from the left to the right, of an axis that runs upwards."""

    def strip(each: Break) -> str:
        return f"M0 {units * (1 - each.fractions[0]):.1f}H{units}V{units * (1 - each.fractions[1]):.1f}H0Z"

    return _marks(axis, strip, most=most)


def _marks(axis: Axis, strip: Strip, *, most: int) -> Html:
    torn = axis.breaks if len(axis.breaks) <= MAX_TORN else _breaks_with_room(axis.breaks, BREAK_ROOM / most)
    plain = [] if torn is axis.breaks else [each for each in axis.breaks if each not in torn]
    kinds = (("break plain", plain), ("break", torn))
    paths = (element("path", d=Html("".join(map(strip, some))), class_=kind) for kind, some in kinds if some)
    return join_html(paths)


def break_labels(axis: Axis, *, most: int = 4, is_upright: bool = True) -> Html:
    """The lengths of the gaps at their marks; where there are many, of the longest."""
    side = "left" if is_upright else "bottom"
    spans = (
        element("span", each.label, style=f"{side}:{100 * _middle(each):.2f}%", title=f"nothing for {each.label}")
        for each in _breaks_with_room(axis.breaks, BREAK_ROOM / most)
    )
    return element("div", *spans, class_="breaks" if is_upright else "breaks across") if axis.breaks else join_html([])


def _breaks_with_room(breaks: Sequence[Break], room: float) -> list[Break]:
    chosen: list[Break] = []
    for each in sorted(breaks, key=lambda one: one.start - one.end):
        if all(abs(_middle(each) - _middle(other)) >= room for other in chosen):
            chosen.append(each)
    return sorted(chosen, key=lambda one: one.start)


def _middle(each: Break) -> float:
    return (each.fractions[0] + each.fractions[1]) / 2


def time_axis_with_gaps(intervals_s: Array, *, start_ns: int, most: int = 4) -> Axis:
    """An axis of seconds since the start, of which only the intervals (k, 2) are drawn, all to the same scale.

    Its labels are true times: UTC, or seconds since the start where all lies within an hour. Round ones have lines.
    """
    starts, stops = intervals_s.T
    breaks = _breaks(intervals_s)
    axis = Axis(float(starts[0]), float(stops[-1]), (), breaks)
    step = grid_step_s(intervals_s)
    has_dates = is_dated(axis.high - axis.low, start_ns)
    origin_s = start_ns / NS_PER_S if has_dates else 0.0
    lines = [line for start, end in intervals_s.tolist() for line in _round_times(start, end, step, origin_s=origin_s)]
    room = ROOM / most
    inner = [line for line in lines if axis.fraction(line) <= 1.0 - room / 2]
    labelled = _with_room(axis, [*starts.tolist(), *inner], room)
    texts = _utc_labels(labelled, step, start_ns=start_ns) if has_dates else [_since_start(at, step) for at in labelled]
    ticks = {**dict.fromkeys(lines, ""), **dict(zip(labelled, texts, strict=True))}
    return Axis(axis.low, axis.high, tuple(sorted(ticks.items())), breaks)


def is_dated(length_s: float, start_ns: int) -> bool:
    """Whether the labels of such an axis are dates and times of day."""
    return length_s >= DATED_FROM_S and start_ns >= DATED_SINCE_NS


def grid_step_s(intervals_s: Array) -> float:
    """How far the lines along such an axis are apart."""
    return time_step(max(float((intervals_s[:, 1] - intervals_s[:, 0]).sum()), 1e-3), LINES)


def gap_text(seconds: float) -> str:
    """The length of a gap as 45 s, 12.3 min, 5.4 h or 187 d."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{number_text(seconds / length)} {unit}"
    return f"{number_text(seconds)} s"


def _breaks(intervals_s: Array) -> tuple[Break, ...]:
    """The gaps between the pieces, with as much of the axis for each piece as it has of the time."""
    lengths = intervals_s[:, 1] - intervals_s[:, 0]
    count, total = len(intervals_s) - 1, float(lengths.sum())
    mark = min(MARK_FRACTION, MARKS_FRACTION / max(count, 1)) if total > 0 else 1.0 / (count + 1)
    scale = (1.0 - mark * count) / total if total > 0 else 0.0
    fractions = np.cumsum(lengths) * scale + mark * np.arange(count + 1)  # where each piece ends
    return tuple(
        Break(start, end, gap_text(end - start), (fraction, fraction + mark))
        for start, end, fraction in zip(
            intervals_s[:-1, 1].tolist(), intervals_s[1:, 0].tolist(), fractions[:-1].tolist(), strict=True
        )
    )


def _round_times(start: float, end: float, step: float, *, origin_s: float) -> list[float]:
    first, last = math.ceil((start + origin_s) / step - 1e-6), math.floor((end + origin_s) / step + 1e-6)
    return [min(max(index * step - origin_s, start), end) for index in range(first, last + 1)]


def _with_room(axis: Axis, candidates: list[float], room: float) -> list[float]:
    """Of some numbers those, in order, whose labels have room on the axis; the earlier in the list go first."""
    placed: list[tuple[float, float]] = []
    for value, fraction in zip(candidates, axis.fractions(np.array(candidates)).tolist(), strict=True):
        if all(abs(fraction - other) >= room for other, _ in placed):
            placed.append((fraction, value))
    return [value for _, value in sorted(placed)]


def _utc_labels(values: list[float], step: float, *, start_ns: int) -> list[str]:
    """Times in UTC, each new date above the time of day."""
    texts, last = [], ""
    for value in values:
        stamp_ms = (start_ns + round(value * NS_PER_S) + 500_000) // 1_000_000
        date, _, clock = utc_text(stamp_ms * 1_000_000).partition(" ")
        clock = clock.removesuffix(":00") if step >= 60 else clock
        texts.append(clock if date == last else f"{date}\n{clock}")
        last = date
    return texts


def _since_start(value: float, step: float) -> str:
    if step < 60:
        return f"{tick_text(value, step)} s"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes}:{seconds:02d} min" if seconds else f"{minutes} min"


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
    segment: NDArray[np.intp] | None = None
    is_held: bool = False
    colour: int | None = None


def as_steps(curve: Curve, x_axis: Axis) -> Curve:
    """A curve as steps: each value holds up to the x of the next, and the last one to the end of the axis."""
    there = np.isfinite(curve.y)
    x, y = curve.x[there], curve.y[there]
    borders = np.array([*(at for each in x_axis.breaks for at in (each.start, each.end)), x_axis.high])
    last = np.searchsorted(x, borders, side="right") - 1
    at = np.concatenate([x, x[1:], borders[last >= 0]])
    row = np.concatenate([np.arange(len(x)), np.arange(len(x) - 1), last[last >= 0]])
    order = np.lexsort((row, at))
    return Curve(curve.label, at[order], y[row[order]], is_held=True)


def segments(curve: Curve, x_axis: Axis) -> list[NDArray[np.intp]]:
    """Where a curve has values, broken where it lacks them for long, and where the axis passes over a gap."""
    there = np.flatnonzero(np.isfinite(curve.y))
    if len(there) < 2:
        return [there] if len(there) else []
    steps, leaps = np.diff(curve.x[there]), np.diff(x_axis.segment_indices(curve.x[there])) != 0
    if curve.segment is not None:
        leaps |= np.diff(curve.segment[there]) != 0
    if curve.is_held or curve.segment is not None:
        return np.split(there, np.flatnonzero(leaps) + 1)
    usual = float(np.median(steps[~leaps])) if not leaps.all() else 0.0
    return np.split(there, np.flatnonzero(leaps | (steps > FAR * usual)) + 1)


def line_chart(
    title: str, curves: Sequence[Curve], *, unit: str, x_axis: Axis, note: str = "", x_title: str = ""
) -> Html:
    """A chart with a legend where there are several curves."""
    finite_curves = [curve for curve in curves if np.isfinite(curve.y).any()]
    shown = finite_curves[:MAX_SERIES]
    y_axis = _y_axis(shown)
    left_out = f"{len(finite_curves) - len(shown)} more not drawn" if len(finite_curves) > len(shown) else ""
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
    spans = [element("span", note, class_="muted") for note in notes if note]
    return element(
        "figcaption",
        element("b", path_text(title)),
        " ",
        element("span", unit, class_="muted") if unit else "",
        *spans,
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
            style=f"{side}:{percent(axis.fraction(value))}",
        )
        for value, label in axis.ticks
        if label
    ]


def percent(fraction: float) -> str:
    """A share as CSS has it."""
    return f"{100 * fraction:.2f}".rstrip("0").rstrip(".") + "%"


def path_of_points(points: NDArray[np.float64], *, close: bool = False) -> Html:
    """A path through points (n, 2) in units of a drawing; points in a row on the same spot are drawn once."""
    whole = np.rint(points).astype(int)
    if len(whole) > 1:
        is_new = np.r_[True, (np.diff(whole, axis=0) != 0).any(axis=1)]
        whole = whole[is_new] if is_new.sum() > 1 else whole[:2]
    steps = " ".join(f"{x} {y}" for x, y in whole.tolist())
    return Html(f"M{steps}{'Z' if close else ''}" if steps else "")


def _y_axis(curves: Sequence[Curve]) -> Axis:
    values = [array for curve in curves for array in (curve.y, curve.low, curve.high) if array is not None]
    joined_values = np.concatenate([np.zeros(0), *values])
    finite = joined_values[np.isfinite(joined_values)]
    return number_axis(float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf)))


def _grid(x_axis: Axis, y_axis: Axis) -> Html:
    across = "".join(f"M0 {UNITS * (1 - y_axis.fraction(value)):.0f}h{UNITS}" for value, _ in y_axis.ticks)
    down = "".join(f"M{UNITS * x_axis.fraction(value):.0f} 0v{UNITS}" for value, _ in x_axis.ticks)
    return element("path", d=Html(across + down), class_="grid")


def _curve(curve: Curve, index: int, *, axes: tuple[Axis, Axis]) -> Html:
    x_axis, y_axis = axes
    css_class = f"s{index % SERIES_COLOURS}"
    parts: list[Html] = []
    curve = as_steps(curve, x_axis) if curve.is_held else curve
    for run in segments(curve, x_axis):
        x = UNITS * x_axis.fractions(curve.x[run])
        if curve.low is not None and curve.high is not None:
            low, high = _units_up(curve.low[run], y_axis), _units_up(curve.high[run], y_axis)
            if (low - high).max(initial=0) > UNITS / 200:
                around = np.concatenate([np.stack([x, high], -1), np.stack([x, low], -1)[::-1]])
                parts.append(element("path", d=path_of_points(around, close=True), class_=f"band {css_class}"))
        line = np.stack([x, _units_up(curve.y[run], y_axis)], -1)
        if len(line) == 1:
            parts.append(_alone(curve, run, line, y_axis=y_axis, css_class=css_class))
        else:
            parts.append(element("path", d=path_of_points(line), class_=f"line {css_class}"))
    return join_html(parts)


def _alone(curve: Curve, row: NDArray[np.intp], point: Array, *, y_axis: Axis, css_class: str) -> Html:
    """A value without neighbours (1, 2) is a point, and a line upright from its low to its high."""
    extremes = [values[row] for values in (curve.low, curve.high) if values is not None] or [curve.y[row]]
    upright = np.stack([np.repeat(point[0, 0], len(extremes)), _units_up(np.concatenate(extremes), y_axis)], axis=-1)
    line = element("path", d=path_of_points(upright), class_=f"line {css_class}") if np.ptp(upright[:, 1]) else ""
    return join_html(
        [line, element("path", d=path_of_points(np.repeat(point, 2, axis=0)), class_=f"point {css_class}")]
    )


def _units_up(values: Array, axis: Axis) -> Array:
    return UNITS * (1 - axis.fractions(values))


# A piece of a plane seen from above, in metres and to scale: routes, clouds and scans are drawn on it.


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


def plane_of_points(points: Array, *, room: float = 0.08, least_m: float = MIN_M) -> Plane:
    """The piece that holds points (n, 2), with room around them, not too narrow and not too wide."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    size = np.maximum((high - low) * (1 + 2 * room), least_m)
    width, height = max(size[0], NARROWEST * size[1]), max(size[1], size[0] / WIDEST)
    return Plane(*(float(v) for v in (middle[0] - width / 2, middle[0] + width / 2)),
                 *(float(v) for v in (middle[1] - height / 2, middle[1] + height / 2)))  # fmt: skip


def plane_drawing(plane: Plane, layers: Sequence[Html], marks: Sequence[Html], *, image: Html | None = None) -> Html:
    """The plane with a grid and its numbers, drawings over it (SVG) and labels (HTML) on top."""
    step = round_step(max(plane.width, plane.height), 5)
    height = UNITS / plane.ratio
    svg = element(
        "svg", _plane_grid(plane, step), *layers, viewBox=f"0 0 {UNITS} {height:.0f}", preserveAspectRatio="none"
    )
    return element(
        "div", image or "", svg, _numbers(plane, step), *marks, class_="plane", style=f"--ratio:{plane.ratio:.4f}"
    )


def polyline(plane: Plane, points: Array, css_class: str, *, breaks: Sequence[int] = ()) -> Html:
    """A polyline through points (n, 2), broken before some of them."""
    runs = np.split(plane.units(points), list(breaks))
    lines = "".join(path_of_points(run) for run in runs if len(run) > 1)
    return element("path", d=Html(lines), class_=f"line {css_class}") if lines else Html("")


def dots(plane: Plane, points: Array, css_class: str) -> Html:
    """Points (n, 2), each for itself."""
    inside = np.unique(np.rint(plane.units(points)).astype(int), axis=0)
    return element("path", d=Html("".join(f"M{x} {y}h0" for x, y in inside.tolist())), class_=f"dots {css_class}")


def mark(plane: Plane, x: float, y: float, *, kind: str, label: str = "") -> Html:
    """A sign at a point: start or end."""
    inner = element("span", label, class_="name") if label else ""
    return element("span", inner, class_=f"mark {kind}", style=plane.style(x, y))


def _ticks(low: float, high: float, step: float) -> list[float]:
    return [index * step for index in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _plane_grid(plane: Plane, step: float) -> Html:
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
    left = [
        element(
            "span", tick_text(y, step), class_="y-number", style=f"top:{percent((plane.y_high - y) / plane.height)}"
        )
        for y in _ticks(plane.y_low + 0.08 * plane.height, plane.y_high - 0.03 * plane.height, step)
    ]
    scale = element("span", f"{number_text(step)} m", class_="scale", style=f"width:{percent(step / plane.width)}")
    return join_html([*below, *left, scale])
