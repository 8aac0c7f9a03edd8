"""Bags of ROS 2, through rosbags: slices of time, of which all topics are read at once and a few are kept."""

import math
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import Reader, ReaderError

from fieldplay_messages.bags.topics import kind_of_connection
from fieldplay_messages.errors import ArchiveError, Defect, Report
from fieldplay_messages.streams import Span

SLICE_BYTES = 24 << 20
SLICE_MESSAGES = 20_000
KEPT_SLICES = 3
STORAGE = (".mcap", ".db3")
# What rosbags raises for a bag that is not as it should be
FAULTS = (
    ReaderError, AssertionError, ValueError, KeyError, IndexError, EOFError, OSError, struct.error, RuntimeError,
    TypeError, apsw.Error,
)  # fmt: skip

Slice = dict[str, tuple[NDArray[np.int64], list[bytes]]]


class Ros2Bag:
    """A bag of ROS 2; `wanted` tells which topics are read. Its library may be used by one thread at a time."""

    def __init__(self, path: Path, report: Report, wanted: Callable[[str], bool]) -> None:
        self.name = path.name
        self._report = report
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Slice] = OrderedDict()
        self._damaged: set[int] = set()
        try:
            self._reader = Reader(path)
            self._reader.open()
        except FAULTS as error:
            raise ArchiveError(f"{path}: expected a bag of ROS 2: {error}") from None
        connections = [found for found in self._reader.connections if found.msgcount]
        self.kinds = {found.topic: kind_of_connection(found, is_cdr=True) for found in connections}
        self.counts = {found.topic: found.msgcount for found in connections}
        self._wanted = [found for found in connections if wanted(found.topic)]
        self._begin_ns, self._end_ns = self._reader.start_time, max(self._reader.end_time, self._reader.start_time + 1)
        self._slices = self._count(path)

    def _count(self, path: Path) -> int:
        """How many slices there are, so that each has so many bytes and messages at most."""
        files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix in STORAGE]
        size = sum(file.stat().st_size for file in files)
        messages = sum(found.msgcount for found in self._wanted)
        return min(max(math.ceil(size / SLICE_BYTES), math.ceil(messages / SLICE_MESSAGES), 1), 1 << 16)

    def border_ns(self, index: int) -> int:
        """Where a slice begins."""
        return self._begin_ns + (self._end_ns - self._begin_ns) * index // self._slices

    def topic(self, name: str, rows_per_span: int) -> "Ros2Topic":
        """One topic, in spans as the slices have them."""
        return Ros2Topic(self, name, self._slices)

    def slice(self, index: int) -> Slice:
        """All wanted messages of a slice."""
        with self._lock:
            if index not in self._kept:
                self._kept[index] = self._read(index)
                if len(self._kept) > KEPT_SLICES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(index)
            return self._kept[index]

    def _read(self, index: int) -> Slice:
        stamps: dict[str, list[int]] = {found.topic: [] for found in self._wanted}
        data: dict[str, list[bytes]] = {found.topic: [] for found in self._wanted}
        try:
            for connection, stamp_ns, message in self._reader.messages(
                self._wanted, self.border_ns(index), self.border_ns(index + 1)
            ):
                stamps[connection.topic].append(stamp_ns)
                data[connection.topic].append(bytes(message))
        except FAULTS as error:
            self._report_damaged(index, str(error))
        return {topic: (np.array(times, np.int64), data[topic]) for topic, times in stamps.items()}

    def _report_damaged(self, index: int, why: str) -> None:
        if index in self._damaged:
            return
        self._damaged.add(index)
        first, last = ((self.border_ns(i) - self._begin_ns) / 1e9 for i in (index, index + 1))
        message = f"from {first:.1f} s to {last:.1f} s after its begin it cannot be read to the end: {why}"
        self._report(Defect(file=self.name, kind="damaged_bag", message=message))

    def close(self) -> None:
        self._reader.close()


class Ros2Topic:
    """One topic of a bag; see TopicReader. How many messages a span has is an estimate until it is read."""

    def __init__(self, bag: Ros2Bag, name: str, slices: int) -> None:
        self.name = name
        self.kind = bag.kinds[name]
        self._bag = bag
        share = math.ceil(bag.counts[name] / slices)
        ends = {index: bag.slice(index)[name][0] for index in {0, slices - 1}}
        spans = {index: Span(bag.border_ns(index), bag.border_ns(index + 1) - 1, share) for index in range(slices)}
        spans |= {i: Span(int(times[0]), int(times[-1]), len(times)) for i, times in ends.items() if len(times)}
        self._indices = [index for index in spans if index not in ends or len(ends[index])]
        self.spans: Sequence[Span] = [spans[index] for index in self._indices]

    def stamps(self, index: int) -> NDArray[np.int64]:
        return self._bag.slice(self._indices[index])[self.name][0]

    def messages(self, index: int) -> list[bytes | None]:
        return list(self._bag.slice(self._indices[index])[self.name][1])

    def message(self, index: int, row: int) -> bytes:
        return self._bag.slice(self._indices[index])[self.name][1][row]
