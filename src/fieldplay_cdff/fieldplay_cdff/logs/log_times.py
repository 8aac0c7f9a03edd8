"""The log times of a stream's rows: in file order where that is the order of time, else sorted.

Invalid times that others replace are reported.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    DefectLocation,
    Report,
)
from fieldplay.datasets.archive import WARNING
from fieldplay.io.spill_file import SpillFile, spill_folder
from fieldplay.streams.stream import Span
from fieldplay_cdff.logs.file_index import BLOCK, NO_TIME, Table
from fieldplay_cdff.logs.log_streams import LATEST_US, MICROSECONDS, LogStream
from fieldplay_cdff.logs.msgpack_decode import plain_name
from fieldplay_cdff.logs.sample_times import INNER, TIMES

Numbers = NDArray[np.int64]
AT_ONCE = 1 << 18  # rows that are sorted in memory
MIN_READ = 1 << 10  # rows of a run that are read at once
Stamps = NDArray[np.int64]
ReportDefect = Callable[[str, str, str], None]  # of what file, kind and message
LEAVES, ROW, STAMP = 0, 1, 2  # columns of rows that were sorted
MAX_LOOKED_AT = 200  # samples without a time


# Rows of integers sorted by the first: few are held in memory, many in a temporary file without a name.


class RowsInOrder(Protocol):
    """Rows (n, k) that were sorted; safe to read from several threads."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def rows(self, start: int, end: int) -> Numbers:
        """Those of begin <= index < end."""


def in_order(blocks: Iterable[Numbers], width: int) -> RowsInOrder:
    """Rows (n, width) that come in blocks, by their first number; those with the same stay as they came."""
    runs = (run[np.argsort(run[:, 0], kind="stable")] for run in _runs(blocks))
    first, second = next(runs, np.zeros((0, width), np.int64)), next(runs, None)
    if second is None:
        return _Held(first)
    unmerged = _Filed(width)
    pending = [unmerged.append(run) for run in chain((first, second), runs)]
    merged = _Filed(width)
    for rows in _merge_runs(unmerged, [0, *pending]):
        merged.append(rows)
    return merged


class _Held:
    def __init__(self, rows: Numbers) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, start: int, end: int) -> Numbers:
        return self._rows[start:end]


class _Filed:
    """Rows in a file that is gone when they are let go."""

    def __init__(self, width: int) -> None:
        self._row_bytes, self._width = 8 * width, width
        with _no_space_error():
            self._file = SpillFile()

    def __len__(self) -> int:
        return self._file.size // self._row_bytes

    def append(self, rows: Numbers) -> int:
        """Append rows; return how many there are."""
        with _no_space_error():
            self._file.append(rows.tobytes())
        return len(self)

    def rows(self, start: int, end: int) -> Numbers:
        count = max(min(end, len(self)) - start, 0)
        data = self._file.read(start * self._row_bytes, count * self._row_bytes)
        return np.frombuffer(data, np.int64).reshape(-1, self._width)


@contextmanager
def _no_space_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"times cannot be sorted in {spill_folder()}: {error}") from None


def _runs(blocks: Iterable[Numbers]) -> Iterator[Numbers]:
    """The same rows in larger blocks."""
    waiting: list[Numbers] = []
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) >= AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _merge_runs(rows: _Filed, borders: Sequence[int]) -> Iterator[Numbers]:
    """Merge sorted runs into one order, with a part of each run in memory.

    Rows less than the last of every part whose run goes on may be output; of equal ones, those of earlier runs.
    """
    positions, stops = list(borders[:-1]), borders[1:]
    at_once = max(AT_ONCE // len(stops), MIN_READ)
    parts = [rows.rows(0, 0) for _ in stops]
    while True:
        for run, part in enumerate(parts):
            if not len(part) and positions[run] < stops[run]:
                parts[run] = rows.rows(positions[run], min(positions[run] + at_once, stops[run]))
                positions[run] += len(parts[run])
        lasts = [(int(part[-1, 0]), run) for run, part in enumerate(parts) if positions[run] < stops[run]]
        limit, its_run = min(lasts, default=(np.iinfo(np.int64).max, len(parts)))
        cuts = [
            int(np.searchsorted(part[:, 0], limit, side="right" if run <= its_run else "left"))
            for run, part in enumerate(parts)
        ]
        leaving = np.concatenate([part[:cut] for part, cut in zip(parts, cuts, strict=True)])
        if not len(leaving):
            return
        yield leaving[np.argsort(leaving[:, 0], kind="stable")]
        parts = [part[cut:] for part, cut in zip(parts, cuts, strict=True)]


@dataclass(frozen=True, kw_only=True)
class StreamDefects:
    """Reports the defects of one stream, and notes once what else is to be known of it."""

    report: Report
    stream: str
    notes: list[str] = field(default_factory=list)

    def __call__(self, location: str, kind: str, message: str) -> None:
        self.report(Defect.at(location, kind=kind, stream=self.stream, message=message))

    def warn(self, text: str) -> None:
        text = f"{WARNING}{text}"
        if text not in self.notes:
            self.notes.append(text)


class LeavingRows(NamedTuple):
    """Some rows (n,) in the order of their log times; their stamps, and their log times."""

    row: NDArray[np.intp]
    stamp_ns: Stamps
    log_times_ns: Stamps


class RowSpan(NamedTuple):
    """Rows begin <= index < end in the order of their log times, as a span."""

    start: int
    end: int
    span: Span


@dataclass(frozen=True, eq=False, kw_only=True)
class RowTimes:
    """The log times of a stream's rows: by their stamps, or `by_log` when they were logged, if that differs.

    If rows are in order of time, `blocks` holds the times of each block, and `order` is None; else `order` has
    them sorted. All stamps are shifted by `offset_ns`.
    """

    log: LogStream
    by_log: bool
    blocks: Table
    order: RowsInOrder | None = None
    offset_ns: int = 0

    def __len__(self) -> int:
        return len(self.log) if self.order is None else len(self.order)

    def with_offset(self, offset_ns: int) -> "RowTimes":
        """Return the same rows with all stamps moved; their log times move too, unless they are those of the log."""
        return replace(self, offset_ns=self.offset_ns + offset_ns)

    def spans(self, *, rows: int, size: int) -> list[RowSpan]:
        """All rows in spans of so many rows and bytes at most; a block of the log may have more rows."""
        return list(
            self._file_order_spans(rows, size) if self.order is None else self._sorted_spans(self.order, rows, size)
        )

    def part(self, span: RowSpan) -> LeavingRows:
        """The rows of a span with their times."""
        start, end = span.start, span.end
        if self.order is not None:
            ordered = self.order.rows(start, end)
            row, stamps, log_times = ordered[:, ROW].astype(np.intp), ordered[:, STAMP], ordered[:, LEAVES]
        else:
            row = np.arange(start, end)
            stamps, log_times = _times(self.log, start, end, by_log=self.by_log)
        stamps = stamps + self.offset_ns
        return LeavingRows(row, stamps, log_times if self.by_log else stamps)

    def _file_order_spans(self, rows: int, size: int) -> Iterator[RowSpan]:
        borders, first = self.log.first_rows.tolist(), 0
        byte_stops = np.cumsum(self.log.block_bytes).tolist()
        for last in range(len(self.blocks)):
            before = byte_stops[first - 1] if first else 0
            is_last = last + 1 == len(self.blocks)
            if is_last or borders[last + 2] - borders[first] > rows or byte_stops[last + 1] - before > size:
                low, high = int(self.blocks["low"][first]), int(self.blocks["high"][last])
                yield self._row_span(borders[first], borders[last + 1], low, high)
                first = last + 1

    def _sorted_spans(self, order: RowsInOrder, rows: int, size: int) -> Iterator[RowSpan]:
        mean = max(self.log.byte_count() // max(len(self.log), 1), 1)
        step = max(min(rows, size // mean), 1)
        for start in range(0, len(order), step):
            end = min(start + step, len(order))
            low, high = (int(order.rows(row, row + 1)[0, LEAVES]) for row in (start, end - 1))
            yield self._row_span(start, end, low, high)

    def _row_span(self, start: int, end: int, low: int, high: int) -> RowSpan:
        offset_ns = 0 if self.by_log else self.offset_ns
        return RowSpan(start, end, Span(low + offset_ns, high + offset_ns, end - start))


@dataclass(eq=False, kw_only=True)
class _TimeCheck:
    """Summary of a stream's times: how many rows have none, the first of them, and whether stamps differ."""

    lost: int = 0
    first_lost: int = 0
    got_ns: int = NO_TIME
    differs: bool = False

    def add(self, start: int, stamps: Stamps, log_times: Stamps, good: NDArray[np.bool_]) -> None:
        bad = np.flatnonzero(~good)
        if len(bad) and not self.lost:
            self.first_lost, self.got_ns = start + int(bad[0]), int(stamps[bad[0]])
        self.lost += len(bad)
        self.differs = self.differs or bool((stamps != log_times).any())


def times_of(log: LogStream, *, by_log: bool, plausible_ns: tuple[int, int], report: ReportDefect) -> RowTimes:
    """The times of a stream: a sample's own where it has one, else that of the log; those without any are reported.

    Blocks whose samples all have their own are known; the others are read.
    """
    blocks, rows, check = log.blocks.copy(), log.first_rows, _TimeCheck()
    is_known = (blocks["known"] == np.diff(rows)) & (blocks["low"] >= plausible_ns[0])
    is_known &= (blocks["high"] <= plausible_ns[1]) & (not by_log)
    for start, end in log.ranges():
        first, last = np.searchsorted(rows, [start, end])
        if not bool(is_known[first:last].all()):
            stamps, log_times = _times(log, start, end, by_log=by_log)
            check.add(start, stamps, log_times, _plausible(stamps, log_times, plausible_ns))
            blocks[first:last] = _summary(log_times, rows[first:last] - start)
    if check.lost:
        got = "none" if check.got_ns == NO_TIME else f"{check.got_ns} ns"
        message = f"expected a time of this century, got {got}; {check.lost} of {len(log)} samples have none such"
        report(log.sample_location(check.first_lost), "no_time", message)
    is_ordered = bool(blocks["is_ordered"].all() and (blocks["low"][1:] >= blocks["high"][:-1]).all())
    times = RowTimes(log=log, by_log=check.differs, blocks=blocks)
    if is_ordered and not check.lost:
        return times
    return replace(times, order=in_order(_good_rows(log, by_log, plausible_ns), 3))


def _good_rows(log: LogStream, by_log: bool, plausible_ns: tuple[int, int]) -> Iterator[Numbers]:
    for start, end in log.ranges():
        stamps, log_times = _times(log, start, end, by_log=by_log)
        rows = np.stack([log_times, np.arange(start, end), stamps], axis=1)
        yield rows[_plausible(stamps, log_times, plausible_ns)]


def _times(log: LogStream, start: int, end: int, *, by_log: bool) -> tuple[Stamps, Stamps]:
    """The stamps of rows, and their log times."""
    stamps = log.own_ns(start, end)
    timeless = stamps == NO_TIME
    if not by_log and not bool(timeless.any()):
        return stamps, stamps
    logged = log.logged_ns(start, end)
    stamps = np.where(timeless, logged, stamps)
    return stamps, logged if by_log else stamps


def _plausible(stamps: Stamps, log_times: Stamps, limits: tuple[int, int]) -> NDArray[np.bool_]:
    return (stamps >= limits[0]) & (stamps <= limits[1]) & (log_times >= limits[0]) & (log_times <= limits[1])


def _summary(times: Stamps, firsts: NDArray[np.int64]) -> Table:
    """The entries of blocks, from their rows' times (n,)."""
    falls = np.append(False, times[1:] < times[:-1])
    falls[firsts] = False
    table = np.zeros(len(firsts), BLOCK)
    table["low"], table["high"] = np.minimum.reduceat(times, firsts), np.maximum.reduceat(times, firsts)
    table["is_ordered"] = ~np.logical_or.reduceat(falls, firsts)
    return table


def report_broken_times(log: LogStream, report: StreamDefects) -> None:
    """Report, counted, which of a stream's times are invalid though the samples are published."""
    _report_own_times(log, report)
    _report_logged_times(log, report)


def _report_own_times(log: LogStream, report: StreamDefects) -> None:
    """Report samples whose own time is invalid; samples without fields and kinds without times are no issue."""
    has_others = log.has_own_times
    if not has_others and not _lacks_time(log, log.first_row, has_others=False):
        return
    lost, count = _rows_without_time(log)
    looked_at = lost if has_others or not count else [log.first_row]
    broken = [row for row in looked_at if _lacks_time(log, row, has_others=has_others)]
    if not broken:
        return
    count += len(broken) - len(looked_at)
    message = f"expected each sample's own time, {count} of {len(log)} have none that is one"
    report(log.sample_location(broken[0]), "no_own_time", f"{message}; they are stamped with the time of logging")


def _rows_without_time(log: LogStream) -> tuple[list[int], int]:
    """Return the first rows that have a logging time only, and how many there are."""
    counts, borders = np.diff(log.first_rows), log.first_rows
    lost: list[int] = []
    count = 0
    for start, end in log.ranges():
        blocks = slice(*np.searchsorted(borders, [start, end]))
        if bool((log.blocks["known"][blocks] < counts[blocks]).any()):
            rows = start + np.flatnonzero((log.own_ns(start, end) == NO_TIME) & (log.logged_ns(start, end) != NO_TIME))
            lost += rows[: MAX_LOOKED_AT - len(lost)].tolist()
            count += len(rows)
    return lost, count


def _lacks_time(log: LogStream, row: int, *, has_others: bool) -> bool:
    try:
        sample = log.sample(row, arrays=True)
    except ArchiveError:
        return False  # it is reported when it is read
    return isinstance(sample, dict) and bool(sample) and (has_others or _has_time(sample, depth=2))


def _has_time(sample: dict[Any, Any], depth: int) -> bool:
    """Whether a sample has a field for its time."""
    for key, inner in sample.items():
        name = plain_name(str(key))
        if name in TIMES or (name in INNER and depth and isinstance(inner, dict) and _has_time(inner, depth - 1)):
            return True
    return False


def _report_logged_times(log: LogStream, report: StreamDefects) -> None:
    """Report invalid times in `.meta` of samples with their own time; samples without either are reported elsewhere."""
    first, latest = 0, LATEST_US if log.logged_unit == MICROSECONDS else np.iinfo(np.int64).max
    for file, part in log.parts:
        count, table = min(len(part), part.logged.count), part.logged.table
        broken, at = 0, 0
        if int(table["known"].sum()) < part.logged.count or bool((table["high"] > latest).any()):
            for start, end in log.ranges(first, first + count):
                raw = log.logged_raw(start, end)
                is_broken = ((raw <= 0) | (raw > latest)) & (log.own_ns(start, end) != NO_TIME)
                at = start - first + int(np.argmax(is_broken)) if is_broken.any() and not broken else at
                broken += int(is_broken.sum())
        if broken:
            message = f"expected times of logging, {broken} of {count} are none; the samples' own stand in"
            report(DefectLocation(file, f"sample {at} of {log.name}.meta", sample=at), "no_log_time", message)
        first += len(part)
