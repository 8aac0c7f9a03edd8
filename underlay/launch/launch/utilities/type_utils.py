"""Values of a given type that are written as text or as substitutions.

The types are int, float, bool and str, and lists of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, get_args, get_origin

import yaml

from .._coverage import refusal
from .._entities import SomeSubstitutionsType, Substitution
from . import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext
else:
    __getattr__ = refusal(
        __name__,
        ("coerce_list", "get_typed_value", "is_instance_of_valid_type", "is_typing_list", "is_valid_scalar_type"),
    )

ScalarTypesTuple = (int, float, bool, str)
ScalarValueType: TypeAlias = int | float | bool | str
ListValueType: TypeAlias = list[int] | list[float] | list[bool] | list[str]
AllowedTypesType: TypeAlias = Any
SomeValueType: TypeAlias = SomeSubstitutionsType | ScalarValueType | Sequence[ScalarValueType | SomeSubstitutionsType]
NormalizedValueType: TypeAlias = ScalarValueType | list[Substitution] | list[ScalarValueType | list[Substitution]]


def extract_type(data_type: AllowedTypesType) -> tuple[type, bool]:
    """Return the scalar type of `data_type`, and whether it is a list of that."""
    origin: Any = get_origin(data_type)
    is_list = origin is list
    scalar = get_args(data_type)[0] if is_list and get_args(data_type) else data_type
    if scalar not in ScalarTypesTuple:
        raise ValueError(f"unrecognized data type: {data_type}")
    return scalar, is_list


def _is_uniform(values: Sequence[object]) -> bool:
    kinds = {type(value) for value in values}
    return len(kinds) <= 1 and kinds.issubset(ScalarTypesTuple)


def is_instance_of(value: object, data_type: AllowedTypesType = None) -> bool:
    """Tell whether `value` is of the given type, of any allowed type if that is None."""
    if data_type is None:
        return _is_uniform(value) if isinstance(value, list) else isinstance(value, ScalarTypesTuple)
    scalar, is_list = extract_type(data_type)
    if is_list:
        return isinstance(value, list) and all(isinstance(item, scalar) for item in value)
    return isinstance(value, scalar)


def is_substitution(x: object) -> TypeGuard[SomeSubstitutionsType]:
    """Tell whether `x` is a substitution, or text and substitutions with at least one of the latter."""
    if isinstance(x, Substitution):
        return True
    if isinstance(x, str) or not isinstance(x, Iterable):
        return False
    items = list(x)
    return all(isinstance(item, (str, Substitution)) for item in items) and any(
        isinstance(item, Substitution) for item in items
    )


def is_normalized_substitution(x: object) -> bool:
    """Tell whether `x` is a list that holds substitutions only."""
    return isinstance(x, list) and bool(x) and all(isinstance(item, Substitution) for item in x)


def coerce_to_type(value: str, data_type: AllowedTypesType = None) -> Any:
    """Read text as a value of the given type, by YAML's rules if that is None; ValueError if it is not one."""
    scalar, is_list = (None, False) if data_type is None else extract_type(data_type)
    if not is_list:
        if scalar is str or (scalar is None and not value):
            return value
        if scalar in (int, float):
            return int(value) if scalar is int else float(value)
        if scalar is bool and value in ("0", "1"):
            return value == "1"
    try:
        output = yaml.safe_load(value)
    except yaml.YAMLError as exc:
        raise ValueError(f"cannot read '{value}' as YAML: {exc}") from exc
    if not is_instance_of(output, data_type):
        expected = "a scalar or a list of one type" if data_type is None else data_type
        raise ValueError(f"cannot convert '{value}' to {expected}: YAML reads it as {output!r}")
    return output


def normalize_typed_substitution(value: SomeValueType, data_type: AllowedTypesType) -> NormalizedValueType:
    """Check `value` against `data_type` as far as known yet; wrap what is a substitution into a list.

    Text and substitutions in one list make one text; a list of such lists makes a list of texts.
    """
    if isinstance(value, ScalarTypesTuple):
        if not is_instance_of(value, data_type):
            raise TypeError(f"value '{value}' is not an instance of {data_type}")
        return value
    if is_substitution(value):
        return normalize_to_list_of_substitutions(value)
    if not isinstance(value, Iterable):
        raise TypeError(f"expected a scalar, a substitution or a list of them, but got {value!r}")
    scalar, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise TypeError(f"value '{value}' is a list, but {data_type} is wanted")
    return _normalize_items(list(value), scalar)


def _normalize_items(items: list[Any], scalar: type | None) -> list[ScalarValueType | list[Substitution]]:
    kinds: set[type] = {type(item) for item in items if isinstance(item, ScalarTypesTuple)}
    unknown = [item for item in items if not isinstance(item, ScalarTypesTuple) and not is_substitution(item)]
    if unknown:
        raise TypeError(f"list item {unknown[0]!r} is neither a scalar nor a substitution")
    if kinds == {int, float}:
        kinds, items = {float}, [float(item) if type(item) is int else item for item in items]
    if len(kinds) > 1 or (scalar is not None and kinds and kinds != {scalar}):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"expected a list of {scalar.__name__ if scalar else 'one type'}, but {items!r} has {names}")
    return [item if isinstance(item, ScalarTypesTuple) else normalize_to_list_of_substitutions(item) for item in items]


def perform_typed_substitution(context: LaunchContext, value: NormalizedValueType, data_type: AllowedTypesType) -> Any:
    """Perform what normalize_typed_substitution() returned; ValueError or TypeError unless it gives `data_type`."""
    if isinstance(value, ScalarTypesTuple):
        if data_type is not None and not is_instance_of(value, data_type):
            raise TypeError(f"value '{value}' is not an instance of {data_type}")
        return value
    if not isinstance(value, list):
        raise TypeError(f"value {value!r} was not normalized")
    if is_normalized_substitution(value):
        return coerce_to_type(_text(context, value), data_type)
    scalar, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise ValueError(f"value '{value}' is a list, but {data_type} is wanted")
    output = [
        coerce_to_type(_text(context, item), scalar) if is_normalized_substitution(item) else item for item in value
    ]
    if not is_instance_of(output, data_type):
        raise ValueError(f"expected a list of {scalar.__name__ if scalar else 'one type'}, but got {output!r}")
    return output


def _text(context: LaunchContext, substitutions: Any) -> str:
    return perform_substitutions(context, substitutions)
