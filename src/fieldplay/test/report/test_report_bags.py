"""Bags as sources: by rosbags' writer, in every storage and compression, damaged in every way."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from fieldplay.bags.bag_detection import is_bag
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import BagError
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.report.overview import Overview
from fieldplay.report.report_page import page_of, read_recording
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay_testing.reference_messages import (
    START_NS,
    STORE,
    make,
    serialize,
    stamped_message,
    write_bag,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

POSE, FLOAT = "geometry_msgs/msg/PoseStamped", "std_msgs/msg/Float64"
SECOND = 10**9
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def some_messages(count: int = 300) -> list[tuple[str, int, Any]]:
    return [
        ("/value", START_NS + k * SECOND // 10, make(FLOAT, data=float(k)))
        if k % 2
        else (
            "/pose",
            START_NS + k * SECOND // 10,
            stamped_message(POSE, START_NS + k, "map", pose__position__x=float(k)),
        )
        for k in range(count)
    ]


def read(path: Path) -> Overview:
    overview, _ = read_recording(BagRecording(path), lambda fraction, count: None)
    return overview


def counts(overview: Overview) -> dict[str, int]:
    return {topic.name: times.count for topic, times in overview.streams.items()}


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_bag_is_read_completely_with_empty_topics(plugin: str, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(), plugin=plugin, never="std_msgs/msg/String")
    assert is_bag(bag)
    overview = read(bag)
    assert counts(overview) == {"/pose": 150, "/value": 150, "/never": 0}
    assert (overview.start_ns, overview.duration_s) == (START_NS, pytest.approx(29.9))
    assert overview.issues.total == 0
    assert dict(overview.subject.facts)["storage"] == plugin


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE, CompressionMode.STORAGE])
def test_every_compression_is_read(plugin: StoragePlugin, mode: CompressionMode, tmp_path: Path) -> None:
    if (plugin, mode) == (StoragePlugin.SQLITE3, CompressionMode.STORAGE):
        mode = CompressionMode.NONE  # which it does not have
    writer = Writer(tmp_path / "bag", version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/value", FLOAT, typestore=STORE)
        for k in range(50):
            writer.write(connection, START_NS + k, serialize(make(FLOAT, data=float(k))))
    overview = read(tmp_path / "bag")
    assert counts(overview) == {"/value": 50}
    assert overview.issues.total == 0


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_converted_bags_are_read(compression: Any, tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", compression=compression, chunk_size=2000) as writer:
        number = writer.add_channel(channel_of_type("/value", FLOAT))
        stamp_ns = START_NS + np.arange(500)
        block = MessageBlock.of_messages([serialize(make(FLOAT, data=float(k))) for k in range(500)])
        writer.write(messages_of_channel(number, stamp_ns, block))
    overview = read(tmp_path / "bag")
    assert (counts(overview), overview.issues.total) == ({"/value": 500}, 0)


def test_empty_bag_and_bag_of_one_message_give_pages(tmp_path: Path) -> None:
    for name, messages, expected in (("none", [], "it holds no message at all"), ("one", some_messages(1), "/pose")):
        bag = write_bag(tmp_path / name, messages, silent="std_msgs/msg/String")
        page = page_of(BagRecording(bag), lambda fraction, count: None)
        assert expected in str.replace(page, "<wbr>", "")
        assert page.endswith("</html>\n")


def test_topics_of_unknown_types_have_times(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with BagWriter(bag) as writer:
        number = writer.add_channel(channel_of_type("/value", FLOAT))
        writer.write(
            messages_of_channel(number, START_NS + np.arange(3), MessageBlock.of_messages([b"\0\1\0\0" + bytes(8)] * 3))
        )
    (storage,) = bag.glob("*.mcap")
    content = storage.read_bytes()
    assert content.count(FLOAT.encode()) > 1
    storage.write_bytes(content.replace(b"std_msgs/msg/Float64", b"my_robots/msg/Wheels"))
    overview = read(bag)
    assert overview.streams[Topic("/value", "my_robots/msg/Wheels")].count == 3


def test_messages_that_do_not_match_their_type_are_reported(tmp_path: Path) -> None:
    with Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/pose", POSE, typestore=STORE)
        for k, data in enumerate([serialize(stamped_message(POSE, START_NS, "map")), b"\0\1\0\0rubbish", b""]):
            writer.write(connection, START_NS + k, data)
    source = BagRecording(tmp_path / "bag")
    page = page_of(source, lambda fraction, count: None)
    assert source.issues.counts["unreadable_message"] == 2
    assert f"2 messages cannot be read as {POSE}" in page


@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_truncated_mcap_is_read_up_to_its_end(fraction: float, compression: Any, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with BagWriter(bag, compression=compression, chunk_size=4000) as writer:
        number = writer.add_channel(channel_of_type("/value", FLOAT))
        block = MessageBlock.of_messages([serialize(make(FLOAT, data=float(k))) for k in range(1000)])
        writer.write(messages_of_channel(number, START_NS + np.arange(1000), block))
    (storage,) = bag.glob("*.mcap")
    content = storage.read_bytes()
    storage.write_bytes(content[: int(fraction * len(content))])
    overview = read(bag)
    count = counts(overview)["/value"]
    if compression == "none":  # compressed bytes come in blocks: of a cut chunk there may be nothing
        assert count >= min(fraction, 0.9) * 1000 * 0.55 - 20
    assert count <= 1000
    messages = [issue.message for issue in overview.issues.listed["damaged_bag"]]
    assert any("the file was cut off" in message or "other first bytes" in message for message in messages)
    assert (count == 1000) == ("message_count" not in overview.issues.counts)


def test_bag_without_metadata_is_read_from_storage(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages())
    (bag / "metadata.yaml").unlink()
    assert is_bag(bag)
    overview = read(bag)
    assert counts(overview) == {"/pose": 150, "/value": 150}
    assert "ended in a crash" in overview.issues.listed["damaged_bag"][0].message
    (storage,) = bag.glob("*.mcap")
    assert is_bag(storage)
    assert read(storage).issues.total == 0


@pytest.mark.parametrize(
    "text",
    ["", "[", "rosbag2_bagfile_information: 3", "rosbag2_bagfile_information: {topics_with_message_count: 3}", "\0"],
)
def test_empty_metadata_does_not_prevent_reading(text: str, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages())
    (bag / "metadata.yaml").write_text(text)
    assert counts(read(bag)) == {"/pose": 150, "/value": 150}


def test_bag_without_storage_is_an_error(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(3))
    (storage,) = bag.glob("*.mcap")
    storage.unlink()
    with pytest.raises(BagError, match="no storage file"):
        BagRecording(bag)


def test_damaged_mcap_chunk_loses_only_its_messages(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with BagWriter(bag, compression="zstd", chunk_size=4000) as writer:
        number = writer.add_channel(channel_of_type("/value", FLOAT))
        block = MessageBlock.of_messages([serialize(make(FLOAT, data=float(k**3))) for k in range(1000)])
        writer.write(messages_of_channel(number, START_NS + np.arange(1000), block))
    (storage,) = bag.glob("*.mcap")
    content = bytearray(storage.read_bytes())
    offset = content.index(ZSTD_MAGIC, content.index(ZSTD_MAGIC) + 1)  # the second chunk
    content[offset + 9 : offset + 40] = b"\xaa" * 31
    storage.write_bytes(content)
    overview = read(bag)
    assert 700 < counts(overview)["/value"] < 1000
    assert "is damaged:" in overview.issues.listed["damaged_bag"][0].message


@pytest.mark.parametrize("fraction", [0.3, 0.7, 0.99])
def test_truncated_database_is_read_as_far_as_possible(fraction: float, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(2000), plugin="sqlite3")
    (storage,) = bag.glob("*.db3")
    content = storage.read_bytes()
    storage.write_bytes(content[: int(fraction * len(content))])
    overview = read(bag)
    messages = [issue.message for issue in overview.issues.listed["damaged_bag"]]
    assert any("it can be read only so far" in message or "rows of others" in message for message in messages)
    assert sum(counts(overview).values()) < 2000


def test_reading_writes_no_files_next_to_database(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(), plugin="sqlite3")
    (storage,) = bag.glob("*.db3")
    with sqlite3.connect(storage) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    before = {path.name: path.read_bytes() for path in bag.iterdir()}
    read(bag)
    assert {path.name: path.read_bytes() for path in bag.iterdir()} == before


def test_split_files_are_read_in_order(tmp_path: Path) -> None:
    one, two = (write_bag(tmp_path / name, some_messages(n)) for name, n in (("one", 10), ("two", 20)))
    (two / "two.mcap").rename(one / "zwei.mcap")
    text = (one / "metadata.yaml").read_text()
    overview = read(one)
    assert sum(counts(overview).values()) == 10
    (issue,) = overview.issues.listed["unlisted_file"]
    assert (issue.location, issue.message) == ("zwei.mcap", "metadata.yaml does not name this file; it is not read")
    (one / "metadata.yaml").write_text(text.replace("- one.mcap", "- one.mcap\n  - zwei.mcap"))
    overview = read(one)
    assert sum(counts(overview).values()) == 30
    assert dict(overview.subject.facts)["files"] == "2"


def test_names_that_look_like_markup_are_escaped(tmp_path: Path) -> None:
    topic = "/<script>alert(1)</script>\"'&"
    bag = write_bag(tmp_path / "<img src=x>", [(topic, START_NS, make(FLOAT, data=1.0))])
    page = page_of(BagRecording(bag), lambda fraction, count: None)
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/<wbr>script&gt;&quot;&#x27;&amp;" in page


def test_truncated_zstd_file_is_read_up_to_its_end(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(3000))
    (storage,) = bag.glob("*.mcap")
    packed = zstd.compress(storage.read_bytes())
    storage.unlink()
    storage.with_suffix(".mcap.zstd").write_bytes(packed[: len(packed) // 2])
    (bag / "metadata.yaml").unlink()
    overview = read(bag)
    assert any("its compression ends early" in issue.message for issue in overview.issues.listed["damaged_bag"])


def test_times_beyond_64_bits_are_clamped(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", some_messages(2))
    (storage,) = bag.glob("*.mcap")
    content = storage.read_bytes()
    late = (START_NS + SECOND // 10).to_bytes(8, "little")
    storage.write_bytes(content.replace(late, b"\xff" * 8))
    page = page_of(BagRecording(bag), lambda fraction, count: None)
    assert page.endswith("</html>\n")


def test_messages_logged_before_clock_was_set_are_put_to_start(tmp_path: Path) -> None:
    late = [("/value", 0, make(FLOAT)), ("/value", 0, make(FLOAT)), *some_messages(10)]
    overview = read(write_bag(tmp_path / "late", late))
    assert (overview.start_ns, overview.duration_s) == (START_NS, pytest.approx(0.9))
    assert counts(overview) == {"/value": 7, "/pose": 5}
    assert overview.issues.counts == {"without_time": 2}
    simulated = [("/value", k * SECOND, make(FLOAT)) for k in range(4)]
    overview = read(write_bag(tmp_path / "simulated", simulated))
    assert (overview.start_ns, overview.duration_s, overview.issues.total) == (0, 3.0, 0)
    without = [("/value", 0, make(FLOAT)) for _ in range(3)]
    overview = read(write_bag(tmp_path / "without", without))
    assert (counts(overview), overview.duration_s) == ({"/value": 3}, 0.0)
