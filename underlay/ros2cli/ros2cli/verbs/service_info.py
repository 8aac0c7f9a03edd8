"""ros2 service info."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.names import full_topic_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("service_name", help="Name of the service (e.g. '/add_two_ints')")


def main(args: argparse.Namespace) -> str | None:
    """Write the type and how many there are at either end, or return that nobody knows it."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        name = full_topic_name(node, args.service_name)
        wait_for_graph(node, args.spin_time)
        types = dict(node.get_service_names_and_types()).get(name)
        clients, servers = node.count_clients(name), node.count_services(name)
    if not types:
        return f"Unknown service '{args.service_name}'"
    sys.stdout.write(f"Type: {types[0] if len(types) == 1 else types}\n")
    sys.stdout.write(f"Clients count: {clients}\nServices count: {servers}\n")
    return None
