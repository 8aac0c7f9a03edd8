"""ros2 topic hz."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType

from ros2cli.argument_types import add_window_argument
from ros2cli.direct_node import add_direct_arguments, direct_node, spin_until_shutdown, wait_for_topic
from ros2cli.expression import message_filter
from ros2cli.names import full_topic_name, not_published_yet, topic_class, wait_for_topic_class
from ros2cli.qos import add_qos_arguments, chosen_profile
from ros2cli.rate import RateWindow

_WINDOW_SIZE = 10000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    add_window_argument(parser, _WINDOW_SIZE)
    parser.add_argument(
        "--filter",
        dest="filter_expr",
        metavar="EXPR",
        help="Count only messages for which this Python expression of m is true",
    )
    parser.add_argument(
        "--wall-time", dest="use_wtime", action="store_true", help="Measure in wall time, not in the node's time"
    )
    add_qos_arguments(parser)
    add_direct_arguments(parser)


def main(args: argparse.Namespace) -> None:
    """Write the rate once a second, as long as messages come."""
    passes = message_filter(args.filter_expr)
    window = RateWindow(args.window_size)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        if topic_class(node, topic) is None:
            sys.stdout.write(not_published_yet(args.topic_name))
        clock = Clock(clock_type=ClockType.SYSTEM_TIME) if args.use_wtime else node.get_clock()
        node.create_subscription(
            wait_for_topic_class(node, topic),
            topic,
            _counting(window, lambda: int(clock.now().nanoseconds), passes),
            chosen_profile(args, [])[0],
            # To deserialize what is only counted would slow down what is measured.
            raw=not args.filter_expr,
        )
        spin_until_shutdown(node)


def _counting(window: RateWindow, now_ns: Callable[[], int], passes: Callable[[Any], bool]) -> Callable[[Any], None]:
    def count(message: Any) -> None:
        now = now_ns()
        # Simulated time stands at zero until the first clock message; nothing can be measured by it.
        if now == 0 or not passes(message):
            return
        window.arrived(now)
        report = window.report()
        if report is not None:
            sys.stdout.write(str(report))

    return count
