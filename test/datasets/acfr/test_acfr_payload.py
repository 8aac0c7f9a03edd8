"""The Argo's own lines, from PayloadData1.txt to messages: every type to its topic, units, signs, pairs of sensors."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from support import tiny_acfr as tiny
from support.archive_messages import Messages, messages_of
from support.tiny_acfr import TinyAcfr

PAYLOAD = Selection(topics="payload/.*")
STAMPS = [stamp for _, _, stamp in tiny.times(tiny.PAYLOAD_HZ, 1)]
COUNTS = {
    "payload/wheels": 10, "payload/engine": 10, "payload/battery_12v": 10, "payload/battery_24v": 10,
    "payload/twist": 10, "payload/brakes": 10, "payload/setpoints": 20,
}  # fmt: skip


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Messages:
    archive = TinyAcfr(tmp_path_factory.mktemp("acfr") / "29-DynamicDayTriangleClear")
    archive.write_payload()
    return messages_of(archive.root, PAYLOAD)


def payload(root: Path, *lines: str, name: str = "PayloadData1.txt") -> Path:
    """A dataset of such lines, each behind its time in seconds after the start."""
    text = "".join(f"*{tiny.START + int(line.split()[0].split('.')[0])}.{line.partition('.')[2]}\n" for line in lines)
    TinyAcfr(root / "set").write(f"Payload/{name}", [text])
    return root / "set"


def rates(root: Path, topic: str = "payload/wheels", **parameters: Any) -> list[tuple[int, list[float]]]:
    """Milliseconds after the start, and the velocities of both joints."""
    messages = messages_of(root, PAYLOAD, **parameters)[topic]
    return [((stamp - tiny.START_NS) // 10**6, message.velocity.tolist()) for stamp, message in messages]


def test_every_type_has_its_topic_at_times_of_its_lines(messages: Messages) -> None:
    assert {topic: len(result) for topic, result in messages.items() if topic.startswith("payload/")} == COUNTS
    for topic, count in COUNTS.items():
        stamps = [stamp for stamp, _ in messages[topic]]
        assert stamps == sorted(STAMPS * (count // 10))
        assert all(m.header.stamp.sec * 10**9 + m.header.stamp.nanosec == stamp for stamp, m in messages[topic])


def test_wheels_of_one_time_are_one_message_in_rad_s(messages: Messages) -> None:
    for _, message in messages["payload/wheels"]:
        assert message.name == ["left_wheel", "right_wheel"]
        assert message.velocity.tolist() == [tiny.LEFT_RAD_S, tiny.RIGHT_RAD_S]
        assert len(message.position) == len(message.effort) == 0


def test_engine_s_turns_minute_become_rad_s(messages: Messages) -> None:
    message = messages["payload/engine"][4][1]
    assert message.name == ["engine", "gearbox"]
    np.testing.assert_allclose(message.velocity, [157.07963267948966, 31.41592653589793], rtol=1e-12)


@pytest.mark.parametrize(("topic", "volts"), [("payload/battery_12v", 12.6), ("payload/battery_24v", 25.1)])
def test_batteries_have_voltage_and_nothing_that_is_not_measured(messages: Messages, topic: str, volts: float) -> None:
    message = messages[topic][0][1]
    assert message.voltage == pytest.approx(volts)
    unknown = [message.temperature, message.current, message.charge, message.capacity, message.percentage]
    assert message.present and np.isnan([*unknown, message.design_capacity]).all()


def test_turn_to_starboard_is_negative_in_vehicle_s_frame(messages: Messages) -> None:
    message = messages["payload/twist"][0][1]
    assert message.header.frame_id == "base_link"
    linear, angular = message.twist.linear, message.twist.angular
    assert (linear.x, linear.y, linear.z, angular.x, angular.y) == (2.0, 0, 0, 0, 0)
    assert angular.z == pytest.approx(-0.1)


def test_units_and_sense_of_twist_can_be_chosen(tmp_path: Path) -> None:
    root = payload(tmp_path, "0.0 VELOCITY_TURN_RATE_DATA 7.2 18")
    chosen = {"velocity_unit": "km_h", "turn_rate_unit": "deg_s", "turn_rate_sense": "port"}
    twist = messages_of(root, PAYLOAD, **chosen)["payload/twist"][0][1].twist
    assert (twist.linear.x, twist.angular.z) == (pytest.approx(2.0), pytest.approx(math.pi / 10))


def test_brakes_have_positions_and_pressures(messages: Messages) -> None:
    message = messages["payload/brakes"][0][1]
    assert message.name == ["left_brake", "right_brake"]
    assert (message.position.tolist(), message.effort.tolist()) == ([0.1, 0.2], [30, 40])


def test_setpoints_are_nan_where_line_has_none(messages: Messages) -> None:
    servo, actuator = (message for _, message in messages["payload/setpoints"][2:4])
    assert servo.name == actuator.name == ["choke", "throttle", "left_brake", "right_brake"]
    np.testing.assert_array_equal(servo.position, [0.5, 0.61, math.nan, math.nan])
    assert actuator.position.tolist() == [0.5, 0.7, 0.8, 0.9]


def test_sensors_that_follow_each_other_closely_are_one_message_at_time_of_first(tmp_path: Path) -> None:
    root = payload(tmp_path, "0.000 SENSOR_DATA 4 1", "0.003 SENSOR_DATA 0 9", "0.004 SENSOR_DATA 5 2",
                   "0.100 SENSOR_DATA 4 3", "0.140 SENSOR_DATA 5 4", "0.200 SENSOR_DATA 4 5")  # fmt: skip
    actual = rates(root)
    assert actual[:2] == [(0, [1, 2]), (100, [3, 4])]
    np.testing.assert_array_equal(actual[2][1], [5, math.nan])
    close = rates(root, sensors_within_s=0.02)
    assert [stamp for stamp, _ in close] == [0, 100, 140, 200]
    np.testing.assert_array_equal([pair for _, pair in close[1:3]], [[3, math.nan], [math.nan, 4]])


def test_lost_line_leaves_its_partner_alone_and_shifts_nothing(tmp_path: Path) -> None:
    root = payload(tmp_path, "0.00 SENSOR_DATA 4 1", "0.02 SENSOR_DATA 4 2", "0.02 SENSOR_DATA 5 2",
                   "0.04 SENSOR_DATA 5 3", "0.06 SENSOR_DATA 5 4", "0.06 SENSOR_DATA 4 4")  # fmt: skip
    actual = rates(root)
    expected = [[1, math.nan], [2, 2], [math.nan, 3], [4, 4]]
    np.testing.assert_array_equal([pair for _, pair in actual], expected)
    assert [stamp for stamp, _ in actual] == [0, 20, 40, 60]


def test_pairs_are_kept_together_across_blocks_of_long_file(tmp_path: Path) -> None:
    times = [f"{k // 50}.{k % 50 * 20:03d}" for k in range(20_000)]
    lines = (f"{time} SENSOR_DATA {sensor} {k}.5" for k, time in enumerate(times) for sensor in (4, 5, 2, 3))
    root = payload(tmp_path, *lines)
    with open_dataset(root, "acfr") as archive:
        stream = archive.streams["payload_wheels"]
        assert len(stream.spans) > 2
        records: list[Any] = [stream.load(index) for index in range(len(stream.spans))]
    velocity = np.concatenate([record.velocity for record in records])
    assert velocity.tolist() == [[k + 0.5, k + 0.5] for k in range(20_000)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("0.500 SENSOR_DATA 4", "short_row"), ("0.500 SENSOR_DATA 4 1 2", "long_row"),
        ("0.500 SENSOR_DATA 4 x", "not_a_number"), ("0.500 SENSORS 4 1", "wrong_type"), ("0.500 4 1", "wrong_type"),
        ("0.500 BRAKE_DATA 1 2 3", "short_row"), ("0.500 SENSOR_DATA 4 inf", "not_finite"),
    ],
)  # fmt: skip
def test_faulty_line_is_reported_and_rest_plays(tmp_path: Path, line: str, kind: str) -> None:
    archive = TinyAcfr(tmp_path / "set")
    archive.write_payload()
    log = archive.root / "Payload" / "PayloadData1.txt"
    lines = log.read_text().splitlines(keepends=True)
    lines.insert(50, f"*{tiny.START}{line.removeprefix('0')}\n")
    log.write_text("".join(lines))
    with open_dataset(archive.root, "acfr") as opened:
        result = [(defect.row, defect.kind) for defect in opened.defects.listed if defect.kind != "missing_file"]
    assert result == [(51, kind)]
    found_messages = messages_of(archive.root, PAYLOAD)
    assert {topic: len(rows) for topic, rows in found_messages.items() if topic in COUNTS} == COUNTS


def test_sensor_that_is_not_known_is_reported_and_disturbs_nothing(tmp_path: Path) -> None:
    root = payload(
        tmp_path, "0.1 SENSOR_DATA 4 1", "0.1 SENSOR_DATA 6 8", "0.1 SENSOR_DATA 5 2", name="PayloadDatal.txt"
    )
    with open_dataset(root, "acfr") as archive:
        (defect,) = (defect for defect in archive.defects.listed if defect.kind != "missing_file")
        assert (defect.row, defect.kind) == (2, "out_of_range")
        assert defect.message == "column id: expected one of 0, 1, 2, 3, 4, 5, got 6; the line is left out"
        assert list(archive.streams) == ["payload_wheels"]
    assert rates(root) == [(100, [1, 2])]
