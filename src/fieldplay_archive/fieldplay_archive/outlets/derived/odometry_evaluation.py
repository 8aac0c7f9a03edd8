"""Odometry of the archive against its truth: how far apart they are, and all errors so far, after each second."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from fieldplay_archive.outlets.derived.parts import Place, Stamps, feed_of_made
from fieldplay_archive.spec import DerivedSpec
from fieldplay_fusion.evaluation.evaluation import evaluation_from_settings
from fieldplay_fusion.evaluation.memory import PeriodReport, RunningEvaluation
from fieldplay_fusion.evaluation.pose_topics import ROTATIONS, UNKNOWN_VARIANCE
from fieldplay_fusion.evaluation.trajectories import Trajectory, trajectory_from_rows
from fieldplay_fusion.evaluation.words import states_of_evaluation
from fieldplay_kinematics.frames import Frames
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_messages import records
from fieldplay_messages.cdr.layout import layout_of
from fieldplay_messages.feeds.feed import Feed, RowMessages, SpanMessages, messages_of_record
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Span, Stream

ERROR, STATISTICS = "std_msgs/msg/Float64", "diagnostic_msgs/msg/DiagnosticArray"
AT_ONCE_NS = 5_000_000_000
FINE = 0


def odometry_evaluation(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """Both topics; the two paths are for looking at while it runs, and left out here."""

    @cache
    def reports() -> list[tuple[int, float, tuple[records.State, ...]]]:
        return [(one.stamp_ns, one.position_error_m, _states(spec, one)) for one in _reports(spec, streams, place)]

    def errors(_: int) -> tuple[Stamps, SpanMessages]:
        stamp_ns = np.array([one[0] for one in reports()], np.int64)
        data, rows = layout_of(ERROR, {}).rows(len(stamp_ns))
        rows["data"] = [one[1] for one in reports()]
        return stamp_ns, RowMessages(data)

    def statistics(_: int) -> tuple[Stamps, SpanMessages]:
        stamp_ns = np.array([one[0] for one in reports()], np.int64)
        states = tuple(one[2] for one in reports())
        record = records.Diagnostics(stamp_ns=stamp_ns, states=states, place=np.arange(len(states)))
        return stamp_ns, messages_of_record(record, StreamSpec(id="derived", topic="", type=STATISTICS))

    spans = [span for stream in streams for span in stream.spans]
    if not spans:
        return []
    first_ns, last_ns = min(span.first_ns for span in spans), max(span.last_ns for span in spans)
    period_ns = round(spec.settings.get("period_s", 1.0) * 1e9)
    whole = [Span(first_ns, last_ns, max(1, (last_ns - first_ns) // period_ns))]
    made = {"position_error": (ERROR, errors), "statistics": (STATISTICS, statistics)}
    return [
        feed_of_made(
            topic=place.topic(f"{spec.topic}/{name}"),
            msgtype=kind,
            spans=whole,
            load=load,
            rank=place.rank,
            stream="derived",
        )
        for name, (kind, load) in made.items()
    ]


def _states(spec: DerivedSpec, report: PeriodReport) -> tuple[records.State, ...]:
    told = states_of_evaluation(spec.settings["estimate"], report.evaluation)
    return tuple(records.State(name, FINE, message, values) for name, message, values in told)


def _reports(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> Iterator[PeriodReport]:
    """All that the node would tell, as it takes the poses: a part of the time after the other."""
    estimate, truth = (_trajectory(stream, place.first_ns) for stream in streams)
    estimate = estimate.of_frame(_lever(spec, place))
    running = RunningEvaluation(evaluation_from_settings(spec.settings), period_s=spec.settings.get("period_s", 1.0))
    stamp_ns = np.concatenate([estimate.stamp_ns, truth.stamp_ns])
    for part in np.unique(stamp_ns // AT_ONCE_NS).tolist():
        running.extend(*(_between(one, part * AT_ONCE_NS, (part + 1) * AT_ONCE_NS) for one in (estimate, truth)))
        yield from running.reports()


def _between(trajectory: Trajectory, begin_ns: int, end_ns: int) -> Trajectory:
    first, last = np.searchsorted(trajectory.stamp_ns, (begin_ns, end_ns))
    return trajectory.only(slice(int(first), int(last)))


def _trajectory(stream: Stream, first_ns: int) -> Trajectory:
    """All poses of odometry from a time on."""
    parts = [_rows(stream.load(index), first_ns) for index in range(len(stream.spans))]
    stamp_ns = np.concatenate([np.zeros(0, np.int64), *(stamps for stamps, _ in parts)])
    rows = np.concatenate([np.zeros((0, 7)), *(values for _, values in parts)])
    return trajectory_from_rows(stamp_ns, rows[:, :3], rows[:, 3:])


def _rows(record: records.Record, first_ns: int) -> tuple[Stamps, Array]:
    """Times (n,) and rows (n, 7) of x y z and a quaternion, which is 0 where no rotation is known."""
    if not isinstance(record, records.Odometry):
        raise TypeError(f"expected odometry, got {type(record).__name__}")
    kept = record.stamp_ns >= first_ns
    rows = np.concatenate([record.position_m, record.orientation_xyzw], axis=1)[kept]
    variances = record.pose_covariance.reshape(-1, 36)[kept][:, ROTATIONS]
    rows[(variances >= UNKNOWN_VARIANCE).all(axis=1), 3:] = 0.0
    return record.stamp_ns[kept], rows


def _lever(spec: DerivedSpec, place: Place) -> Array:
    """The truth's frame in the estimate's, the two child frames of the description."""
    frames = Frames()
    for edge in place.static:
        turn = quaternion_from_rotation(edge.parent_t_child[:3, :3])
        values = np.concatenate([edge.parent_t_child[:3, 3], turn])[None]
        frames.add(edge.parent, edge.child, is_static=True, stamp_ns=np.zeros(1, np.int64), values=values)
    one, other = spec.child_frames
    found = frames.transform(one, other, np.zeros(1, np.int64)) if frames.are_fixed(one, other) else None
    if one != other and found is None:
        raise ValueError(f"child_frames: expected {one} and {other} to be joined by static frames")
    return np.eye(4) if found is None else np.asarray(found[0][0], np.float64)
