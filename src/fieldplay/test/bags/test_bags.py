"""Bags as archives: parts read as one, and streams of topics."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.bag_stream import BagStream, TopicNumbers
from fieldplay.bags.bag_topics import HeaderTimeTopic, topic_in_time
from fieldplay.bags.ros1 import Parts, Ros1Bag, parts_of_bag
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.messages.message_columns import FieldNumbers
from fieldplay.messages.records import Record, Temperature

STORE = get_typestore(Stores.ROS1_NOETIC)
START_NS = 1_514_301_945 * 10**9
TEMPERATURE = "sensor_msgs/msg/Temperature"


def warmth(stamp_ns: int, value: float) -> bytes:
    """A message of ROS 1."""
    stamp = STORE.types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    header = STORE.types["std_msgs/msg/Header"](seq=7, stamp=stamp, frame_id="base")
    message = STORE.types[TEMPERATURE](header=header, temperature=value, variance=0.0)
    return bytes(STORE.serialize_ros1(message, TEMPERATURE))


def test_parts_are_read_as_one_file_across_boundaries(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4
    for index, (start, end) in enumerate(((0, 100), (100, 101), (101, 1024))):
        (tmp_path / f"a.bag.{index:02d}").write_bytes(data[start:end])
    paths, missing = parts_of_bag(tmp_path / "a.bag.01")
    assert ([path.name for path in paths], missing) == (["a.bag.00", "a.bag.01", "a.bag.02"], [])
    parts = Parts(paths)
    assert (parts.name, parts.size) == ("a.bag", 1024)
    assert parts.read_at(90, 50) == data[90:140]
    assert parts.read_at(1000, 500) == data[1000:]
    with parts.open() as file:
        file.seek(95)
        assert file.read(20) == data[95:115]
        file.seek(-5, 2)
        assert file.read() == data[-5:]
    parts.close()


def test_missing_part_ends_the_data(tmp_path: Path) -> None:
    for index in (0, 1, 3):
        (tmp_path / f"a.bag.{index}").write_bytes(b"x")
    paths, missing = parts_of_bag(tmp_path / "a.bag.3")
    assert ([path.name for path in paths], missing) == (["a.bag.0", "a.bag.1"], ["a.bag.2"])
    (tmp_path / "a.bag.0").unlink()
    with pytest.raises(ArchiveError, match=r"expected a\.bag\.0 next to it, the first part of the bag, got none"):
        parts_of_bag(tmp_path / "a.bag.1")


def bag_of(path: Path, times: list[int], *, log_ns: int = 0, values: list[float] | None = None) -> Ros1Bag:
    """A bag with a topic of temperatures whose headers have these times after the start, in ms."""
    with Writer(path) as writer:
        writer.chunk_threshold = 500
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=STORE)
        for index, ms in enumerate(times):
            stamp_ns = START_NS + ms * 10**6
            value = values[index] if values else float(ms)
            data = warmth(stamp_ns, value)
            writer.write(connection, stamp_ns if not log_ns else log_ns + index, data)
    return Ros1Bag(Parts([path]), lambda defect: None)


def stream_of(topic: Any, report: Any = lambda defect: None) -> TopicNumbers:
    def convert(stamp_ns: Any, columns: FieldNumbers) -> Record:
        return Temperature(stamp_ns=stamp_ns, temperature_deg_c=columns["temperature"])

    return TopicNumbers(topic, ("temperature",), convert, bag="a.bag", stream="warmth", report=report)


def rows_of(stream: TopicNumbers) -> list[tuple[int, float]]:
    rows = []
    for index, span in enumerate(stream.spans):
        record = stream.load(index)
        assert isinstance(record, Temperature)
        assert all(span.first_ns <= stamp <= span.last_ns for stamp in record.stamp_ns.tolist())
        rows += list(
            zip(((record.stamp_ns - START_NS) // 10**6).tolist(), record.temperature_deg_c.tolist(), strict=True)
        )
    return rows


def test_topic_is_read_in_spans_ordered_by_time(tmp_path: Path) -> None:
    bag = bag_of(tmp_path / "a.bag", [30, 10, 20, 50, 40, 0])
    assert bag.counts == {"/warmth": 6}
    stream = stream_of(topic_in_time(bag, "/warmth", 4, lambda note: None))
    assert [span.count for span in stream.spans] == [4, 2]
    assert rows_of(stream) == [(ms, ms) for ms in range(0, 60, 10)]
    bag.close()


def test_bag_with_wrong_times_is_read_by_header_times(tmp_path: Path) -> None:
    notes: list[str] = []
    bag = bag_of(tmp_path / "a.bag", [30, 10, 20, 50, 40, 0], log_ns=START_NS + 10**15)
    topic = topic_in_time(bag, "/warmth", 4, notes.append)
    assert isinstance(topic, HeaderTimeTopic)
    assert rows_of(stream_of(topic)) == [(ms, ms) for ms in range(0, 60, 10)]
    assert topic.message(1, 1) == bag.topic("/warmth", 10).message(0, 3)
    assert len(notes) == 1 and "not those in its headers" in notes[0]
    bag.close()


def test_mismatched_headers_and_invalid_numbers_are_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    with Writer(path) as writer:
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=STORE)
        for k, (header_ms, value) in enumerate([(0, 1.0), (999, 2.0), (20, float("nan")), (30, 4.0)]):
            data = warmth(START_NS + header_ms * 10**6, value)
            writer.write(connection, START_NS + k * 10**7, data)
    defects: list[Defect] = []
    bag = Ros1Bag(Parts([path]), defects.append)
    stream = stream_of(topic_in_time(bag, "/warmth", 10, lambda note: None), defects.append)
    for _ in range(2):
        assert rows_of(stream) == [(0, 1.0), (10, 2.0), (30, 4.0)]
    assert sorted(defect.kind for defect in defects) == ["not_finite", "stamp_mismatch"]
    bag.close()


def test_rare_topic_is_read_only_where_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = bag_of(tmp_path / "a.bag", [*range(0, 60_000, 1000), *range(60_000, 60_500, 10)])
    read: list[int] = []
    whole = bag.read

    def note(block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        read.extend(offsets)
        return whole(block, offsets)

    stream = BagStream(bag, "/warmth")
    monkeypatch.setattr(bag, "read", note)
    record = stream.load(0)
    assert not read
    assert record.load(59) == next(whole(*offset_of(bag, 59)))
    assert len(read) == 1  # 110 messages in 60.5 s: a quarter of a second has one
    assert [record.load(row) for row in (59, 60, 61)] == [next(whole(*offset_of(bag, row))) for row in (59, 60, 61)]
    assert len(read) == 3
    bag.close()


def offset_of(bag: Ros1Bag, row: int) -> tuple[int, list[int]]:
    offsets = bag.indexed["/warmth"].offsets
    return int(offsets.block[row]), [int(offsets.offset[row])]


def test_cut_message_is_reported_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    with Writer(path) as writer:
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=STORE)
        for k in range(4):
            data = warmth(START_NS + k * 10**7, float(k))
            writer.write(connection, START_NS + k * 10**7, data[:30] if k % 2 else data)
    defects: list[Defect] = []
    bag = Ros1Bag(Parts([path]), defects.append)
    assert rows_of(stream_of(bag.topic("/warmth", 10), defects.append)) == [(0, 0.0), (20, 2.0)]
    times = [f"/warmth, the message at {(START_NS + k * 10**7) / 1e9:.6f} s: expected a whole" for k in (1, 3)]
    assert [defect.kind for defect in defects] == ["damaged_message"] * 2
    assert all(time in defect.message for time, defect in zip(times, defects, strict=True))
    bag.close()


def test_ros1_bag_is_not_read_beyond_its_end(tmp_path: Path) -> None:
    for number, content in enumerate((b"abc", b"defgh")):
        (tmp_path / f"x.bag.{number}").write_bytes(content)
    parts = Parts([tmp_path / "x.bag.0", tmp_path / "x.bag.1"])
    assert parts.read_at(2, 1 << 45) == b"cdefgh" and parts.read_at(9, 1 << 45) == b""
    with parts.open() as file:
        file.seek(1)
        assert file.read(1 << 45) == b"bcdefgh" and file.read(1) == b""
        file.seek(6)
        assert file.read() == b"gh"
    parts.close()
