"""A table of numbers in a text file: read and parsed once, from its beginning to its end, then told block by block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.io.containers import Files
from fieldplay.io.csv_dialect import Dialect
from fieldplay.io.delimited import count_of
from fieldplay.io.parser_processes import parsers
from fieldplay.io.row_cache import (
    ParsedRows,
    RowCache,
    TableRows,
    joined,
)
from fieldplay.io.table_defects import RowValidator, fitting_limits, limits_by_place
from fieldplay.io.table_worker import called

BLOCK_SIZE = 1 << 19
HEAD_SIZE = 1 << 16
LONGEST_LINE = 1 << 20  # a file that is damaged, or no table at all, may have lines of any length
AT_ONCE = 4  # blocks that are parsed
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
    def rows_of(self, blocks: Sequence[bytes]) -> list[ParsedRows]: ...
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

    def add(self, rows: "TableRows") -> None: ...


class TextBlock(NamedTuple):
    """Whole lines: their place, the number of the first, and what is to be told before what is wrong with them."""

    offset: int
    first_line: int
    text: bytes
    told: tuple[Defect, ...]


class TableText:
    """The text of one file, read once from its beginning to its end."""

    def __init__(self, file: BufferedReader, name: str) -> None:
        self.told: list[Defect] = []  # behind the last block
        self._file = file
        self._name = name
        self._is_broken = False

    def head(self) -> bytes:
        """The beginning, whole lines if it is not all."""
        head = b""
        try:
            while len(head) < HEAD_SIZE and (part := self._file.read1(HEAD_SIZE - len(head))):
                head += part
        except (ArchiveError, OSError):
            if not head:
                raise
        return head if len(head) < HEAD_SIZE else head[: head.rfind(b"\n") + 1 or HEAD_SIZE]

    def blocks(self, form: RowsFormat) -> Iterator[TextBlock]:
        """The text behind the header, without a last line whose last number is cut, which is told."""
        before = b""
        for offset, line, text in self._texts(form):
            end = len(text) if text.endswith(b"\r") else text.rfind(b"\n") + 1
            fault = form.cut_off(text[end:], before + text[:end]) if end < len(text) else None
            if fault is not None:
                row = line + text.count(b"\n")
                self.told.append(Defect(file=self._name, row=row, kind="cut_off_line", message=fault))
            told, self.told = tuple(self.told), []
            yield TextBlock(offset, line, text if fault is None else text[:end], told)
            before = text

    def _texts(self, form: RowsFormat) -> Iterator[tuple[int, int, bytes]]:
        """The text in blocks of whole lines, with the place of each and the number of its first line."""
        offset, line, carried = form.first_byte, form.first_line, b""
        self._file.seek(offset)
        while True:
            chunk = self._chunk()
            text = carried + chunk
            end = text.rfind(b"\n") + 1 if chunk or self._is_broken else len(text)
            block = text[:end]
            if end:
                yield offset, line, block
            offset, line, carried = offset + end, line + count_of(block, b"\n"), text[end:]
            if not chunk:
                return
            if len(carried) > LONGEST_LINE:
                size, behind = self._pass_over_line(line, len(form.dialect.columns))
                offset, line, carried = offset + len(carried) + size, line + 1, behind

    def _chunk(self) -> bytes:
        """The next part of the file; nothing at its end, or where it cannot be read on, which is told."""
        chunk = b""
        try:
            while not self._is_broken and len(chunk) < BLOCK_SIZE and (part := self._file.read1(BLOCK_SIZE)):
                chunk += part
        except (ArchiveError, OSError) as error:
            self._is_broken = True
            message = f"{error}; the rows before it are read"
            self.told.append(Defect(file=self._name, kind="damaged_file", message=message))
        return chunk

    def _pass_over_line(self, line: int, columns: int) -> tuple[int, bytes]:
        """Tell of a line whose end is far, and read behind it: the bytes up to there, and what is read already."""
        message = f"expected {columns} columns, got a line of more than {LONGEST_LINE} bytes"
        self.told.append(Defect(file=self._name, row=line, kind="long_row", message=message))
        size = 0
        while chunk := self._chunk():
            end = chunk.find(b"\n") + 1
            if end:
                return size + end, chunk[end:]
            size += len(chunk)
        return size, b""


@dataclass(frozen=True)
class TableBlock:
    """A stretch of whole lines: its place, and what it holds."""

    offset: int
    size: int
    first_line: int
    count: int
    first_ns: int
    last_ns: int
    kept: int | None  # the place of its rows in RowCache


class Table:
    """A table that has been looked through: every line was parsed once, and its rows are kept, block by block.

    Every line that is no row is reported once, and so are rows beyond `limits`, which do not count, and gaps, times
    that stand still or run backward, and numbers out of their range, whose rows do. `open_row` is the last line if it
    is a row and has no line end. `watch` sees the rows of each block. Of a table that is one of many alike it is not
    known what pauses are usual: they are no defects.
    """

    def __init__(
        self,
        files: Files,
        name: str,
        spec: RowsSpec,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        kept: RowCache | None = None,
        watch: Watch | None = None,
        limits: Mapping[str, tuple[float, float]] = NO_LIMITS,
        is_one_of_many: bool = False,
    ) -> None:
        self.name = name
        self.watch = watch
        self.open_row: int | None = None
        self.blocks: list[TableBlock] = []
        self._files = files
        self._kept = RowCache() if kept is None else kept
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
                ranges=limits_by_place(spec.ranges, numbers),
                has_usual_pauses=not is_one_of_many,
                may_repeat=spec.repeated_times,
            )
            beginning = head.count(b"\n", self.format.first_byte) + 1
            for block, parsed in _parsed(text.blocks(self.format), self.format):
                if limits:
                    wanted, limits = limits_by_place(limits, numbers), NO_LIMITS
                    self._checks.limits = fitting_limits(wanted, parsed.between(0, beginning))
                self._take(block, parsed, report)
        for defect in text.told:
            report(defect)

    @property
    def repeated(self) -> int:
        """The rows that have the time of the row before, where that is no defect."""
        return self._checks.repeated

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(block.count for block in self.blocks)

    def rows(self, index: int) -> TableRows:
        """The rows of a block; safe to call from several threads."""
        block = self.blocks[index]
        return self._parsed_again(block) if block.kept is None else self._kept.rows(block.kept)

    def rows_between(self, first_ns: int, last_ns: int) -> TableRows:
        """All rows with first_ns <= time <= last_ns."""
        parts = [self.rows(i) for i, b in enumerate(self.blocks) if b.first_ns <= last_ns and b.last_ns >= first_ns]
        rows = joined(self.format.dialect, parts)
        chosen = rows.only((rows.stamp_ns >= first_ns) & (rows.stamp_ns <= last_ns))
        return chosen.only(np.argsort(chosen.stamp_ns, kind="stable"))

    def _take(self, block: TextBlock, parsed: ParsedRows, report: Report) -> None:
        """Keep the rows of a block that count, and report what is wrong with its lines."""
        for defect in block.told:
            report(defect)
        if not block.text.endswith(b"\n") and parsed.line[-1:].tolist() == [last := block.text.count(b"\n")]:
            self.open_row = block.first_line + last
        self._checks.check_lines(parsed, block.first_line)
        rows = self._checks.counting(parsed)
        if not len(rows.stamp_ns):
            return
        self._checks.check_rows(rows, block.first_line)
        found, ends = self._sorted(rows, block.first_line), (int(rows.stamp_ns.min()), int(rows.stamp_ns.max()))
        kept = self._kept.add(found)
        self.blocks.append(TableBlock(block.offset, len(block.text), block.first_line, len(found), *ends, kept))
        if self.watch is not None:
            self.watch.add(found)

    def _sorted(self, rows: ParsedRows, first_line: int) -> TableRows:
        unsorted = TableRows(
            dialect=self.format.dialect,
            stamp_ns=rows.stamp_ns,
            clock_ns=rows.clock_ns,
            values=rows.values,
            line=rows.line + first_line,
            lists=np.zeros((len(rows.stamp_ns), 0)) if rows.lists is None else rows.lists,
        )
        if (np.diff(rows.stamp_ns) >= 0).all():
            return unsorted
        return unsorted.only(np.argsort(rows.stamp_ns, kind="stable"))

    def _parsed_again(self, block: TableBlock) -> TableRows:
        """The rows of a block that there was no room to keep."""
        with self._files.open(self.name) as file:
            file.seek(block.offset)
            (parsed,) = called(self.format.rows_of, [file.read(block.size)])
        return self._sorted(self._checks.counting(parsed), block.first_line)


def _parsed(blocks: Iterator[TextBlock], form: RowsFormat) -> Iterator[tuple[TextBlock, ParsedRows]]:
    """Blocks of text and their rows, some parsed at once, by the processes that there are for it or by this one."""
    groups = ((some, [block.text for block in some]) for some in iter(lambda: list(islice(blocks, AT_ONCE)), []))
    helpers = parsers()
    found = ((some, form.rows_of(texts)) for some, texts in groups) if helpers is None else helpers.rows(groups, form)
    for some, rows in found:
        yield from zip(some, rows, strict=True)
