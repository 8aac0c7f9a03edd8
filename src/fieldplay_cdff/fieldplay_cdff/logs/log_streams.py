"""The streams of logs: their samples, read from their offsets on demand."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fieldplay.core.errors import ArchiveError, DefectLocation
from fieldplay_cdff.logs.asn1_uper import Packing, packing_of
from fieldplay_cdff.logs.file_index import (
    BLOCK_ROWS,
    NO_TIME,
    GrowingBlocks,
    Int64Array,
    StreamPart,
    Table,
    blocks_of,
)
from fieldplay_cdff.logs.flattened_logs import ColumnRows, own_times, rows_of_columns, samples_of_columns
from fieldplay_cdff.logs.log_files import LogFiles
from fieldplay_cdff.logs.msgpack_decode import (
    TemplateMatch,
    arrays_from_bytes,
    plain_from_bytes,
    template_of,
)
from fieldplay_cdff.logs.sample_times import BlockReader, Read, numbers_between
from fieldplay_cdff.logs.type_table import PLAIN, canonical_type, kind_of

NANOSECONDS, MICROSECONDS = "ns", "us"
LATEST_US = np.iinfo(np.int64).max // 1000
LOOKED_AT, MAX_LOOKED_AT = 20, 1000  # samples, for one that has fields; the more if they are not plain numbers,
MAX_BYTES = 4 << 20  # and as far as those have no more bytes
READ_AT_ONCE = 4 << 20  # bytes


# The rows of a stream that is in several files, with their times in nanoseconds, read on demand.


class FilePart(NamedTuple):
    """A stream's part and the file that it lies in."""

    file: str
    part: StreamPart


class PartRows(NamedTuple):
    """Rows of one part, by the part's index among all, and by their numbers in it."""

    part_index: int
    low: int
    high: int


class TimedRows:
    """Rows of all parts in sequence; `blocks` has the times of each block in nanoseconds.

    `unit` is that of the rows' own times, `logged_unit` that of the times of logging; "" where there are none.
    """

    def __init__(self, name: str, parts: Sequence[FilePart], files: LogFiles) -> None:
        self.name, self.parts = name, tuple(parts)
        self._files = files
        self._first_rows = np.cumsum([0, *(len(part) for _, part in parts)])
        self._readers = [
            BlockReader(part.samples, self._read(file), cache=files.blocks, key=(name, index))
            for index, (file, part) in enumerate(parts)
        ]
        tables = [self._blocks_of_part(rows) for rows in self._part_rows(0, len(self))]
        self.blocks: Table = np.concatenate([blocks_of(np.zeros(0, np.int64), np.zeros(0, np.int64)), *tables])
        self.block_bytes = _concatenate([self._bytes_of_blocks(index) for index in range(len(parts))])
        self._own_unit = _unit(tables)
        self._to_ns()
        self.logged_unit = _unit([part.logged.table for _, part in parts])
        self.unit = self._own_unit if self.has_own_times else self.logged_unit or MICROSECONDS

    def __len__(self) -> int:
        return int(self._first_rows[-1])

    @property
    def has_own_times(self) -> bool:
        """Whether any row has a time of its own."""
        return bool(self.blocks["known"].any())

    @property
    def first_rows(self) -> Int64Array:
        """The first row of each block, and the number of all (b + 1,)."""
        return np.append(self.blocks["row"], len(self))

    def ranges(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Rows begin <= row < end, some thousands at a time, each with its first and the one after its last."""
        end = len(self) if end is None else min(end, len(self))
        if start < end:
            rows = self.blocks["row"]
            cuts = rows[np.flatnonzero(np.diff(rows // BLOCK_ROWS, prepend=-1))]
            cuts = cuts[(cuts > start) & (cuts < end)].tolist()
            yield from zip([start, *cuts], [*cuts, end], strict=True)

    def own_ns(self, start: int = 0, end: int | None = None) -> Int64Array:
        """The rows' own times (n,), NO_TIME where one has none."""
        parts = self._part_rows(start, len(self) if end is None else end)
        return _in_ns(_concatenate([self._own_times(rows) for rows in parts]), self._own_unit)

    def logged_ns(self, start: int = 0, end: int | None = None) -> Int64Array:
        """Logging times of the rows (n,); where one is missing, the row's own time."""
        end = len(self) if end is None else end
        times = _in_ns(
            _concatenate([self._logged_times(rows) for rows in self._part_rows(start, end)]), self.logged_unit
        )
        unlogged = times == NO_TIME
        if bool(unlogged.any()):
            times[unlogged] = self.own_ns(start, end)[unlogged]
        return times

    def logged_raw(self, start: int, end: int) -> Int64Array:
        """The times of logging (n,) as the files have them; NO_TIME where there is none."""
        return _concatenate([self._logged_times(rows) for rows in self._part_rows(start, end)])

    def first_ns(self) -> int:
        """The earliest of all times, when logged or the rows' own; NO_TIME where there is none."""
        lows = [*self.blocks["low"][self.blocks["known"] > 0].tolist(), self.first_logged_ns()]
        return min((low for low in lows if low != NO_TIME), default=NO_TIME)

    def first_logged_ns(self) -> int:
        """The earliest that `logged_ns` has; NO_TIME where there is none."""
        tables = [part.logged.table for _, part in self.parts if len(part)]
        counts = [(len(part), part.logged.count) for _, part in self.parts]
        is_complete = all(own == logged for own, logged in counts)
        if is_complete and sum(int(table["known"].sum()) for table in tables) == len(self):
            lows = _in_ns(_concatenate([table["low"] for table in tables]), self.logged_unit)
        else:
            lows = _concatenate([_minimum(self.logged_ns(*rows)) for rows in self.ranges()])
        known = lows[lows != NO_TIME]
        return int(known.min()) if len(known) else NO_TIME

    def _blocks_of_part(self, rows: PartRows) -> Table:
        """The blocks of a part; those of a flattened log are made of its column of times."""
        part, first_row = self.parts[rows.part_index].part, int(self._first_rows[rows.part_index])
        if part.columns:
            growing, size = GrowingBlocks(), mean_bytes(part)
            for low in range(0, len(part), BLOCK_ROWS):
                high = min(low + BLOCK_ROWS, len(part))
                growing.extend(
                    size * np.arange(low, high), self._own_times(PartRows(rows.part_index, low, high)), size * high
                )
            table = growing.blocks().table
        else:
            table = part.samples.table.copy()
        table["row"] += first_row
        return table

    def _bytes_of_blocks(self, index: int) -> Int64Array:
        part = self.parts[index].part
        if not part.columns:
            return np.diff(part.samples.offsets)
        rows = self.first_rows
        first, last = np.searchsorted(rows, self._first_rows[index : index + 2])
        return np.diff(rows[first : last + 1]) * mean_bytes(part)

    def _to_ns(self) -> None:
        """Have the blocks' times in nanoseconds. Those with impossible times are looked at again."""
        table, rows = self.blocks, self.first_rows
        strange = np.flatnonzero((table["high"] > LATEST_US) & (self._own_unit == MICROSECONDS)).tolist()
        for name in ("low", "high"):
            table[name] = _in_ns(table[name], self._own_unit)
        for index in strange:
            start, end = rows[index : index + 2].tolist()
            again = blocks_of(np.zeros(end - start, np.int64), self.own_ns(start, end))[0]
            for name in ("known", "low", "high"):
                table[name][index] = again[name]

    def _part_rows(self, start: int, end: int) -> Iterator[PartRows]:
        """The parts that hold rows begin <= row < end."""
        first = int(np.searchsorted(self._first_rows, start, side="right")) - 1
        for index in range(max(first, 0), len(self.parts)):
            row = int(self._first_rows[index])
            low, high = max(start - row, 0), min(end - row, len(self.parts[index].part))
            if row >= end:
                return
            if low < high:
                yield PartRows(index, low, high)

    def _own_times(self, rows: PartRows) -> Int64Array:
        """The own times (n,) of rows as the file has them."""
        file, part = self.parts[rows.part_index]
        if not part.columns:
            return self._readers[rows.part_index].times(rows.low, rows.high)
        try:
            return own_times(part, rows.low, rows.high, self._read(file, "times"))
        except ArchiveError:
            return np.full(rows.high - rows.low, NO_TIME, np.int64)

    def _logged_times(self, rows: PartRows) -> Int64Array:
        file, part = self.parts[rows.part_index]
        times = np.full(rows.high - rows.low, NO_TIME, np.int64)
        high = min(rows.high, part.logged.count)
        if rows.low < high:
            times[: high - rows.low] = numbers_between(part.logged, rows.low, high, self._read(file, "logged"))
        return times

    def _read(self, file: str, what: str = "samples") -> Read:
        """How a file is read: each list of a stream by an open file of its own, which goes on where it was."""
        return lambda start, size: self._files.read(file, start, size, reader=(self.name, what))


def mean_bytes(part: StreamPart) -> int:
    """Return the approximate size of a sample of a flattened log, in bytes."""
    total = sum(column.end - int(column.begins[0]) for column in part.columns.values() if len(column.begins))
    return total // max(len(part), 1)


def _minimum(times: Int64Array) -> Int64Array:
    """The minimum (1,) of known times; (0,) where there is none."""
    known = times[times != NO_TIME]
    return np.asarray(known[[int(np.argmin(known))]] if len(known) else known, np.int64)


def _concatenate(parts: Sequence[Int64Array]) -> Int64Array:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _unit(tables: Sequence[Table]) -> str:
    """The unit of times: nanoseconds if at least half of the known ones are certainly such."""
    known, surely_ns = (sum(int(table[name].sum()) for table in tables) for name in ("known", "surely_ns"))
    return "" if not known else NANOSECONDS if 2 * surely_ns >= known else MICROSECONDS


def _in_ns(times: Int64Array, unit: str) -> Int64Array:
    """Times (n,) in nanoseconds; invalid or too large ones are NO_TIME."""
    is_known = times > 0
    if unit == NANOSECONDS:
        return np.where(is_known, times, NO_TIME)
    is_known &= times <= LATEST_US
    result = times * is_known
    result *= 1000
    result[~is_known] = NO_TIME
    return result


class Extent(NamedTuple):
    """Rows begin <= row < end in one file, and their bytes; None for a flattened log, which has no contiguous rows."""

    file: str
    start: int
    end: int
    where: tuple[int, int] | None


class LogStream(TimedRows):
    """One stream of all files of a log, in the order of the files; each sample is read on demand.

    Those of packed bits with a known type are as they would be without: `packing` is how they were packed.
    """

    packing: Packing | None = None

    def __init__(self, name: str, parts: Sequence[FilePart], files: LogFiles) -> None:
        super().__init__(name, parts, files)
        self.type = next((part.type for _, part in parts if part.type), "")
        self.first_row, first = self._first()
        self.packing = None if any(part.columns for _, part in parts) else packing_of(self.type, first)
        self.kind = self.packing.kind if self.packing is not None else kind_of(self.type, first)

    def _first(self) -> tuple[int, Any]:
        """The first sample that has fields, and its row; if none near the start has any, the very first."""
        first: list[Any] = []
        for row in chain(range(min(len(self), LOOKED_AT)), self._later_rows()):
            try:
                first.append(self.sample(row, arrays=True))
            except ArchiveError:
                first.append(None)
            if isinstance(first[-1], dict) and first[-1]:
                return row, first[-1]
        return 0, first[0] if first else None

    def _later_rows(self) -> Iterator[int]:
        """Rows to check if the first ones have no fields; none if the type has none."""
        end = min(len(self), MAX_LOOKED_AT)
        if end <= LOOKED_AT or canonical_type(self.type) in PLAIN:
            return
        try:
            sizes = np.cumsum(self.sizes(LOOKED_AT, end))
        except ArchiveError:
            return
        yield from range(LOOKED_AT, LOOKED_AT + int(np.searchsorted(sizes, MAX_BYTES, side="right")))

    def sample_location(self, row: int) -> DefectLocation:
        """Return the location of a sample for a message."""
        (rows,) = self._part_rows(row, row + 1)
        file, part = self.parts[rows.part_index]
        byte = None if part.columns else int(self._offsets(rows)[0])
        where = "" if byte is None else f" at byte {byte}"
        return DefectLocation(file, f"sample {rows.low} of {self.name}{where}", sample=int(rows.low), byte=byte)

    def sample(self, row: int, *, arrays: bool = False) -> Any:
        """One sample as plain data; with `arrays`, long lists of numbers are NumPy arrays."""
        return self.samples(row, row + 1, arrays=arrays)[0]

    def samples(self, start: int, end: int, *, arrays: bool = False) -> list[Any]:
        """Samples in the order of the files; ArchiveError where they cannot be read."""
        samples = [sample for rows in self._part_rows(start, end) for sample in self._samples(rows, arrays=arrays)]
        return samples if self.packing is None else [self.packing.sample(sample) for sample in samples]

    def _samples(self, rows: PartRows, *, arrays: bool) -> list[Any]:
        file, part = self.parts[rows.part_index]
        if part.columns:
            return samples_of_columns(part, rows.low, rows.high, self._read(file), arrays=arrays)
        unpack = arrays_from_bytes if arrays else plain_from_bytes
        offsets = self._offsets(rows).tolist()
        samples: list[Any] = []
        for first, last in _runs(offsets):
            base = offsets[first]
            data = self._readers[rows.part_index].data(base, offsets[last] - base)
            samples += [unpack(data[offsets[i] - base : offsets[i + 1] - base]) for i in range(first, last)]
        return samples

    def alike(self, start: int, end: int) -> TemplateMatch | None:
        """Samples that are the same but for their numbers, as rows of bytes; None if they are not, or are far apart."""
        parts = list(self._part_rows(start, end))
        if len(parts) != 1 or self.parts[parts[0].part_index].part.columns or self.packing is not None:
            return None
        offsets = self._offsets(parts[0])
        whole, size = int(offsets[-1] - offsets[0]), int(offsets[1] - offsets[0])
        if whole > READ_AT_ONCE or bool((np.diff(offsets) != size).any()):
            return None
        data = self._readers[parts[0].part_index].data(int(offsets[0]), whole)
        rows = np.frombuffer(data, np.uint8).reshape(-1, size)
        template = template_of(data[:size])
        return TemplateMatch(template, rows) if template is not None and template.fitting(rows) == len(rows) else None

    def columns(self, start: int, end: int) -> ColumnRows | None:
        """Samples of a flattened log as its columns; None where they are of none, or of two files."""
        number, low, high = next(self._part_rows(start, end))
        file, part = self.parts[number]
        is_one = bool(part.columns) and high - low == end - start
        return rows_of_columns(part, low, high, self._read(file)) if is_one else None

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        """Return the locations of rows, file by file."""
        for rows in self._part_rows(start, end):
            file, part = self.parts[rows.part_index]
            row = int(self._first_rows[rows.part_index])
            where = None if part.columns else self._extent(rows)
            yield Extent(file, row + rows.low, row + rows.high, where)

    def sizes(self, start: int, end: int) -> Int64Array:
        """Return the size of each sample (n,) in bytes; approximate for a flattened log."""
        parts = [np.diff(self._offsets(rows)) for rows in self._part_rows(start, end)]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def byte_count(self, start: int = 0, end: int | None = None) -> int:
        """Return the size of some samples in bytes, all by default."""
        extents = map(self._extent, self._part_rows(start, len(self) if end is None else end))
        return sum(stop - first for first, stop in extents)

    def batches(self, start: int, end: int, *, rows: int, size: int) -> Iterator[tuple[int, int]]:
        """Rows in sequence, so many at most, and of so many bytes at most if they are several."""
        first, used = start, 0
        for low, high in self.ranges(start, end):
            for row, own in enumerate(self.sizes(low, high).tolist(), low):
                if row > first and (row - first == rows or used + own > size):
                    yield first, row
                    first, used = row, 0
                used += own
        if first < min(end, len(self)):
            yield first, min(end, len(self))

    def _extent(self, rows: PartRows) -> tuple[int, int]:
        """The start of the first sample, and the end of the last."""
        first, last = (self._offsets(rows._replace(low=row, high=row + 1)) for row in (rows.low, rows.high - 1))
        return int(first[0]), int(last[-1])

    def _offsets(self, rows: PartRows) -> Int64Array:
        """Offsets of samples, and where the last one stops (n + 1,); of a flattened log, as if it were in rows."""
        part = self.parts[rows.part_index].part
        if part.columns:
            return mean_bytes(part) * np.arange(rows.low, rows.high + 1)
        return self._readers[rows.part_index].offsets(rows.low, rows.high)


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """The first of samples that are read at once, and the one after the last."""
    runs: list[tuple[int, int]] = []
    first = 0
    for index in range(1, len(offsets)):
        if index + 1 == len(offsets) or offsets[index + 1] - offsets[first] > READ_AT_ONCE:
            runs.append((first, index))
            first = index
    return runs
