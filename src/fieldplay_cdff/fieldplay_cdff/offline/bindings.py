"""Which topics feed the inputs of a pipeline: as asked for, as the dataset says, or as they are called."""

from collections.abc import Mapping, Sequence

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.recording.field_data import COMPRESSED, FieldData
from fieldplay.recording.topic_choice import (
    given_inputs,
    info_of,
    known_topic,
    topic_called,
)
from fieldplay_cdff.io.inputs import VALUES
from fieldplay_cdff.io.sources import FRAME, PortSource


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
