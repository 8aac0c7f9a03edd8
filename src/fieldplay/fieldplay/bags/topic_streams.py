"""Topics of bags as streams: of numbers, a span at a time, and of pictures, each read when it is asked for."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_topics import TopicReader
from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    FaultPlace,
    Report,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import layout_of_message
from fieldplay.messages.message_columns import Decoder, FieldNumbers, numbers_of_messages
from fieldplay.messages.records import Pictures, Pixels, Record
from fieldplay.streams.stream import Span

NUMBER_ROWS, PICTURE_ROWS = 2048, 64  # messages of a span
STAMP = ("header.stamp.sec", "header.stamp.nanosec")
PICTURE = ("height", "width", "step", "is_bigendian")

Convert = Callable[[NDArray[np.int64], FieldNumbers], Record]


@dataclass(frozen=True, eq=False)
class InvalidValue:
    """Messages (n,) with numbers (n, k) that cannot be, and what these should be."""

    wrong: NDArray[np.bool_]
    expected: str
    numbers: NDArray[np.float64]


Judge = Callable[[FieldNumbers], Iterator[InvalidValue]]


def all_possible(_: FieldNumbers) -> Iterator[InvalidValue]:
    """Whatever is finite can be."""
    yield from ()


class TopicNumbers:
    """A topic of messages with headers as records.

    A message that is none of its type, has NaN for a number, or numbers that `judge` finds impossible, is reported and
    left out; `perhaps` are the paths of numbers that may be NaN. One that has NaN in one of its `covariances` is
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
        perhaps: Collection[str] = (),
        covariances: Collection[str] = (),
        judge: Judge = all_possible,
    ) -> None:
        self.topic = topic
        self.spans = topic.spans
        self._decoder = Decoder(topic.kind, strict=False)
        self._paths = tuple(paths)
        self._covariances = tuple(covariances)
        self._certain = tuple(path for path in paths if path not in {*perhaps, *covariances})
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
                self._tell_unknown(path, stamp_ns[unknown & finite])
            columns = columns.with_zeros(path, unknown)
        if is_first:
            self._tell_damaged(there_ns, columns)
            for row in np.flatnonzero(~finite):
                at = f"got NaN or infinity at {int(stamp_ns[row]) / NS_PER_S:.6f} s"
                self._tell("not_finite", f"{self.topic.name}: expected numbers, {at}")
            self._tell_impossible(stamp_ns[finite], columns.only(finite))
            self._tell_headers(stamp_ns, columns)
        stamp_ns, columns = stamp_ns[finite], columns.only(finite)
        possible = np.ones(len(stamp_ns), bool)
        for found in self._judge(columns):
            possible &= ~found.wrong
        return stamp_ns[possible], columns.only(possible)

    def _is_first(self, index: int) -> bool:
        """Whether a span is read for the first time, when what is wrong with its messages is reported."""
        is_first = index not in self._reported
        self._reported.add(index)
        return is_first

    def _tell_unknown(self, path: str, stamp_ns: NDArray[np.int64]) -> None:
        for ns in stamp_ns.tolist():
            at = f"the message at {ns / NS_PER_S:.6f} s"
            message = f"{self.topic.name}, {at}: {path}: expected numbers, got NaN or infinity; it counts as unknown"
            self._tell("no_covariance", message)

    def _tell_damaged(self, there_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        for row, fault in columns.faults:
            at = f"the message at {int(there_ns[row]) / NS_PER_S:.6f} s"
            self._tell("damaged_message", f"{self.topic.name}, {at}: {fault}; it is left out")

    def _tell_impossible(self, stamp_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        for found in self._judge(columns):
            for row in np.flatnonzero(found.wrong):
                at = f"the message at {int(stamp_ns[row]) / NS_PER_S:.6f} s"
                got = ", ".join(f"{number:g}" for number in found.numbers[row])
                message = f"{self.topic.name}, {at}: expected {found.expected}, got {got}; it is left out"
                self._tell("impossible_value", message)

    def _tell_headers(self, stamp_ns: NDArray[np.int64], columns: FieldNumbers) -> None:
        seconds, nanoseconds = (columns.values[path].astype(np.int64) for path in STAMP)
        header_ns = seconds * NS_PER_S + nanoseconds
        others = np.flatnonzero(stamp_ns != header_ns)
        if len(others):
            first = int(others[0])
            apart_s = (int(header_ns[first]) - int(stamp_ns[first])) / NS_PER_S
            where = f"the first at {int(stamp_ns[first]) / NS_PER_S:.6f} s by {apart_s:+.6f} s; the bag's time counts"
            message = (
                f"{self.topic.name}: the headers of {len(others)} messages have another time than the bag, {where}"
            )
            self._tell("stamp_mismatch", message)

    def _tell(self, kind: str, message: str) -> None:
        self._report(Defect(file=self._bag, kind=kind, stream=self._id, message=message))


class TopicImages:
    """A topic of sensor_msgs/Image."""

    def __init__(self, topic: TopicReader, bag: str) -> None:
        self.topic = topic
        self.spans: Sequence[Span] = topic.spans
        self._bag = bag

    def load(self, index: int) -> Pictures:
        stamp_ns = self.topic.stamps(index)
        names = tuple(FaultPlace(self._bag, f"{self.topic.name} at {ns / NS_PER_S:.6f} s") for ns in stamp_ns.tolist())
        return Pictures(stamp_ns=stamp_ns, names=names, load=lambda row: self._pixels(index, row), packed=False)

    def _pixels(self, index: int, row: int) -> Pixels:
        data = self.topic.message(index, row)
        layout = layout_of_message(data, self.topic.kind)
        if not {"data", "encoding"} <= {*layout.paths, *layout.constants}:
            raise ArchiveError(f"expected a picture, got {self.topic.kind.msgtype}")
        height, width, step, is_bigendian = (int(layout.number(name)) for name in PICTURE)
        return Pixels(
            height=height,
            width=width,
            encoding=layout.text("encoding"),
            step=step,
            data=layout.number("data").tobytes(),
            is_bigendian=bool(is_bigendian),
        )
