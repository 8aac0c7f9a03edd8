"""Odometry against a truth: charts of errors over the way and over time, and the panel that finds both."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.number_text import Axis, tight_axis, time_axis
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.evaluation_text import summary_of
from fieldplay.evaluation.trajectory_pair import ODOMETRY, truth_of_names
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Odometry
from fieldplay.recording.record_batches import RecordBatch
from fieldplay.report import figures as fig
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Section, join, plain_table, render
from fieldplay.trajectories.evaluation import Evaluation, EvaluationSettings, evaluate
from fieldplay.trajectories.pose_topics import poses_of_record
from fieldplay.trajectories.trajectory import FusionError, Trajectory, trajectory_from_rows

DRAWN_POINTS = 600  # of a curve over time
ALIGNED = {
    "first": "with the first poses upon each other",
    "yaw": "aligned by position and yaw",
    "se3": "aligned by position and rotation",
    "sim3": "aligned by position, rotation and scale",
    "none": "as they are",
}
MAX_POSES = 4000
MIN_LENGTH_M = 0.5  # of the truth: below it there is nothing to compare
LEAD = (
    "Relative errors are those of the motion along a length of the truth's path, from each pose on, and do not depend "
    "on the alignment. The distance over time does: the first poses are aligned."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Named:
    """An evaluation with its name in the drawings, and the time (ns) at which their axes begin."""

    label: str
    evaluation: Evaluation
    start_ns: int


def error_charts(shown: Sequence[Named], duration_s: float, time: Axis | None = None) -> list[fig.Chart]:
    """Relative errors over the length of the way, with quartiles, and the distance from the truth over time.

    The axis of time begins with 0 at `start_ns`, and is a plain one of this length unless another is given.
    """
    charts = [_over_length(shown, is_rotation=False)]
    if any(one.evaluation.has_orientation for one in shown):
        charts.append(_over_length(shown, is_rotation=True))
    curves = [_over_time(one) for one in shown]
    unit = "m" if len(shown) > 1 else f"m, {ALIGNED[shown[0].evaluation.settings.alignment]}"
    axis = time or time_axis(duration_s)
    return [*charts, fig.Chart(title="Distance from the truth", curves=curves, unit=unit, x_axis=axis)]


def segment_charts(shown: Sequence[Named]) -> list[fig.Chart]:
    """The mean errors over the segments of KITTI's benchmark by their length; none where there are no segments."""
    charts = []
    for title, unit, factor in (("translation", "%", 100.0), ("rotation", "degrees per m", np.degrees(1.0))):
        curves = []
        for one in shown:
            means = [(each.length_m, factor * getattr(each.errors, title).mean()) for each in one.evaluation.segments]
            lengths, errors = np.array(means, np.float64).reshape(-1, 2).T
            curves.append(fig.Curve(one.label, lengths, errors))
        longest = max((float(curve.x[-1]) for curve in curves if len(curve.x)), default=0.0)
        if longest and any(np.isfinite(curve.y).any() for curve in curves):
            axis = tight_axis(longest)
            name = f"KITTI segments, {title}"
            charts.append(fig.Chart(title=name, curves=curves, unit=f"{unit}: mean", x_axis=axis, x_title="length, m"))
    return charts


def _over_length(shown: Sequence[Named], *, is_rotation: bool) -> fig.Chart:
    curves: list[fig.Curve] = []
    for one in shown:
        if one.evaluation.has_orientation or not is_rotation:
            curves += _length_curves(one, is_rotation=is_rotation, is_alone=len(shown) == 1)
    longest = max((float(curve.x[-1]) for curve in curves if len(curve.x)), default=1.0)
    title, unit = ("Rotation error", "degrees per m") if is_rotation else ("Translation error", "% of the length")
    unit = f"{unit}: median and quartiles"
    return fig.Chart(title=title, curves=curves, unit=unit, x_axis=tight_axis(longest), x_title="path length, m")


def _length_curves(one: Named, *, is_rotation: bool, is_alone: bool) -> list[fig.Curve]:
    lengths, low, middle, high, most = one.evaluation.percentiles_over_length[int(is_rotation)].T
    curves = [fig.Curve("median" if is_alone else one.label, lengths, middle, low, high)]
    return [*curves, fig.Curve("95 % are below", lengths, most)] if is_alone else curves


def _over_time(one: Named) -> fig.Curve:
    """The distance over time, the largest of each stretch shown too."""
    pairs, distances = one.evaluation.pairs, one.evaluation.absolute.translation
    seconds = (pairs.stamp_ns - one.start_ns) / NS_PER_S
    firsts = np.arange(0, len(distances), max(1, len(distances) // DRAWN_POINTS))
    low, high = np.minimum.reduceat(distances, firsts), np.maximum.reduceat(distances, firsts)
    return fig.Curve(one.label, seconds[firsts], distances[firsts], low, high)


@dataclass(eq=False)
class _ReceivedPoses:
    """Poses of an odometry: rows of x y z and a quaternion, which is 0 where no rotation is known."""

    rows: RowDecimator = field(default_factory=lambda: RowDecimator(7, MAX_POSES))
    child: str = ""
    late_ns: int | None = None  # how much later than in the headers it is in the log

    def trajectory(self) -> Trajectory:
        stamp_ns, rows = self.rows.rows()
        return trajectory_from_rows(stamp_ns, rows[:, :3], rows[:, 3:])


class OdometryErrorPanel(Panel):
    """Keeps some thousand poses of each odometry."""

    msgtypes = (ODOMETRY,)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._received: dict[Topic, _ReceivedPoses] = {}

    def add(self, batch: RecordBatch) -> None:
        """Poses by the times of their headers."""
        received = self._received.setdefault(batch.topic, _ReceivedPoses())
        for record, _, child in batch.records:
            if isinstance(record, Odometry):
                received.rows.add(record.stamp_ns, poses_of_record(record))
                received.child = child.lstrip("/")
                if received.late_ns is None:
                    received.late_ns = int(record.leaves_ns[0] - record.stamp_ns[0])

    def sections(self, overview: Overview) -> list[Section]:
        """Figures and a table, where there is a truth and another odometry of the same body."""
        ordered = dict(overview.in_order(self._received))
        truth = truth_of_names([topic.name for topic in ordered])
        evaluations = [] if truth is None else self._evaluate_all(Topic(truth, ODOMETRY), ordered, overview.start_ns)
        if truth is None or not evaluations:
            return []
        charts = error_charts(evaluations, overview.duration_s, overview.time_axis())
        heads = ("Error", "rmse", "median")
        tables = [plain_table(heads, summary_of(o.evaluation), title=o.label, is_card=True) for o in evaluations]
        body = join([render("cards", [fig.line_chart(chart) for chart in charts]), render("cards", tables, "wide")])
        return [Section("odometry", "Odometry against the truth", body, f"Against {truth}. {LEAD}")]

    def _evaluate_all(self, truth: Topic, received: dict[Topic, _ReceivedPoses], start_ns: int) -> list[Named]:
        true = received[truth]
        header_start_ns = start_ns - (true.late_ns or 0)
        evaluations = []
        for topic, one in received.items():
            lever_arm = None if topic == truth else self._lever_arm(one.child, true.child)
            evaluation = (
                None if lever_arm is None else _evaluate(one.trajectory().of_frame(lever_arm), true.trajectory())
            )
            if evaluation is not None:
                evaluations.append(Named(label=topic.name, evaluation=evaluation, start_ns=header_start_ns))
        return evaluations[: fig.MAX_SERIES]

    def _lever_arm(self, child: str, true_child: str) -> Array | None:
        """The truth's frame in that of an odometry, if it stands fixed there."""
        if child == true_child:
            return np.eye(4)
        if not self._frames.are_fixed(child, true_child):
            return None
        transform = self._frames.transform(child, true_child, np.zeros(1, np.int64))
        return None if transform is None else np.asarray(transform[0][0], np.float64)


def _evaluate(estimate: Trajectory, truth: Trajectory) -> Evaluation | None:
    within_s = max(0.25, *(2e-9 * _usual_ns(one.stamp_ns) for one in (estimate, truth)))
    try:
        evaluation = evaluate(EvaluationSettings(within_s=within_s), estimate, truth)
    except FusionError:
        return None
    return evaluation if evaluation.travelled_m[-1] >= MIN_LENGTH_M else None


def _usual_ns(stamp_ns: NDArray[np.int64]) -> float:
    """The usual step, which is long where a long recording was thinned."""
    return float(np.median(np.diff(stamp_ns))) if len(stamp_ns) > 1 else float(NS_PER_S)
