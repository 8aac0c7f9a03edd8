"""ros2 service."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import rclpy
import yaml
from rclpy.client import Client
from rclpy.node import Node

from ros2cli.direct_node import NODE, direct_node, spin_until, wait_for_graph, wait_for_service
from ros2cli.message_yaml import set_fields
from ros2cli.names import find_interface, full_topic_name, hidden, write_listed
from ros2cli.options import Argument, Verb

_PATIENCE_S = 5.0


def _call_service(args: argparse.Namespace) -> str | None:
    """Call the service, or return what is wrong with the request."""
    service_class = _service_class(args.service_type)
    request = service_class.Request()
    try:
        set_fields(request, yaml.safe_load(args.values))
    except (AttributeError, TypeError, ValueError, OverflowError, AssertionError, yaml.YAMLError) as error:
        return f"Failed to populate field: {error}"
    package = args.service_type.split("/")[0]
    with direct_node(suffix=f"_requester_{package}_{service_class.__name__}") as node:
        client = node.create_client(service_class, args.service_name)
        if not client.service_is_ready():
            sys.stdout.write("waiting for service to become available...\n")
            if not client.wait_for_service(_PATIENCE_S) and rclpy.ok():
                raise RuntimeError(f"service '{args.service_name}' is not available after {_PATIENCE_S:g} s")
        _call(node, client, request)
    return None


def _service_class(type_name: str) -> Any:
    try:
        return find_interface(type_name, "srv")
    except LookupError:
        raise RuntimeError("The passed service type is invalid") from None
    except TypeError:
        raise RuntimeError("The passed type is not a service") from None


def _call(node: Node, client: Client, request: Any) -> None:
    sys.stdout.write(f"requester: making request: {request!r}\n\n")
    future = client.call_async(request)
    spin_until(node, future)
    if future.result() is None:
        raise RuntimeError(f"Exception while calling service: {future.exception()!r}")
    sys.stdout.write(f"response:\n{future.result()!r}\n\n")


def _write_info(args: argparse.Namespace) -> str | None:
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


def _list(args: argparse.Namespace) -> None:
    """Write the services."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        wait_for_graph(node, args.spin_time)
        write_listed(node.get_service_names_and_types(), args)


def _write_type(args: argparse.Namespace) -> int:
    """Write the type; the exit code is 1 where there is no such service."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        name = full_topic_name(node, args.service_name)
        wait_for_service(node, name, args.spin_time)
        types = dict(node.get_service_names_and_types()).get(name, [])
    sys.stdout.write("".join(f"{name}\n" for name in types))
    return 0 if types else 1


VERBS = {
    "call": Verb(
        _call_service,
        Argument("service_name", help="Name of the service (e.g. '/add_two_ints')"),
        Argument("service_type", help="Its type (e.g. 'std_srvs/srv/Empty')"),
        Argument(
            "values",
            nargs="?",
            default="{}",
            help="The request in YAML (e.g. '{a: 1, b: 2}'); the rest stays at default",
        ),
    ),
    "info": Verb(_write_info, *NODE, Argument("service_name", help="Name of the service (e.g. '/add_two_ints')")),
    "list": Verb(
        _list,
        *NODE,
        Argument("-t", "--show-types", action="store_true", help="Write the type behind each service"),
        hidden("services"),
    ),
    "type": Verb(_write_type, *NODE, Argument("service_name", help="Name of the service (e.g. '/add_two_ints')")),
}
