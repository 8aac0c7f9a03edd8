"""Fill a message from what YAML says."""

from __future__ import annotations

import array
import importlib
from collections.abc import Mapping
from typing import Any

import numpy
from rosidl_parser.definition import AbstractNestedType, NamespacedType


def set_fields(message: Any, values: object, stamps: list[Any] | None = None) -> None:
    """Set the fields that ``values`` names, nested ones too; a value is converted to its field's type.

    With ``stamps``, a header may be 'auto' and a time 'now': these times go into that list, to be set by the caller.

    Raises:
        AttributeError: a name is no field of ``message``.
        TypeError: a message is asked for and something else than a mapping is given.
        ValueError: a value cannot be converted.
        AssertionError: a value is out of the field's bounds.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"Value '{values}' is expected to be a dictionary but is a {type(values).__name__}")
    types = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))
    for name, given in values.items():
        if name not in types:
            raise AttributeError(f"'{type(message).__name__}' object has no attribute '{name}'")
        setattr(message, name, _converted(getattr(message, name), given, types[name], stamps))


def _converted(current: Any, given: Any, type_: Any, stamps: list[Any] | None) -> Any:
    """Return ``given`` in the type of ``current``, the value that the field has by default."""
    if isinstance(type_, AbstractNestedType) and isinstance(type_.value_type, NamespacedType):
        return [_filled(_class_of(type_.value_type), element, stamps) for element in given]
    if isinstance(current, array.array):
        return array.array(current.typecode, given)
    if isinstance(current, numpy.ndarray):
        return numpy.array(given, dtype=current.dtype)
    if isinstance(type_, NamespacedType):
        return _filled(type(current), given, stamps)
    if isinstance(current, bytes) and isinstance(given, int):
        return bytes([given])
    return given if type(given) is type(current) else type(current)(given)


def _filled(message_class: Any, values: object, stamps: list[Any] | None) -> Any:
    message = message_class()
    name = (message_class.__module__.split(".")[0], message_class.__name__)
    if stamps is not None and (name, values) == (("std_msgs", "Header"), "auto"):
        stamps.append(message.stamp)
    elif stamps is not None and (name, values) == (("builtin_interfaces", "Time"), "now"):
        stamps.append(message)
    else:
        set_fields(message, values, stamps)
    return message


def _class_of(type_: NamespacedType) -> Any:
    return getattr(importlib.import_module(".".join(type_.namespaces)), type_.name)
