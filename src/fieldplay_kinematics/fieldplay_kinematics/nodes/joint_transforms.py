"""Publishes the transforms of a URDF's joints, for where robot_state_publisher is not installed.

Parameters: robot_description, the text of a URDF, or urdf, a file of it; frame_prefix, put before each frame;
ignore_links, whose transforms somebody else publishes; joint_names, for messages that call joints otherwise;
moving_only, where a player publishes the model and what stands still. Joints that a message of joint states does not
name keep the transforms that they have.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from fieldplay_kinematics.joint_names import renamed, renaming_from_text
from fieldplay_kinematics.nodes.messages import SENSOR, given, transform_message
from fieldplay_kinematics.nodes.running import run
from fieldplay_kinematics.transforms import Array
from fieldplay_kinematics.urdf_chain import fixed_transforms, transforms_from_positions
from fieldplay_kinematics.urdf_model import UrdfModel, model_from_text
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class JointTransforms(Node):
    """/tf at each message of joint_states, /tf_static and robot_description once."""

    def __init__(self, **options: Any) -> None:
        super().__init__("joint_transforms", **options)
        text, self._model = _model(self)
        self._renaming = renaming_from_text(given(self, "joint_names", "", "pairs LOG=MODEL of regular expressions"))
        self._prefix = given(self, "frame_prefix", "", "put before the name of each frame")
        ignored = given(self, "ignore_links", [""], "links whose transforms somebody else publishes")
        self._ignored = set(ignored) - {""}
        strangers = self._ignored - set(self._model.links)
        if strangers:
            raise ValueError(f"ignore_links: the model '{self._model.name}' has no link '{min(strangers)}'")
        self._moving = TransformBroadcaster(self)
        if not given(self, "moving_only", False, "publish /tf alone"):
            self._offer(text)
        self._joints = self.create_subscription(
            JointState, "joint_states", self._publish, SENSOR,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )  # fmt: skip
        self.get_logger().info(f"'{self._model.name}': {len(self._model.links)} links below '{self._model.root}'")

    def _offer(self, text: str) -> None:
        """The model, and what stands still in it."""
        self._static = StaticTransformBroadcaster(self)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=text))
        standing = self._messages(fixed_transforms(self._model), self.get_clock().now().to_msg())
        if standing:
            self._static.sendTransform(standing)

    def _publish(self, joints: JointState) -> None:
        if not joints.position:
            return  # speeds or efforts alone, which share the type
        names = renamed(joints.name, self._renaming)
        try:
            found = transforms_from_positions(self._model, names, joints.position, missing="leave_out")
        except ValueError as error:
            self.get_logger().warning(f"joint_states: {error}", throttle_duration_sec=5.0)
            return
        known = {child: transform for child, transform in found.items() if np.isfinite(transform).all()}
        messages = self._messages(known, joints.header.stamp)
        if messages:
            self._moving.sendTransform(messages)

    def _messages(self, transforms: Mapping[str, Array], stamp: Time) -> list[TransformStamped]:
        parents = self._model.parents
        return [
            transform_message(self._prefix + parents[child], self._prefix + child, transform, stamp)
            for child, transform in transforms.items()
            if child not in self._ignored
        ]


def _model(node: Node) -> tuple[str, UrdfModel]:
    """The model with its text, from the parameters."""
    text = given(node, "robot_description", "", "the text of a URDF")
    file = given(node, "urdf", "", "a file with the text of a URDF, where robot_description is empty")
    name = "urdf" if file and not text else "robot_description"
    try:
        text = Path(file).read_text("utf-8") if name == "urdf" else text
        return text, model_from_text(text)
    except (OSError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def main() -> int:
    """The program `joint_transforms`; the exit code."""
    return run(JointTransforms)


if __name__ == "__main__":
    sys.exit(main())
