"""InSight's arm: its tool on tcp, tcp_pot (by potentiometers) and tcp_deflected, and all its frames on tf.

Subscribes joint_states and joint_states_pot, the states tool, grapple/phase and arm/geometry, and archived/tool_enc, by
which tcp_error says how far tcp lies from the archive's own place. One output for each input, at its time.
"""

import sys
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Vector3, Vector3Stamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, UInt8

from fieldplay_kinematics import lander_arm_outputs as outputs
from fieldplay_kinematics.nodes.lander_arm_settings import declared_settings
from fieldplay_kinematics.nodes.messages import SENSOR, given, pose_message, positions_of, transform_message
from fieldplay_kinematics.nodes.pairs import Pairs
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.nodes.sent_states import LATCHED, AfterStates, SentStates
from fieldplay_kinematics.transforms import Array
from tf2_ros import TransformBroadcaster


class LanderArmTcp(Node):
    """The arm on the lander's deck."""

    def __init__(self, **options: Any) -> None:
        super().__init__("arm_tcp", **options)
        prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        self._base = prefix + given(self, "frame", "payload", "frame of the arm's base")
        frames = given(self, "child_frames", list(outputs.FRAMES), "frames of parts, links and tools, in this order")
        self._frames = [prefix + frame for frame in frames]
        self._parents = outputs.parents_of_frames(self._base, self._frames)
        self._model = outputs.models_from_settings(declared_settings(self))
        names = ("tcp", "tcp_pot", "tcp_deflected")
        self._tcp, self._pot, self._bent = (self.create_publisher(PoseStamped, name, SENSOR) for name in names)
        self._error = self.create_publisher(Vector3Stamped, "tcp_error", SENSOR)
        self._tf = TransformBroadcaster(self)
        self._tool, self._phase, self._geometry = SentStates(), SentStates(), SentStates()
        self._pairs = Pairs(self._compare)
        after = AfterStates(self)
        self._inputs = [
            self.create_subscription(UInt8, "tool", self._tool.hear, LATCHED),
            self.create_subscription(UInt8, "grapple/phase", self._phase.hear, LATCHED),
            self.create_subscription(Float64MultiArray, "arm/geometry", self._geometry.hear, LATCHED),
            self.create_subscription(JointState, "joint_states", after.then(self._by_encoders), SENSOR),
            self.create_subscription(JointState, "joint_states_pot", after.then(self._by_pots), SENSOR),
            self.create_subscription(PoseStamped, "archived/tool_enc", self._pairs.second, SENSOR),
        ]

    def _read(self, joints: JointState, info: Any) -> tuple[outputs.LanderModel, Array, outputs.Codes]:
        angles = outputs.angles_of_joints(joints.name, positions_of(joints))[None]
        codes = outputs.codes_of_states(self._tool.at(info), self._phase.at(info))
        return self._model(self._geometry.at(info)), angles, codes

    def _by_encoders(self, joints: JointState, info: Any) -> None:
        model, angles, codes = self._read(joints, info)
        tcp = outputs.tcp_from_joints(model, angles, codes[:1])[0]
        message = self._send(self._tcp, tcp, joints)
        if message is not None:
            bent = outputs.bent_tcp_from_joints(model, angles, codes[:1], phases=codes[1:])
            self._send(self._bent, bent[0], joints)
            self._pairs.first(message)
        edges = zip(self._parents, self._frames, outputs.frames_from_joints(model, angles, codes[:1])[0], strict=True)
        self._tf.sendTransform([transform_message(*edge, joints.header.stamp) for edge in edges])

    def _by_pots(self, joints: JointState, info: Any) -> None:
        model, angles, codes = self._read(joints, info)
        self._send(self._pot, outputs.tcp_from_joints(model, angles, codes[:1])[0], joints)

    def _send(self, publisher: Publisher, pose: Array, joints: JointState) -> PoseStamped | None:
        """The pose at the time of the joints, unless no tool is known."""
        if not np.isfinite(pose).all():
            return None
        message = PoseStamped(pose=pose_message(pose))
        message.header.frame_id, message.header.stamp = self._base, joints.header.stamp
        publisher.publish(message)
        return message

    def _compare(self, computed: PoseStamped, archived: PoseStamped) -> None:
        ours, theirs = computed.pose.position, archived.pose.position
        message = Vector3Stamped(header=computed.header)
        message.vector = Vector3(x=ours.x - theirs.x, y=ours.y - theirs.y, z=ours.z - theirs.z)
        self._error.publish(message)


def main() -> int:
    """The program `lander_arm_tcp`; the exit code."""
    return run(LanderArmTcp)


if __name__ == "__main__":
    sys.exit(main())
