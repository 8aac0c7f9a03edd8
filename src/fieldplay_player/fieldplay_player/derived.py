"""What the kinematics nodes would publish, in batch and by the same functions: feeds beside those of the archive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive import records
from fieldplay_archive.archive import Archive
from fieldplay_archive.spec import DerivedSpec, StreamSpec
from fieldplay_archive.streams import Stream
from fieldplay_kinematics import robots
from fieldplay_kinematics.dead_reckoning import Reckoning
from fieldplay_kinematics.planar_motion import quaternion_from_yaw
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_player.cdr.layout import layout_of
from fieldplay_player.encoders import encode, set_axes, set_stamp, stamped_rows
from fieldplay_player.feeds import Feed, RowMessages, SpanMessages

TF, ODOMETRY, POSES = "tf2_msgs/msg/TFMessage", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseArray"
POSE, JOINTS = "geometry_msgs/msg/PoseStamped", "sensor_msgs/msg/JointState"

Bytes = NDArray[np.uint8]
Rows = tuple[NDArray[np.int64], Bytes]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where derived topics go: names before topics and frames, and what comes first at equal times."""

    topic: Callable[[str], str]
    frame_prefix: str
    tf_rank: int
    rank: int
    first_ns: int  # rows before it are not there, as they are not for a node


def feeds_of_derived(archive: Archive, place: Place) -> list[Feed]:
    """All that can be computed of the streams that the archive has."""
    return [
        feed
        for spec in archive.spec.derived
        if all(name in archive.streams for name in spec.streams)
        for feed in KINDS[spec.kind](spec, [archive.streams[name] for name in spec.streams], place)
    ]


def _feed(stream: Stream, topic: str, msgtype: str, rank: int, make: Callable[[int], Rows]) -> Feed:
    def load(index: int) -> tuple[NDArray[np.int64], SpanMessages]:
        stamp_ns, data = make(index)
        return stamp_ns, RowMessages(data)

    return Feed(topic=topic, msgtype=msgtype, spans=stream.spans, load=load, rank=rank, stream="derived")


def _positions(stream: Stream, index: int) -> tuple[records.Joints, Array]:
    record = stream.load(index)
    if not isinstance(record, records.Joints) or record.position is None:
        raise TypeError(f"expected positions of joints, got {type(record).__name__}")
    return record, record.position


def _wheel_poses(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    base = robots.base_from_settings(spec.settings)
    (joints,) = streams
    frame = place.frame_prefix + spec.frame
    children = [place.frame_prefix + child for child in spec.child_frames]

    def poses(index: int) -> tuple[NDArray[np.int64], Array]:
        record, positions = _positions(joints, index)
        return record.stamp_ns, robots.wheel_poses_from_joints(base, record.names, positions)

    def array(index: int) -> Rows:
        stamp_ns, transforms = poses(index)
        return stamp_ns, pose_array_rows(frame, stamp_ns, transforms)

    def tf(index: int) -> Rows:
        stamp_ns, transforms = poses(index)
        return stamp_ns, tf_rows([frame] * len(children), children, stamp_ns, transforms)

    return [
        _feed(joints, place.topic(spec.topic), POSES, place.rank, array),
        _feed(joints, "/tf", TF, place.tf_rank, tf),
    ]


def _arm_tcp(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    rows = robots.arm_from_settings(spec.settings)
    (joints,) = streams
    frames = [place.frame_prefix + name for name in (spec.frame, *spec.child_frames)]
    pose_spec = StreamSpec(id="derived", topic=spec.topic, type=POSE, frame=frames[0])

    def pose(index: int) -> Rows:
        record, positions = _positions(joints, index)
        _, end = robots.arm_from_joints(rows, positions)
        orientation = quaternion_from_rotation(end[:, :3, :3])
        made = records.Pose(stamp_ns=record.stamp_ns, position_m=end[:, :3, 3], orientation_xyzw=orientation)
        return record.stamp_ns, encode(made, pose_spec)

    def tf(index: int) -> Rows:
        record, positions = _positions(joints, index)
        steps, _ = robots.arm_from_joints(rows, positions)
        return record.stamp_ns, tf_rows(frames[:-1], frames[1:], record.stamp_ns, steps)

    return [
        _feed(joints, place.topic(spec.topic), POSE, place.rank, pose),
        _feed(joints, "/tf", TF, place.tf_rank, tf),
    ]


def _expected_wheels(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    base = robots.base_from_settings(spec.settings)
    (twists,) = streams
    joint_spec = StreamSpec(id="derived", topic=spec.topic, type=JOINTS)

    def expected(index: int) -> Rows:
        record = twists.load(index)
        if not isinstance(record, records.Twist):
            raise TypeError(f"expected twists, got {type(record).__name__}")
        planar = np.stack([*record.linear_velocity_m_s[:, :2].T, record.angular_velocity_rad_s[:, 2]], axis=-1)
        names, positions, velocities = robots.expected_wheels_from_twist(base, planar)
        made = records.Joints(stamp_ns=record.stamp_ns, names=names, position=positions, velocity=velocities)
        return record.stamp_ns, encode(made, joint_spec)

    return [_feed(twists, place.topic(spec.topic), JOINTS, place.rank, expected)]


class _Odometry:
    """Wheel odometry span by span: each goes on where the one before ended, and is kept until the next."""

    def __init__(self, spec: DerivedSpec, streams: Sequence[Stream], first_ns: int) -> None:
        self._base = robots.base_from_settings(spec.settings)
        self._joints, self._speeds = streams
        self._first_ns = first_ns
        self._order = sorted(range(len(self._joints.spans)), key=lambda index: self._joints.spans[index].first_ns)
        self._kept: tuple[int, NDArray[np.int64], robots.WheelOdometry | None] | None = None
        self._last: Reckoning | None = None

    def rows(self, index: int) -> tuple[NDArray[np.int64], robots.WheelOdometry | None]:
        """Times and odometry of a span."""
        if self._kept is None or self._kept[0] != index:
            stamp_ns, steering, speeds = self._wheels(index)
            found = None
            if self._last is not None and len(stamp_ns) and stamp_ns[0] < self._last.stamp_ns:
                self._last = None  # time jumped back, as when a recording follows another: start anew
            if len(stamp_ns):
                found = robots.wheel_odometry_from_wheels(self._base, self._last, stamp_ns, steering, speeds)
                self._last = found.last
            self._kept = (index, stamp_ns, found)
        return self._kept[1:]

    def _wheels(self, index: int) -> tuple[NDArray[np.int64], Array, Array]:
        """Times, steering angles and rim speeds of the rows that both streams have, from the beginning on."""
        joints, positions = _positions(self._joints, index)
        speeds = self._speeds.load(index)
        if not isinstance(speeds, records.Joints) or speeds.velocity is None:
            raise TypeError(f"expected velocities of joints, got {type(speeds).__name__}")
        stamp_ns, of_joints, of_speeds = np.intersect1d(joints.stamp_ns, speeds.stamp_ns, return_indices=True)
        kept = stamp_ns >= self._first_ns
        steering = robots.of_joints(joints.names, positions[of_joints], robots.STEERS)
        rim = robots.of_joints(speeds.names, speeds.velocity[of_speeds], robots.DRIVES)
        return stamp_ns[kept], steering[kept], rim[kept]


def _wheel_odometry(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    odometry = _Odometry(spec, streams, place.first_ns)
    frame, child = place.frame_prefix + spec.frame, place.frame_prefix + spec.child_frames[0]
    odom_spec = StreamSpec(id="derived", topic=spec.topic, type=ODOMETRY, frame=frame, child_frame=child)

    def odom(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, np.zeros((0, 1), np.uint8)
        zero = np.zeros(len(stamp_ns))
        made = records.Odometry(
            stamp_ns=stamp_ns,
            position_m=np.stack([found.poses[:, 0], found.poses[:, 1], zero], axis=-1),
            orientation_xyzw=quaternion_from_yaw(found.poses[:, 2]),
            pose_covariance=found.pose_covariances,
            linear_velocity_m_s=np.stack([found.twists[:, 0], found.twists[:, 1], zero], axis=-1),
            angular_velocity_rad_s=np.stack([zero, zero, found.twists[:, 2]], axis=-1),
            twist_covariance=found.twist_covariances,
        )
        return stamp_ns, encode(made, odom_spec)

    def tf(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, np.zeros((0, 1), np.uint8)
        return stamp_ns, tf_rows([frame], [child], stamp_ns, robots.planar_transforms(found.poses)[:, None])

    return [
        _feed(streams[0], place.topic(spec.topic), ODOMETRY, place.rank, odom),
        _feed(streams[0], "/tf", TF, place.tf_rank, tf),
    ]


KINDS: dict[str, Callable[[DerivedSpec, Sequence[Stream], Place], list[Feed]]] = {
    "wheel_poses": _wheel_poses,
    "wheel_odometry": _wheel_odometry,
    "expected_wheels": _expected_wheels,
    "arm_tcp": _arm_tcp,
}


def tf_rows(parents: Sequence[str], children: Sequence[str], stamp_ns: NDArray[np.int64], transforms: Array) -> Bytes:
    """TFMessages with one transform for each child, from parent_T_child (n, children, 4, 4)."""
    texts: dict[str, str | int] = {"transforms": len(children)}
    for index, (parent, child) in enumerate(zip(parents, children, strict=True)):
        texts[f"transforms[{index}].header.frame_id"] = parent
        texts[f"transforms[{index}].child_frame_id"] = child
    data, rows = layout_of(TF, texts).rows(len(stamp_ns))
    quaternions = quaternion_from_rotation(transforms[..., :3, :3])
    for index in range(len(children)):
        path = f"transforms[{index}]"
        set_stamp(rows, f"{path}.header.stamp", stamp_ns)
        set_axes(rows, f"{path}.transform.translation", transforms[:, index, :3, 3])
        set_axes(rows, f"{path}.transform.rotation", quaternions[:, index], "xyzw")
    return data


def pose_array_rows(frame: str, stamp_ns: NDArray[np.int64], transforms: Array) -> Bytes:
    """PoseArrays from frame_T_pose (n, poses, 4, 4)."""
    record = records.Record(stamp_ns=stamp_ns)
    data, rows = stamped_rows(POSES, record, frame, {"poses": transforms.shape[1]})
    quaternions = quaternion_from_rotation(transforms[..., :3, :3])
    for index in range(transforms.shape[1]):
        set_axes(rows, f"poses[{index}].position", transforms[:, index, :3, 3])
        set_axes(rows, f"poses[{index}].orientation", quaternions[:, index], "xyzw")
    return data
