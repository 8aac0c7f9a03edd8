"""Messages as rosbags reads them, field by field, to compare with what was exported of them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np


def cells_of_message(message: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields by dotted names: times as nanoseconds, lists as they are, messages in lists as plain data."""
    for name, value in _members(message):
        if _is_time(value):
            yield f"{before}{name}", value.sec * 10**9 + value.nanosec
        elif hasattr(value, "__msgtype__"):
            yield from cells_of_message(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", plain(value)


def plain(value: Any) -> Any:
    """A value without objects of NumPy or of rosbags."""
    if _is_time(value):
        return value.sec * 10**9 + value.nanosec
    if hasattr(value, "__msgtype__"):
        return {name: plain(inner) for name, inner in _members(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def _members(message: Any) -> Iterator[tuple[str, Any]]:
    """The fields; constants of the definition are no fields."""
    names = (entry.name for entry in fields(message))
    return ((name, getattr(message, name)) for name in names if name != "__msgtype__" and not name.isupper())


def _is_time(value: Any) -> bool:
    return getattr(value, "__msgtype__", "") in ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
