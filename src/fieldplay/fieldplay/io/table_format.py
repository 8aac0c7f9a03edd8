"""How a table of unknown hand is written: delimiter, header, which column is which, and in which unit it is."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from fieldplay.core.errors import ArchiveError
from fieldplay.io.delimited import cut_line_issue, rows_from_blocks, tidy_text
from fieldplay.io.table_rows import (
    IGNORED,
    TIME,
    Dialect,
    TimedRows,
    digits_of_time,
    is_clock,
)

DELIMITERS = (";", "\t", ",")  # the comma last, as it may be a decimal one
COMMENT = ("#", "%", "//")
LOOK_AT = 50  # lines
BOM = b"\xef\xbb\xbf"
ANY = "_*"  # in a layout, any number of columns to pass over
FIRST_TIME_S = 1e8  # no count of rows is as large, and no time since 1970 that is meant is smaller


SAME = {"°": " deg ", "µ": "u", "μ": "u", "²": "2", "degrees": "deg", "radians": "rad", "gauss": "g"}
BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
# What one of a unit is in the first of its kind. The same letters mean another unit in another kind.
KINDS: tuple[Mapping[str, float], ...] = (
    {"rad": 1, "deg": math.radians(1), "mrad": 1e-3},
    {"rad_s": 1, "deg_s": math.radians(1), "dps": math.radians(1)},
    {"t": 1, "g": 1e-4, "mg": 1e-7, "ut": 1e-6},
    {"pa": 1, "hpa": 100, "mbar": 100, "kpa": 1000},
    {"m": 1, "mm": 1e-3, "cm": 1e-2, "km": 1e3},
    {"m_s": 1, "mm_s": 1e-3, "cm_s": 1e-2, "km_h": 1 / 3.6},
    {"m_s2": 1, "g": 9.80665, "mg": 9.80665e-3},
)
CLOCK_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # decimal digits of a second that one of a clock's unit is
NEGATIVE_POWER = re.compile(r"\s*\*?\s*\b([a-z]+)\s*\^?\s*-([12])\b")  # `s^-1` and `s-2` are `/s` and `/s2`
USUAL_TIME = re.compile(r"(?:unix_?)?time(?:_?stamp)?|t|stamp")


class ExpectedUnit(NamedTuple):
    """The unit that a column is taken to have; one that the user chose counts more than the header."""

    unit: str
    is_chosen: bool = False


class HeaderUnits(NamedTuple):
    """The units of a header: factors that give columns the expected unit, and notes about them for the user."""

    factors: Mapping[str, float]
    notes: str


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """What is known of a table before it is seen: the orders its columns may stand in, and how headers name them.

    A layout names every column in order, `time` among them; a name that begins with `_` is passed over, and `_*` is any
    number of such columns, or none.
    `header` gives, for a column, regular expressions of its name in a header (in lower case, other signs as `_`). A
    title that is the name of a column of a layout, and `timestamp` and the like for `time`, need none.
    `ranges` gives, for a column of numbers, the least and the largest that has a meaning. `blanks` and `extract` are
    those of Dialect. Where it is usual that rows share a time (`repeated_times`) this is counted and no defect.
    `units` gives, for a column, the unit that it is taken to have where no header gives another; of a clock one of
    s, ms, us and ns, which counts where neither the size of its numbers nor the header gives one.
    """

    layouts: Sequence[Sequence[str]]
    header: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    whitespace_delimited: bool = False
    extract: Mapping[str, str] = field(default_factory=dict)
    repeated_times: bool = False
    units: Mapping[str, ExpectedUnit] = field(default_factory=dict)

    def format_from_head(self, head: bytes) -> "TableFormat":
        """How a file is written that begins so."""
        return format_from_head(head, self)


class _Columns(NamedTuple):
    names: tuple[str, ...]
    mapping: str
    factors: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """How to read the rows, where they start, and how the columns were identified."""

    dialect: Dialect
    first_byte: int
    first_line: int  # counted from 1
    mapping: str  # "header", "position", or "position, header not recognised", and what else is to be said of it
    has_known_clocks: bool = False  # its times are in the units that the header or the description names

    def rows_of(self, blocks: Sequence[bytes]) -> list[TimedRows]:
        """The rows of blocks of whole lines that follow each other."""
        return rows_from_blocks(blocks, self.dialect)

    def cut_off(self, line: bytes, before: bytes) -> str | None:
        """The reason to take the last line, which has no line end, as cut within its last number, if there is one."""
        return cut_line_issue(line, before, self.dialect)


def format_from_head(head: bytes, spec: TableSpec) -> TableFormat:
    """Detect the format from the start of a file (complete lines); ArchiveError if it has no known layout."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ArchiveError("expected text in UTF-8 or ASCII, got UTF-16")
    start = len(BOM) if head.startswith(BOM) else 0
    lines = head[start:].splitlines(keepends=True)
    texts, blanks = _texts(lines, blanks=spec.whitespace_delimited), spec.whitespace_delimited
    first = _first_row(texts)
    if first == len(texts) and not blanks:
        texts, blanks = _texts(lines, blanks=True), True
        first = _first_row(texts)
    rows = [text for text in texts[first : first + LOOK_AT] if text.strip()]
    if not rows:
        raise ArchiveError("expected rows of numbers, got none")
    delimiter, count = _delimiter(rows)
    decimal_comma = delimiter != "," and any("," in row for row in rows)
    fields = [_fields(row.replace(",", ".") if decimal_comma else row, delimiter) for row in rows]
    fields = [row for row in fields if len(row) == count]
    before = [_fields(text, delimiter) for text in reversed(texts[:first]) if text.strip()]
    columns = _columns(before, fields, spec)
    known = {**_expected_digits(spec), **_stated_digits(columns.names, before)}
    digits = _digits(columns.names, fields, known)
    first_byte = start + sum(map(len, lines[:first]))
    return TableFormat(
        dialect=Dialect(
            columns.names,
            delimiter,
            decimal_comma,
            blanks,
            extract={name: pattern for name, pattern in spec.extract.items() if name in columns.names},
            digits=digits,
            factors=columns.factors,
        ),
        first_byte=first_byte,
        first_line=1 + (head.count(b"\n", 0, first_byte) if b"\n" in head else first),
        mapping=columns.mapping,
        has_known_clocks=bool(known) and all(known.get(name) == count for name, count in digits.items()),
    )


def _texts(lines: Sequence[bytes], *, blanks: bool) -> list[str]:
    tidied = [tidy_text(line, delimiter=None) for line in lines] if blanks else lines
    return [line.decode("utf-8", "replace").strip(" \r\n") for line in tidied]


def _fields(text: str, delimiter: str) -> list[str]:
    return [part.strip(' "\t') for part in text.split(delimiter)]


def _digits(columns: Sequence[str], rows: Sequence[Sequence[str]], known: Mapping[str, int]) -> Mapping[str, int]:
    """The units of the clocks that count parts of a second, by how large their numbers are in these rows.

    Numbers that are a time of this century in no unit, as those of a clock that starts at zero, have the known one.
    """
    digits_by_column = {}
    for index, name in enumerate(columns):
        numbers = [number for row in rows if (number := _number(row[index])) is not None] if is_clock(name) else []
        digits = digits_of_time(median_low(numbers)) if numbers else None
        digits = known.get(name) if digits is None else digits
        if digits:
            digits_by_column[name] = digits
    return digits_by_column


def _stated_digits(columns: Sequence[str], before: Sequence[list[str]]) -> dict[str, int]:
    """The units of clocks that a header has in brackets, as decimal digits of a second."""
    stated = {}
    for index, name in enumerate(columns):
        titles = [titles[index] for titles in before if is_clock(name) and len(titles) == len(columns)]
        for unit in (inside.strip() for title in titles for pair in BRACKETS.findall(title) for inside in pair):
            if unit in CLOCK_DIGITS:
                stated[name] = CLOCK_DIGITS[unit]
    return stated


def _expected_digits(spec: TableSpec) -> dict[str, int]:
    """The units that clocks are taken to have, as decimal digits of a second."""
    return {name: CLOCK_DIGITS[unit] for name, (unit, _) in spec.units.items() if is_clock(name)}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _first_row(texts: Sequence[str]) -> int:
    """The index of the first line whose first field is a number."""
    for index, text in enumerate(texts):
        if not text.startswith(COMMENT) and _number(_first_field(text)) is not None:
            return index
    return len(texts)


def _first_field(text: str) -> str:
    return re.split(r"[;,\t]", text, maxsplit=1)[0].strip().strip('"')


def _delimiter(rows: Sequence[str]) -> tuple[str, int]:
    """The delimiter and the number of columns that most rows agree on; `,` last, as it may be a decimal comma."""
    best, columns, agreed = ",", 1, 0
    for delimiter in DELIMITERS:
        count, votes = Counter(row.count(delimiter) for row in rows).most_common(1)[0]
        if count > 0 and votes > agreed:
            best, columns, agreed = delimiter, count + 1, votes
    return best, columns


def _columns(before: Sequence[list[str]], rows: Sequence[list[str]], spec: TableSpec) -> _Columns:
    """The columns, and how they were recognised, from the fields of the lines before the rows, the nearest first.

    A header may have a line of units below it, or of comments. An index before the columns of the table, and what a
    delimiter at the end of each line leaves behind them, are columns to pass over.
    """
    lead = [f"{IGNORED}index"] * _have_index(before, rows, spec)
    end = [f"{IGNORED}end"] * _end_empty(before, rows, spec)
    count = len(rows[0]) - len(lead) - len(end)
    headers = [titles for titles in (_fit_titles(fields, len(lead), count) for fields in before) if titles]
    columns, mapping = _inner_columns([_titles(titles, spec) for titles in headers], count, spec)
    mapping += ", header not recognised" if before and mapping == "position" else ""
    units = units_of_titles(columns, headers, spec.units)
    notes = (", behind an index" if lead else "") + units.notes
    return _Columns((*lead, *columns, *end), mapping + notes, units.factors)


def _end_empty(before: Sequence[list[str]], rows: Sequence[list[str]], spec: TableSpec) -> bool:
    """Whether each row ends with a delimiter, behind which neither layout nor header has a column."""
    count = len(rows[0])
    if count < 2 or any(row[-1] for row in rows) or any(len(titles) == count and titles[-1] for titles in before):
        return False
    lengths = {len(_of_length(layout, count)) for layout in spec.layouts}
    shorter = {len(_of_length(layout, count - 1)) for layout in spec.layouts}
    return count - 1 in shorter or count not in lengths


def _have_index(before: Sequence[list[str]], rows: Sequence[list[str]], spec: TableSpec) -> bool:
    """Whether rows begin with their number, and the time comes behind it, where neither layout nor header knows it."""
    column_counts = range(len(rows[0]) - 2, len(rows[0]))  # columns, with an empty one at the end or without
    fits = any(len(_of_length(layout, count)) == count for layout in spec.layouts for count in column_counts)
    if len(rows[0]) < 2 or not fits or not all(is_clock(layout[0]) for layout in spec.layouts):
        return False
    if any(len(titles) == len(rows[0]) and _titles(titles, spec)[0] for titles in before):
        return False
    pairs = ((_number(row[0]), _number(row[1])) for row in rows)
    counts = [count for count, time in pairs if count is not None and time and count < FIRST_TIME_S <= time]
    rise = all(count < later for count, later in pairwise(counts))
    return 2 * len(counts) > len(rows) and rise and all(count.is_integer() for count in counts)


def _fit_titles(titles: list[str], lead: int, count: int) -> list[str] | None:
    """The titles of so many columns, without that of an index or a last one that is empty; None if others."""
    titles = titles[:-1] if len(titles) > count and not titles[-1] else titles
    titles = titles[lead:] if len(titles) == lead + count else titles
    return titles if len(titles) == count else None


def _inner_columns(headers: Sequence[list[str | None]], count: int, spec: TableSpec) -> tuple[Sequence[str], str]:
    for titles in headers:
        named = _columns_of_titles(titles, spec)
        if named is not None:
            return named, "header"
    for layout in (_of_length(layout, count) for layout in spec.layouts):
        if len(layout) == count:
            for titles in headers:
                _refuse_other_order(titles, layout)
            return layout, "position"
    expected = " or ".join(f"{len(set(layout) - {ANY})}{' and more' * (ANY in layout)}" for layout in spec.layouts)
    raise ArchiveError(f"expected {expected} columns, got {count}")


def _of_length(layout: Sequence[str], count: int) -> list[str]:
    """A layout with as many columns to pass over, where any number may be, as make it so long."""
    more = [f"{IGNORED}more_{index}" for index in range(count - len(layout) + 1)]
    return [name for column in layout for name in (more if column == ANY else [column])]


def _titles(header: list[str], spec: TableSpec) -> list[str | None]:
    """The columns that the titles of a header stand for, None where one is not understood."""
    return [_column_of_title(normal_title(title.lstrip("".join(COMMENT))), spec) for title in header]


def _columns_of_titles(titles: Sequence[str | None], spec: TableSpec) -> list[str] | None:
    """The columns as a header names them, if it names all of a layout, each once."""
    columns = [name or f"{IGNORED}{index}" for index, name in enumerate(titles)]
    known = [name for name in columns if not name.startswith(IGNORED)]
    requested = [{name for name in layout if not name.startswith(IGNORED)} for layout in spec.layouts]
    if len(set(known)) != len(known) or TIME not in known:
        return None
    return columns if any(names <= set(known) for names in requested) else None


def _refuse_other_order(titles: Sequence[str | None], layout: Sequence[str]) -> None:
    """A header of which only a part is understood must not name another order than the layout's."""
    for position, (title, column) in enumerate(zip(titles, layout, strict=True), start=1):
        if title not in (None, column) and titles.count(title) == 1 and not column.startswith(IGNORED):
            raise ArchiveError(f"expected column {position} to be {column}, got a header that calls it {title}")


def normal_title(title: str) -> str:
    """A header's title in lower case, without units in brackets, all but letters and digits as single `_`."""
    title = re.sub(r"\(.*?\)|\[.*?\]", " ", title.strip().strip('"').lower())
    return re.sub(r"[^a-z0-9]+", "_", title).strip("_")


def _column_of_title(title: str, spec: TableSpec) -> str | None:
    for name, patterns in spec.header.items():
        if title == name or any(re.fullmatch(pattern, title) for pattern in patterns):
            return name
    if TIME not in spec.header and USUAL_TIME.fullmatch(title):
        return TIME
    names = {name.lower(): name for layout in spec.layouts for name in layout if not name.startswith(IGNORED)}
    return names.get(title)


def units_of_titles(
    columns: Sequence[str], headers: Sequence[Sequence[str]], expected: Mapping[str, ExpectedUnit]
) -> HeaderUnits:
    """The units that the titles of these columns give, in any of the lines before the rows."""
    factors: dict[str, float] = {}
    notes: dict[str, list[str]] = {}
    for index, column in enumerate(columns):
        if column not in expected or is_clock(column):
            continue
        unit, is_chosen = expected[column]
        stated = next((stated for titles in headers if (stated := _unit_in(titles[index], unit))), _plain_unit(unit))
        if stated == _plain_unit(unit):
            continue
        if not is_chosen:
            kind = _kind(unit)
            factors[column] = kind[stated] / kind[_plain_unit(unit)]
        what = f"taken for {unit}, as chosen" if is_chosen else f"made {unit}"
        notes.setdefault(f"in {stated.replace('_', '/')} by the header, {what}", []).append(column)
    return HeaderUnits(factors, "".join(f"; {', '.join(names)} {text}" for text, names in notes.items()))


def _unit_in(title: str, expected: str) -> str:
    """The unit in brackets, at the end of a title, or that is all of it, if it is of the kind of the one expected."""
    title = title.lower()
    for char, plain in SAME.items():
        title = title.replace(char, plain)
    texts = [inside for pair in BRACKETS.findall(title) for inside in pair if inside]
    parts = _plain(BRACKETS.sub(" ", title)).split("_")
    endings = ("_".join(parts[-2:]), parts[-1])
    units = [plain for plain in (*map(_plain_unit, texts), *endings) if plain in _kind(expected)]
    return units[0] if units else ""


def _kind(unit: str) -> Mapping[str, float]:
    return next(kind for kind in KINDS if _plain_unit(unit) in kind)


def _plain_unit(unit: str) -> str:
    """A unit in one way of writing it: `m s^-2`, `m/s^2` and `m/s2` are `m_s2`."""
    divided = NEGATIVE_POWER.sub(lambda match: f"/{match[1]}{match[2].replace('1', '')}", unit.lower())
    return _plain(divided.replace("^", ""))


def _plain(unit: str) -> str:
    """A unit or a title in lower case, all but letters and digits as single `_`."""
    return re.sub(r"[^a-z0-9]+", "_", unit.lower()).strip("_")
