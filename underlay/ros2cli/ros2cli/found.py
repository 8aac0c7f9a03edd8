"""What `find` and `list` say alike of topics and of services."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from rclpy.node import Node

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.names import shown

_NamesAndTypes = list[tuple[str, list[str]]]


def add_hidden_argument(parser: argparse.ArgumentParser, noun: str) -> None:
    """Add whether hidden ones (`noun` is topics or services) are counted in."""
    parser.add_argument(
        f"--include-hidden-{noun}",
        dest="hidden_too",
        action="store_true",
        # The same flag may stand before the verb, and an absence here must not undo it.
        default=argparse.SUPPRESS,
        help=f"Count hidden {noun} in",
    )


def add_find_arguments(parser: argparse.ArgumentParser, noun: str) -> None:
    """Add the arguments of `find`."""
    add_node_arguments(parser)
    parser.add_argument("wanted_type", metavar=f"{noun.removesuffix('s')}_type", help="A type, by its full name")
    parser.add_argument(
        "-c", f"--count-{noun}", dest="counts", action="store_true", help=f"Write the number of {noun} only"
    )
    add_hidden_argument(parser, noun)


def write_found(args: argparse.Namespace, all_of: Callable[[Node], _NamesAndTypes]) -> None:
    """Write those of the type."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        entries = shown(all_of(node), hidden_too=args.hidden_too)
    names = [name for name, types in entries if args.wanted_type in types]
    sys.stdout.write(f"{len(names)}\n" if args.counts else "".join(f"{name}\n" for name in names))
