"""The end of an arm and its links from its joints, on PREFIX/tcp and tf, PREFIX being the parameter `arm`.

Subscribes PREFIX/joint_states. One output for each input, at its time.
"""

import sys

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from fieldplay_kinematics.nodes.messages import SENSOR, careful, given, pose_message, positions_of, transform_message
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.robots import arm_from_joints, arm_from_settings
from tf2_ros import TransformBroadcaster


class ArmTcp(Node):
    """An arm in its base."""

    def __init__(self) -> None:
        super().__init__("arm_tcp")
        arm = given(self, "arm", "arm", "name of the arm, before its topics")
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        frames = [given(self, "frame", f"{arm}_base", "frame of the arm's base")]
        frames += given(self, "child_frames", [""], "frames of the links, one below the other, and of the end")
        settings = {
            "alpha_deg": given(self, "alpha_deg", [0.0], "modified Denavit-Hartenberg: twists by joint"),
            "a_m": given(self, "a_m", [0.0], "lengths along x"),
            "d_m": given(self, "d_m", [0.0], "lengths along z"),
        }
        self._frames = [prefix + frame for frame in frames]
        self._rows = arm_from_settings(settings)
        if len(self._frames) != len(self._rows) + 2:
            raise ValueError(f"child_frames: expected {len(self._rows) + 1}, got {len(self._frames) - 1}")
        self._tcp = self.create_publisher(PoseStamped, f"{arm}/tcp", SENSOR)
        self._tf = TransformBroadcaster(self)
        self._joints = self.create_subscription(JointState, f"{arm}/joint_states", careful(self, self._publish), SENSOR)

    def _publish(self, joints: JointState) -> None:
        positions = positions_of(joints)
        if len(positions) != len(self._rows):
            raise ValueError(f"expected {len(self._rows)} joints, got {len(positions)}")
        steps, end = arm_from_joints(self._rows, positions)
        message = PoseStamped(pose=pose_message(end))
        message.header.frame_id, message.header.stamp = self._frames[0], joints.header.stamp
        self._tcp.publish(message)
        self._tf.sendTransform(
            [
                transform_message(parent, child, step, joints.header.stamp)
                for parent, child, step in zip(self._frames[:-1], self._frames[1:], steps, strict=True)
            ]
        )


def main() -> int:
    """The program `arm_tcp`; the exit code."""
    return run(ArmTcp)


if __name__ == "__main__":
    sys.exit(main())
