"""Errors of odometry drawn: over the length of the way, and over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fieldplay.report.html.charts import line_chart
from fieldplay.report.html.curve import Curve
from fieldplay.report.html.markup import Html
from fieldplay.report.html.ticks import Axis, number_axis, time_axis
from fieldplay_fusion.evaluation.evaluation import Evaluation
from fieldplay_fusion.evaluation.pose_errors import Errors
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
