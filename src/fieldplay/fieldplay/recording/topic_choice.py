"""Which topic of a recording feeds an input: as asked for, as the dataset says, or as it is called."""

import re
from collections.abc import Collection, Sequence

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.messages.record_decoder import IMAGE, INFO
from fieldplay.recording.field_data import COMPRESSED, FieldData, TopicInfo

WORDS = re.compile(r"[A-Z]?[a-z0-9]+")
MEANT = ("left", "right", "depth", "disparity", "cloud", "points", "scene", "model")  # words that tell inputs apart


def given_inputs(words: Sequence[str], ports: Collection[str]) -> dict[str, str]:
    """PORT=TOPIC as topics by ports."""
    found = {}
    for word in words:
        port, equals, topic = word.partition("=")
        if not (port and equals and topic):
            raise UsageError(f"--input: expected PORT=TOPIC, got '{word}'")
        if port not in ports:
            raise UsageError(f"--input: there is no input {port}; there are {', '.join(ports)}")
        found[port] = topic
    return found


def known_topic(data: FieldData, name: str) -> TopicInfo | None:
    """The topic that a dataset's description names, where it is there."""
    try:
        return data.topic(name, suffix=COMPRESSED)
    except UsageError:
        return None  # this archive lacks it; perhaps another is called so


def topic_called(data: FieldData, port: str, types: Sequence[str]) -> TopicInfo:
    """The topic of a fitting type whose name has the word that tells this input apart."""
    fitting = [topic for topic in data.topics.values() if topic.type in types]
    told = {word.lower() for word in WORDS.findall(port)} & set(MEANT)
    named = [topic for topic in fitting if told <= set(re.split(r"[/_]", topic.name))] if told else fitting
    found = _without_twins(named)
    if len(found) == 1:
        return found[0]
    if not found:
        called = f" called {' '.join(sorted(told))}" if told else ""
        there = ", ".join(f"{topic.name} ({topic.count})" for topic in fitting)
        raise ArchiveError(
            f"nothing feeds the input {port}: expected a topic of {' or '.join(types)}{called}, "
            f"{f'there are {there}' if there else 'there is none'}; --input {port}=TOPIC names one"
        )
    raise UsageError(
        f"the input {port} may be fed by {' or '.join(topic.name for topic in found)}: --input {port}=TOPIC chooses"
    )


def _without_twins(topics: Sequence[TopicInfo]) -> list[TopicInfo]:
    """Of pictures that are there both raw and compressed the raw ones."""
    raw = {topic.name for topic in topics if topic.type == IMAGE}
    return [topic for topic in topics if topic.name.removesuffix(COMPRESSED) not in raw or topic.name in raw]


def info_of(data: FieldData, topic: TopicInfo) -> str:
    """The CameraInfo beside pictures."""
    plain = topic.name.removesuffix(COMPRESSED)
    place = plain.rpartition("/")[0]
    names = (f"{place}/camera_info", f"{plain}/camera_info", f"{place}/camera_info_rect")
    return next((name for name in names if name in data.topics and data.topics[name].type == INFO), "")
