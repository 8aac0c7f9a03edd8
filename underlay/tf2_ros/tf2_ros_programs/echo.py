"""tf2_echo: one transform of the tree, again and again."""

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.time import Time

from tf2_ros import Buffer, TransformException, TransformListener

from .program import parsed, running_node

PRECISION = 3
LOOK_S = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser("tf2_echo", description="Write where TARGET stands in SOURCE, once a second.")
    parser.add_argument("source_frame")
    parser.add_argument("target_frame")
    parser.add_argument("echo_rate", type=float, nargs="?", default=1.0, help="in Hz (default: %(default)s)")
    parser.add_argument("-p", "--precision", type=int, default=PRECISION, help="decimals (default: %(default)s)")
    parser.add_argument("-r", "--rate", type=float, help="the same as echo_rate")
    chosen = parsed(parser, arguments)
    rate_hz = chosen.rate or chosen.echo_rate
    if rate_hz <= 0:
        parser.error("echo_rate: expected a number above 0")
    with running_node("tf2_echo", arguments) as node:
        buffer = Buffer(node=node)
        listener = TransformListener(buffer, node)
        _wait(node, buffer, chosen.source_frame, chosen.target_frame)
        echo = _Echo(node, buffer, chosen)
        echo.write()
        node.create_timer(1.0 / rate_hz, echo.write)
        rclpy.spin(node)
        listener.unregister()
    return 0


def _wait(node: Node, buffer: Buffer, source: str, target: str) -> None:
    """Wait for the transform, and log once a second why there is none."""
    looks = 0
    while True:
        try:
            buffer.lookup_transform(source, target, Time())
        except TransformException as reason:
            if looks % round(1 / LOOK_S) == round(1 / LOOK_S) - 1:
                node.get_logger().info(f"Waiting for transform {source} ->  {target}: {reason}")
        else:
            return
        looks += 1
        rclpy.spin_once(node, timeout_sec=LOOK_S)


class _Echo:
    def __init__(self, node: Node, buffer: Buffer, chosen: argparse.Namespace) -> None:
        self._node, self._buffer, self._chosen = node, buffer, chosen

    def write(self) -> None:
        source, target = self._chosen.source_frame, self._chosen.target_frame
        try:
            transform = self._buffer.lookup_transform(source, target, Time())
        except TransformException as error:
            sys.stdout.write(f"Failure at {self._node.get_clock().now().nanoseconds * 1e-9:.9f}\n{error}\n")
        else:
            sys.stdout.write(text_of(transform, self._chosen.precision))
        sys.stdout.flush()


def text_of(stamped: TransformStamped, precision: int = PRECISION) -> str:
    """Return a transform in writing: quaternion, angles about fixed axes and matrix."""
    translation, rotation = stamped.transform.translation, stamped.transform.rotation
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    matrix = np.eye(4)
    matrix[:3, :3] = _rotation(quaternion)
    matrix[:3, 3] = translation.x, translation.y, translation.z
    angles = _roll_pitch_yaw(matrix[:3, :3])

    def row(values: Sequence[float] | NDArray[np.float64]) -> str:
        return ", ".join(f"{value:.{precision}f}" for value in values)

    lines = [
        f"At time {stamped.header.stamp.sec}.{stamped.header.stamp.nanosec}",
        f"- Translation: [{row(matrix[:3, 3])}]",
        f"- Rotation: in Quaternion (xyzw) [{row(quaternion)}]",
        f"- Rotation: in RPY (radian) [{row(angles)}]",
        f"- Rotation: in RPY (degree) [{row(np.degrees(angles))}]",
        "- Matrix:",
        *(" ".join(f"{value:{precision + 3}.{precision}f}" for value in values) for values in matrix),
    ]
    return "\n".join(lines) + "\n"


def _rotation(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _roll_pitch_yaw(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """About the fixed axes x, y and z, in this order; with the nose straight up or down there is no roll."""
    pitch = np.arcsin(np.clip(-matrix[2, 0], -1.0, 1.0))
    if abs(matrix[2, 0]) > 1.0 - 1e-12:
        return np.array([0.0, pitch, np.arctan2(-matrix[0, 1], matrix[1, 1])])
    return np.array([np.arctan2(matrix[2, 1], matrix[2, 2]), pitch, np.arctan2(matrix[1, 0], matrix[0, 0])])


if __name__ == "__main__":
    sys.exit(main())
