"""Settings as dataclasses with units in their names, and the published parameters that each of them stands for."""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, TypeVar

Settings = TypeVar("Settings")


def parameter(name: str, default: Any) -> Any:
    """A field of settings, by the name of the parameter of a step; of nested settings, by that of their group."""
    return field(default=default, metadata={"parameter": name})


def settings_from_parameters(kind: type[Settings], parameters: Mapping[str, Any]) -> Settings:
    """Settings from the parameters of a step.

    Args:
        kind: the dataclass of the settings; its fields are made by `parameter`.
        parameters: values by the names of the parameters, or by group and name for nested settings.

    Returns:
        The settings; where nothing is said of a field, its default.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if (name := each.metadata["parameter"]) in parameters:
            nested = type(each.default)
            value = parameters[name]
            values[each.name] = settings_from_parameters(nested, value) if is_dataclass(nested) else value
    return kind(**values)
