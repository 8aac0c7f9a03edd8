"""Streams of records, in spans that are loaded one by one."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.records import Record


@dataclass(frozen=True)
class Span:
    """A part of a stream that is loaded at once.

    Args:
        first_ns: no row is earlier.
        last_ns: no row is later.
        count: the number of rows at most; defective ones are found only when they are read.
    """

    first_ns: int
    last_ns: int
    count: int


class Stream(Protocol):
    """Rows of one kind, loaded span by span. Spans may overlap; the rows of a span are in time order.

    A reader returns objects with these two members. Make spans of bounded size: memory must not grow with the archive.
    """

    @property
    def spans(self) -> Sequence[Span]:
        """The spans, in no particular order."""

    def load(self, index: int) -> Record:
        """Load the rows of a span; called from several threads at once, and perhaps repeatedly.

        Args:
            index: of the span in `spans`.

        Returns:
            The rows in time order, as many as the span's count or fewer, all within its times.
        """


class FileStream:
    """A stream of files that are one row each, in time order.

    Args:
        names: names of the files.
        stamp_ns: their times (n,), in any order.
        convert: makes a record of some names and their times.
    """

    SPAN = 64

    def __init__(
        self,
        names: Sequence[str],
        stamp_ns: NDArray[np.int64],
        convert: Callable[[tuple[str, ...], NDArray[np.int64]], Record],
    ) -> None:
        # Stable: files of one time stay in the given order.
        order = np.argsort(stamp_ns, kind="stable")
        self._names = [names[index] for index in order]
        self._stamp_ns = stamp_ns[order]
        self._convert = convert
        self.spans = [
            Span(int(part[0]), int(part[-1]), len(part))
            for part in (self._stamp_ns[i : i + self.SPAN] for i in range(0, len(names), self.SPAN))
        ]

    def load(self, index: int) -> Record:
        """Make the record of a span; the files themselves are read later.

        Args:
            index: of the span.

        Returns:
            The rows in time order.
        """
        part = slice(index * self.SPAN, (index + 1) * self.SPAN)
        return self._convert(tuple(self._names[part]), self._stamp_ns[part])


class InMemoryStream:
    """A stream of few rows, such as states that seldom change, held in memory.

    Args:
        record: all rows, in time order; it may be empty.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        stamps = record.stamp_ns
        self.spans = [Span(int(stamps[0]), int(stamps[-1]), len(stamps))] if len(stamps) else []

    def load(self, _: int) -> Record:
        """Get all rows.

        Args:
            _: 0, the only span.

        Returns:
            All rows.
        """
        return self._record


class JoinedStream:
    """Several streams of one kind of record as one.

    Args:
        streams: the streams; their spans follow one another, and may overlap in time.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._parts = [(stream, index) for stream in streams for index in range(len(stream.spans))]
        self.spans = [stream.spans[index] for stream, index in self._parts]

    def load(self, index: int) -> Record:
        """Load a span of one of the streams.

        Args:
            index: of the span.

        Returns:
            Its rows.
        """
        stream, span_index = self._parts[index]
        return stream.load(span_index)


class TruncatedStream:
    """The rows of a stream of numbers up to a time.

    Args:
        stream: a stream whose records are columns alone.
        last_ns: the last time that counts.
    """

    def __init__(self, stream: Stream, last_ns: int) -> None:
        self._stream = stream
        self._last_ns = last_ns
        order = sorted(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns)
        firsts = [stream.spans[index].first_ns for index in order]
        self._order = order[: bisect_right(firsts, last_ns)]
        spans = (stream.spans[index] for index in self._order)
        self.spans = [replace(span, last_ns=min(span.last_ns, last_ns)) for span in spans]

    def load(self, index: int) -> Record:
        """Load the rows of a span up to the last time.

        Args:
            index: of the span.

        Returns:
            Its rows, perhaps none.
        """
        record = self._stream.load(self._order[index])
        return record.only(record.stamp_ns <= self._last_ns)


class EvenlyTimedStream:
    """The rows of a stream of numbers at evenly spaced times; the first and the last time are unchanged.

    It reads the times of all rows when it is made, to count them.

    Args:
        stream: a stream whose records are columns alone.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._order = sorted(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns)
        stamps = [stream.load(index).stamp_ns for index in self._order]
        self._first_ns = min((int(part[0]) for part in stamps if len(part)), default=0)
        self._length_ns = max((int(part[-1]) for part in stamps if len(part)), default=0) - self._first_ns
        self._starts = [0, *accumulate(len(part) for part in stamps)]
        bounds = (self._times(start, end)[[0, -1]].tolist() for start, end in pairwise(self._starts) if end > start)
        counts = [len(part) for part in stamps if len(part)]
        self._filled = [number for number, part in enumerate(stamps) if len(part)]
        self.spans = [Span(first, last, count) for (first, last), count in zip(bounds, counts, strict=True)]

    def _times(self, start: int, end: int) -> NDArray[np.int64]:
        """The times of some rows by their number, without overflow of 64 bits."""
        steps = max(self._starts[-1] - 1, 1)
        whole, rest = divmod(self._length_ns, steps)
        number = np.arange(start, end, dtype=np.int64)
        return self._first_ns + number * whole + number * rest // steps

    def load(self, index: int) -> Record:
        """Load the rows of a span.

        Args:
            index: of the span.

        Returns:
            Its rows, with evenly spaced times.
        """
        number = self._filled[index]
        record = self._stream.load(self._order[number])
        return replace(record, stamp_ns=self._times(self._starts[number], self._starts[number + 1]))
