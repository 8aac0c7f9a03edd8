"""What `info` tells of times: dates, days where seconds would be long numbers, and rates between gaps."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fieldplay.cli.summaries import StreamSummary, _Times, as_lines

SECOND, DAY = 10**9, 86_400 * 10**9
NOON_NS = 1_545_220_800 * SECOND  # 2018-12-19 12:00:00


def summary(topic: str, identity: str, *, gap_s: float = 0.1, length_ns: int = 20 * SECOND) -> StreamSummary:
    return StreamSummary(
        id=identity, topic=topic, type="pkg/msg/Type", count=200, first_ns=NOON_NS, last_ns=NOON_NS + length_ns,
        rate_hz=10.0, max_gap_s=gap_s,
    )  # fmt: skip


def lines(*summaries: StreamSummary, skip_gaps_s: float = 0.0) -> list[str]:
    spec = SimpleNamespace(title="A title", skip_gaps_s=skip_gaps_s)
    archive: Any = SimpleNamespace(root="place", spec=spec, notes=[])
    return list(as_lines(archive, summaries))


@pytest.mark.parametrize(("longest_ns", "rate_hz"), [(None, 0.0), (10 * SECOND, 10.0)])
def test_rate_excludes_gaps_skipped_by_dataset(longest_ns: int | None, rate_hz: float) -> None:
    times = _Times(longest_ns)
    for start in (0, 190 * DAY, 400 * DAY):
        times.add(start + np.arange(200) * SECOND // 10)
    assert times.rate_hz == rate_hz
    assert times.max_gap_ns == 210 * DAY - 199 * SECOND // 10


def test_dates_are_shown_and_long_gaps_are_in_days() -> None:
    text = lines(summary("/imu", "imu", gap_s=190 * 86_400.0, length_ns=400 * DAY), skip_gaps_s=10.0)
    assert text[1] == "  34560000.000 s (400.0 d), from 1545220800.000 to 1579780800.000 (unix time)"
    assert text[2] == "  in UTC from 2018-12-19 12:00:00 to 2020-01-23 12:00:00"
    assert text[3] == "  Hz is the rate without gaps of more than 10 s"
    assert text[-1].split() == ["/imu", "200", "10.00", "190.0", "d", "pkg/msg/Type"]


def test_topic_of_several_streams_names_them() -> None:
    text = lines(summary("/tf", "wheel_odom.tf"), summary("/tf", "body_joint.tf"), summary("/imu", "imu"))
    assert [line.rpartition("Type")[2] for line in text[-3:]] == [" (with wheel_odom)", " (with body_joint)", ""]
    assert text[-1].split() == ["/imu", "200", "10.00", "0.100", "pkg/msg/Type"]
