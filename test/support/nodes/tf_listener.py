"""A process that waits for the transform odom -> lidar, says what it is, and ends: 0 found, 1 not within 20 s."""

import sys

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from tf2_ros import Buffer, TransformException, TransformListener


def main() -> int:
    rclpy.init()
    node = Node("tf_listener")
    buffer = Buffer()
    listener = TransformListener(buffer, node, spin_thread=True)
    try:
        transform = buffer.lookup_transform("odom", "lidar", Time(), timeout=Duration(seconds=20))
        sys.stdout.write(f"odom -> lidar: x = {transform.transform.translation.x}\n")
        return 0
    except TransformException as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        listener.unregister()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
