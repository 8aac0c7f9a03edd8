"""ros2 topic find."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.names import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("topic_type", help="A type, by its full name")
    parser.add_argument("-c", "--count-topics", action="store_true", help="Write the number of topics only")
    parser.add_argument(
        "--include-hidden-topics",
        action="store_true",
        # The same flag may stand before the verb, and an absence here must not undo it.
        default=argparse.SUPPRESS,
        help="Count hidden topics in",
    )


def main(args: argparse.Namespace) -> None:
    """Write the topics of the type."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        entries = shown(node.get_topic_names_and_types(), hidden_too=args.include_hidden_topics)
    names = [name for name, types in entries if args.topic_type in types]
    sys.stdout.write(f"{len(names)}\n" if args.count_topics else "".join(f"{name}\n" for name in names))
