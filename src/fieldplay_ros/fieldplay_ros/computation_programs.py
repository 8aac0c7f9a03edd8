"""The programs of this package: each runs a node that hosts computations."""

from typing import Any

from std_msgs.msg import String

from fieldplay.kinematics.ackermann_odometry import AckermannOdometry
from fieldplay.kinematics.computation import ON_TF, TF
from fieldplay.kinematics.insight_arm_computation import InsightArmTcp
from fieldplay.kinematics.joint_transforms import JointTransforms
from fieldplay.kinematics.odometry_path import OdometryPath
from fieldplay.kinematics.robots import (
    ArmTcp,
    ExpectedWheels,
    WheelOdometry,
    WheelPoses,
)
from fieldplay.kinematics.skid_steer_odometry import SkidSteerOdometry
from fieldplay.streams.topic_stream import message_bytes
from fieldplay_ros.computation_node import LATCHED, ComputationNode, message_class
from fieldplay_ros.node_program import NodeProgram

TF_STATIC = f"{TF}_static"


class RobotModelNode(ComputationNode):
    """For where robot_state_publisher is not installed: the model and what stands still in it are offered, too.

    Joints that a message of joint states does not name keep the transforms that they have.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("joint_transforms", JointTransforms, **options)
        (joints,) = self.computations
        assert isinstance(joints, JointTransforms)
        if not joints.setting_values["moving_only"]:
            self._offer(joints)
        model = joints.model
        self.get_logger().info(f"'{model.name}': {len(model.links)} links below '{model.root}'")

    def _offer(self, joints: JointTransforms) -> None:
        self._static = self.create_publisher(message_class(ON_TF.type), TF_STATIC, LATCHED)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=joints.text))
        for message in message_bytes(joints.static_transforms(self.get_clock().now().nanoseconds), ON_TF):
            self._static.publish(message)


ackermann_odometry = NodeProgram(ComputationNode, "ackermann_odometry", AckermannOdometry)
arm_tcp = NodeProgram(ComputationNode, "arm_tcp", ArmTcp)
joint_transforms = NodeProgram(RobotModelNode)
lander_arm_tcp = NodeProgram(ComputationNode, "arm_tcp", InsightArmTcp)
odometry_path = NodeProgram(ComputationNode, "odometry_path", OdometryPath)
skid_steer_odometry = NodeProgram(ComputationNode, "skid_steer_odometry", SkidSteerOdometry)
wheel_odometry = NodeProgram(ComputationNode, "wheel_odometry", WheelOdometry, ExpectedWheels)
wheel_poses = NodeProgram(ComputationNode, "wheel_poses", WheelPoses)
