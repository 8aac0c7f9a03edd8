"""A growing Path on a topic, kept for those who come late."""

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from nav_msgs.msg import Path
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from fieldplay_kinematics.nodes.messages import pose_message
from fieldplay_kinematics.robots import planar_transforms
from fieldplay_kinematics.trail import PLANAR, Growth
from fieldplay_kinematics.transforms import Array

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class PathTopic:
    """The trail of a robot on the topic `path`, a message for each pose that comes to it."""

    def __init__(self, node: Node, frame: str) -> None:
        self._frame = frame
        self._publisher = node.create_publisher(Path, "path", LATCHED)
        self._poses: dict[int, PoseStamped] = {}  # those of the last message, by their times

    def publish(self, growths: list[Growth]) -> None:
        """Tell of a trail that may have grown by one row."""
        for growth in growths:
            kept = growth.kept
            if growth.first == 1:
                self._poses.clear()
            self._poses = {
                stamp_ns: self._poses.get(stamp_ns) or self._pose(stamp_ns, growth, index)
                for index, stamp_ns in enumerate(kept.stamp_ns.tolist())
            }
            message = Path(poses=list(self._poses.values()))
            message.header = message.poses[-1].header
            self._publisher.publish(message)

    def _pose(self, stamp_ns: int, growth: Growth, index: int) -> PoseStamped:
        made = PoseStamped(pose=_pose_of_row(growth.kept.poses[index]))
        made.header.frame_id, made.header.stamp = self._frame, stamp_of(stamp_ns)
        return made


def _pose_of_row(row: Array) -> Pose:
    """From x, y, yaw (3,), or from x, y, z and a quaternion (7,), which stays as it is."""
    if len(row) == PLANAR:
        return pose_message(planar_transforms(row))
    x, y, z, *turn = row.tolist()
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(**dict(zip("xyzw", turn, strict=True))))


def stamp_of(stamp_ns: int) -> Time:
    """A time from nanoseconds."""
    sec, nanosec = divmod(stamp_ns, 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)
