"""ros2 node."""

from __future__ import annotations

import argparse
import sys

from rclpy.action import get_action_client_names_and_types_by_node, get_action_server_names_and_types_by_node
from rclpy.node import Node

from ros2cli.direct_node import NODE, direct_node, wait_for_graph
from ros2cli.names import absolute, node_names, shown
from ros2cli.options import Argument, Verb

Entries = list[tuple[str, list[str]]]


def _write_info(args: argparse.Namespace) -> str | None:
    """Write what the node has, or return that it is not there."""
    name = absolute(args.node_name)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        count = node_names(node, hidden_too=True).count(name)
        if not count:
            return f"Unable to find node '{args.node_name}'"
        sections = _sections(node, name)
    if count > 1:
        sys.stdout.write(f"There are {count} nodes in the graph with the exact name '{name}'.\n")
    sys.stdout.write(f"{name}\n")
    for title, entries in sections:
        lines = [f"    {entry}: {', '.join(types)}" for entry, types in shown(entries, hidden_too=args.include_hidden)]
        sys.stdout.write(f"  {title}:\n" + "\n".join(lines) + "\n")
    return None


def _sections(node: Node, full_name: str) -> list[tuple[str, Entries]]:
    namespace, _, name = full_name.rpartition("/")
    of = (name, namespace or "/")
    return [
        ("Subscribers", node.get_subscriber_names_and_types_by_node(*of)),
        ("Publishers", node.get_publisher_names_and_types_by_node(*of)),
        ("Service Servers", node.get_service_names_and_types_by_node(*of)),
        ("Service Clients", node.get_client_names_and_types_by_node(*of)),
        ("Action Servers", get_action_server_names_and_types_by_node(node, *of)),
        ("Action Clients", get_action_client_names_and_types_by_node(node, *of)),
    ]


def _write_list(args: argparse.Namespace) -> None:
    """Write the nodes."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        names = node_names(node, hidden_too=args.all)
    if len(set(names)) < len(names):
        sys.stderr.write("WARNING: several nodes share one name, which can have unintended side effects.\n")
    sys.stdout.write("".join(f"{name}\n" for name in names))


VERBS = {
    "info": Verb(
        _write_info,
        *NODE,
        Argument("node_name", help="Full name of the node (e.g. '/talker')"),
        Argument("--include-hidden", action="store_true", help="Write hidden topics, services and actions too"),
    ),
    "list": Verb(_write_list, *NODE, Argument("-a", "--all", action="store_true", help="Count hidden nodes in")),
}
