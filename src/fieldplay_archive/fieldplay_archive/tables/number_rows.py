"""Blocks of delimited text become rows of numbers; a line that is no such row is told apart and explained."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay_archive.tables.clock_units import digits_of_time, in_seconds, unit_of_digits
from fieldplay_messages.stamps import LARGEST_INTEGER_PART, ns_from_texts

SHOWN = 40  # characters of a faulty text that a message shows
COUNTED = 1 << 16  # bytes that are compared at once: more would take new memory each time


TIME = "time"
COUNT = "count"  # the column that tells how many numbers a row's list has
IGNORED = "_"  # how the names of columns begin that nothing is read from, whatever they hold


@dataclass(frozen=True)
class Dialect:
    """How a table writes its rows: a column named `time`, perhaps other clocks, numbers, and columns to pass over.

    With `blanks` the delimiter is the comma, and blanks part fields as well, as in the logs of some robots. `extract`
    gives, for a column, the regular expression whose first group is the number in its text. With `partial` a row of
    which a number is none is kept, with NaN in its place; it is a fault all the same. `digits` gives, for a clock that
    counts parts of a second, how many decimal digits of a second they are: 3, 6 or 9; for others it is 0. `factors`
    gives, for a column in another unit than it should have, what its numbers are multiplied by.
    """

    columns: tuple[str, ...]  # in the order of the file
    delimiter: str
    decimal_comma: bool = False
    blanks: bool = False
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
    """Whether a column holds times, to be read exactly: `time`, or another that ends so, as `device_time`."""
    return column == TIME or (column.endswith(f"_{TIME}") and not column.startswith(IGNORED))


class BadLine(NamedTuple):
    """A line of a block, counted from 0, that is no row."""

    line: int
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberRows:
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

    def only(self, keep: NDArray[np.bool_]) -> "NumberRows":
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

    def between(self, begin: int, end: int) -> "NumberRows":
        """The rows of the lines from one up to another, with the lines counted from the first of these."""
        first, last = np.searchsorted(self.line, (begin, end))
        return replace(
            self,
            stamp_ns=self.stamp_ns[first:last],
            clock_ns=self.clock_ns[first:last],
            values=self.values[first:last],
            line=self.line[first:last] - begin,
            bad=tuple(bad._replace(line=bad.line - begin) for bad in self.bad if begin <= bad.line < end),
            lists=None if self.lists is None else self.lists[first:last],
        )

    def with_bad(self, more: tuple[BadLine, ...]) -> "NumberRows":
        """The same rows, and more lines of which something is told."""
        return replace(self, bad=tuple(sorted((*self.bad, *more))))


def rows_from_blocks(blocks: Sequence[bytes], dialect: Dialect) -> list[NumberRows]:
    """The rows of blocks of whole lines that follow each other: parsed at once, as each call of a parser costs much."""
    text = b"".join(blocks)
    counts = [count_of(block, b"\n") for block in blocks]
    if len(blocks) == 1 or b"\r" in text or any(not block.endswith(b"\n") for block in blocks[:-1]):
        return [rows_from_block(block, dialect) for block in blocks]
    rows, begins = rows_from_block(text, dialect), [0, *accumulate(counts[:-1]), sum(counts) + 1]
    return [rows.between(begin, end) for begin, end in pairwise(begins)]


def rows_from_block(block: bytes, dialect: Dialect) -> NumberRows:
    """The rows of a block of whole lines."""
    block = tidy_text(block, delimiter=None if dialect.blanks else dialect.delimiter)
    lines = count_of(block, b"\n") + (not block.endswith(b"\n") and bool(block))
    frame = _parse(block, dialect) if _is_regular(block, dialect, lines) else None
    if frame is not None and frame.height == lines and not _has_null(frame, dialect):
        return _checked(frame, np.arange(lines), (), dialect, block)
    return _rows_line_by_line(block, dialect)


def tidy_text(text: bytes, *, delimiter: str | None) -> bytes:
    """Text without the blanks and quotes around its fields; with None, where blanks part fields too, commas for those.

    A blank beside a delimiter, another blank or the end of a line parts nothing. What stands within a field stays, for
    `68 77` is no number. The lines stay where they are.
    """
    if delimiter is not None:
        return _without_quotes(text, delimiter.encode()) if b" " in text or b'"' in text or b"\t" in text else text
    return _without_blanks(text.replace(b"\t", b" "), b",").replace(b" ", b",")


def _without_quotes(text: bytes, delimiter: bytes) -> bytes:
    if delimiter != b"\t":
        text = text.replace(b"\t", b" ")
    text = _without_blanks(text, delimiter)
    if b'"' not in text:
        return text
    for end in (delimiter, b"\n"):
        text = text.replace(end + b'"', end).replace(b'"' + end, end)
    return _without_blanks(text.removeprefix(b'"').removesuffix(b'"'), delimiter)


def _without_blanks(text: bytes, delimiter: bytes) -> bytes:
    """Without blanks beside delimiters and the ends of lines; of several in a row one."""
    text = text.replace(b"\r\n", b"\n")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    for end in (delimiter, b"\n"):
        text = text.replace(b" " + end, end).replace(end + b" ", end)
    return text.strip(b" ")


def count_of(text: bytes, sign: bytes) -> int:
    """How often one byte is in a text; where it is there often, bytes.count takes seven times as long."""
    signs = np.frombuffer(text, np.uint8)
    parts = (signs[begin : begin + COUNTED] for begin in range(0, len(signs), COUNTED))
    return sum(int(np.count_nonzero(part == sign[0])) for part in parts)


def _is_regular(block: bytes, dialect: Dialect, lines: int) -> bool:
    return count_of(block, dialect.delimiter.encode()) == (len(dialect.columns) - 1) * lines


def _parse(block: bytes, dialect: Dialect) -> polars.DataFrame | None:
    """The fields, null where one is no number; None where the first line has another number of fields."""
    plain = set(dialect.numbers) - set(dialect.extract)
    schema = {name: polars.Float64() if name in plain else polars.String() for name in dialect.columns}
    try:
        frame = (
            polars.read_csv(
                io.BytesIO(block),
                has_header=False,
                separator=dialect.delimiter,
                schema=schema,
                ignore_errors=True,
                quote_char=None,
                encoding="utf8-lossy",
                decimal_comma=dialect.decimal_comma,
            )
            if block
            else polars.DataFrame(schema=schema)
        )
    except polars.exceptions.PolarsError:
        return None
    texts = {name: polars.col(name).str.extract(pattern, 1) for name, pattern in dialect.extract.items()}
    if not texts:
        return frame
    return frame.with_columns(**{name: text.cast(polars.Float64, strict=False) for name, text in texts.items()})


def _has_null(frame: polars.DataFrame, dialect: Dialect) -> bool:
    return any(frame[name].null_count() for name in (*dialect.clocks, *dialect.numbers))


def _rows_line_by_line(block: bytes, dialect: Dialect) -> NumberRows:
    """Sort out the lines with another number of fields, then parse the rest together."""
    delimiter, expected = dialect.delimiter.encode(), len(dialect.columns)
    kept: list[bytes] = []
    numbers: list[int] = []
    bad: list[BadLine] = []
    for number, line in enumerate(block.splitlines()):
        if not line.strip():
            continue
        fields = line.count(delimiter) + 1
        if fields != expected:
            kind = "short_row" if fields < expected else "long_row"
            bad.append(BadLine(number, kind, f"expected {expected} columns, got {fields}: '{_shown(line)}'"))
        else:
            kept.append(line)
            numbers.append(number)
    rest = b"\n".join(kept)
    frame = _parse(rest, dialect)
    if frame is None or frame.height != len(kept):
        raise AssertionError("lines of one width were not parsed as such")
    return _checked(frame, np.array(numbers, np.int64), tuple(bad), dialect, rest)


def _checked(
    frame: polars.DataFrame, line: NDArray[np.int64], bad: tuple[BadLine, ...], dialect: Dialect, block: bytes
) -> NumberRows:
    """Leave out the rows with a time or number that is none, and say for each why."""
    good = np.ones(frame.height, bool)
    times = []
    for name in dialect.clocks:
        texts = frame[name].str.replace(",", ".", literal=True) if dialect.decimal_comma else frame[name]
        ns, is_time = ns_from_texts(_fixed_width(in_seconds(texts, dialect.digits.get(name, 0))))
        times.append(ns)
        good &= is_time
    columns = [frame[name].to_numpy() for name in dialect.numbers]
    values = np.stack(columns, axis=1) if columns else np.zeros((frame.height, 0))
    if dialect.factors:
        values = values * np.array([dialect.factors.get(name, 1.0) for name in dialect.numbers])
    finite = np.isfinite(values)
    whole = good if finite.all() else good & finite.all(axis=1)
    clock_ns = np.stack(times[1:], axis=1) if times[1:] else np.zeros((frame.height, 0), np.int64)
    rows = NumberRows(stamp_ns=times[0], clock_ns=clock_ns, values=values, line=line, bad=bad)
    if whole.all():
        return rows
    lines = block.splitlines()
    faults = [fault for row in np.flatnonzero(~whole) for fault in _faults(int(line[row]), lines[row], dialect)]
    if dialect.partial:
        rows = replace(rows, values=np.where(finite, values, np.nan))
    return replace(rows.only(good if dialect.partial else whole), bad=tuple(sorted((*bad, *faults))))


def _fixed_width(texts: polars.Series) -> NDArray[np.bytes_]:
    """Texts (n,) as NumPy has them; at once where all are as long, as texts of times mostly are."""
    lengths = texts.str.len_bytes()
    if lengths.max() and lengths.min() == lengths.max() and not texts.null_count():
        joined: bytes = texts.str.join("").item().encode()
        return np.frombuffer(joined, np.dtype((np.bytes_, len(joined) // len(texts))))
    return np.array(texts.cast(polars.Binary).fill_null(b"").to_list(), dtype=np.bytes_)


def _faults(number: int, line: bytes, dialect: Dialect) -> list[BadLine]:
    """What is wrong with a line: the first fault, or each of them where the rest of it is kept."""
    found = list(_faulty_fields(number, line, dialect))
    if not found:
        return [BadLine(number, "not_a_number", f"expected numbers, got '{_shown(line)}'")]
    return found if dialect.partial else found[:1]


def _faulty_fields(number: int, line: bytes, dialect: Dialect) -> Iterator[BadLine]:
    for name, part in zip(dialect.columns, line.split(dialect.delimiter.encode()), strict=True):
        if name.startswith(IGNORED):
            continue
        text = _number_in(name, part.decode("utf-8", "replace").strip(), dialect)
        wanted = f"a time in {unit_of_digits(dialect.digits.get(name, 0))}" if is_clock(name) else "a number"
        try:
            value = float(text.replace(",", ".") if dialect.decimal_comma else text)
        except ValueError:
            got = "nothing" if not text else f"'{_shown(part)}'"
            yield BadLine(number, "not_a_number", f"column {name}: expected {wanted}, got {got}")
            continue
        if not math.isfinite(value):
            yield BadLine(number, "not_finite", f"column {name}: expected {wanted}, got '{text}'")
        elif is_clock(name) and abs(value) / 10 ** dialect.digits.get(name, 0) > LARGEST_INTEGER_PART:
            looks = digits_of_time(value)
            why = "none" if looks is None else f"one in {unit_of_digits(looks)}"
            yield BadLine(number, "implausible_time", f"column {name}: expected {wanted}, got {text}, which is {why}")


def _number_in(name: str, text: str, dialect: Dialect) -> str:
    """The part of a field's text that is the number."""
    found = re.search(dialect.extract[name], text) if name in dialect.extract else None
    return found.group(1) if found else text


def _shown(text: bytes) -> str:
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in text.decode("utf-8", "replace").strip())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."
