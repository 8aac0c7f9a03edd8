"""The way that odometry tells of, on path.

Subscribes the topic of odometry that the parameter `odometry` names. When time jumps back it starts anew, and says so.
"""

import sys
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node

from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, ns_of
from fieldplay_kinematics.nodes.paths import PathTopic
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from fieldplay_kinematics.odometry_path import PathState, path_from_poses
from fieldplay_kinematics.trail import TrailLimits


class OdometryPath(Node):
    """A trail of the poses that come."""

    def __init__(self, **options: Any) -> None:
        super().__init__("odometry_path", **options)
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        topic = given(self, "odometry", "odom", "the topic whose poses make the path")
        step = given(self, "path_step_m", 1.0, "the path has about one pose for each such way")
        poses = given(self, "path_poses", 1000, "and no more of them than this: then every other one goes")
        self._limits = TrailLimits(step_m=step, poses=poses)
        self._path = PathTopic(self, prefix + given(self, "frame", "odom", "frame of the odometry"))
        self._last: PathState | None = None
        self._jumps = reset_on_jump_back(self, self._reset)
        self._odometry = self.create_subscription(Odometry, topic, careful(self, self._publish), SENSOR)

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        if self._last is not None and self._last.stamp_ns > self.get_clock().now().nanoseconds + NEWS_NS:
            self._last = None

    def _publish(self, odometry: Odometry) -> None:
        stamps = np.array([ns_of(odometry.header.stamp)])
        place, turn = odometry.pose.pose.position, odometry.pose.pose.orientation
        pose = np.array([[place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]])
        if self._last is not None and stamps[0] < self._last.stamp_ns:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
            self._last = None
        growths, self._last = path_from_poses(self._limits, self._last, stamps, pose)
        self._path.publish(growths)


def main() -> int:
    """The program `odometry_path`; the exit code."""
    return run(OdometryPath)


if __name__ == "__main__":
    sys.exit(main())
