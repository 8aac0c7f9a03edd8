"""Messages as rosbags reads them, field by field, to compare with what was exported of them."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore


def messages_of_bag(bag: Path) -> dict[str, list[tuple[int, Any]]]:
    """All messages by topic, with their log times."""
    found: dict[str, list[tuple[int, Any]]] = {}
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, stamp_ns, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append((stamp_ns, message))
    return found


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
