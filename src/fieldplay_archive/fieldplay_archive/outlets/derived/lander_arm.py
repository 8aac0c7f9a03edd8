"""InSight's arm: the active tool by encoders, by potentiometers and bent, its error, and all frames."""

from collections.abc import Callable, Sequence

import numpy as np

from fieldplay_archive.outlets.derived.parts import NO_ROWS, Place, Rows, Stamps, feed_of_rows
from fieldplay_archive.outlets.derived.pose_messages import TF, tf_rows
from fieldplay_archive.outlets.lander_arm_rows import JOINTS, POTS, ArmReading, Compute, bent, frames, straight
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics.lander_arm_outputs import parents_of_frames
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_messages import records
from fieldplay_messages.cdr.encoders import encode, set_axes, stamped_rows
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

POSE, VECTOR = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/Vector3Stamped"
ARCHIVED = "archived_tool_enc"
POSE_SHAPE = (4, 4)
TopicPoses = Callable[[int], tuple[Stamps, Array]]


def lander_arm(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """The tool's poses on the topic and with _pot, _deflected and _error behind its name, and the transforms."""
    named = dict(zip(spec.streams, streams, strict=True))
    reading = ArmReading(spec.settings, named)
    joints, archived = named[JOINTS], named[ARCHIVED]
    base, children = place.frame_prefix + spec.frame, [place.frame_prefix + frame for frame in spec.child_frames]
    parents = parents_of_frames(base, children)

    def poses(stream: Stream, compute: Compute) -> TopicPoses:
        def of_span(index: int) -> tuple[Stamps, Array]:
            rows = reading.rows(stream, index)
            found = reading.computed(rows, compute, POSE_SHAPE)
            known = np.isfinite(found).all(axis=(1, 2))
            return rows.stamp_ns[known], found[known]

        return of_span

    def tf(index: int) -> Rows:
        rows = reading.rows(joints, index)
        transforms = reading.computed(rows, frames, (len(children), *POSE_SHAPE))
        return rows.stamp_ns, tf_rows(parents, children, rows.stamp_ns, transforms)

    def feed(suffix: str, of_span: TopicPoses, stream: Stream) -> Feed:
        topic = spec.topic + suffix
        made = StreamSpec(id="derived", topic=topic, type=POSE, frame=base)
        return feed_of_rows(
            stream, place.topic(topic), POSE, rank=place.rank, make=lambda index: _pose_rows(made, *of_span(index))
        )

    by_encoders = poses(joints, straight)
    return [
        feed("", by_encoders, joints),
        feed("_pot", poses(named[POTS], straight), named[POTS]),
        feed("_deflected", poses(joints, bent), joints),
        feed_of_rows(
            joints,
            place.topic(f"{spec.topic}_error"),
            VECTOR,
            rank=place.rank,
            make=lambda index: _error_rows(base, *by_encoders(index), archived.load(index)),
        ),
        feed_of_rows(joints, "/tf", TF, rank=place.tf_rank, make=tf),
    ]


def _pose_rows(spec: StreamSpec, stamp_ns: Stamps, poses: Array) -> Rows:
    orientation = quaternion_from_rotation(poses[:, :3, :3])
    record = records.Pose(stamp_ns=stamp_ns, position_m=poses[:, :3, 3], orientation_xyzw=orientation)
    return stamp_ns, encode(record, spec) if len(stamp_ns) else NO_ROWS


def _error_rows(frame: str, stamp_ns: Stamps, poses: Array, archived: records.Record) -> Rows:
    """Where the archive's own place has the time of one that is computed: by how much this lies beside it."""
    if not isinstance(archived, records.Pose):
        raise TypeError(f"expected poses, got {type(archived).__name__}")
    shared, ours, theirs = np.intersect1d(stamp_ns, archived.stamp_ns, return_indices=True)
    data, rows = stamped_rows(VECTOR, records.Record(stamp_ns=shared), frame)
    set_axes(rows, "vector", poses[ours, :3, 3] - archived.position_m[theirs])
    return shared, data
