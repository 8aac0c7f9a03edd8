"""A process that publishes one static transform and a moving one, until it is told to stop."""

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster


def transform(parent: str, child: str, x: float) -> TransformStamped:
    message = TransformStamped()
    message.header.frame_id = parent
    message.child_frame_id = child
    message.transform.translation.x = x
    message.transform.rotation.w = 1.0
    return message


def main() -> None:
    rclpy.init()
    node = Node("tf_talker")
    static, moving = StaticTransformBroadcaster(node), TransformBroadcaster(node)
    static.sendTransform(transform("base_link", "lidar", 0.25))

    def send() -> None:
        message = transform("odom", "base_link", 1.0)
        message.header.stamp = node.get_clock().now().to_msg()
        moving.sendTransform(message)

    node.create_timer(0.02, send)
    node.get_logger().info("talking")
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
