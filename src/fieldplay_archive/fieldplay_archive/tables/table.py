"""A table of numbers in a text file: looked through and parsed once, then told block by block."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.files.containers import Files
from fieldplay_archive.tables.number_rows import NumberRows
from fieldplay_archive.tables.row_limits import Limits, defects_of_limits, fitting_limits, within_limits
from fieldplay_archive.tables.rows import KeptRows, Rows, joined
from fieldplay_archive.tables.table_defects import (
    defects_of_gaps,
    defects_of_impossible_times,
    defects_of_lines,
    defects_of_order,
    defects_of_ranges,
    steps_ns,
)
from fieldplay_archive.tables.table_text import RowsFormat, TableText, TextBlock
from fieldplay_messages.errors import Defect, Report
from fieldplay_messages.gaps import GapFinder

AT_ONCE = 4  # blocks that are parsed
NO_LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType({})


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
    """A table that has been looked through: every line was parsed once, and its rows are kept, block by block.

    Every line that is no row is reported once, and so are rows beyond `limits`, which do not count, and gaps, times
    that stand still or run backward, and numbers out of their range, whose rows do. `repeated` are the rows that have
    the time of the row before where that is no defect, `open_row` is the last line if it is a row and has no line end.
    `watch` sees the rows of each block. Of a table that is one of many alike it is not known what pauses are usual:
    they are no defects.
    """

    def __init__(
        self,
        files: Files,
        name: str,
        spec: RowsSpec,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        kept: KeptRows | None = None,
        watch: Watch | None = None,
        limits: Mapping[str, tuple[float, float]] = NO_LIMITS,
        is_one_of_many: bool = False,
    ) -> None:
        self.name = name
        self.watch = watch
        self.repeated = 0
        self.open_row: int | None = None
        self.blocks: list[Block] = []
        self._files = files
        self._report = report
        self._plausible_ns = plausible_ns
        self._kept = KeptRows() if kept is None else kept
        self._places: list[int | None] = []
        self._gaps = None if is_one_of_many else GapFinder()
        self._limits: Limits | None = None if limits else {}
        self._counts_repeated = spec.repeated_times
        with files.open(name) as file:
            text = TableText(file, name)
            head = text.head()
            self.format = spec.format_from_head(head)
            numbers = self.format.dialect.numbers
            self._ranges = {numbers.index(column): (column, *ends) for column, ends in spec.ranges.items()}
            self._look_through(text, limits, head.count(b"\n", self.format.first_byte) + 1)
        self._report_all(text.told)

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(block.count for block in self.blocks)

    def rows(self, index: int) -> Rows:
        """The rows of a block; safe to call from several threads."""
        place = self._places[index]
        return self._parsed_again(self.blocks[index]) if place is None else self._kept.rows(place)

    def rows_between(self, first_ns: int, last_ns: int) -> Rows:
        """All rows with first_ns <= time <= last_ns."""
        parts = [self.rows(i) for i, b in enumerate(self.blocks) if b.first_ns <= last_ns and b.last_ns >= first_ns]
        rows = joined(self.format.dialect, parts)
        chosen = rows.only((rows.stamp_ns >= first_ns) & (rows.stamp_ns <= last_ns))
        return chosen.only(np.argsort(chosen.stamp_ns, kind="stable"))

    def _look_through(self, text: TableText, limits: Mapping[str, tuple[float, float]], beginning: int) -> None:
        """Take all blocks; which limits fit is told by so many lines of the beginning."""
        previous_ns: int | None = None
        for block, parsed in _parsed(text.blocks(self.format), self.format):
            if self._limits is None:
                self._limits = fitting_limits(limits, self.format.dialect.numbers, parsed.between(0, beginning))
            self._report_all(block.told)
            rows = self._usable(block, parsed)
            if len(rows.stamp_ns):
                self._take(block, rows, previous_ns)
                previous_ns = int(rows.stamp_ns[-1])

    def _usable(self, block: TextBlock, parsed: NumberRows) -> NumberRows:
        """The rows that count; the other lines are reported."""
        if not block.text.endswith(b"\n") and parsed.line[-1:].tolist() == [last := block.text.count(b"\n")]:
            self.open_row = block.first_line + last
        possible = self._possible(parsed)
        self._report_all(defects_of_lines(self.name, parsed, block.first_line))
        self._report_all(defects_of_impossible_times(self.name, parsed, possible, block.first_line))
        rows = parsed.only(possible)
        self._report_all(defects_of_limits(self.name, rows, block.first_line, self._limits or {}))
        return rows.only(within_limits(rows, self._limits or {}))

    def _take(self, block: TextBlock, rows: NumberRows, previous_ns: int | None) -> None:
        """Keep the rows of a block, and report what is strange about them."""
        line = block.first_line
        self._report_all(defects_of_order(self.name, rows, line, self._steps(rows, previous_ns)))
        if self._gaps is not None:
            self._report_all(defects_of_gaps(self.name, rows, line, self._gaps))
        self._report_all(defects_of_ranges(self.name, rows, line, self._ranges))
        first_ns, last_ns = int(rows.stamp_ns.min()), int(rows.stamp_ns.max())
        self.blocks.append(Block(block.offset, len(block.text), line, len(rows.stamp_ns), first_ns, last_ns))
        kept = self._sorted(rows, line)
        self._places.append(self._kept.add(kept))
        if self.watch is not None:
            self.watch.add(kept)

    def _possible(self, rows: NumberRows) -> NDArray[np.bool_]:
        """Which rows (n,) have possible times: one that is not would stretch the archive over decades."""
        first, last = self._plausible_ns
        return (rows.stamp_ns >= first) & (rows.stamp_ns <= last)

    def _steps(self, rows: NumberRows, previous_ns: int | None) -> NDArray[np.int64]:
        """The steps between rows, without those of rows whose repeated time is only counted."""
        steps = steps_ns(rows, previous_ns)
        if not self._counts_repeated:
            return steps
        self.repeated += int((steps == 0).sum())
        return np.where(steps == 0, 1, steps)

    def _sorted(self, rows: NumberRows, first_line: int) -> Rows:
        unsorted = Rows(
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

    def _parsed_again(self, block: Block) -> Rows:
        """The rows of a block that there was no room to keep."""
        with self._files.open(self.name) as file:
            file.seek(block.offset)
            (parsed,) = self.format.rows_of([file.read(block.size)])
        rows = parsed.only(self._possible(parsed))
        return self._sorted(rows.only(within_limits(rows, self._limits or {})), block.first_line)

    def _report_all(self, defects: Iterable[Defect]) -> None:
        for defect in defects:
            self._report(defect)


def _parsed(blocks: Iterator[TextBlock], form: RowsFormat) -> Iterator[tuple[TextBlock, NumberRows]]:
    """Blocks of text and their rows, some parsed at once."""
    while some := list(islice(blocks, AT_ONCE)):
        yield from zip(some, form.rows_of([block.text for block in some]), strict=True)
