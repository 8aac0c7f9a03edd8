from datetime import datetime, timezone
from decimal import Decimal

import numpy as np
import pytest

from fieldplay.io.time_list import time_list_from_bytes


def test_dates_are_parsed_to_the_last_nanosecond() -> None:
    times = time_list_from_bytes(b"2011-09-26 13:02:25.967790592\n2011-09-26T13:02:26.07\n2011-09-26 13:02:27\n")
    midnight = int(datetime(2011, 9, 26, tzinfo=timezone.utc).timestamp()) * 10**9
    clock_ns = [(13 * 3600 + 2 * 60 + second) * 10**9 for second in (25, 26, 27)]
    expected = [midnight + clock + rest for clock, rest in zip(clock_ns, (967790592, 70000000, 0), strict=True)]
    assert times.stamp_ns.tolist() == expected
    assert times.is_time.all()


def test_decimal_seconds_with_exponent_are_exact() -> None:
    texts = ["0.000000e+00", "1.037359e-01", "4.705937e+02"]
    times = time_list_from_bytes("\n".join(texts).encode())
    assert times.stamp_ns.tolist() == [int(Decimal(text) * 10**9) for text in texts]


@pytest.mark.parametrize("title", ["#timestamp [ns],filename\n", "timestamp [ns],filename\r\n"])
def test_names_follow_counts_of_nanoseconds_whose_unit_the_header_names(title: str) -> None:
    times = time_list_from_bytes(title.encode() + b"251350000000,first picture.png\r\n251400000000,b.png\r\n")
    assert times.stamp_ns.tolist() == [251_350_000_000, 251_400_000_000]
    assert times.names == ("first picture.png", "b.png")
    assert times.line.tolist() == [2, 3]


def test_counts_of_this_century_need_no_header() -> None:
    assert time_list_from_bytes(b"1403636579763555584 a.png\n").stamp_ns.tolist() == [1403636579763555584]
    assert time_list_from_bytes(b"1403636579763555\n").stamp_ns.tolist() == [1403636579763555000]


def test_line_without_time_keeps_its_place() -> None:
    times = time_list_from_bytes(b"2011-09-26 13:02:25.9\n\n2011-13-26 13:02:26.0\n2011-09-26 13:02:27.1\n")
    assert times.is_time.tolist() == [True, False, True]
    assert times.line.tolist() == [1, 3, 4]
    (bad,) = times.bad
    assert (bad.line, bad.kind) == (3, "not_a_time")
    assert "2011-13-26" in bad.message


@pytest.mark.parametrize(
    "data",
    [b"9999-12-31 23:59:59\n", b"0001-01-01 00:00:00.5\n", b"", b"\n\n", b"# nothing\n", b"\0\xff\xfe", b"a" * 100_000],
)
def test_file_without_times_has_none(data: bytes) -> None:
    times = time_list_from_bytes(data)
    assert not times.is_time.any()
    assert times.stamp_ns.dtype == np.int64
