"""Two ways of an archive or a bag, chosen by topic or by tf, brought to one frame of the robot and compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fieldplay.sources.source import RecordBatch, RecordSource
from fieldplay.sources.transforms import TF, FrameReader
from fieldplay_fusion.evaluation.alignment import NONE
from fieldplay_fusion.evaluation.evaluation import Evaluation, EvaluationSettings, evaluated
from fieldplay_fusion.evaluation.pose_topics import TYPES, PoseRows, Way
from fieldplay_fusion.evaluation.trajectories import Trajectory, trajectory_from_rows
from fieldplay_kinematics.frames import Frames
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_messages.batches import Topic
from fieldplay_messages.cdr.record_decoder import PATH, FramedRecord
from fieldplay_messages.errors import UsageError
from fieldplay_messages.progress import Progress

TF_WORD = "tf:"  # tf:map.base_link, as evo has it
STATIC_TOPIC, TF_TOPIC = "/tf_static", "/tf"


@dataclass(frozen=True, kw_only=True, eq=False)
class Ways:
    """The estimate and the truth as they were read, and the tf tree."""

    estimate: Way
    truth: Way
    frames: Frames = field(default_factory=Frames)


def chosen_topic(word: str, topics: Sequence[Topic]) -> str:
    """The topic of poses that a word names: all of its name, or how it ends; tf:PARENT.CHILD stays as it is.

    Of several that end so it is the one with the fewest parts: `odom` is /robot/odom, not /robot/gnss/odom.
    """
    if word.startswith(TF_WORD):
        frames_of_word(word)
        return word
    names = list(dict.fromkeys(topic.name for topic in topics if topic.msgtype in TYPES))
    if word in names:
        return word
    found = [name for name in names if name.endswith("/" + word.strip("/"))]
    fewest = min((name.count("/") for name in found), default=0)
    found = [name for name in found if name.count("/") == fewest]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"'{word}' may be {' or '.join(found)}: give all of its name")
    there = ", ".join(names) or "none"
    raise UsageError(f"no topic '{word}' that tells poses; there are: {there}; or tf:PARENT.CHILD")


def frames_of_word(word: str) -> tuple[str, str]:
    """Parent and child of tf:PARENT.CHILD."""
    parent, dot, child = word.removeprefix(TF_WORD).partition(".")
    if not (parent and dot and child):
        raise UsageError(f"expected tf:PARENT.CHILD, such as tf:map.base_link, got '{word}'")
    return parent, child


def wanted_topics(names: Sequence[str]) -> list[str]:
    """The topics that must be read for these, which are topics or tf:PARENT.CHILD."""
    uses_tf = any(name.startswith(TF_WORD) for name in names)
    return [*(name for name in names if not name.startswith(TF_WORD)), STATIC_TOPIC, *([TF_TOPIC] if uses_tf else [])]


def read_ways(source: RecordSource, estimate: str, truth: str, *, progress: Progress) -> Ways:
    """Read a source once; the two are topics, or tf:PARENT.CHILD."""
    names, wanted = (estimate, truth), wanted_topics((estimate, truth))
    frames = Frames()
    tree = FrameReader(frames)
    rows: dict[str, PoseRows] = {}
    for batch in source.batches(progress, wanted):
        if batch.is_readable and batch.topic.msgtype == TF:
            tree.add(batch)
        elif batch.is_readable and batch.topic.msgtype in TYPES:
            kept = rows.setdefault(batch.topic.name, PoseRows(batch.topic.name))
            for framed in records_of_poses(batch):
                kept.add(*framed)
    ways = [_way_of_tf(frames, name) if name.startswith(TF_WORD) else _way(rows, name) for name in names]
    return Ways(estimate=ways[0], truth=ways[1], frames=frames)


def records_of_poses(batch: RecordBatch) -> Sequence[FramedRecord]:
    """The records of a batch; of paths, each of which tells all of it, the last alone."""
    if batch.topic.msgtype != PATH:
        return batch.records
    *_, (_, last) = batch.single()
    found = last()
    return () if found is None else (found,)


def _way(rows: dict[str, PoseRows], name: str) -> Way:
    way = rows[name].way() if name in rows else None
    if way is None or not len(way.trajectory):
        raise UsageError(f"{name}: no pose in it")
    return way


def _way_of_tf(frames: Frames, word: str) -> Way:
    parent, child = frames_of_word(word)
    edges = frames.parents
    path = [edges[name] for name in {*frames.path_to_root(child), *frames.path_to_root(parent)} if name in edges]
    moving = [edge for edge in path if not edge.is_static]
    often = max(moving, key=lambda edge: edge.rows.seen, default=None)
    stamp_ns = np.zeros(0, np.int64) if often is None else often.rows.rows()[0]
    found = frames.transform(parent, child, stamp_ns)
    if found is None or not found[1].any():
        known = ", ".join(frames.names) or "none"
        raise UsageError(f"{word}: tf does not tell how {child} moves in {parent}; its frames are: {known}")
    poses, there = found
    turns = quaternion_from_rotation(poses[there][:, :3, :3])
    trajectory = trajectory_from_rows(stamp_ns[there], poses[there][:, :3, 3], turns)
    return Way(topic=word, parent=parent, child=child, trajectory=trajectory)


def link_of_frames(frames: Frames, one: str, other: str, *, tell: Callable[[str], None]) -> Array:
    """one_T_other (4, 4) by static transforms; the identity where they are one, and, said aloud, where tf is silent."""
    if not one or not other or one == other:
        return np.eye(4)
    if frames.are_fixed(one, other):
        found = frames.transform(one, other, np.zeros(1, np.int64))
        if found is not None:
            return np.asarray(found[0][0], np.float64)
    tell(f"nothing fixed on tf joins {one} and {other}: they are taken for one frame")
    return np.eye(4)


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """What was found of two ways, where the truth's frame sits in the estimate's (4, 4), and the estimate of it."""

    ways: Ways
    lever: Array
    moved: Trajectory
    evaluation: Evaluation

    @property
    def aligned(self) -> Trajectory:
        """All of the estimate, also what has no pair, as the truth's frame in the truth's parent."""
        return replace(self.moved, poses=self.evaluation.alignment.of_poses(self.moved.poses))


def compared(ways: Ways, settings: EvaluationSettings, *, lever: Array | None, tell: Callable[[str], None]) -> Compared:
    """Compare two ways; with a lever (4, 4) the truth's frame is there in the estimate's, whatever tf says."""
    estimate, truth = ways.estimate, ways.truth
    if lever is None:
        lever = link_of_frames(ways.frames, estimate.child, truth.child, tell=tell)
    moved = estimate.trajectory.of_frame(lever)
    if settings.alignment == NONE:
        parent = link_of_frames(ways.frames, truth.parent, estimate.parent, tell=tell)
        moved = replace(moved, poses=parent @ moved.poses)
    evaluation = evaluated(settings, moved, truth.trajectory)
    return Compared(ways=ways, lever=lever, moved=moved, evaluation=evaluation)
