"""Logs of marked lines, `*<seconds> TYPE numbers`: each type has its columns, and perhaps a list behind them.

The star and the type may be missing. Lists may have any length, another one in every line.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay.core.timestamps import ns_from_texts
from fieldplay.io.csv_dialect import (
    COUNT,
    IGNORED,
    TIME,
    Dialect,
)
from fieldplay.io.delimited import tidy_text, without_nulls
from fieldplay.io.key_values import SHOWN
from fieldplay.io.row_cache import BadLine

Places = NDArray[np.int64]
NEWLINE, STAR = b"\n", b"*"
FIELD_A_LINE, BLANKS = bytes.maketrans(b" \t,", NEWLINE * 3), bytes.maketrans(b"\t,", b"  ")
LONGEST = 64  # characters of a field that are looked at where it is a text
NOTHING: NDArray[np.float64] = np.zeros(0)
SCHEMA = {"value": polars.Float64()}
TYPE = "type"  # the column that tells, where a table has several types, which it is, in the description's order
ANY = "any"


@dataclass(frozen=True, kw_only=True)
class MarkedLines:
    """What stands behind the time: for each type of line its columns, a name that begins with `_` being passed over.

    `values`: so many more numbers follow; as many as a column of this name says; or `any` number of them, at least one.
    `angles`: the columns of the first value's angle, of the step to the next, and of the last one's, to be compared.
    A type without a name takes all lines, whatever word they have. Types may be written in any case. A line is left
    out whose angles lead beyond a whole `turn`, or nowhere, or that has none of its `choices` in a column.
    `covariance`: the numbers that follow are one of so many rows. Where it is not there, or not whole, or has a
    negative variance, this is told, what is wrong in it is NaN, and the row is kept.
    """

    types: Mapping[str, tuple[str, ...]]
    values: int | str = 0
    angles: tuple[str, ...] = ()
    turn: float = np.inf
    choices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    covariance: int = 0

    def __post_init__(self) -> None:
        wanted = [*self.angles, *([self.values] if isinstance(self.values, str) and self.values != ANY else [])]
        for name in wanted:
            if not all(name in columns for columns in self.types.values()):
                raise ValueError(f"expected a column of all types, got '{name}'")
        if len(self.angles) not in (0, 3) or (len(self.types) > 1 and "" in self.types) or not self.types:
            raise ValueError("expected types, one without a name only alone, and three columns of angles or none")
        if not set(self.choices) <= set(self.columns):
            raise ValueError(f"choices: expected columns, got {', '.join(self.choices)}")
        if self.covariance and self.values != self.covariance**2:
            raise ValueError(f"expected {self.covariance**2} values of a covariance, got {self.values}")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of all types, each once."""
        every = (name for columns in self.types.values() for name in columns if not name.startswith(IGNORED))
        return tuple(dict.fromkeys(every))

    @cached_property
    def dialect(self) -> Dialect:
        """What the rows hold: the type where there are several, all columns, the count of the list if there is one."""
        kind = (TYPE,) if len(self.types) > 1 else ()
        count = (COUNT,) if self.values else ()
        return Dialect((TIME, *kind, *self.columns, *count), " ")

    @cached_property
    def places(self) -> Places:
        """The place of each column (types, columns) among those of its type, -1 where the type has it not."""
        return np.array(
            [[own.index(name) if name in own else -1 for name in self.columns] for own in self.types.values()],
            np.int64,
        ).reshape(len(self.types), len(self.columns))

    @cached_property
    def widths(self) -> Places:
        """How many columns each type (types,) has, those that are passed over included."""
        return np.array([len(columns) for columns in self.types.values()], np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkedFields:
    """All k fields of a block, and the n lines of it that are not blank.

    Of a field: where its text begins and ends, and its number, NaN where it is none. Of a line: its place in the block,
    counted from 0, its first field, and how many it has.
    """

    text: bytes
    begin: Places
    end: Places
    value: NDArray[np.float64]
    line: Places
    first: Places
    count: Places

    def texts(self, fields: Places) -> NDArray[np.bytes_]:
        """The texts of some fields (n,)."""
        begin, size = self.begin[fields], self.end[fields] - self.begin[fields]
        width = min(int(size.max(initial=1)), LONGEST) or 1
        places = begin[:, None] + np.arange(width)
        letters = np.frombuffer(self.text + bytes(1), np.uint8)[np.minimum(places, len(self.text))]
        letters[np.arange(width) >= size[:, None]] = 0
        letters[size > LONGEST] = 0  # of which a part could be another number
        found: NDArray[np.bytes_] = np.ascontiguousarray(letters).view(f"S{width}")[:, 0]
        return found

    def shown(self, field: int) -> str:
        """The text of one field, to be shown."""
        return self.text[self.begin[field] : self.end[field]].decode("utf-8", "replace")

    def line_shown(self, row: int) -> str:
        """The text of a line, to be shown."""
        first, last = self.first[row], self.first[row] + self.count[row] - 1
        return self.text[self.begin[first] : self.end[last]].translate(BLANKS).decode("utf-8", "replace")


def fields_from_block(block: bytes) -> MarkedFields:
    """The fields of a block of whole lines, parted by blanks, tabs and commas; a star before a line is none."""
    block = without_nulls(block)
    text = block if not block or block.endswith(NEWLINE) else block + NEWLINE
    if b"\r" in text:
        text = text.replace(b"\r\n", NEWLINE)
    flat = text.translate(FIELD_A_LINE)
    fields = _places(text, flat)
    if (fields.end == fields.begin).any():  # signs beside each other, or a star alone: few logs have them
        text = _tidy(text)
        flat = text.translate(FIELD_A_LINE)
        fields = _places(text, flat)
    value = _numbers(flat)
    if len(value) != len(fields.end):
        raise AssertionError(f"{len(fields.end)} fields were read as {len(value)}")
    return replace(fields, value=value)


def _places(text: bytes, flat: bytes) -> MarkedFields:
    """The fields without their numbers, from the text and the same with a field a line."""
    letters = np.frombuffer(text, np.uint8)
    end = np.flatnonzero(np.frombuffer(flat, np.uint8) == NEWLINE[0])
    begin = np.concatenate([np.zeros(min(len(end), 1), np.int64), end[:-1] + 1])
    last = np.flatnonzero(letters[end] == NEWLINE[0])
    first = np.concatenate([np.zeros(min(len(last), 1), np.int64), last[:-1] + 1])
    begin[first] += letters[begin[first]] == STAR[0]
    line = np.flatnonzero((last > first) | (end[last] > begin[first]))
    return MarkedFields(
        text=text, begin=begin, end=end, value=NOTHING, line=line, first=first[line], count=(last - first + 1)[line]
    )


def _tidy(text: bytes) -> bytes:
    """The lines where they were, one comma between fields, none behind the last, the star before the first one.

    An empty field between two commas stays one.
    """
    text = NEWLINE + tidy_text(text, delimiter=None)
    return text.replace(b"\n*,", b"\n*").replace(b",\n", NEWLINE)[1:]


def _numbers(flat: bytes) -> NDArray[np.float64]:
    """The number in each line, NaN where there is none."""
    if not flat:
        return np.zeros(0)
    frame = polars.read_csv(
        io.BytesIO(flat),
        has_header=False,
        separator="\t",
        schema=SCHEMA,
        ignore_errors=True,
        quote_char=None,
        encoding="utf8-lossy",
    )
    return np.asarray(frame["value"].fill_null(np.nan).to_numpy(), np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkedTexts:
    """Lines in their order: times (n,), the text behind each, empty where there is none, and lines (n,) from 0."""

    stamp_ns: NDArray[np.int64]
    texts: tuple[str, ...]
    line: NDArray[np.int64]
    bad: tuple[BadLine, ...]


def texts_from_lines(block: bytes, kind: str = "") -> MarkedTexts:
    """Lines of a time, perhaps the word `kind` in any case, and a text without blanks or nothing."""
    fields = fields_from_block(block)
    stamp_ns, is_time = ns_from_texts(fields.texts(fields.first))
    texts: list[str] = []
    bad: list[BadLine] = []
    kept: list[int] = []
    for row, good in enumerate(is_time.tolist()):
        text, fault = _text(fields, row, kind) if good else ("", _no_time(fields, row))
        if fault is None:
            kept.append(row)
            texts.append(text)
        else:
            bad.append(fault)
    return MarkedTexts(stamp_ns=stamp_ns[kept], texts=tuple(texts), line=fields.line[kept], bad=tuple(bad))


def _text(fields: MarkedFields, row: int, kind: str) -> tuple[str, BadLine | None]:
    first, count = int(fields.first[row]), int(fields.count[row])
    words = [fields.shown(index) for index in range(first + 1, first + min(count, 4))]
    has_kind = bool(kind) and [word.upper() for word in words[:1]] == [kind.upper()]
    rest = words[has_kind:]
    if len(rest) > 1 or (has_kind and not rest):
        problem = "short_row" if not rest else "long_row"
        shown = fields.line_shown(row)[:SHOWN]
        return "", BadLine(int(fields.line[row]), problem, f"expected a time, {kind or 'a word'} and a name: '{shown}'")
    return (rest[0] if rest else ""), None


def _no_time(fields: MarkedFields, row: int) -> BadLine:
    got = fields.shown(int(fields.first[row]))[:SHOWN]
    return BadLine(int(fields.line[row]), "not_a_number", f"column time: expected a time in seconds, got '{got}'")
