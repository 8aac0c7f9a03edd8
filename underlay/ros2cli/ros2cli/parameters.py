"""The parameters of other nodes, asked for by their services."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterType, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from ros2cli.direct_node import spin_for
from ros2cli.discovery import ALL_FOUND
from ros2cli.names import absolute

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

    def names(self, prefixes: Sequence[str] = ()) -> list[str]:
        """Return the names of all, or of those below prefixes, in order."""
        response = self._answer(self._client.list_parameters(list(prefixes)))
        return sorted(response.result.names)

    def values(self, names: Sequence[str]) -> list[ParameterValue]:
        """Return their values."""
        return list(self._answer(self._client.get_parameters(list(names))).values)

    def set(self, name: str, value: ParameterValue) -> tuple[bool, str]:
        """Set one; return whether that was done, and the reason that the node gave."""
        parameter = Parameter(name, value=parameter_value_to_python(value))
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
    found = parameter_value_to_python(value)
    return list(found) if hasattr(found, "__iter__") and not isinstance(found, str) else found
