"""Settings as dataclasses with units in their names, and the published parameter of each of them."""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, replace
from math import isnan, nan
from typing import Any, TypeVar

Settings = TypeVar("Settings")
AUTO = nan  # a length that follows from the scene: that of a rover times a factor


def parameter(name: str, default: Any, *, rover: float = 0.0, power: float = 1.0) -> Any:
    """A field of settings.

    Args:
        name: of the parameter of a step; of nested settings, that of their group.
        default: where nothing is set; AUTO for a length that follows from the scene.
        rover: what AUTO is for a rover, which sees the ground 1.8 m away.
        power: of the factor by which the scene is deeper, with which AUTO grows.
    """
    return field(default=default, metadata={"parameter": name, "rover": rover, "power": power})


def settings_from_parameters(kind: type[Settings], parameters: Mapping[str, Any]) -> Settings:
    """Settings from the parameters of a step.

    Args:
        kind: the dataclass of the settings; its fields are made by `parameter`.
        parameters: values by the names of the parameters, or by group and name for nested settings; None is `auto`.

    Returns:
        The settings; a field that is not set has its default.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if (name := each.metadata["parameter"]) in parameters:
            nested = type(each.default)
            value = parameters[name]
            if is_dataclass(nested):
                values[each.name] = settings_from_parameters(nested, value)
            else:
                values[each.name] = AUTO if value is None and each.metadata["rover"] else value
    return kind(**values)


def is_auto(value: Any) -> bool:
    """Whether a value is AUTO."""
    return isinstance(value, float) and isnan(value)


def settings_of_scale(settings: Settings, scale: float) -> Settings:
    """The settings with all that is AUTO filled in, for a scene that is so many times as deep as a rover's."""
    values: dict[str, Any] = {}
    for each in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, each.name)
        if is_dataclass(value):
            values[each.name] = settings_of_scale(value, scale)
        elif is_auto(value):
            values[each.name] = float(f"{each.metadata['rover'] * scale ** each.metadata['power']:.3g}")
    return replace(settings, **values)  # type: ignore[type-var]


def chosen_of_scale(settings: Any, scale: float) -> dict[str, Any]:
    """What `settings_of_scale` fills in, by the names of parameters, nested by group."""
    filled, chosen = settings_of_scale(settings, scale), {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value):
            if nested := chosen_of_scale(value, scale):
                chosen[each.metadata["parameter"]] = nested
        elif is_auto(value):
            chosen[each.metadata["parameter"]] = getattr(filled, each.name)
    return chosen
