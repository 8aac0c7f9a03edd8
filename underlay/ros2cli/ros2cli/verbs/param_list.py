"""ros2 param list."""

from __future__ import annotations

import argparse
import re
import sys

from rclpy.node import Node

from ros2cli.direct_node import add_node_arguments, direct_node, wait_for_graph
from ros2cli.names import node_names
from ros2cli.parameters import RemoteParameters, kind_of

_SERVICE = "/list_parameters"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_node_arguments(parser)
    parser.add_argument("node_name", nargs="?", help="The node (default: all nodes)")
    parser.add_argument("--include-hidden-nodes", action="store_true", help="Count hidden nodes in")
    parser.add_argument("--param-prefixes", nargs="+", default=[], metavar="PREFIX", help="Only those below these")
    parser.add_argument("--param-type", action="store_true", help="Write the types too")
    parser.add_argument("--filter", help="Only those in which this regular expression is found")


def main(args: argparse.Namespace) -> None:
    """Write the names of parameters."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        if args.node_name:
            sys.stdout.write(_listed(RemoteParameters(node, args.node_name, args.spin_time), args))
            return
        wait_for_graph(node, args.spin_time)
        for name in _nodes(node, hidden_too=args.include_hidden_nodes):
            sys.stdout.write(f"{name}:\n{_listed(RemoteParameters(node, name), args)}")


def _nodes(node: Node, *, hidden_too: bool) -> list[str]:
    """Those that answer for their parameters."""
    services = {name for name, _ in node.get_service_names_and_types()}
    names = dict.fromkeys(node_names(node, hidden_too=hidden_too))
    return [name for name in names if name + _SERVICE in services]


def _listed(remote: RemoteParameters, args: argparse.Namespace) -> str:
    names = [name for name in remote.names(args.param_prefixes) if re.search(args.filter or "", name)]
    if not args.param_type or not names:
        return "".join(f"  {name}\n" for name in names)
    values = remote.values(names)
    return "".join(f"  {name} (type: {kind_of(value.type)})\n" for name, value in zip(names, values, strict=True))
