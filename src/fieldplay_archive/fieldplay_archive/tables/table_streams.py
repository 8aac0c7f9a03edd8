"""Tables as streams: all tables of one kind as one, and their rows as records."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.rows import Rows, joined
from fieldplay_archive.tables.table import Block, Table
from fieldplay_messages.records import Record
from fieldplay_messages.streams import Span


class Tables:
    """All tables of one kind as one: an archive may hold several recordings."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tuple(tables)
        self._places: list[tuple[Table, int]] = [(table, i) for table in tables for i in range(len(table.blocks))]

    @property
    def blocks(self) -> list[Block]:
        return [table.blocks[index] for table, index in self._places]

    @property
    def count(self) -> int:
        return sum(table.count for table in self.tables)

    def rows(self, index: int) -> Rows:
        """The rows of one block."""
        table, block = self._places[index]
        return table.rows(block)

    def rows_between(self, first_ns: int, last_ns: int) -> Rows:
        """All rows with first_ns <= time <= last_ns, in the order of time."""
        rows = joined(self.tables[0].format.dialect, [table.rows_between(first_ns, last_ns) for table in self.tables])
        return rows if len(self.tables) == 1 else rows.only(np.argsort(rows.stamp_ns, kind="stable"))

    def nearest(self, stamp_ns: NDArray[np.int64], within_ns: int) -> tuple[Rows, NDArray[np.bool_]]:
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

    def _any_row(self) -> Rows:
        return self.rows(0).only(np.zeros(1, np.intp))


class TableStream:
    """A stream made of the rows of tables, block by block."""

    def __init__(self, tables: Tables, convert: Callable[[Rows], Record]) -> None:
        self._tables = tables
        self._convert = convert
        self.spans = [Span(block.first_ns, block.last_ns, block.count) for block in tables.blocks]

    def load(self, index: int) -> Record:
        return self._convert(self._tables.rows(index))
