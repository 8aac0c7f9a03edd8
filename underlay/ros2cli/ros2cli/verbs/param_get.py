"""ros2 param get."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import add_node_arguments, direct_node
from ros2cli.parameters import NOUNS, RemoteParameters, plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("node_name", help="The node")
    parser.add_argument("parameter_name", help="The parameter")
    parser.add_argument("--hide-type", action="store_true", help="Write the value only")


def main(args: argparse.Namespace) -> str | None:
    """Write the value, or return that there is none."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        values = RemoteParameters(node, args.node_name, args.spin_time).values([args.parameter_name])
    if not values or values[0].type not in NOUNS:
        return "Parameter not set"
    sys.stdout.write(f"{'' if args.hide_type else f'{NOUNS[values[0].type]}: '}{plain(values[0])}\n")
    return None
