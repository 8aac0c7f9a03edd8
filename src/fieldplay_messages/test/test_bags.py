"""Bags as archives: messages laid out, parts read as one, and streams of topics."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay_messages.bags.bag_parts import Parts, parts_of_bag
from fieldplay_messages.bags.ros1 import Ros1Bag
from fieldplay_messages.bags.topic_streams import TopicNumbers
from fieldplay_messages.bags.topics import ByHeader, header_stamp_ns, topic_in_time
from fieldplay_messages.cdr.columns import Decoder, FieldNumbers, numbers_of_messages
from fieldplay_messages.cdr.layout import MessageKind, layout_of_message
from fieldplay_messages.errors import ArchiveError, Defect
from fieldplay_messages.records import Record, Temperature

STORES = {False: get_typestore(Stores.ROS1_NOETIC), True: get_typestore(Stores.ROS2_JAZZY)}
START_NS = 1_514_301_945 * 10**9
JOINTS, TEMPERATURE = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Temperature"


def kind(msgtype: str, *, is_cdr: bool) -> MessageKind:
    return MessageKind(msgtype=msgtype, definitions=STORES[is_cdr].fielddefs, is_cdr=is_cdr)


def made(msgtype: str, stamp_ns: int = START_NS, *, is_cdr: bool, frame: str = "base", **members: Any) -> bytes:
    """A message with a header, serialized."""
    store = STORES[is_cdr]
    stamp = store.types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    seq = {} if is_cdr else {"seq": 7}
    header = store.types["std_msgs/msg/Header"](**seq, stamp=stamp, frame_id=frame)
    message = store.types[msgtype](header=header, **members)
    serialize = store.serialize_cdr if is_cdr else store.serialize_ros1
    return bytes(serialize(message, msgtype))


def decoder(*, is_cdr: bool) -> Decoder:
    return Decoder(kind(JOINTS, is_cdr=is_cdr), strict=False)


def joints(names: list[str], values: list[float], *, is_cdr: bool, frame: str = "base") -> bytes:
    empty = np.zeros(0)
    return made(
        JOINTS, is_cdr=is_cdr, frame=frame, name=names, position=np.array(values, float), velocity=empty, effort=empty
    )


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_texts_lists_and_numbers_are_found_where_they_lie(is_cdr: bool) -> None:
    layout = layout_of_message(joints(["a", "bcd"], [1.5, -2.5], is_cdr=is_cdr), kind(JOINTS, is_cdr=is_cdr))
    assert layout.constants["name"] == ("a", "bcd")
    assert layout.text("header.frame_id") == "base"
    assert layout.number("position").tolist() == [1.5, -2.5]
    assert layout.number("velocity").tolist() == []
    assert int(layout.number("header.stamp.sec")) == START_NS // 10**9


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_columns_are_taken_from_messages_of_differing_lengths_in_their_order(is_cdr: bool) -> None:
    messages = [joints(["a", "b"], [k, -k], is_cdr=is_cdr, frame="x" * (k % 5)) for k in range(20)]
    columns = numbers_of_messages(messages, decoder(is_cdr=is_cdr), ("position", "header.stamp.sec"))
    assert columns["position"].tolist() == [[k, -k] for k in range(20)]
    assert columns.rows.tolist() == list(range(20))


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_a_message_that_is_cut_is_told_and_the_others_are_kept(is_cdr: bool) -> None:
    whole = [joints(["a"], [float(k)], is_cdr=is_cdr) for k in range(4)]
    messages = [*whole[:2], whole[2][:-9], whole[3]]
    columns = numbers_of_messages(messages, decoder(is_cdr=is_cdr), ("position",))
    assert (columns["position"].tolist(), columns.rows.tolist()) == ([[0], [1], [3]], [0, 1, 3])
    ((row, fault),) = columns.faults
    assert row == 2 and "expected a whole sensor_msgs/msg/JointState" in fault


def test_a_length_beyond_the_message_is_not_counted_to_its_end() -> None:
    data = bytearray(joints(["a"], [1.0], is_cdr=False))
    place = data.index(b"base") + 4
    data[place : place + 4] = struct.pack("<I", 2**31)
    with pytest.raises(ArchiveError, match="expected a whole"):
        layout_of_message(bytes(data), kind(JOINTS, is_cdr=False))


def test_what_is_no_cdr_is_refused() -> None:
    data = bytearray(joints(["a"], [1.0], is_cdr=True))
    data[1] = 7
    with pytest.raises(ArchiveError, match="expected CDR, got a header of 00070000"):
        layout_of_message(bytes(data), kind(JOINTS, is_cdr=True))


def test_cdr_with_the_highest_byte_first_gives_the_same_numbers() -> None:
    data = joints(["a"], [1.5], is_cdr=True)
    message = STORES[True].deserialize_cdr(data, JOINTS)
    turned = bytes(STORES[True].serialize_cdr(message, JOINTS, little_endian=False))
    columns = numbers_of_messages([data, turned], decoder(is_cdr=True), ("position", "header.stamp.sec"))
    assert columns["position"].tolist() == [[1.5], [1.5]]
    assert header_stamp_ns(turned, kind(JOINTS, is_cdr=True)) == header_stamp_ns(data, kind(JOINTS, is_cdr=True))


def test_parts_are_read_as_one_file_across_their_borders(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4
    for index, (begin, end) in enumerate(((0, 100), (100, 101), (101, 1024))):
        (tmp_path / f"a.bag.{index:02d}").write_bytes(data[begin:end])
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


def test_a_part_that_is_not_there_ends_what_is_read(tmp_path: Path) -> None:
    for index in (0, 1, 3):
        (tmp_path / f"a.bag.{index}").write_bytes(b"x")
    paths, missing = parts_of_bag(tmp_path / "a.bag.3")
    assert ([path.name for path in paths], missing) == (["a.bag.0", "a.bag.1"], ["a.bag.2"])
    (tmp_path / "a.bag.0").unlink()
    with pytest.raises(ArchiveError, match=r"expected a\.bag\.0 beside it, the bag's beginning, got none"):
        parts_of_bag(tmp_path / "a.bag.1")


def bag_of(path: Path, times: list[int], *, log_ns: int = 0, values: list[float] | None = None) -> Ros1Bag:
    """A bag with a topic of temperatures whose headers have these times after the start, in ms."""
    store = STORES[False]
    with Writer(path) as writer:
        writer.chunk_threshold = 500
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=store)
        for index, ms in enumerate(times):
            stamp_ns = START_NS + ms * 10**6
            value = values[index] if values else float(ms)
            data = made(TEMPERATURE, stamp_ns, is_cdr=False, temperature=value, variance=0.0)
            writer.write(connection, stamp_ns if not log_ns else log_ns + index, data)
    return Ros1Bag(Parts([path]), lambda defect: None)


def stream_of(topic: Any, report: Any = lambda defect: None) -> TopicNumbers:
    def convert(stamp_ns: Any, columns: FieldNumbers) -> Record:
        return Temperature(stamp_ns=stamp_ns, temperature_deg_c=columns["temperature"])

    return TopicNumbers(topic, ("temperature",), convert, bag="a.bag", stream="warmth", report=report)


def rows_of(stream: TopicNumbers) -> list[tuple[int, float]]:
    found = []
    for index, span in enumerate(stream.spans):
        record = stream.load(index)
        assert isinstance(record, Temperature)
        assert all(span.first_ns <= stamp <= span.last_ns for stamp in record.stamp_ns.tolist())
        found += list(
            zip(((record.stamp_ns - START_NS) // 10**6).tolist(), record.temperature_deg_c.tolist(), strict=True)
        )
    return found


def test_a_topic_is_read_in_spans_in_the_order_of_time(tmp_path: Path) -> None:
    bag = bag_of(tmp_path / "a.bag", [30, 10, 20, 50, 40, 0])
    assert bag.counts == {"/warmth": 6}
    stream = stream_of(topic_in_time(bag, "/warmth", 4, lambda note: None))
    assert [span.count for span in stream.spans] == [4, 2]
    assert rows_of(stream) == [(ms, ms) for ms in range(0, 60, 10)]
    bag.close()


def test_a_bag_with_other_times_than_its_headers_is_read_by_these(tmp_path: Path) -> None:
    notes: list[str] = []
    bag = bag_of(tmp_path / "a.bag", [30, 10, 20, 50, 40, 0], log_ns=START_NS + 10**15)
    topic = topic_in_time(bag, "/warmth", 4, notes.append)
    assert isinstance(topic, ByHeader)
    assert rows_of(stream_of(topic)) == [(ms, ms) for ms in range(0, 60, 10)]
    assert topic.message(1, 1) == bag.topic("/warmth", 10).message(0, 3)
    assert len(notes) == 1 and "not those in its headers" in notes[0]
    bag.close()


def test_single_headers_with_another_time_and_numbers_that_are_none_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    store = STORES[False]
    with Writer(path) as writer:
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=store)
        for k, (header_ms, value) in enumerate([(0, 1.0), (999, 2.0), (20, float("nan")), (30, 4.0)]):
            data = made(TEMPERATURE, START_NS + header_ms * 10**6, is_cdr=False, temperature=value, variance=0.0)
            writer.write(connection, START_NS + k * 10**7, data)
    defects: list[Defect] = []
    bag = Ros1Bag(Parts([path]), defects.append)
    stream = stream_of(topic_in_time(bag, "/warmth", 10, lambda note: None), defects.append)
    for _ in range(2):
        assert rows_of(stream) == [(0, 1.0), (10, 2.0), (30, 4.0)]
    assert sorted(defect.kind for defect in defects) == ["not_finite", "stamp_mismatch"]
    bag.close()


def test_a_message_that_is_cut_is_told_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    with Writer(path) as writer:
        connection = writer.add_connection("/warmth", TEMPERATURE, typestore=STORES[False])
        for k in range(4):
            data = made(TEMPERATURE, START_NS + k * 10**7, is_cdr=False, temperature=float(k), variance=0.0)
            writer.write(connection, START_NS + k * 10**7, data[:30] if k % 2 else data)
    defects: list[Defect] = []
    bag = Ros1Bag(Parts([path]), defects.append)
    assert rows_of(stream_of(bag.topic("/warmth", 10), defects.append)) == [(0, 0.0), (20, 2.0)]
    times = [f"/warmth, the message at {(START_NS + k * 10**7) / 1e9:.6f} s: expected a whole" for k in (1, 3)]
    assert [defect.kind for defect in defects] == ["damaged_message"] * 2
    assert all(time in defect.message for time, defect in zip(times, defects, strict=True))
    bag.close()
