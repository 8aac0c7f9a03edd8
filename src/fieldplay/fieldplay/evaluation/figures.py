"""What was found of two ways drawn: figures, a page of its own, and a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from fieldplay.evaluation.text import HEADS, rows_of
from fieldplay.evaluation.ways import Compared
from fieldplay.report.html.charts import Curve, legend_of, line_chart
from fieldplay.report.html.markup import Html, element
from fieldplay.report.html.page import Section, cards, page_of_sections, plain_table
from fieldplay.report.html.plane import plane_drawing, plane_of_points, route
from fieldplay.report.html.ticks import Axis, duration_text, number_axis, number_text, time_axis
from fieldplay_fusion.evaluation.evaluation import Evaluation
from fieldplay_fusion.evaluation.pose_errors import Errors
from fieldplay_fusion.evaluation.words import UNITS
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.stamps import NS_PER_S

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
    begin_ns: int


def error_figures(shown: Sequence[Named], duration_s: float, time: Axis | None = None) -> list[Html]:
    """Relative errors over the length of the way, with quartiles, and the distance from the truth over time.

    The axis of time begins with 0 at `begin_ns`, and is a plain one of this length unless another is given.
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
    seconds = (pairs.stamp_ns - one.begin_ns) / NS_PER_S
    firsts = np.arange(0, len(apart), max(1, len(apart) // DRAWN_POINTS))
    low, high = np.minimum.reduceat(apart, firsts), np.maximum.reduceat(apart, firsts)
    return Curve(one.label, seconds[firsts], apart[firsts], low, high)


def page_of(found: Compared) -> Html:
    """A page with the two ways, the errors over the way and over time, and the table."""
    evaluation, ways = found.evaluation, found.ways
    begin_ns, end_ns = int(evaluation.pairs.stamp_ns[0]), int(evaluation.pairs.stamp_ns[-1])
    duration_s = (end_ns - begin_ns) / NS_PER_S
    named = Named(label=ways.estimate.topic, evaluation=evaluation, begin_ns=begin_ns)
    tiles = [
        ("pairs", str(len(evaluation.pairs))),
        ("duration", duration_text(duration_s)),
        ("way of the truth", f"{number_text(float(evaluation.travelled_m[-1]))} m"),
        ("way of the estimate", f"{number_text(evaluation.estimate_m)} m"),
    ]
    head = element(
        "header",
        element("div", "odometry against the truth", class_="eyebrow"),
        element("h1", ways.estimate.topic),
        element("p", f"against {ways.truth.topic}", class_="lead"),
        element(
            "div",
            *(element("div", element("b", value), element("span", name), class_="tile") for name, value in tiles),
            class_="tiles",
        ),
    )
    table = element("div", plain_table(("error", *HEADS), [row.cells for row in rows_of(evaluation)]), class_="card")
    sections = [
        Section("errors", "Errors", cards(error_figures([named], duration_s))),
        Section("ways", "Ways", _map(found)),
        Section("numbers", "Numbers", table),
    ]
    return page_of_sections(f"{ways.estimate.topic} · fieldplay", head, sections)


def _map(found: Compared) -> Html:
    """Both ways in the truth's frame, from above."""
    labels = found.ways.truth.topic, found.ways.estimate.topic
    points = [_thin(one.positions_m[:, :2]) for one in (found.ways.truth.trajectory, found.aligned)]
    plane = plane_of_points(np.concatenate(points), room=0.12, least_m=0.1)
    layers = [route(plane, one, f"s{index}") for index, one in enumerate(points)]
    return element("figure", plane_drawing(plane, layers, []), legend_of(labels), class_="card")


def _thin(points: Array) -> Array:
    return points[:: max(1, len(points) // MOST_POINTS)]


def picture_of(found: Compared) -> bytes:
    """The same figures as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # only here: it takes long to load
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    figure.suptitle(f"{found.ways.estimate.topic} against {found.ways.truth.topic}")
    evaluation = found.evaluation
    for place, is_rotation in ((axes[0, 0], False), (axes[0, 1], True)):
        lengths, low, middle, high, most = lengthwise(evaluation, is_rotation=is_rotation).T
        place.fill_between(lengths, low, high, alpha=0.25, label="quartiles")
        place.plot(lengths, middle, label="median")
        place.plot(lengths, most, linestyle=":", label="95 % are below")
        words = ("Rotation error, degrees per m", "Translation error, % of the length")
        place.set(title=words[0 if is_rotation else 1], xlabel="length of the way, m")
        place.legend()
    seconds = (evaluation.pairs.stamp_ns - evaluation.pairs.stamp_ns[0]) / NS_PER_S
    axes[1, 0].plot(seconds, evaluation.absolute.translation)
    axes[1, 0].set(title=f"Distance from the truth, {UNITS['ATE'][0]}", xlabel="s")
    for label, one in (
        (found.ways.truth.topic, found.ways.truth.trajectory),
        (found.ways.estimate.topic, found.aligned),
    ):
        axes[1, 1].plot(one.positions_m[:, 0], one.positions_m[:, 1], label=label)
    axes[1, 1].set(title="Ways, m", aspect="equal", adjustable="datalim")
    axes[1, 1].legend()
    for place in axes.flat:
        place.grid(visible=True, alpha=0.3)
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
