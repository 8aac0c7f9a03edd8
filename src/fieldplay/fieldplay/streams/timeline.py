"""Many streams as one sequence in the order of time, with no more in memory than the spans that overlap.

At equal times the stream that stands earlier comes first, and within a stream the row that stands earlier.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.streams.stream import Span

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class TimelineSource(Generic[Loaded]):
    """One stream of the timeline: its spans, and how one of them is loaded, with the times of its rows in order."""

    spans: Sequence[Span]
    load: Callable[[int], tuple[NDArray[np.int64], Loaded]]
    carries: bool = False  # its last row before a begin is still valid there, and comes at that time


@dataclass(frozen=True, kw_only=True, eq=False)
class SpanSlice(Generic[Loaded]):
    """Rows of one span that belong to a stretch of the timeline: rows[k] comes at position[k] of the stretch."""

    source: int
    loaded: Loaded
    rows: NDArray[np.intp]
    positions: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedSlice(Generic[Loaded]):
    """Consecutive events in the order of time: their times (n,), and the pieces that they come from."""

    stamp_ns: NDArray[np.int64]
    pieces: list[SpanSlice[Loaded]]

    def part(self, begin: int, end: int) -> "MergedSlice[Loaded]":
        """The events begin <= i < end."""
        if (begin, end) == (0, len(self.stamp_ns)):
            return self
        pieces = []
        for piece in self.pieces:
            low, high = np.searchsorted(piece.positions, (begin, end))
            if low < high:
                rows, positions = piece.rows[low:high], piece.positions[low:high] - begin
                pieces.append(replace(piece, rows=rows, positions=positions))
        return MergedSlice(stamp_ns=self.stamp_ns[begin:end], pieces=pieces)


@dataclass
class _Open(Generic[Loaded]):
    """A span that is loaded, and how far it is used."""

    source: int
    stamp_ns: NDArray[np.int64]
    loaded: Loaded
    used: int = 0


@dataclass
class Timeline(Generic[Loaded]):
    """The sources merged. Iterating loads a span when its time has come and lets it go when it is used up."""

    sources: Sequence[TimelineSource[Loaded]]
    _order: list[tuple[int, int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._order = sorted(
            (span.first_ns, index, place)
            for index, source in enumerate(self.sources)
            for place, span in enumerate(source.spans)
        )

    @property
    def first_ns(self) -> int:
        """The earliest time that a row can have."""
        return min(span.first_ns for source in self.sources for span in source.spans)

    @property
    def last_ns(self) -> int:
        """The latest time that a row can have."""
        return max(span.last_ns for source in self.sources for span in source.spans)

    def stretches(self, first_ns: int | None = None, last_ns: int | None = None) -> Iterator[MergedSlice[Loaded]]:
        """All events with first_ns <= time <= last_ns, stretch by stretch; starts at once, wherever that is."""
        first = self._order[0][0] if first_ns is None and self._order else first_ns or 0
        carried = self._carried(first)
        pending = [entry for entry in self._order if self._span(entry).last_ns >= first or entry in carried]
        if last_ns is not None:
            pending = pending[: bisect.bisect_right(pending, last_ns, key=lambda entry: entry[0])]
        opened: list[_Open[Loaded]] = []
        for place, (_, source, span) in enumerate(pending):
            stamp_ns, loaded = self.sources[source].load(span)
            begin = int(np.searchsorted(stamp_ns, first))
            if begin and pending[place] in carried and first not in stamp_ns[begin : begin + 1]:
                stamp_ns, begin = _with_row_at(stamp_ns, begin - 1, first), begin - 1
            opened.append(_Open(source, stamp_ns, loaded, begin))
            is_last = place + 1 == len(pending)
            limit = None if is_last else pending[place + 1][0]
            if limit is None or limit > pending[place][0]:
                yield from _merged(opened, limit, last_ns)
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


def _merged(opened: list[_Open[Loaded]], limit: int | None, last_ns: int | None) -> Iterator[MergedSlice[Loaded]]:
    """What the open spans hold before the limit (nothing that is not open can come before it), up to last_ns."""
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
    stamp_ns = np.concatenate([item.stamp_ns[begin:end] for item, begin, end in taken])
    order = np.argsort(stamp_ns, kind="stable")
    positions = np.empty(len(order), np.intp)
    positions[order] = np.arange(len(order))
    pieces, offset = [], 0
    for item, begin, end in taken:
        part = positions[offset : offset + end - begin]
        pieces.append(SpanSlice(source=item.source, loaded=item.loaded, rows=np.arange(begin, end), positions=part))
        offset += end - begin
    yield MergedSlice(stamp_ns=stamp_ns[order], pieces=pieces)
