"""Logs of marked lines, `*<seconds> TYPE numbers`: each type has its columns, and perhaps a list behind them.

The star and the type may be missing. Lists may have any length, another one in every line.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import ns_from_texts
from fieldplay.io.delimited import tidy_text, without_nulls
from fieldplay.io.key_values import SHOWN
from fieldplay.io.table_format import BOM
from fieldplay.io.table_rows import (
    COUNT,
    IGNORED,
    NO_LISTS,
    TIME,
    BadLine,
    Dialect,
    TimedRows,
    short_text,
)

Indices = NDArray[np.int64]
NEWLINE, STAR = b"\n", b"*"
FIELD_A_LINE, BLANKS = bytes.maketrans(b" \t,", NEWLINE * 3), bytes.maketrans(b"\t,", b"  ")
LONGEST = 64  # characters of a field that are looked at where it is a text
NOTHING: NDArray[np.float64] = np.zeros(0)
TYPE = "type"  # the column with the type, if a table has several, in the description's order
ANY = "any"
COMMENT = (b"#", b"%", b"//")
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
BARELY = 1e-3  # of a turn, by which angles may lead beyond it
NEARLY = 1e-6  # of the larger, by which two numbers of a covariance may differ that should be equal
LEFT_OUT = "the line is left out"


@dataclass(frozen=True, kw_only=True)
class TaggedLines:
    """The lines of a log: a time, perhaps a word for the type, and numbers.

    Args:
        types: columns by type, which may be written in any case; a name that begins with `_` is ignored. A type without
            a name, as the only one, takes all lines, whatever word they have.
        values: how many more numbers follow; or the column that says so; or `any` number of them, at least one.
        angles: columns of the first value's angle, of the step to the next, and of the last one's, which are compared.
        turn: a full turn; a line whose angles go beyond it, or nowhere, is left out.
        choices: by column, all numbers that it can have; a line with another one is left out.
        covariance: the numbers that follow are a covariance of so many rows. Where it is missing, incomplete or has a
            negative variance, this is reported, what is wrong in it becomes NaN, and the row is kept.

    Raises:
        ValueError: a column is unknown, or the numbers do not fit each other.
    """

    types: Mapping[str, tuple[str, ...]]
    values: int | str = 0
    angles: tuple[str, ...] = ()
    turn: float = np.inf
    choices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    covariance: int = 0

    def __post_init__(self) -> None:
        requested = [*self.angles, *([self.values] if isinstance(self.values, str) and self.values != ANY else [])]
        for name in requested:
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
    def column_indices(self) -> Indices:
        """The index of each column (types, columns) among those of its type, -1 where the type does not have it."""
        return np.array(
            [[own.index(name) if name in own else -1 for name in self.columns] for own in self.types.values()],
            np.int64,
        ).reshape(len(self.types), len(self.columns))

    @cached_property
    def widths(self) -> Indices:
        """How many columns each type (types,) has, those that are passed over included."""
        return np.array([len(columns) for columns in self.types.values()], np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class TaggedFields:
    """All k fields of a block, and the n lines of it that are not blank.

    Of a field: where its text begins and ends, and its number, NaN where it is none. Of a line: its place in the block,
    counted from 0, its first field, and how many it has.
    """

    text: bytes
    start: Indices
    end: Indices
    value: NDArray[np.float64]
    line: Indices
    first: Indices
    count: Indices

    def texts(self, fields: Indices) -> NDArray[np.bytes_]:
        """The texts of some fields (n,)."""
        start, size = self.start[fields], self.end[fields] - self.start[fields]
        width = min(int(size.max(initial=1)), LONGEST) or 1
        indices = start[:, None] + np.arange(width)
        letters = np.frombuffer(self.text + bytes(1), np.uint8)[np.minimum(indices, len(self.text))]
        letters[np.arange(width) >= size[:, None]] = 0
        letters[size > LONGEST] = 0  # of which a part could be another number
        texts: NDArray[np.bytes_] = np.ascontiguousarray(letters).view(f"S{width}")[:, 0]
        return texts

    def shown_field(self, field: int) -> str:
        """The text of one field, to be shown."""
        return self.text[self.start[field] : self.end[field]].decode("utf-8", "replace")

    def shown_line(self, row: int) -> str:
        """The text of a line, to be shown."""
        first, last = self.first[row], self.first[row] + self.count[row] - 1
        return self.text[self.start[first] : self.end[last]].translate(BLANKS).decode("utf-8", "replace")


def fields_from_block(block: bytes) -> TaggedFields:
    """The fields of a block of whole lines, parted by blanks, tabs and commas; a star before a line is none."""
    block = without_nulls(block)
    text = block if not block or block.endswith(NEWLINE) else block + NEWLINE
    if b"\r" in text:
        text = text.replace(b"\r\n", NEWLINE)
    flat = text.translate(FIELD_A_LINE)
    fields = _split_fields(text, flat)
    if (fields.end == fields.start).any():  # signs beside each other, or a star alone: few logs have them
        text = _tidy(text)
        flat = text.translate(FIELD_A_LINE)
        fields = _split_fields(text, flat)
    value = _numbers(flat)
    if len(value) != len(fields.end):
        raise AssertionError(f"{len(fields.end)} fields were read as {len(value)}")
    return replace(fields, value=value)


def _split_fields(text: bytes, flat: bytes) -> TaggedFields:
    """The fields without their numbers, from the text and the same with a field a line."""
    letters = np.frombuffer(text, np.uint8)
    end = np.flatnonzero(np.frombuffer(flat, np.uint8) == NEWLINE[0])
    start = np.concatenate([np.zeros(min(len(end), 1), np.int64), end[:-1] + 1])
    last = np.flatnonzero(letters[end] == NEWLINE[0])
    first = np.concatenate([np.zeros(min(len(last), 1), np.int64), last[:-1] + 1])
    start[first] += letters[start[first]] == STAR[0]
    line = np.flatnonzero((last > first) | (end[last] > start[first]))
    return TaggedFields(
        text=text, start=start, end=end, value=NOTHING, line=line, first=first[line], count=(last - first + 1)[line]
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
    import polars

    frame = polars.read_csv(
        io.BytesIO(flat),
        has_header=False,
        separator="\t",
        schema={"value": polars.Float64()},
        ignore_errors=True,
        quote_char=None,
        encoding="utf8-lossy",
    )
    return np.asarray(frame["value"].fill_null(np.nan).to_numpy(), np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class TaggedTexts:
    """Lines in their order: times (n,), the text behind each, empty where there is none, and lines (n,) from 0."""

    stamp_ns: NDArray[np.int64]
    texts: tuple[str, ...]
    line: NDArray[np.int64]
    bad: tuple[BadLine, ...]


def texts_from_lines(block: bytes, kind: str = "") -> TaggedTexts:
    """Lines of a time, perhaps the word `kind` in any case, and a text without blanks or nothing."""
    fields = fields_from_block(block)
    stamp_ns, is_time = ns_from_texts(fields.texts(fields.first))
    texts: list[str] = []
    bad: list[BadLine] = []
    rows: list[int] = []
    for row, good in enumerate(is_time.tolist()):
        text, issue = _text(fields, row, kind) if good else ("", _no_time(fields, row))
        if issue is None:
            rows.append(row)
            texts.append(text)
        else:
            bad.append(issue)
    return TaggedTexts(stamp_ns=stamp_ns[rows], texts=tuple(texts), line=fields.line[rows], bad=tuple(bad))


def _text(fields: TaggedFields, row: int, kind: str) -> tuple[str, BadLine | None]:
    first, count = int(fields.first[row]), int(fields.count[row])
    texts = [fields.shown_field(index) for index in range(first + 1, first + min(count, 4))]
    has_kind = bool(kind) and [word.upper() for word in texts[:1]] == [kind.upper()]
    rest = texts[has_kind:]
    if len(rest) > 1 or (has_kind and not rest):
        issue = "short_row" if not rest else "long_row"
        shown = fields.shown_line(row)[:SHOWN]
        return "", BadLine(int(fields.line[row]), issue, f"expected a time, {kind or 'a word'} and a name: '{shown}'")
    return (rest[0] if rest else ""), None


def _no_time(fields: TaggedFields, row: int) -> BadLine:
    got = fields.shown_field(int(fields.first[row]))[:SHOWN]
    return BadLine(int(fields.line[row]), "not_a_number", f"column time: expected a time in seconds, got '{got}'")


# Rows of marked lines, and what is wrong with the lines that are none, or that cannot be right.


@dataclass(frozen=True, kw_only=True)
class TaggedFormat:
    """The format of the lines of one file."""

    tagged: TaggedLines
    first_byte: int = 0
    first_line: int = 1
    mapping: str = "the type of the line"
    has_lists: bool = True  # if no line has a covariance this is not reported for each

    @property
    def dialect(self) -> Dialect:
        return self.tagged.dialect

    def rows_of(self, blocks: Sequence[bytes]) -> list[TimedRows]:
        """The rows of blocks of whole lines."""
        return [rows_from_lines(block, self.tagged, has_lists=self.has_lists) for block in blocks]

    def cut_off(self, line: bytes, before: bytes) -> str | None:
        """Always None: lines of one kind differ in length, so a cut one cannot be recognised."""
        return None


@dataclass(frozen=True, kw_only=True)
class TaggedSpec:
    """What is known of such a log before it is seen; see TableSpec."""

    tagged: TaggedLines
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    repeated_times: bool = False

    def format_from_head(self, head: bytes) -> TaggedFormat:
        """ArchiveError if no line at the file's start is of these types."""
        start = len(BOM) if head.startswith(BOM) else 0
        lines = 1
        while head.startswith(COMMENT, start) and (end := head.find(b"\n", start) + 1):
            start, lines = end, lines + 1
        fields = fields_from_block(head[start:])
        _, is_time = ns_from_texts(fields.texts(fields.first))
        kind, first = _kinds(fields, self.tagged)
        has_columns = fields.first + fields.count - first >= self.tagged.widths[kind]
        if not (is_time & (kind >= 0) & has_columns).any():
            requested = " or ".join(self.tagged.types) or "numbers"
            issues = rows_from_lines(head[start:], self.tagged).bad[:1]
            got = "".join(f"; line {lines + issue.line}: {issue.message}" for issue in issues)
            raise ArchiveError(f"expected lines of a time, {requested} and numbers, got none{got}")
        extra = fields.count - (first - fields.first) - np.where(kind >= 0, self.tagged.widths[kind], 0)
        if self.tagged.covariance and not (is_time & (kind >= 0) & (extra > 0)).any():
            mapping = f"the type of the line, none of which has the {self.tagged.values} numbers of a covariance"
            return TaggedFormat(
                tagged=self.tagged, first_byte=start, first_line=lines, mapping=mapping, has_lists=False
            )
        return TaggedFormat(tagged=self.tagged, first_byte=start, first_line=lines)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lines:
    """The lines of a block, taken apart: of each (n,) its time, its type or -1, and where its numbers begin."""

    fields: TaggedFields
    stamp_ns: NDArray[np.int64]
    is_time: Mask
    kind: Indices
    first: Indices
    end: Indices  # the field behind the line's last
    values: Indices  # how many there are behind the columns; below 0 where even these are not all there
    expected: NDArray[np.float64]  # how many there should be; NaN for any number
    least: int  # and at least so many

    @property
    def has_length(self) -> Mask:
        """Which lines have as many fields as they should."""
        listed = np.isnan(self.expected) | (self.values == self.expected)
        is_complete: Mask = listed & (self.values >= self.least)
        return is_complete


def rows_from_lines(block: bytes, marked: TaggedLines, *, has_lists: bool = True) -> TimedRows:
    """The rows of a block of complete lines; other lines are separated."""
    lines = _lines(fields_from_block(block), marked)
    invalid = _invalid_counts(lines, marked)
    has_length = lines.has_length | _lacks_covariance_only(lines, marked, has_lists=has_lists)
    good = lines.is_time & (lines.kind >= 0) & has_length & (invalid == 0)
    chosen = np.flatnonzero(good)
    rows = TimedRows(
        dialect=marked.dialect,
        stamp_ns=lines.stamp_ns[chosen],
        clock_ns=np.zeros((len(chosen), 0), np.int64),
        values=_numbers_of_lines(lines, chosen, marked),
        lists=_lists(lines, chosen, marked) if marked.values else NO_LISTS,
        line=lines.fields.line[chosen],
        bad=tuple(_line_issue(lines, row, marked) for row in np.flatnonzero(~good).tolist()),
    )
    issues = _covariance_issues(lines, chosen, rows, marked) if marked.covariance else iter(())
    return _plausible(rows.with_bad(tuple(issues)), marked)


def _plausible(rows: TimedRows, marked: TaggedLines) -> TimedRows:
    """The valid rows; others, and rows with messages, are among the bad."""
    numbers = marked.dialect.numbers
    issues = list(choice_issues(rows, numbers, marked.choices)) if marked.choices else []
    if marked.angles:
        issues += angle_issues(rows, numbers, marked.angles, full_turn=marked.turn)
    if issues:
        keep = np.ones(len(rows.line), bool)
        keep[[row for row, _ in issues]] = False
        first = {row: issue for row, issue in reversed(issues)}
        rows = rows.only(keep).with_bad(tuple(first.values()))
    angles = tuple(_wrong_angles(rows, marked)) if marked.angles else ()
    return rows if not angles else rows.with_bad(angles)


def _lacks_covariance_only(lines: _Lines, marked: TaggedLines, *, has_lists: bool) -> Mask:
    """Which lines (n,) lack a covariance, or a part of it, and nothing before it."""
    lacks = np.zeros(len(lines.kind), bool)
    if not marked.covariance:
        return lacks
    if not has_lists:
        lacks |= lines.values == 0
    for row in np.flatnonzero((lines.values > 0) & (lines.values < marked.covariance**2)).tolist():
        end = int(lines.end[row])
        rest = lines.fields.value[end - int(lines.values[row]) : end]
        lacks[row] = is_complete_before(rest, marked.covariance, int(marked.widths[lines.kind[row]]))
    return lacks


def _covariance_issues(lines: _Lines, chosen: Indices, rows: TimedRows, marked: TaggedLines) -> Iterator[BadLine]:
    """The issues of covariances of rows that are kept; those of another length become NaN completely."""
    if not rows.lists.shape[1]:
        return
    is_complete = lines.has_length[chosen]
    for index in np.flatnonzero(is_complete & np.isnan(rows.lists).any(axis=1)).tolist():
        issue = _number_issue(lines, int(chosen[index]), marked)
        if issue is not None:
            yield issue._replace(message=f"{issue.message}; the row is kept, its covariance is unknown there")
    for index in np.flatnonzero(~is_complete & (lines.values[chosen] > 0)).tolist():
        issue = _length_issue(lines, int(chosen[index]), marked)
        yield issue._replace(message=f"{issue.message}; the row is kept, its covariance is unknown")
    rows.lists[~is_complete] = np.nan
    yield from variance_issues(rows, marked.covariance)


def _kinds(fields: TaggedFields, marked: TaggedLines) -> tuple[Indices, Indices]:
    """The type of each line (n,), -1 where it is none of these, and its first field behind time and type."""
    second = fields.first + 1
    inside = np.minimum(second, max(len(fields.value) - 1, 0))
    is_word = np.isnan(fields.value[inside]) & (fields.count > 1)
    texts = fields.texts(inside)
    is_word &= np.char.isalpha(texts.astype("S1")) & (np.char.lower(texts) != b"nan")
    names = list(marked.types)
    if names == [""]:
        return np.zeros(len(second), np.int64), second + is_word
    kind = np.where(is_word | (len(names) > 1), -1, 0)
    for index, name in enumerate(names):
        kind[is_word & (np.char.upper(texts) == name.upper().encode())] = index
    return kind, second + is_word


def _lines(fields: TaggedFields, marked: TaggedLines) -> _Lines:
    stamp_ns, is_time = ns_from_texts(fields.texts(fields.first))
    kind, first = _kinds(fields, marked)
    end = fields.first + fields.count
    values = end - first - marked.widths[kind]
    expected = np.full(len(first), np.nan if marked.values == ANY else 0.0)
    if isinstance(marked.values, int):
        expected[:] = marked.values
    elif marked.values != ANY:
        (index,) = {columns.index(marked.values) for columns in marked.types.values()}
        counts = fields.value[np.minimum(first + index, max(len(fields.value) - 1, 0))]
        expected = np.where(values >= 0, np.nan_to_num(counts, nan=-1.0), -1.0)
    return _Lines(
        fields=fields, stamp_ns=stamp_ns, is_time=is_time, kind=kind, first=first, end=end, values=values,
        expected=expected, least=1 if marked.values else 0,
    )  # fmt: skip


def _invalid_counts(lines: _Lines, marked: TaggedLines) -> Indices:
    """How many fields of each line (n,) should be numbers and are none."""
    invalid = ~np.isfinite(lines.fields.value)
    for kind, columns in enumerate(marked.types.values()):
        for index, name in enumerate(columns):
            if name.startswith(IGNORED):
                own = lines.first[(lines.kind == kind) & (lines.values >= 0)] + index
                invalid[own] = False
    few = np.flatnonzero(invalid)
    columns_end = lines.first + np.where(lines.kind >= 0, marked.widths[lines.kind], 0)
    until = np.minimum(columns_end, lines.end) if marked.covariance else lines.end
    counts: Indices = np.searchsorted(few, until) - np.searchsorted(few, np.minimum(lines.first, until))
    return counts


def _numbers_of_lines(lines: _Lines, chosen: Indices, marked: TaggedLines) -> NDArray[np.float64]:
    """The columns of the dialect (n, k) of the chosen lines."""
    kind = lines.kind[chosen]
    index = marked.column_indices[kind]
    own = lines.fields.value[np.where(index >= 0, lines.first[chosen, None] + index, 0)]
    columns = [np.where(index >= 0, own, np.nan)] if len(chosen) else [np.zeros((0, len(marked.columns)))]
    if len(marked.types) > 1:
        columns.insert(0, kind[:, None].astype(np.float64))
    if marked.values:
        columns.append(lines.values[chosen, None].astype(np.float64))
    return np.concatenate(columns, axis=1)


def _lists(lines: _Lines, chosen: Indices, marked: TaggedLines) -> NDArray[np.float64]:
    """The lists (n, m) of the chosen lines, NaN behind the end of each."""
    start, count = lines.end[chosen] - lines.values[chosen], lines.values[chosen]
    longest = marked.covariance**2 or int(count.max(initial=0))
    index = np.arange(longest)
    within = index < count[:, None]
    values: NDArray[np.float64] = lines.fields.value[np.where(within, start[:, None] + index, 0)]
    values[~within] = np.nan
    if marked.covariance:
        values[~np.isfinite(values)] = np.nan
    return values


def _wrong_angles(rows: TimedRows, marked: TaggedLines) -> Iterator[BadLine]:
    """The rows whose last value's angle is not where their first and the steps lead; they are kept."""
    numbers = marked.dialect.numbers
    start, step, end = (rows.values[:, numbers.index(name)] for name in marked.angles)
    led = start + step * (rows.values[:, numbers.index(COUNT)] - 1)
    for row in np.flatnonzero(np.abs(led - end) > np.abs(step) / 2).tolist():
        expected = f"column {marked.angles[2]}: expected {led[row]:.6f}, where the first and the steps lead"
        yield BadLine(int(rows.line[row]), "wrong_angle", f"{expected}, got {end[row]:.6f}; the row is kept")


def _line_issue(lines: _Lines, row: int, marked: TaggedLines) -> BadLine:
    """The issue of a line."""
    fields, number = lines.fields, int(lines.fields.line[row])
    if not lines.is_time[row]:
        got = short_text(fields.shown_field(int(fields.first[row])))
        return BadLine(number, "not_a_number", f"column time: expected a time in seconds, got '{got}'")
    if lines.kind[row] < 0:
        second = int(fields.first[row]) + 1
        got = f"'{short_text(fields.shown_field(second))}'" if fields.count[row] > 1 else "nothing"
        return BadLine(number, "wrong_type", f"expected {' or '.join(marked.types)} behind the time, got {got}")
    issue = _number_issue(lines, row, marked) if lines.values[row] >= 0 else None
    return issue or _length_issue(lines, row, marked)


def _number_issue(lines: _Lines, row: int, marked: TaggedLines) -> BadLine | None:
    columns = list(marked.types.values())[int(lines.kind[row])]
    values = lines.fields.value
    for position, index in enumerate(range(int(lines.first[row]), int(lines.end[row]))):
        name = columns[position] if position < len(columns) else f"value {position - len(columns) + 1}"
        if np.isfinite(values[index]) or name.startswith(IGNORED):
            continue
        text = short_text(lines.fields.shown_field(index))
        name = f"column {name}" if position < len(columns) else name
        kind = "not_a_number" if not _is_number(text) else "not_finite"
        got = f"'{text}'" if text else "nothing"
        return BadLine(int(lines.fields.line[row]), kind, f"{name}: expected a number, got {got}")
    return None


def _length_issue(lines: _Lines, row: int, marked: TaggedLines) -> BadLine:
    count, expected, width = int(lines.values[row]), lines.expected[row], int(marked.widths[lines.kind[row]])
    is_short = count < max(lines.least, np.nan_to_num(expected, nan=0.0))
    requested, got = f"{width} numbers", count + width
    if count >= 0 and marked.values:
        says = f", as {marked.values} says" if isinstance(marked.values, str) and expected >= 1 else ""
        requested, got = f"{expected:.15g} values{says}" if expected >= 1 else "at least 1 value", count
    message = f"expected {requested}, got {got}: '{short_text(lines.fields.shown_line(row))}'"
    return BadLine(int(lines.fields.line[row]), "short_row" if is_short else "long_row", message)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def choice_issues(
    rows: TimedRows, numbers: Sequence[str], choices: Mapping[str, tuple[float, ...]]
) -> Iterator[tuple[int, BadLine]]:
    """The rows, and what is wrong, with a number that is none of those that its column can have; NaN is no number."""
    for name, known in choices.items():
        column = rows.values[:, numbers.index(name)]
        for row in np.flatnonzero(~np.isin(column, known) & ~np.isnan(column)).tolist():
            expected = ", ".join(f"{value:g}" for value in known)
            message = f"column {name}: expected one of {expected}, got {column[row]:g}; {LEFT_OUT}"
            yield row, BadLine(int(rows.line[row]), "out_of_range", message)


def angle_issues(
    rows: TimedRows, numbers: Sequence[str], angles: Sequence[str], *, full_turn: float
) -> Iterator[tuple[int, BadLine]]:
    """The rows, and what is wrong, whose values lead beyond a whole turn, or all lie at one angle."""
    start, step = (rows.values[:, numbers.index(name)] for name in angles[:2])
    count = rows.values[:, numbers.index(COUNT)]
    led = start + step * (count - 1)
    beyond = np.maximum(np.abs(start), np.abs(led)) > full_turn * (1 + BARELY)
    for row in np.flatnonzero(beyond).tolist():
        expected = f"columns {angles[0]}, {angles[1]}: expected angles within a turn, {full_turn:.6g}"
        message = f"{expected}, got {start[row]:g} to {led[row]:g}: in another unit?; {LEFT_OUT}"
        yield row, BadLine(int(rows.line[row]), "wrong_angle", message)
    for row in np.flatnonzero((step == 0) & (count > 1) & ~beyond).tolist():
        message = f"column {angles[1]}: expected a step between {count[row]:g} values, got 0; {LEFT_OUT}"
        yield row, BadLine(int(rows.line[row]), "wrong_angle", message)


def is_complete_before(rest: Floats, size: int, columns: int) -> bool:
    """Whether a line that lacks numbers has all its columns, by what is left (k,) of the covariance behind these.

    A line that was cut off in the covariance lacks nothing before it. Where so few numbers are gone that it may be one
    of the columns, and all that were read after it one place too early, the covariance shows: its rest is symmetric.
    """
    missing = size**2 - len(rest)
    if not len(rest) or missing <= 0:
        return False
    if missing > columns:
        return True
    matrix = np.concatenate([np.full(missing, np.nan), rest]).reshape(size, size)
    both = np.isfinite(matrix) & np.isfinite(matrix.T)
    return not np.allclose(matrix[both], matrix.T[both], rtol=NEARLY, atol=0)


def variance_issues(rows: TimedRows, size: int) -> Iterator[BadLine]:
    """The rows whose covariance (size, size) has a variance below 0, which becomes NaN here and counts as unknown."""
    if not rows.lists.shape[1]:
        return
    variances = rows.lists[:, :: size + 1]
    for row, index in np.argwhere(variances < 0).tolist():
        expected = f"covariance ({index + 1}, {index + 1}): expected a variance of 0 or more"
        message = f"{expected}, got {variances[row, index]:g}; the row is kept, its covariance is unknown there"
        yield BadLine(int(rows.line[row]), "negative_variance", message)
    variances[variances < 0] = np.nan
