"""Reads ahead of the play head: messages lie ready, in order, within a limit of bytes."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from threading import Condition, RLock
from types import TracebackType

from fieldplay.player.message_source import (
    Data,
    DueMessage,
    LazyMessage,
    Run,
    Work,
)
from fieldplay.streams.payloads import LARGE_BYTES

OVERHEAD = 200  # bytes that Python needs for a message beside its data
GUESSES = 16  # so many messages of unknown size are thought to fill the limit
AHEAD_NS = 1_000_000_000  # of playing that lies ready, as far as the limit of bytes allows
REFILLS = 8  # times in what lies ready that the thread that reads on is woken
READERS = 2  # one that reads, and one that may still be ending when another begins

Check = Callable[[], None]
OpenWorks = Callable[[Check], Iterator[Work]]


class ReadState(Enum):
    """What stands in place of a message: none is ready yet, or none is left."""

    WAITING = "waiting"
    END = "end"


class _Closed(Exception):
    """The reading is no longer wanted."""


@dataclass(eq=False)
class _Pending:
    """A message that a worker makes, and the bytes that are set aside for it.

    Once it is made the future is let go: it knows this entry, and such a ring would keep the data until Python looks
    for rings, which it does too seldom for pictures.
    """

    feed: int
    stamp_ns: int
    cost: int
    future: "Future[Data | None] | None"
    data: Data | None = None
    error: BaseException | None = None

    def message(self) -> DueMessage:
        """What was made; raises what went wrong with it."""
        if self.error is not None:
            raise self.error
        return DueMessage(self.feed, self.stamp_ns, self.data)


class Workers(AbstractContextManager["Workers"]):
    """The threads of all reading: few that read on, and one per processor that make what is heavy.

    `changed` is notified when what a reader was asked for in vain is there; its lock guards the readers.
    """

    def __init__(self, *, limit: int, makers: int | None = None) -> None:
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.limit = limit
        self.readers = ThreadPoolExecutor(READERS, "read")
        self.makers = ThreadPoolExecutor(makers or os.cpu_count() or 1, "make")
        self.sizes: dict[int, int] = {}
        self.opened: set[ReadAhead] = set()

    def open(self, open_works: OpenWorks) -> "ReadAhead":
        """Begin to read."""
        reader = ReadAhead(self, open_works)
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

    def __init__(self, workers: Workers, open_works: OpenWorks) -> None:
        self._workers = workers
        self._ahead_ns = AHEAD_NS
        self._changed = workers.changed
        self._room = Condition(workers.lock)
        self._queue: deque[DueMessage | _Pending] = deque()
        self._hand: list[DueMessage] = []  # what was shown, and not taken yet
        self._needed: tuple[int, int] | None = None
        self._wanted = False
        self._closed = False
        self.held = 0
        self._reading = workers.readers.submit(self._read, open_works)
        self._reading.add_done_callback(lambda _: self._tell())

    def peek(self) -> DueMessage | ReadState:
        """The next message, if it is ready; raises what went wrong with the reading once all before it is taken."""
        return self._hand[0] if self._hand else self._next()

    def ready(self, until_ns: int, most: int) -> Sequence[DueMessage]:
        """The message that peek gave, and what lies ready up to a time, at most so many, to a large one."""
        hand, queue = self._hand, self._queue
        while len(hand[-1].data or b"") < LARGE_BYTES and len(hand) < most and queue:
            entry = queue[0]
            if entry.stamp_ns > until_ns or entry.data is None:
                break  # also one that is yet to be made, or cannot be
            queue.popleft()
            hand.append(entry if isinstance(entry, DueMessage) else entry.message())
        count = 1
        while count < len(hand) and count < most and hand[count].stamp_ns <= until_ns:
            count += 1
        return hand[:count]

    def take(self, count: int) -> None:
        """Take away so many of what was shown."""
        taken, self._hand = self._hand[:count], self._hand[count:]
        self._release(sum(map(_cost, taken)))

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
            self._hand = []
            self._room.notify_all()

    def _next(self) -> DueMessage | ReadState:
        if not self._queue:
            if self._reading.done():
                self._reading.result()
                return ReadState.END
            self._wanted = True
            return ReadState.WAITING
        entry = self._queue[0]
        if isinstance(entry, _Pending) and entry.future is not None:
            self._wanted = True
            return ReadState.WAITING
        message = entry if isinstance(entry, DueMessage) else entry.message()
        self._queue.popleft()
        self._hand.append(message)
        return message

    def _read(self, open_works: OpenWorks) -> None:
        """What the reading thread does."""
        try:
            for work in open_works(self._check):
                if isinstance(work, LazyMessage):
                    self._put_heavy(work)
                else:
                    self._put_run(work)
        except _Closed:
            return

    def _check(self) -> None:
        if self._closed:
            raise _Closed

    def _put_run(self, run: Run) -> None:
        cost = sum(map(_cost, run))
        with self._changed:
            self._reserve(cost, run[0].stamp_ns)
            self._queue.extend(run)
            self._tell()

    def _put_heavy(self, work: LazyMessage) -> None:
        workers = self._workers
        with self._changed:
            cost = workers.sizes.get(work.feed, workers.limit // GUESSES) + OVERHEAD
            self._reserve(cost, work.stamp_ns)
            future = workers.makers.submit(work.make)
            entry = _Pending(work.feed, work.stamp_ns, cost, future)
            self._queue.append(entry)
            future.add_done_callback(lambda made: self._made(entry, made))

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
        oldest = self._hand[0] if self._hand else self._queue[0] if self._queue else None
        is_near = oldest is None or stamp_ns - oldest.stamp_ns <= self._ahead_ns
        return is_near and self.held + cost <= self._workers.limit

    def _release(self, cost: int) -> None:
        self.held -= cost
        if self._needed is not None and self._has_room(self._needed[0], self._needed[1] + self._ahead_ns // REFILLS):
            self._room.notify_all()

    def _made(self, entry: _Pending, future: "Future[Data | None]") -> None:
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
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            if self._wanted:
                self._wanted = False
                self._changed.notify_all()


def _cost(message: DueMessage) -> int:
    return len(message.data or b"") + OVERHEAD
