"""Blocks of delimited text become rows of numbers; other lines are separated and explained."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import LARGEST_INTEGER_PART, ns_from_texts
from fieldplay.io.table_rows import (
    IGNORED,
    BadLine,
    Dialect,
    TimedRows,
    digits_of_time,
    in_seconds,
    is_clock,
    short_text,
    unit_of_digits,
)

if TYPE_CHECKING:
    import polars

LOOK_AT = 50  # rows before


LONGEST_TIME = 64  # characters
NO_NUMBER = b"\x1a"
COUNTED = 1 << 16  # bytes that are compared at once: more would take new memory each time


def rows_from_blocks(blocks: Sequence[bytes], dialect: Dialect) -> list[TimedRows]:
    """Parse consecutive blocks of whole lines together, as each call of the parser is expensive.

    Args:
        blocks: bytes of whole lines.
        dialect: delimiter and columns.

    Returns:
        The rows of each block, with the lines that are none.
    """
    text = b"".join(blocks)
    counts = [count_char(block, b"\n") for block in blocks]
    if len(blocks) == 1 or b"\r" in text or any(not block.endswith(b"\n") for block in blocks[:-1]):
        return [rows_from_block(block, dialect) for block in blocks]
    rows, starts = rows_from_block(text, dialect), [0, *accumulate(counts[:-1]), sum(counts) + 1]
    return [rows.between(start, end) for start, end in pairwise(starts)]


def rows_from_block(block: bytes, dialect: Dialect) -> TimedRows:
    """Parse a block of whole lines.

    Columns are parsed at once where every line is regular; otherwise line by line, to say what is wrong with each.

    Args:
        block: bytes of whole lines; the last may lack its line end.
        dialect: delimiter and columns.

    Returns:
        The rows, and the lines that are none.
    """
    block = tidy_text(_plain(block), delimiter=None if dialect.whitespace_delimited else dialect.delimiter)
    lines = count_char(block, b"\n") + (not block.endswith(b"\n") and bool(block))
    is_regular = _is_regular(block, dialect, lines) and b"\r" not in block
    frame = _parse(block, dialect) if is_regular else None
    if frame is not None and frame.height == lines and not _has_null(frame, dialect):
        return _validate_rows(frame, np.arange(lines), (), dialect, block)
    return _rows_line_by_line(block, dialect)


def without_nulls(text: bytes) -> bytes:
    """Replace zero bytes, which NumPy would take for the end of a text, by a character that occurs in no number.

    Args:
        text: any bytes.

    Returns:
        Text of the same length.
    """
    return text.replace(b"\0", NO_NUMBER) if b"\0" in text else text


def _plain(block: bytes) -> bytes:
    return without_nulls(block.replace(b"\r\n", b"\n") if b"\r" in block else block)


def lines_of(block: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers from 0, the empty ones left out; a carriage return alone ends one, too.

    What is numbered is what a line feed ends, as the whole file is counted so; where there is none, all lines.
    """
    if b"\n" not in block:
        yield from ((number, line) for number, line in enumerate(block.split(b"\r")) if line.strip())
        return
    for number, line in enumerate(block.split(b"\n")):
        yield from ((number, part) for part in line.split(b"\r") if part.strip())


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


def count_char(text: bytes, char: bytes) -> int:
    """Count one byte in a text; where it is frequent, bytes.count takes seven times as long."""
    chars = np.frombuffer(text, np.uint8)
    parts = (chars[start : start + COUNTED] for start in range(0, len(chars), COUNTED))
    return sum(int(np.count_nonzero(part == char[0])) for part in parts)


def _is_regular(block: bytes, dialect: Dialect, lines: int) -> bool:
    return count_char(block, dialect.delimiter.encode()) == (len(dialect.columns) - 1) * lines


def _parse(block: bytes, dialect: Dialect) -> "polars.DataFrame | None":
    """The fields, null where one is no number; None where the first line has another number of fields."""
    import polars

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


def _has_null(frame: "polars.DataFrame", dialect: Dialect) -> bool:
    return any(frame[name].null_count() for name in (*dialect.clocks, *dialect.numbers))


def _rows_line_by_line(block: bytes, dialect: Dialect) -> TimedRows:
    """Leave out the lines with another number of fields, then parse the rest together."""
    delimiter, expected = dialect.delimiter.encode(), len(dialect.columns)
    lines: list[bytes] = []
    numbers: list[int] = []
    bad: list[BadLine] = []
    for number, line in lines_of(block):
        fields = line.count(delimiter) + 1
        if fields != expected:
            kind = "short_row" if fields < expected else "long_row"
            bad.append(BadLine(number, kind, f"expected {expected} columns, got {fields}: '{short_text(line)}'"))
        else:
            lines.append(line)
            numbers.append(number)
    rest = b"\n".join(lines)
    frame = _parse(rest, dialect)
    if frame is None or frame.height != len(lines):
        raise AssertionError("lines of one width were not parsed as such")
    return _validate_rows(frame, np.array(numbers, np.int64), tuple(bad), dialect, rest)


def _validate_rows(
    frame: "polars.DataFrame", line: NDArray[np.int64], bad: tuple[BadLine, ...], dialect: Dialect, block: bytes
) -> TimedRows:
    """Leave out the rows with an invalid time or number, with an issue for each."""
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
    complete = good if finite.all() else good & finite.all(axis=1)
    clock_ns = np.stack(times[1:], axis=1) if times[1:] else np.zeros((frame.height, 0), np.int64)
    rows = TimedRows(dialect=dialect, stamp_ns=times[0], clock_ns=clock_ns, values=values, line=line, bad=bad)
    if complete.all():
        return rows
    lines = block.splitlines()
    issues = [issue for row in np.flatnonzero(~complete) for issue in _line_issues(int(line[row]), lines[row], dialect)]
    if dialect.partial:
        rows = replace(rows, values=np.where(finite, values, np.nan))
    return replace(rows.only(good if dialect.partial else complete), bad=tuple(sorted((*bad, *issues))))


def _fixed_width(texts: "polars.Series") -> NDArray[np.bytes_]:
    """Texts (n,) as NumPy has them; at once where all are as long, as texts of times mostly are."""
    lengths = texts.str.len_bytes()
    if (lengths > LONGEST_TIME).any():  # as wide as that would be all
        texts = texts.set(lengths > LONGEST_TIME, "")
        lengths = texts.str.len_bytes()
    if lengths.max() and lengths.min() == lengths.max() and not texts.null_count():
        joined: bytes = texts.str.join("").item().encode()
        return np.frombuffer(joined, np.dtype((np.bytes_, len(joined) // len(texts))))
    import polars

    return np.array(texts.cast(polars.Binary).fill_null(b"").to_list(), dtype=np.bytes_)


def _line_issues(number: int, line: bytes, dialect: Dialect) -> list[BadLine]:
    """The issues of a line: the first one, or all of them where the rest of it is kept."""
    issues = list(_field_issues(number, line, dialect))
    if not issues:
        return [BadLine(number, "not_a_number", f"expected numbers, got '{short_text(line)}'")]
    return issues if dialect.partial else issues[:1]


def _field_issues(number: int, line: bytes, dialect: Dialect) -> Iterator[BadLine]:
    for name, part in zip(dialect.columns, line.split(dialect.delimiter.encode()), strict=True):
        if name.startswith(IGNORED):
            continue
        text = _number_in(name, part.decode("utf-8", "replace").strip(), dialect)
        requested = f"a time in {unit_of_digits(dialect.digits.get(name, 0))}" if is_clock(name) else "a number"
        try:
            value = float(text.replace(",", ".") if dialect.decimal_comma else text)
        except ValueError:
            got = "nothing" if not text else f"'{short_text(part)}'"
            yield BadLine(number, "not_a_number", f"column {name}: expected {requested}, got {got}")
            continue
        if not math.isfinite(value):
            yield BadLine(number, "not_finite", f"column {name}: expected {requested}, got '{text}'")
        elif is_clock(name) and abs(value) / 10 ** dialect.digits.get(name, 0) > LARGEST_INTEGER_PART:
            looks = digits_of_time(value)
            why = "none" if looks is None else f"one in {unit_of_digits(looks)}"
            yield BadLine(
                number, "implausible_time", f"column {name}: expected {requested}, got {text}, which is {why}"
            )


def _number_in(name: str, text: str, dialect: Dialect) -> str:
    """The part of a field's text that is the number."""
    match = re.search(dialect.extract[name], text) if name in dialect.extract else None
    return match.group(1) if match else text


def cut_line_issue(line: bytes, before: bytes, dialect: Dialect) -> str | None:
    """Decide whether a last line without a line end was cut off.

    Its last number must have as many decimals as that of some row before it or, where those have none, as many digits.
    A column that is ignored, or whose number is taken out of a text, does not count.

    Args:
        line: the last line.
        before: the text before it.
        dialect: delimiter and columns.

    Returns:
        The reason to take it as cut off; None where it looks complete, or is not a row.
    """
    name = dialect.columns[-1]
    last = _last_field(line, dialect)
    if last is None or name.startswith(IGNORED) or name in dialect.extract:
        return None
    fields = [_last_field(other, dialect) for other in before.splitlines()[-LOOK_AT:]]
    others = [field for field in fields if field]
    point = "," if dialect.decimal_comma else "."
    what, measure = ("decimals", _decimals) if any(point in field for field in others) else ("digits", _digits)
    fewest = min((measure(field, point) for field in others), default=0)
    if measure(last, point) >= fewest:
        return None
    expected = f"expected {fewest} {what} or more, as in the rows before, got '{last}'"
    return f"column {name}: {expected}; the file ends here, without a line end"


def _last_field(line: bytes, dialect: Dialect) -> str | None:
    """The text of a row's last number; None where a line has not as many fields as a row."""
    delimiter = dialect.delimiter
    text = tidy_text(line, delimiter=None if dialect.whitespace_delimited else delimiter).decode("utf-8", "replace")
    return text.rpartition(delimiter)[2] if text.count(delimiter) == len(dialect.columns) - 1 else None


def _decimals(text: str, point: str) -> int:
    return len(text.partition(point)[2])


def _digits(text: str, _: str) -> int:
    return len(text.lstrip("+-"))
