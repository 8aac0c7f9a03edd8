"""Reads ahead of the play head: messages lie ready, in order, within a limit of bytes."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from threading import Condition, RLock
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.streams.topic_batches import MergedSlice, SpanSlice, encode_messages, message_slices
from fieldplay.streams.topic_stream import LazyBlock, TopicStream

FIRST_PART, PER_PART = 64, 512  # messages that are made together: few at first, so that the first soon is there
LARGE_TYPES = {f"sensor_msgs/msg/{name}" for name in ("Image", "CompressedImage", "PointCloud2", "PointCloud")}
Data = bytes | memoryview  # of a message
OVERHEAD = 200  # bytes that Python needs for a message beside its data
GUESSES = 16  # so many messages of unknown size are thought to fill the limit
AHEAD_NS = 500_000_000
REFILLS = 8  # times in what lies ready that the thread that reads on is woken
READERS = 2  # one that reads, and one that may still be ending when another begins
Check = Callable[[], None]


# From feeds to single messages: what is cheap is made at once, what is heavy is left to be made by a worker.


class QueuedMessage(NamedTuple):
    """A message of a feed, by the feed's number; without data where its row proved defective."""

    feed: int
    stamp_ns: int
    data: Data | None


@dataclass(frozen=True, eq=False)
class MessageRun:
    """Messages (n,) that follow each other in time, all with data, or one of a row that proved defective.

    Args:
        feeds: the feed of each (n,).
        stamp_ns: its time (n,), not descending.
        sizes: its bytes (n,).
        data: its contents.
    """

    feeds: NDArray[np.int32]
    stamp_ns: NDArray[np.int64]
    sizes: NDArray[np.int64]
    data: Sequence[Data | None]

    @classmethod
    def of(cls, *messages: QueuedMessage) -> "MessageRun":
        """Make a run of messages."""
        columns = zip(*((feed, stamp_ns, len(data or b"")) for feed, stamp_ns, data in messages), strict=True)
        feeds, stamp_ns, sizes = (np.array(column, np.int64) for column in columns)
        return cls(feeds.astype(np.int32), stamp_ns, sizes, [message.data for message in messages])

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> QueuedMessage:
        return QueuedMessage(int(self.feeds[index]), int(self.stamp_ns[index]), self.data[index])

    def __iter__(self) -> Iterator[QueuedMessage]:
        return map(QueuedMessage, self.feeds.tolist(), self.stamp_ns.tolist(), self.data)

    def part(self, start: int, stop: int) -> "MessageRun":
        """The messages start <= i < stop."""
        if (start, stop) == (0, len(self)):
            return self
        chosen = slice(start, stop)
        return MessageRun(self.feeds[chosen], self.stamp_ns[chosen], self.sizes[chosen], self.data[chosen])

    @property
    def cost(self) -> int:
        """The bytes that they take."""
        return int(self.sizes.sum()) + OVERHEAD * len(self)


def join_runs(runs: Sequence[MessageRun]) -> MessageRun:
    """One run of several that follow each other."""
    if len(runs) == 1:
        return runs[0]
    feeds, stamp_ns, sizes = (
        np.concatenate([getattr(run, name) for run in runs]) for name in ("feeds", "stamp_ns", "sizes")
    )
    return MessageRun(feeds, stamp_ns, sizes, [data for run in runs for data in run.data])


@dataclass(frozen=True)
class LazyMessage:
    """A message that is yet to be made: from a row that may prove defective, then there is none."""

    feed: int
    stamp_ns: int
    make: Callable[[], Data | None]


Task = MessageRun | LazyMessage


def message_tasks(
    feeds: Sequence[TopicStream], first_ns: int, last_ns: int, check: Callable[[], None]
) -> Iterator[Task]:
    """All messages with first_ns <= time <= last_ns in order, of feeds that are not static.

    The numbers of the feeds are their indices. At equal times images and clouds come last: small ones need not wait
    until these are copied. check is called before each span is loaded: it may raise to end this.
    """
    order = sorted(range(len(feeds)), key=lambda number: feeds[number].msgtype in LARGE_TYPES)
    moving = [replace(feed, spans=()) if feed.static else feed for feed in (feeds[number] for number in order)]
    count = FIRST_PART
    for merged in message_slices(moving, first_ns, last_ns, before_span=check):
        span_slices = [replace(span_slice, source=order[span_slice.source]) for span_slice in merged.slices]
        numbered, start = replace(merged, slices=span_slices), 0
        while start < len(merged.stamp_ns):
            yield from _tasks_of_slice(numbered.part(start, min(start + count, len(merged.stamp_ns))))
            start, count = start + count, min(2 * count, PER_PART)


def messages_of_span(feed: TopicStream, number: int, index: int) -> list[QueuedMessage]:
    """All messages of one span."""
    stamp_ns, loaded = feed.load(index)
    block, is_valid = loaded.encode(np.arange(len(stamp_ns)))
    times = stamp_ns[is_valid].tolist()
    return [QueuedMessage(number, stamp, data) for stamp, data in zip(times, block.tolist(), strict=True)]


def _tasks_of_slice(merged: MergedSlice[LazyBlock]) -> Iterator[Task]:
    """The light messages in runs, between the heavy ones and those without data."""
    single: dict[int, Task] = {
        int(position): _lazy_message(span_slice, row, int(merged.stamp_ns[position]))
        for span_slice in merged.slices
        if span_slice.loaded.is_heavy
        for row, position in enumerate(span_slice.positions)
    }
    light = [span_slice for span_slice in merged.slices if not span_slice.loaded.is_heavy]
    source, good, block = encode_messages(merged, light)
    for position in np.flatnonzero((source >= 0) & ~good).tolist():
        single[position] = MessageRun.of(QueuedMessage(int(source[position]), int(merged.stamp_ns[position]), None))
    positions = np.flatnonzero(good)
    run = MessageRun(source[good].astype(np.int32), merged.stamp_ns[good], block.size, block.tolist())
    done = 0
    for position in sorted(single):
        cut = int(np.searchsorted(positions, position))
        if cut > done:
            yield run.part(done, cut)
        done = cut
        yield single[position]
    if done < len(run):
        yield run.part(done, len(run))


def _lazy_message(span_slice: SpanSlice[LazyBlock], row: int, stamp_ns: int) -> LazyMessage:
    def make() -> Data | None:
        block, is_valid = span_slice.loaded.encode(span_slice.rows[row : row + 1])
        return block.tolist()[0] if is_valid.all() else None

    return LazyMessage(span_slice.source, stamp_ns, make)


OpenTasks = Callable[[Check], Iterator[Task]]


class ReadState(Enum):
    """What stands in place of a message: none is ready yet, or none is left."""

    WAITING = "waiting"
    END = "end"


class _Closed(Exception):
    """The reading was cancelled."""


@dataclass(eq=False)
class _Pending:
    """A message that a worker makes, and the bytes that are set aside for it.

    Once it is made the future is let go: it knows this entry, and such a ring would keep the data until Python looks
    for rings, which it does too seldom for images.
    """

    feed: int
    stamp_ns: int
    cost: int
    future: "Future[Data | None] | None"
    data: Data | None = None
    error: BaseException | None = None

    def message(self) -> MessageRun:
        """What was made; raises what went wrong with it."""
        if self.error is not None:
            raise self.error
        return MessageRun.of(QueuedMessage(self.feed, self.stamp_ns, self.data))


class Workers(AbstractContextManager["Workers"]):
    """The threads of all reading: few that read on, and one per processor that make what is heavy.

    `changed` is notified when what a reader was requested in vain is there; its lock guards the readers.
    """

    def __init__(self, *, limit: int, makers: int | None = None) -> None:
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.limit = limit
        self.readers = ThreadPoolExecutor(READERS, "read")
        self.makers = ThreadPoolExecutor(makers or os.cpu_count() or 1, "make")
        self.sizes: dict[int, int] = {}
        self.opened: set[ReadAhead] = set()

    def open(self, open_tasks: OpenTasks) -> "ReadAhead":
        """Begin to read."""
        reader = ReadAhead(self, open_tasks)
        with self.lock:
            self.opened.add(reader)
        return reader

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is open, and end the threads."""
        with self.lock:
            for reader in list(self.opened):
                reader.close()
        self.readers.shutdown(cancel_futures=True)
        self.makers.shutdown(cancel_futures=True)


class ReadAhead:
    """One reading from some time on. All but `close` is called with the lock of the workers held."""

    def __init__(self, workers: Workers, open_tasks: OpenTasks) -> None:
        self._workers = workers
        self._ahead_ns = AHEAD_NS
        self._changed = workers.changed
        self._room = Condition(workers.lock)
        self._queue: deque[MessageRun | _Pending] = deque()
        self._start = 0  # how many messages of the first run are taken
        self._needed: tuple[int, int] | None = None
        self._is_awaited = False
        self._closed = False
        self.held = 0
        self._reading = workers.readers.submit(self._read, open_tasks)
        self._reading.add_done_callback(lambda _: self._notify())

    def peek(self) -> QueuedMessage | ReadState:
        """The next message, if it is ready; raises what went wrong with the reading once all before it is taken."""
        run = self._first()
        return run if isinstance(run, ReadState) else run[self._start]

    def ready(self, until_ns: int, most: int) -> MessageRun:
        """The message that peek gave, and what lies ready up to a time, at most so many."""
        runs: list[MessageRun] = []
        count, start = 0, self._start
        for index, entry in enumerate(self._queue):
            if isinstance(entry, _Pending):
                if entry.data is None:
                    break  # it is yet to be made, or cannot be
                entry = self._queue[index] = entry.message()
            if runs and (entry.data[0] is None or entry.stamp_ns[0] > until_ns):
                break
            stop = int(np.searchsorted(entry.stamp_ns, until_ns, side="right"))
            runs.append(entry.part(start, min(max(stop, start + 1), start + most - count)))
            count, start = count + len(runs[-1]), 0
            if count >= most or stop < len(entry):
                break
        return join_runs(runs)

    def take(self, count: int) -> None:
        """Take away so many of what was shown."""
        cost = 0
        while count:
            run = self._queue[0]
            assert isinstance(run, MessageRun)
            stop = min(self._start + count, len(run))
            cost += run.part(self._start, stop).cost
            count -= stop - self._start
            self._start = stop
            if stop == len(run):
                self._queue.popleft()
                self._start = 0
        self._release(cost)

    def pace(self, rate: float) -> None:
        """At which rate it is taken: so much of the archive's time is read ahead that it is a second then."""
        self._ahead_ns = round(AHEAD_NS * rate)
        self._room.notify_all()

    def close(self) -> None:
        """Put an end to the reading, and forget what lies ready; does not wait for the threads."""
        with self._changed:
            self._closed = True
            self._workers.opened.discard(self)
            for entry in self._queue:
                if isinstance(entry, _Pending) and entry.future is not None:
                    entry.future.cancel()
            self._queue.clear()
            self._start = 0
            self._room.notify_all()

    def _first(self) -> MessageRun | ReadState:
        if not self._queue:
            if self._reading.done():
                self._reading.result()
                return ReadState.END
            self._is_awaited = True
            return ReadState.WAITING
        entry = self._queue[0]
        if isinstance(entry, _Pending):
            if entry.future is not None:
                self._is_awaited = True
                return ReadState.WAITING
            entry = self._queue[0] = entry.message()
        return entry

    def _read(self, open_tasks: OpenTasks) -> None:
        """What the reading thread does."""
        try:
            for task in open_tasks(self._check):
                if isinstance(task, LazyMessage):
                    self._put_heavy(task)
                else:
                    self._put_run(task)
        except _Closed:
            return

    def _check(self) -> None:
        if self._closed:
            raise _Closed

    def _put_run(self, run: MessageRun) -> None:
        with self._changed:
            self._reserve(run.cost, int(run.stamp_ns[0]))
            self._queue.append(run)
            self._notify()

    def _put_heavy(self, lazy: LazyMessage) -> None:
        workers = self._workers
        with self._changed:
            cost = workers.sizes.get(lazy.feed, workers.limit // GUESSES) + OVERHEAD
            self._reserve(cost, lazy.stamp_ns)
            future = workers.makers.submit(lazy.make)
            entry = _Pending(lazy.feed, lazy.stamp_ns, cost, future)
            self._queue.append(entry)
            future.add_done_callback(lambda done: self._finish(entry, done))

    def _reserve(self, cost: int, stamp_ns: int) -> None:
        """Wait until there is room; whatever its size, a message passes when nothing else is held."""
        while not self._closed and not self._has_room(cost, stamp_ns):
            self._needed = cost, stamp_ns
            self._room.wait()
        self._needed = None
        self._check()
        self.held += cost

    def _has_room(self, cost: int, stamp_ns: int) -> bool:
        """Whether bytes of a time may be read: so little lies ready, and not for so long a time."""
        if not self.held:
            return True
        if not self._queue:
            return self.held + cost <= self._workers.limit
        first = self._queue[0]
        oldest_ns = first.stamp_ns if isinstance(first, _Pending) else int(first.stamp_ns[self._start])
        return stamp_ns - oldest_ns <= self._ahead_ns and self.held + cost <= self._workers.limit

    def _release(self, cost: int) -> None:
        self.held -= cost
        if self._needed is not None and self._has_room(self._needed[0], self._needed[1] + self._ahead_ns // REFILLS):
            self._room.notify_all()

    def _finish(self, entry: _Pending, future: "Future[Data | None]") -> None:
        """A worker is done: now the size of the message is known."""
        with self._changed:
            entry.future = None
            if self._closed:
                return
            entry.error = future.exception()
            if entry.error is None:
                entry.data = future.result()
                size = len(entry.data or b"")
                self._workers.sizes[entry.feed] = size
                guess, entry.cost = entry.cost, size + OVERHEAD
                self._release(guess - entry.cost)
            self._notify()

    def _notify(self) -> None:
        with self._changed:
            if self._is_awaited:
                self._is_awaited = False
                self._changed.notify_all()
