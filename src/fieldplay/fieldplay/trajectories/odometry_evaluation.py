"""Odometry against the truth while both go on: how far apart they are, and all errors so far, after each period."""

from collections import deque
from collections.abc import Mapping, Sequence
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
    Made,
    Output,
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
from fieldplay.trajectories.alignment import NONE
from fieldplay.trajectories.evaluation import EvaluationSettings, evaluation_from_settings
from fieldplay.trajectories.metric_summary import states_of_evaluation
from fieldplay.trajectories.online import (
    LENGTHS_M,
    MOST_WAITING,
    PeriodReport,
    RunningEvaluation,
)
from fieldplay.trajectories.pose_topics import ROTATIONS, UNKNOWN_VARIANCE
from fieldplay.trajectories.trajectory import Trajectory, trajectory_from_rows

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


class OdometryEvaluation(Computation):
    """One odometry against one truth, on position_error, statistics, path and truth_path below `output`.

    They are compared at the same times, laid upon each other, in the truth's frame of reference. Where the two are
    about different frames of the robot, the one in the other is asked for.
    """

    name = "odometry_evaluation"
    remembers = True
    asks_links = True
    settings = (
        *(Setting(name, name, f"topic of the {name}") for name in (ESTIMATE, TRUTH)),
        *(Setting(f"{name}_type", "odometry", KINDS) for name in (ESTIMATE, TRUTH)),
        Setting("alignment", OWN.alignment, "first, yaw, se3, sim3 or none"),
        Setting("lengths_m", list(LENGTHS_M), "of way, over which errors are told"),
        Setting("within_s", OWN.within_s, "how near in time poses of both must be"),
        Setting("offset_s", OWN.offset_s, "added to the estimate's times"),
        Setting("step_m", OWN.step_m, "between poses that are kept; below 0 as fits the lengths"),
        Setting("period_s", 1.0, "of time between two reports"),
        Setting("output", "evaluation", "before the names of all that is published"),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        for kind in (self.given[f"{name}_type"] for name in (ESTIMATE, TRUTH)):
            if kind not in TYPES:
                raise ValueError(f"types: expected {', '.join(TYPES)}, got '{kind}'")
        self._settings = evaluation_from_settings(self.given)
        self.inputs = tuple(
            Input(name=name, topic=self.given[name], msgtype=TYPES[self.given[f"{name}_type"]])
            for name in (ESTIMATE, TRUTH)
        )
        output, path = self.given["output"], "nav_msgs/msg/Path"
        self._error = Output(topic=f"{output}/position_error", type="std_msgs/msg/Float64")
        self._statistics = Output(topic=f"{output}/statistics", type="diagnostic_msgs/msg/DiagnosticArray")
        self._path, self._truth_path = (
            Output(topic=f"{output}/{name}", type=path, frame_of=TRUTH, latched=True, live_only=True)
            for name in ("path", "truth_path")
        )
        self.outputs = (self._error, self._statistics, self._path, self._truth_path)
        self.reset()
        self.period_ns = round(self.given["period_s"] * NS_PER_S)

    def reset(self) -> None:
        super().reset()
        self._running = RunningEvaluation(self._settings, period_s=self.given["period_s"])
        self._waiting: deque[Trajectory] = deque(maxlen=MOST_WAITING)  # of the estimate, until the frames are known
        self._links: tuple[Array, Array] | None = None
        self.last_of = {ESTIMATE: 0, TRUTH: 0}

    def step(self, name: str, record: Record) -> Made:
        trajectory = _trajectory(self.thinned(record))
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

    def thinned(self, record: Record) -> Pose:
        """Places with quaternions, which are 0 where no rotation is known."""
        if not isinstance(record, Odometry | Pose):
            raise TypeError(f"expected odometry or poses, got {type(record).__name__}")
        covariance = record.pose_covariance if isinstance(record, Odometry) else record.covariance
        turns = record.orientation_xyzw
        if covariance is not None:
            variances = covariance.reshape(-1, 36)[:, ROTATIONS]
            is_unknown = (variances >= UNKNOWN_VARIANCE).all(axis=1, keepdims=True)
            turns = np.where(is_unknown, 0.0, turns)
        return Pose(stamp_ns=record.stamp_ns, position_m=record.position_m, orientation_xyzw=turns)

    def _go_on(self) -> Made:
        if self._links is None and TRUTH in self.frames and self._waiting:
            self._links = self._found_links(self.frames[ESTIMATE], self.frames[TRUTH])
        if self._links is None:
            return
        parent, child = self._links
        while self._waiting:
            trajectory = self._waiting.popleft()
            poses = parent @ trajectory.poses @ child
            self._running.extend_estimate(Trajectory(stamp_ns=trajectory.stamp_ns, poses=poses))
        reports = self._running.reports()
        if reports:
            yield from self._told(reports)

    def _found_links(self, estimate: FrameNames, truth: FrameNames) -> tuple[Array, Array] | None:
        """The estimate's frame of reference in the truth's, where that is wanted, and the truth's child in its own."""
        child = self._joined(estimate.child, truth.child)
        parent = self._joined(truth.frame, estimate.frame) if self._settings.alignment == NONE else np.eye(4)
        return None if parent is None or child is None else (parent, child)

    def _joined(self, parent: str, child: str) -> Array | None:
        return self.link(parent, child) if parent and child and parent != child else np.eye(4)

    def _told(self, reports: Sequence[PeriodReport]) -> Made:
        stamp_ns = np.array([report.stamp_ns for report in reports], np.int64)
        errors = np.array([report.position_error_m for report in reports])
        yield self._error, Scalars(stamp_ns=stamp_ns, values=errors)
        states = tuple(self._states(report) for report in reports)
        yield self._statistics, Diagnostics(stamp_ns=stamp_ns, states=states, place=np.arange(len(states)))
        pairs = [report.evaluation.pairs for report in reports]
        yield self._path, _paths([(one.stamp_ns, one.estimate) for one in pairs])
        yield self._truth_path, _paths([(one.stamp_ns, one.truth) for one in pairs])

    def _states(self, report: PeriodReport) -> tuple[State, ...]:
        told = states_of_evaluation(self.given[ESTIMATE], report.evaluation)
        return tuple(State(name, FINE, message, values) for name, message, values in told)


def _trajectory(record: Pose) -> Trajectory:
    return trajectory_from_rows(record.stamp_ns, record.position_m, record.orientation_xyzw)


def _paths(ways: Sequence[tuple[NDArray[np.int64], Array]]) -> Paths:
    """Ways as they are after each report: poses (n, 4, 4) at times (n,), evenly thinned, the last among them."""
    chosen = [np.arange(len(poses) - 1, -1, len(poses) // -MOST_POSES)[::-1] for _, poses in ways]
    made = [pose_record(stamp_ns[rows], poses[rows]) for (stamp_ns, poses), rows in zip(ways, chosen, strict=True)]
    return Paths(
        stamp_ns=np.array([way.stamp_ns[-1] for way in made], np.int64),
        ways=tuple(made),
        place=np.arange(len(made)),
        count=np.array([len(way) for way in made], np.int64),
    )
