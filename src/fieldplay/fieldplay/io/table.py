"""A table of numbers in a text file: parsed once from start to end, then read block by block."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.io.containers import Files
from fieldplay.io.delimited import count_char
from fieldplay.io.parser_processes import call_parser, parsers
from fieldplay.io.table_rows import (
    RowCache,
    RowsFormat,
    RowsSpec,
    TimedRows,
    concatenate_rows,
)
from fieldplay.messages.records import Record
from fieldplay.streams.stream import Span

Limits = Mapping[int, tuple[str, float, float]]  # by the place in rows.values: the column, its least and its largest
Mask = NDArray[np.bool_]
BLOCK_SIZE = 1 << 19
HEAD_SIZE = 1 << 16
LONGEST_LINE = 1 << 20  # a file that is damaged, or no table at all, may have lines of any length
AT_ONCE = 4  # blocks that are parsed
NO_LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType({})
MOST = 64  # lines across the end of a block that are looked at
Choose = Callable[[TimedRows], TimedRows]
Starts = Callable[[TimedRows], NDArray[np.bool_]]
Convert = Callable[[TimedRows, NDArray[np.int64]], Record]


# What is wrong with the rows of a table, each with its line; and which of them are so wrong that they are none.


def limits_by_index(limits: Mapping[str, tuple[float, float]], numbers: Sequence[str]) -> Limits:
    """Convert limits by column name to limits by index.

    Args:
        limits: smallest and largest value by column name.
        numbers: names of the number columns, in their order.

    Returns:
        Name, smallest and largest value by index; columns that are not there are left out.
    """
    return {numbers.index(name): (name, *bounds) for name, bounds in limits.items() if name in numbers}


def fitting_limits(limits: Limits, some: TimedRows) -> Limits:
    """Select the limits that most rows keep.

    Where most do not, the column has another unit, and no row must be lost for that.

    Args:
        limits: limits by index.
        some: rows from the start of the file.

    Returns:
        The limits between which the median lies.
    """
    middles = {column: float(np.median(some.values[:, column])) for column in limits if len(some.values)}
    return {
        column: limits[column] for column, middle in middles.items() if limits[column][1] <= middle <= limits[column][2]
    }


class RowValidator:
    """Validates the rows of one file, block by block, and reports defective lines.

    Rows without a possible time, or beyond `limits`, do not count. Rows out of their `ranges`, in a wrong order or
    behind a gap do. Where rows may share a time, these are `repeated`, which is counted and no defect.
    """

    def __init__(
        self,
        file: str,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        ranges: Limits,
        has_usual_pauses: bool,
        may_repeat: bool,
    ) -> None:
        self.limits: Limits = {}
        self.repeated = 0
        self._file = file
        self._report = report
        self._plausible_ns = plausible_ns
        self._ranges = ranges
        self._gaps = GapFinder() if has_usual_pauses else None
        self._may_repeat = may_repeat
        self._previous_ns: int | None = None

    def valid_rows(self, parsed: TimedRows) -> TimedRows:
        """The rows with a possible time and numbers within the limits."""
        rows = parsed.only(self._possible(parsed))
        is_valid = np.ones(len(rows.stamp_ns), bool)
        for column, (_, smallest, largest) in self.limits.items():
            is_valid &= (rows.values[:, column] >= smallest) & (rows.values[:, column] <= largest)
        return rows.only(is_valid)

    def check_lines(self, parsed: TimedRows, first_line: int) -> None:
        """Report the lines that are no rows, or whose rows do not count."""
        for bad in parsed.bad:
            self._report_line(first_line + bad.line, bad.kind, bad.message)
        possible = self._possible(parsed)
        for row in np.flatnonzero(~possible):
            message = f"column time: expected one that this dataset can hold, got {_seconds(parsed.stamp_ns[row])}"
            self._report_line(first_line + int(parsed.line[row]), "implausible_time", message)
        self._check_limits(parsed.only(possible), self.limits, first_line, kind="impossible_value", what="left out")

    def check_rows(self, rows: TimedRows, first_line: int) -> None:
        """Report unusual valid rows of a block; there is at least one."""
        self._check_order(rows, first_line)
        for row, gap_ns in self._gaps.gaps(rows.stamp_ns) if self._gaps is not None else ():
            message = f"no row for {gap_ns / NS_PER_S:.3f} s before this one, at {_seconds(rows.stamp_ns[row])}"
            self._report_line(first_line + int(rows.line[row]), "gap", message)
        self._check_limits(rows, self._ranges, first_line, kind="out_of_range", what="kept")

    def _possible(self, rows: TimedRows) -> Mask:
        """Which rows (n,) have possible times: one that is not would stretch the archive over decades."""
        first, last = self._plausible_ns
        return (rows.stamp_ns >= first) & (rows.stamp_ns <= last)

    def _check_order(self, rows: TimedRows, first_line: int) -> None:
        """Report the rows whose time is before that of the previous row, or the same."""
        before_ns = rows.stamp_ns[0] - 1 if self._previous_ns is None else self._previous_ns
        self._previous_ns = int(rows.stamp_ns[-1])
        step = np.diff(rows.stamp_ns, prepend=before_ns)
        wrong = step < 0 if self._may_repeat else step <= 0
        self.repeated += int((step == 0).sum()) if self._may_repeat else 0
        for row in np.flatnonzero(wrong):
            kind, message = "duplicate_time", "the time is that of the row before"
            if step[row] < 0:
                kind, message = "backward_time", f"the time runs back by {-int(step[row]) / NS_PER_S:.9f} s"
            self._report_line(first_line + int(rows.line[row]), kind, message)

    def _check_limits(self, rows: TimedRows, limits: Limits, first_line: int, *, kind: str, what: str) -> None:
        """Report the rows with a number below its least or above its largest value, and what becomes of them."""
        for column, (name, smallest, largest) in limits.items():
            numbers = rows.values[:, column]
            for row in np.flatnonzero((numbers < smallest) | (numbers > largest)):
                message = (
                    f"column {name}: expected {smallest:g} to {largest:g}, got {numbers[row]:g}; the row is {what}"
                )
                self._report_line(first_line + int(rows.line[row]), kind, message)

    def _report_line(self, line: int, kind: str, message: str) -> None:
        self._report(Defect(file=self._file, row=line, kind=kind, message=message))


def _seconds(stamp_ns: np.int64) -> str:
    """A time as exact decimal seconds."""
    seconds, ns = divmod(abs(int(stamp_ns)), NS_PER_S)
    return f"{'-' if stamp_ns < 0 else ''}{seconds}.{ns:09d}".rstrip("0").rstrip(".") + " s"


class Watch(Protocol):
    """An observer that gets each block of a table while it is validated; see RevolutionFinder."""

    def add(self, rows: "TimedRows") -> None: ...


class TextBlock(NamedTuple):
    """Complete lines: their offset, the number of the first, and issues to report before those of the lines."""

    offset: int
    first_line: int
    text: bytes
    issues: tuple[Defect, ...]


class TableText:
    """The text of one file, read once from start to end."""

    def __init__(self, file: BufferedReader, name: str) -> None:
        self.issues: list[Defect] = []  # behind the last block
        self._file = file
        self._name = name
        self._is_broken = False

    def head(self) -> bytes:
        """The start of the file, complete lines unless it is all."""
        head = b""
        try:
            while len(head) < HEAD_SIZE and (part := self._file.read1(HEAD_SIZE - len(head))):
                head += part
        except (ArchiveError, OSError):
            if not head:
                raise
        return head if len(head) < HEAD_SIZE else head[: head.rfind(b"\n") + 1 or HEAD_SIZE]

    def blocks(self, form: RowsFormat) -> Iterator[TextBlock]:
        """The text after the header, without a last line whose last number is cut off, which is reported."""
        before = b""
        for offset, line, text in self._texts(form):
            end = len(text) if text.endswith(b"\r") else text.rfind(b"\n") + 1
            issue = form.cut_off(text[end:], before + text[:end]) if end < len(text) else None
            if issue is not None:
                row = line + text.count(b"\n")
                self.issues.append(Defect(file=self._name, row=row, kind="cut_off_line", message=issue))
            issues, self.issues = tuple(self.issues), []
            yield TextBlock(offset, line, text if issue is None else text[:end], issues)
            before = text

    def _texts(self, form: RowsFormat) -> Iterator[tuple[int, int, bytes]]:
        """The text in blocks of complete lines, with the offset of each and the number of its first line."""
        offset, line, carried = form.first_byte, form.first_line, b""
        self._file.seek(offset)
        while True:
            chunk = self._chunk()
            text = carried + chunk
            end = text.rfind(b"\n") + 1 if chunk or self._is_broken else len(text)
            block = text[:end]
            if end:
                yield offset, line, block
            offset, line, carried = offset + end, line + count_char(block, b"\n"), text[end:]
            if not chunk:
                return
            if len(carried) > LONGEST_LINE:
                size, rest = self._pass_over_line(line, len(form.dialect.columns))
                offset, line, carried = offset + len(carried) + size, line + 1, rest

    def _chunk(self) -> bytes:
        """The next part of the file; nothing at its end, or where reading fails, which is reported."""
        chunk = b""
        try:
            while not self._is_broken and len(chunk) < BLOCK_SIZE and (part := self._file.read1(BLOCK_SIZE)):
                chunk += part
        except (ArchiveError, OSError) as error:
            self._is_broken = True
            message = f"{error}; the rows before it are read"
            self.issues.append(Defect(file=self._name, kind="damaged_file", message=message))
        return chunk

    def _pass_over_line(self, line: int, columns: int) -> tuple[int, bytes]:
        """Report a line that is too long and skip it; return the bytes up to its end, and those read after it."""
        message = f"expected {columns} columns, got a line of more than {LONGEST_LINE} bytes"
        self.issues.append(Defect(file=self._name, row=line, kind="long_row", message=message))
        size = 0
        while chunk := self._chunk():
            end = chunk.find(b"\n") + 1
            if end:
                return size + end, chunk[end:]
            size += len(chunk)
        return size, b""


@dataclass(frozen=True)
class TableBlock:
    """A block of complete lines: its offset and rows."""

    offset: int
    size: int
    first_line: int
    count: int
    first_ns: int
    last_ns: int
    cache_index: int | None  # the place of its rows in RowCache


class Table:
    """A text table, parsed once; its rows are cached block by block.

    Each defective line is reported once. Lines that are no rows, and rows beyond `limits`, do not count; rows after a
    gap, rows whose time repeats or goes back, and rows with numbers out of the format's ranges are reported and
    count. `open_row` is the last line if it is a row without a line end, whose last number may be cut.

    Args:
        files: where the table is; they must stay open, as rows without room in the cache are parsed again.
        name: of the file.
        spec: the layouts that the file may have.
        report: called with each defect.
        plausible_ns: the first and the last time that a row can have.
        cache: keeps the rows; shared by all tables of an archive.
        watch: its `add` sees the rows of each block as they are parsed, in the order of the file.
        limits: smallest and largest possible value by column.
        is_one_of_many: one of many similar files, so that pauses are not reported.

    Raises:
        ArchiveError: the file cannot be opened, or no layout fits its first lines.
    """

    def __init__(
        self,
        files: Files,
        name: str,
        spec: RowsSpec,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        cache: RowCache | None = None,
        watch: Watch | None = None,
        limits: Mapping[str, tuple[float, float]] = NO_LIMITS,
        is_one_of_many: bool = False,
    ) -> None:
        self.name = name
        self.watch = watch
        self.open_row: int | None = None
        self.blocks: list[TableBlock] = []
        self._files = files
        self._cache = RowCache() if cache is None else cache
        with files.open(name) as file:
            text = TableText(file, name)
            head = text.head()
            helpers = parsers()
            self.format = spec.format_from_head(head) if helpers is None else helpers.form(spec, head)
            numbers = self.format.dialect.numbers
            self._checks = RowValidator(
                name,
                report,
                plausible_ns=plausible_ns,
                ranges=limits_by_index(spec.ranges, numbers),
                has_usual_pauses=not is_one_of_many,
                may_repeat=spec.repeated_times,
            )
            beginning = head.count(b"\n", self.format.first_byte) + 1
            for block, parsed in _parse_blocks(text.blocks(self.format), self.format):
                if limits:
                    requested, limits = limits_by_index(limits, numbers), NO_LIMITS
                    self._checks.limits = fitting_limits(requested, parsed.between(0, beginning))
                self._take(block, parsed, report)
        for defect in text.issues:
            report(defect)

    @property
    def repeated(self) -> int:
        """The rows that have the time of the row before, where that is no defect."""
        return self._checks.repeated

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(block.count for block in self.blocks)

    def rows(self, index: int) -> TimedRows:
        """Read the rows of a block; safe to call from several threads.

        Args:
            index: of the block.

        Returns:
            The rows in time order.
        """
        block = self.blocks[index]
        return self._parse_again(block) if block.cache_index is None else self._cache.rows(block.cache_index)

    def rows_between(self, first_ns: int, last_ns: int) -> TimedRows:
        """Read the rows of a time range.

        Args:
            first_ns: the first time, inclusive.
            last_ns: the last time, inclusive.

        Returns:
            The rows in time order; there may be none.
        """
        parts = [self.rows(i) for i, b in enumerate(self.blocks) if b.first_ns <= last_ns and b.last_ns >= first_ns]
        rows = concatenate_rows(self.format.dialect, parts)
        chosen = rows.only((rows.stamp_ns >= first_ns) & (rows.stamp_ns <= last_ns))
        return chosen.in_time_order()

    def _take(self, block: TextBlock, parsed: TimedRows, report: Report) -> None:
        """Keep the rows of a block that count, and report what is wrong with its lines."""
        for defect in block.issues:
            report(defect)
        if not block.text.endswith(b"\n") and parsed.line[-1:].tolist() == [last := block.text.count(b"\n")]:
            self.open_row = block.first_line + last
        self._checks.check_lines(parsed, block.first_line)
        rows = self._checks.valid_rows(parsed)
        if not len(rows.stamp_ns):
            return
        self._checks.check_rows(rows, block.first_line)
        sorted_rows, bounds = (
            self._in_file(rows, block.first_line),
            (int(rows.stamp_ns.min()), int(rows.stamp_ns.max())),
        )
        cache_index = self._cache.add(sorted_rows)
        self.blocks.append(
            TableBlock(block.offset, len(block.text), block.first_line, len(sorted_rows), *bounds, cache_index)
        )
        if self.watch is not None:
            self.watch.add(sorted_rows)

    def _in_file(self, rows: TimedRows, first_line: int) -> TimedRows:
        """Rows in time order, their lines counted in the file."""
        return replace(rows, dialect=self.format.dialect, line=rows.line + first_line, bad=()).in_time_order()

    def _parse_again(self, block: TableBlock) -> TimedRows:
        """Parse a block again whose rows there was no room to keep."""
        with self._files.open(self.name) as file:
            file.seek(block.offset)
            (parsed,) = call_parser(self.format.rows_of, [file.read(block.size)])
        return self._in_file(self._checks.valid_rows(parsed), block.first_line)


def _parse_blocks(blocks: Iterator[TextBlock], form: RowsFormat) -> Iterator[tuple[TextBlock, TimedRows]]:
    """Parse blocks of text, several at once, in the parser processes if there are any."""
    groups = ((some, [block.text for block in some]) for some in iter(lambda: list(islice(blocks, AT_ONCE)), []))
    helpers = parsers()
    parsed = ((some, form.rows_of(texts)) for some, texts in groups) if helpers is None else helpers.rows(groups, form)
    for some, rows in parsed:
        yield from zip(some, rows, strict=True)


# Tables as streams: all tables of one kind as one; their rows, or lines that belong together, as records.


class Tables:
    """All tables of one kind as one: an archive may hold several recordings.

    Args:
        tables: one or more tables with the same columns.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tuple(tables)
        self._blocks: list[tuple[Table, int]] = [(table, i) for table in tables for i in range(len(table.blocks))]

    @property
    def blocks(self) -> list[TableBlock]:
        """The blocks of all tables."""
        return [table.blocks[index] for table, index in self._blocks]

    @property
    def spans(self) -> list[Span]:
        """The times and rows of each block."""
        return [Span(block.first_ns, block.last_ns, block.count) for block in self.blocks]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(table.count for table in self.tables)

    def rows(self, index: int) -> TimedRows:
        """Read the rows of a block; safe to call from several threads.

        Args:
            index: of the block in `blocks`.

        Returns:
            The rows in time order.
        """
        table, block = self._blocks[index]
        return table.rows(block)

    def table_of(self, index: int) -> Table:
        """Find the table of a block.

        Args:
            index: of the block in `blocks`.

        Returns:
            The table.
        """
        return self._blocks[index][0]

    def file(self, index: int) -> str:
        """Name the file of a block.

        Args:
            index: of the block in `blocks`.

        Returns:
            The name of the file.
        """
        return self.table_of(index).name

    def rows_between(self, first_ns: int, last_ns: int) -> TimedRows:
        """Read the rows of a time range.

        Args:
            first_ns: the first time, inclusive.
            last_ns: the last time, inclusive.

        Returns:
            The rows of all tables in time order; there may be none.
        """
        rows = concatenate_rows(
            self.tables[0].format.dialect, [table.rows_between(first_ns, last_ns) for table in self.tables]
        )
        return rows.in_time_order()

    def nearest(self, stamp_ns: NDArray[np.int64], within_ns: int) -> tuple[TimedRows, NDArray[np.bool_]]:
        """Find the row nearest to each time.

        Args:
            stamp_ns: times (n,), n > 0, ascending.
            within_ns: the largest distance in time.

        Returns:
            n rows, and which of them (n,) lie within the distance; the others are arbitrary.
        """
        candidates = self.rows_between(int(stamp_ns[0]) - within_ns, int(stamp_ns[-1]) + within_ns)
        if not len(candidates):
            none = self._any_row().only(np.zeros(len(stamp_ns), np.intp))
            return none, np.zeros(len(stamp_ns), bool)
        after = np.clip(np.searchsorted(candidates.stamp_ns, stamp_ns), 1, max(len(candidates) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(candidates) - 1)
        closer = stamp_ns - candidates.stamp_ns[before] <= candidates.stamp_ns[after] - stamp_ns
        chosen = np.where(closer, before, after)
        return candidates.only(chosen), np.abs(candidates.stamp_ns[chosen] - stamp_ns) <= within_ns

    def _any_row(self) -> TimedRows:
        return self.rows(0).only(np.zeros(1, np.intp))


class RowSource(Protocol):
    """Rows block by block, as Tables and FileTable have them."""

    @property
    def spans(self) -> list[Span]: ...
    def rows(self, index: int) -> TimedRows: ...
    def file(self, index: int) -> str: ...


class TableStream:
    """A stream made of the rows of tables, a span for each block.

    Args:
        tables: the tables, or a table of files.
        convert: makes a record of rows, in SI units; pure, as it is called from several threads. It may return fewer
            rows.
    """

    def __init__(self, tables: RowSource, convert: Callable[[TimedRows], Record]) -> None:
        self._tables = tables
        self._convert = convert
        self.spans = tables.spans

    def load(self, index: int) -> Record:
        """Convert the rows of a block.

        Args:
            index: of the block.

        Returns:
            The record.
        """
        return self._convert(self._tables.rows(index))

    def file(self, index: int) -> str:
        """Name the file of a span.

        Args:
            index: of the span.

        Returns:
            The name of the file.
        """
        return self._tables.file(index)


class GroupStream:
    """A stream of groups of consecutive lines, such as the beams of a scan.

    A group belongs to the block in which it starts.

    Args:
        tables: the tables.
        choose: selects the lines that count.
        starts: finds which lines (n,) start a group, by each line and the one before alone; its answer for the first
            line is ignored.
        convert: makes a record, a row for each group, of the lines and the number of each line's group (ascending from
            0). The time of a row must be that of its first line.
    """

    def __init__(self, tables: Tables, *, choose: Choose, starts: Starts, convert: Convert) -> None:
        self._tables = tables
        self._choose = choose
        self._starts = starts
        self._convert = convert
        self.spans = tables.spans

    def file(self, index: int) -> str:
        """Name the file of a span.

        Args:
            index: of the span.

        Returns:
            The name of the file.
        """
        return self._tables.file(index)

    def load(self, index: int) -> Record:
        """Convert the groups that start in a block; a group may need lines of the blocks before and after.

        Args:
            index: of the block.

        Returns:
            The record.
        """
        own = self._choose(self._tables.rows(index))
        if not len(own):
            return self._convert(own, np.zeros(0, np.int64))
        before, after = self._last_before(index, own), self._first_after(index, own)
        rows = concatenate_rows(own.dialect, [before, own, after])
        # Groups are numbered from the line before the block, if there is one: it is in group 0, and lines that go on
        # with that group belong to the block before. Lines behind the block count as far as they end its last group.
        starts = self._starts(rows)
        starts[0] = False
        group = np.cumsum(starts)
        requested = (group >= len(before)) & (group <= group[len(before) + len(own) - 1])
        return self._convert(rows.only(requested), group[requested] - len(before))

    def _last_before(self, index: int, own: TimedRows) -> TimedRows:
        """The line before the first of a block, or none."""
        if index == 0:
            return own.only(np.zeros(0, np.intp))
        rows = self._tables.rows(index - 1)
        chosen = self._choose(rows.only(np.arange(max(len(rows) - MOST, 0), len(rows))))
        return chosen.only(np.arange(max(len(chosen) - 1, 0), len(chosen)))

    def _first_after(self, index: int, own: TimedRows) -> TimedRows:
        """The first lines of the next block, or none."""
        if index + 1 == len(self.spans):
            return own.only(np.zeros(0, np.intp))
        rows = self._tables.rows(index + 1)
        return self._choose(rows.only(np.arange(min(len(rows), MOST))))


def starts_of_rising(
    stamp_ns: NDArray[np.int64], code: NDArray[np.int64], longest_ns: NDArray[np.int64] | int
) -> NDArray[np.bool_]:
    """Find groups of lines by a code that rises within each.

    Args:
        stamp_ns: times (n,), n > 0.
        code: codes (n,), such as the number of a beam.
        longest_ns: the longest time between two lines of a group, for all or for each pair (n - 1,).

    Returns:
        Which lines (n,) start a group.

    Example:
        >>> starts_of_rising(np.arange(5), np.array([1, 2, 3, 1, 2]), 10).tolist()
        [True, False, False, True, False]
    """
    starts = np.ones(len(stamp_ns), bool)
    step_ns = np.diff(stamp_ns)
    starts[1:] = (np.diff(code) <= 0) | (step_ns < 0) | (step_ns > longest_ns)
    return starts
