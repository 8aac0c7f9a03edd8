"""Topics of bags as streams of messages as they lie there; records are made of them where these are wanted."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_topics import Bag, TopicReader
from fieldplay.core.errors import (
    ArchiveError,
    DamagedMessageError,
    Defect,
    DefectLocation,
    Report,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import layout_of_message
from fieldplay.messages.codec import MESSAGES, FramedRecord
from fieldplay.messages.message_batches import parts_of_lengths
from fieldplay.messages.message_columns import Decoder, FieldNumbers, numbers_of_messages
from fieldplay.messages.record_decoder import SINGLE, RecordDecoder
from fieldplay.messages.records import Images, Pixels, Record
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_stream import LazyBlock

Contents = TypeVar("Contents", bytes, bytes | memoryview)
NUMBER_ROWS, PICTURE_ROWS = 2048, 64  # messages of a span
STAMP = ("header.stamp.sec", "header.stamp.nanosec")
IMAGE_FIELDS = ("height", "width", "step", "is_bigendian")
Convert = Callable[[NDArray[np.int64], FieldNumbers], Record]
ROWS, HEAVY_ROWS = 256, 64  # messages of a span at most
SPAN_BYTES = 4 << 20  # that a span of small ones has
AT_ONCE_NS = NS_PER_S // 4  # of which small ones are read together
HEAVY_BYTES = 1 << 14  # from here on messages are read one by one


# Topics of bags as streams: of numbers, a span at a time, and of images, each read when it is asked for.


@dataclass(frozen=True, eq=False)
class InvalidValue:
    """Messages (n,) with numbers (n, k) that cannot be, and what these should be."""

    wrong: NDArray[np.bool_]
    expected: str
    numbers: NDArray[np.float64]


Judge = Callable[[FieldNumbers], Iterator[InvalidValue]]


def accept_all(_: FieldNumbers) -> Iterator[InvalidValue]:
    """Accept all finite values."""
    yield from ()


class TopicNumbers:
    """A topic of messages with headers as records.

    A message that is none of its type, has NaN for a number, or numbers that `judge` rejects, is reported and
    left out; `optional` are the paths of numbers that may be NaN. One that has NaN in one of its `covariances` is
    reported and kept: the covariance is unknown then.
    """

    def __init__(
        self,
        topic: TopicReader,
        paths: Sequence[str],
        convert: Convert,
        *,
        bag: str,
        stream: str,
        report: Report,
        optional: Collection[str] = (),
        covariances: Collection[str] = (),
        judge: Judge = accept_all,
    ) -> None:
        self.topic = topic
        self.spans = topic.spans
        self._decoder = Decoder(topic.kind, strict=False)
        self._paths = tuple(paths)
        self._covariances = tuple(covariances)
        self._certain = tuple(path for path in paths if path not in {*optional, *covariances})
        self._convert = convert
        self._judge = judge
        self._bag, self._id, self._report = bag, stream, report
        self._reported: set[int] = set()

    def load(self, index: int) -> Record:
        stamp_ns, columns = self.columns(index)
        return self._convert(stamp_ns, columns)

    def columns(self, index: int) -> tuple[NDArray[np.int64], FieldNumbers]:
        """The times (n,) and the numbers of a span, in the order of time."""
        read = self.topic.messages(index)
        there = np.array([row for row, message in enumerate(read) if message is not None], np.intp)
        messages = [message for message in read if message is not None]
        columns = numbers_of_messages(messages, self._decoder, (*STAMP, *self._paths))
        there_ns = self.topic.stamps(index)[there]
        stamp_ns = there_ns[columns.rows]
        finite = columns.finite(self._certain)
        is_first = self._is_first(index)
        for path in self._covariances:
            unknown = ~columns.finite([path])
            if is_first:
                self._report_unknown(path, stamp_ns[unknown & finite])
            columns = columns.with_zeros(path, unknown)
        if is_first:
            self._report_damaged(there_ns, columns)
            for row in np.flatnonzero(~finite):
                at = f"got NaN or infinity at {int(stamp_ns[row]) / NS_PER_S:.6f} s"
                self._report_issue("not_finite", f"{self.topic.name}: expected numbers, {at}")
            self._report_impossible(stamp_ns[finite], columns.only(finite))
            self._report_headers(stamp_ns, columns)
        stamp_ns, columns = stamp_ns[finite], columns.only(finite)
        possible = np.ones(len(stamp_ns), bool)
        for invalid in self._judge(columns):
            possible &= ~invalid.wrong
        return stamp_ns[possible], columns.only(possible)

    def _is_first(self, index: int) -> bool:
        """Whether a span is read for the first time, when what is wrong with its messages is reported."""
        is_first = index not in self._reported
        self._reported.add(index)
        return is_first

    def _report_unknown(self, path: str, stamp_ns: NDArray[np.int64]) -> None:
        for ns in stamp_ns.tolist():
            at = f"the message at {ns / NS_PER_S:.6f} s"
            message = f"{self.topic.name}, {at}: {path}: expected numbers, got NaN or infinity; it counts as unknown"
            self._report_issue("no_covariance", message)

    def _report_damaged(self, there_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        for row, issue in columns.issues:
            at = f"the message at {int(there_ns[row]) / NS_PER_S:.6f} s"
            self._report_issue("damaged_message", f"{self.topic.name}, {at}: {issue}; it is left out")

    def _report_impossible(self, stamp_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        for invalid in self._judge(columns):
            for row in np.flatnonzero(invalid.wrong):
                at = f"the message at {int(stamp_ns[row]) / NS_PER_S:.6f} s"
                got = ", ".join(f"{number:g}" for number in invalid.numbers[row])
                message = f"{self.topic.name}, {at}: expected {invalid.expected}, got {got}; it is left out"
                self._report_issue("impossible_value", message)

    def _report_headers(self, stamp_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        seconds, nanoseconds = (columns.values[path].astype(np.int64) for path in STAMP)
        header_ns = seconds * NS_PER_S + nanoseconds
        others = np.flatnonzero(stamp_ns != header_ns)
        if len(others):
            first = int(others[0])
            difference_s = (int(header_ns[first]) - int(stamp_ns[first])) / NS_PER_S
            where = (
                f"the first at {int(stamp_ns[first]) / NS_PER_S:.6f} s by {difference_s:+.6f} s; the bag's time counts"
            )
            message = (
                f"{self.topic.name}: the headers of {len(others)} messages have another time than the bag, {where}"
            )
            self._report_issue("stamp_mismatch", message)

    def _report_issue(self, kind: str, message: str) -> None:
        self._report(Defect(file=self._bag, kind=kind, stream=self._id, message=message))


class TopicImages:
    """A topic of sensor_msgs/Image."""

    def __init__(self, topic: TopicReader, bag: str) -> None:
        self.topic = topic
        self.spans: Sequence[Span] = topic.spans
        self._bag = bag

    def load(self, index: int) -> Images:
        stamp_ns = self.topic.stamps(index)
        name = self.topic.name
        names = tuple(DefectLocation(self._bag, f"{name} at {ns / NS_PER_S:.6f} s") for ns in stamp_ns.tolist())
        return Images(stamp_ns=stamp_ns, names=names, load=lambda row: self._pixels(index, row), packed=False)

    def _pixels(self, index: int, row: int) -> Pixels:
        data = self.topic.message(index, row)
        layout = layout_of_message(data, self.topic.kind)
        if not {"data", "encoding"} <= {*layout.paths, *layout.constants}:
            raise ArchiveError(f"expected an image, got {self.topic.kind.msgtype}")
        height, width, step, is_bigendian = (int(layout.number(name)) for name in IMAGE_FIELDS)
        return Pixels(
            height=height,
            width=width,
            encoding=layout.text("encoding"),
            step=step,
            data=layout.number("data").tobytes(),
            is_bigendian=bool(is_bigendian),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Serialized(Record):
    """Messages of a bag in CDR. `load` reads one, or raises ArchiveError; large ones are read late.

    `view` does the same, perhaps without a copy: it keeps the chunk in memory that the message lies in.
    """

    msgtype: str
    load: Callable[[int], bytes]
    view: Callable[[int], bytes | memoryview] | None = None
    heavy: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether records are made of such messages."""
        return self.msgtype in MESSAGES or self.msgtype in SINGLE

    def framed_records(self, rows: NDArray[np.intp]) -> Iterator[FramedRecord]:
        """The records of some rows."""
        if self.is_readable:
            there = [(row, data) for row in rows.tolist() if (data := self._load_or_none(row)) is not None]
            stamps = self.leaves_ns[np.array([row for row, _ in there], np.intp)]
            yield from RecordDecoder(self.msgtype).records(parts_of_lengths(stamps, [data for _, data in there]))

    def _load_or_none(self, row: int) -> bytes | None:
        try:
            return self.load(row)
        except ArchiveError:
            return None


def raw_messages(record: Serialized) -> LazyBlock:
    """LazyBlock of a bag's messages, byte for byte."""
    view = record.view or record.load

    def read(row: int) -> bytes | memoryview | None:
        try:
            return view(row)
        except ArchiveError:
            return None

    return LazyBlock.one_by_one(read, is_heavy=record.heavy)


class BagStream:
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

    def since(self, from_ns: int) -> "BagStream":
        """The same, as all that was logged before a time is still so then."""
        return BagStream(self._bag, self._name, from_ns=from_ns)

    def load(self, index: int) -> Serialized:
        stamp_ns = self._topic.stamps(index)
        if self._from_ns is not None:
            stamp_ns = np.maximum(stamp_ns, self._from_ns)
        if self._heavy:
            load, view = self._reader(index, self._topic.message), self._reader(index, self._topic.view)
            return Serialized(stamp_ns=stamp_ns, msgtype=self.msgtype, load=load, view=view, heavy=True)
        load = self._read(index)
        return Serialized(stamp_ns=stamp_ns, msgtype=self.msgtype, load=load)

    def _read(self, index: int) -> Callable[[int], bytes]:
        """Read some at a time: a span of a rare topic may cover the complete bag, while only a moment is requested."""
        parts: dict[int, list[bytes | None]] = {}
        count = _at_once(self.spans[index])

        def load(row: int) -> bytes:
            number, offset = divmod(row, count)
            if number not in parts:
                parts[number] = self._topic.messages(index, slice(number * count, (number + 1) * count))
            data = parts[number][offset]
            if data is None:
                raise ArchiveError(f"{self._name}: a message that cannot be read")
            return data

        return load

    def _reader(self, index: int, read: Callable[[int, int], Contents]) -> Callable[[int], Contents]:
        """Read messages one by one, on request."""

        def load(row: int) -> Contents:
            try:
                return read(index, row)
            except DamagedMessageError as error:
                self._bag.report_damaged_message(self._name, int(self._topic.stamps(index)[row]), error)
                raise
            except ArchiveError as error:
                block = self._topic.block(index, row)
                if self._bag.is_newly_damaged(block):
                    self._bag.report_damaged(block, f"{error}; its messages are left out")
                raise

        return load


def _at_once(span: Span) -> int:
    """How many messages of a span are read together."""
    return max(math.ceil(span.count * AT_ONCE_NS / max(span.last_ns - span.first_ns, AT_ONCE_NS)), 1)


def rows_of_topic(bag: Bag, name: str, *, at_once: bool = False) -> tuple[int, bool]:
    """How many messages of a topic are read together, and whether they are so large that each is read alone.

    By the sizes of some: the first, the last and one between, as of what grows. `at_once` reads large ones together.
    """
    count = len(bag.indexed[name].offsets.stamp_ns)
    topic, sizes = bag.topic(name, count), [1]
    for row in {0, count // 2, count - 1}:
        try:
            sizes.append(len(topic.message(0, row)))
        except ArchiveError:
            continue
    is_heavy = max(sizes) >= HEAVY_BYTES
    rows = max(min(SPAN_BYTES // max(sizes), ROWS), 1)
    return HEAVY_ROWS if is_heavy and not at_once else rows, is_heavy
