"""Columns of messages beside the same messages read one by one by rosbags."""

from typing import Any

import numpy as np
import pytest
from messages_by_hand import START_NS, STORE, batch, make, serialized, stamped, transform, transforms

from fieldplay_messages.batches import Part
from fieldplay_messages.cdr.columns import Decoder

POSE, JOINTS, TF = "geometry_msgs/msg/PoseStamped", "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"


def poses(count: int, frame: str = "map") -> list[tuple[int, Any]]:
    return [
        (START_NS + k, stamped(POSE, START_NS - 5 + k, frame, pose__position__x=k / 7, pose__orientation__w=1.0))
        for k in range(count)
    ]


def test_numbers_and_times_are_those_that_rosbags_reads() -> None:
    wanted = batch("/pose", poses(40))
    (columns,) = Decoder(POSE).columns(wanted.parts)
    read = [STORE.deserialize_cdr(row.tobytes(), POSE) for row in wanted.parts[0].data]
    assert columns.axes("pose.position").tolist() == [[m.pose.position.x, 0.0, 0.0] for m in read]
    assert columns.time_ns().tolist() == [START_NS - 5 + k for k in range(40)]
    assert columns.stamp_ns.tolist() == [START_NS + k for k in range(40)]
    assert columns.text("header.frame_id") == "map"


def test_messages_of_one_length_with_different_texts_are_told_apart() -> None:
    mixed = [message for pair in zip(poses(6, "one"), poses(6, "two"), strict=True) for message in pair]
    found = list(Decoder(POSE).columns(batch("/pose", mixed).parts))
    assert {columns.text("header.frame_id"): len(columns.rows) for columns in found} == {"one": 6, "two": 6}


def test_lists_may_differ_in_length_from_message_to_message() -> None:
    messages = [
        (START_NS + k, stamped(JOINTS, START_NS, "", name=["a", "b"][:n], position=np.arange(n) + 10.0 * k))
        for k, n in enumerate([2, 1, 2, 0])
    ]
    found = list(Decoder(JOINTS).columns(batch("/joints", messages).parts))
    values = {columns.texts["name"]: np.asarray(columns.rows["position"]).reshape(len(columns.rows), -1).tolist()
              for columns in found if columns.texts["name"]}  # fmt: skip
    assert values == {("a", "b"): [[0.0, 1.0], [20.0, 21.0]], ("a",): [[10.0]]}


def test_transforms_have_paths_with_their_number() -> None:
    message = transforms(transform(START_NS, "map", "odom", (1, 2, 3)), transform(START_NS, "odom", "base", (4, 5, 6)))
    (columns,) = Decoder(TF).columns(batch("/tf", [(START_NS, message)]).parts)
    assert columns.texts["transforms"] == 2
    assert columns.axes("transforms[1].transform.translation").tolist() == [[4.0, 5.0, 6.0]]
    assert columns.text("transforms[1].child_frame_id") == "base"


def test_a_message_of_the_other_byte_order_gives_the_same_numbers() -> None:
    data = serialized(poses(3)[2][1], little_endian=False)
    part = Part(np.array([START_NS]), np.frombuffer(data, np.uint8)[None, :])
    (columns,) = Decoder(POSE).columns([part])
    assert columns.axes("pose.position").tolist() == [[2 / 7, 0.0, 0.0]]


@pytest.mark.parametrize("padding", [b"\0", b"\1\2", b"\0\0\0"])
def test_what_stands_between_and_behind_the_numbers_does_not_matter(padding: bytes) -> None:
    """Alignment leaves gaps, which some writers do not clear; and some fill the end up to four bytes."""
    whole = [serialized(message) for _, message in poses(4, "m")]  # 'm' and its zero end two bytes before a double
    gap = whole[0].index(b"m\0") + 2
    assert gap % 4, "there is a gap to fill"
    rows = [bytes(data[:gap]) + bytes([77]) + data[gap + 1 :] + padding for data in whole]
    part = Part(np.arange(4), np.array([np.frombuffer(row, np.uint8) for row in rows]))
    found = list(Decoder(POSE).columns([part]))
    x = np.concatenate([columns.axes("pose.position")[:, 0] for columns in found])
    assert x.tolist() == [0.0, 1 / 7, 2 / 7, 3 / 7]


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 90, b"\x07\x07\0\0" + bytes(90)])
def test_what_cannot_be_read_is_counted_and_the_rest_is_read(data: bytes) -> None:
    decoder = Decoder(POSE)
    part = Part(np.array([START_NS]), np.frombuffer(data, np.uint8).reshape(1, len(data)))
    good = batch("/pose", poses(2)).parts
    assert sum(len(columns.rows) for columns in decoder.columns([part, *good])) == 2
    assert decoder.failed == 1


def test_a_header_without_a_time_has_the_log_time() -> None:
    message = make(POSE, header__frame_id="map")
    (columns,) = Decoder(POSE).columns(batch("/pose", [(START_NS, message)]).parts)
    assert columns.time_ns().tolist() == [START_NS]
