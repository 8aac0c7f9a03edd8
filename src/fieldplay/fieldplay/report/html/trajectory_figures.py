"""What was found of two ways drawn: figures, a page of its own, and a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from fieldplay.core.number_text import (
    Axis,
    duration_text,
    number_axis,
    number_text,
    time_axis,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.evaluation_text import HEADS, rows_of
from fieldplay.evaluation.trajectory_pair import Comparison
from fieldplay.geometry.transforms import Array
from fieldplay.report.html.charts import (
    SERIES_COLOURS,
    Curve,
    legend_of,
    line_chart,
    plane_drawing,
    plane_of_points,
    route,
)
from fieldplay.report.html.page import Html, Section, cards, element, joined, page_of_sections, plain_table
from fieldplay.trajectories.evaluation import UNITS, Evaluation
from fieldplay.trajectories.pose_errors import Errors
from fieldplay.trajectories.trajectory import Trajectory

LENGTHS = 30  # along the axis of lengths
LEAST_STARTS = 8  # of ways: fewer tell no percentiles
LONGEST_SHARE = 0.6  # of the whole way
DRAWN_POINTS = 600  # of a curve over time
ALIGNED = {
    "first": "with the first poses upon each other",
    "yaw": "aligned by place and turn about z",
    "se3": "aligned by place and turn",
    "sim3": "aligned by place, turn and scale",
    "none": "as they are",
}
PERCENT, DEGREES = 100.0, float(np.degrees(1.0))

MOST_POINTS = 4000
INCHES, DOTS_PER_INCH = (13.0, 8.0), 110


@dataclass(frozen=True, kw_only=True, eq=False)
class Named:
    """An evaluation with its name in the drawings, and the time (ns) at which their axes begin."""

    label: str
    evaluation: Evaluation
    start_ns: int


def error_figures(shown: Sequence[Named], duration_s: float, time: Axis | None = None) -> list[Html]:
    """Relative errors over the length of the way, with quartiles, and the distance from the truth over time.

    The axis of time begins with 0 at `start_ns`, and is a plain one of this length unless another is given.
    """
    figures = [_over_length(shown, is_rotation=False)]
    if any(one.evaluation.has_orientation for one in shown):
        figures.append(_over_length(shown, is_rotation=True))
    curves = [_over_time(one) for one in shown]
    told = "m" if len(shown) > 1 else f"m, {ALIGNED[shown[0].evaluation.settings.alignment]}"
    return [*figures, line_chart("Distance from the truth", curves, unit=told, x_axis=time or time_axis(duration_s))]


def _over_length(shown: Sequence[Named], *, is_rotation: bool) -> Html:
    curves: list[Curve] = []
    for one in shown:
        if one.evaluation.has_orientation or not is_rotation:
            curves += _length_curves(one, is_rotation=is_rotation, is_alone=len(shown) == 1)
    longest = max((float(curve.x[-1]) for curve in curves if len(curve.x)), default=1.0)
    full = number_axis(0.0, longest)
    axis = Axis(0.0, longest, tuple(tick for tick in full.ticks if 0 <= tick[0] <= longest))
    title, unit = ("Rotation error", "degrees per m") if is_rotation else ("Translation error", "% of the length")
    unit = f"{unit}: median and quartiles"
    return line_chart(title, curves, unit=unit, x_axis=axis, x_title="length of the way, m")


def _length_curves(one: Named, *, is_rotation: bool, is_alone: bool) -> list[Curve]:
    lengths, low, middle, high, most = lengthwise(one.evaluation, is_rotation=is_rotation).T
    curves = [Curve("median" if is_alone else one.label, lengths, middle, low, high)]
    return [*curves, Curve("95 % are below", lengths, most)] if is_alone else curves


def lengthwise(evaluation: Evaluation, *, is_rotation: bool) -> Array:
    """Rows (k, 5) of lengths in m and the lower quartile, median, upper quartile and 95th percentile over each."""
    way_m = float(evaluation.travelled_m[-1])
    rows = []
    for length_m in np.arange(1, LENGTHS + 1) / LENGTHS * LONGEST_SHARE * way_m:
        errors = evaluation.over_length(float(length_m)).errors
        if len(errors) >= LEAST_STARTS:
            values = _values(errors, is_rotation=is_rotation)
            rows.append([length_m, *np.percentile(values, (25, 50, 75, 95))])
    return np.array(rows, np.float64).reshape(-1, 5)


def _values(errors: Errors, *, is_rotation: bool) -> Array:
    return errors.rotation * DEGREES if is_rotation else errors.translation * PERCENT


def _over_time(one: Named) -> Curve:
    """The distance over time, the largest of each stretch shown too."""
    pairs, apart = one.evaluation.pairs, one.evaluation.absolute.translation
    seconds = (pairs.stamp_ns - one.start_ns) / NS_PER_S
    firsts = np.arange(0, len(apart), max(1, len(apart) // DRAWN_POINTS))
    low, high = np.minimum.reduceat(apart, firsts), np.maximum.reduceat(apart, firsts)
    return Curve(one.label, seconds[firsts], apart[firsts], low, high)


def page_of(found: Sequence[Comparison]) -> Html:
    """A page with the ways of one estimate or more, the errors over the way and over time, and the numbers."""
    truth = found[0].pair.truth.topic
    start_ns = min(int(one.evaluation.pairs.stamp_ns[0]) for one in found)
    end_ns = max(int(one.evaluation.pairs.stamp_ns[-1]) for one in found)
    duration_s = (end_ns - start_ns) / NS_PER_S
    named = [Named(label=one.pair.estimate.topic, evaluation=one.evaluation, start_ns=start_ns) for one in found]
    title = found[0].pair.estimate.topic if len(found) == 1 else f"{len(found)} estimates"
    head = element(
        "header",
        element("div", "odometry against the truth", class_="eyebrow"),
        element("h1", title),
        element("p", f"against {truth}", class_="lead"),
        element(
            "div",
            *(
                element("div", element("b", value), element("span", name), class_="tile")
                for name, value in _tiles(found, duration_s)
            ),
            class_="tiles",
        ),
    )
    sections = [
        Section("errors", "Errors", cards(error_figures(named, duration_s))),
        Section("ways", "Ways", _map(found)),
        Section("numbers", "Numbers", joined([_numbers(one, is_alone=len(found) == 1) for one in found])),
    ]
    return page_of_sections(f"{title} · fieldplay", head, sections)


def _tiles(found: Sequence[Comparison], duration_s: float) -> list[tuple[str, str]]:
    """Name and value of what is told above."""
    truly = max(float(one.evaluation.travelled_m[-1]) for one in found)
    told = [("duration", duration_text(duration_s)), ("way of the truth", f"{number_text(truly)} m")]
    if len(found) > 1:
        return told
    (evaluation,) = (one.evaluation for one in found)
    way = f"{number_text(evaluation.estimate_m)} m"
    return [("pairs", str(len(evaluation.pairs))), *told, ("way of the estimate", way)]


def _numbers(found: Comparison, *, is_alone: bool) -> Html:
    """The table of one estimate, under its name where there are others."""
    name = "error" if is_alone else found.pair.estimate.topic
    rows = [row.cells for row in rows_of(found.evaluation)]
    return element("div", plain_table((name, *HEADS), rows), class_="card")


def _map(found: Sequence[Comparison]) -> Html:
    """All ways in the truth's frame, from above."""
    ways = _named_ways(found)
    points = [_thin(way.positions_m[:, :2]) for _, way in ways]
    plane = plane_of_points(np.concatenate(points), room=0.12, least_m=0.1)
    layers = [route(plane, one, f"s{index % SERIES_COLOURS}") for index, one in enumerate(points)]
    labels = [label for label, _ in ways]
    return element("figure", plane_drawing(plane, layers, []), legend_of(labels), class_="card")


def _named_ways(found: Sequence[Comparison]) -> list[tuple[str, Trajectory]]:
    """The truth and then the estimates as they lie upon it, with their names."""
    truth = found[0].pair.truth
    return [(truth.topic, truth.trajectory), *((one.pair.estimate.topic, one.aligned) for one in found)]


def _thin(points: Array) -> Array:
    return points[:: max(1, len(points) // MOST_POINTS)]


def picture_of(found: Sequence[Comparison]) -> bytes:
    """The same figures as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # only here: it takes long to load
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    is_alone, title = len(found) == 1, f"{len(found)} estimates"
    figure.suptitle(f"{found[0].pair.estimate.topic if is_alone else title} against {found[0].pair.truth.topic}")
    start_ns = min(int(one.evaluation.pairs.stamp_ns[0]) for one in found)
    for one in found:
        label, evaluation = one.pair.estimate.topic, one.evaluation
        for place, is_rotation in ((axes[0, 0], False), (axes[0, 1], True)):
            lengths, low, middle, high, most = lengthwise(evaluation, is_rotation=is_rotation).T
            place.fill_between(lengths, low, high, alpha=0.25, label="quartiles" if is_alone else None)
            place.plot(lengths, middle, label="median" if is_alone else label)
            if is_alone:
                place.plot(lengths, most, linestyle=":", label="95 % are below")
        seconds = (evaluation.pairs.stamp_ns - start_ns) / NS_PER_S
        axes[1, 0].plot(seconds, evaluation.absolute.translation, label=label)
    for label, way in _named_ways(found):
        axes[1, 1].plot(way.positions_m[:, 0], way.positions_m[:, 1], label=label)
    words = ("Translation error, % of the length", "Rotation error, degrees per m")
    for place, title in zip(axes[0], words, strict=True):
        place.set(title=title, xlabel="length of the way, m")
    axes[1, 0].set(title=f"Distance from the truth, {UNITS['ATE'][0]}", xlabel="s")
    axes[1, 1].set(title="Ways, m", aspect="equal", adjustable="datalim")
    for place in axes.flat:
        place.grid(visible=True, alpha=0.3)
        place.legend()
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
