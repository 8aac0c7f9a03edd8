"""Many feeds as one sequence in the order of time: rows for those who compute, messages for bags and players."""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.records import Record
from fieldplay.streams.message_block import MergedBlock, MessageBlock
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_stream import LazyBlock, TopicStream

Loaded = TypeVar("Loaded")
HEAVY_PER_BATCH = 16  # messages that are read on their own, as images


# Many streams as one sequence in the order of time, with no more in memory than the spans that overlap.
#
# At equal times the stream that stands earlier comes first, and within a stream the row that stands earlier.


@dataclass(frozen=True)
class TimelineSource(Generic[Loaded]):
    """One stream of a timeline.

    Args:
        spans: its spans, in any order.
        load: loads a span: the times of its rows (n,), ascending, and the rows.
        carries: whether its last row before the start still holds there, and gets that time.
    """

    spans: Sequence[Span]
    load: Callable[[int], tuple[NDArray[np.int64], Loaded]]
    carries: bool = False  # its last row before a begin is still valid there, and comes at that time


@dataclass(frozen=True, kw_only=True, eq=False)
class SpanSlice(Generic[Loaded]):
    """Rows of one span that belong to a merged slice: rows[k] is at positions[k] of it.

    Args:
        source: the index of the stream.
        loaded: the span as loaded.
        rows: indices into the span (k,).
        positions: indices into the merged slice (k,), ascending.
    """

    source: int
    loaded: Loaded
    rows: NDArray[np.intp]
    positions: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedSlice(Generic[Loaded]):
    """Consecutive rows of several streams in time order.

    Args:
        stamp_ns: their times (n,).
        slices: the spans that they come from.
    """

    stamp_ns: NDArray[np.int64]
    slices: list[SpanSlice[Loaded]]

    def part(self, start: int, end: int) -> "MergedSlice[Loaded]":
        """Select consecutive rows.

        Args:
            start: the first index.
            end: the index after the last one.

        Returns:
            The slice.
        """
        if (start, end) == (0, len(self.stamp_ns)):
            return self
        slices = []
        for span_slice in self.slices:
            low, high = np.searchsorted(span_slice.positions, (start, end))
            if low < high:
                rows, positions = span_slice.rows[low:high], span_slice.positions[low:high] - start
                slices.append(replace(span_slice, rows=rows, positions=positions))
        return MergedSlice(stamp_ns=self.stamp_ns[start:end], slices=slices)


@dataclass
class _Open(Generic[Loaded]):
    """A span that is loaded, and how far it is used."""

    source: int
    stamp_ns: NDArray[np.int64]
    loaded: Loaded
    used: int = 0


@dataclass
class Timeline(Generic[Loaded]):
    """Streams merged by time. A span is loaded when its time has come, and released when it is used up.

    Args:
        sources: the streams; at equal times the earlier one is first.
    """

    sources: Sequence[TimelineSource[Loaded]]
    _order: list[tuple[int, int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._order = sorted(
            (span.first_ns, index, number)
            for index, source in enumerate(self.sources)
            for number, span in enumerate(source.spans)
        )

    @property
    def first_ns(self) -> int:
        """The earliest time that a row can have."""
        return min(span.first_ns for source in self.sources for span in source.spans)

    @property
    def last_ns(self) -> int:
        """The latest time that a row can have."""
        return max(span.last_ns for source in self.sources for span in source.spans)

    def slices(self, first_ns: int | None = None, last_ns: int | None = None) -> Iterator[MergedSlice[Loaded]]:
        """Merge rows, without reading what is before the start.

        Args:
            first_ns: the first time, inclusive; None for all.
            last_ns: the last time, inclusive; None for all.

        Yields:
            Consecutive rows.
        """
        first = self._order[0][0] if first_ns is None and self._order else first_ns or 0
        carried = self._carried(first)
        pending = [entry for entry in self._order if self._span(entry).last_ns >= first or entry in carried]
        if last_ns is not None:
            pending = pending[: bisect.bisect_right(pending, last_ns, key=lambda entry: entry[0])]
        opened: list[_Open[Loaded]] = []
        for position, (_, source, span) in enumerate(pending):
            stamp_ns, loaded = self.sources[source].load(span)
            start = int(np.searchsorted(stamp_ns, first))
            if start and pending[position] in carried and first not in stamp_ns[start : start + 1]:
                stamp_ns, start = _with_row_at(stamp_ns, start - 1, first), start - 1
            opened.append(_Open(source, stamp_ns, loaded, start))
            is_last = position + 1 == len(pending)
            limit = None if is_last else pending[position + 1][0]
            if limit is None or limit > pending[position][0]:
                yield from _merge_open(opened, limit, last_ns)
                opened = [item for item in opened if item.used < len(item.stamp_ns)]

    def _carried(self, first_ns: int) -> set[tuple[int, int, int]]:
        """Of each source that carries, the last span that begins before a time."""
        before = [entry for entry in self._order if entry[0] < first_ns and self.sources[entry[1]].carries]
        return set({entry[1]: entry for entry in before}.values())

    def _span(self, entry: tuple[int, int, int]) -> Span:
        return self.sources[entry[1]].spans[entry[2]]


def _with_row_at(stamp_ns: NDArray[np.int64], row: int, time_ns: int) -> NDArray[np.int64]:
    """The times with one of them put off."""
    changed: NDArray[np.int64] = stamp_ns.copy()
    changed[row] = time_ns
    return changed


def _merge_open(opened: list[_Open[Loaded]], limit: int | None, last_ns: int | None) -> Iterator[MergedSlice[Loaded]]:
    """Merge the rows of the open spans before the limit, up to last_ns; no other span has rows before the limit."""
    taken: list[tuple[_Open[Loaded], int, int]] = []
    for item in sorted(opened, key=lambda item: item.source):
        end = len(item.stamp_ns) if limit is None else int(np.searchsorted(item.stamp_ns, limit))
        if last_ns is not None:
            end = min(end, int(np.searchsorted(item.stamp_ns, last_ns, side="right")))
        if end > item.used:
            taken.append((item, item.used, end))
            item.used = end
    if not taken:
        return
    stamp_ns = np.concatenate([item.stamp_ns[start:end] for item, start, end in taken])
    order = np.argsort(stamp_ns, kind="stable")
    positions = np.empty(len(order), np.intp)
    positions[order] = np.arange(len(order))
    slices, offset = [], 0
    for item, start, end in taken:
        part = positions[offset : offset + end - start]
        slices.append(SpanSlice(source=item.source, loaded=item.loaded, rows=np.arange(start, end), positions=part))
        offset += end - start
    yield MergedSlice(stamp_ns=stamp_ns[order], slices=slices)


@dataclass(frozen=True)
class Window:
    """The selected time range of an archive.

    Args:
        archive_ns: the start of the archive.
        first_ns: the first time, inclusive.
        last_ns: the last time, inclusive; None to the end.
    """

    archive_ns: int
    first_ns: int
    last_ns: int | None


def batches(
    feeds: Sequence[TopicStream], channels: Sequence[int], window: Window, *, from_ns: int | None = None
) -> Iterator[MergedBlock]:
    """Encode all messages of a window in time order; static topics first, whatever their times.

    Args:
        feeds: the topic streams.
        channels: the number of each in the bag.
        window: the time range.
        from_ns: earlier messages are skipped, without encoding them; computations take their rows all the same.

    Yields:
        Messages that are written together.
    """
    for merged in message_slices(feeds, window.first_ns, window.last_ns):
        if from_ns is not None:
            merged = merged.part(int(np.searchsorted(merged.stamp_ns, from_ns)), len(merged.stamp_ns))
        for start, end in _cuts(merged):
            part = merged.part(start, end)
            source, good, block = encode_messages(part, part.slices)
            if good.any():
                channel = np.asarray(channels)[source[good]]
                yield MergedBlock(channel=channel, stamp_ns=part.stamp_ns[good], block=block)


def message_slices(
    feeds: Sequence[TopicStream], first_ns: int, last_ns: int | None, *, before_span: Callable[[], None] = lambda: None
) -> Iterator[MergedSlice[LazyBlock]]:
    """Merge the messages of topic streams by time, not encoded yet.

    Args:
        feeds: the topic streams.
        first_ns: the first time, inclusive.
        last_ns: the last time, inclusive; None to the end.
        before_span: called before each span is read; it may raise to stop.

    Yields:
        Consecutive messages.
    """

    def source_of(feed: TopicStream) -> TimelineSource[LazyBlock]:
        def load(index: int) -> tuple[NDArray[np.int64], LazyBlock]:
            before_span()
            return feed.load(index)

        return TimelineSource(feed.spans, load, carries=feed.carries)

    return Timeline([source_of(feed) for feed in feeds]).slices(first_ns, last_ns)


def record_slices(
    feeds: Sequence[TopicStream], first_ns: int | None = None, last_ns: int | None = None
) -> Iterator[MergedSlice[Record]]:
    """Merge the rows of topic streams by time; no message is encoded.

    Args:
        feeds: the topic streams.
        first_ns: the first time, inclusive; None for all.
        last_ns: the last time, inclusive; None for all.

    Yields:
        Consecutive rows.
    """

    def source_of(feed: TopicStream) -> TimelineSource[Record]:
        def load(index: int) -> tuple[NDArray[np.int64], Record]:
            record = feed.records(index)
            return record.leaves_ns, record

        return TimelineSource(feed.spans, load, carries=feed.carries)

    return Timeline([source_of(feed) for feed in feeds]).slices(first_ns, last_ns)


def encode_messages(
    merged: MergedSlice[LazyBlock], slices: Sequence[SpanSlice[LazyBlock]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], MessageBlock]:
    """Encode some slices of a merged slice.

    Args:
        merged: the merged slice of n rows.
        slices: those of its slices that are to be encoded.

    Returns:
        The index of the stream of each row (n,), -1 of another slice; which rows (n,) have a message, as a row that
        proves defective has none; and the messages.
    """
    source = np.full(len(merged.stamp_ns), -1, np.int64)
    good = np.zeros(len(merged.stamp_ns), bool)
    parts: list[tuple[MessageBlock, NDArray[np.intp]]] = []
    for span_slice in slices:
        block, is_valid = span_slice.loaded.encode(span_slice.rows)
        source[span_slice.positions], good[span_slice.positions] = span_slice.source, is_valid
        parts.append((block, span_slice.positions[is_valid]))
    message_index = np.cumsum(good) - 1
    return source, good, MessageBlock.merged([(block, message_index[positions]) for block, positions in parts])


def _cuts(merged: MergedSlice[LazyBlock]) -> Iterator[tuple[int, int]]:
    """Split a merged slice so that each part has only so many messages that are read one by one."""
    heavy = [span_slice.positions for span_slice in merged.slices if span_slice.loaded.is_heavy]
    inner = np.sort(np.concatenate(heavy))[HEAVY_PER_BATCH::HEAVY_PER_BATCH] if heavy else np.zeros(0, np.intp)
    yield from pairwise([0, *inner.tolist(), len(merged.stamp_ns)])
