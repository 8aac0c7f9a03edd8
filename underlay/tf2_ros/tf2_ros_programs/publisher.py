"""static_transform_publisher: one transform that does not change."""

import argparse
import math
import sys
from collections.abc import Sequence

import rclpy
from geometry_msgs.msg import TransformStamped

from tf2_ros import StaticTransformBroadcaster

from .program import parsed, running_node

NUMBERS = ("x", "y", "z", "qx", "qy", "qz", "qw", "roll", "pitch", "yaw")


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser("static_transform_publisher", description="Publish where CHILD stands in FRAME.")
    for name in NUMBERS:
        parser.add_argument(f"--{name}", type=float, default=1.0 if name == "qw" else 0.0)
    parser.add_argument("--frame-id", required=True)
    parser.add_argument("--child-frame-id", required=True)
    chosen = parsed(parser, arguments)
    if chosen.frame_id == chosen.child_frame_id:
        parser.error("--child-frame-id: expected another frame than --frame-id")
    with running_node("static_transform_publisher", arguments) as node:
        broadcaster = StaticTransformBroadcaster(node)
        broadcaster.sendTransform(message_of(chosen))
        node.get_logger().info(f"publishes {chosen.child_frame_id} in {chosen.frame_id}")
        rclpy.spin(node)
    return 0


def message_of(chosen: argparse.Namespace) -> TransformStamped:
    """Return the message; angles about fixed axes count where the quaternion is left as it is."""
    message = TransformStamped(child_frame_id=chosen.child_frame_id)
    message.header.frame_id = chosen.frame_id
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = chosen.x, chosen.y, chosen.z
    quaternion = chosen.qx, chosen.qy, chosen.qz, chosen.qw
    if any((chosen.roll, chosen.pitch, chosen.yaw)):
        quaternion = _quaternion(chosen.roll, chosen.pitch, chosen.yaw)
    turn.x, turn.y, turn.z, turn.w = quaternion
    return message


def _quaternion(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle / 2), math.sin(angle / 2)) for angle in (roll, pitch, yaw))
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


if __name__ == "__main__":
    sys.exit(main())
