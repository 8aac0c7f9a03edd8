"""Write a message as YAML or as comma-separated values."""

from __future__ import annotations

import array
import sys
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy
import yaml
from rosidl_parser import definition

_SEQUENCES = (list, tuple, array.array, numpy.ndarray)


@dataclass(frozen=True, kw_only=True)
class Style:
    """What to leave out: anything longer than ``truncate_length``, all arrays, all texts."""

    truncate_length: int | None = None
    no_arr: bool = False
    no_str: bool = False

    def is_too_long(self, value: Sized) -> bool:
        """Say whether ``value`` has more elements than are written."""
        return self.truncate_length is not None and len(value) > self.truncate_length


def message_to_yaml(message: Any, style: Style, *, flow_style: bool = False) -> str:
    """Return ``message`` as a YAML mapping in the order of its fields; ``flow_style`` puts arrays in one line each."""
    text: str = yaml.dump(
        _plain_message(message, style),
        Dumper=_Dumper,
        allow_unicode=True,
        default_flow_style=flow_style,
        width=sys.maxsize,
    )
    return text


def message_to_csv(message: Any, style: Style) -> str:
    """Return the values of ``message`` in one line, the fields of nested messages in their place."""
    return _joined([_csv(value, type_, style) for _, value, type_ in _fields(message)])


class _Dumper(yaml.SafeDumper):
    """Writes messages in block style whatever the style of the rest, as upstream has it."""


_Dumper.add_representer(
    dict, lambda dumper, fields: dumper.represent_mapping("tag:yaml.org,2002:map", fields.items(), flow_style=False)
)


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
        return _without_text(value) if style.no_str else _cut_text(value, style)
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


def _csv(value: Any, type_: Any, style: Style) -> str:
    if isinstance(value, _SEQUENCES):
        if style.no_arr:
            return _without_elements(value, type_)
        cells = [_csv(element, None, style) for element in value[: style.truncate_length]]
        return _joined([*cells, "..."] if style.is_too_long(value) else cells)
    if isinstance(value, str):
        return _without_text(value) if style.no_str else _cut_text(value, style)
    # A byte stays in Python's notation here, unlike in YAML; so upstream has it.
    if isinstance(value, (bytes, bool, int, float, numpy.number)):
        return str(value)
    return message_to_csv(value, style)


def _joined(cells: list[str]) -> str:
    """Join with commas; empty cells at the front leave no comma, as upstream has it."""
    line = ""
    for cell in cells:
        line = f"{line},{cell}" if line else cell
    return line


def _cut_text(text: str, style: Style) -> str:
    return text[: style.truncate_length] + "..." if style.is_too_long(text) else text


def _without_text(text: str) -> str:
    return f"<string length: <{len(text)}>>"


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
