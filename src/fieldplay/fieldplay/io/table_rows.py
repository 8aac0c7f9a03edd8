"""The rows of tables: their columns, parsed rows, and the cache of rows."""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.io.spill_file import SpillFile

if TYPE_CHECKING:
    import polars

SHOWN = 40  # characters of a faulty text that a message shows
HELD_BYTES = 1 << 23  # of the rows of all tables of an archive; the others go to a file
SOME = 8  # rows that show that numbers do not fit half as many bytes
TIME = "time"
COUNT = "count"  # the column with how many numbers a row's list has
IGNORED = "_"  # how the names of columns begin that nothing is read from, whatever they hold
UNITS = {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}  # by their decimal digits of a second
PLAIN = r"^\s*(?<whole>[0-9]+)(?:\.(?<rest>[0-9]*))?\s*$"
WITH_EXPONENT = r"^\s*(?<mantissa>[+-]?[0-9]*\.?[0-9]*)[eE](?<exponent>[+-]?[0-9]{1,3})\s*$"
EARLIEST_S, LATEST_S = 946_684_800, 4_102_444_800  # of this century
NO_LISTS = np.zeros((0, 0))

Columns = tuple[NDArray[Any], ...]


# How a table writes its rows: which columns it has, and in which unit its clocks count.


@dataclass(frozen=True)
class Dialect:
    """How a table writes its rows: a column `time`, perhaps other clocks, numbers, and columns that are ignored.

    Args:
        columns: names in the order of the file; those that start with `_` are ignored.
        delimiter: between fields.
        decimal_comma: whether numbers have a comma for a point.
        whitespace_delimited: blanks separate fields too, as in the logs of some robots.
        extract: by column, a regular expression whose first group is the number in its text.
        partial: keep a row with a cell that is not a number, with NaN there; the cell is reported.
        digits: by clock that counts parts of a second, how many decimal digits these are: 3, 6 or 9.
        factors: by column in another unit than it should have, what its numbers are multiplied by.
    """

    columns: tuple[str, ...]  # in the order of the file
    delimiter: str
    decimal_comma: bool = False
    whitespace_delimited: bool = False
    extract: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    digits: Mapping[str, int] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of plain numbers, in the order of the file."""
        return tuple(name for name in self.columns if not (is_clock(name) or name.startswith(IGNORED)))

    @cached_property
    def clocks(self) -> tuple[str, ...]:
        """The columns of times, that of the rows first."""
        return (TIME, *(name for name in self.columns if is_clock(name) and name != TIME))


def is_clock(column: str) -> bool:
    """Check whether a column holds times, which are parsed exactly.

    Args:
        column: its name.

    Returns:
        Whether it is `time`, or ends with `_time`.
    """
    return column == TIME or (column.endswith(f"_{TIME}") and not column.startswith(IGNORED))


def unit_of_digits(digits: int) -> str:
    """Name a unit of time.

    Args:
        digits: its decimal digits of a second: 0, 3, 6 or 9.

    Returns:
        Its name.
    """
    return UNITS[digits]


def digits_of_time(number: float) -> int | None:
    """By which unit a number is a time since 1970 of this century, as decimal digits of a second; None by no one."""
    return next((digits for digits in UNITS if EARLIEST_S <= number / 10**digits < LATEST_S), None)


def in_seconds(texts: "polars.Series", digits: int) -> "polars.Series":
    """Texts (n,) of numbers in such a unit as texts of seconds, digit for digit; null where one is no number."""
    if not digits:
        return texts
    import polars

    parts = texts.to_frame("text").select(
        polars.col("text").str.extract_groups(PLAIN).struct.unnest(),
        polars.col("text").str.extract_groups(WITH_EXPONENT).struct.unnest(),
    )
    whole = polars.col("whole").str.zfill(digits + 1)
    plain = whole.str.head(-digits) + "." + whole.str.tail(digits) + polars.col("rest").fill_null("")
    exponent = (polars.col("exponent").cast(polars.Int64) - digits).cast(polars.String)
    return parts.select(polars.coalesce(plain, polars.col("mantissa") + "e" + exponent)).to_series()


# Rows, and lines that are none.


class BadLine(NamedTuple):
    """A line of a block, counted from 0, that is no row."""

    line: int
    kind: str
    message: str


def short_text(text: bytes | str) -> str:
    """A faulty text as a message shows it."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text.strip())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedRows:
    """Rows of a table: `rows["column"]`, `rows.columns("x", "y")`, `rows.clock("name")`.

    A parser gives them in the order of its block, with the lines that are no rows; a table in time order, without.

    Args:
        dialect: names the columns.
        stamp_ns: times (n,) in ns since 1970.
        clock_ns: other columns of times (n, m).
        values: numbers (n, k), in the file's units, in the order of `dialect.numbers`.
        line: line numbers (n,): in the file, from 1; of a parser in its block, from 0.
        lists: lists behind the columns (n, m), NaN behind the end of each; (n, 0) where there are none.
        bad: messages about lines that are not rows, and about rows with defective cells that are kept.
    """

    dialect: Dialect
    stamp_ns: NDArray[np.int64]
    clock_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    line: NDArray[np.int64]
    lists: NDArray[np.float64] = field(default_factory=lambda: NO_LISTS)
    bad: tuple[BadLine, ...] = ()

    def __post_init__(self) -> None:
        if self.lists is NO_LISTS:
            object.__setattr__(self, "lists", np.zeros((len(self.stamp_ns), 0)))

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

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "TimedRows":
        """Select rows.

        Args:
            chosen: a mask (n,), indices, or a slice.

        Returns:
            The selected rows, with all bad lines.
        """
        if isinstance(chosen, np.ndarray) and chosen.dtype == bool and chosen.all():
            return self
        return replace(
            self,
            stamp_ns=self.stamp_ns[chosen],
            clock_ns=self.clock_ns[chosen],
            values=self.values[chosen],
            line=self.line[chosen],
            lists=self.lists[chosen],
        )

    def between(self, start: int, end: int) -> "TimedRows":
        """Select rows of a parser, in the order of their lines.

        Args:
            start: the first line, which the lines of the result are counted from.
            end: the line behind the last one.

        Returns:
            The rows and the bad lines between.
        """
        first, last = np.searchsorted(self.line, (start, end))
        rows = self.only(slice(int(first), int(last)))
        bad = tuple(bad._replace(line=bad.line - start) for bad in self.bad if start <= bad.line < end)
        return replace(rows, line=rows.line - start, bad=bad)

    def with_bad(self, more: tuple[BadLine, ...]) -> "TimedRows":
        """Add issues.

        Args:
            more: further bad lines.

        Returns:
            The same rows, with all bad lines in order.
        """
        return replace(self, bad=tuple(sorted((*self.bad, *more))))

    def in_time_order(self) -> "TimedRows":
        """Sort the rows by time; those of one time stay in their order.

        Returns:
            The sorted rows.
        """
        if (np.diff(self.stamp_ns) >= 0).all():
            return self
        return self.only(np.argsort(self.stamp_ns, kind="stable"))


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


# How rows are found in a file, whatever its kind.


class RowsFormat(Protocol):
    """The form of the rows of one file, and where they start; see TableFormat."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def first_byte(self) -> int: ...
    @property
    def first_line(self) -> int: ...
    @property
    def mapping(self) -> str: ...
    def rows_of(self, blocks: Sequence[bytes]) -> list[TimedRows]: ...
    def cut_off(self, line: bytes, before: bytes) -> str | None: ...


class RowsSpec(Protocol):
    """What the description states about a file of rows; see TableSpec."""

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def repeated_times(self) -> bool: ...
    def format_from_head(self, head: bytes) -> RowsFormat: ...


# Rows as they are kept, in bounded memory.


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
