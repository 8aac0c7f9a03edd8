"""Odometry of four steered wheels on wheels/odom and tf, and on wheels/expected what a twist would need of them.

Subscribes platform/joint_states and platform/wheel_speeds, whose messages of one time belong together, and
platform/twist_estimate. When time jumps back it starts anew, and says so.
"""

import sys
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState

from fieldplay_kinematics import robots
from fieldplay_kinematics.dead_reckoning import Reckoning
from fieldplay_kinematics.nodes.messages import (
    SENSOR,
    base_settings,
    careful,
    given,
    ns_of,
    odometry_message,
    positions_of,
    transform_message,
)
from fieldplay_kinematics.nodes.pairs import Pairs
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from tf2_ros import TransformBroadcaster


class WheelOdometry(Node):
    """Dead reckoning from the wheels."""

    def __init__(self, **options: Any) -> None:
        super().__init__("wheel_odometry", **options)
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        self._frame = prefix + given(self, "frame", "odom", "frame of the odometry")
        self._child = prefix + given(self, "child_frames", ["base_link"], "frame of the base, as the only one")[0]
        self._base = robots.base_from_settings(base_settings(self))
        step_meaning = "a longer gap is not driven through to its end"
        longest_s = given(self, "longest_step_s", robots.LONGEST_STEP_S, step_meaning)
        self._stepping = robots.stepping_from_settings({"longest_step_s": longest_s})
        self._tf = TransformBroadcaster(self) if given(self, "odom_tf", True, "publish tf") else None
        self._odom = self.create_publisher(Odometry, "wheels/odom", SENSOR)
        self._expected = self.create_publisher(JointState, "wheels/expected", SENSOR)
        self._last: Reckoning | None = None
        self._pairs = Pairs(self._publish)
        self._jumps = reset_on_jump_back(self, self._reset)
        self._inputs = [
            self.create_subscription(JointState, "platform/joint_states", careful(self, self._pairs.first), SENSOR),
            self.create_subscription(JointState, "platform/wheel_speeds", careful(self, self._pairs.second), SENSOR),
            self.create_subscription(TwistWithCovarianceStamped, "platform/twist_estimate", self._expect, SENSOR),
        ]

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        now_ns = self.get_clock().now().nanoseconds
        if self._last is None or self._last.stamp_ns <= now_ns + NEWS_NS:
            return
        self._last = None
        self._pairs.forget()

    def _publish(self, joints: JointState, speeds: JointState) -> None:
        stamp = joints.header.stamp
        if self._last is not None and ns_of(stamp) < self._last.stamp_ns:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
            self._last = None
        steering = robots.of_joints(joints.name, positions_of(joints)[None], robots.STEERS)
        rim_speeds = robots.of_joints(speeds.name, np.array([speeds.velocity]), robots.DRIVES)
        stamps = np.array([ns_of(stamp)])
        found = robots.wheel_odometry_from_wheels(
            self._base, self._last, stamps, steering=steering, rim_speeds=rim_speeds, stepping=self._stepping
        )
        self._last = found.last
        transform = robots.planar_transforms(found.poses[0])
        covariances = found.pose_covariances[0], found.twist_covariances[0]
        message = odometry_message(transform, found.twists[0], covariances[0], twist_covariance=covariances[1])
        message.header.frame_id, message.header.stamp, message.child_frame_id = self._frame, stamp, self._child
        self._odom.publish(message)
        if self._tf is not None:
            self._tf.sendTransform(transform_message(self._frame, self._child, transform, stamp))

    def _expect(self, estimate: TwistWithCovarianceStamped) -> None:
        twist = estimate.twist.twist
        planar = np.array([twist.linear.x, twist.linear.y, twist.angular.z])
        names, positions, velocities = robots.expected_wheels_from_twist(self._base, planar)
        message = JointState(name=list(names), position=positions.tolist(), velocity=velocities.tolist())
        message.header.stamp = estimate.header.stamp
        self._expected.publish(message)


def main() -> int:
    """The program `wheel_odometry`; the exit code."""
    return run(WheelOdometry)


if __name__ == "__main__":
    sys.exit(main())
