"""The static tf tree of a dataset as one message."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec, DerivedSpec
from fieldplay.geometry.extrinsics import Edge, edges_from_published
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_about_axis,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.messages import records
from fieldplay.messages.records import Record
from fieldplay.messages.rectification import Rectification
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.stream import InMemoryStream, Stream
from fieldplay.streams.topic_stream import TopicStream, numeric_topic_stream
from fieldplay.topics.dynamic_tf import ODOM_TF
from fieldplay.topics.gnss_map_frame import (
    Odometry,
    edge_from_fixes,
    edge_of_positions,
    streams_of_odometry,
)

TF = "tf2_msgs/msg/TFMessage"
Stamps = NDArray[np.int64]


def static_edges(spec: DatasetSpec) -> list[Edge]:
    """The transforms of the dataset's own extrinsics, as its tree has them."""
    return edges_from_published(spec.extrinsics, spec.tree)


def rectified_frame_edges(archive: Archive) -> list[Edge]:
    """Transforms from the cameras' frames to those of their rectified images, where they are rotated."""
    edges: list[Edge | None] = []
    for stream in archive.spec.streams:
        camera = archive.spec.cameras.get(stream.camera)
        if camera is not None and stream.id in archive.streams:
            edges.append(rectified_frame_edge(Rectification(camera), stream.frame))
    return [edge for edge in edges if edge is not None]


def rectified_frame_edge(rectification: Rectification, frame: str) -> Edge | None:
    """The transform from a camera's frame to that of its rectified images; None where they are the same."""
    if not rectification.is_rotated:
        return None
    return Edge(frame, rectification.frame(frame), transform_from_rotation(rectification.rotation.T, np.zeros(3)))


def record_of_edges(edges: list[Edge], stamp_ns: int, frame_prefix: str = "") -> records.Transforms:
    """All edges at one time."""
    return records.Transforms(
        stamp_ns=np.array([stamp_ns], np.int64),
        parents=tuple(frame_prefix + edge.parent for edge in edges),
        children=tuple(frame_prefix + edge.child for edge in edges),
        translation_m=np.array([[edge.parent_t_child[:3, 3] for edge in edges]]).reshape(1, -1, 3),
        rotation_xyzw=np.array([[quaternion_from_rotation(edge.parent_t_child[:3, :3]) for edge in edges]]).reshape(
            1, -1, 4
        ),
    )


def map_edges(archive: Archive, first_ns: int) -> list[Edge]:
    """A level map -> odom that puts the odometry on the true pose where it begins, if there are both.

    A computed odometry starts at zero with the first rows from first_ns on, or where the play head jumps there; one of
    the archive is where it is, whenever it is played from.
    """
    spec = archive.spec
    truth = next((stream for stream in spec.streams if stream.id == spec.truth and stream.id in archive.streams), None)
    odometry = [derived for derived in spec.derived if derived.odom_tf]
    able = _odometry_specs(archive)
    if spec.gnss_map_frame is not None:
        return _map_edges_of_fixes(archive, first_ns)
    if truth is None:
        return []
    if not able:
        return _map_edges_of_archived(archive, truth) if not odometry else []
    pose = _pose_at(archive.streams[truth.id], _odometry_start_ns(archive, able[0], first_ns))
    if pose is None:
        return []
    return [Edge(truth.frame, able[0].frame, transform_from_rotation(_level(pose), pose[:3, 3]))]


def why_no_map(archive: Archive, first_ns: int) -> str:
    """A line where there is odometry from first_ns on, but the fixes cannot place it, or what else; else none."""
    odometry, config = _odometry_in_map(archive), archive.spec.gnss_map_frame
    if odometry is None or config is None:
        return ""
    edge = _map_edge_of_fixes(archive, odometry, first_ns)
    if isinstance(edge, str):
        return f"map -> {odometry.frame}: not sent: {edge}"
    positions = edge_of_positions(archive, config)
    frame = next((stream.frame for stream in archive.spec.streams if stream.id == config.positions), "")
    return f"map -> {frame}: not sent: {positions}" if isinstance(positions, str) else ""


def _map_edges_of_fixes(archive: Archive, first_ns: int) -> list[Edge]:
    """Make map -> odom by the fixes of the antenna, and map -> the frame of its other positions, if any."""
    odometry, config = _odometry_in_map(archive), archive.spec.gnss_map_frame
    if odometry is None or config is None:
        return []
    map_edge = _map_edge_of_fixes(archive, odometry, first_ns)
    edges = (map_edge, edge_of_positions(archive, config)) if isinstance(map_edge, Edge) else ()
    return [edge for edge in edges if isinstance(edge, Edge)]


def _odometry_in_map(archive: Archive) -> Odometry | None:
    """The computed odometry, else the archive's own that places the base instead; None where there is neither."""
    able, spec = _odometry_specs(archive), archive.spec
    own = [stream for stream in spec.streams if stream.tf in spec.tf_fallback and stream.id in archive.streams]
    candidates: list[Odometry] = [*able, *own]
    return candidates[0] if candidates else None


def _odometry_specs(archive: Archive) -> list[DerivedSpec]:
    """The odometry that the archive has the streams for."""
    return [spec for spec in archive.spec.derived if spec.odom_tf and set(spec.streams) <= set(archive.streams)]


def _map_edge_of_fixes(archive: Archive, odometry: Odometry, first_ns: int) -> Edge | str:
    """By the fixes of the antenna; or why there is none. An odometry of the archive is anchored where it starts."""
    config = archive.spec.gnss_map_frame
    if config is None:
        return "the dataset has no map of fixes"
    antenna = next(stream.frame for stream in archive.spec.streams if stream.id == config.stream)
    is_computed = isinstance(odometry, DerivedSpec)
    base = odometry.child_frames[0] if isinstance(odometry, DerivedSpec) else odometry.child_frame
    base_T_antenna = _static_transform(static_edges(archive.spec), base, antenna)
    if base_T_antenna is None:
        return f"no static frames join {base} and {antenna}"
    start_ns = _odometry_start_ns(archive, odometry, first_ns if is_computed else 0)
    return edge_from_fixes(archive, config, odometry, start_ns, base_T_antenna)


def _odometry_start_ns(archive: Archive, odometry: Odometry, first_ns: int) -> int:
    return max(_first_time(archive.streams[name], first_ns) for name in streams_of_odometry(odometry))


def _map_edges_of_archived(archive: Archive, truth: StreamSpec) -> list[Edge]:
    """The same for odometry that the archive holds: its pose at the time of the first true one counts."""
    edges = static_edges(archive.spec)
    for stream in archive.spec.streams:
        base = stream.child_frame
        known = edges if base != truth.child_frame else []
        truth_T_base = _static_transform(known, truth.child_frame, base)
        if stream.tf != ODOM_TF or stream.id not in archive.streams or truth_T_base is None:
            continue
        pair = _poses_at_one_time(archive.streams[truth.id], archive.streams[stream.id])
        if pair is not None:
            map_T_base, odom_T_base = pair[0] @ truth_T_base, pair[1]
            level = _level(map_T_base) @ _level(odom_T_base).T
            translation = map_T_base[:3, 3] - level @ odom_T_base[:3, 3]
            return [Edge(truth.frame, stream.frame, transform_from_rotation(level, translation))]
    return []


def _level(pose: Array) -> Array:
    """The turn about the vertical (3, 3) of a pose (4, 4)."""
    return rotation_about_axis(2, np.arctan2(pose[1, 0], pose[0, 0]))


def _poses_at_one_time(truth: Stream, odometry: Stream) -> tuple[Array, Array] | None:
    """The first true pose (4, 4) at or after the odometry's begin, and the odometry's that follows it."""
    if not len(odometry.spans):
        return None
    first = _first_pose(truth, min(span.first_ns for span in odometry.spans))
    second = None if first is None else _first_pose(odometry, first[0])
    return None if first is None or second is None else (first[1], second[1])


def _first_pose(stream: Stream, first_ns: int) -> tuple[int, Array] | None:
    """The first pose (4, 4) at or after a time, and its time."""
    for index in sorted(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns):
        if stream.spans[index].last_ns >= first_ns:
            pose = _select_pose(stream.load(index), lambda times_ns: np.flatnonzero(times_ns >= first_ns)[:1])
            if pose is not None:
                return pose
    return None


def _first_time(stream: Stream, first_ns: int) -> int:
    """The time of the first row at or after a time; that time itself where there is none."""
    for index in sorted(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns):
        if stream.spans[index].last_ns >= first_ns:
            stamp_ns = stream.load(index).stamp_ns
            later = stamp_ns[stamp_ns >= first_ns]
            if len(later):
                return int(later.min())
    return first_ns


def _pose_at(stream: Stream, time_ns: int) -> Array | None:
    """The pose (4, 4) at a time, between the two that are nearest before and after; the only one where one is."""
    after, before = _first_pose(stream, time_ns), _last_pose(stream, time_ns)
    if after is None or before is None or after[0] == before[0]:
        nearest = after or before
        return None if nearest is None else nearest[1]
    fraction = (time_ns - before[0]) / (after[0] - before[0])
    position = (1 - fraction) * before[1][:3, 3] + fraction * after[1][:3, 3]
    quaternions = np.stack([quaternion_from_rotation(pose[:3, :3]) for _, pose in (before, after)])
    quaternions[1] *= 1 if quaternions[0] @ quaternions[1] >= 0 else -1
    between = (1 - fraction) * quaternions[0] + fraction * quaternions[1]
    return transform_from_rotation(rotation_from_quaternion(between / np.linalg.norm(between)), position)


def _last_pose(stream: Stream, last_ns: int) -> tuple[int, Array] | None:
    """The last pose (4, 4) at or before a time, and its time."""
    for index in sorted(range(len(stream.spans)), key=lambda index: -stream.spans[index].last_ns):
        if stream.spans[index].first_ns <= last_ns:
            pose = _select_pose(stream.load(index), lambda times_ns: np.flatnonzero(times_ns <= last_ns)[-1:])
            if pose is not None:
                return pose
    return None


def _select_pose(record: Record, choose: Callable[[Stamps], NDArray[np.intp]]) -> tuple[int, Array] | None:
    """The pose (4, 4) of the row that `choose` selects by the times, and its time."""
    rows = choose(record.leaves_ns)
    if not isinstance(record, records.Odometry) or not len(rows):
        return None
    rotation = rotation_from_quaternion(record.orientation_xyzw[rows[0]])
    return int(record.leaves_ns[rows[0]]), transform_from_rotation(rotation, record.position_m[rows[0]])


def _static_transform(edges: list[Edge], parent: str, child: str) -> Array | None:
    """parent_T_child (4, 4) along static edges, in whichever direction they are; None where they do not lead there."""
    reached = {parent: np.eye(4)}
    waiting = [parent]
    while waiting:
        frame = waiting.pop()
        for edge in edges:
            steps = {edge.parent: (edge.child, edge.parent_t_child)}
            steps[edge.child] = edge.parent, inverse_from_transform(edge.parent_t_child)
            other, step = steps.get(frame, (frame, np.eye(4)))
            if other not in reached:
                reached[other] = reached[frame] @ step
                waiting.append(other)
    return reached.get(child)


def feed_of_static_frames(edges: list[Edge], stamp_ns: int, frame_prefix: str, rank: int) -> TopicStream:
    """/tf_static with the whole tree, once."""
    tree = InMemoryStream(record_of_edges(edges, stamp_ns, frame_prefix))
    spec = StreamSpec(id="", topic="/tf_static", type=TF)
    return numeric_topic_stream(tree, spec, spec.topic, rank=rank, latched=True, static=True)
