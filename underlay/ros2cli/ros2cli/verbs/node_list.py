"""ros2 node list."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.names import node_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_node_arguments(parser)
    parser.add_argument("-a", "--all", action="store_true", help="Count hidden nodes in")
    parser.add_argument("-c", "--count-nodes", action="store_true", help="Write the number of nodes only")


def main(args: argparse.Namespace) -> None:
    """Write the nodes."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        names = node_names(node, hidden_too=args.all)
    if len(set(names)) < len(names):
        sys.stderr.write("WARNING: several nodes share one name, which can have unintended side effects.\n")
    sys.stdout.write(f"{len(names)}\n" if args.count_nodes else "".join(f"{name}\n" for name in names))
