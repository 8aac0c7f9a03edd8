"""Messages for tests, made with rosbags' own types: written by its writer into bags, or given to collectors at once."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay.messages.message_batches import (
    Batch,
    Topic,
    batch_of_messages,
    parts_of_lengths,
)
from fieldplay.recording.bag_recording import BatchDecoder
from fieldplay.recording.record_batches import RecordBatch
from fieldplay.streams.message_block import MessageBlock
from fieldplay.streams.topic_stream import TopicStream

STORE = get_typestore(Stores.ROS2_JAZZY)
START_NS = 1_700_000_000_000_000_000
Stamped = tuple[int, Any]  # the log time and the message


# The messages of feeds one by one, as bytes.


def block_messages(block: MessageBlock) -> list[bytes]:
    """Each message, cut out of the one buffer into which all are put."""
    stops = np.cumsum(block.size)
    buffer = np.empty(int(stops[-1]) if len(stops) else 0, np.uint8)
    block.copy_to(buffer, stops - block.size)
    return [buffer[end - size : end].tobytes() for end, size in zip(stops, block.size, strict=True)]


def messages_of_span(feed: TopicStream, index: int) -> list[tuple[int, bytes]]:
    """The stamps of a span's messages, and these."""
    stamp_ns, loaded = feed.load(index)
    block, rows = loaded.encode(np.arange(len(stamp_ns)))
    return list(zip(stamp_ns[rows].tolist(), block_messages(block), strict=True))


def make(msgtype: str, **members: Any) -> Any:
    """A message with the members given, and zeros, empty texts and lists elsewhere; `pose.position.x` is a path."""
    message = _blank(msgtype)
    for path, value in members.items():
        target, *names = message, *path.split("__")
        for name in names[:-1]:
            target = getattr(target, name)
        setattr(target, names[-1], value)
    return message


def stamped_message(msgtype: str, stamp_ns: int, frame: str, **members: Any) -> Any:
    """Make a message with a header."""
    sec, nanosec = divmod(stamp_ns, 10**9)
    head = {"header__stamp__sec": sec, "header__stamp__nanosec": nanosec, "header__frame_id": frame}
    return make(msgtype, **head, **members)


def transform(stamp_ns: int, parent: str, child: str, *pose: Sequence[float]) -> Any:
    """A geometry_msgs/TransformStamped, the pose a translation and, if it is turned, a quaternion x y z w."""
    xyz, xyzw = (*pose, (0.0, 0.0, 0.0, 1.0))[:2]
    translation = {f"transform__translation__{axis}": float(value) for axis, value in zip("xyz", xyz, strict=True)}
    turns = {f"transform__rotation__{axis}": float(value) for axis, value in zip("xyzw", xyzw, strict=True)}
    name = "geometry_msgs/msg/TransformStamped"
    return stamped_message(name, stamp_ns, parent, child_frame_id=child, **translation, **turns)


def transforms(*each: Any) -> Any:
    """A tf2_msgs/TFMessage."""
    return make("tf2_msgs/msg/TFMessage", transforms=list(each))


def serialize(message: Any, *, little_endian: bool = True) -> bytes:
    return bytes(STORE.serialize_cdr(message, message.__msgtype__, little_endian=little_endian))


def message_batch(topic: str, messages: Iterable[Stamped]) -> Batch:
    """Messages of one topic as a bag gives them."""
    listed = list(messages)
    stamp_ns = np.array([stamp for stamp, _ in listed], np.int64)
    parts = parts_of_lengths(stamp_ns, [serialize(message) for _, message in listed])
    return batch_of_messages(Topic(topic, listed[0][1].__msgtype__), stamp_ns, parts)


def write_bag(path: Path, messages: Iterable[tuple[str, int, Any]], *, plugin: str = "mcap", **silent: str) -> Path:
    """A bag as rosbags writes it, of (topic, log time, message), with topics (name=type) that stay silent."""
    storage = StoragePlugin.MCAP if plugin == "mcap" else StoragePlugin.SQLITE3
    with Writer(path, version=9, storage_plugin=storage) as writer:
        connections: dict[str, Any] = {}
        for topic, stamp_ns, message in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, message.__msgtype__, typestore=STORE)
            writer.write(connections[topic], stamp_ns, serialize(message))
        for topic, msgtype in silent.items():
            writer.add_connection(f"/{topic}", msgtype, typestore=STORE)
    return path


def _blank(msgtype: str) -> Any:
    members = {name: _blank_member(kind) for name, kind in STORE.fielddefs[msgtype][1]}
    return STORE.types[msgtype](**members)


def _blank_member(kind: Any) -> Any:
    node, inner = kind[0].name, kind[1]
    if node == "NAME":
        return _blank(inner)
    if node == "BASE":
        return "" if inner[0] == "string" else False if inner[0] == "bool" else 0
    element = inner[0]
    count = inner[1] if node == "ARRAY" else 0
    if element[0].name == "BASE" and element[1][0] != "string":
        return np.zeros(count, element[1][0])
    return [_blank_member(element) for _ in range(count)]


def batch(topic: str, messages: Iterable[Stamped], decoder: BatchDecoder | None = None) -> RecordBatch:
    """The records of messages of one topic."""
    return (decoder or BatchDecoder()).decode(message_batch(topic, messages))
