"""ros2 topic type."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_topic
from ros2cli.names import full_topic_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")


def main(args: argparse.Namespace) -> int:
    """Write the type; the exit code is 1 where there is no such topic."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        topic = full_topic_name(node, args.topic_name)
        wait_for_topic(node, topic, args.spin_time)
        types = dict(node.get_topic_names_and_types()).get(topic, [])
    sys.stdout.write("".join(f"{name}\n" for name in types))
    return 0 if types else 1
