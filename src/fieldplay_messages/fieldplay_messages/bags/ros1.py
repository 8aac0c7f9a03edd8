"""Bags of ROS 1: random access by time, chunk by chunk, also where a bag is cut into parts or cut off."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.bags.bag_parts import Parts
from fieldplay_messages.bags.ros1_index import BROKEN_CHUNK, Places, index_of_bag
from fieldplay_messages.bags.topics import kind_of_connection
from fieldplay_messages.cdr.layout import MessageKind
from fieldplay_messages.errors import ArchiveError, Defect, Report
from fieldplay_messages.streams import Span

KEPT_BYTES = 48 << 20  # of unpacked chunks: those of all topics that are read side by side
IS_MESSAGE = b"op=\x02"


class Ros1Bag:
    """A bag of ROS 1. A bag is mostly written topic after topic, so each topic is read from chunks of its own."""

    def __init__(self, parts: Parts, report: Report) -> None:
        self.name = parts.name
        self.parts = parts
        self.report = report
        try:
            self._index = index_of_bag(parts)
        except ArchiveError:
            parts.close()
            raise
        if self._index.fault:
            report(Defect(file=self.name, kind="unindexed_bag", message=self._index.fault))
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._damaged: set[int] = set()
        self._by_topic: dict[str, list[int]] = {}
        for number, connection in self._index.connections.items():
            if number in self._index.places and len(self._index.places[number].stamp_ns):  # as those of ROS 2
                self._by_topic.setdefault(connection.topic, []).append(number)
        self.kinds = {topic: self._kind(numbers[0]) for topic, numbers in self._by_topic.items()}
        self.counts = {topic: len(self.places(topic).stamp_ns) for topic in self._by_topic}

    def _kind(self, number: int) -> MessageKind:
        return kind_of_connection(self._index.connections[number], is_cdr=False)

    def places(self, topic: str) -> Places:
        """The messages of a topic: of all connections of a topic that have the type of the first."""
        numbers = self._by_topic[topic]
        types = {number: self._index.connections[number].msgtype for number in numbers}
        parts = [self._index.places[number] for number in numbers if types[number] == types[numbers[0]]]
        columns = np.concatenate([[part.stamp_ns, part.chunk, part.offset] for part in parts], axis=1)
        return Places(*columns[:, np.argsort(columns[0], kind="stable")])

    def topic(self, name: str, rows_per_span: int) -> "Ros1Topic":
        """One topic, in spans of so many messages."""
        return Ros1Topic(self, name, rows_per_span)

    def chunk(self, place: int) -> bytes:
        """A chunk, unpacked; ArchiveError where it is damaged."""
        with self._lock:
            if place in self._kept:
                self._kept.move_to_end(place)
                return self._kept[place]
        data = self._unpacked(place)
        with self._lock:
            self._kept[place] = data
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > KEPT_BYTES:
                self._kept.popitem(last=False)
        return data

    def _unpacked(self, place: int) -> bytes:
        chunk = self._index.chunks[place]
        packed = self.parts.read_at(chunk.datapos, chunk.datasize)
        try:
            if len(packed) == chunk.datasize:
                return chunk.decompressor(packed)
            why = f"expected {chunk.datasize} bytes, got {len(packed)}"
        except BROKEN_CHUNK as error:
            why = str(error)
        raise ArchiveError(f"the chunk at byte {place} cannot be unpacked: {why}")

    def report_damaged(self, place: int, message: str) -> None:
        """Say once that what a chunk holds is lost."""
        with self._lock:
            is_new = place not in self._damaged
            self._damaged.add(place)
        if is_new:
            self.report(Defect(file=self.name, kind="damaged_chunk", message=message))

    def close(self) -> None:
        self.parts.close()


class Ros1Topic:
    """One topic of a bag; see TopicReader."""

    def __init__(self, bag: Ros1Bag, name: str, rows_per_span: int) -> None:
        self.name = name
        self.kind = bag.kinds[name]
        self._bag = bag
        self._places = bag.places(name)
        self._rows = rows_per_span

    @cached_property
    def spans(self) -> Sequence[Span]:
        stamps = self._places.stamp_ns
        parts = (stamps[begin : begin + self._rows] for begin in range(0, len(stamps), self._rows))
        return [Span(int(part[0]), int(part[-1]), len(part)) for part in parts]

    def stamps(self, index: int) -> NDArray[np.int64]:
        return self._places.stamp_ns[self._part(index)]

    def messages(self, index: int) -> list[bytes | None]:
        part = self._part(index)
        chunks, offsets = self._places.chunk[part], self._places.offset[part]
        found: list[bytes | None] = [None] * len(chunks)
        for place in np.unique(chunks).tolist():
            try:
                data = self._bag.chunk(place)
                for row in np.flatnonzero(chunks == place).tolist():
                    found[row] = _message(data, int(offsets[row]), place)
            except ArchiveError as error:
                self._bag.report_damaged(place, f"{error}; its messages are left out")
        return found

    def message(self, index: int, row: int) -> bytes:
        at = index * self._rows + row
        place = int(self._places.chunk[at])
        return _message(self._bag.chunk(place), int(self._places.offset[at]), place)

    def _part(self, index: int) -> slice:
        return slice(index * self._rows, (index + 1) * self._rows)


def _message(chunk: bytes, offset: int, place: int) -> bytes:
    """The message whose record begins at a place of a chunk."""
    begin = offset + 4 + int.from_bytes(chunk[offset : offset + 4], "little")
    end = begin + 4 + int.from_bytes(chunk[begin : begin + 4], "little")
    if end > len(chunk) or IS_MESSAGE not in chunk[offset:begin]:
        raise ArchiveError(f"expected a message at byte {offset} of the chunk at byte {place}, got none")
    return chunk[begin + 4 : end]
