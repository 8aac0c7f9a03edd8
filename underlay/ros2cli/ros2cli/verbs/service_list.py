"""ros2 service list."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.found import add_hidden_argument
from ros2cli.names import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_node_arguments(parser)
    parser.add_argument("-t", "--show-types", action="store_true", help="Write the type behind each service")
    parser.add_argument("-c", "--count-services", action="store_true", help="Write the number of services only")
    add_hidden_argument(parser, "services")


def main(args: argparse.Namespace) -> None:
    """Write the services."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        services = shown(node.get_service_names_and_types(), hidden_too=args.hidden_too)
    if args.count_services:
        sys.stdout.write(f"{len(services)}\n")
        return
    for name, types in services:
        sys.stdout.write(f"{name} [{', '.join(types)}]\n" if args.show_types else f"{name}\n")
