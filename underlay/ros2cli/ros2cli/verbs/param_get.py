"""ros2 param get."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import direct_node
from ros2cli.parameters import NOUNS, RemoteParameters, add_remote_arguments, plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_name", help="The parameter")
    parser.add_argument("--hide-type", action="store_true", help="Write the value only")


def main(args: argparse.Namespace) -> str | None:
    """Write the value, or return that there is none."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        values = RemoteParameters.of(node, args).values([args.parameter_name])
    if not values or values[0].type not in NOUNS:
        return "Parameter not set"
    sys.stdout.write(f"{'' if args.hide_type else f'{NOUNS[values[0].type]}: '}{plain(values[0])}\n")
    return None
