"""Odometry of a base with steered front wheels on odom and tf, and the way that it came on path.

Subscribes wheels/joint_states. One odometry for each, at its time; tf has the base in odom and the joints in the base.
When time jumps back it starts anew, and says so.
"""

import sys
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState

from fieldplay_kinematics.ackermann_odometry import (
    AckermannState,
    ackermann_odometry_from_joints,
    transforms_of_odometry,
    wheels_of_joints,
)
from fieldplay_kinematics.nodes.ackermann_settings import declared_settings
from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, ns_of, odometry_message, transform_message
from fieldplay_kinematics.nodes.paths import PathTopic
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from tf2_ros import TransformBroadcaster


class AckermannOdometry(Node):
    """Dead reckoning from the rear wheels and the steering."""

    def __init__(self, **options: Any) -> None:
        super().__init__("ackermann_odometry", **options)
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        self._frame = prefix + given(self, "frame", "odom", "frame of the odometry")
        children = given(self, "child_frames", ["base_link"], "the base, then the rear wheels and the steering, or not")
        if len(children) not in (1, 4):
            raise ValueError(f"child_frames: expected the base alone or with 3 joints, got {children}")
        self._children = [prefix + child for child in children]
        self._settings = declared_settings(self)
        self._first = 0 if given(self, "odom_tf", True, "publish the base in the odometry's frame on tf") else 1
        self._tf = TransformBroadcaster(self)
        self._odom = self.create_publisher(Odometry, "odom", SENSOR)
        self._path = PathTopic(self, self._frame)
        self._last: AckermannState | None = None
        self._jumps = reset_on_jump_back(self, self._reset)
        self._joints = self.create_subscription(JointState, "wheels/joint_states", careful(self, self._publish), SENSOR)

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        now_ns = self.get_clock().now().nanoseconds
        if self._last is not None and self._last.reckoning.stamp_ns > now_ns + NEWS_NS:
            self._last = None

    def _publish(self, joints: JointState) -> None:
        stamp, stamps = joints.header.stamp, np.array([ns_of(joints.header.stamp)])
        rates, steering = wheels_of_joints(joints.name, *(np.array([v]) for v in (joints.position, joints.velocity)))
        if self._last is not None and stamps[0] < self._last.reckoning.stamp_ns:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
            self._last = None
        found = ackermann_odometry_from_joints(self._settings, self._last, stamps, wheel_rates=rates, steering=steering)
        self._last = found.last
        transforms = transforms_of_odometry(found)[0]
        covariances = found.pose_covariances[0], found.twist_covariances[0]
        message = odometry_message(transforms[0], found.twists[0], covariances[0], twist_covariance=covariances[1])
        message.header.frame_id, message.header.stamp, message.child_frame_id = self._frame, stamp, self._children[0]
        self._odom.publish(message)
        self._path.publish(found.growths)
        parents = [self._frame, *([self._children[0]] * 3)]
        edges = list(zip(parents, self._children, transforms, strict=False))[self._first :]
        if edges:
            self._tf.sendTransform([transform_message(*edge, stamp) for edge in edges])


def main() -> int:
    """The program `ackermann_odometry`; the exit code."""
    return run(AckermannOdometry)


if __name__ == "__main__":
    sys.exit(main())
