from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldplay.messages import records
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.codec import encode, group_by_size
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_stream import numeric_topic_stream

STAMPS = np.arange(3, dtype=np.int64)
FIX, TWIST = "sensor_msgs/msg/NavSatFix", "geometry_msgs/msg/TwistStamped"
SCAN, BATTERY = "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/BatteryState"


def encode_and_decode(record: records.Record, msgtype: str) -> list[Any]:
    data = encode(record, StreamSpec(id="a", topic="a", type=msgtype, frame="here"))
    return [typestore().deserialize_cdr(row.tobytes(), msgtype) for row in data]


def fix(covariance: Any, *, approximate: bool = False, count: int = 3) -> records.Fix:
    column = np.ones(count)
    return records.Fix(
        stamp_ns=STAMPS[:count], latitude_deg=column, longitude_deg=column, altitude_m=column,
        status=np.zeros(count, np.int8), covariance_m2=covariance, approximate=approximate,
    )  # fmt: skip


@pytest.mark.parametrize(("approximate", "full", "expected"), [(False, False, 2), (False, True, 3), (True, False, 1)])
def test_fix_states_its_covariance_type(approximate: bool, full: bool, expected: int) -> None:
    covariance = np.tile(np.eye(3), (3, 1, 1)) + (0.1 if full else 0.0)
    covariance[1] = 0
    types = [
        message.position_covariance_type for message in encode_and_decode(fix(covariance, approximate=approximate), FIX)
    ]
    assert types == [expected, 0, expected]
    assert encode_and_decode(fix(None), FIX)[0].position_covariance_type == 0


def test_empty_record_gives_no_messages() -> None:
    assert encode_and_decode(fix(np.zeros((0, 3, 3)), count=0), FIX) == []


def test_twist_is_encoded_as_twist_stamped() -> None:
    linear, angular = np.arange(9.0).reshape(3, 3), -np.arange(9.0).reshape(3, 3)
    record = records.Twist(stamp_ns=STAMPS, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)
    message = encode_and_decode(record, TWIST)[1]
    assert (message.twist.linear.y, message.twist.angular.z) == (4, -5)
    assert (message.header.frame_id, message.header.stamp.nanosec) == ("here", 1)


def scans(*counts: int) -> records.LaserScans:
    """Scans of so many beams: the ranges of row i are i + 1, i + 2 and so on."""
    rows, width = np.arange(len(counts)), max(counts)
    ranges = np.where(np.arange(width) < np.array(counts)[:, None], rows[:, None] + 1.0 + np.arange(width), np.nan)
    column = np.ones(len(counts))
    return records.LaserScans(
        stamp_ns=rows.astype(np.int64), angle_min_rad=-column, angle_increment_rad=column / 4, ranges_m=ranges,
        count=np.array(counts, np.int64), range_min_m=0 * column, range_max_m=81 * column, scan_time_s=column / 75,
        time_increment_s=-column / 1000,
    )  # fmt: skip


def test_scan_has_ranges_and_angles() -> None:
    first, second = encode_and_decode(scans(3, 3), SCAN)
    assert (first.angle_min, first.angle_max, first.angle_increment) == (-1, -0.5, 0.25)
    assert (first.range_min, first.range_max, first.scan_time) == (0, 81, pytest.approx(1 / 75))
    assert first.time_increment == pytest.approx(-0.001)
    assert (second.ranges.tolist(), len(second.intensities), second.header.frame_id) == ([2, 3, 4], 0, "here")


def test_scans_of_different_lengths_are_messages_of_different_sizes() -> None:
    record = scans(4, 3, 4, 1, 3, 4)

    class Stream:
        spans = (Span(0, 5, 6),)

        def load(self, index: int) -> records.Record:
            return record

    feed = numeric_topic_stream(Stream(), StreamSpec(id="a", topic="a", type=SCAN), "a", rank=0)
    messages = feed.load(0)[1]
    for rows in ([0, 1, 2, 3, 4, 5], [1, 4], [3], [2, 3, 5], []):
        block, is_valid = messages.encode(np.array(rows, np.intp))
        assert is_valid.all() and len(is_valid) == len(rows)
        offset = np.concatenate([[0], np.cumsum(block.size)]).astype(np.int64)
        target = np.zeros(offset[-1], np.uint8)
        block.copy_to(target, offset[:-1])
        for row, start, end in zip(rows, offset[:-1], offset[1:], strict=True):
            message = typestore().deserialize_cdr(target[start:end].tobytes(), SCAN)
            assert message.ranges.tolist() == [row + 1 + beam for beam in range(record.count[row])]
            assert message.header.stamp.nanosec == row
    with pytest.raises(ValueError, match="expected scans of one length, got"):
        encode(record, StreamSpec(id="a", topic="a", type=SCAN))


def test_scans_with_and_without_intensities_differ_in_size() -> None:
    record = replace(scans(3, 3, 2), intensities=np.array([[np.nan] * 3, [5, np.nan, 7], [8, 9, np.nan]]))
    parts = group_by_size(record)
    assert [part.tolist() for part in parts] == [[2], [0], [1]]
    intensities = [encode_and_decode(record.only(part), SCAN)[0].intensities.tolist() for part in parts]
    assert intensities[:2] == [[8, 9], []] and intensities[2] == pytest.approx([5, np.nan, 7], nan_ok=True)
    with pytest.raises(ValueError, match="expected scans that all have intensities, or none"):
        encode_and_decode(record.only(np.array([0, 1])), SCAN)


def test_battery_has_voltage_and_other_fields_unknown() -> None:
    message = encode_and_decode(records.Batteries(stamp_ns=STAMPS, voltage_v=np.array([12.0, 12.5, 13.0])), BATTERY)[1]
    assert (message.voltage, message.present, message.power_supply_status) == (12.5, True, 0)
    unknown = (message.temperature, message.current, message.charge, message.capacity, message.percentage)
    assert np.isnan([*unknown, message.design_capacity]).all()


def test_plain_numbers_and_codes_have_no_header() -> None:
    codes = records.Code(stamp_ns=STAMPS, code=np.array([0, 7, 255], np.uint8))
    assert [message.data for message in encode_and_decode(codes, "std_msgs/msg/UInt8")] == [0, 7, 255]
    numbers = records.Values(stamp_ns=STAMPS, values=np.array([[1, np.nan], [2, 3], [4, 5]]))
    messages = encode_and_decode(numbers, "std_msgs/msg/Float64MultiArray")
    np.testing.assert_array_equal([message.data for message in messages], numbers.values)


def test_wrench_has_force_and_torque() -> None:
    force, torque = np.arange(9.0).reshape(3, 3), -np.arange(9.0).reshape(3, 3)
    record = records.Wrench(stamp_ns=STAMPS, force_n=force, torque_nm=torque)
    message = encode_and_decode(record, "geometry_msgs/msg/WrenchStamped")[2].wrench
    assert (message.force.x, message.torque.z) == (6, -8)


def test_diagnostics_are_encoded_state_by_state() -> None:
    fine, bad = records.State("a", 0, "fine"), records.State("b", 2, "bad", (("key", "value"), ("empty", "")))
    record = records.Diagnostics(stamp_ns=STAMPS, states=((fine,), (bad, fine)), state_index=np.array([1, 0, 1]))
    parts = group_by_size(record)
    assert [part.tolist() for part in parts] == [[1], [0, 2]]
    first, second = (encode_and_decode(record.only(part), "diagnostic_msgs/msg/DiagnosticArray") for part in parts)
    assert [(status.name, status.level, status.message) for status in first[0].status] == [("a", 0, "fine")]
    assert [message.header.stamp.nanosec for message in second] == [0, 2]
    assert [(value.key, value.value) for value in second[1].status[0].values] == [("key", "value"), ("empty", "")]
    with pytest.raises(ValueError, match="expected rows in one state"):
        encode(record, StreamSpec(id="a", topic="a", type="diagnostic_msgs/msg/DiagnosticArray"))
