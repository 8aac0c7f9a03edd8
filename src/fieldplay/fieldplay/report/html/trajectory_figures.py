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
    polyline,
)
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
    page_of_sections,
    plain_table,
)
from fieldplay.trajectories.evaluation import UNITS, Evaluation
from fieldplay.trajectories.pose_errors import Errors
from fieldplay.trajectories.trajectory import Trajectory

LENGTHS = 30  # along the axis of lengths
MIN_STARTS = 8  # of ways: fewer tell no percentiles
MAX_LENGTH_FRACTION = 0.6  # of the whole way
DRAWN_POINTS = 600  # of a curve over time
ALIGNED = {
    "first": "with the first poses upon each other",
    "yaw": "aligned by place and turn about z",
    "se3": "aligned by place and turn",
    "sim3": "aligned by place, turn and scale",
    "none": "as they are",
}
PERCENT, DEGREES = 100.0, float(np.degrees(1.0))

MAX_POINTS = 4000
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
    unit = "m" if len(shown) > 1 else f"m, {ALIGNED[shown[0].evaluation.settings.alignment]}"
    return [*figures, line_chart("Distance from the truth", curves, unit=unit, x_axis=time or time_axis(duration_s))]


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
    length_m = float(evaluation.travelled_m[-1])
    rows = []
    for interval_m in np.arange(1, LENGTHS + 1) / LENGTHS * MAX_LENGTH_FRACTION * length_m:
        errors = evaluation.over_length(float(interval_m)).errors
        if len(errors) >= MIN_STARTS:
            values = _values(errors, is_rotation=is_rotation)
            rows.append([interval_m, *np.percentile(values, (25, 50, 75, 95))])
    return np.array(rows, np.float64).reshape(-1, 5)


def _values(errors: Errors, *, is_rotation: bool) -> Array:
    return errors.rotation * DEGREES if is_rotation else errors.translation * PERCENT


def _over_time(one: Named) -> Curve:
    """The distance over time, the largest of each stretch shown too."""
    pairs, distances = one.evaluation.pairs, one.evaluation.absolute.translation
    seconds = (pairs.stamp_ns - one.start_ns) / NS_PER_S
    firsts = np.arange(0, len(distances), max(1, len(distances) // DRAWN_POINTS))
    low, high = np.minimum.reduceat(distances, firsts), np.maximum.reduceat(distances, firsts)
    return Curve(one.label, seconds[firsts], distances[firsts], low, high)


def page_of(comparisons: Sequence[Comparison]) -> Html:
    """A page with the ways of one estimate or more, the errors over the way and over time, and the numbers."""
    truth = comparisons[0].pair.truth.topic
    start_ns = min(int(one.evaluation.pairs.stamp_ns[0]) for one in comparisons)
    end_ns = max(int(one.evaluation.pairs.stamp_ns[-1]) for one in comparisons)
    duration_s = (end_ns - start_ns) / NS_PER_S
    named = [Named(label=one.pair.estimate.topic, evaluation=one.evaluation, start_ns=start_ns) for one in comparisons]
    title = comparisons[0].pair.estimate.topic if len(comparisons) == 1 else f"{len(comparisons)} estimates"
    head = element(
        "header",
        element("div", "odometry against the truth", class_="eyebrow"),
        element("h1", title),
        element("p", f"against {truth}", class_="lead"),
        element(
            "div",
            *(
                element("div", element("b", value), element("span", name), class_="tile")
                for name, value in _tiles(comparisons, duration_s)
            ),
            class_="tiles",
        ),
    )
    sections = [
        Section("errors", "Errors", cards(error_figures(named, duration_s))),
        Section("ways", "Ways", _map(comparisons)),
        Section(
            "numbers", "Numbers", join_html([_numbers(one, is_alone=len(comparisons) == 1) for one in comparisons])
        ),
    ]
    return page_of_sections(f"{title} · fieldplay", head, sections)


def _tiles(comparisons: Sequence[Comparison], duration_s: float) -> list[tuple[str, str]]:
    """Name and value of what is told above."""
    truth_m = max(float(one.evaluation.travelled_m[-1]) for one in comparisons)
    tiles = [("duration", duration_text(duration_s)), ("way of the truth", f"{number_text(truth_m)} m")]
    if len(comparisons) > 1:
        return tiles
    (evaluation,) = (one.evaluation for one in comparisons)
    length_text = f"{number_text(evaluation.estimate_m)} m"
    return [("pairs", str(len(evaluation.pairs))), *tiles, ("way of the estimate", length_text)]


def _numbers(comparison: Comparison, *, is_alone: bool) -> Html:
    """The table of one estimate, under its name where there are others."""
    name = "error" if is_alone else comparison.pair.estimate.topic
    rows = [row.cells for row in rows_of(comparison.evaluation)]
    return element("div", plain_table((name, *HEADS), rows), class_="card")


def _map(comparisons: Sequence[Comparison]) -> Html:
    """All ways in the truth's frame, from above."""
    trajectories = _named_trajectories(comparisons)
    points = [_decimate(trajectory.positions_m[:, :2]) for _, trajectory in trajectories]
    plane = plane_of_points(np.concatenate(points), room=0.12, least_m=0.1)
    layers = [polyline(plane, one, f"s{index % SERIES_COLOURS}") for index, one in enumerate(points)]
    labels = [label for label, _ in trajectories]
    return element("figure", plane_drawing(plane, layers, []), legend_of(labels), class_="card")


def _named_trajectories(comparisons: Sequence[Comparison]) -> list[tuple[str, Trajectory]]:
    """The truth, then the aligned estimates, with their names."""
    truth = comparisons[0].pair.truth
    return [(truth.topic, truth.trajectory), *((one.pair.estimate.topic, one.aligned) for one in comparisons)]


def _decimate(points: Array) -> Array:
    return points[:: max(1, len(points) // MAX_POINTS)]


def png_of(comparisons: Sequence[Comparison]) -> bytes:
    """The same figures as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # only here: it takes long to load
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    is_alone, heading = len(comparisons) == 1, f"{len(comparisons)} estimates"
    figure.suptitle(
        f"{comparisons[0].pair.estimate.topic if is_alone else heading} against {comparisons[0].pair.truth.topic}"
    )
    start_ns = min(int(one.evaluation.pairs.stamp_ns[0]) for one in comparisons)
    for one in comparisons:
        label, evaluation = one.pair.estimate.topic, one.evaluation
        for plot, is_rotation in ((axes[0, 0], False), (axes[0, 1], True)):
            lengths, low, middle, high, most = lengthwise(evaluation, is_rotation=is_rotation).T
            plot.fill_between(lengths, low, high, alpha=0.25, label="quartiles" if is_alone else None)
            plot.plot(lengths, middle, label="median" if is_alone else label)
            if is_alone:
                plot.plot(lengths, most, linestyle=":", label="95 % are below")
        seconds = (evaluation.pairs.stamp_ns - start_ns) / NS_PER_S
        axes[1, 0].plot(seconds, evaluation.absolute.translation, label=label)
    for label, trajectory in _named_trajectories(comparisons):
        axes[1, 1].plot(trajectory.positions_m[:, 0], trajectory.positions_m[:, 1], label=label)
    titles = ("Translation error, % of the length", "Rotation error, degrees per m")
    for plot, heading in zip(axes[0], titles, strict=True):
        plot.set(title=heading, xlabel="length of the way, m")
    axes[1, 0].set(title=f"Distance from the truth, {UNITS['ATE'][0]}", xlabel="s")
    axes[1, 1].set(title="Ways, m", aspect="equal", adjustable="datalim")
    for plot in axes.flat:
        plot.grid(visible=True, alpha=0.3)
        plot.legend()
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
