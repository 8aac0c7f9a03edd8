"""Messages as YAML: writing one, and filling one from what YAML says."""

from __future__ import annotations

import array
import importlib
import sys
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any

import numpy
import yaml
from rosidl_parser import definition
from rosidl_parser.definition import AbstractNestedType, NamespacedType

_SEQUENCES = (list, tuple, array.array, numpy.ndarray)


@dataclass(frozen=True, kw_only=True)
class Style:
    """What to leave out: anything longer than ``truncate_length``, all arrays."""

    truncate_length: int | None = None
    no_arr: bool = False

    def is_too_long(self, value: Sized) -> bool:
        """Say whether ``value`` has more elements than are written."""
        return self.truncate_length is not None and len(value) > self.truncate_length


def message_to_yaml(message: Any, style: Style) -> str:
    """Return ``message`` as a YAML mapping in the order of its fields."""
    text: str = yaml.dump(
        _plain_message(message, style),
        Dumper=yaml.SafeDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=sys.maxsize,
    )
    return text


def _fields(message: Any) -> list[tuple[str, Any, Any]]:
    names = message.get_fields_and_field_types()
    return [(name, getattr(message, name), type_) for name, type_ in zip(names, message.SLOT_TYPES, strict=True)]


def _plain_message(message: Any, style: Style) -> dict[str, Any]:
    return {name: _plain(value, type_, style) for name, value, type_ in _fields(message)}


def _plain(value: Any, type_: Any, style: Style) -> Any:
    """Return ``value`` of nothing but Python's own types; ``type_`` is None for the elements of a sequence."""
    if isinstance(value, bytes):
        return _cut_text(value.decode("latin-1"), style)
    if isinstance(value, str):
        return _cut_text(value, style)
    if isinstance(value, _SEQUENCES):
        return _without_elements(value, type_) if style.no_arr else _plain_elements(value, style)
    if isinstance(value, (bool, int, float)):
        return value
    return value.item() if isinstance(value, numpy.number) else _plain_message(value, style)


def _plain_elements(value: Any, style: Style) -> list[Any]:
    elements = value[: style.truncate_length]
    if isinstance(elements, (array.array, numpy.ndarray)):
        plain = elements.tolist()
    else:
        plain = [_plain(element, None, style) for element in elements]
    return [*plain, "..."] if style.is_too_long(value) else plain


def _cut_text(text: str, style: Style) -> str:
    return text[: style.truncate_length] + "..." if style.is_too_long(text) else text


def _without_elements(value: Sized, type_: Any) -> str:
    element = _type_name(type_.value_type)
    if isinstance(type_, definition.Array):
        return f"<array type: {element}[{type_.size}]>"
    if isinstance(type_, definition.BoundedSequence):
        return f"<sequence type: {element}[{type_.maximum_size}], length: {len(value)}>"
    return f"<sequence type: {element}, length: {len(value)}>"


def _type_name(type_: Any) -> str:
    if isinstance(type_, definition.BasicType):
        return str(type_.typename)
    if isinstance(type_, definition.AbstractWString):
        return "wstring"
    if isinstance(type_, definition.AbstractGenericString):
        return "string"
    return "/".join(type_.namespaced_name())


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
