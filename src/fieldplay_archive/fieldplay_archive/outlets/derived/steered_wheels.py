"""Four steered wheels: their poses, their odometry, and what a twist would need of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fieldplay_archive.outlets.derived.parts import (
    NO_ROWS,
    Chain,
    Place,
    Rows,
    Stamps,
    feed_of_rows,
    positions_of,
    velocities_of,
)
from fieldplay_archive.outlets.derived.pose_messages import (
    ODOMETRY,
    POSES,
    TF,
    planar_odometry_rows,
    pose_array_rows,
    tf_rows,
)
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics import robots
from fieldplay_kinematics.dead_reckoning import Reckoning
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.cdr.encoders import encode
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

JOINTS = "sensor_msgs/msg/JointState"


def wheel_poses(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """The wheels in the base, as poses and as transforms."""
    base = robots.base_from_settings(spec.settings)
    (joints,) = streams
    frame = place.frame_prefix + spec.frame
    children = [place.frame_prefix + child for child in spec.child_frames]

    def poses(index: int) -> tuple[Stamps, Array]:
        record, positions = positions_of(joints, index)
        return record.stamp_ns, robots.wheel_poses_from_joints(base, record.names, positions)

    def array(index: int) -> Rows:
        stamp_ns, transforms = poses(index)
        return stamp_ns, pose_array_rows(frame, stamp_ns, transforms)

    def tf(index: int) -> Rows:
        stamp_ns, transforms = poses(index)
        return stamp_ns, tf_rows([frame] * len(children), children, stamp_ns, transforms)

    return [
        feed_of_rows(joints, place.topic(spec.topic), POSES, rank=place.rank, make=array),
        feed_of_rows(joints, "/tf", TF, rank=place.tf_rank, make=tf),
    ]


def expected_wheels(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """The steering angles and rim speeds that twists need."""
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

    return [feed_of_rows(twists, place.topic(spec.topic), JOINTS, rank=place.rank, make=expected)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wheels:
    """Steering angles and rim speeds (n, 4)."""

    steering: Array
    rim_speeds: Array


def _odometry(
    spec: DerivedSpec, streams: Sequence[Stream], first_ns: int
) -> Chain[_Wheels, Reckoning, robots.WheelOdometry]:
    base, stepping = robots.base_from_settings(spec.settings), robots.stepping_from_settings(spec.settings)
    joints, speeds = streams

    def inputs(index: int) -> tuple[Stamps, _Wheels]:
        """The rows that both streams have, from the beginning on."""
        angles, positions = positions_of(joints, index)
        rims, velocities = velocities_of(speeds, index)
        stamp_ns, of_joints, of_speeds = np.intersect1d(angles.stamp_ns, rims.stamp_ns, return_indices=True)
        kept = stamp_ns >= first_ns
        steering = robots.of_joints(angles.names, positions[of_joints], robots.STEERS)
        rim_speeds = robots.of_joints(rims.names, velocities[of_speeds], robots.DRIVES)
        return stamp_ns[kept], _Wheels(steering=steering[kept], rim_speeds=rim_speeds[kept])

    def compute(before: Reckoning | None, stamp_ns: Stamps, wheels: _Wheels) -> tuple[robots.WheelOdometry, Reckoning]:
        found = robots.wheel_odometry_from_wheels(
            base, before, stamp_ns, steering=wheels.steering, rim_speeds=wheels.rim_speeds, stepping=stepping
        )
        return found, found.last

    return Chain(inputs, compute)


def wheel_odometry(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """Odometry of the base, and its transform."""
    odometry = _odometry(spec, streams, place.first_ns)
    frame, child = place.frame_prefix + spec.frame, place.frame_prefix + spec.child_frames[0]
    odom_spec = StreamSpec(id="derived", topic=spec.topic, type=ODOMETRY, frame=frame, child_frame=child)

    def odom(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        return stamp_ns, NO_ROWS if found is None else planar_odometry_rows(odom_spec, stamp_ns, found)

    def tf(index: int) -> Rows:
        stamp_ns, found = odometry.rows(index)
        if found is None:
            return stamp_ns, NO_ROWS
        return stamp_ns, tf_rows([frame], [child], stamp_ns, robots.planar_transforms(found.poses)[:, None])

    feeds = [feed_of_rows(streams[0], place.topic(spec.topic), ODOMETRY, rank=place.rank, make=odom)]
    if place.odom_tf:
        feeds.append(feed_of_rows(streams[0], "/tf", TF, rank=place.tf_rank, make=tf))
    return feeds
