"""ros2 topic bw."""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque

from ros2cli.argument_types import add_window_argument
from ros2cli.direct_node import add_direct_arguments, direct_node, spin_until_shutdown, wait_for_topic
from ros2cli.names import full_topic_name, not_published_yet, topic_class, wait_for_topic_class
from ros2cli.qos import add_qos_arguments, chosen_profile

_WINDOW_SIZE = 100
_REPORT_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    add_window_argument(parser, _WINDOW_SIZE)
    add_qos_arguments(parser)
    add_direct_arguments(parser)


def main(args: argparse.Namespace) -> None:
    """Write the bandwidth once a second, as long as messages come."""
    window = SizeWindow(args.window_size)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        if topic_class(node, topic) is None:
            sys.stdout.write(not_published_yet(args.topic_name))
        profile, _ = chosen_profile(args, [])
        message_class = wait_for_topic_class(node, topic)
        node.create_subscription(
            message_class, topic, lambda data: window.arrived(time.monotonic(), len(data)), profile, raw=True
        )
        sys.stdout.write(f"Subscribed to [{topic}]\n")
        node.create_timer(_REPORT_S, lambda: sys.stdout.write(window.report(time.monotonic())))
        spin_until_shutdown(node)


class SizeWindow:
    """The sizes of the last ``size`` messages, and when they came."""

    def __init__(self, size: int) -> None:
        """Start empty."""
        self._messages: deque[tuple[float, int]] = deque(maxlen=size)

    def arrived(self, now_s: float, size: int) -> None:
        """Take note of a message of ``size`` bytes."""
        self._messages.append((now_s, size))

    def report(self, now_s: float) -> str:
        """Return the text of a report at a time; empty where nothing has come."""
        if len(self._messages) < 2:
            return ""
        sizes = [size for _, size in self._messages]
        rate = sum(sizes) / max(now_s - self._messages[0][0], 1e-9)
        mean, least, most = (amount(value) for value in (sum(sizes) / len(sizes), min(sizes), max(sizes)))
        return f"{amount(rate)}/s from {len(sizes)} messages\n\tMessage size mean: {mean} min: {least} max: {most}\n"


def amount(size: float) -> str:
    """Return a number of bytes in words."""
    if size < 1000:
        return f"{size:.0f} B"
    return f"{size / 1e3:.2f} KB" if size < 1e6 else f"{size / 1e6:.2f} MB"
