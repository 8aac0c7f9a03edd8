"""Which topic of a recording feeds an input: as requested, as the dataset says, or by its name."""

import re
from collections.abc import Collection, Sequence

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.messages.record_decoder import IMAGE, INFO
from fieldplay.recording.recording import COMPRESSED, Recording, TopicInfo

NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+")
# Words of a name that distinguish inputs.
QUALIFIERS = (
    "left",
    "right",
    "depth",
    "disparity",
    "cloud",
    "points",
    "scene",
    "model",
)


def topics_by_input(texts: Sequence[str], ports: Collection[str]) -> dict[str, str]:
    """Parse PORT=TOPIC into topics by port."""
    topics = {}
    for text in texts:
        port, equals, topic = text.partition("=")
        if not (port and equals and topic):
            raise UsageError(f"--input: expected PORT=TOPIC, got '{text}'")
        if port not in ports:
            raise UsageError(f"--input: there is no input {port}; there are {', '.join(ports)}")
        topics[port] = topic
    return topics


def find_topic(data: Recording, name: str) -> TopicInfo | None:
    """Find the topic that a dataset's description names; None where the recording lacks it."""
    try:
        return data.topic(name, suffix=COMPRESSED)
    except UsageError:
        return None  # this archive lacks it; perhaps another is called so


def topic_of_input(data: Recording, port: str, types: Sequence[str]) -> TopicInfo:
    """Find the topic of a matching type whose name has the qualifier of this input."""
    fitting = [topic for topic in data.topics.values() if topic.type in types]
    qualifiers = {word.lower() for word in NAME_PARTS.findall(port)} & set(QUALIFIERS)
    named = [topic for topic in fitting if qualifiers <= set(re.split(r"[/_]", topic.name))] if qualifiers else fitting
    candidates = _prefer_raw(named)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        called = f" called {' '.join(sorted(qualifiers))}" if qualifiers else ""
        there = ", ".join(f"{topic.name} ({topic.count})" for topic in fitting)
        raise ArchiveError(
            f"nothing feeds the input {port}: expected a topic of {' or '.join(types)}{called}, "
            f"{f'there are {there}' if there else 'there is none'}; --input {port}=TOPIC names one"
        )
    raise UsageError(
        f"the input {port} may be fed by {' or '.join(topic.name for topic in candidates)}: "
        f"--input {port}=TOPIC chooses"
    )


def _prefer_raw(topics: Sequence[TopicInfo]) -> list[TopicInfo]:
    """Drop compressed images that are there raw too."""
    raw = {topic.name for topic in topics if topic.type == IMAGE}
    return [topic for topic in topics if topic.name.removesuffix(COMPRESSED) not in raw or topic.name in raw]


def camera_info_topic(data: Recording, topic: TopicInfo) -> str:
    """The CameraInfo topic of an image topic; "" where there is none."""
    plain = topic.name.removesuffix(COMPRESSED)
    folder = plain.rpartition("/")[0]
    names = (f"{folder}/camera_info", f"{plain}/camera_info", f"{folder}/camera_info_rect")
    return next((name for name in names if name in data.topics and data.topics[name].type == INFO), "")
