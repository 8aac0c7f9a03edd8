"""QoS overrides from a file, in the format of rosbag2."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from fieldplay.bags.storage import Qos
from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.core.yaml_safe import value_of_yaml

CHOICES = {
    "reliability": ("reliable", "best_effort"),
    "durability": ("volatile", "transient_local"),
    "history": ("keep_last", "keep_all"),
    "liveliness": ("automatic", "manual_by_topic"),
}
DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")


@dataclass(frozen=True, kw_only=True)
class PublisherQos:
    """The QoS profile of a publisher; durations in nanoseconds, None is infinite."""

    qos: Qos
    liveliness: str = "automatic"
    deadline_ns: int | None = None
    lifespan_ns: int | None = None
    liveliness_lease_duration_ns: int | None = None
    avoid_ros_namespace_conventions: bool = False


Override = Mapping[str, Any]


def overrides_from_file(path: Path) -> dict[str, Override]:
    """The overrides by topic, checked; what they do not name stays as it is."""
    try:
        data = value_of_yaml(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"qos_overrides: {path}: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"qos_overrides: {path}: expected topics, each with its policies")
    return {_topic(path, topic): _override(f"{path}: {topic}", entries) for topic, entries in data.items()}


def apply_override(qos: Qos, override: Override) -> PublisherQos:
    """Apply an override to the QoS of a topic."""
    own = {name: value for name, value in override.items() if name in Qos.__dataclass_fields__}
    rest = {name: value for name, value in override.items() if name not in own}
    return PublisherQos(qos=replace(qos, **own), **rest)


def _topic(path: Path, topic: object) -> str:
    if not isinstance(topic, str) or not topic.startswith("/"):
        raise UsageError(f"qos_overrides: {path}: expected a topic with its leading slash, got {topic!r}")
    return topic


def _override(location: str, entries: object) -> Override:
    if not isinstance(entries, dict):
        raise UsageError(f"qos_overrides: {location}: expected policies, got {entries!r}")
    return dict(_policy(f"{location}.{name}", name, value) for name, value in entries.items())


def _policy(location: str, name: object, value: Any) -> tuple[str, Any]:
    if name in CHOICES:
        choices = CHOICES[str(name)]
        return str(name), _require(location, value, value in choices, f"one of {', '.join(choices)}")
    if name in DURATIONS:
        return f"{name}_ns", _duration_ns(location, value)
    checks: dict[object, tuple[Callable[[Any], bool], str]] = {
        "depth": (lambda depth: type(depth) is int and depth >= 0, "a whole number, 0 or more"),
        "avoid_ros_namespace_conventions": (lambda flag: type(flag) is bool, "true or false"),
    }
    if name not in checks:
        known = ", ".join([*CHOICES, *DURATIONS, *map(str, checks)])
        raise UsageError(f"qos_overrides: {location}: there is no such policy; there are {known}")
    is_good, expected = checks[name]
    return str(name), _require(location, value, is_good(value), expected)


def _duration_ns(location: str, value: Any) -> int:
    numbers = value.values() if isinstance(value, dict) and set(value) == {"sec", "nsec"} else ()
    good = bool(numbers) and all(type(number) is int and number >= 0 for number in numbers)
    _require(location, value, good, "sec and nsec, both whole numbers")
    return int(value["sec"] * NS_PER_S + value["nsec"])


def _require(location: str, value: Any, good: bool, expected: str) -> Any:
    if not good:
        raise UsageError(f"qos_overrides: {location}: expected {expected}, got {value!r}")
    return value
