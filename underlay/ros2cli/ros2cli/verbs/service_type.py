"""ros2 service type."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_service
from ros2cli.names import full_topic_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("service_name", help="Name of the service (e.g. '/add_two_ints')")


def main(args: argparse.Namespace) -> int:
    """Write the type; the exit code is 1 where there is no such service."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        name = full_topic_name(node, args.service_name)
        wait_for_service(node, name, args.spin_time)
        types = dict(node.get_service_names_and_types()).get(name, [])
    sys.stdout.write("".join(f"{name}\n" for name in types))
    return 0 if types else 1
