"""Poses of four steered wheels from their joints, on wheels/poses and tf.

Subscribes platform/joint_states (drive_1..4, steer_1..4). One output for each input, at its time.
"""

import sys

from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from fieldplay_kinematics.nodes.messages import (
    SENSOR,
    base_settings,
    careful,
    given,
    pose_message,
    positions_of,
    transform_message,
)
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.robots import base_from_settings, wheel_poses_from_joints
from tf2_ros import TransformBroadcaster


class WheelPoses(Node):
    """The wheels in the base."""

    def __init__(self) -> None:
        super().__init__("wheel_poses")
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        self._frame = prefix + given(self, "frame", "base_link", "frame of the base")
        wheels = given(self, "child_frames", [f"wheel_{i}" for i in (1, 2, 3, 4)], "frames of the wheels")
        self._children = [prefix + wheel for wheel in wheels]
        self._base = base_from_settings(base_settings(self))
        self._poses = self.create_publisher(PoseArray, "wheels/poses", SENSOR)
        self._tf = TransformBroadcaster(self)
        self._joints = self.create_subscription(
            JointState, "platform/joint_states", careful(self, self._publish), SENSOR
        )

    def _publish(self, joints: JointState) -> None:
        poses = wheel_poses_from_joints(self._base, joints.name, positions_of(joints))
        message = PoseArray(poses=[pose_message(pose) for pose in poses])
        message.header.frame_id, message.header.stamp = self._frame, joints.header.stamp
        self._poses.publish(message)
        self._tf.sendTransform(
            [
                transform_message(self._frame, child, pose, joints.header.stamp)
                for child, pose in zip(self._children, poses, strict=True)
            ]
        )


def main() -> int:
    """The program `wheel_poses`; the exit code."""
    return run(WheelPoses)


if __name__ == "__main__":
    sys.exit(main())
