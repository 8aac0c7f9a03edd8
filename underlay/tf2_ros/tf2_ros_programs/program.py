"""How the programs of tf2_ros begin and end."""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.utilities import remove_ros_args


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse what is left of the arguments without those of ROS; negative numbers are values."""
    words = [*sys.argv] if arguments is None else [parser.prog, *arguments]
    return parser.parse_args(remove_ros_args(words)[1:])


@contextmanager
def running_node(name: str, arguments: Sequence[str] | None) -> Iterator[Node]:
    """Open a node; Ctrl-C and SIGTERM end what stands within."""
    rclpy.init(args=None if arguments is None else [name, *arguments])
    try:
        node = Node(name)
        try:
            yield node
        except (KeyboardInterrupt, ExternalShutdownException, RuntimeError) as error:
            # What is called in the moment of the shutdown fails in ways of its own.
            if isinstance(error, RuntimeError) and rclpy.ok():
                raise
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
