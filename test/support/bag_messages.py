"""What stands in a bag of MCAP, as the format's own library and rosbags read it.

rosbags' reader of whole bags parses YAML for a fifth of a second each time: tests that are about it use it, the others
this. The definitions in a bag are those that it is read by; each is learnt once.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

_TYPES = get_typestore(Stores.EMPTY)
_LEARNT: dict[tuple[str, str], bytes] = {}  # by type and its hash


def stored_in(bag: Path, topics: Collection[str] = ()) -> Iterator[tuple[str, str, int, bytes]]:
    """Topic, type, time and bytes of all messages in the order of time, or of those of some topics."""
    (path,) = bag.glob("*.mcap")
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages(topics=list(topics) or None):
            assert schema is not None
            _learn(schema.name, channel.metadata["topic_type_hash"], schema.data)
            yield channel.topic, schema.name, message.log_time, message.data


def messages_of_bag(bag: Path, topics: Collection[str] = ()) -> dict[str, list[tuple[int, Any]]]:
    """All messages by topic, with their times; or those of some topics."""
    results: dict[str, list[tuple[int, Any]]] = {}
    for topic, msgtype, stamp_ns, data in stored_in(bag, topics):
        results.setdefault(topic, []).append((stamp_ns, _TYPES.deserialize_cdr(data, msgtype)))
    return results


def _learn(msgtype: str, message: str, definition: bytes) -> None:
    if (msgtype, message) not in _LEARNT:
        _LEARNT[msgtype, message] = definition
        _TYPES.register(get_types_from_msg(definition.decode(), msgtype))
        assert _TYPES.hash_rihs01(msgtype) == message
    assert _LEARNT[msgtype, message] is definition or _LEARNT[msgtype, message] == definition
