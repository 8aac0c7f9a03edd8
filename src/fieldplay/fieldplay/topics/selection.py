"""Time range, topic filter and message options of playing and converting, for commands, nodes and tests."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from fieldplay.core.errors import UsageError
from fieldplay.streams.image_topics import ImageTransport

TOPIC_NAME = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+", re.ASCII)  # that ROS 2 allows
LONGEST_NAME = 247


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Time range, topic filter and message options, as the options of `fieldplay convert`.

    Args:
        start_s: the start in s after the start of the data.
        duration_s: the duration in s; None to the end.
        topics: a name that a topic has is that topic alone; any other text is a regular expression, which selects all
            topics in whose name it occurs. Several are united; empty for all.
        exclude_topics: names and regular expressions of topics that are left out.
        remap: new full names of topics by their full names.
        images: `raw`, `compressed` or `both`; None as the archive stores them.
        rectify: also make rectified images of every camera with known intrinsics.
        namespace: before all topics; None for that of the dataset.
        frame_prefix: before the names of all frames.
        map_tf: add map -> odom to the static tree, for an odometry that starts with the selection.
        joints_tf: add the transforms that joint states alone determine.
        derived: add what the nodes would compute.
        tf: switches of the dataset's moving transforms by name, such as `odom_tf`; those left out keep their defaults.
        parameters: parameters of the dataset by name, for those who open the archive too, as the player does.
    """

    start_s: float = 0.0
    duration_s: float | None = None
    topics: str | Sequence[str] = ()
    exclude_topics: Sequence[str] = ()
    remap: Mapping[str, str] = field(default_factory=dict)
    images: ImageTransport | None = None
    rectify: bool = False  # also rectified images of every camera with known intrinsics
    namespace: str | None = None
    frame_prefix: str = ""
    map_tf: bool = False  # map -> odom in the static tree, for an odometry that starts with the selection
    joints_tf: bool = False  # the frames that joint states alone determine
    derived: bool = False  # also what the kinematics nodes would publish
    tf: Mapping[str, bool] = field(default_factory=dict)  # switches of the dataset's tf; see moving_frames
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def patterns(self) -> Sequence[str]:
        """The names and expressions of the requested topics; empty for all."""
        return [text for text in ([self.topics] if isinstance(self.topics, str) else self.topics) if text]

    @property
    def shown(self) -> str:
        """The names and expressions as one text."""
        return " or ".join(f"'{text}'" for text in self.patterns)


def remapping(text: str) -> tuple[str, str]:
    """The old and the new name of a topic, with their leading slashes, from OLD:=NEW; UsageError for another text."""
    old, assign, new = text.partition(":=")
    if not (old and assign and new):
        raise UsageError(f"remap: expected OLD:=NEW, got '{text}'")
    return "/" + old.lstrip("/"), "/" + new.lstrip("/")


def is_topic_name(name: str) -> bool:
    """Whether ROS 2 allows a full name of a topic."""
    return bool(TOPIC_NAME.fullmatch(name)) and len(name) <= LONGEST_NAME


def matching_topics(patterns: Sequence[str], names: Iterable[str]) -> set[str]:
    """The topics that are named, or in which one of the expressions is found."""
    names = set(names)
    return {name for pattern in patterns for name in _matching(pattern, names)}


def _matching(pattern: str, names: set[str]) -> Iterator[str]:
    if pattern.startswith("/") and pattern in names:
        yield pattern
        return
    expression = re.compile(pattern)
    yield from (name for name in names if expression.search(name))


def chosen_topics(selection: Selection, names: Iterable[str]) -> set[str]:
    """The topics of an archive or bag that are taken."""
    names = set(names)
    chosen = matching_topics(selection.patterns, names) if selection.patterns else names
    return chosen - matching_topics(selection.exclude_topics, names)


def remapped_topics(selection: Selection, types: Mapping[str, str]) -> dict[str, str]:
    """The new names of all topics by their old ones; UsageError for an impossible remapping."""
    new = {old: selection.remap.get(old, old) for old in types}
    for old, name in selection.remap.items():
        if old not in types:
            near = get_close_matches(old, types, 1)
            raise UsageError(f"--remap: there is no topic {old}{f'; there is {near[0]}' if near else ''}")
        if not is_topic_name(name):
            raise UsageError(f"--remap {old}:={name}: ROS 2 allows no such topic name")
        others = [other for other in types if new[other] == name and types[other] != types[old]]
        if others:
            raise UsageError(f"--remap {old}:={name}: {others[0]} has that name and another type, {types[others[0]]}")
    return new
