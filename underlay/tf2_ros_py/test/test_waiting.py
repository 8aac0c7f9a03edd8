"""Waiting for transforms: from other threads, with a timeout."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest
from rclpy.duration import Duration, Infinite
from rclpy.time import Time

from tf2_ros import Buffer, ExtrapolationException, InvalidArgumentException, LookupException

TEN_SECONDS = Duration(seconds=10)
A_MOMENT = Duration(nanoseconds=50_000_000)


def telling(name):
    """The method of that name of a buffer, which tells that it has been tried."""

    def ask(buffer, *arguments, **keywords):
        try:
            return getattr(Buffer, name)(buffer, *arguments, **keywords)
        finally:
            buffer.tried.set()

    return ask


class WatchedBuffer(Buffer):
    """Tells when a lookup has failed once, which is when its thread begins to wait."""

    def __init__(self):
        super().__init__()
        self.tried = threading.Event()

    lookup_transform_core = telling("lookup_transform_core")
    lookup_transform_full_core = telling("lookup_transform_full_core")


@pytest.fixture
def buffer():
    return WatchedBuffer()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(max_workers=2) as made:
        yield made


def at(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def feed_when_waiting(buffer, *messages):
    assert buffer.tried.wait(10.0)
    for message in messages:
        buffer.set_transform(message, "test")


def test_a_lookup_waits_in_its_thread_until_the_data_arrive(buffer, stamped, pool):
    answer = pool.submit(buffer.lookup_transform, "map", "base", at(1.5), TEN_SECONDS)
    feed_when_waiting(buffer, stamped("map", "base", 1, (1, 0, 0)))
    assert not answer.done()
    buffer.set_transform(stamped("map", "base", 2, (2, 0, 0)), "test")
    assert answer.result(10.0).transform.translation.x == 1.5


def test_a_lookup_through_a_fixed_frame_waits_too(buffer, stamped, pool):
    answer = pool.submit(
        buffer.lookup_transform_full, "base", at(2), "base", at(1), fixed_frame="map", timeout=TEN_SECONDS
    )
    feed_when_waiting(buffer, stamped("map", "base", 1, (1, 0, 0)), stamped("map", "base", 2, (4, 0, 0)))
    assert answer.result(10.0).transform.translation.x == -3


@pytest.mark.stand_in("upstream cannot add it to the time")
def test_an_infinite_timeout_is_one_that_can_be_waited(buffer, stamped, pool):
    answer = pool.submit(buffer.lookup_transform, "map", "base", at(1), Infinite)
    feed_when_waiting(buffer, stamped("map", "base", 1, (1, 0, 0)))
    assert answer.result(10.0).transform.translation.x == 1


def test_when_the_time_is_up_the_error_is_the_lookup_s(buffer, stamped):
    start = monotonic()
    with pytest.raises(LookupException, match="base"):
        buffer.lookup_transform("base", "map", at(1), A_MOMENT)
    assert monotonic() - start >= 0.05
    buffer.set_transform(stamped("map", "base", 1), "test")
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform("base", "map", at(2), A_MOMENT)
    assert not buffer.can_transform("base", "map", at(2), A_MOMENT)


@pytest.mark.stand_in("upstream waits until the time is up")
def test_nothing_is_waited_for_that_no_data_can_heal(buffer):
    with pytest.raises(InvalidArgumentException):
        buffer.lookup_transform("/map", "base", at(1), Infinite)


def test_many_threads_may_read_and_write(buffer, stamped, pool):
    def write():
        for i in range(1, 500):
            buffer.set_transform(stamped("map", "base", i / 100, (i / 100, 0, 0)), "test")

    written = pool.submit(write)
    buffer.lookup_transform("map", "base", at(0.01), TEN_SECONDS)
    while not written.done():
        found = buffer.lookup_transform("map", "base", Time())
        stamp = found.header.stamp
        assert found.transform.translation.x == pytest.approx(stamp.sec + stamp.nanosec / 1e9)
    written.result()
