"""Topics of bags as streams of messages as they lie there; records are made of them where these are wanted."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_topics import Bag
from fieldplay.core.errors import ArchiveError, DamagedMessageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.decoders import DECODERS
from fieldplay.messages.message_batches import parts_of_lengths
from fieldplay.messages.record_decoder import SINGLE, FramedRecord, RecordDecoder
from fieldplay.messages.records import Record
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_stream import SingleMessages

ROWS, HEAVY_ROWS = 256, 64  # messages of a span at most
SPAN_BYTES = 4 << 20  # that a span of small ones has
AT_ONCE_NS = NS_PER_S // 4  # of which small ones are read together
HEAVY_BYTES = 1 << 14  # from here on messages are read one by one


@dataclass(frozen=True, kw_only=True, eq=False)
class Serialized(Record):
    """Messages of a bag in CDR. `load` reads one, or raises ArchiveError when that is told; the heavy ones late."""

    msgtype: str
    load: Callable[[int], bytes]
    heavy: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether records are made of such messages."""
        return self.msgtype in DECODERS or self.msgtype in SINGLE

    def framed(self, rows: NDArray[np.intp]) -> Iterator[FramedRecord]:
        """The records of some rows."""
        if self.is_readable:
            there = [(row, data) for row in rows.tolist() if (data := self._loaded(row)) is not None]
            stamps = self.leaves_ns[np.array([row for row, _ in there], np.intp)]
            yield from RecordDecoder(self.msgtype).records(parts_of_lengths(stamps, [data for _, data in there]))

    def _loaded(self, row: int) -> bytes | None:
        try:
            return self.load(row)
        except ArchiveError:
            return None


def messages_as_they_are(record: Serialized) -> SingleMessages:
    """SpanMessages of what lies in a bag, byte for byte."""

    def made(row: int) -> tuple[bytes] | None:
        try:
            return (record.load(row),)
        except ArchiveError:
            return None

    return SingleMessages(made, heavy=record.heavy)


class SerializedStream:
    """A topic of a bag as a stream. With `from_ns` what was logged before that leaves then: it is of all times."""

    def __init__(self, bag: Bag, name: str, *, from_ns: int | None = None) -> None:
        self._bag, self._name, self._from_ns = bag, name, from_ns
        self.msgtype = bag.indexed[name].kind.msgtype
        rows, self._heavy = rows_of_topic(bag, name)
        self._topic = bag.topic(name, rows)
        self.spans: Sequence[Span] = self._topic.spans
        if from_ns is not None:
            later = [(max(span.first_ns, from_ns), max(span.last_ns, from_ns)) for span in self.spans]
            self.spans = [replace(s, first_ns=a, last_ns=b) for s, (a, b) in zip(self.spans, later, strict=True)]

    def since(self, from_ns: int) -> "SerializedStream":
        """The same, as all that was logged before a time is still so then."""
        return SerializedStream(self._bag, self._name, from_ns=from_ns)

    def load(self, index: int) -> Serialized:
        stamp_ns = self._topic.stamps(index)
        if self._from_ns is not None:
            stamp_ns = np.maximum(stamp_ns, self._from_ns)
        load = self._reader(index) if self._heavy else self._read(index)
        return Serialized(stamp_ns=stamp_ns, msgtype=self.msgtype, load=load, heavy=self._heavy)

    def _read(self, index: int) -> Callable[[int], bytes]:
        """Some at a time: of a rare topic a span may reach over all of the bag, and only a moment is wanted."""
        parts: dict[int, list[bytes | None]] = {}
        count = _at_once(self.spans[index])

        def load(row: int) -> bytes:
            number, place = divmod(row, count)
            if number not in parts:
                parts[number] = self._topic.messages(index, slice(number * count, (number + 1) * count))
            data = parts[number][place]
            if data is None:
                raise ArchiveError(f"{self._name}: a message that cannot be read")
            return data

        return load

    def _reader(self, index: int) -> Callable[[int], bytes]:
        """One by one, when they are wanted."""

        def load(row: int) -> bytes:
            try:
                return self._topic.message(index, row)
            except DamagedMessageError as error:
                self._bag.tell_damaged_message(self._name, int(self._topic.stamps(index)[row]), error)
                raise
            except ArchiveError as error:
                block = self._topic.block(index, row)
                if self._bag.is_newly_damaged(block):
                    self._bag.tell_damaged(block, f"{error}; its messages are left out")
                raise

        return load


def _at_once(span: Span) -> int:
    """How many messages of a span are read together."""
    return max(math.ceil(span.count * AT_ONCE_NS / max(span.last_ns - span.first_ns, AT_ONCE_NS)), 1)


def rows_of_topic(bag: Bag, name: str, *, at_once: bool = False) -> tuple[int, bool]:
    """How many messages of a topic are read together, and whether they are so large that each is read alone.

    By the sizes of some: the first, the last and one between, as of what grows. `at_once` reads large ones together.
    """
    count = len(bag.indexed[name].places.stamp_ns)
    topic, sizes = bag.topic(name, count), [1]
    for row in {0, count // 2, count - 1}:
        try:
            sizes.append(len(topic.message(0, row)))
        except ArchiveError:
            continue
    is_heavy = max(sizes) >= HEAVY_BYTES
    rows = max(min(SPAN_BYTES // max(sizes), ROWS), 1)
    return HEAVY_ROWS if is_heavy and not at_once else rows, is_heavy
