from typing import Any

import numpy as np
import pytest

from fieldplay_archive import records
from fieldplay_archive.spec import StreamSpec
from fieldplay_player.cdr.layout import typestore
from fieldplay_player.encoders import encode

STAMPS = np.arange(3, dtype=np.int64)
FIX, TWIST = "sensor_msgs/msg/NavSatFix", "geometry_msgs/msg/TwistStamped"


def decoded(record: records.Record, msgtype: str) -> list[Any]:
    data = encode(record, StreamSpec(id="a", topic="a", type=msgtype, frame="here"))
    return [typestore().deserialize_cdr(row.tobytes(), msgtype) for row in data]


def fix(covariance: Any, *, approximate: bool = False, count: int = 3) -> records.Fix:
    column = np.ones(count)
    return records.Fix(
        stamp_ns=STAMPS[:count], latitude_deg=column, longitude_deg=column, altitude_m=column,
        status=np.zeros(count, np.int8), covariance_m2=covariance, approximate=approximate,
    )  # fmt: skip


@pytest.mark.parametrize(("approximate", "full", "expected"), [(False, False, 2), (False, True, 3), (True, False, 1)])
def test_each_fix_says_what_is_known_of_its_covariance(approximate: bool, full: bool, expected: int) -> None:
    covariance = np.tile(np.eye(3), (3, 1, 1)) + (0.1 if full else 0.0)
    covariance[1] = 0
    types = [message.position_covariance_type for message in decoded(fix(covariance, approximate=approximate), FIX)]
    assert types == [expected, 0, expected]
    assert decoded(fix(None), FIX)[0].position_covariance_type == 0


def test_a_record_without_rows_gives_no_messages() -> None:
    assert decoded(fix(np.zeros((0, 3, 3)), count=0), FIX) == []


def test_a_twist_goes_into_a_stamped_one() -> None:
    linear, angular = np.arange(9.0).reshape(3, 3), -np.arange(9.0).reshape(3, 3)
    record = records.Twist(stamp_ns=STAMPS, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)
    message = decoded(record, TWIST)[1]
    assert (message.twist.linear.y, message.twist.angular.z) == (4, -5)
    assert (message.header.frame_id, message.header.stamp.nanosec) == ("here", 1)
