"""Odometry of a skid-steered base on wheels/odom, and on tf where it is asked for.

Subscribes payload/wheels. One odometry for each message from which both sides are known, at its time. When time jumps
back it starts anew, and says so.
"""

import sys
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState

from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, ns_of, odometry_message, transform_message
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.time_jumps import NEWS_NS, reset_on_jump_back
from fieldplay_kinematics.robots import planar_transforms
from fieldplay_kinematics.skid_steer_odometry import (
    SkidSteerSettings,
    SkidSteerState,
    skid_steer_from_settings,
    skid_steer_odometry_from_wheels,
    wheel_rates_of_joints,
)
from tf2_ros import TransformBroadcaster

NUMBERS = {
    "wheel_radius_m": "the radius on which a wheel rolls",
    "track_m": "the effective track: wider than from wheel to wheel, as the wheels skid in a turn",
    "speed_std_m_s": "standard deviation of each side's speed that is always there",
    "slip_share": "and its part that grows with the speed, in parts of it",
    "track_share": "standard deviation of the turn rate, in parts of it, as the track depends on the ground",
    "slide_share": "standard deviation of the slide to the side, in parts of how much faster one side is",
}


class SkidSteerOdometry(Node):
    """Dead reckoning from the wheels of two sides."""

    def __init__(self, **options: Any) -> None:
        super().__init__("skid_steer_odometry", **options)
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        self._frame = prefix + given(self, "frame", "odom", "frame of the odometry")
        self._child = prefix + given(self, "child_frames", ["base_link"], "frame of the base, as the only one")[0]
        self._settings = _declared_settings(self)
        self._tf = TransformBroadcaster(self) if given(self, "odom_tf", False, "publish tf") else None
        self._odom = self.create_publisher(Odometry, "wheels/odom", SENSOR)
        self._last: SkidSteerState | None = None
        self._jumps = reset_on_jump_back(self, self._reset)
        self._wheels = self.create_subscription(JointState, "payload/wheels", careful(self, self._publish), SENSOR)

    def _reset(self) -> None:
        """Forget what lies ahead; what came since the jump may have come before the clock's news of it."""
        now_ns = self.get_clock().now().nanoseconds
        if self._last is not None and self._last.held.stamp_ns > now_ns + NEWS_NS:
            self._last = None

    def _publish(self, joints: JointState) -> None:
        stamp, stamps = joints.header.stamp, np.array([ns_of(joints.header.stamp)])
        rates = wheel_rates_of_joints(joints.name, np.array([joints.velocity]))
        if self._last is not None and stamps[0] < self._last.held.stamp_ns:
            self.get_logger().warning("the times of the messages jumped back: starting anew")
            self._last = None
        found = skid_steer_odometry_from_wheels(self._settings, self._last, stamps, rates)
        self._last = found.last
        if not len(found.stamp_ns):
            return
        transform = planar_transforms(found.poses[0])
        covariances = found.pose_covariances[0], found.twist_covariances[0]
        message = odometry_message(transform, found.twists[0], covariances[0], twist_covariance=covariances[1])
        message.header.frame_id, message.header.stamp, message.child_frame_id = self._frame, stamp, self._child
        self._odom.publish(message)
        if self._tf is not None:
            self._tf.sendTransform(transform_message(self._frame, self._child, transform, stamp))


def _declared_settings(node: Node) -> SkidSteerSettings:
    settings = {name: given(node, name, 0.0, meaning) for name, meaning in NUMBERS.items()}
    settings["longest_hold_s"] = given(node, "longest_hold_s", 0.5, "so long the rate of a side is held")
    settings["longest_step_s"] = given(node, "longest_step_s", 1.0, "a longer gap is not driven through to its end")
    return skid_steer_from_settings(settings)


def main() -> int:
    """The program `skid_steer_odometry`; the exit code."""
    return run(SkidSteerOdometry)


if __name__ == "__main__":
    sys.exit(main())
