"""A bag's metadata in YAML: written as rosbag2 of ROS 2 Jazzy does, version 9, and read."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from fieldplay.bags.storage import Channel, Contents, Qos
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.messages.message_batches import Topic, full_type

INFORMATION = "rosbag2_bagfile_information"
METADATA = "metadata.yaml"
VERSION = 9
ROS_DISTRO = "jazzy"

PLAIN = re.compile(r"[A-Za-z/][\w./-]*", re.ASCII)
NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def qos_text(qos: Qos) -> str:
    """The profiles of a topic's publishers, of which there is one: a list in YAML."""
    forever = ("  sec: 9223372036", "  nsec: 854775807")
    lines = (
        f"history: {qos.history}",
        f"depth: {qos.depth}",
        f"reliability: {qos.reliability}",
        f"durability: {qos.durability}",
        *("deadline:", *forever),
        *("lifespan:", *forever),
        "liveliness: automatic",
        *("liveliness_lease_duration:", *forever),
        "avoid_ros_namespace_conventions: false",
    )
    return "- " + "\n  ".join(lines)


def information_text(contents: Contents, *, storage: str, file: str) -> str:
    """What stands inside a storage file about itself."""
    return "\n".join(_information(contents, storage, {file: contents}))


def metadata_text(contents: Contents, *, storage: str, files: Mapping[str, Contents]) -> str:
    """What stands in metadata.yaml, of all and of each file."""
    lines = (f"{INFORMATION}:", *_indent(_information(contents, storage, files), 2))
    return "\n".join(lines) + "\n"


def read_information(folder: Path) -> tuple[dict[str, Any], str]:
    """What metadata.yaml in a folder says, and what is wrong with it, if it is; then it says nothing."""
    try:
        content = value_of_yaml((folder / METADATA).read_text("utf-8"))
        return {str(key): value for key, value in content[INFORMATION].items()}, ""
    except FileNotFoundError:
        return {}, "it is not there: the recording may have ended in a crash"
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        return {}, f"it cannot be read: {error}"


def topics_of_information(information: dict[str, Any]) -> list[Topic]:
    """The topics that metadata list."""
    named = [(entry.get("name"), entry.get("type")) for entry in _listed_topics(information)]
    return [Topic(name, full_type(kind)) for name, kind in named if isinstance(name, str) and isinstance(kind, str)]


def profiles_of_information(information: dict[str, Any]) -> dict[str, object]:
    """How the topics were offered: a list, or the text of one in older bags."""
    return {str(entry.get("name")): entry.get("offered_qos_profiles") for entry in _listed_topics(information)}


def _listed_topics(information: dict[str, Any]) -> list[dict[str, Any]]:
    listed = information.get("topics_with_message_count")
    if not isinstance(listed, list):
        return []
    entries = [entry.get("topic_metadata") or {} for entry in listed if isinstance(entry, dict)]
    return [entry for entry in entries if isinstance(entry, dict)]


def _information(contents: Contents, storage: str, files: Mapping[str, Contents]) -> Iterator[str]:
    yield f"version: {VERSION}"
    yield f"storage_identifier: {storage}"
    yield from _span(contents)
    yield "topics_with_message_count:"
    for channel, count in zip(contents.channels, contents.counts.tolist(), strict=True):
        yield from _indent(_topic(channel, count), 2)
    if not contents.channels:
        yield "  []"
    yield 'compression_format: ""'
    yield 'compression_mode: ""'
    yield "relative_file_paths:"
    for file in files:
        yield f"  - {_scalar(file)}"
    yield "files:"
    for file, part in files.items():
        yield f"  - path: {_scalar(file)}"
        span = list(_span(part))
        starting_time_first = span[2:4] + span[0:2] + span[4:]
        yield from _indent(starting_time_first, 4)
    yield from _custom_data(contents.custom_data)
    yield f"ros_distro: {ROS_DISTRO}"


def _custom_data(texts: Mapping[str, str]) -> Iterator[str]:
    yield "custom_data:" if texts else "custom_data: ~"
    for key, value in texts.items():
        yield f"  {_scalar(key)}: {_scalar(value)}"


def custom_data_of_information(information: Mapping[str, Any]) -> dict[str, str]:
    """What the writer of a bag says of it: texts by their keys."""
    custom_data = information.get("custom_data")
    return {str(key): str(value) for key, value in custom_data.items()} if isinstance(custom_data, dict) else {}


def information_of_text(text: str) -> dict[str, Any]:
    """What stands inside a storage file about itself, if it can be read."""
    try:
        content = value_of_yaml(text)
    except yaml.YAMLError:
        return {}
    content = content.get(INFORMATION, content) if isinstance(content, dict) else {}
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}


def _span(contents: Contents) -> Iterator[str]:
    yield "duration:"
    yield f"  nanoseconds: {contents.duration_ns}"
    yield "starting_time:"
    yield f"  nanoseconds_since_epoch: {contents.first_ns}"
    yield f"message_count: {contents.message_count}"


def _topic(channel: Channel, count: int) -> Iterator[str]:
    yield "- topic_metadata:"
    yield f"    name: {_scalar(channel.topic)}"
    yield f"    type: {_scalar(channel.msgtype)}"
    yield "    serialization_format: cdr"
    yield "    offered_qos_profiles:"
    yield from _indent(qos_text(channel.qos).splitlines(), 6)
    yield f"    type_description_hash: {_scalar(channel.type_hash)}"
    yield f"  message_count: {count}"


def _indent(lines: Iterator[str] | list[str], width: int) -> Iterator[str]:
    return (" " * width + line for line in lines)


def _scalar(text: str) -> str:
    """A text as it stands where YAML reads it back as the same text, in quotes elsewhere."""
    plain = PLAIN.fullmatch(text) and text.lower() not in NOT_TEXT
    return text if plain else json.dumps(text)
