"""ros2 topic."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import yaml
from rclpy.duration import Duration
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future

from ros2cli.direct_node import (
    DIRECT,
    NODE,
    direct_node,
    spin_for,
    spin_until,
    spin_until_shutdown,
    wait_for_endpoints,
    wait_for_graph,
    wait_for_topic,
)
from ros2cli.message_yaml import Style, message_to_yaml, set_fields
from ros2cli.names import (
    find_interface,
    full_topic_name,
    hidden,
    not_published_yet,
    topic_class,
    wait_for_topic_class,
    write_listed,
)
from ros2cli.options import Argument, Verb, positive_float, positive_int, unsigned_int
from ros2cli.qos import chosen_profile, qos_arguments

_TRUNCATE_LENGTH = 128
_SIZES = 100
_INTERVALS = 10_000
_BETWEEN_REPORTS_NS = 1_000_000_000
_STEP_S = 0.05
_REPORT_S = 1.0
_ACKED_S = 5.0
_KEEP_ALIVE_S = 0.1
_TOPIC = Argument("topic_name", help="Name of the topic (e.g. '/chatter')")


def _list(args: argparse.Namespace) -> None:
    """Write the topics."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        write_listed(node.get_topic_names_and_types(), args)


def _write_info(args: argparse.Namespace) -> str | None:
    """Write type and number of endpoints, or return what is wrong."""
    topic = args.topic_name
    end = "\n\n" if args.verbose else "\n"
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_endpoints(node, topic, args.spin_time)
        types = dict(node.get_topic_names_and_types()).get(topic)
        if types is None:
            return f"Unknown topic '{topic}'"
        publishers = node.get_publishers_info_by_topic(topic)
        subscriptions = node.get_subscriptions_info_by_topic(topic)
    parts: list[object] = [f"Type: {types[0] if len(types) == 1 else types}"]
    parts += [f"Publisher count: {len(publishers)}", *(publishers if args.verbose else [])]
    parts += [f"Subscription count: {len(subscriptions)}", *(subscriptions if args.verbose else [])]
    sys.stdout.writelines(f"{part}{end}" for part in parts)
    return None


def _write_type(args: argparse.Namespace) -> int:
    """Write the type; the exit code is 1 where there is no such topic."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        types = dict(node.get_topic_names_and_types()).get(topic, [])
    sys.stdout.write("".join(f"{name}\n" for name in types))
    return 0 if types else 1


def _echo(args: argparse.Namespace) -> None:
    """Write messages until enough is written."""
    echo = Echo(args)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        profile, notices = chosen_profile(args, node.get_publishers_info_by_topic(topic))
        sys.stdout.writelines(notices)
        if args.timeout is not None:
            node.create_timer(args.timeout, echo.finish)
        lost = SubscriptionEventCallbacks(message_lost=_write_lost_message)
        message_class = _message_class(node, topic, args)
        node.create_subscription(message_class, topic, echo.write, profile, event_callbacks=lost)
        spin_until(node, echo.finished)


def _message_class(node: Node, topic: str, args: argparse.Namespace) -> Any:
    if args.message_type is not None:
        return _class_of(args.message_type)
    message_class = topic_class(node, topic)
    if message_class is None:
        sys.stdout.write(not_published_yet(args.topic_name))
        raise RuntimeError("Could not determine the type for the passed topic")
    return message_class


def _class_of(name: str) -> Any:
    try:
        return find_interface(name, "msg")
    except (LookupError, TypeError):
        raise RuntimeError("The passed message type is invalid") from None


class Echo:
    """Writes each message as the options say."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Check the options; RuntimeError when one makes no sense."""
        self.finished = Future()
        self._once = args.once
        self._path = [name for name in (args.field or "").split(".") if name]
        if args.field is not None and not self._path:
            raise RuntimeError(f"Invalid field value '{args.field}'")
        self._style = Style(truncate_length=None if args.full_length else args.truncate_length, no_arr=args.no_arr)

    def finish(self) -> None:
        """Write no more."""
        self.finished.set_result(None)

    def write(self, message: Any) -> None:
        """Write ``message``, or the field of it that is asked for."""
        part = self._part_of(message)
        if self._once:
            self.finish()
        text = message_to_yaml(part, self._style) if hasattr(part, "SLOT_TYPES") else f"{part}\n"
        sys.stdout.write(f"{text}---\n")

    def _part_of(self, message: Any) -> Any:
        for name in self._path:
            try:
                message = getattr(message, name)
            except AttributeError as error:
                raise RuntimeError(f"Invalid field '{'.'.join(self._path)}': {error}") from None
        return message


def _write_lost_message(status: QoSMessageLostInfo) -> None:
    sys.stdout.write(
        f"A message was lost!!!\n\ttotal count change:{status.total_count_change}\n"
        f"\ttotal count: {status.total_count}---\n"
    )


def _window(size: int) -> Argument:
    return Argument(
        "--window",
        "-w",
        dest="window_size",
        metavar="WINDOW",
        type=positive_int,
        default=size,
        help="Number of messages to average over (default: %(default)s)",
    )


def _measure(
    node: Node,
    args: argparse.Namespace,
    callback: Callable[[Any], None],
) -> str:
    """Subscribe to the topic as soon as somebody has it, and return its full name."""
    topic = full_topic_name(node, args.topic_name)
    wait_for_topic(node, topic, args.spin_time)
    if topic_class(node, topic) is None:
        sys.stdout.write(not_published_yet(args.topic_name))
    message_class = wait_for_topic_class(node, topic)
    # To deserialize what is only counted would slow down what is measured.
    node.create_subscription(message_class, topic, callback, chosen_profile(args, [])[0], raw=True)
    return topic


def _hz(args: argparse.Namespace) -> None:
    """Write the rate once a second, as long as messages come."""
    window = RateWindow(args.window_size)
    with direct_node(use_sim_time=args.use_sim_time) as node:

        def count(_: bytes) -> None:
            now_ns = int(node.get_clock().now().nanoseconds)
            # Simulated time stands at zero until the first clock message; nothing can be measured by it.
            if now_ns:
                window.arrived(now_ns)
                sys.stdout.write(str(window.report() or ""))

        _measure(node, args, count)
        spin_until_shutdown(node)


def spread(values_s: Collection[float]) -> str:
    """Return least, most, standard deviation and number of at least one value, in words."""
    mean = sum(values_s) / len(values_s)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values_s) / len(values_s))
    least, most = min(values_s), max(values_s)
    return f"min: {least:.3f}s max: {most:.3f}s std dev: {deviation:.5f}s window: {len(values_s)}"


class RateWindow:
    """The last ``size`` intervals, and a report of them once a second."""

    def __init__(self, size: int) -> None:
        """Start empty."""
        self._intervals_ns: deque[int] = deque(maxlen=size)
        self._last_ns: int | None = None
        self._reported_ns: int | None = None

    def arrived(self, now_ns: int) -> None:
        """Take note of a message; a time before the last one starts everything anew."""
        if self._last_ns is not None and now_ns >= self._last_ns:
            self._intervals_ns.append(now_ns - self._last_ns)
        else:
            self._intervals_ns.clear()
            self._reported_ns = None
        self._last_ns = now_ns

    def report(self) -> str | None:
        """Return a report if there is something to report and the one before is a second old."""
        if self._last_ns is None or not self._intervals_ns:
            return None
        if self._reported_ns is None:
            self._reported_ns = self._last_ns
            return None
        if self._last_ns < self._reported_ns + _BETWEEN_REPORTS_NS:
            return None
        self._reported_ns = self._last_ns
        mean_s = sum(self._intervals_ns) * 1e-9 / len(self._intervals_ns)
        rate_hz = 1.0 / mean_s if mean_s > 0 else 0.0
        intervals_s = [interval * 1e-9 for interval in self._intervals_ns]
        return f"average rate: {rate_hz:.3f}\n\t{spread(intervals_s)}\n"


def _bw(args: argparse.Namespace) -> None:
    """Write the bandwidth once a second, as long as messages come."""
    window = SizeWindow(args.window_size)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = _measure(node, args, lambda data: window.arrived(time.monotonic(), len(data)))
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


def _pub(args: argparse.Namespace) -> str | None:
    """Publish, or return what is wrong with the message."""
    message_class = _class_of(args.message_type)
    message = message_class()
    stamps: list[Any] = []
    try:
        set_fields(message, yaml.safe_load(args.values), stamps)
    except (AttributeError, TypeError, ValueError, OverflowError, AssertionError, yaml.YAMLError) as error:
        return f"Failed to populate field: {error}"
    times = 1 if args.once else args.times
    with direct_node(use_sim_time=args.use_sim_time) as node:
        profile, _ = chosen_profile(args, [])
        publisher = node.create_publisher(message_class, full_topic_name(node, args.topic_name), profile)
        minimum = args.wait_matching_subscriptions
        _wait_for_subscriptions(node, publisher, (1 if times else 0) if minimum is None else minimum)
        sending = _Sending(publisher, message, times, lambda: _stamp(node, stamps))
        sys.stdout.write("publisher: beginning loop\n")
        sending.send()
        node.create_timer(1.0 / (args.rate or 1.0), sending.send)
        if not sending.done.done():
            spin_until(node, sending.done)
        end = time.monotonic() + _KEEP_ALIVE_S
        while time.monotonic() < end:
            spin_for(node, _STEP_S)
        # A subscriber that has only been found may still have to ask for what it has missed.
        publisher.wait_for_all_acked(Duration(seconds=_ACKED_S))
    return None


def _stamp(node: Node, stamps: list[Any]) -> None:
    now = node.get_clock().now().to_msg()
    for stamp in stamps:
        stamp.sec, stamp.nanosec = now.sec, now.nanosec


def _wait_for_subscriptions(node: Node, publisher: Publisher, minimum: int) -> None:
    reported_s = time.monotonic()
    while publisher.get_subscription_count() < minimum:
        now = time.monotonic()
        if now >= reported_s:
            sys.stdout.write(f"Waiting for at least {minimum} matching subscription(s)...\n")
            reported_s = now + _REPORT_S
        spin_for(node, _STEP_S)


class _Sending:
    """Sends one message again and again; ``done`` once it was ``times`` times, where that is not 0."""

    def __init__(self, publisher: Publisher, message: Any, times: int, stamp: Callable[[], None]) -> None:
        self.done = Future()
        self._publisher, self._message, self._stamp = publisher, message, stamp
        self._times, self._count = times, 0

    def send(self) -> None:
        if self.done.done():
            return
        self._count += 1
        self._stamp()
        sys.stdout.write(f"publishing #{self._count}: {self._message!r}\n\n")
        self._publisher.publish(self._message)
        if self._count == self._times:
            self.done.set_result(None)


VERBS = {
    "bw": Verb(_bw, _TOPIC, _window(_SIZES), *qos_arguments(), *DIRECT),
    "echo": Verb(
        _echo,
        *NODE,
        _TOPIC,
        Argument("message_type", nargs="?", help="Its type (e.g. 'std_msgs/msg/String'), if not yet known"),
        *qos_arguments(),
        Argument("--field", help="Write one field only (e.g. 'pose.pose.position')"),
        Argument("--full-length", "-f", action="store_true", help="Write arrays and texts in full"),
        Argument(
            "--truncate-length",
            "-l",
            type=unsigned_int,
            default=_TRUNCATE_LENGTH,
            help="Elements to write of longer arrays and texts (default: %(default)s)",
        ),
        Argument("--no-arr", action="store_true", help="Write type and length of arrays only"),
        Argument("--once", action="store_true", help="Write one message and end"),
        Argument("--timeout", metavar="N", type=positive_float, help="End after this many seconds"),
    ),
    "hz": Verb(_hz, _TOPIC, _window(_INTERVALS), *qos_arguments(), *DIRECT),
    "info": Verb(
        _write_info,
        *NODE,
        Argument("topic_name", help="Full name of the topic (e.g. '/chatter')"),
        Argument(
            "--verbose",
            "-v",
            action="store_true",
            help="Write the node, the type hash, the GID and the QoS profile of each endpoint too",
        ),
    ),
    "list": Verb(
        _list,
        *NODE,
        Argument("-t", "--show-types", action="store_true", help="Write the type behind each topic"),
        hidden("topics"),
    ),
    "pub": Verb(
        _pub,
        _TOPIC,
        Argument("message_type", help="Its type (e.g. 'std_msgs/msg/String')"),
        Argument(
            "values",
            nargs="?",
            default="{}",
            help="The message in YAML; 'header: auto' and 'stamp: now' stand for the time of sending",
        ),
        Argument("-r", "--rate", metavar="N", type=positive_float, help="How often, in Hz (default: 1)"),
        Argument("-1", "--once", action="store_true", help="Publish one message and end", group="count"),
        Argument(
            "-t", "--times", metavar="N", type=unsigned_int, default=0, help="End after so many messages", group="count"
        ),
        Argument(
            "-w",
            "--wait-matching-subscriptions",
            metavar="N",
            type=unsigned_int,
            help="Begin once there are so many subscriptions (default: 1 with --once or --times, else 0)",
        ),
        *qos_arguments("default"),
        *DIRECT,
    ),
    "type": Verb(_write_type, *NODE, _TOPIC),
}
