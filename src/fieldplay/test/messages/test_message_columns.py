"""Columns of messages, of ROS 1 and of CDR in either order of bytes, beside the same messages read by rosbags."""

import struct
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.bag_topics import header_stamp_ns
from fieldplay.core.errors import ArchiveError
from fieldplay.messages.cdr_layout import MessageKind, layout_of_message
from fieldplay.messages.message_batches import Part
from fieldplay.messages.message_columns import Decoder, numbers_of_messages
from fieldplay_testing.reference_messages import (
    START_NS,
    STORE,
    make,
    message_batch,
    serialize,
    stamped_message,
    transform,
    transforms,
)

STORES = {False: get_typestore(Stores.ROS1_NOETIC), True: STORE}
POSE, JOINTS, TF = "geometry_msgs/msg/PoseStamped", "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"


def poses(count: int, frame: str = "map") -> list[tuple[int, Any]]:
    return [
        (
            START_NS + k,
            stamped_message(POSE, START_NS - 5 + k, frame, pose__position__x=k / 7, pose__orientation__w=1.0),
        )
        for k in range(count)
    ]


def test_numbers_and_times_equal_those_of_rosbags() -> None:
    requested = message_batch("/pose", poses(40))
    (columns,) = Decoder(POSE).columns(requested.parts)
    read = [STORE.deserialize_cdr(row.tobytes(), POSE) for row in requested.parts[0].data]
    assert columns.axes("pose.position").tolist() == [[m.pose.position.x, 0.0, 0.0] for m in read]
    assert columns.time_ns().tolist() == [START_NS - 5 + k for k in range(40)]
    assert columns.stamp_ns.tolist() == [START_NS + k for k in range(40)]
    assert columns.text("header.frame_id") == "map"


def test_equally_long_messages_with_different_texts_are_separated() -> None:
    mixed = [message for pair in zip(poses(6, "one"), poses(6, "two"), strict=True) for message in pair]
    batches = list(Decoder(POSE).columns(message_batch("/pose", mixed).parts))
    assert {columns.text("header.frame_id"): len(columns.rows) for columns in batches} == {"one": 6, "two": 6}


def test_lists_may_differ_in_length_between_messages() -> None:
    messages = [
        (START_NS + k, stamped_message(JOINTS, START_NS, "", name=["a", "b"][:n], position=np.arange(n) + 10.0 * k))
        for k, n in enumerate([2, 1, 2, 0])
    ]
    batches = list(Decoder(JOINTS).columns(message_batch("/joints", messages).parts))
    values = {columns.texts["name"]: np.asarray(columns.rows["position"]).reshape(len(columns.rows), -1).tolist()
              for columns in batches if columns.texts["name"]}  # fmt: skip
    assert values == {("a", "b"): [[0.0, 1.0], [20.0, 21.0]], ("a",): [[10.0]]}


def test_transforms_have_indexed_paths() -> None:
    message = transforms(transform(START_NS, "map", "odom", (1, 2, 3)), transform(START_NS, "odom", "base", (4, 5, 6)))
    (columns,) = Decoder(TF).columns(message_batch("/tf", [(START_NS, message)]).parts)
    assert columns.texts["transforms"] == 2
    assert columns.axes("transforms[1].transform.translation").tolist() == [[4.0, 5.0, 6.0]]
    assert columns.text("transforms[1].child_frame_id") == "base"


def test_big_endian_message_gives_same_numbers() -> None:
    data = serialize(poses(3)[2][1], little_endian=False)
    part = Part(np.array([START_NS]), np.frombuffer(data, np.uint8)[None, :])
    (columns,) = Decoder(POSE).columns([part])
    assert columns.axes("pose.position").tolist() == [[2 / 7, 0.0, 0.0]]


@pytest.mark.parametrize("padding", [b"\0", b"\1\2", b"\0\0\0"])
def test_padding_does_not_matter(padding: bytes) -> None:
    """Alignment leaves gaps, which some writers do not clear; and some fill the end up to four bytes."""
    whole = [serialize(message) for _, message in poses(4, "m")]  # 'm' and its zero end two bytes before a double
    gap = whole[0].index(b"m\0") + 2
    assert gap % 4, "there is a gap to fill"
    rows = [bytes(data[:gap]) + bytes([77]) + data[gap + 1 :] + padding for data in whole]
    part = Part(np.arange(4), np.array([np.frombuffer(row, np.uint8) for row in rows]))
    batches = list(Decoder(POSE).columns([part]))
    x = np.concatenate([columns.axes("pose.position")[:, 0] for columns in batches])
    assert x.tolist() == [0.0, 1 / 7, 2 / 7, 3 / 7]


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 90, b"\x07\x07\0\0" + bytes(90)])
def test_unreadable_messages_are_counted_and_the_rest_is_read(data: bytes) -> None:
    decoder = Decoder(POSE)
    part = Part(np.array([START_NS]), np.frombuffer(data, np.uint8).reshape(1, len(data)))
    good = message_batch("/pose", poses(2)).parts
    assert sum(len(columns.rows) for columns in decoder.columns([part, *good])) == 2
    assert decoder.failed == 1


def test_header_without_time_gets_log_time() -> None:
    message = make(POSE, header__frame_id="map")
    (columns,) = Decoder(POSE).columns(message_batch("/pose", [(START_NS, message)]).parts)
    assert columns.time_ns().tolist() == [START_NS]


def kind(msgtype: str, *, is_cdr: bool) -> MessageKind:
    return MessageKind(msgtype=msgtype, definitions=STORES[is_cdr].fielddefs, is_cdr=is_cdr)


def decoder(*, is_cdr: bool) -> Decoder:
    return Decoder(kind(JOINTS, is_cdr=is_cdr), strict=False)


def joints(names: list[str], values: list[float], *, is_cdr: bool, frame: str = "base") -> bytes:
    """A JointState, serialized in either form."""
    store = STORES[is_cdr]
    stamp = store.types["builtin_interfaces/msg/Time"](sec=START_NS // 10**9, nanosec=START_NS % 10**9)
    header = store.types["std_msgs/msg/Header"](**({} if is_cdr else {"seq": 7}), stamp=stamp, frame_id=frame)
    position, empty = np.array(values, float), np.zeros(0)
    message = store.types[JOINTS](header=header, name=names, position=position, velocity=empty, effort=empty)
    return bytes((store.serialize_cdr if is_cdr else store.serialize_ros1)(message, JOINTS))


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_texts_lists_and_numbers_are_at_their_offsets(is_cdr: bool) -> None:
    layout = layout_of_message(joints(["a", "bcd"], [1.5, -2.5], is_cdr=is_cdr), kind(JOINTS, is_cdr=is_cdr))
    assert layout.constants["name"] == ("a", "bcd")
    assert layout.text("header.frame_id") == "base"
    assert layout.number("position").tolist() == [1.5, -2.5]
    assert layout.number("velocity").tolist() == []
    assert int(layout.number("header.stamp.sec")) == START_NS // 10**9


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_columns_of_messages_of_different_lengths_keep_their_order(is_cdr: bool) -> None:
    messages = [joints(["a", "b"], [k, -k], is_cdr=is_cdr, frame="x" * (k % 5)) for k in range(20)]
    columns = numbers_of_messages(messages, decoder(is_cdr=is_cdr), ("position", "header.stamp.sec"))
    assert columns["position"].tolist() == [[k, -k] for k in range(20)]
    assert columns.rows.tolist() == list(range(20))


@pytest.mark.parametrize("is_cdr", [False, True], ids=["ROS 1", "CDR"])
def test_cut_message_is_reported_and_others_are_kept(is_cdr: bool) -> None:
    whole = [joints(["a"], [float(k)], is_cdr=is_cdr) for k in range(4)]
    messages = [*whole[:2], whole[2][:-9], whole[3]]
    columns = numbers_of_messages(messages, decoder(is_cdr=is_cdr), ("position",))
    assert (columns["position"].tolist(), columns.rows.tolist()) == ([[0], [1], [3]], [0, 1, 3])
    ((row, issue),) = columns.issues
    assert row == 2 and "expected a whole sensor_msgs/msg/JointState" in issue


def test_length_beyond_message_is_refused_without_counting() -> None:
    data = bytearray(joints(["a"], [1.0], is_cdr=False))
    offset = data.index(b"base") + 4
    data[offset : offset + 4] = struct.pack("<I", 2**31)
    with pytest.raises(ArchiveError, match="expected a whole"):
        layout_of_message(bytes(data), kind(JOINTS, is_cdr=False))


def test_non_cdr_bytes_are_refused() -> None:
    data = bytearray(joints(["a"], [1.0], is_cdr=True))
    data[1] = 7
    with pytest.raises(ArchiveError, match="expected CDR, got a header of 00070000"):
        layout_of_message(bytes(data), kind(JOINTS, is_cdr=True))


def test_big_endian_cdr_gives_same_numbers() -> None:
    data = joints(["a"], [1.5], is_cdr=True)
    message = STORES[True].deserialize_cdr(data, JOINTS)
    turned = bytes(STORES[True].serialize_cdr(message, JOINTS, little_endian=False))
    columns = numbers_of_messages([data, turned], decoder(is_cdr=True), ("position", "header.stamp.sec"))
    assert columns["position"].tolist() == [[1.5], [1.5]]
    assert header_stamp_ns(turned, kind(JOINTS, is_cdr=True)) == header_stamp_ns(data, kind(JOINTS, is_cdr=True))
