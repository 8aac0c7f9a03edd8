"""ros2 topic echo."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import yaml
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.task import Future

from ros2cli.argument_types import positive_float, unsigned_int
from ros2cli.convert import Style, message_to_csv, message_to_yaml
from ros2cli.direct_node import add_node_arguments, direct_node, spin_until, wait_for_topic
from ros2cli.expression import message_filter
from ros2cli.names import find_interface, full_topic_name, not_published_yet, topic_class
from ros2cli.qos import add_qos_arguments, chosen_profile

_TRUNCATE_LENGTH = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    parser.add_argument("message_type", nargs="?", help="Its type (e.g. 'std_msgs/msg/String'), if not yet known")
    add_qos_arguments(parser)
    _add_format_arguments(parser)
    parser.add_argument("--no-lost-messages", action="store_true", help="Say nothing of lost messages")
    parser.add_argument("--raw", action="store_true", help="Write the serialized messages")
    parser.add_argument(
        "--filter", dest="filter_expr", help="Write only messages for which this Python expression of m is true"
    )
    parser.add_argument("--once", action="store_true", help="Write one message and end")
    parser.add_argument("--timeout", metavar="N", type=positive_float, help="End after this many seconds")
    parser.add_argument(
        "--include-message-info", "-i", action="store_true", help="Write the time stamps and numbers of each message"
    )


def _add_format_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--csv", action="store_true", help="Write one line of comma-separated values per message")
    parser.add_argument("--field", help="Write one field only (e.g. 'pose.pose.position')")
    parser.add_argument("--full-length", "-f", action="store_true", help="Write arrays and texts in full")
    parser.add_argument(
        "--truncate-length",
        "-l",
        type=unsigned_int,
        default=_TRUNCATE_LENGTH,
        help="Elements to write of longer arrays and texts (default: %(default)s)",
    )
    parser.add_argument("--no-arr", action="store_true", help="Write type and length of arrays only")
    parser.add_argument("--no-str", action="store_true", help="Write the length of texts only")
    parser.add_argument("--flow-style", action="store_true", help="Write arrays in YAML's flow style")


def main(args: argparse.Namespace) -> None:
    """Write messages until enough is written."""
    echo = Echo(args)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        profile, notices = chosen_profile(args, node.get_publishers_info_by_topic(topic))
        sys.stdout.writelines(notices)
        if args.timeout is not None:
            node.create_timer(args.timeout, echo.finish)
        lost = None if args.no_lost_messages else SubscriptionEventCallbacks(message_lost=_write_lost_message)
        message_class = _message_class(node, topic, args)
        node.create_subscription(message_class, topic, echo.write, profile, event_callbacks=lost, raw=args.raw)
        spin_until(node, echo.finished)


def _message_class(node: Node, topic: str, args: argparse.Namespace) -> Any:
    if args.message_type is not None:
        try:
            return find_interface(args.message_type, "msg")
        except (LookupError, TypeError):
            raise RuntimeError("The passed message type is invalid") from None
    found = topic_class(node, topic)
    if found is None:
        sys.stdout.write(not_published_yet(args.topic_name))
        raise RuntimeError("Could not determine the type for the passed topic")
    return found


class Echo:
    """Writes each message as the options say."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Check the options; RuntimeError when one makes no sense."""
        self.finished = Future()
        self._args = args
        self._path = [name for name in (args.field or "").split(".") if name]
        if args.field is not None and not self._path:
            raise RuntimeError(f"Invalid field value '{args.field}'")
        self._passes = message_filter(args.filter_expr)
        self._style = Style(
            truncate_length=None if args.full_length else args.truncate_length,
            no_arr=args.no_arr,
            no_str=args.no_str,
        )

    def finish(self) -> None:
        """Write no more."""
        self.finished.set_result(None)

    def write(self, message: Any, info: dict[str, int | None]) -> None:
        """Write ``message``, or the field of it that is asked for, unless it is filtered out."""
        part = self._part_of(message)
        if not self._passes(part):
            return
        if self._args.once:
            self.finish()
        sys.stdout.write(self._text(part, info if self._args.include_message_info else None))

    def _part_of(self, message: Any) -> Any:
        for name in self._path:
            try:
                message = getattr(message, name)
            except AttributeError as error:
                raise RuntimeError(f"Invalid field '{'.'.join(self._path)}': {error}") from None
        return message

    def _text(self, part: Any, info: dict[str, int | None] | None) -> str:
        if not hasattr(part, "SLOT_TYPES"):
            head = f"---Got new message, message info:---\n{info}\n---Message data:---\n" if info else ""
            return f"{head}{part}\n---\n"
        if self._args.csv:
            head = "".join(f"{value}," for value in info.values()) if info else ""
            return f"{head}{message_to_csv(part, self._style)}\n"
        head = f"{yaml.safe_dump(info)}---\n" if info else ""
        return f"{head}{message_to_yaml(part, self._style, flow_style=self._args.flow_style)}---\n"


def _write_lost_message(status: QoSMessageLostInfo) -> None:
    sys.stdout.write(
        f"A message was lost!!!\n\ttotal count change:{status.total_count_change}\n"
        f"\ttotal count: {status.total_count}---\n"
    )
