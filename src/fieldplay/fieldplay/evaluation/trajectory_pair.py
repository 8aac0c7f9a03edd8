"""Two ways of an archive, a bag or files, brought to one frame of the robot and compared."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fieldplay.core.errors import UsageError
from fieldplay.core.progress import Progress
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.evaluation.pose_files import PoseForms, is_pose_file, load_pose_file
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.messages.codec import PATH, FramedRecord
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.record_batches import TF, FrameReader, RecordBatch
from fieldplay.recording.recording import Recording
from fieldplay.trajectories.alignment import NONE
from fieldplay.trajectories.evaluation import Evaluation, EvaluationSettings, evaluate
from fieldplay.trajectories.pose_topics import TYPES, PoseRows, TopicTrajectory
from fieldplay.trajectories.time_offset import find_time_offset
from fieldplay.trajectories.trajectory import FusionError, Trajectory, trajectory_from_rows

MIN_POSES = 2  # of the truth
TF_WORD = "tf:"  # tf:map.base_link, as evo has it
ODOMETRY = "nav_msgs/msg/Odometry"
TRUTHS = ("ground_?truth|truth|reference|vicon|mocap", "d?gps|d?gnss|rtk|ins|nav|novatel|total_?station")  # first wins
STATIC_TOPIC, TF_TOPIC = "/tf_static", "/tf"


@dataclass(frozen=True, kw_only=True)
class PoseFiles:
    """How files of poses are read, and what receives lines about rows without a pose."""

    forms: PoseForms = field(default_factory=PoseForms)
    report: Callable[[str], None] = lambda text: None

    def load(self, path: Path) -> TopicTrajectory:
        """All poses of a file."""
        return load_pose_file(path, self.forms, report=self.report)


@dataclass(frozen=True, kw_only=True)
class TruthUncertainty:
    """How good the truth says it is: standard deviations along the worst axis in m, None where it says nothing.

    Poses of more than `max_std_m` were left out; 0 believes all.
    """

    poses: int
    median_m: float | None
    most_m: float | None
    max_std_m: float = 0.0
    left_out: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class TrajectoryPair:
    """The estimate and the truth as they were read, the tf tree, and when the data begin."""

    estimate: TopicTrajectory
    truth: TopicTrajectory
    frames: Frames = field(default_factory=Frames)
    start_ns: int | None = None
    truth_uncertainty: TruthUncertainty | None = None

    def window(self, start_s: float, duration_s: float | None) -> "TrajectoryPair":
        """The part between two times, in seconds from the start of the data, by the stamps."""
        if not start_s and duration_s is None:
            return self
        start_ns = self.start_ns
        if start_ns is None:
            start_ns = min(int(trajectory.trajectory.stamp_ns[0]) for trajectory in (self.estimate, self.truth))
        first_ns = start_ns + round(start_s * NS_PER_S)
        last_ns = None if duration_s is None else first_ns + round(duration_s * NS_PER_S)
        earliest_ns = first_ns if start_s else None
        estimate, truth = (
            trajectory.trajectory.between(earliest_ns, last_ns) for trajectory in (self.estimate, self.truth)
        )
        return replace(
            self,
            estimate=replace(self.estimate, trajectory=estimate),
            truth=replace(self.truth, trajectory=truth),
        )

    def exclude_uncertain(self, max_std_m: float) -> "TrajectoryPair":
        """Leave out truth poses whose reported standard deviation exceeds this; 0 keeps all."""
        trajectory = self.truth.trajectory
        std_m = np.full(len(trajectory), np.nan) if trajectory.std_m is None else trajectory.std_m
        known_m = std_m[~np.isnan(std_m)]
        is_bad = std_m > max_std_m if max_std_m > 0 else np.zeros(len(trajectory), bool)
        uncertainty = TruthUncertainty(
            poses=len(trajectory),
            median_m=float(np.median(known_m)) if len(known_m) else None,
            most_m=float(known_m.max()) if len(known_m) else None,
            max_std_m=max_std_m,
            left_out=int(is_bad.sum()),
        )
        if uncertainty.left_out and uncertainty.poses - uncertainty.left_out < MIN_POSES:
            raise FusionError(
                f"{self.truth.topic}: {uncertainty.left_out} of {uncertainty.poses} poses have "
                f"a reported standard deviation of more than {max_std_m:g} m, median {uncertainty.median_m:.3g} m: "
                "--truth-max-std S accepts more, 0 all"
            )
        return replace(
            self, truth=replace(self.truth, trajectory=trajectory.only(~is_bad)), truth_uncertainty=uncertainty
        )


def chosen_topic(word: str, topics: Sequence[Topic], *, hint: Callable[[str], str] = lambda word: "") -> str:
    """The topic of poses that a word names: all of its name, or how it ends; tf:PARENT.CHILD stays as it is.

    Of several that end so it is the one with the fewest parts: `odom` is /robot/odom, not /robot/gnss/odom. Where
    there is none, `hint` shows why, if it knows.
    """
    if word.startswith(TF_WORD):
        frames_of_word(word)
        return word
    if is_pose_file(word):
        return word
    names = list(dict.fromkeys(topic.name for topic in topics if topic.msgtype in TYPES))
    if word in names:
        return word
    matches = [name for name in names if name.endswith("/" + word.strip("/"))]
    fewest = min((name.count("/") for name in matches), default=0)
    matches = [name for name in matches if name.count("/") == fewest]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"'{word}' may be {' or '.join(matches)}: give all of its name")
    there = ", ".join(names) or "none"
    raise UsageError(f"no topic '{word}' with poses; there are: {there}; or tf:PARENT.CHILD{hint(word)}")


def truth_of_names(names: list[str]) -> str | None:
    """The first topic whose name marks it as a truth; satellites only if nothing is called a truth."""
    for names_pattern in TRUTHS:
        expression = re.compile(rf"(?:^|[/_])(?:{names_pattern})(?:[/_]|$)")
        for name in names:
            if expression.search(name):
                return name
    return None


def own_truth(names: Sequence[str], spec: DatasetSpec | None) -> str | None:
    """The topic of a dataset's truth, else of another stream of it with the same frames, as far as it is there."""
    truth = next((stream for stream in spec.streams if stream.id == spec.truth), None) if spec else None
    if spec is None or truth is None:
        return None
    others = [s for s in spec.streams if s.child_frame and (s.frame, s.child_frame) == (truth.frame, truth.child_frame)]
    topics = [stream.topic.strip("/") for stream in (truth, *others)]
    return next((name for topic in topics for name in names if name.endswith(f"/{topic}")), None)


def odometries_and_truth(topics: Sequence[Topic], spec: DatasetSpec | None) -> list[str]:
    """All odometry, and the truth last: the dataset's own, else the one whose name says so; nothing without both."""
    names = list(dict.fromkeys(topic.name for topic in topics if topic.msgtype == ODOMETRY))
    truth = truth_of_names(names)
    truth = own_truth(names, spec) or truth
    estimates = [name for name in names if name != truth]
    return [*estimates, truth] if truth is not None and estimates else []


def frames_of_word(word: str) -> tuple[str, str]:
    """Parent and child of tf:PARENT.CHILD."""
    parent, dot, child = word.removeprefix(TF_WORD).partition(".")
    if not (parent and dot and child):
        raise UsageError(f"expected tf:PARENT.CHILD, such as tf:map.base_link, got '{word}'")
    return parent, child


def required_topics(names: Sequence[str], *, moving: bool = False) -> list[str]:
    """The topics to read for these names (topics or tf:PARENT.CHILD), with tf where frames may move."""
    uses_tf = moving or any(name.startswith(TF_WORD) for name in names)
    return [*(name for name in names if not name.startswith(TF_WORD)), STATIC_TOPIC, *([TF_TOPIC] if uses_tf else [])]


def load_trajectories(
    source: Recording,
    estimates: Sequence[str],
    truth: str,
    *,
    progress: Progress,
    files: PoseFiles | None = None,
    moving: bool = False,
) -> list[TrajectoryPair]:
    """Read a source once, for each estimate beside the truth; they are topics, tf:PARENT.CHILD, or files.

    With `moving` tf is read too, for frames that move in each other.
    """
    requested = required_topics((*estimates, truth), moving=moving)
    frames = Frames()
    tree = FrameReader(frames)
    rows: dict[str, PoseRows] = {}
    delays_ns: dict[str, int] = {}
    for batch in source.batches(progress, requested):
        if batch.topic.name not in delays_ns and batch.topic.name != STATIC_TOPIC:
            delays_ns.update((batch.topic.name, delay) for delay in _log_delays_ns(batch))
        if batch.is_readable and batch.topic.msgtype == TF:
            tree.add(batch)
        elif batch.is_readable and batch.topic.msgtype in TYPES:
            poses = rows.setdefault(batch.topic.name, PoseRows(batch.topic.name))
            for framed in records_of_poses(batch):
                poses.add(*framed)
    *trajectories, true = (_load_trajectory(name, rows, frames, files or PoseFiles()) for name in (*estimates, truth))
    start_ns = source.start_ns
    if start_ns is not None:
        start_ns -= min(delays_ns.values(), key=abs, default=0)
    return [
        TrajectoryPair(estimate=trajectory, truth=true, frames=frames, start_ns=start_ns) for trajectory in trajectories
    ]


def _log_delays_ns(batch: RecordBatch) -> Iterator[int]:
    """How much later than its stamp the first message of a batch was logged, if its messages have one time."""
    for record, *_ in batch.records[:1] if batch.is_readable and batch.topic.msgtype != PATH else ():
        if len(record):
            yield int(record.leaves_ns[0] - record.stamp_ns[0])


def trajectories_from_files(estimates: Sequence[Path], truth: Path, files: PoseFiles) -> list[TrajectoryPair]:
    """Load files of poses; the data start with the earliest pose."""
    *trajectories, true = (files.load(path) for path in (*estimates, truth))
    start_ns = min(int(trajectory.trajectory.stamp_ns[0]) for trajectory in (*trajectories, true))
    return [TrajectoryPair(estimate=trajectory, truth=true, start_ns=start_ns) for trajectory in trajectories]


def _load_trajectory(name: str, rows: dict[str, PoseRows], frames: Frames, files: PoseFiles) -> TopicTrajectory:
    if name.startswith(TF_WORD):
        return _tf_trajectory(frames, name)
    return files.load(Path(name)) if is_pose_file(name) else _topic_trajectory(rows, name)


def records_of_poses(batch: RecordBatch) -> Sequence[FramedRecord]:
    """The records of a batch; of paths, each of which is complete, the last alone."""
    if batch.topic.msgtype != PATH:
        return batch.records
    *_, (_, last) = batch.single()
    framed = last()
    return () if framed is None else (framed,)


def _topic_trajectory(rows: dict[str, PoseRows], name: str) -> TopicTrajectory:
    trajectory = rows[name].trajectory() if name in rows else None
    if trajectory is None or not len(trajectory.trajectory):
        raise UsageError(f"{name}: no pose in it")
    return trajectory


def _tf_trajectory(frames: Frames, word: str) -> TopicTrajectory:
    parent, child = frames_of_word(word)
    edges = frames.parents
    path = [edges[name] for name in {*frames.path_to_root(child), *frames.path_to_root(parent)} if name in edges]
    moving = [edge for edge in path if not edge.is_static]
    often = max(moving, key=lambda edge: edge.rows.seen, default=None)
    stamp_ns = np.zeros(0, np.int64) if often is None else often.rows.rows()[0]
    transform = frames.transform(parent, child, stamp_ns)
    if transform is None or not transform[1].any():
        known = ", ".join(frames.names) or "none"
        raise UsageError(f"{word}: tf does not define how {child} moves in {parent}; its frames are: {known}")
    poses, there = transform
    orientations = quaternion_from_rotation(poses[there][:, :3, :3])
    trajectory = trajectory_from_rows(stamp_ns[there], poses[there][:, :3, 3], orientations)
    return TopicTrajectory(topic=word, parent=parent, child=child, trajectory=trajectory)


def link_of_frames(frames: Frames, one: str, other: str, *, report: Callable[[str], None]) -> Array:
    """one_T_other (4, 4) by static transforms; the identity if equal, and, with a warning, without one in tf."""
    if not one or not other or one == other:
        return np.eye(4)
    if frames.are_fixed(one, other):
        transform = frames.transform(one, other, np.zeros(1, np.int64))
        if transform is not None:
            return np.asarray(transform[0][0], np.float64)
    report(f"no static transform between {one} and {other}; they are taken as the same frame")
    return np.eye(4)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Placed:
    """The estimate as poses of the truth's frame, where that sits (at first) in the estimate's (4, 4), if it moves."""

    trajectory: Trajectory
    lever_arm: Array
    is_moving: bool = False


def _in_truth_frame(
    pair: TrajectoryPair,
    settings: EvaluationSettings,
    *,
    lever_arm: Array | None,
    offset_s: float,
    report: Callable[[str], None],
) -> _Placed:
    """The estimate expressed for the truth's frame, with its times shifted by `offset_s`."""
    estimate, truth = pair.estimate, pair.truth
    placed = _with_moving_lever_arm(pair, offset_s, report) if lever_arm is None else None
    if placed is None:
        lever_arm = (
            link_of_frames(pair.frames, estimate.child, truth.child, report=report) if lever_arm is None else lever_arm
        )
        placed = _Placed(trajectory=estimate.trajectory.of_frame(lever_arm), lever_arm=lever_arm)
    if settings.alignment != NONE:
        return placed
    parent = link_of_frames(pair.frames, truth.parent, estimate.parent, report=report)
    return replace(placed, trajectory=replace(placed.trajectory, poses=parent @ placed.trajectory.poses))


def _with_moving_lever_arm(pair: TrajectoryPair, offset_s: float, report: Callable[[str], None]) -> _Placed | None:
    """Apply a lever arm that tf moves over time; None where it is fixed or unknown."""
    one, other, trajectory = pair.estimate.child, pair.truth.child, pair.estimate.trajectory
    if not one or not other or pair.frames.are_fixed(one, other):
        return None
    transform = pair.frames.transform(one, other, trajectory.stamp_ns + round(offset_s * NS_PER_S))
    if transform is None or not transform[1].any():
        return None
    lever_arms, known = transform
    report(f"{other} moves in {one}: tf has its position for {int(known.sum())} of {len(trajectory)} poses")
    return _Placed(
        trajectory=trajectory.only(known).of_frame(lever_arms[known]), lever_arm=lever_arms[known][0], is_moving=True
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Result of comparing two trajectories: the lever arm (4, 4), the estimate of the truth's frame, the errors."""

    pair: TrajectoryPair
    lever_arm: Array
    moved: Trajectory
    evaluation: Evaluation
    is_offset_estimated: bool = False

    @property
    def aligned(self) -> Trajectory:
        """All of the estimate, also what has no pair, as the truth's frame in the truth's parent."""
        return replace(self.moved, poses=self.evaluation.alignment.of_poses(self.moved.poses))


@dataclass(frozen=True, kw_only=True, eq=False)
class FailedComparison:
    """Two trajectories that could not be compared, and the reason."""

    pair: TrajectoryPair
    reason: str


def compare(
    pair: TrajectoryPair,
    settings: EvaluationSettings,
    *,
    lever_arm: Array | None,
    report: Callable[[str], None],
    finds_offset: bool = False,
) -> Comparison:
    """Compare two trajectories; `lever_arm` (4, 4) places the truth's frame in the estimate's instead of tf.

    With `finds_offset` the times of the estimate are shifted to where its motions are those of the truth.
    """
    placed = _in_truth_frame(pair, settings, lever_arm=lever_arm, offset_s=settings.offset_s, report=report)
    if finds_offset:
        offset_s = find_time_offset(placed.trajectory, pair.truth.trajectory, within_s=settings.within_s)
        if placed.is_moving:  # tf was asked about other times: once more
            placed = _in_truth_frame(pair, settings, lever_arm=lever_arm, offset_s=offset_s, report=lambda text: None)
            offset_s = find_time_offset(placed.trajectory, pair.truth.trajectory, within_s=settings.within_s)
        settings = replace(settings, offset_s=offset_s)
    evaluation = evaluate(settings, placed.trajectory, pair.truth.trajectory)
    return Comparison(
        pair=pair,
        lever_arm=placed.lever_arm,
        moved=placed.trajectory,
        evaluation=evaluation,
        is_offset_estimated=finds_offset,
    )
