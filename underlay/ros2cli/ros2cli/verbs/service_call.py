"""ros2 service call."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import rclpy
import yaml
from rclpy.client import Client
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from ros2cli.direct_node import direct_node, spin_until
from ros2cli.names import find_interface
from ros2cli.populate import set_fields

_PATIENCE_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("service_name", help="Name of the service (e.g. '/add_two_ints')")
    parser.add_argument("service_type", help="Its type (e.g. 'std_srvs/srv/Empty')")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "values", nargs="?", default="{}", help="The request in YAML (e.g. '{a: 1, b: 2}'); the rest stays at default"
    )
    group.add_argument("--stdin", action="store_true", help="Read the request from standard input")
    parser.add_argument("-r", "--rate", metavar="N", type=float, help="Call again and again, at this rate in Hz")


def main(args: argparse.Namespace) -> str | None:
    """Call the service, or return what is wrong with the request."""
    if args.rate is not None and args.rate <= 0:
        raise RuntimeError("rate must be greater than zero")
    service_class = _service_class(args.service_type)
    request = service_class.Request()
    try:
        set_fields(request, yaml.safe_load(sys.stdin.buffer if args.stdin else args.values))
    except (AttributeError, TypeError, ValueError, OverflowError, AssertionError, yaml.YAMLError) as error:
        return f"Failed to populate field: {error}"
    package = args.service_type.split("/")[0]
    with direct_node(suffix=f"_requester_{package}_{service_class.__name__}") as node:
        client = node.create_client(service_class, args.service_name)
        if not client.service_is_ready():
            sys.stdout.write("waiting for service to become available...\n")
            if not client.wait_for_service(_PATIENCE_S) and rclpy.ok():
                raise RuntimeError(f"service '{args.service_name}' is not available after {_PATIENCE_S:g} s")
        _call_until_done(node, client, request, rate=args.rate)
    return None


def _service_class(type_name: str) -> Any:
    try:
        return find_interface(type_name, "srv")
    except LookupError:
        raise RuntimeError("The passed service type is invalid") from None
    except TypeError:
        raise RuntimeError("The passed type is not a service") from None


def _call_until_done(node: Node, client: Client, request: Any, *, rate: float | None) -> None:
    while rclpy.ok():
        started = time.monotonic()
        _call(node, client, request)
        if rate is None:
            return
        time.sleep(max(0.0, started + 1.0 / rate - time.monotonic()))
    raise ExternalShutdownException


def _call(node: Node, client: Client, request: Any) -> None:
    sys.stdout.write(f"requester: making request: {request!r}\n\n")
    future = client.call_async(request)
    spin_until(node, future)
    if future.result() is None:
        raise RuntimeError(f"Exception while calling service: {future.exception()!r}")
    sys.stdout.write(f"response:\n{future.result()!r}\n\n")
