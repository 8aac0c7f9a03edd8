"""The static tf tree of a dataset as one message."""

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive import records
from fieldplay_archive.archive import Archive
from fieldplay_archive.spec import DatasetSpec
from fieldplay_archive.stamps import NS_PER_S
from fieldplay_archive.streams import Span
from fieldplay_kinematics.extrinsics import Edge, edges_from_published
from fieldplay_kinematics.transforms import (
    quaternion_from_rotation,
    rotation_about_axis,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay_player.cdr.layout import layout_of
from fieldplay_player.feeds import Feed, RowMessages, SpanMessages

TF = "tf2_msgs/msg/TFMessage"


def static_edges(spec: DatasetSpec) -> list[Edge]:
    """The transforms of the dataset's own extrinsics, as its tree has them."""
    return edges_from_published(spec.extrinsics, spec.tree)


def tf_message(edges: list[Edge], stamp_ns: int, frame_prefix: str = "") -> NDArray[np.uint8]:
    """One TFMessage with all edges, as (1, size) bytes."""
    texts: dict[str, str | int] = {"transforms": len(edges)}
    for index, edge in enumerate(edges):
        texts[f"transforms[{index}].header.frame_id"] = frame_prefix + edge.parent
        texts[f"transforms[{index}].child_frame_id"] = frame_prefix + edge.child
    data, rows = layout_of(TF, texts).rows(1)
    for index, edge in enumerate(edges):
        path = f"transforms[{index}]"
        rows[f"{path}.header.stamp.sec"], rows[f"{path}.header.stamp.nanosec"] = divmod(stamp_ns, NS_PER_S)
        for axis, value in zip("xyz", edge.parent_t_child[:3, 3], strict=True):
            rows[f"{path}.transform.translation.{axis}"] = value
        for axis, value in zip("xyzw", quaternion_from_rotation(edge.parent_t_child[:3, :3]), strict=True):
            rows[f"{path}.transform.rotation.{axis}"] = value
    return data


def map_edges(archive: Archive, first_ns: int) -> list[Edge]:
    """A level map -> odom that puts an odometry which starts at first_ns on the first true pose, if there are both."""
    spec = archive.spec
    odometry = [derived for derived in spec.derived if derived.odom_tf]
    able = [derived for derived in odometry if all(name in archive.streams for name in derived.streams)]
    truth = archive.streams.get(spec.truth)
    if not able or truth is None:
        return []
    for index in sorted(range(len(truth.spans)), key=lambda index: truth.spans[index].first_ns):
        record = truth.load(index)
        later = np.flatnonzero(record.stamp_ns >= first_ns)
        if isinstance(record, records.Odometry) and len(later):
            (frame,) = (stream.frame for stream in spec.streams if stream.id == spec.truth)
            turned = rotation_from_quaternion(record.orientation_xyzw[later[0]])
            level = rotation_about_axis(2, np.arctan2(turned[1, 0], turned[0, 0]))
            return [Edge(frame, able[0].frame, transform_from_rotation(level, record.position_m[later[0]]))]
    return []


def feed_of_static_frames(edges: list[Edge], stamp_ns: int, frame_prefix: str, rank: int) -> Feed:
    """/tf_static with the whole tree, once."""

    def load(_: int) -> tuple[NDArray[np.int64], SpanMessages]:
        return np.array([stamp_ns], np.int64), RowMessages(tf_message(edges, stamp_ns, frame_prefix))

    return Feed(
        topic="/tf_static",
        msgtype=TF,
        spans=[Span(stamp_ns, stamp_ns, 1)],
        load=load,
        rank=rank,
        latched=True,
        standing=True,
    )
