"""Parameters of nodes: values that are known only once they are visited, dictionaries of them, and their files.

A value is a bool, int, float or str, a list of one of them, a dictionary, or made of substitutions, whose text is
read by YAML's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin

import yaml

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch._coverage import refusal
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

__all__ = ["ParameterValue"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "Parameter ParameterFile")

Scalar: TypeAlias = bool | int | float | str
EvaluatedValue: TypeAlias = Scalar | list[Any]

_SCALARS = (bool, int, float, str)
_ADVICE = (
    "If the parameter is meant to be a string, try wrapping it in "
    "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
)


class ParameterValue:
    """A value of a given type, which may be made of substitutions."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        """Convert `value` to `value_type`: bool, int, float, str, a List of one, or None for YAML's choice."""
        self.value = value
        self.value_type = value_type
        self.__checked = _checked(value)
        is_known = not isinstance(self.__checked, Substitution) and value_type is not None
        if is_known and not _is_of(self.__checked, value_type, beforehand=True):
            raise TypeError(f"value {value!r} is not an instance of {value_type}")

    def evaluate(self, context: LaunchContext) -> Any:
        """Perform the substitutions, and convert."""
        value = self.__checked
        if self.value_type is None:
            return _evaluated(context, "value", value)
        if isinstance(value, Substitution):
            value = _converted(value.perform(context), self.value_type)
        elif isinstance(value, list):
            (kind,) = get_args(self.value_type)
            value = [
                item if isinstance(item, _SCALARS) else _converted(_item_text(context, item), kind) for item in value
            ]
        if not _is_of(value, self.value_type):
            raise ValueError(f"expected {self.value_type}, but got {value!r}")
        return value


def _is_of(value: Any, value_type: Any, *, beforehand: bool = False) -> bool:
    """Report whether a value has a type; `beforehand`, what is no scalar yet is passed over."""
    if get_origin(value_type) is not list:
        return isinstance(value, value_type)
    (kind,) = get_args(value_type)
    if not isinstance(value, list):
        return False
    return all(isinstance(item, kind) or (beforehand and not isinstance(item, _SCALARS)) for item in value)


def _converted(text: str, value_type: Any) -> Any:
    if value_type in (int, float, str):
        return value_type(text)
    return text == "1" if value_type is bool and text in ("0", "1") else yaml.safe_load(text)


class ParameterDict:
    """The parameters of a dictionary, checked, with nested names joined by dots."""

    def __init__(self, parameters: Mapping[Any, Any]) -> None:
        """Check the types that are known before the launch; TypeError if one is wrong."""
        self._items = list(_flattened(parameters, []))

    def evaluate(self, context: LaunchContext) -> dict[str, EvaluatedValue]:
        """Perform all substitutions; TypeError if a parameter has no value that ROS knows."""
        named = ((perform_substitutions(context, name), value) for name, value in self._items)
        return {name: _evaluated(context, name, value) for name, value in named}


def _flattened(parameters: Mapping[Any, Any], prefix: list[Substitution]) -> Iterable[tuple[list[Substitution], Any]]:
    for key, value in parameters.items():
        name = [*prefix, *normalize_to_list_of_substitutions(key)]
        if isinstance(value, Mapping):
            yield from _flattened(value, [*name, *normalize_to_list_of_substitutions(".")])
        else:
            yield name, _checked(value)


def _checked(value: Any) -> Any:
    if isinstance(value, (*_SCALARS, Substitution, ParameterValue)):
        return value
    if isinstance(value, bytes) or not isinstance(value, Sequence):
        raise TypeError(f"unexpected type {type(value)} for parameter value {value!r}")
    items = [item if isinstance(item, (*_SCALARS, Substitution)) else list(_iterable(item)) for item in value]
    if any(isinstance(item, Substitution) for item in items) and all(
        isinstance(item, (str, Substitution)) for item in items
    ):
        return _Text(items)
    return items


def _iterable(item: Any) -> Iterable[Any]:
    if isinstance(item, bytes) or not isinstance(item, Iterable):
        raise TypeError(f"unexpected type {type(item)} for an item of a list of parameter values: {item!r}")
    return item


class _Text(Substitution):
    """Text and substitutions that make one value together."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self._parts = normalize_to_list_of_substitutions(parts)

    def perform(self, context: LaunchContext) -> str:
        return perform_substitutions(context, self._parts)


def _evaluated(context: LaunchContext, name: str, value: Any) -> EvaluatedValue:
    if isinstance(value, ParameterValue):
        evaluated: EvaluatedValue = value.evaluate(context)
        return evaluated
    if isinstance(value, Substitution):
        value = _from_yaml(name, value.perform(context))
    elif isinstance(value, list):
        value = [item if isinstance(item, _SCALARS) else _from_yaml(name, _item_text(context, item)) for item in value]
    if isinstance(value, list):
        return _uniform(name, [_plain(name, item) for item in value])
    return _plain(name, value)


def _plain(name: str, value: Any) -> Scalar:
    for kind in _SCALARS:
        if isinstance(value, kind):
            return kind(value)  # YAML does not know subclasses, such as numpy.float64
    raise TypeError(f"parameter '{name}' is {value!r} of {type(value)}, which is no type of a parameter. {_ADVICE}")


def _item_text(context: LaunchContext, item: SomeSubstitutionsType) -> str:
    return perform_substitutions(context, normalize_to_list_of_substitutions(item))


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
