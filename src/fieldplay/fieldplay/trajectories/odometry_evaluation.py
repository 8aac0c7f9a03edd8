"""Odometry against the truth while both go on: how far apart they are, and all errors so far, after each period."""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.computation import (
    JUMPED_BACK,
    Computation,
    FrameNames,
    Input,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.pose_records import pose_record
from fieldplay.messages.records import (
    Diagnostics,
    Odometry,
    Paths,
    Pose,
    Record,
    Scalars,
    State,
)
from fieldplay.trajectories.alignment import FIRST, NONE
from fieldplay.trajectories.association import PosePairs, associate, no_pairs
from fieldplay.trajectories.evaluation import (
    Evaluation,
    EvaluationSettings,
    evaluation_from_settings,
    evaluation_of_pairs,
    states_of_evaluation,
    step_of,
)
from fieldplay.trajectories.pose_topics import ROTATIONS, UNKNOWN_VARIANCE
from fieldplay.trajectories.trajectory import FusionError, Trajectory, step_indices, trajectory_from_rows

LENGTHS_M = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # where none are given: the way is not known before its end
MOST_PAIRS = 6000
BEFORE_ALL_NS = -(1 << 62)
MOST_WAITING = 20_000  # poses of one that wait for the other
ESTIMATE, TRUTH = "estimate", "truth"
TYPES = {
    "odometry": "nav_msgs/msg/Odometry",
    "pose": "geometry_msgs/msg/PoseStamped",
    "pose_with_covariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
}
KINDS = f"one of {', '.join(TYPES)}"
MOST_POSES = 1000  # of a path
FINE = 0
OWN = EvaluationSettings()


# An estimate against the truth while both go on: what is kept of them is bounded however long the path is.
#
# Time is cut into periods. A period is taken in once both have gone beyond its end, so what is found depends on the
# poses alone, not on which of the two comes first, nor on how many of them come at a time.


@dataclass(frozen=True, kw_only=True, eq=False)
class PairHistory:
    """Pairs at a distance of one step, in bounded memory.

    Args:
        step_m: the distance; it doubles where there are too many.
        pairs: the pairs that are kept (k,).
        travelled_m: path length of the truth at each (k,).
        newest: the newest pair, whether kept or not.
        newest_travelled_m: path length of the truth there.
    """

    step_m: float
    pairs: PosePairs
    travelled_m: Array
    newest: PosePairs
    newest_travelled_m: float = 0.0

    def with_newest(self) -> tuple[PosePairs, Array]:
        """Get all pairs that are kept, and the newest.

        Returns:
            The pairs, and the path length of the truth at each.
        """
        if not len(self.newest) or self.newest.stamp_ns[0] <= self.pairs.stamp_ns[-1]:
            return self.pairs, self.travelled_m
        return self.pairs.and_then(self.newest), np.append(self.travelled_m, self.newest_travelled_m)


def extend_history(before: PairHistory, new_pairs: PosePairs, *, max_pairs: int = MOST_PAIRS) -> PairHistory:
    """Add pairs that are a step from the last one kept; keep every other one where there are too many.

    Args:
        before: the history.
        new_pairs: later pairs (n,).
        max_pairs: how many are kept at most.

    Returns:
        The history.
    """
    if not len(new_pairs):
        return before
    last = before.pairs.only(slice(-1, None))
    joined = last.and_then(new_pairs)
    positions = joined.truth[:, :3, 3]
    indices = step_indices(positions, before.step_m)
    lengths = np.linalg.norm(np.diff(positions[indices], axis=0), axis=1)
    start_m = before.travelled_m[-1] if len(last) else 0.0
    travelled = start_m + np.concatenate([np.zeros(1), np.cumsum(lengths)])
    new = slice(len(last), None)
    history = replace(
        before,
        pairs=before.pairs.and_then(joined.only(indices[new])),
        travelled_m=np.concatenate([before.travelled_m, travelled[new]]),
        newest=new_pairs.only(slice(-1, None)),
        newest_travelled_m=float(travelled[-1] + np.linalg.norm(positions[-1] - positions[indices[-1]])),
    )
    return history if len(history.pairs) <= max_pairs else _decimate(history)


def _decimate(history: PairHistory) -> PairHistory:
    """Keep every other step."""
    cell = np.floor(history.travelled_m / (2 * history.step_m) + 1e-9)
    first = np.concatenate([np.ones(1, bool), np.diff(cell) > 0])
    return replace(
        history, step_m=2 * history.step_m, pairs=history.pairs.only(first), travelled_m=history.travelled_m[first]
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodReport:
    """The errors after a period.

    Args:
        evaluation: of everything so far.
        position_error_m: between the newest poses, aligned.
    """

    evaluation: Evaluation
    position_error_m: float

    @property
    def stamp_ns(self) -> int:
        """The time of the newest pair."""
        return int(self.evaluation.pairs.stamp_ns[-1])


class PoseBuffer:
    """Poses (4, 4) of one of the two that were not compared yet, in the order of time."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.poses: list[Array] = []
        self.has_orientation = True

    def add(self, stamp_ns: int, pose: Array, *, has_orientation: bool = True) -> None:
        """Add a pose.

        Args:
            stamp_ns: its time; one that is not later than the last is ignored.
            pose: (4, 4).
            has_orientation: whether its rotation means something.
        """
        if self.stamps and stamp_ns <= self.stamps[-1]:
            return
        self.has_orientation = has_orientation
        self.stamps.append(stamp_ns)
        self.poses.append(pose)
        if len(self.stamps) > MOST_WAITING:
            self.drop(MOST_WAITING // 2)

    def extend(self, trajectory: Trajectory) -> None:
        """Add poses; where too many wait, the oldest are dropped.

        Args:
            trajectory: the poses; those that are not later than the last are ignored.
        """
        new_poses = trajectory.only(trajectory.stamp_ns > (self.stamps[-1] if self.stamps else BEFORE_ALL_NS))
        if not len(new_poses):
            return
        self.has_orientation = new_poses.has_orientation
        self.stamps += new_poses.stamp_ns.tolist()
        self.poses += list(new_poses.poses)
        max_waiting = max(MOST_WAITING, 2 * len(new_poses))
        if len(self.stamps) > max_waiting:
            self.drop(len(self.stamps) - max_waiting // 2)

    def drop(self, count: int) -> None:
        """Drop the oldest poses.

        Args:
            count: how many.
        """
        del self.stamps[:count], self.poses[:count]

    def between(self, start: int, end: int) -> Trajectory:
        """Select poses.

        Args:
            start: the first index.
            end: the index after the last one.

        Returns:
            The poses.
        """
        poses = np.array(self.poses[start:end]).reshape(-1, 4, 4)
        stamps = np.array(self.stamps[start:end], np.int64)
        return Trajectory(stamp_ns=stamps, poses=poses, has_orientation=self.has_orientation)


class RunningEvaluation:
    """Compares poses of an estimate with those of the truth as they come, in bounded memory.

    Args:
        settings: how they are compared.
        period_s: how often there is a report.
        max_pairs: how many pairs are kept at most.

    Raises:
        ValueError: the period is not positive.
    """

    def __init__(self, settings: EvaluationSettings, *, period_s: float = 1.0, max_pairs: int = MOST_PAIRS) -> None:
        if not period_s > 0:
            raise ValueError(f"period_s: expected more than 0 s, got {period_s}")
        self._settings = replace(settings, lengths_m=settings.lengths_m or LENGTHS_M)
        self._period_ns, self._most = round(period_s * NS_PER_S), max_pairs
        self._offset_ns = round(settings.offset_s * NS_PER_S)
        self._done_ns = BEFORE_ALL_NS
        self.estimate, self.truth = PoseBuffer(), PoseBuffer()
        step_m = step_of(self._settings, self._settings.lengths_m) or min(self._settings.lengths_m) / 100
        self.history = PairHistory(step_m=step_m, pairs=no_pairs(), travelled_m=np.zeros(0), newest=no_pairs())

    def add_estimate(self, stamp_ns: int, pose: Array) -> None:
        """Add a pose of the estimate.

        Args:
            stamp_ns: its time.
            pose: (4, 4) of the frame that the truth is of.
        """
        self.estimate.add(stamp_ns + self._offset_ns, pose)

    def add_truth(self, stamp_ns: int, pose: Array, *, has_orientation: bool = True) -> None:
        """Add a pose of the truth.

        Args:
            stamp_ns: its time.
            pose: (4, 4).
            has_orientation: whether its rotation means something.
        """
        self.truth.add(stamp_ns, pose, has_orientation=has_orientation)

    def extend_estimate(self, trajectory: Trajectory) -> None:
        """Add poses of the estimate.

        Args:
            trajectory: the poses, all later than those before.
        """
        self.estimate.extend(replace(trajectory, stamp_ns=trajectory.stamp_ns + self._offset_ns))

    def extend_truth(self, trajectory: Trajectory) -> None:
        """Add poses of the truth.

        Args:
            trajectory: the poses, all later than those before.
        """
        self.truth.extend(trajectory)

    def reports(self) -> list[PeriodReport]:
        """Compare what is complete.

        Returns:
            A report for each period in which both have poses and which both have passed.
        """
        reports = []
        while (end_ns := self._complete()) is not None:
            pairs = self._take(end_ns)
            self._done_ns = end_ns
            if len(pairs):
                self.history = extend_history(self.history, pairs, max_pairs=self._most)
                reports.append(self._report())
        return reports

    def _complete(self) -> int | None:
        """The end of the next period in which both have poses, if both have gone beyond it."""
        fresh = [bisect_left(one.stamps, self._done_ns) for one in self._both]
        if any(index == len(one.stamps) for one, index in zip(self._both, fresh, strict=True)):
            return None
        first_ns = max(one.stamps[index] for one, index in zip(self._both, fresh, strict=True))
        end_ns = (first_ns // self._period_ns + 1) * self._period_ns
        return end_ns if all(one.stamps[-1] >= end_ns for one in self._both) else None

    def _take(self, end_ns: int) -> PosePairs:
        """The pairs before a time at which both have arrived; of each the last pose before it stays."""
        start_ns = end_ns - self._period_ns
        ranges = [(bisect_left(one.stamps, start_ns), bisect_left(one.stamps, end_ns)) for one in self._both]
        counts = [end - start for start, end in ranges]
        fewer = 0 if counts[0] < counts[1] else 1
        parts = [
            one.between(start, end) if number == fewer else one.between(max(start - 1, 0), end + 1)
            for number, (one, (start, end)) in enumerate(zip(self._both, ranges, strict=True))
        ]
        for one, (_, end) in zip(self._both, ranges, strict=True):
            one.drop(max(end - 1, 0))
        return associate(parts[0], parts[1], within_s=self._settings.within_s, method=self._settings.association)

    @property
    def _both(self) -> tuple[PoseBuffer, PoseBuffer]:
        return self.estimate, self.truth

    def _report(self) -> PeriodReport:
        pairs, travelled = self.history.with_newest()
        try:
            evaluation = evaluation_of_pairs(self._settings, pairs, thinned_m=travelled)
        except FusionError:
            evaluation = evaluation_of_pairs(replace(self._settings, alignment=FIRST), pairs, thinned_m=travelled)
        return PeriodReport(evaluation=evaluation, position_error_m=float(evaluation.absolute.translation[-1]))


class OdometryEvaluation(Computation):
    """One odometry against one truth, on position_error, statistics, path and truth_path below `output`.

    They are compared at the same times, aligned, in the truth's frame of reference. Where the two are
    about different frames of the robot, the one in the other is asked for.
    """

    name = "odometry_evaluation"
    is_stateful = True
    needs_links = True
    settings = (
        *(Setting(name, name, f"topic of the {name}") for name in (ESTIMATE, TRUTH)),
        *(Setting(f"{name}_type", "odometry", KINDS) for name in (ESTIMATE, TRUTH)),
        Setting("alignment", OWN.alignment, "first, yaw, se3, sim3 or none"),
        Setting("lengths_m", list(LENGTHS_M), "path lengths over which errors are computed"),
        Setting("within_s", OWN.within_s, "how near in time poses of both must be"),
        Setting("offset_s", OWN.offset_s, "added to the estimate's times"),
        Setting("step_m", OWN.step_m, "between poses that are kept; below 0 as fits the lengths"),
        Setting("period_s", 1.0, "of time between two reports"),
        Setting("output", "evaluation", "before the names of all that is published"),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        for kind in (self.setting_values[f"{name}_type"] for name in (ESTIMATE, TRUTH)):
            if kind not in TYPES:
                raise ValueError(f"types: expected {', '.join(TYPES)}, got '{kind}'")
        self._settings = evaluation_from_settings(self.setting_values)
        self.inputs = tuple(
            Input(name=name, topic=self.setting_values[name], msgtype=TYPES[self.setting_values[f"{name}_type"]])
            for name in (ESTIMATE, TRUTH)
        )
        output, path = self.setting_values["output"], "nav_msgs/msg/Path"
        self._error = Output(topic=f"{output}/position_error", type="std_msgs/msg/Float64")
        self._statistics = Output(topic=f"{output}/statistics", type="diagnostic_msgs/msg/DiagnosticArray")
        self._path, self._truth_path = (
            Output(topic=f"{output}/{name}", type=path, frame_of=TRUTH, latched=True, live_only=True)
            for name in ("path", "truth_path")
        )
        self.outputs = (self._error, self._statistics, self._path, self._truth_path)
        self.reset()
        self.period_ns = round(self.setting_values["period_s"] * NS_PER_S)

    def reset(self) -> None:
        super().reset()
        self._running = RunningEvaluation(self._settings, period_s=self.setting_values["period_s"])
        self._waiting: deque[Trajectory] = deque(maxlen=MOST_WAITING)  # of the estimate, until the frames are known
        self._links: tuple[Array, Array] | None = None
        self.last_of = {ESTIMATE: 0, TRUTH: 0}

    def step(self, name: str, record: Record) -> OutputRecords:
        trajectory = _trajectory(self.reduce_rows(record))
        if not len(trajectory):
            self.warn("a message is left out: expected numbers as position and orientation, got others")
            return
        if trajectory.stamp_ns[0] < self.last_of[name]:
            self.warn(JUMPED_BACK)
            self.reset()
        self.last_of[name] = int(trajectory.stamp_ns[-1])
        self.last_ns = max(self.last_of.values())
        if name == TRUTH:
            self._running.extend_truth(trajectory)
        else:
            self._waiting.append(trajectory)
        yield from self._go_on()

    def reduce_rows(self, record: Record) -> Pose:
        """Reduce odometry to poses.

        Args:
            record: of Odometry or Pose.

        Returns:
            Positions with quaternions, which are 0 where no rotation is known.

        Raises:
            TypeError: the record is of another kind.
        """
        if not isinstance(record, Odometry | Pose):
            raise TypeError(f"expected odometry or poses, got {type(record).__name__}")
        covariance = record.pose_covariance if isinstance(record, Odometry) else record.covariance
        quaternions = record.orientation_xyzw
        if covariance is not None:
            variances = covariance.reshape(-1, 36)[:, ROTATIONS]
            is_unknown = (variances >= UNKNOWN_VARIANCE).all(axis=1, keepdims=True)
            quaternions = np.where(is_unknown, 0.0, quaternions)
        return Pose(stamp_ns=record.stamp_ns, position_m=record.position_m, orientation_xyzw=quaternions)

    def _go_on(self) -> OutputRecords:
        if self._links is None and TRUTH in self.frames and self._waiting:
            self._links = self._find_links(self.frames[ESTIMATE], self.frames[TRUTH])
        if self._links is None:
            return
        parent, child = self._links
        while self._waiting:
            trajectory = self._waiting.popleft()
            poses = parent @ trajectory.poses @ child
            self._running.extend_estimate(Trajectory(stamp_ns=trajectory.stamp_ns, poses=poses))
        reports = self._running.reports()
        if reports:
            yield from self._report_records(reports)

    def _find_links(self, estimate: FrameNames, truth: FrameNames) -> tuple[Array, Array] | None:
        """The estimate's frame in the truth's, unless they are aligned, and the truth's child in its own."""
        child = self._link_or_identity(estimate.child, truth.child)
        parent = self._link_or_identity(truth.frame, estimate.frame) if self._settings.alignment == NONE else np.eye(4)
        return None if parent is None or child is None else (parent, child)

    def _link_or_identity(self, parent: str, child: str) -> Array | None:
        return self.link(parent, child) if parent and child and parent != child else np.eye(4)

    def _report_records(self, reports: Sequence[PeriodReport]) -> OutputRecords:
        stamp_ns = np.array([report.stamp_ns for report in reports], np.int64)
        errors = np.array([report.position_error_m for report in reports])
        yield self._error, Scalars(stamp_ns=stamp_ns, values=errors)
        states = tuple(self._states(report) for report in reports)
        yield self._statistics, Diagnostics(stamp_ns=stamp_ns, states=states, state_index=np.arange(len(states)))
        pairs = [report.evaluation.pairs for report in reports]
        yield self._path, _paths([(one.stamp_ns, one.estimate) for one in pairs])
        yield self._truth_path, _paths([(one.stamp_ns, one.truth) for one in pairs])

    def _states(self, report: PeriodReport) -> tuple[State, ...]:
        summaries = states_of_evaluation(self.setting_values[ESTIMATE], report.evaluation)
        return tuple(State(name, FINE, message, values) for name, message, values in summaries)


def _trajectory(record: Pose) -> Trajectory:
    return trajectory_from_rows(record.stamp_ns, record.position_m, record.orientation_xyzw)


def _paths(trajectories: Sequence[tuple[NDArray[np.int64], Array]]) -> Paths:
    """Paths after each report: poses (n, 4, 4) at times (n,), evenly decimated, the last among them."""
    chosen = [np.arange(len(poses) - 1, -1, len(poses) // -MOST_POSES)[::-1] for _, poses in trajectories]
    paths = [
        pose_record(stamp_ns[rows], poses[rows]) for (stamp_ns, poses), rows in zip(trajectories, chosen, strict=True)
    ]
    return Paths(
        stamp_ns=np.array([path.stamp_ns[-1] for path in paths], np.int64),
        paths=tuple(paths),
        path_index=np.arange(len(paths)),
        count=np.array([len(path) for path in paths], np.int64),
    )
