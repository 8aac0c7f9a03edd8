"""Read-ahead: order, the limit in bytes, errors, and an end at any moment."""

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.records import Record
from fieldplay.player.read_ahead import (
    AHEAD_NS,
    OVERHEAD,
    Check,
    LazyMessage,
    MessageRun,
    QueuedMessage,
    ReadAhead,
    ReadState,
    Task,
    Workers,
    _Pending,
    message_tasks,
)
from fieldplay.streams.message_block import MessageBlock
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_stream import (
    LazyBlock,
    TopicStream,
)

PATIENCE_S = 60.0


def next_message(workers: Workers, reader: ReadAhead) -> QueuedMessage | ReadState:
    """What comes next, waited for."""
    with workers.changed:
        while (ahead := reader.peek()) is ReadState.WAITING:
            assert workers.changed.wait(PATIENCE_S), "nothing comes"
        if isinstance(ahead, QueuedMessage):
            reader.take(1)
        return ahead


def all_messages(workers: Workers, reader: ReadAhead) -> list[QueuedMessage]:
    messages = []
    while isinstance(message := next_message(workers, reader), QueuedMessage):
        messages.append(message)
    return messages


def opener(*tasks: Task) -> Callable[[Check], Iterator[Task]]:
    return lambda check: iter(tasks)


def light(stamp: int, size: int = 10) -> MessageRun:
    return MessageRun.of(QueuedMessage(0, stamp, bytes(size)))


def test_messages_stay_in_order_when_first_is_ready_last() -> None:
    last_is_ready = Event()

    def slow() -> bytes:
        assert last_is_ready.wait(PATIENCE_S)
        return b"slow"

    def quick() -> bytes:
        last_is_ready.set()
        return b"quick"

    with Workers(limit=10**6, makers=2) as workers:
        reader = workers.open(opener(LazyMessage(1, 1, slow), light(2), LazyMessage(1, 3, quick)))
        assert [message.data for message in all_messages(workers, reader)] == [b"slow", bytes(10), b"quick"]


def test_row_without_payload_is_message_without_data() -> None:
    with Workers(limit=10**6) as workers:
        reader = workers.open(opener(LazyMessage(1, 1, lambda: None)))
        assert all_messages(workers, reader) == [QueuedMessage(1, 1, None)]


@pytest.mark.parametrize("heavy", [False, True])
def test_read_ahead_is_bounded_by_bytes(heavy: bool) -> None:
    size, limit = 1_000, 10_000
    most = 0

    def produce(check: Check) -> Iterator[Task]:
        for stamp in range(200):
            yield LazyMessage(0, stamp, lambda: bytes(size)) if heavy else light(stamp, size)

    with Workers(limit=limit, makers=2) as workers:
        reader = workers.open(produce)
        count = 0
        while isinstance(next_message(workers, reader), QueuedMessage):
            count += 1
            with workers.changed:
                most = max(most, reader.held)
    assert count == 200
    assert size < most <= limit + (size + OVERHEAD if heavy else 0)  # a first guess of a size may be short
    assert reader.held == 0


def test_ready_messages_up_to_a_time_are_taken_together() -> None:
    tasks = [
        light(1),
        light(2),
        light(2),
        light(3, 20_000),
        light(3),
        light(4),
        MessageRun.of(QueuedMessage(0, 4, None)),
    ]
    with Workers(limit=10**6) as workers:
        reader = workers.open(opener(*tasks))
        reader._reading.result(PATIENCE_S)
        taken = []
        with workers.changed:
            for until_ns, most in ((2, 2), (3, 9), (9, 9)):
                reader.peek()
                taken.append([message.stamp_ns for message in reader.ready(until_ns, most)])
                reader.take(len(taken[-1]))
            assert reader.peek() == QueuedMessage(0, 4, None)
            reader.take(1)
    assert taken == [[1, 2], [2, 3, 3], [4]]
    assert reader.held == 0


def test_one_second_is_read_ahead_at_any_rate() -> None:
    stamps = range(0, 10 * AHEAD_NS, AHEAD_NS // 10)
    read: list[int] = []

    def produce(check: Check) -> Iterator[Task]:
        for stamp in stamps:
            read.append(stamp)
            yield light(stamp)

    def has_read(stamp: int) -> bool:
        with workers.changed:
            return read[-1:] == [stamp] and reader._needed is not None

    with Workers(limit=10**6) as workers:
        reader = workers.open(produce)
        for rate, ahead in ((1.0, AHEAD_NS), (3.0, 3 * AHEAD_NS)):
            with workers.changed:
                reader.pace(rate)
            end = time.monotonic() + PATIENCE_S
            while not has_read(ahead + AHEAD_NS // 10):
                assert time.monotonic() < end, read[-1:]
        assert len(all_messages(workers, reader)) == len(stamps)


def test_message_larger_than_limit_passes() -> None:
    with Workers(limit=1_000) as workers:
        tasks: list[Task] = [light(1), LazyMessage(1, 2, lambda: bytes(50_000)), light(3, 70_000), light(4)]
        reader = workers.open(opener(*tasks))
        sizes = [len(message.data or b"") for message in all_messages(workers, reader)]
    assert sizes == [10, 50_000, 70_000, 10]


def test_read_error_is_raised_after_earlier_messages() -> None:
    def produce(check: Check) -> Iterator[Task]:
        yield light(1)
        raise OSError("the disk is gone")

    with Workers(limit=1_000) as workers:
        reader = workers.open(produce)
        assert isinstance(next_message(workers, reader), QueuedMessage)
        with pytest.raises(OSError, match="the disk is gone"):
            next_message(workers, reader)


def test_worker_error_is_raised_in_order() -> None:
    def broken() -> bytes:
        raise ValueError("no picture")

    with Workers(limit=1_000) as workers:
        reader = workers.open(opener(light(1), LazyMessage(1, 2, broken), light(3)))
        assert isinstance(next_message(workers, reader), QueuedMessage)
        with pytest.raises(ValueError, match="no picture"):
            next_message(workers, reader)
        reader.close()


def test_close_stops_reader_waiting_for_room() -> None:
    is_full = Event()

    def produce(check: Check) -> Iterator[Task]:
        yield light(1, 900)
        is_full.set()
        yield light(2, 900)
        raise AssertionError("it went on")

    with Workers(limit=1_000) as workers:
        reader = workers.open(produce)
        assert is_full.wait(PATIENCE_S)
        reader.close()
        reader._reading.result(PATIENCE_S)


def test_workers_exit_stops_reader_waiting_for_room() -> None:
    with Workers(limit=1_000) as workers:
        reader = workers.open(opener(light(1, 900), light(2, 900), light(3, 900)))
        assert isinstance(next_message(workers, reader), QueuedMessage)
    assert reader._reading.done()


def test_close_stops_reader_before_next_span() -> None:
    has_started, is_closed = Event(), Event()

    def produce(check: Check) -> Iterator[Task]:
        has_started.set()
        assert is_closed.wait(PATIENCE_S)
        check()
        raise AssertionError("it went on")
        yield light(1)

    with Workers(limit=1_000) as workers:
        reader = workers.open(produce)
        assert has_started.wait(PATIENCE_S)
        reader.close()
        is_closed.set()
        reader._reading.result(PATIENCE_S)


def test_new_reader_starts_while_old_worker_runs() -> None:
    go_on = Event()

    def slow() -> bytes:
        assert go_on.wait(PATIENCE_S)
        return b"old"

    with Workers(limit=10**6, makers=2) as workers:
        first = workers.open(opener(LazyMessage(1, 1, slow), LazyMessage(1, 2, slow)))
        first.close()
        second = workers.open(opener(light(5)))
        assert [message.stamp_ns for message in all_messages(workers, second)] == [5]
        go_on.set()


def test_many_seeks_finish_in_time() -> None:
    def produce(check: Check) -> Iterator[Task]:
        for stamp in range(1_000):
            check()
            yield LazyMessage(0, stamp, lambda: bytes(100)) if stamp % 3 else light(stamp, 100)

    def seek_often() -> int:
        count = 0
        with Workers(limit=5_000, makers=2) as workers:
            for taken in range(50):
                reader = workers.open(produce)
                for _ in range(taken):
                    count += isinstance(next_message(workers, reader), QueuedMessage)
                reader.close()
        return count

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(seek_often).result(PATIENCE_S) == sum(range(50))


def feed_of(
    topic: str, spans: list[Span], load: Callable[[int], tuple[NDArray[np.int64], Any]], **more: bool
) -> TopicStream:
    """A feed by the times of its spans and their messages."""
    rows = {index: load(index) for index in range(len(spans))}
    messages_by_stamps = {id(stamps): messages for stamps, messages in rows.values()}
    return TopicStream(
        topic=topic,
        msgtype="",
        spans=spans,
        records=lambda index: Record(stamp_ns=rows[index][0]),
        messages=lambda record: messages_by_stamps[id(record.stamp_ns)],
        **more,
    )


def rows_feed(topic: str, spans: list[list[int]], *, static: bool = False) -> TopicStream:
    """Light messages: the stamp as text, padded to a width of its own."""
    width = 4 + len(topic)

    def load(index: int) -> tuple[NDArray[np.int64], LazyBlock]:
        texts = b"".join(b"%0*d" % (width, stamp) for stamp in spans[index])
        return np.array(spans[index], np.int64), LazyBlock.of_rows(np.frombuffer(texts, np.uint8).reshape(-1, width))

    feed_spans = [Span(part[0], part[-1], len(part)) for part in spans]
    return feed_of(topic, feed_spans, load, latched=static, static=static)


def single_feed(topic: str, stamps: list[int], bad: set[int]) -> TopicStream:
    def load(_: int) -> tuple[NDArray[np.int64], LazyBlock]:
        def make(row: int) -> tuple[bytes, bytes] | None:
            return None if stamps[row] in bad else (b"heavy ", b"%d" % stamps[row])

        return np.array(stamps, np.int64), LazyBlock.one_by_one(make)

    return feed_of(topic, [Span(stamps[0], stamps[-1], len(stamps))], load)


@pytest.mark.parametrize("first", [0, 7, 2_500])
def test_messages_are_ordered_by_time_then_feed_with_clouds_last(first: int) -> None:
    feeds = [
        rows_feed("/static", [[0]], static=True),
        replace(single_feed("/b", list(range(5, 3_000, 100)), {105, 2_705}), msgtype=CLOUD),
        rows_feed("/a", [list(range(0, 1_500)), list(range(1_500, 3_000))]),
        rows_feed("/cc", [list(range(0, 3_000, 5))]),
    ]
    expected = sorted(
        [(stamp, 2, b"%06d" % stamp) for stamp in range(first, 2_901)]
        + [(s, 1, None if s in (105, 2_705) else b"heavy %d" % s) for s in range(5, 2_901, 100) if s >= first]
        + [(stamp, 3, b"%07d" % stamp) for stamp in range(0, 2_901, 5) if stamp >= first],
        key=lambda each: (each[0], each[1] == 1, each[1]),
    )
    with Workers(limit=10**6, makers=2) as workers:
        result = all_messages(workers, workers.open(lambda check: message_tasks(feeds, first, 2_900, check)))
    assert [(message.stamp_ns, message.feed, message.data) for message in result] == expected


def test_defective_light_row_is_message_without_data() -> None:
    def encode(rows: NDArray[np.intp]) -> tuple[MessageBlock, NDArray[np.bool_]]:
        is_valid = rows != 1
        return MessageBlock.of_messages([b"%d" % row for row in rows[is_valid]]), is_valid

    feed = feed_of("/a", [Span(0, 2, 3)], lambda _: (np.arange(3), LazyBlock(encode)))
    with Workers(limit=10**6) as workers:
        messages = all_messages(workers, workers.open(lambda check: message_tasks([feed], 0, 2, check)))
    assert messages == [QueuedMessage(0, 0, b"0"), QueuedMessage(0, 1, None), QueuedMessage(0, 2, b"2")]


def test_taken_messages_are_freed_without_garbage_collection() -> None:
    marks = [f"picture {number}".encode() * 50 for number in range(20)]
    gc.collect()
    gc.disable()
    try:
        with Workers(limit=10**6) as workers:
            reader = workers.open(
                opener(*(LazyMessage(1, n, partial(bytes.upper, mark)) for n, mark in enumerate(marks)))
            )
            for _ in marks:
                next_message(workers, reader)
            alive = [item for item in gc.get_objects() if isinstance(item, _Pending)]
            assert alive == []
    finally:
        gc.enable()
