"""Arrays as geometry messages, one at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, TransformStamped, Vector3
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from fieldplay_kinematics.transforms import Array, quaternion_from_rotation

SENSOR = QoSProfile(depth=200)


def transform_message(parent: str, child: str, transform: Array, stamp: Time) -> TransformStamped:
    """The child in the parent (4, 4), at a time."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp
    x, y, z = transform[:3, 3].tolist()
    message.transform = Transform(translation=Vector3(x=x, y=y, z=z), rotation=quaternion_message(transform))
    return message


def pose_message(transform: Array) -> Pose:
    """A pose from (4, 4)."""
    x, y, z = transform[:3, 3].tolist()
    return Pose(position=Point(x=x, y=y, z=z), orientation=quaternion_message(transform))


def quaternion_message(transform: Array) -> Quaternion:
    """The rotation of (4, 4)."""
    x, y, z, w = quaternion_from_rotation(transform[:3, :3]).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def odometry_message(transform: Array, twist: Array, pose_covariance: Array, *, twist_covariance: Array) -> Odometry:
    """A pose (4, 4) and a twist vx, vy, turn rate (3,) with their covariances (6, 6); without header and child."""
    message = Odometry()
    message.pose.pose = pose_message(transform)
    message.pose.covariance = pose_covariance.reshape(-1)
    message.twist.covariance = twist_covariance.reshape(-1)
    velocity = message.twist.twist
    velocity.linear.x, velocity.linear.y, velocity.angular.z = twist.tolist()
    return message


def ns_of(stamp: Time) -> int:
    """A time in nanoseconds."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def given(node: Node, name: str, default: Any, meaning: str) -> Any:
    """Declare a parameter; its value."""
    return node.declare_parameter(name, default, ParameterDescriptor(description=meaning, read_only=True)).value


def base_settings(node: Node) -> dict[str, float]:
    """The lengths of a base with four steered wheels, from parameters."""
    meanings = {
        "length_m": "from the middle of the base forward to the front pivots",
        "width_m": "from the middle of the base to the left pivots",
        "swivel_m": "from a pivot outwards to its wheel",
        "wheel_drop_m": "from the base down to the wheels' centres",
    }
    return {name: float(given(node, name, 0.0, meaning)) for name, meaning in meanings.items()}


def careful(node: Node, act: Callable[[Any], None]) -> Callable[[Any], None]:
    """A callback that warns of a message that it can make nothing of, and goes on with the next."""

    def callback(message: Any) -> None:
        try:
            act(message)
        except ValueError as error:
            node.get_logger().warning(f"a message is left out: {error}", throttle_duration_sec=5.0)

    return callback


def positions_of(joints: JointState) -> Array:
    """The positions (k,), one for each name, all of them numbers."""
    positions = np.asarray(joints.position)
    if len(positions) != len(joints.name) or not np.isfinite(positions).all():
        raise ValueError(f"expected a position for each of {len(joints.name)} joints, got {positions.tolist()}")
    return positions
