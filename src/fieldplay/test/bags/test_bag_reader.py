"""Bags of ROS 2 at random: what each topic gives is what the bag gives from begin to end, damaged or not."""

import bz2
import random
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lz4.frame import compress as lz4_compress
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from fieldplay.bags import compression as compression_of_bags
from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.compression import zstd
from fieldplay.bags.mcap_records import (
    CHUNK,
    HEAD,
    MAGIC,
    MESSAGE_INDEX,
    chunk_bytes,
    records_in,
)
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter, StorageName
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.messages.message_columns import Decoder, numbers_of_messages
from fieldplay.streams.message_block import MessageBlock, merge_messages, messages_of_channel
from fieldplay_testing.reference_messages import (
    START_NS,
    STORE,
    make,
    serialize,
    stamped_message,
)

POSE, FLOAT = "geometry_msgs/msg/PoseStamped", "std_msgs/msg/Float64"
MessagesByTopic = dict[str, list[tuple[int, bytes]]]


def write(path: Path, count: int = 400, *, storage: StorageName = "mcap", compression: Any = "none") -> Path:
    """Two topics, each second message of either."""
    with BagWriter(path, storage=storage, compression=compression, chunk_size=4000) as writer:
        stamps = START_NS + np.arange(count) * 10**7
        makers: list[tuple[str, str, Callable[[int], Any]]] = [
            ("/pose", POSE, lambda k: stamped_message(POSE, START_NS + k, "map", pose__position__x=float(k))),
            ("/value", FLOAT, lambda k: make(FLOAT, data=float(k))),
        ]
        written = []
        for start, (topic, msgtype, maker) in enumerate(makers):
            number = writer.add_channel(channel_of_type(topic, msgtype))
            rows = range(start, count, 2)
            block = MessageBlock.of_messages([serialize(maker(row)) for row in rows])
            written.append(messages_of_channel(number, stamps[start::2], block))
        writer.write(merge_messages(written))
    return path


def in_order(path: Path) -> tuple[MessagesByTopic, list[Defect]]:
    """All messages from begin to end."""
    defects: list[Defect] = []
    messages: MessagesByTopic = defaultdict(list)
    for batch in Ros2Bag(path, defects.append).batches(lambda fraction, count: None):
        messages[batch.topic.name] += [(stamp, data.tobytes()) for stamp, data in batch.messages()]
    return messages, defects


def at_random(path: Path, rows: int = 7) -> tuple[MessagesByTopic, list[Defect]]:
    """The same topic by topic, the last span first."""
    defects: list[Defect] = []
    bag = Ros2Bag(path, defects.append)
    messages: MessagesByTopic = {}
    for name in bag.kinds:
        topic = bag.topic(name, rows)
        spans = [
            [(stamp, data) for stamp, data in zip(topic.stamps(i).tolist(), topic.messages(i), strict=True) if data]
            for i in reversed(range(len(topic.spans)))
        ]
        messages[name] = [message for span in reversed(spans) for message in span]
        assert sum(span.count for span in topic.spans) == bag.counts[name]
    bag.close()
    return messages, defects


@pytest.mark.parametrize(("storage", "compression"), [("mcap", "none"), ("mcap", "zstd"), ("sqlite3", "none")])
def test_random_access_equals_sequential_reading(storage: StorageName, compression: str, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", storage=storage, compression=compression)
    result_messages, defects = at_random(bag)
    assert (result_messages, defects) == (in_order(bag)[0], [])
    assert {name: len(messages) for name, messages in result_messages.items()} == {"/pose": 200, "/value": 200}


def test_data_unpacking_beyond_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression_of_bags, "FILES_GAIN", 1)
    zeros, limit = bytes(1 << 22), 1 << 20
    packed = {"zstd": zstd.compress(zeros), "lz4": lz4_compress(zeros), "bz2": bz2.compress(zeros)}
    for name, data in packed.items():
        allowed = "--set unpack_limit_mb=4 allows it"
        with pytest.raises(ArchiveError, match=f"expected at most 1048576 bytes unpacked, got 4194304: {allowed}"):
            compression_of_bags.decompress(name, memoryview(data), 1 << 22, limit)
        with pytest.raises(ArchiveError, match=f"{name}: it unpacks to more than 1048576 bytes: --set unpack_limit_mb"):
            compression_of_bags.decompress_all(name, data, limit)
        with pytest.raises(ArchiveError, match=name):
            compression_of_bags.decompress_all(name, data[:-9], limit)
        assert compression_of_bags.decompress_all(name, data) == zeros
    (tmp_path / "a.zstd").write_bytes(packed["zstd"])
    issue = compression_of_bags.decompress_file(tmp_path / "a.zstd", tmp_path / "a", limit)
    assert "--set unpack_limit_mb=2 allows it" in issue and (tmp_path / "a").stat().st_size <= 1 << 20


def test_zeros_in_chunk_are_no_records() -> None:
    with pytest.raises(ArchiveError, match="expected a record at byte 31 of its chunk, got zeros"):
        list(records_in(memoryview(struct.pack("<BQ22s", 5, 22, b"") + bytes(900))))


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE, CompressionMode.NONE])
def test_every_compression_is_decompressed(plugin: StoragePlugin, mode: CompressionMode, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "bag", version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/value", FLOAT, typestore=STORE)
        for k in range(50):
            writer.write(connection, START_NS + k, serialize(make(FLOAT, data=float(k))))
    messages, defects = at_random(tmp_path / "bag")
    assert [data for _, data in messages["/value"]] == [serialize(make(FLOAT, data=float(k))) for k in range(50)]
    assert defects == []


def without_records(content: bytes, unwanted: Callable[[int], bool]) -> bytes:
    parts, offset = [MAGIC], len(MAGIC)
    while offset + HEAD.size <= len(content) - len(MAGIC):
        op, length = HEAD.unpack_from(content, offset)
        end = offset + HEAD.size + length
        parts += [] if unwanted(op) else [content[offset:end]]
        offset = end
    return b"".join((*parts, MAGIC))


@pytest.mark.parametrize("unwanted", [lambda op: op == MESSAGE_INDEX, lambda op: op > CHUNK], ids=["index", "summary"])
def test_mcap_without_indexes_is_indexed_from_its_chunks(unwanted: Callable[[int], bool], tmp_path: Path) -> None:
    bag = write(tmp_path / "bag")
    expected, _ = in_order(bag)
    (storage,) = bag.glob("*.mcap")
    storage.write_bytes(without_records(storage.read_bytes(), unwanted))
    assert at_random(bag)[0] == expected


def test_messages_outside_chunks_are_read(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag")
    expected, _ = in_order(bag)
    (storage,) = bag.glob("*.mcap")
    content = storage.read_bytes()
    parts, offset = [MAGIC], len(MAGIC)
    while offset + HEAD.size <= len(content) - len(MAGIC):
        op, length = HEAD.unpack_from(content, offset)
        start, offset = offset + HEAD.size, offset + HEAD.size + length
        if op == CHUNK:
            parts.append(chunk_bytes(memoryview(content)[start:offset]))
        elif op != MESSAGE_INDEX:
            parts.append(content[start - HEAD.size : offset])
    storage.write_bytes(b"".join((*parts, MAGIC)))
    assert in_order(bag) == (expected, [])
    assert at_random(bag) == (expected, [])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_changed_bytes_leave_the_rest_readable(storage: StorageName, seed: int, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", storage=storage)
    (file,) = (path for path in bag.iterdir() if path.suffix != ".yaml")
    changed, numbers = bytearray(file.read_bytes()), random.Random(seed)
    first = 4096 if storage == "sqlite3" else len(MAGIC)  # the first page holds what the database is
    for _ in range(numbers.choice([5, 50, 500])):
        changed[numbers.randrange(first, len(changed))] = numbers.choice([0, 255, numbers.randrange(256)])
    file.write_bytes(changed)
    messages, _ = at_random(bag)
    assert sum(map(len, messages.values())) <= 400
    for batch in Ros2Bag(bag, lambda defect: None).batches(lambda fraction, count: None):
        assert len(batch.stamp_ns)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize("fraction", [0.001, 0.2, 0.5, 0.75, 0.999])
def test_cut_off_bag_is_read_up_to_its_end(fraction: float, storage: StorageName, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", 2000, storage=storage)
    (file,) = (path for path in bag.iterdir() if path.suffix != ".yaml")
    content = file.read_bytes()
    file.write_bytes(content[: int(fraction * len(content))])
    expected, _ = in_order(bag)
    result_messages, defects = at_random(bag)
    assert all(result_messages.get(name, [])[: len(messages)] == messages for name, messages in expected.items())
    count = sum(map(len, result_messages.values()))
    kinds = {defect.kind for defect in defects}
    assert "damaged_bag" in kinds or storage == "sqlite3"
    assert ("message_count" in kinds) == (count < 2000)
    if storage == "mcap":
        assert result_messages == expected and count >= min(fraction, 0.7) * 2000 - 60


def test_damaged_chunk_loses_its_messages_and_is_reported_once(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", compression="zstd")
    (storage,) = bag.glob("*.mcap")
    content = bytearray(storage.read_bytes())
    magic = b"\x28\xb5\x2f\xfd"
    offset = content.index(magic, content.index(magic) + 1)  # the second chunk
    content[offset + 9 : offset + 40] = b"\xaa" * 31
    storage.write_bytes(content)
    expected, _ = in_order(bag)
    messages, (defect,) = at_random(bag)
    assert messages == expected
    assert 300 < sum(map(len, messages.values())) < 400
    assert "cannot be unpacked: " in defect.message and defect.message.endswith("; its messages are left out")


def test_types_come_from_definitions_in_the_bag(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag")
    (storage,) = bag.glob("*.mcap")
    content = storage.read_bytes()
    storage.write_bytes(content.replace(b"std_msgs/msg/Float64", b"my_robots/msg/Wheels"))
    (bag / "metadata.yaml").unlink()
    opened = Ros2Bag(bag, lambda defect: None)
    kind = opened.kinds["/value"]
    messages = [data for data in opened.topic("/value", 9).messages(0) if data is not None]
    opened.close()
    assert kind.msgtype == "my_robots/msg/Wheels"
    assert numbers_of_messages(messages, Decoder(kind), ("data",))["data"].tolist() == [2.0 * k + 1 for k in range(9)]


def test_split_bag_is_read_as_one(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", 100), write(tmp_path / "two", 60)
    (two / "two_0.mcap").rename(one / "one_1.mcap")
    text = (one / "metadata.yaml").read_text().replace("  - one_0.mcap", "  - one_0.mcap\n    - one_1.mcap")
    (one / "metadata.yaml").write_text(text)
    result_messages, _ = at_random(one)
    assert {name: len(messages) for name, messages in result_messages.items()} == {"/pose": 80, "/value": 80}
    assert all(
        [stamp for stamp, _ in messages] == sorted(stamp for stamp, _ in messages)
        for messages in result_messages.values()
    )


@pytest.mark.parametrize("offset", [1 << 62, 1 << 64 - 1, 5000])
def test_wrong_index_entry_loses_its_message_and_is_reported(offset: int, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", 8)
    (file,) = bag.glob("*.mcap")
    content, position = bytearray(file.read_bytes()), len(MAGIC)
    while (op := HEAD.unpack_from(content, position)[0]) != MESSAGE_INDEX:
        position += HEAD.size + HEAD.unpack_from(content, position)[1]
    assert op == MESSAGE_INDEX
    start = position + HEAD.size + 2 + 4 + 8  # behind channel, length and the first time
    content[start : start + 8] = min(offset, (1 << 64) - 1).to_bytes(8, "little")
    file.write_bytes(content)
    messages, defects = at_random(bag)
    assert len(messages["/value"]) == 4 and defects
    assert all("expected a message at byte" in str(defect) for defect in defects)


def without_channel(data: bytes, name: bytes, *, everywhere: bool) -> bytes:
    """An MCAP file where a channel is not introduced at the begin, or nowhere."""
    channel = len(name).to_bytes(4, "little") + name + (3).to_bytes(4, "little") + b"cdr"
    assert data.count(channel) == 2  # once more in the summary
    return data.replace(channel, b"\xff" * 4 + channel[4:], 2 if everywhere else 1)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_unknown_channel_does_not_lose_messages_of_others(compression: str, everywhere: bool, tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", compression=compression)
    whole, _ = in_order(bag)
    (storage,) = bag.glob("*.mcap")
    storage.write_bytes(without_channel(storage.read_bytes(), b"/value", everywhere=everywhere))
    messages, defects = in_order(bag)
    assert messages == at_random(bag)[0] == ({"/pose": whole["/pose"]} if everywhere else whole)
    message = "200 messages of channel 2, which was not introduced"
    assert any(message in str(defect) for defect in defects) == everywhere
    assert sum("is damaged: a text in it is longer" in str(defect) for defect in defects) == 1


def test_chunk_of_wrong_length_is_read_as_far_as_valid(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag")
    whole, _ = in_order(bag)
    (storage,) = bag.glob("*.mcap")
    data = bytearray(storage.read_bytes())
    changed = data.index(whole["/value"][2][1]) + 8  # in the first chunk
    chunk = data.rindex(bytes([CHUNK]), 0, data.index(whole["/pose"][0][1]) - 40)
    while HEAD.unpack_from(data, chunk)[1] > len(data):
        chunk = data.rindex(bytes([CHUNK]), 0, chunk)
    data[chunk + HEAD.size - 1], data[changed] = 0xFF, data[changed] ^ 1
    storage.write_bytes(data)
    messages, defects = in_order(bag)
    assert all(set(rows) <= set(whole[topic]) for topic, rows in messages.items())
    assert any("the file was cut off" in str(defect) for defect in defects)


def test_rows_after_unreadable_database_row_are_read(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", storage="sqlite3")
    whole, _ = in_order(bag)
    (storage,) = bag.glob("*.db3")
    data = bytearray(storage.read_bytes())
    lost = whole["/pose"].pop(50)
    offset = data.index(lost[1]) - 10  # before it the time, 8 bytes, and how long it is
    data[offset : offset + 2] = b"\xff\x7f"
    storage.write_bytes(data)
    messages, defects = in_order(bag)
    assert messages == whole
    assert any("some of its messages cannot be read" in str(defect) for defect in defects)
