"""ros2 topic pub."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import yaml
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future

from ros2cli.argument_types import positive_float, positive_int, unsigned_int
from ros2cli.direct_node import add_direct_arguments, direct_node, spin_for, spin_until
from ros2cli.names import find_interface, full_topic_name
from ros2cli.populate import set_fields
from ros2cli.qos import add_qos_arguments, chosen_profile

_STEP_S = 0.05
_TOLD_S = 1.0
_ACKED_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    parser.add_argument("message_type", help="Its type (e.g. 'std_msgs/msg/String')")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "values",
        nargs="?",
        default="{}",
        help="The message in YAML; 'header: auto' and 'stamp: now' stand for the time of sending",
    )
    source.add_argument("--stdin", action="store_true", help="Read the message from standard input")
    parser.add_argument("-r", "--rate", metavar="N", type=positive_float, help="How often, in Hz (default: 1)")
    count = parser.add_mutually_exclusive_group()
    count.add_argument("-1", "--once", action="store_true", help="Publish one message and end")
    count.add_argument("-t", "--times", metavar="N", type=unsigned_int, default=0, help="End after so many messages")
    parser.add_argument("-p", "--print", metavar="N", type=positive_int, default=1, help="Write every Nth message only")
    parser.add_argument(
        "-w",
        "--wait-matching-subscriptions",
        metavar="N",
        type=unsigned_int,
        help="Begin once there are so many subscriptions (default: 1 with --once or --times, else 0)",
    )
    parser.add_argument("--max-wait-time-secs", metavar="S", type=positive_float, help="Wait no longer for them")
    parser.add_argument(
        "--keep-alive", metavar="S", type=float, default=0.1, help="Stay so long after the last message"
    )
    parser.add_argument("-n", "--node-name", help="Name of the node")
    add_qos_arguments(parser, "default")
    add_direct_arguments(parser)


def main(args: argparse.Namespace) -> str | None:
    """Publish, or return what is wrong with the message."""
    message_class = _message_class(args.message_type)
    message = message_class()
    stamps: list[Any] = []
    try:
        set_fields(message, yaml.safe_load(sys.stdin.buffer if args.stdin else args.values), stamps)
    except (AttributeError, TypeError, ValueError, OverflowError, AssertionError, yaml.YAMLError) as error:
        return f"Failed to populate field: {error}"
    times = 1 if args.once else args.times
    with direct_node(use_sim_time=args.use_sim_time, name=args.node_name) as node:
        profile, _ = chosen_profile(args, [])
        publisher = node.create_publisher(message_class, full_topic_name(node, args.topic_name), profile)
        wanted = args.wait_matching_subscriptions
        _wait_for_subscriptions(node, publisher, (1 if times else 0) if wanted is None else wanted, args)
        sending = _Sending(publisher, message, times, args.print, lambda: _stamp(node, stamps))
        sys.stdout.write("publisher: beginning loop\n")
        sending.send()
        node.create_timer(1.0 / (args.rate or 1.0), sending.send)
        if not sending.done.done():
            spin_until(node, sending.done)
        end = time.monotonic() + args.keep_alive
        while time.monotonic() < end:
            spin_for(node, _STEP_S)
        # A subscriber that has only been found may still have to ask for what it has missed.
        publisher.wait_for_all_acked(Duration(seconds=_ACKED_S))
    return None


def _message_class(name: str) -> Any:
    try:
        return find_interface(name, "msg")
    except (LookupError, TypeError):
        raise RuntimeError("The passed message type is invalid") from None


def _stamp(node: Node, stamps: list[Any]) -> None:
    now = node.get_clock().now().to_msg()
    for stamp in stamps:
        stamp.sec, stamp.nanosec = now.sec, now.nanosec


def _wait_for_subscriptions(node: Node, publisher: Publisher, wanted: int, args: argparse.Namespace) -> None:
    begin = time.monotonic()
    told_s = begin
    while publisher.get_subscription_count() < wanted:
        now = time.monotonic()
        if args.max_wait_time_secs is not None and now - begin > args.max_wait_time_secs:
            raise RuntimeError(
                f"Timed out waiting for subscribers: Expected {wanted} subscribers but only got "
                f"{publisher.get_subscription_count()} subscribers"
            )
        if now >= told_s:
            sys.stdout.write(f"Waiting for at least {wanted} matching subscription(s)...\n")
            told_s = now + _TOLD_S
        spin_for(node, _STEP_S)


class _Sending:
    """Sends one message again and again; ``done`` once it was ``times`` times, where that is not 0."""

    def __init__(
        self, publisher: Publisher, message: Any, times: int, print_every: int, stamp: Callable[[], None]
    ) -> None:
        self.done = Future()
        self._publisher, self._message, self._stamp = publisher, message, stamp
        self._times, self._print_every = times, print_every
        self._count = 0

    def send(self) -> None:
        if self.done.done():
            return
        self._count += 1
        self._stamp()
        if self._count % self._print_every == 0:
            sys.stdout.write(f"publishing #{self._count}: {self._message!r}\n\n")
        self._publisher.publish(self._message)
        if self._count == self._times:
            self.done.set_result(None)
