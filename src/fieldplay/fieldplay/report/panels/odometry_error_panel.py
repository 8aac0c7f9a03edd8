"""Odometry against a truth that the recording holds, as the topics' names tell: errors over the way and over time."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.evaluation_text import summary_of
from fieldplay.evaluation.trajectory_pair import ODOMETRY, truth_of_names
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Odometry
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.html.charts import MAX_SERIES
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
    path_text,
    plain_table,
)
from fieldplay.report.html.trajectory_figures import Named, error_figures
from fieldplay.report.panels.overview_panel import Overview
from fieldplay.trajectories.evaluation import Evaluation, EvaluationSettings, evaluate
from fieldplay.trajectories.pose_topics import poses_of_record
from fieldplay.trajectories.trajectory import FusionError, Trajectory, trajectory_from_rows

MAX_POSES = 4000
MIN_LENGTH_M = 0.5  # of the truth: below it there is nothing to compare
LEAD = (
    "Relative errors are those of the motion over a length of the truth's way, from each pose on, and do not depend on "
    "how the two lie upon each other. The distance over time does: the first poses are laid upon each other."
)


@dataclass(eq=False)
class _ReceivedPoses:
    """Poses of an odometry: rows of x y z and a quaternion, which is 0 where no rotation is known."""

    rows: RowDecimator = field(default_factory=lambda: RowDecimator(7, MAX_POSES))
    child: str = ""
    late_ns: int | None = None  # how much later than in the headers it is in the log

    def trajectory(self) -> Trajectory:
        stamp_ns, rows = self.rows.rows()
        return trajectory_from_rows(stamp_ns, rows[:, :3], rows[:, 3:])


class OdometryErrorPanel:
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

    def report_issues(self, issues: Issues) -> None:
        """Nothing: of what cannot be read the panel of the ways tells."""

    def sections(self, overview: Overview) -> list[Section]:
        """Figures and a table, where there is a truth and another odometry of the same body."""
        ordered = dict(overview.in_order(self._received))
        truth = truth_of_names([topic.name for topic in ordered])
        evaluations = [] if truth is None else self._evaluate_all(Topic(truth, ODOMETRY), ordered, overview.start_ns)
        if truth is None or not evaluations:
            return []
        figures = error_figures(evaluations, overview.duration_s, overview.time_axis())
        tables = [_table(one) for one in evaluations]
        lead = f"Against {truth}. {LEAD}"
        return [
            Section("odometry", "Odometry against the truth", join_html([cards(figures), cards(tables, "wide")]), lead)
        ]

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
        return evaluations[:MAX_SERIES]

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


def _table(one: Named) -> Html:
    table = plain_table(("Error", "rmse", "median"), summary_of(one.evaluation))
    return element("figure", element("figcaption", element("b", path_text(one.label))), table, class_="card")
