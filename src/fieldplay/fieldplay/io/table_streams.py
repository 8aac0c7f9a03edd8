"""Tables as streams: all tables of one kind as one; their rows, or lines that belong together, as records."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.io.row_cache import TableRows, joined
from fieldplay.io.table import Table, TableBlock
from fieldplay.messages.records import Record
from fieldplay.streams.stream import Span

MOST = 64  # lines across the end of a block that are looked at

Choose = Callable[[TableRows], TableRows]
Begins = Callable[[TableRows], NDArray[np.bool_]]
Convert = Callable[[TableRows, NDArray[np.int64]], Record]


class Tables:
    """All tables of one kind as one: an archive may hold several recordings."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tuple(tables)
        self._places: list[tuple[Table, int]] = [(table, i) for table in tables for i in range(len(table.blocks))]

    @property
    def blocks(self) -> list[TableBlock]:
        return [table.blocks[index] for table, index in self._places]

    @property
    def count(self) -> int:
        return sum(table.count for table in self.tables)

    def rows(self, index: int) -> TableRows:
        """The rows of one block."""
        table, block = self._places[index]
        return table.rows(block)

    def table_of(self, index: int) -> Table:
        """The table that a block belongs to."""
        return self._places[index][0]

    def rows_between(self, first_ns: int, last_ns: int) -> TableRows:
        """All rows with first_ns <= time <= last_ns, in the order of time."""
        rows = joined(self.tables[0].format.dialect, [table.rows_between(first_ns, last_ns) for table in self.tables])
        return rows if len(self.tables) == 1 else rows.only(np.argsort(rows.stamp_ns, kind="stable"))

    def nearest(self, stamp_ns: NDArray[np.int64], within_ns: int) -> tuple[TableRows, NDArray[np.bool_]]:
        """For each of the times (n,), in order, the row nearest to it, and whether one lies within that distance."""
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

    def _any_row(self) -> TableRows:
        return self.rows(0).only(np.zeros(1, np.intp))


class TableStream:
    """A stream made of the rows of tables, block by block."""

    def __init__(self, tables: Tables, convert: Callable[[TableRows], Record]) -> None:
        self._tables = tables
        self._convert = convert
        self.spans = [Span(block.first_ns, block.last_ns, block.count) for block in tables.blocks]

    def load(self, index: int) -> Record:
        return self._convert(self._tables.rows(index))

    def file(self, index: int) -> str:
        """The name of the file that a span is of."""
        return self._tables.table_of(index).name


class GroupStream:
    """Groups of lines that follow each other; a group belongs to the block in which it begins.

    `choose` takes the lines that count. `begins` tells which of them (n,) begin a group, by each line and the one
    before alone; what it says of the first is not used. `convert` makes a row of each group from the lines and the
    number of the group of each, from 0, ascending: its time must be that of the group's first line.
    """

    def __init__(self, tables: Tables, *, choose: Choose, begins: Begins, convert: Convert) -> None:
        self._tables = tables
        self._choose = choose
        self._begins = begins
        self._convert = convert
        self.spans = [Span(block.first_ns, block.last_ns, block.count) for block in tables.blocks]

    def file(self, index: int) -> str:
        """The name of the file that a span is of."""
        return self._tables.table_of(index).name

    def load(self, index: int) -> Record:
        own = self._choose(self._tables.rows(index))
        if not len(own):
            return self._convert(own, np.zeros(0, np.int64))
        before, behind = self._last_before(index, own), self._first_behind(index, own)
        rows = joined(own.dialect, [before, own, behind])
        begins = self._begins(rows)
        begins[0] = False
        group = np.cumsum(begins)
        wanted = (group >= len(before)) & (group <= group[len(before) + len(own) - 1])
        return self._convert(rows.only(wanted), group[wanted] - len(before))

    def _last_before(self, index: int, own: TableRows) -> TableRows:
        """The line before the first of a block, or none."""
        if index == 0:
            return own.only(np.zeros(0, np.intp))
        rows = self._tables.rows(index - 1)
        chosen = self._choose(rows.only(np.arange(max(len(rows) - MOST, 0), len(rows))))
        return chosen.only(np.arange(max(len(chosen) - 1, 0), len(chosen)))

    def _first_behind(self, index: int, own: TableRows) -> TableRows:
        """The first lines of the next block, or none."""
        if index + 1 == len(self.spans):
            return own.only(np.zeros(0, np.intp))
        rows = self._tables.rows(index + 1)
        return self._choose(rows.only(np.arange(min(len(rows), MOST))))


def begins_of_rising(
    stamp_ns: NDArray[np.int64], code: NDArray[np.int64], longest_ns: NDArray[np.int64] | int
) -> NDArray[np.bool_]:
    """Which rows (n,) begin a group: its codes rise, and none comes later than so long after the row before."""
    begins = np.ones(len(stamp_ns), bool)
    step_ns = np.diff(stamp_ns)
    begins[1:] = (np.diff(code) <= 0) | (step_ns < 0) | (step_ns > longest_ns)
    return begins
