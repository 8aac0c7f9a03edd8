"""Parameters that are written as dictionaries.

A value is a bool, int, float or str, a list of one of them, a dictionary, or made of substitutions, whose text is
read by YAML's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import yaml

from launch import LaunchContext, SomeSubstitutionsType, Substitution
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ..parameter_descriptions import ParameterValue

Scalar: TypeAlias = bool | int | float | str
EvaluatedValue: TypeAlias = Scalar | list[Any]

_SCALARS = (bool, int, float, str)
_ADVICE = (
    "If the parameter is meant to be a string, try wrapping it in "
    "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
)


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
