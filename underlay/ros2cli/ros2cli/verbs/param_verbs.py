"""ros2 param: the parameters of other nodes, asked for by their services."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, get_parameter_value, parameter_dict_from_yaml_file, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ros2cli.direct_node import ALL_FOUND, NODE, direct_node, spin_for, wait_for_graph
from ros2cli.names import absolute, node_names
from ros2cli.options import Argument, Verb

_SERVICE = "/list_parameters"
ANSWER_S = 10.0
EVERY_NODE = "/**"  # the name in files of parameters
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


def kind_of(parameter_type: int) -> str:
    """Return the name of a type of parameters, as `boolean` or `string array`."""
    if parameter_type not in NOUNS:
        return "not set"
    kind = NOUNS[parameter_type].split(" ")[0].lower()
    return f"{kind} array" if parameter_type >= ParameterType.PARAMETER_BYTE_ARRAY else kind


def parameters_in(path: Path, *, use_wildcard: bool) -> dict[str, Any]:
    """Return the parameters of a file by name; RuntimeError says what is wrong with it."""
    try:
        nodes = [name for name in yaml.safe_load(path.read_text()) if name != EVERY_NODE]
        # All are named: where none is, later releases of rclpy than Jazzy's take those for every node alone.
        return dict(parameter_dict_from_yaml_file(str(path), use_wildcard, nodes))
    except OSError as error:
        raise RuntimeError(f"{path}: {error.strerror}") from None
    except (RuntimeError, AttributeError, KeyError, TypeError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RuntimeError(f"{path}: expected a file of parameters, got none: {error}") from None


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

    def descriptions(self, names: Sequence[str]) -> list[ParameterDescriptor]:
        """Return what the node says of them."""
        return list(self._answer(self._client.describe_parameters(list(names))).descriptors)

    def delete(self, name: str) -> tuple[bool, str]:
        """Delete one; return whether that was done, and the reason that the node gave."""
        (result,) = self._answer(self._client.delete_parameters([name])).results
        return bool(result.successful), str(result.reason)

    def set_all(self, parameters: Sequence[Any]) -> list[tuple[bool, str]]:
        """Set several, each by itself; return whether that was done, and the reasons that the node gave."""
        results = self._answer(self._client.set_parameters(list(parameters))).results
        return [(bool(result.successful), str(result.reason)) for result in results]

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


def _delete(args: argparse.Namespace) -> str | None:
    """Delete the parameter, or return why not."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        done, reason = RemoteParameters.of(node, args).delete(args.parameter_name)
    detail = f": {reason}" if reason else ""
    if not done:
        return f"Deleting parameter failed{detail}"
    sys.stdout.write(f"Deleted parameter successfully{detail}\n")
    return None


def _describe(args: argparse.Namespace) -> None:
    """Write what the node says of the parameters."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        descriptors = RemoteParameters.of(node, args).descriptions(args.parameter_names)
    sys.stdout.write("".join(f"{line}\n" for descriptor in descriptors for line in _description(descriptor)))


def _description(descriptor: ParameterDescriptor) -> Iterator[str]:
    yield f"Parameter name: {descriptor.name}"
    yield f"  Type: {kind_of(descriptor.type)}"
    if descriptor.description:
        yield f"  Description: {descriptor.description}"
    yield "  Constraints:"
    if descriptor.read_only:
        yield "    Read only: true"
    for limits in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
        yield f"    Min value: {limits.from_value}"
        yield f"    Max value: {limits.to_value}"
        if limits.step:
            yield f"    Step: {limits.step}"
    if descriptor.additional_constraints:
        yield f"    Additional constraints: {descriptor.additional_constraints}"


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


def _load(args: argparse.Namespace) -> int:
    """Set all parameters of the file, and say of each whether it was done; the exit code is 1 where one was not."""
    parameters = parameters_in(args.parameter_file, use_wildcard=not args.no_use_wildcard)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        results = RemoteParameters.of(node, args).set_all(list(parameters.values()))
    for name, (done, reason) in zip(parameters, results, strict=True):
        out, word = (sys.stdout, "successful") if done else (sys.stderr, "failed")
        out.write(f"Set parameter {name} {word}{f': {reason}' if reason else ''}\n")
    return 0 if all(done for done, _ in results) else 1


def _set(args: argparse.Namespace) -> str | None:
    """Set the parameter, or return why not."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        parameter = Parameter(args.parameter_name, value=parameter_value_to_python(get_parameter_value(args.value)))
        ((done, reason),) = RemoteParameters.of(node, args).set_all([parameter])
    detail = f": {reason}" if reason else ""
    if not done:
        return f"Setting parameter failed{detail}"
    sys.stdout.write(f"Set parameter successful{detail}\n")
    return None


VERBS = {
    "delete": Verb(_delete, *REMOTE, _PARAMETER),
    "describe": Verb(_describe, *REMOTE, Argument("parameter_names", nargs="+", help="The parameters")),
    "dump": Verb(_dump, *REMOTE),
    "get": Verb(_get, *REMOTE, _PARAMETER, Argument("--hide-type", action="store_true", help="Write the value only")),
    "list": Verb(
        _list,
        *NODE,
        Argument("node_name", nargs="?", help="The node (default: all nodes)"),
        Argument("--include-hidden-nodes", action="store_true", help="Count hidden nodes in"),
    ),
    "load": Verb(
        _load,
        *REMOTE,
        Argument("parameter_file", type=Path, help="A file of parameters, as `ros2 param dump` writes it"),
        Argument(
            "--no-use-wildcard", action="store_true", help="Leave those out that the file has for all nodes ('/**')"
        ),
    ),
    "set": Verb(_set, *REMOTE, _PARAMETER, Argument("value", help="Its value, in YAML")),
}
