"""ros2 param: the parameters of other nodes, asked for by their services."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import yaml
from rcl_interfaces.msg import ParameterType, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, get_parameter_value, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ros2cli.direct_node import ALL_FOUND, NODE, direct_node, spin_for, wait_for_graph
from ros2cli.names import absolute, node_names
from ros2cli.options import Argument, Verb

_SERVICE = "/list_parameters"
ANSWER_S = 10.0
_STEP_S = 0.05
NOUNS = {
    ParameterType.PARAMETER_BOOL: "Boolean value is",
    ParameterType.PARAMETER_INTEGER: "Integer value is",
    ParameterType.PARAMETER_DOUBLE: "Double value is",
    ParameterType.PARAMETER_STRING: "String value is",
    ParameterType.PARAMETER_BYTE_ARRAY: "Byte values are",
    ParameterType.PARAMETER_BOOL_ARRAY: "Boolean values are",
    ParameterType.PARAMETER_INTEGER_ARRAY: "Integer values are",
    ParameterType.PARAMETER_DOUBLE_ARRAY: "Double values are",
    ParameterType.PARAMETER_STRING_ARRAY: "String values are",
}


# Which node is asked, and how.
REMOTE = (
    *NODE,
    Argument("node_name", help="The node"),
)
_PARAMETER = Argument("parameter_name", help="The parameter")


class RemoteParameters:
    """Those of one node, as soon as its services are there; RuntimeError where they or an answer do not come."""

    def __init__(self, node: Node, name: str, spin_time: float | None = None) -> None:
        """Wait for the services."""
        self._node, self.name = node, absolute(name)
        self._client = AsyncParameterClient(node, self.name)
        end = time.monotonic() + (ALL_FOUND.most_s if spin_time is None else spin_time)
        while not self._client.services_are_ready():
            if time.monotonic() >= end:
                raise RuntimeError("Node not found")
            spin_for(node, _STEP_S)

    @classmethod
    def of(cls, node: Node, args: argparse.Namespace) -> RemoteParameters:
        """Return those of the node that the arguments name."""
        return cls(node, args.node_name, args.spin_time)

    def names(self) -> list[str]:
        """Return the names of all, in order."""
        response = self._answer(self._client.list_parameters([]))
        return sorted(response.result.names)

    def values(self, names: Sequence[str]) -> list[ParameterValue]:
        """Return their values."""
        return list(self._answer(self._client.get_parameters(list(names))).values)

    def set(self, parameter: Parameter) -> tuple[bool, str]:
        """Set one; return whether that was done, and the reason that the node gave."""
        (result,) = self._answer(self._client.set_parameters([parameter])).results
        return bool(result.successful), str(result.reason)

    def _answer(self, future: Any) -> Any:
        end = time.monotonic() + ANSWER_S
        while not future.done():
            if time.monotonic() >= end:
                raise RuntimeError(f"{self.name} did not answer within {ANSWER_S:g} s")
            spin_for(self._node, _STEP_S)
        return future.result()


def plain(value: ParameterValue) -> Any:
    """Return a value as Python and YAML have it."""
    python = parameter_value_to_python(value)
    return list(python) if hasattr(python, "__iter__") and not isinstance(python, str) else python


def _dump(args: argparse.Namespace) -> None:
    """Write all parameters, as a file that a node takes."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        remote = RemoteParameters.of(node, args)
        names = remote.names()
        values = remote.values(names)
    tree: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        *folders, last = name.split(".")
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = plain(value)
    sys.stdout.write(yaml.safe_dump({remote.name: {"ros__parameters": tree}}, default_flow_style=False))


def _get(args: argparse.Namespace) -> str | None:
    """Write the value, or return that there is none."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        values = RemoteParameters.of(node, args).values([args.parameter_name])
    if not values or values[0].type not in NOUNS:
        return "Parameter not set"
    sys.stdout.write(f"{'' if args.hide_type else f'{NOUNS[values[0].type]}: '}{plain(values[0])}\n")
    return None


def _list(args: argparse.Namespace) -> None:
    """Write the names of parameters."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        if args.node_name:
            sys.stdout.write(_listed(RemoteParameters(node, args.node_name, args.spin_time)))
            return
        wait_for_graph(node, args.spin_time)
        for name in _nodes(node, hidden_too=args.include_hidden_nodes):
            sys.stdout.write(f"{name}:\n{_listed(RemoteParameters(node, name))}")


def _nodes(node: Node, *, hidden_too: bool) -> list[str]:
    """Those that answer for their parameters."""
    services = {name for name, _ in node.get_service_names_and_types()}
    names = dict.fromkeys(node_names(node, hidden_too=hidden_too))
    return [name for name in names if name + _SERVICE in services]


def _listed(remote: RemoteParameters) -> str:
    return "".join(f"  {name}\n" for name in remote.names())


def _set(args: argparse.Namespace) -> str | None:
    """Set the parameter, or return why not."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        parameter = Parameter(args.parameter_name, value=parameter_value_to_python(get_parameter_value(args.value)))
        done, reason = RemoteParameters.of(node, args).set(parameter)
    detail = f": {reason}" if reason else ""
    if not done:
        return f"Setting parameter failed{detail}"
    sys.stdout.write(f"Set parameter successful{detail}\n")
    return None


VERBS = {
    "dump": Verb(_dump, *REMOTE),
    "get": Verb(_get, *REMOTE, _PARAMETER, Argument("--hide-type", action="store_true", help="Write the value only")),
    "list": Verb(
        _list,
        *NODE,
        Argument("node_name", nargs="?", help="The node (default: all nodes)"),
        Argument("--include-hidden-nodes", action="store_true", help="Count hidden nodes in"),
    ),
    "set": Verb(_set, *REMOTE, _PARAMETER, Argument("value", help="Its value, in YAML")),
}
