"""What a page keeps of streams of any length: buckets, and the times of a topic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.decimation import Buckets, drawing_width_ns
from fieldplay.streams.stream_times import StreamTimes

SECOND = 10**9
DAY = 86_400 * SECOND


@given(
    st.lists(st.lists(st.integers(0, 10**12), min_size=1, max_size=20), min_size=1, max_size=8),
    st.integers(0, 2 * 10**18),
)
def test_incremental_buckets_equal_histogram(batches: list[list[int]], start: int) -> None:
    buckets = Buckets(1, limit=16)
    for stamps in batches:
        stamp_ns = np.array(stamps, np.int64) + start
        buckets.add(stamp_ns, (stamp_ns - start).astype(float)[:, None])
    everything = np.array([stamp for stamps in batches for stamp in stamps], np.int64) + start
    assert len(buckets.count) <= 16
    numbers, count = np.unique(everything // buckets.width_ns, return_counts=True)
    assert (buckets.number.tolist(), buckets.count.tolist()) == (numbers.tolist(), count.tolist())
    for row, number in enumerate(numbers):
        inside = everything[everything // buckets.width_ns == number]
        assert buckets.span_ns[row].tolist() == [inside.min(), inside.max()]
        values = (inside - start).astype(float)
        assert (buckets.low[row, 0], buckets.high[row, 0]) == (values.min(), values.max())
        assert buckets.mean[row, 0] == pytest.approx(values.mean())


def test_empty_months_use_no_buckets() -> None:
    """Three sessions of 20 s at 10 Hz, months apart, are as finely divided as one of a minute would be."""
    buckets = Buckets(1)
    for start in (0, 190 * DAY, 400 * DAY):
        stamp_ns = start + np.arange(200) * SECOND // 10
        buckets.add(stamp_ns, np.ones((200, 1)))
    assert buckets.width_ns < SECOND
    assert buckets.count.sum() == 600
    assert np.ptp(buckets.span_ns, axis=1).max() < SECOND


def test_bucket_width_fits_drawing_of_all_intervals() -> None:
    buckets = Buckets(1)
    stamp_ns = np.concatenate([np.arange(20) * SECOND, 100 * DAY + np.arange(20) * SECOND])
    buckets.add(stamp_ns, np.ones((40, 1)))
    intervals = np.array([[0, 19 * SECOND], [100 * DAY, 100 * DAY + 19 * SECOND]])
    width = drawing_width_ns(buckets, intervals, 256)
    assert width == 256_000_000  # of 38 s in at most 256 parts, the first power of two of milliseconds
    assert drawing_width_ns(buckets, np.array([[0, 200 * DAY]]), 256) > 100 * DAY // 256
    wider = buckets.widen(64_000_000_000)
    assert (wider.count.tolist(), len(buckets.count)) == ([20, 20], 40)


def test_non_finite_values_are_excluded_from_buckets() -> None:
    buckets = Buckets(2)
    buckets.add(np.array([5, 6, 7]), np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan]]))
    assert buckets.count.tolist() == [3]
    assert (buckets.low[0, 0], buckets.high[0, 0], buckets.mean[0, 0]) == (1.0, 3.0, 2.0)
    assert np.isnan(buckets.mean[0, 1])


def test_stream_times_give_rate_and_pauses() -> None:
    times = StreamTimes()
    before, after = np.arange(0, 10 * SECOND, SECOND // 10), np.arange(14 * SECOND, 20 * SECOND, SECOND // 10)
    for part in (before[:33], before[33:], after):
        times.add(part)
    times.flush_pending()
    assert (times.count, times.first_ns, times.last_ns) == (160, 0, 20 * SECOND - SECOND // 10)
    assert times.rate_hz == pytest.approx(159 / 19.9)
    assert times.longest_gap_ns == 14 * SECOND - (10 * SECOND - SECOND // 10)
    assert times.gaps == [(14 * SECOND, times.longest_gap_ns)]
    assert times.stamps is None


def test_few_times_are_stored_individually() -> None:
    times = StreamTimes()
    assert times.rate_hz is None
    times.add(np.array([3, 5]))
    times.flush_pending()
    assert times.stamps is not None
    assert times.stamps.tolist() == [3, 5]
