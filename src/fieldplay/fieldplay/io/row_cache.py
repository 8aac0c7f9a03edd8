"""The rows of tables: as a parser gives them, with the lines that are none; and as they are kept, in bounded memory."""

import math
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.io.csv_dialect import Dialect
from fieldplay.io.spill_file import SpillFile

SHOWN = 40  # characters of a faulty text that a message shows
HELD_BYTES = 1 << 23  # of the rows of all tables of an archive; the others go to a file
SOME = 8  # rows that tell at once that numbers do not fit half as many bytes

Columns = tuple[NDArray[Any], ...]


class BadLine(NamedTuple):
    """A line of a block, counted from 0, that is no row."""

    line: int
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockRows:
    """The rows of a block: times (n,) and other clocks (n, m), numbers (n, k), lines (n,) from 0.

    The columns stand in the order of Dialect.clocks, the first left out, and of Dialect.numbers. Where rows have lists
    of any length behind their columns, these are `lists` (n, m), NaN behind the end of each.
    """

    stamp_ns: NDArray[np.int64]
    clock_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    line: NDArray[np.int64]
    bad: tuple[BadLine, ...]
    lists: NDArray[np.float64] | None = None

    def only(self, keep: NDArray[np.bool_]) -> "BlockRows":
        """The rows to keep (n,)."""
        if keep.all():
            return self
        return replace(
            self,
            stamp_ns=self.stamp_ns[keep],
            clock_ns=self.clock_ns[keep],
            values=self.values[keep],
            line=self.line[keep],
            lists=None if self.lists is None else self.lists[keep],
        )

    def between(self, start: int, end: int) -> "BlockRows":
        """The rows of the lines from one up to another, with the lines counted from the first of these."""
        first, last = np.searchsorted(self.line, (start, end))
        return replace(
            self,
            stamp_ns=self.stamp_ns[first:last],
            clock_ns=self.clock_ns[first:last],
            values=self.values[first:last],
            line=self.line[first:last] - start,
            bad=tuple(bad._replace(line=bad.line - start) for bad in self.bad if start <= bad.line < end),
            lists=None if self.lists is None else self.lists[first:last],
        )

    def with_bad(self, more: tuple[BadLine, ...]) -> "BlockRows":
        """The same rows, and more lines of which something is told."""
        return replace(self, bad=tuple(sorted((*self.bad, *more))))


def short_text(text: bytes | str) -> str:
    """A faulty text as a message shows it."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text.strip())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedRows:
    """Rows of a table in time order: `rows["column"]`, `rows.columns("x", "y")`, `rows.clock("name")`.

    Args:
        dialect: names the columns.
        stamp_ns: times (n,) in ns since 1970.
        clock_ns: other columns of times (n, m).
        values: numbers (n, k), in the file's units, in the order of `dialect.numbers`.
        line: line numbers (n,) in the file, from 1.
        lists: lists behind the columns (n, m), NaN behind the end of each; (n, 0) where there are none.
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
        """Select columns of numbers.

        Args:
            names: their names.

        Returns:
            The numbers (n, len(names)).
        """
        return self.values[:, [self.dialect.numbers.index(name) for name in names]]

    def clock(self, name: str) -> NDArray[np.int64]:
        """Select another column of times.

        Args:
            name: its name.

        Returns:
            The times (n,) in ns.
        """
        return self.clock_ns[:, self.dialect.clocks.index(name) - 1]

    def has(self, *names: str) -> bool:
        """Check for columns of numbers.

        Args:
            names: their names.

        Returns:
            Whether all of them are there.
        """
        return set(names) <= set(self.dialect.numbers)

    def in_order_of(self, dialect: Dialect) -> "TimedRows":
        """Reorder the columns.

        Args:
            dialect: names the columns in their new order; the rows have all of them.

        Returns:
            The same rows.
        """
        return replace(self, dialect=dialect, values=self.columns(*dialect.numbers))

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "TimedRows":
        """Select rows.

        Args:
            chosen: a mask (n,), or indices.

        Returns:
            The selected rows.
        """
        return TimedRows(
            dialect=self.dialect,
            stamp_ns=self.stamp_ns[chosen],
            clock_ns=self.clock_ns[chosen],
            values=self.values[chosen],
            line=self.line[chosen],
            lists=self.lists[chosen],
        )


class _Filed(NamedTuple):
    """The offset of the columns of some rows in the file, and their shapes."""

    offset: int
    dialect: Dialect
    shapes: tuple[tuple[tuple[int, ...], np.dtype[Any], np.dtype[Any]], ...]  # as stored, as they were


class RowCache:
    """The rows of the tables of one archive: the first in memory, the others in a file, as long as there is room."""

    def __init__(self, max_held: int = HELD_BYTES) -> None:
        self._room = max_held  # in memory
        self._entries: list[TimedRows | _Filed] = []
        self._lock = threading.Lock()

    @cached_property
    def file(self) -> SpillFile:
        """Where the rows are that memory has no room for; OSError where no file can be."""
        return SpillFile()

    def add(self, rows: TimedRows) -> int | None:
        """Keep some rows; return their index, or None where there is no room."""
        with self._lock:
            size = sum(column.nbytes for column in _columns(rows))
            is_held = size <= self._room
            self._room -= size if is_held else self._room
            try:
                self._entries.append(rows if is_held else self._write(rows))
            except OSError:
                return None
            return len(self._entries) - 1

    def rows(self, index: int) -> TimedRows:
        """Rows by their index; safe to call from several threads."""
        rows = self._entries[index]
        return rows if isinstance(rows, TimedRows) else self._from_file(rows)

    def close(self) -> None:
        """Let go of all rows."""
        self._entries.clear()
        self.__dict__.pop("file", None)

    def _write(self, rows: TimedRows) -> _Filed:
        columns = _columns(rows)
        stored = [_compact(column) for column in columns]
        offset = self.file.append(b"".join(column.data for column in stored))
        shapes = tuple((new.shape, new.dtype, old.dtype) for new, old in zip(stored, columns, strict=True))
        return _Filed(offset, rows.dialect, shapes)

    def _from_file(self, filed: _Filed) -> TimedRows:
        offset, columns = filed.offset, []
        for shape, stored, requested in filed.shapes:
            data = self.file.read(offset, math.prod(shape) * stored.itemsize)
            columns.append(np.frombuffer(data, stored).reshape(shape).astype(requested, copy=False))
            offset += len(data)
        stamp_ns, clock_ns, values, line, lists = columns
        return TimedRows(
            dialect=filed.dialect, stamp_ns=stamp_ns, clock_ns=clock_ns, values=values, line=line, lists=lists
        )  # fmt: skip


def _columns(rows: TimedRows) -> Columns:
    return rows.stamp_ns, rows.clock_ns, rows.values, rows.line, rows.lists


def _compact(column: NDArray[Any]) -> NDArray[Any]:
    """A column in half as many bytes where its numbers are the same in these, as ranges in whole millimetres are."""
    if column.dtype == np.float64 and _fits_half(column[:SOME]) and _fits_half(column):
        return np.ascontiguousarray(column, np.float32)
    return np.ascontiguousarray(column)


def _fits_half(column: NDArray[Any]) -> bool:
    with np.errstate(over="ignore"):
        return np.array_equal(column, column.astype(np.float32), equal_nan=True)


def concatenate_rows(dialect: Dialect, parts: list[TimedRows]) -> TimedRows:
    """Concatenate the rows of several parts."""
    clocks, numbers = len(dialect.clocks) - 1, len(dialect.numbers)
    parts = [part if part.dialect.numbers == dialect.numbers else part.in_order_of(dialect) for part in parts]
    return TimedRows(
        dialect=dialect,
        stamp_ns=np.concatenate([np.zeros(0, np.int64), *(part.stamp_ns for part in parts)]),
        clock_ns=np.concatenate([np.zeros((0, clocks), np.int64), *(part.clock_ns for part in parts)]),
        values=np.concatenate([np.zeros((0, numbers)), *(part.values for part in parts)]),
        line=np.concatenate([np.zeros(0, np.int64), *(part.line for part in parts)]),
        lists=_concatenate_lists([part.lists for part in parts]),
    )


def _concatenate_lists(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Stack lists, padded with NaN to the width of the widest."""
    width = max((part.shape[1] for part in parts), default=0)
    wide = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts]
    return np.concatenate([np.zeros((0, width)), *wide])
