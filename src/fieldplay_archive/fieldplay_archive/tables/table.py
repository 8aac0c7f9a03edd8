"""A table of numbers in a text file: looked through once, then read block by block from wherever it is wanted."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.files.containers import Files
from fieldplay_archive.tables.number_rows import Dialect, NumberRows
from fieldplay_archive.tables.row_limits import defects_of_limits, fitting_limits, within_limits
from fieldplay_archive.tables.table_defects import (
    defects_of_gaps,
    defects_of_impossible_times,
    defects_of_lines,
    defects_of_order,
    defects_of_ranges,
    steps_ns,
)
from fieldplay_messages.errors import ArchiveError, Defect, Report
from fieldplay_messages.gaps import GapFinder

BLOCK_SIZE = 1 << 19
HEAD_SIZE = 1 << 16
LONGEST_LINE = 1 << 20  # a file that is damaged, or no table at all, may have lines of any length
KEPT_BLOCKS = 2
NO_LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType({})


class RowsFormat(Protocol):
    """How one file writes its rows, and where they begin; see TableFormat."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def first_byte(self) -> int: ...
    @property
    def first_line(self) -> int: ...
    @property
    def mapping(self) -> str: ...
    def rows(self, block: bytes) -> NumberRows: ...
    def cut_off(self, line: bytes, before: bytes) -> str | None: ...


class RowsSpec(Protocol):
    """What is known of a file of rows before it is seen; see TableSpec."""

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def repeated_times(self) -> bool: ...
    def format_from_head(self, head: bytes) -> RowsFormat: ...


class Watch(Protocol):
    """What is shown each block of a table while it is looked through; see RevolutionFinder."""

    def add(self, rows: "Rows") -> None: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows in the order of their times: times (n,), other clocks (n, m), numbers (n, k), lines (n,) from 1.

    Where rows have lists, these are `lists` (n, m), NaN behind the end of each, and `count` is a column; else (n, 0).
    """

    dialect: Dialect
    stamp_ns: NDArray[np.int64]
    clock_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    line: NDArray[np.int64]
    lists: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.stamp_ns)

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        """A column of numbers (n,) by its name."""
        return self.values[:, self.dialect.numbers.index(column)]

    def columns(self, *names: str) -> NDArray[np.float64]:
        """Columns of numbers (n, len(names)) by their names."""
        return self.values[:, [self.dialect.numbers.index(name) for name in names]]

    def clock(self, name: str) -> NDArray[np.int64]:
        """Another column of times (n,) by its name, in nanoseconds."""
        return self.clock_ns[:, self.dialect.clocks.index(name) - 1]

    def has(self, *names: str) -> bool:
        """Whether these columns of numbers are there."""
        return set(names) <= set(self.dialect.numbers)

    def in_order_of(self, dialect: Dialect) -> "Rows":
        """The same rows with their columns as in another dialect, whose columns they all have."""
        return replace(self, dialect=dialect, values=self.columns(*dialect.numbers))

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Rows":
        """The rows chosen by a mask or by their indices."""
        return Rows(
            dialect=self.dialect,
            stamp_ns=self.stamp_ns[chosen],
            clock_ns=self.clock_ns[chosen],
            values=self.values[chosen],
            line=self.line[chosen],
            lists=self.lists[chosen],
        )


@dataclass(frozen=True)
class Block:
    """A stretch of whole lines: its place, and what it holds."""

    offset: int
    size: int
    first_line: int
    count: int
    first_ns: int
    last_ns: int


class Table:
    """A table that has been looked through: its blocks are known, its rows are read when asked for.

    Every line that is no row is reported once, when the table is looked through, and so are rows beyond `limits`, which
    do not count, and gaps, times that stand still or run backward, and numbers out of their range, whose rows do.
    `repeated` are the rows that have the time of the row before where that is no defect, `open_row` is the last line if
    it is a row and has no line end. `watch` sees each block's rows as they are read later.
    """

    looks_for_gaps = True

    def __init__(
        self,
        files: Files,
        name: str,
        spec: RowsSpec,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        watch: Watch | None = None,
        limits: Mapping[str, tuple[float, float]] = NO_LIMITS,
    ) -> None:
        self.name = name
        self.watch = watch
        self._files = files
        self._report = report
        self._plausible_ns = plausible_ns
        self._file = files.open(name)
        self._is_broken = False
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Rows] = OrderedDict()
        try:
            head = self._head()
            self.format = spec.format_from_head(head)
        except (ArchiveError, OSError):
            self._file.close()
            raise
        numbers = self.format.dialect.numbers
        self._ranges = {numbers.index(column): (column, *ends) for column, ends in spec.ranges.items()}
        some = self._parse(head[self.format.first_byte :]) if limits else None
        self._limits = {} if some is None else fitting_limits(limits, numbers, some)
        self._counts_repeated = spec.repeated_times
        self.repeated = 0
        self.open_row: int | None = None
        self.blocks: list[Block] = []
        self._look_through()

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(block.count for block in self.blocks)

    def close(self) -> None:
        self._file.close()

    def rows(self, index: int) -> Rows:
        """The rows of a block; safe to call from several threads."""
        with self._lock:
            if index not in self._kept:
                self._kept[index] = self._read(self.blocks[index], self._file)
                if len(self._kept) > KEPT_BLOCKS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(index)
            return self._kept[index]

    def _read(self, block: Block, file: BufferedReader) -> Rows:
        file.seek(block.offset)
        parsed = self._parse(file.read(block.size))
        return self._sorted(parsed.only(self._possible(parsed) & within_limits(parsed, self._limits)), block)

    def rows_between(self, first_ns: int, last_ns: int) -> Rows:
        """All rows with first_ns <= time <= last_ns."""
        parts = [self.rows(i) for i, b in enumerate(self.blocks) if b.first_ns <= last_ns and b.last_ns >= first_ns]
        rows = joined(self.format.dialect, parts)
        chosen = rows.only((rows.stamp_ns >= first_ns) & (rows.stamp_ns <= last_ns))
        return chosen.only(np.argsort(chosen.stamp_ns, kind="stable"))

    def _head(self) -> bytes:
        self._file.seek(0)
        head = b""
        try:
            while len(head) < HEAD_SIZE and (part := self._file.read1(HEAD_SIZE - len(head))):
                head += part
        except (ArchiveError, OSError):
            if not head:
                raise
        return head if len(head) < HEAD_SIZE else head[: head.rfind(b"\n") + 1 or HEAD_SIZE]

    def _parse(self, text: bytes) -> NumberRows:
        return self.format.rows(text)

    def _possible(self, rows: NumberRows) -> NDArray[np.bool_]:
        """Which rows (n,) have possible times: one that is not would stretch the archive over decades."""
        first, last = self._plausible_ns
        return (rows.stamp_ns >= first) & (rows.stamp_ns <= last)

    def _sorted(self, rows: NumberRows, block: Block) -> Rows:
        unsorted = Rows(
            dialect=self.format.dialect,
            stamp_ns=rows.stamp_ns,
            clock_ns=rows.clock_ns,
            values=rows.values,
            line=rows.line + block.first_line,
            lists=np.zeros((len(rows.stamp_ns), 0)) if rows.lists is None else rows.lists,
        )
        if (np.diff(rows.stamp_ns) >= 0).all():
            return unsorted
        return unsorted.only(np.argsort(rows.stamp_ns, kind="stable"))

    def _look_through(self) -> None:
        previous_ns: int | None = None
        gaps = GapFinder()
        for offset, first_line, text in self._whole_texts():
            parsed = self._parse(text)
            possible = self._possible(parsed)
            last = text.count(b"\n")
            if not text.endswith(b"\n") and parsed.line[-1:].tolist() == [last]:
                self.open_row = first_line + last
            self._report_all(defects_of_lines(self.name, parsed, first_line))
            self._report_all(defects_of_impossible_times(self.name, parsed, possible, first_line))
            self._report_all(defects_of_limits(self.name, parsed.only(possible), first_line, self._limits))
            rows = parsed.only(possible & within_limits(parsed, self._limits))
            if not len(rows.stamp_ns):
                continue
            self._report_all(defects_of_order(self.name, rows, first_line, self._steps(rows, previous_ns)))
            if self.looks_for_gaps:
                self._report_all(defects_of_gaps(self.name, rows, first_line, gaps))
            self._report_all(defects_of_ranges(self.name, rows, first_line, self._ranges))
            previous_ns = int(rows.stamp_ns[-1])
            first_ns, last_ns = int(rows.stamp_ns.min()), int(rows.stamp_ns.max())
            self.blocks.append(Block(offset, len(text), first_line, len(rows.stamp_ns), first_ns, last_ns))
            if self.watch is not None:
                self.watch.add(self._sorted(rows, self.blocks[-1]))

    def _steps(self, rows: NumberRows, previous_ns: int | None) -> NDArray[np.int64]:
        """The steps between rows, without those of rows whose repeated time is only counted."""
        steps = steps_ns(rows, previous_ns)
        if not self._counts_repeated:
            return steps
        self.repeated += int((steps == 0).sum())
        return np.where(steps == 0, 1, steps)

    def _report_all(self, defects: Iterator[Defect]) -> None:
        for defect in defects:
            self._report(defect)

    def _whole_texts(self) -> Iterator[tuple[int, int, bytes]]:
        """The text in blocks, without a last line whose last number is cut, which is reported."""
        before = b""
        for offset, line, text in self._texts():
            end = len(text) if text.endswith(b"\r") else text.rfind(b"\n") + 1
            fault = self.format.cut_off(text[end:], before + text[:end]) if end < len(text) else None
            if fault is not None:
                row = line + text.count(b"\n")
                self._report(Defect(file=self.name, row=row, kind="cut_off_line", message=fault))
            yield offset, line, text if fault is None else text[:end]
            before = text

    def _texts(self) -> Iterator[tuple[int, int, bytes]]:
        """The text in blocks of whole lines, with the place of each and the number of its first line."""
        offset, line, carried = self.format.first_byte, self.format.first_line, b""
        self._file.seek(offset)
        while True:
            chunk = self._chunk()
            text = carried + chunk
            end = text.rfind(b"\n") + 1 if chunk or self._is_broken else len(text)
            if end:
                yield offset, line, text[:end]
            offset, line, carried = offset + end, line + text.count(b"\n", 0, end), text[end:]
            if not chunk:
                return
            if len(carried) > LONGEST_LINE:
                size, behind = self._pass_over_line(line)
                offset, line, carried = offset + len(carried) + size, line + 1, behind

    def _chunk(self) -> bytes:
        """The next part of the file; nothing at its end, or where it cannot be read on, which is reported."""
        chunk = b""
        try:
            while not self._is_broken and len(chunk) < BLOCK_SIZE and (part := self._file.read1(BLOCK_SIZE)):
                chunk += part
        except (ArchiveError, OSError) as error:
            self._is_broken = True
            message = f"{error}; the rows before it are read"
            self._report(Defect(file=self.name, kind="damaged_file", message=message))
        return chunk

    def _pass_over_line(self, line: int) -> tuple[int, bytes]:
        """Report a line whose end is far, and read behind it: the bytes up to there, and what is read already."""
        message = f"expected {len(self.format.dialect.columns)} columns, got a line of more than {LONGEST_LINE} bytes"
        self._report(Defect(file=self.name, row=line, kind="long_row", message=message))
        size = 0
        while chunk := self._chunk():
            end = chunk.find(b"\n") + 1
            if end:
                return size + end, chunk[end:]
            size += len(chunk)
        return size, b""


def joined(dialect: Dialect, parts: list[Rows]) -> Rows:
    """The rows of several parts one after the other."""
    clocks, numbers = len(dialect.clocks) - 1, len(dialect.numbers)
    parts = [part if part.dialect.numbers == dialect.numbers else part.in_order_of(dialect) for part in parts]
    return Rows(
        dialect=dialect,
        stamp_ns=np.concatenate([np.zeros(0, np.int64), *(part.stamp_ns for part in parts)]),
        clock_ns=np.concatenate([np.zeros((0, clocks), np.int64), *(part.clock_ns for part in parts)]),
        values=np.concatenate([np.zeros((0, numbers)), *(part.values for part in parts)]),
        line=np.concatenate([np.zeros(0, np.int64), *(part.line for part in parts)]),
        lists=_joined_lists([part.lists for part in parts]),
    )


def _joined_lists(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Lists one below the other, as wide as the widest."""
    width = max((part.shape[1] for part in parts), default=0)
    wide = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    return np.concatenate([np.zeros((0, width)), *wide])
