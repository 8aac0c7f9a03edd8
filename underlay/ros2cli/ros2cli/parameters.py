"""The parameters of other nodes, asked for by their services."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_dict_from_yaml_file, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ros2cli.direct_node import add_node_arguments, spin_for
from ros2cli.discovery import ALL_FOUND
from ros2cli.names import absolute

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


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which node is asked, and how."""
    add_node_arguments(parser)
    parser.add_argument("node_name", help="The node")
    parser.add_argument(
        "--include-hidden-nodes", action="store_true", help="Taken for compatibility: a node is asked by its name"
    )
    parser.add_argument("--timeout", type=int, metavar="N", help="Seconds to wait for the node, as --spin-time")


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
        return cls(node, args.node_name, args.spin_time if args.timeout is None else args.timeout)

    def names(self, prefixes: Sequence[str] = ()) -> list[str]:
        """Return the names of all, or of those below prefixes, in order."""
        response = self._answer(self._client.list_parameters(list(prefixes)))
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

    def set(self, name: str, value: ParameterValue) -> tuple[bool, str]:
        """Set one; return whether that was done, and the reason that the node gave."""
        parameter = Parameter(name, value=parameter_value_to_python(value))
        (done,) = self.set_all([parameter])
        return done

    def _answer(self, future: Any) -> Any:
        end = time.monotonic() + ANSWER_S
        while not future.done():
            if time.monotonic() >= end:
                raise RuntimeError(f"{self.name} did not answer within {ANSWER_S:g} s")
            spin_for(self._node, _STEP_S)
        return future.result()


def plain(value: ParameterValue) -> Any:
    """Return a value as Python and YAML have it."""
    found = parameter_value_to_python(value)
    return list(found) if hasattr(found, "__iter__") and not isinstance(found, str) else found
