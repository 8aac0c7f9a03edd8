"""Parameters of nodes: values that are known only once they are visited, dictionaries of them, and their files.

A value is a bool, int, float or str, a list of one of them, a dictionary, or made of substitutions, whose text is
read by YAML's rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, get_args, get_origin

import yaml

from launch import LaunchContext, Substitution
from launch._coverage import refusal
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

__all__ = ["ParameterValue"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "Parameter ParameterFile")

_SCALARS = (bool, int, float, str)
_ADVICE = (
    "If the parameter is meant to be a string, try wrapping it in "
    "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
)


class ParameterValue:
    """A value of a given type, which may be made of substitutions."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        """Convert `value` to `value_type`: bool, int, float, str, a list of one, or None for YAML's choice."""
        self.value = value
        self.value_type = value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """Perform the substitutions, and convert."""
        if self.value_type is None:
            return _evaluated(context, "value", self.value)
        (kind,) = get_args(self.value_type) or (self.value_type,)
        is_list = get_origin(self.value_type) is list
        if is_list and isinstance(self.value, list):
            value: Any = [_converted(context, item, kind) for item in self.value]
        else:
            value = _converted(context, self.value, self.value_type)
        items = value if isinstance(value, list) else [value]
        if isinstance(value, list) != is_list or not all(isinstance(item, kind) for item in items):
            raise ValueError(f"expected {self.value_type}, but got {value!r}")
        return value


def _converted(context: LaunchContext, item: Any, kind: Any) -> Any:
    if isinstance(item, _SCALARS):
        return item
    text = _text(context, item)
    if kind in (int, float, str):
        return kind(text)
    return text == "1" if kind is bool and text in ("0", "1") else yaml.safe_load(text)


def evaluate_parameters(context: LaunchContext, parameters: Mapping[Any, Any]) -> dict[str, Any]:
    """Perform all substitutions of a dictionary, and join nested names by dots.

    Raises:
        TypeError: a parameter has no value that ROS knows.
    """
    values: dict[str, Any] = {}
    for key, value in parameters.items():
        name = _text(context, key)
        if isinstance(value, Mapping):
            values.update((f"{name}.{inner}", each) for inner, each in evaluate_parameters(context, value).items())
        else:
            values[name] = _evaluated(context, name, value)
    return values


def _text(context: LaunchContext, parts: Any) -> str:
    return perform_substitutions(context, normalize_to_list_of_substitutions(parts))


def _evaluated(context: LaunchContext, name: str, value: Any) -> Any:
    if isinstance(value, ParameterValue):
        return value.evaluate(context)
    items = list(value) if isinstance(value, (list, tuple)) else []
    is_text = any(isinstance(item, Substitution) for item in items) and all(
        isinstance(item, (str, Substitution)) for item in items
    )
    if is_text or isinstance(value, Substitution):
        value = _from_yaml(name, _text(context, value))
    elif isinstance(value, (list, tuple)):
        value = [item if isinstance(item, _SCALARS) else _from_yaml(name, _text(context, item)) for item in items]
    return _uniform(name, [_plain(name, item) for item in value]) if isinstance(value, list) else _plain(name, value)


def _plain(name: str, value: Any) -> Any:
    for kind in _SCALARS:
        if isinstance(value, kind):
            return kind(value)  # YAML does not know subclasses, such as numpy.float64
    raise TypeError(f"parameter '{name}' is {value!r} of {type(value)}, which is no type of a parameter. {_ADVICE}")


def _from_yaml(name: str, text: str) -> Any:
    if not text:
        return text  # YAML would make nothing at all of it
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise TypeError(f"cannot read the value '{text}' of parameter '{name}' as YAML. {_ADVICE}") from exc


def _uniform(name: str, values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [float(value) for value in values]
    if len(kinds) != 1 or not kinds.issubset(_SCALARS):
        raise TypeError(
            f"parameter '{name}' must be a non-empty list of values of one type out of bool, int, float and str, "
            f"but got {values!r}"
        )
    return values


class _Dumper(yaml.SafeDumper):
    """Quotes every string: what is no number for PyYAML, such as 1e5, may be one for the node's YAML reader."""


class _Quoted(str):
    """A string that is a value, not a name."""


def _represent_quoted(dumper: yaml.SafeDumper, value: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def _quoted(value: Any) -> Any:
    if isinstance(value, list):
        return [_quoted(item) for item in value]
    return _Quoted(value) if isinstance(value, str) else value


def write_parameters_file(node_name: str, parameters: Mapping[str, Any]) -> Path:
    """Write the parameters of the node of that full name, or of ``/**``, to a new temporary file."""
    content = {node_name: {"ros__parameters": {name: _quoted(value) for name, value in parameters.items()}}}
    with NamedTemporaryFile(mode="w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
        yaml.dump(content, file, Dumper=_Dumper, default_flow_style=False, allow_unicode=True)
    return Path(file.name)


def parameter_rule(name: str, value: Any) -> str:
    """Return the argument that sets one parameter; a node reads the text of a string by YAML's rules."""
    if isinstance(value, str):
        return f"{name}:={value}"
    text = yaml.dump(_quoted(value), Dumper=_Dumper, default_flow_style=True, width=2**31)
    return f"{name}:={text.removesuffix(chr(10)).removesuffix('...').rstrip()}"
