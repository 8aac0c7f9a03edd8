"""What the demo shows and compares."""

import io
import struct

import pytest

from fieldplay_bringup.demo.received import (
    ReceivedTopic,
    differences,
    digest,
    stamp_of,
)
from fieldplay_bringup.demo.steps import LiveTable, table_lines

ODOMETRY, TRANSFORMS = "nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage"


def message(stamp_s: float) -> bytes:
    seconds = int(stamp_s)
    return b"\0\1\0\0" + struct.pack("<iI", seconds, round((stamp_s - seconds) * 1e9)) + b"rest"


def test_stamp_is_read_from_header_or_from_first_transform() -> None:
    assert stamp_of(ODOMETRY, message(1656931512.25)) == 1656931512_250000000
    in_a_sequence = message(7.5)[:4] + struct.pack("<I", 1) + message(7.5)[4:]
    assert stamp_of(TRANSFORMS, in_a_sequence) == 7_500000000


def test_message_without_header_has_no_lag() -> None:
    assert stamp_of("std_msgs/msg/UInt8", b"\0\1\0\0\7") is None
    topic = ReceivedTopic("std_msgs/msg/UInt8")
    for step in range(3):
        topic.add(b"\0\1\0\0\7", 50.0 + step)
    (_, line) = table_lines({"/fix_type": topic}, None, 80)
    assert line.split()[:4] == ["/fix_type", "1.0", "3", "-"]


def test_rate_covers_last_two_seconds_and_mean_rate_everything() -> None:
    received = ReceivedTopic(ODOMETRY)
    for step in range(101):
        received.add(message(step / 10), 50 + step / 10)
    assert received.rate_hz(60.0) == pytest.approx(10, abs=0.6)
    assert received.rate_hz(65.0) == 0
    assert received.mean_rate_hz() == pytest.approx(10)


def test_lag_is_relative_to_fastest_topic() -> None:
    soon, late = ReceivedTopic(ODOMETRY), ReceivedTopic(ODOMETRY)
    for step in range(3):
        soon.add(message(100.0 + step), 5.0 + step)
        late.add(message(100.0 + step), 5.25 + step)
    once = ReceivedTopic(ODOMETRY)  # as what is latched: it has waited
    once.add(message(1.0), 5.0)
    topics = {"/soon": soon, "/late": late, "/once": once, "/silent": ReceivedTopic(ODOMETRY)}
    header, *lines = table_lines(topics, None, 200)
    assert header.split() == ["topic", "Hz", "messages", "lag", "ms", "type"]
    assert [line.split()[3] for line in lines] == ["0.0", "250.0", "-", "-"]


def test_digest_ignores_padding_of_transport() -> None:
    assert digest(b"\0\1\0\0abcde") == digest(b"\0\1\0\3abcde\0\0\0")
    assert digest(b"\0\1\0\0abcde") != digest(b"\0\1\0\0abcdf\0\0\0")


def test_differences_compare_bytes_and_count_computed_messages() -> None:
    one, two = digest(b"one"), digest(b"two")
    written = {"/same": [one, two], "/fewer": [one, two], "/other": [one, two], "/computed": [one]}
    received = {"/same": [one, two], "/fewer": [one], "/other": [one, one], "/computed": [two]}
    assert differences(received, written, frozenset({"/computed"})) == [
        "/fewer: expected 2 messages, received 1",
        "/other: message 2 of 2 is not the one of the bag",
    ]
    assert differences({}, {"/computed": [one]}, frozenset({"/computed"})) == [
        "/computed: expected 1 messages, received 0"
    ]


def test_table_in_file_is_written_once_without_control_characters() -> None:
    out = io.StringIO()
    table = LiveTable(out)
    received = {"/a": ReceivedTopic(ODOMETRY)}
    table.show(received)  # too soon for a line
    received["/a"].add(message(1.0), 1.0)
    table.finish(received)
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("\n") == 2
