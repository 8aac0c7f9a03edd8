"""The streams of logs: their samples, read from where they lie when they are asked for."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fieldplay.core.errors import ArchiveError, DefectLocation
from fieldplay_cdff.logs.asn1_uper import Packing, packing_of
from fieldplay_cdff.logs.file_index import Int64Array
from fieldplay_cdff.logs.flattened_logs import ColumnRows, rows_of_columns, samples_of_columns
from fieldplay_cdff.logs.log_files import LogFiles
from fieldplay_cdff.logs.msgpack_decode import (
    TemplateMatch,
    arrays_from_bytes,
    plain_from_bytes,
    template_of,
)
from fieldplay_cdff.logs.timed_rows import (
    FilePart,
    PartRows,
    TimedRows,
    mean_bytes,
)
from fieldplay_cdff.logs.type_table import PLAIN, canonical_type, kind_of

LOOKED_AT, MAX_LOOKED_AT = 20, 1000  # samples, for one that has fields; the more if they are not plain numbers,
MAX_BYTES = 4 << 20  # and as far as those have no more bytes
READ_AT_ONCE = 4 << 20  # bytes


class Extent(NamedTuple):
    """Rows begin <= row < end in one file, and their bytes; None of a flattened log, where these lie apart."""

    file: str
    start: int
    end: int
    where: tuple[int, int] | None


class LogStream(TimedRows):
    """One stream of all files of a log, in the order of the files; each sample is read when it is asked for.

    Those of packed bits whose type is defined are as they would be without: `packing` says how they were packed.
    """

    packing: Packing | None = None

    def __init__(self, name: str, parts: Sequence[FilePart], files: LogFiles) -> None:
        super().__init__(name, parts, files)
        self.type = next((part.type for _, part in parts if part.type), "")
        self.first_row, first = self._first()
        self.packing = None if any(part.columns for _, part in parts) else packing_of(self.type, first)
        self.kind = self.packing.kind if self.packing is not None else kind_of(self.type, first)

    def _first(self) -> tuple[int, Any]:
        """The first sample that has fields, and its row; where none near the begin has any, the very first."""
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
        """Rows to look at if the first ones have no fields; none where the type says that they have none."""
        end = min(len(self), MAX_LOOKED_AT)
        if end <= LOOKED_AT or canonical_type(self.type) in PLAIN:
            return
        try:
            sizes = np.cumsum(self.sizes(LOOKED_AT, end))
        except ArchiveError:
            return
        yield from range(LOOKED_AT, LOOKED_AT + int(np.searchsorted(sizes, MAX_BYTES, side="right")))

    def sample_location(self, row: int) -> DefectLocation:
        """Where a sample is, for a message."""
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
        """Samples that are the same but for their numbers, as rows of bytes; None where they are not, or far apart."""
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
        """Where rows lie, file by file."""
        for rows in self._part_rows(start, end):
            file, part = self.parts[rows.part_index]
            row = int(self._first_rows[rows.part_index])
            where = None if part.columns else self._extent(rows)
            yield Extent(file, row + rows.low, row + rows.high, where)

    def sizes(self, start: int, end: int) -> Int64Array:
        """How many bytes each sample (n,) has; of a flattened log, about."""
        parts = [np.diff(self._offsets(rows)) for rows in self._part_rows(start, end)]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def byte_count(self, start: int = 0, end: int | None = None) -> int:
        """How many bytes some samples have, all by default."""
        extents = map(self._extent, self._part_rows(start, len(self) if end is None else end))
        return sum(stop - first for first, stop in extents)

    def batches(self, start: int, end: int, *, rows: int, size: int) -> Iterator[tuple[int, int]]:
        """Rows one behind the other, so many at most, and of so many bytes at most if they are several."""
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
        """Where the first sample begins, and where the last ends."""
        first, last = (self._offsets(rows._replace(low=row, high=row + 1)) for row in (rows.low, rows.high - 1))
        return int(first[0]), int(last[-1])

    def _offsets(self, rows: PartRows) -> Int64Array:
        """Offsets of samples, and where the last one stops (n + 1,); of a flattened log, as if it were in rows."""
        part = self.parts[rows.part_index].part
        if part.columns:
            return mean_bytes(part) * np.arange(rows.low, rows.high + 1)
        return self._readers[rows.part_index].offsets(rows.low, rows.high)


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """The first of samples that are read at once, and that behind the last."""
    runs: list[tuple[int, int]] = []
    first = 0
    for index in range(1, len(offsets)):
        if index + 1 == len(offsets) or offsets[index + 1] - offsets[first] > READ_AT_ONCE:
            runs.append((first, index))
            first = index
    return runs
