"""Messages of several filters that belong together by their times."""

import itertools
import threading
from collections.abc import Sequence
from typing import Any

from rclpy.duration import Duration

from ._simple_filter import SimpleFilter
from ._stamps import stamp_of


class TimeSynchronizer(SimpleFilter):
    """Passes on messages of the same time, one of each filter, in the order of the filters."""

    def __init__(self, fs: Sequence[SimpleFilter], queue_size: int) -> None:
        """Hear ``fs``, and keep ``queue_size`` messages of each until they are complete."""
        super().__init__()
        self.queue_size = queue_size
        self.lock = threading.Lock()
        self.connectInput(fs)

    def connectInput(self, fs: Sequence[SimpleFilter]) -> None:
        """Hear ``fs``, in place of those before."""
        self.queues: list[dict[int, Any]] = [{} for _ in fs]
        self.input_connections = [
            f.registerCallback(self.add, queue, number)
            for number, (f, queue) in enumerate(zip(fs, self.queues, strict=True))
        ]

    def add(self, msg: Any, my_queue: dict[int, Any], my_queue_index: int | None = None) -> None:
        """Take a message of a filter, and pass on what has become complete."""
        stamp = stamp_of(msg, allow_headerless=self._allows_headerless)
        if stamp is None:
            return
        with self.lock:
            self._keep(my_queue, stamp.nanoseconds, msg)
            matched = self._matched(stamp.nanoseconds, my_queue)
            if matched is None:
                return
            complete = [queue.pop(time) for queue, time in zip(self.queues, matched, strict=True)]
            self.signalMessage(*complete)

    _allows_headerless = False

    def _keep(self, queue: dict[int, Any], stamp_ns: int, message: Any) -> None:
        queue[stamp_ns] = message
        while len(queue) > self.queue_size:
            del queue[min(queue)]

    def _matched(self, stamp_ns: int, own: dict[int, Any]) -> tuple[int, ...] | None:
        """The times of the messages, one of each queue, that belong to the new one; None where one is missing."""
        if all(stamp_ns in queue for queue in self.queues):
            return (stamp_ns,) * len(self.queues)
        return None


class ApproximateTimeSynchronizer(TimeSynchronizer):
    """Passes on messages whose times are less than ``slop`` seconds apart, those that fit a new one best."""

    def __init__(
        self, fs: Sequence[SimpleFilter], queue_size: int, slop: float, allow_headerless: bool = False
    ) -> None:
        """Hear ``fs``; with ``allow_headerless`` a message without a header has the time of its arrival."""
        super().__init__(fs, queue_size)
        self.slop = Duration(seconds=slop)
        self._allows_headerless = allow_headerless

    def _matched(self, stamp_ns: int, own: dict[int, Any]) -> tuple[int, ...] | None:
        slop_ns = self.slop.nanoseconds
        candidates = []
        for queue in self.queues:
            near = [stamp_ns] if queue is own else [time for time in queue if abs(time - stamp_ns) < slop_ns]
            candidates.append(sorted(near, key=lambda time: abs(time - stamp_ns)))
        together = (times for times in itertools.product(*candidates) if max(times) - min(times) < slop_ns)
        if own.get(stamp_ns) is None:  # too old for the queue
            return None
        return min(together, key=lambda times: sum(abs(time - stamp_ns) for time in times), default=None)
