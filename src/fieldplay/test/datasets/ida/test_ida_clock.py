from datetime import datetime, timezone

import numpy as np
import pytest
import yaml

from fieldplay.datasets.ida.lander_clock import (
    LocalMeanTime,
    clock_from_rows,
    clock_of,
    local_time_of,
)
from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import DatasetSpec, spec_from_file

FILE = dataset_files()["ida"]
EPOCH = "946727930.816"
VECTORS = [  # reading of the clock, UTC, sol and local mean time: the dataset's facts
    ("594733695.9", "2018-11-05T23:48:37.511370", ""),
    ("596587952", "2018-11-27T10:52:56.727000", "1 04:54:25"),
    ("602047157", "2019-01-29T15:19:50.083807", "62 16:46:54"),
    ("602052923", "2019-01-29T16:55:56.092843", "62 18:20:26"),
    ("615088547", "2019-06-29T13:56:40.702302", "209 14:28:12"),
    ("626364359", "2019-11-07T02:07:06.652587", "336 14:50:26"),
    ("633821366", "2020-02-01T09:30:45.684842", "420 14:48:47"),
    ("663881126", "2021-01-14T07:27:25.306000", "759 05:20:55"),
]


@pytest.fixture(scope="module")
def spec() -> DatasetSpec:
    return spec_from_file(FILE)


def ns_of(reading: str) -> int:
    whole, _, fraction = reading.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


@pytest.mark.parametrize(("reading", "utc", "local"), VECTORS)
def test_readings_become_utc_and_local_mean_time(spec: DatasetSpec, reading: str, utc: str, local: str) -> None:
    (result,) = clock_of(spec).unix_ns_from_reading(np.array([ns_of(reading)], np.int64)).tolist()
    expected = datetime.fromisoformat(utc).replace(tzinfo=timezone.utc)
    assert abs(result - (int(expected.timestamp()) * 10**9 + expected.microsecond * 1000)) <= 500
    if local:  # one of the facts lies half-way between two seconds
        day, seconds = np.divmod(float(local_time_of(spec).days(result)), 1)
        sol, clock = local.split()
        hours, minutes, rest = map(int, clock.split(":"))
        assert int(day) == int(sol)
        assert abs(seconds * 86400 - (hours * 3600 + minutes * 60 + rest)) < 0.51


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, "0 00:00:00"), (99.9999, "1 00:00:00"), (99.6, "0 23:54:14"), (-0.6, "-1 23:51:22"), (150.0, "1 12:00:00")],
)
def test_local_mean_time_is_rounded_to_seconds(seconds: float, expected: str) -> None:
    local = LocalMeanTime(day_zero_unix_s=1000, day_s=100)
    assert local.text(round((1000 + seconds) * 1e9)) == expected


def test_clock_table_rows_convert_exactly(spec: DatasetSpec) -> None:
    rows = yaml.safe_load(FILE.read_text())["constants"]["sclk"]
    assert len(rows) == 36
    result = clock_of(spec).unix_ns_from_reading(np.array([row[0] * 10**9 for row in rows], np.int64))
    expected = [round(row[1] * 1000) * 10**6 + 946727930_816_000_000 for row in rows]
    assert result.tolist() == expected


def test_neighbouring_rows_agree_to_milliseconds(spec: DatasetSpec) -> None:
    clock = clock_of(spec)
    before = clock.unix_ns_from_reading(clock.reading_ns[1:] - 1)
    assert np.abs(before - clock.unix_ns[1:]).max() < 250_000_000
    assert np.median(np.abs(before - clock.unix_ns[1:])) < 120_000_000


def test_times_outside_table_use_nearest_rate() -> None:
    clock = clock_from_rows([[100, 200.5, 1.5], [200, 350.5, 1.25]], epoch_unix_s="1000")
    readings = np.array([90, 100, 190, 200, 208], np.int64) * 10**9
    assert (clock.unix_ns_from_reading(readings) / 1e9).tolist() == [1185.5, 1200.5, 1335.5, 1350.5, 1360.5]


def test_conversion_preserves_nanoseconds(spec: DatasetSpec) -> None:
    readings = 615088547_000000000 + np.arange(0, 1000, dtype=np.int64)
    assert np.diff(clock_of(spec).unix_ns_from_reading(readings)).tolist() == [1] * 999
