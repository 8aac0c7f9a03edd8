"""What is in a bag, in writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fieldplay.bags.bag_reader import Ros2Bag
from ros2cli.bags.opening import opened_bag

_NS_PER_S = 1_000_000_000
_INDENT = " " * 19
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class BagContents:
    """Topics with type and count, the span of time in nanoseconds, and the metadata beside."""

    topics: list[tuple[str, str, int]]
    first_ns: int
    last_ns: int
    information: Mapping[str, Any]

    @property
    def count(self) -> int:
        """All messages."""
        return sum(count for _, _, count in self.topics)


def description(path: Path, storage: str | None) -> str:
    """Everything, as a table for people."""
    with opened_bag(path, storage) as bag:
        contents = _contents(bag)
        size = sum(file.stat().st_size for file in bag.files)
        lines = [
            ("Files:", "\n".join(f"{_INDENT if row else ''}{file.name}" for row, file in enumerate(bag.files))),
            ("Bag size:", _size_text(size)),
            ("Storage id:", ", ".join(bag.storages)),
            ("ROS Distro:", contents.information.get("ros_distro") or "unknown"),
            ("Duration:", _seconds(contents.last_ns - contents.first_ns) + "s"),
            ("Start:", _time_text(contents.first_ns)),
            ("End:", _time_text(contents.last_ns)),
            ("Messages:", str(contents.count)),
            ("Topic information:", f"\n{_INDENT}".join(_topic_lines(contents))),
            ("Service:", "0"),
            ("Service information:", ""),
        ]
    return "\n" + "".join(f"{title.ljust(19)}{text}".rstrip() + "\n" for title, text in lines)


def topic_names(path: Path, storage: str | None) -> str:
    """The names of the topics alone."""
    with opened_bag(path, storage) as bag:
        return "".join(f"{name}\n" for name, _, _ in _contents(bag).topics)


def _contents(bag: Ros2Bag) -> BagContents:
    """By the metadata where they are whole, else by the storage files."""
    told = bag.information
    try:
        topics = [_listed(entry) for entry in told["topics_with_message_count"]]
        first_ns = int(told["starting_time"]["nanoseconds_since_epoch"])
        last_ns = first_ns + int(told["duration"]["nanoseconds"])
    except (KeyError, TypeError, ValueError):
        indexed = bag.indexed
        topics = [(name, bag.kinds[name].msgtype, count) for name, count in sorted(bag.counts.items())]
        stamps = [found.offsets.stamp_ns for found in indexed.values()]
        first_ns = min((int(column[0]) for column in stamps), default=0)
        last_ns = max((int(column[-1]) for column in stamps), default=0)
    empty = not sum(count for _, _, count in topics)
    return BagContents(topics, 0 if empty else first_ns, 0 if empty else last_ns, told)


def _listed(entry: Mapping[str, Any]) -> tuple[str, str, int]:
    topic = entry["topic_metadata"]
    return str(topic["name"]), str(topic["type"]), int(entry["message_count"])


def _topic_lines(contents: BagContents) -> Iterator[str]:
    for name, msgtype, count in contents.topics:
        yield f"Topic: {name} | Type: {msgtype} | Count: {count} | Serialization Format: cdr"


def _size_text(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns // _NS_PER_S}.{time_ns % _NS_PER_S:09d}"


def _time_text(time_ns: int) -> str:
    """In local time, and since the epoch."""
    local = datetime.fromtimestamp(time_ns // _NS_PER_S)
    return f"{local:%b} {local.day:2d} {local:%Y %H:%M:%S}.{time_ns % _NS_PER_S:09d} ({_seconds(time_ns)})"
