"""ros2 topic delay."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from typing import Any

from rclpy.time import Time

from ros2cli.argument_types import add_window_argument
from ros2cli.direct_node import add_direct_arguments, direct_node, spin_until_shutdown, wait_for_topic
from ros2cli.names import full_topic_name, not_published_yet, topic_class, wait_for_topic_class
from ros2cli.qos import add_qos_arguments, chosen_profile
from ros2cli.rate import spread

_WINDOW_SIZE = 10000
_REPORT_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/imu')")
    add_window_argument(parser, _WINDOW_SIZE)
    add_qos_arguments(parser)
    add_direct_arguments(parser)


def main(args: argparse.Namespace) -> None:
    """Write how old the messages are once a second, as long as they come."""
    delays_s: deque[float] = deque(maxlen=args.window_size)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        if topic_class(node, topic) is None:
            sys.stdout.write(not_published_yet(args.topic_name))
        message_class = wait_for_topic_class(node, topic)
        if message_class.get_fields_and_field_types().get("header") != "std_msgs/Header":
            raise RuntimeError("msg does not have header")

        def hear(message: Any) -> None:
            stamp = Time.from_msg(message.header.stamp, node.get_clock().clock_type)
            delays_s.append((node.get_clock().now() - stamp).nanoseconds * 1e-9)

        profile, _ = chosen_profile(args, [])
        node.create_subscription(message_class, topic, hear, profile)
        node.create_timer(_REPORT_S, lambda: sys.stdout.write(_report(delays_s)))
        spin_until_shutdown(node)


def _report(delays_s: deque[float]) -> str:
    if not delays_s:
        return ""
    return f"average delay: {sum(delays_s) / len(delays_s):.3f}\n\t{spread(delays_s)}\n"
