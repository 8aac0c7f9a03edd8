"""The order in which a stream's rows leave: as they stand where they are in the order of time, else sorted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.file_index import BLOCK, NO_TIME, Table
from fieldplay_archive.logs.sorted_rows import Numbers, RowsInOrder, in_order
from fieldplay_archive.logs.streams import LogStream
from fieldplay_messages.streams import Span

Stamps = NDArray[np.int64]
Tell = Callable[[str, str, str], None]  # of what file, kind and message

LEAVES, ROW, STAMP = 0, 1, 2  # columns of rows that were sorted


class TimedPart(NamedTuple):
    """Some rows (n,) that play, in the order in which they leave; their stamps, and when they leave."""

    row: NDArray[np.intp]
    stamp_ns: Stamps
    leaves_ns: Stamps


class Stretch(NamedTuple):
    """Rows begin <= index < end in the order in which they leave, as a span."""

    begin: int
    end: int
    span: Span


@dataclass(frozen=True, eq=False, kw_only=True)
class Times:
    """When the rows of a stream leave: by their stamps, or `by_log` when they were logged, if that differs.

    Where they leave as they stand, `blocks` tell when those of each block do, and `order` is None; else `order` has
    them sorted. All stamps are moved by `offset_ns`.
    """

    log: LogStream
    by_log: bool
    blocks: Table
    order: RowsInOrder | None = None
    offset_ns: int = 0

    def __len__(self) -> int:
        return len(self.log) if self.order is None else len(self.order)

    def moved(self, offset_ns: int) -> "Times":
        """The same with all stamps moved; the rows leave then too, unless that is when they were logged."""
        return replace(self, offset_ns=self.offset_ns + offset_ns)

    def stretches(self, *, rows: int, size: int) -> list[Stretch]:
        """All rows in stretches of so many rows and bytes at most; a block of the log may have more rows."""
        return list(self._as_they_stand(rows, size) if self.order is None else self._sorted(self.order, rows, size))

    def part(self, stretch: Stretch) -> TimedPart:
        """The rows of a stretch with their times."""
        begin, end = stretch.begin, stretch.end
        if self.order is not None:
            found = self.order.rows(begin, end)
            row, stamps, leaves = found[:, ROW].astype(np.intp), found[:, STAMP], found[:, LEAVES]
        else:
            row = np.arange(begin, end)
            stamps, leaves = _times(self.log, begin, end, by_log=self.by_log)
        stamps = stamps + self.offset_ns
        return TimedPart(row, stamps, leaves if self.by_log else stamps)

    def _as_they_stand(self, rows: int, size: int) -> Iterator[Stretch]:
        borders, first = self.log.first_rows.tolist(), 0
        ends = np.cumsum(self.log.block_bytes).tolist()
        for last in range(len(self.blocks)):
            before = ends[first - 1] if first else 0
            is_last = last + 1 == len(self.blocks)
            if is_last or borders[last + 2] - borders[first] > rows or ends[last + 1] - before > size:
                low, high = int(self.blocks["low"][first]), int(self.blocks["high"][last])
                yield self._stretch(borders[first], borders[last + 1], low, high)
                first = last + 1

    def _sorted(self, order: RowsInOrder, rows: int, size: int) -> Iterator[Stretch]:
        mean = max(self.log.byte_count() // max(len(self.log), 1), 1)
        step = max(min(rows, size // mean), 1)
        for begin in range(0, len(order), step):
            end = min(begin + step, len(order))
            low, high = (int(order.rows(row, row + 1)[0, LEAVES]) for row in (begin, end - 1))
            yield self._stretch(begin, end, low, high)

    def _stretch(self, begin: int, end: int, low: int, high: int) -> Stretch:
        offset_ns = 0 if self.by_log else self.offset_ns
        return Stretch(begin, end, Span(low + offset_ns, high + offset_ns, end - begin))


@dataclass(eq=False, kw_only=True)
class _Found:
    """What is found of a stream's times: how many rows have none, and the first of them; whether stamps differ."""

    lost: int = 0
    first_lost: int = 0
    got_ns: int = NO_TIME
    differs: bool = False

    def add(self, begin: int, stamps: Stamps, leaves: Stamps, good: NDArray[np.bool_]) -> None:
        bad = np.flatnonzero(~good)
        if len(bad) and not self.lost:
            self.first_lost, self.got_ns = begin + int(bad[0]), int(stamps[bad[0]])
        self.lost += len(bad)
        self.differs = self.differs or bool((stamps != leaves).any())


def times_of(log: LogStream, *, by_log: bool, plausible_ns: tuple[int, int], tell: Tell) -> Times:
    """The times of a stream: a sample's own where it has one, else that of the log; those without any are reported.

    Blocks whose samples all have their own are known; the others are read.
    """
    blocks, rows, found = log.blocks.copy(), log.first_rows, _Found()
    is_known = (blocks["known"] == np.diff(rows)) & (blocks["low"] >= plausible_ns[0])
    is_known &= (blocks["high"] <= plausible_ns[1]) & (not by_log)
    for begin, end in log.ranges():
        first, last = np.searchsorted(rows, [begin, end])
        if not bool(is_known[first:last].all()):
            stamps, leaves = _times(log, begin, end, by_log=by_log)
            found.add(begin, stamps, leaves, _plausible(stamps, leaves, plausible_ns))
            blocks[first:last] = _summary(leaves, rows[first:last] - begin)
    if found.lost:
        got = "none" if found.got_ns == NO_TIME else f"{found.got_ns} ns"
        where = f"{found.lost} of {len(log)} samples have none such, the first: {log.place(found.first_lost)}, {got}"
        tell(log.parts[0].file, "no_time", f"{log.name}: expected a time of this century; {where}")
    is_ordered = bool(blocks["is_ordered"].all() and (blocks["low"][1:] >= blocks["high"][:-1]).all())
    times = Times(log=log, by_log=found.differs, blocks=blocks)
    if is_ordered and not found.lost:
        return times
    return replace(times, order=in_order(_good_rows(log, by_log, plausible_ns), 3))


def _good_rows(log: LogStream, by_log: bool, plausible_ns: tuple[int, int]) -> Iterator[Numbers]:
    for begin, end in log.ranges():
        stamps, leaves = _times(log, begin, end, by_log=by_log)
        rows = np.stack([leaves, np.arange(begin, end), stamps], axis=1)
        yield rows[_plausible(stamps, leaves, plausible_ns)]


def _times(log: LogStream, begin: int, end: int, *, by_log: bool) -> tuple[Stamps, Stamps]:
    """The stamps of rows, and when they leave."""
    stamps = log.own_ns(begin, end)
    timeless = stamps == NO_TIME
    if not by_log and not bool(timeless.any()):
        return stamps, stamps
    logged = log.logged_ns(begin, end)
    stamps = np.where(timeless, logged, stamps)
    return stamps, logged if by_log else stamps


def _plausible(stamps: Stamps, leaves: Stamps, limits: tuple[int, int]) -> NDArray[np.bool_]:
    return (stamps >= limits[0]) & (stamps <= limits[1]) & (leaves >= limits[0]) & (leaves <= limits[1])


def _summary(times: Stamps, firsts: NDArray[np.int64]) -> Table:
    """What is known of blocks by their rows' times (n,)."""
    falls = np.append(False, times[1:] < times[:-1])
    falls[firsts] = False
    table = np.zeros(len(firsts), BLOCK)
    table["low"], table["high"] = np.minimum.reduceat(times, firsts), np.maximum.reduceat(times, firsts)
    table["is_ordered"] = ~np.logical_or.reduceat(falls, firsts)
    return table
