"""Which topics feed the inputs of a pipeline: as asked for, as the dataset says, or as they are called."""

import re
from collections.abc import Collection, Mapping, Sequence

from fieldplay.data.field_data import COMPRESSED, FieldData, TopicInfo
from fieldplay_fusion.messages.inputs import IMAGE, INFO, VALUES
from fieldplay_fusion.messages.sources import FRAME, PortSource
from fieldplay_messages.errors import ArchiveError, UsageError

RAW_NAME = re.compile(r"/image_(raw|rect|rect_color|color|mono)$|/image$")
WORDS = re.compile(r"[A-Z]?[a-z0-9]+")
MEANT = ("left", "right", "depth", "disparity", "cloud", "points", "scene", "model")  # words that tell inputs apart


def bindings(
    data: FieldData, ports: Mapping[str, str], words: Sequence[str], known: Mapping[str, str]
) -> list[PortSource]:
    """What feeds each input that can be fed; UsageError or ArchiveError tells what cannot be found."""
    given = given_inputs(words, ports)
    found: list[PortSource] = []
    for port, kind in ports.items():
        if kind not in VALUES:
            raise UsageError(f"no topic can feed the input {port}, which is a {kind}")
        if port in given:
            topic = data.topic(given[port], suffix=COMPRESSED)
        elif port in known and (topic_or_none := known_topic(data, known[port])) is not None:
            topic = topic_or_none
        else:
            topic = topic_called(data, port, VALUES[kind][0])
        if topic.type not in VALUES[kind][0]:
            expected = " or ".join(VALUES[kind][0])
            raise UsageError(f"{port} takes {expected}, but {topic.name} is {topic.type}")
        if not topic.count:
            raise ArchiveError(f"{topic.name}: expected messages for the input {port}, got none")
        twin = next((other.port for other in found if other.topic == topic.name), "")
        if twin:
            raise UsageError(f"{topic.name} feeds both {twin} and {port}: --input PORT=TOPIC tells them apart")
        info = info_of(data, topic) if kind == FRAME else ""
        found.append(PortSource(port=port, kind=kind, topic=topic.name, msgtype=topic.type, info=info))
    return found


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
