"""The ends of arms and their links."""

from collections.abc import Sequence

from fieldplay_archive.outlets.derived.parts import Place, Rows, feed_of_rows, positions_of
from fieldplay_archive.outlets.derived.pose_messages import TF, tf_rows
from fieldplay_archive.spec import DerivedSpec
from fieldplay_kinematics import robots
from fieldplay_kinematics.transforms import quaternion_from_rotation
from fieldplay_messages import records
from fieldplay_messages.cdr.encoders import encode
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

POSE = "geometry_msgs/msg/PoseStamped"


def arm_tcp(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """The end of an arm in its base, and the transforms of its links."""
    rows = robots.arm_from_settings(spec.settings)
    (joints,) = streams
    frames = [place.frame_prefix + name for name in (spec.frame, *spec.child_frames)]
    pose_spec = StreamSpec(id="derived", topic=spec.topic, type=POSE, frame=frames[0])

    def pose(index: int) -> Rows:
        record, positions = positions_of(joints, index)
        _, end = robots.arm_from_joints(rows, positions)
        orientation = quaternion_from_rotation(end[:, :3, :3])
        made = records.Pose(stamp_ns=record.stamp_ns, position_m=end[:, :3, 3], orientation_xyzw=orientation)
        return record.stamp_ns, encode(made, pose_spec)

    def tf(index: int) -> Rows:
        record, positions = positions_of(joints, index)
        steps, _ = robots.arm_from_joints(rows, positions)
        return record.stamp_ns, tf_rows(frames[:-1], frames[1:], record.stamp_ns, steps)

    return [
        feed_of_rows(joints, place.topic(spec.topic), POSE, rank=place.rank, make=pose),
        feed_of_rows(joints, "/tf", TF, rank=place.tf_rank, make=tf),
    ]
