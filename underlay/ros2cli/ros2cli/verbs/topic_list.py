"""ros2 topic list."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from rclpy.node import Node

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.found import add_hidden_argument
from ros2cli.names import shown


@dataclass(frozen=True)
class Topic:
    """A topic with its types and the number of its endpoints."""

    name: str
    types: list[str]
    publishers: int
    subscriptions: int

    def __str__(self) -> str:
        """Return name and types."""
        return f"{self.name} [{', '.join(self.types)}]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_node_arguments(parser)
    parser.add_argument("-t", "--show-types", action="store_true", help="Write the type behind each topic")
    parser.add_argument("-c", "--count-topics", action="store_true", help="Write the number of topics only")
    add_hidden_argument(parser, "topics")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="Write published and subscribed topics apart, with their endpoints"
    )


def main(args: argparse.Namespace) -> None:
    """Write the topics."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        topics = _topics(node, hidden_too=args.hidden_too)
    sys.stdout.write(listing(topics, args))


def listing(topics: list[Topic], args: argparse.Namespace) -> str:
    """Return the text that the options ask for."""
    if args.count_topics:
        return f"{len(topics)}\n"
    if args.verbose:
        return _verbose(topics) if topics else ""
    return "".join(f"{topic if args.show_types else topic.name}\n" for topic in topics)


def _topics(node: Node, *, hidden_too: bool) -> list[Topic]:
    return [
        Topic(name, types, node.count_publishers(name), node.count_subscribers(name))
        for name, types in shown(node.get_topic_names_and_types(), hidden_too=hidden_too)
    ]


def _verbose(topics: list[Topic]) -> str:
    published = [f" * {topic} {_counted(topic.publishers, 'publisher')}\n" for topic in topics if topic.publishers]
    subscribed = [
        f" * {topic} {_counted(topic.subscriptions, 'subscriber')}\n" for topic in topics if topic.subscriptions
    ]
    return "".join(["Published topics:\n", *published, "\nSubscribed topics:\n", *subscribed, "\n"])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
