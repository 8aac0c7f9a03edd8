"""The turns of a scanner in a table with a row for each bearing: found while it is looked through, and as a stream."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect, FaultPlace, Report
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import Turning
from fieldplay.io.csv_dialect import COUNT
from fieldplay.io.row_cache import TableRows, joined
from fieldplay.io.table import Table
from fieldplay.io.table_streams import Tables
from fieldplay.messages.records import Record
from fieldplay.streams.stream import Span

PAUSE_NS = NS_PER_S // 2  # a turn does not go on behind a pause as long as this
SOME = 0.1  # of the first block's rows
PER_SPAN = 16  # revolutions, two seconds
MOST_ROWS = 4096  # of one turn: a scanner that stands still must not make one of the whole table

RowsOf = Callable[[int], TableRows]
Make = Callable[[NDArray[np.int64], tuple[str, ...], RowsOf], Record]


@dataclass(frozen=True)
class Revolution:
    """One turn: where it begins, by block and by row among the usual ones, and when."""

    number: int  # counted from 0
    block: int
    row: int
    first_ns: int


class RevolutionFinder:
    """Takes the blocks of a table one after the other, and keeps where the turns begin.

    A turn ends where the bearing wraps. Where rows have lists, those of another length than is usual in the first block
    are reported, and belong to no turn: that is as long as most, or as is known where at least some are.
    """

    def __init__(self, turning: Turning, file: str, report: Report) -> None:
        self.revolutions: list[Revolution] = []
        self.usual_count: int | None = None
        self._turning = turning
        self._file = file
        self._report = report
        self._blocks = 0
        self._rows = 0  # of the turn that is not ended
        self._last: tuple[float, int] | None = None

    def end_of(self, turn: Revolution) -> tuple[int, int]:
        """Block and row behind the last of a turn."""
        if turn.number + 1 == len(self.revolutions):
            return self._blocks, 0
        following = self.revolutions[turn.number + 1]
        return following.block, following.row

    def add(self, rows: TableRows) -> None:
        """The next block of the table, not empty."""
        if self.usual_count is None and rows.has(COUNT):
            self.usual_count = self._usual(rows[COUNT].astype(np.int64))
        usual = self.usual(rows)
        for row in np.flatnonzero(~usual).tolist():
            self._tell_length(int(rows.line[row]), int(rows[COUNT][row]))
        self._find(rows.only(usual))
        self._blocks += 1

    def _usual(self, counts: NDArray[np.int64]) -> int:
        known = self._turning.values
        if (counts == known).mean() >= SOME:
            return known
        return int(np.bincount(counts).argmax())

    def usual(self, rows: TableRows) -> NDArray[np.bool_]:
        """Which rows (n,) of a block belong to turns."""
        if self.usual_count is None:
            return np.ones(len(rows), bool)
        chosen: NDArray[np.bool_] = rows[COUNT] == self.usual_count
        return chosen

    def _tell_length(self, line: int, count: int) -> None:
        kind = "short_row" if count < (self.usual_count or 0) else "long_row"
        message = f"expected {self.usual_count} values as is usual in this file, got {count}; the line is left out"
        self._report(Defect(file=self._file, row=line, kind=kind, message=message))

    def _find(self, rows: TableRows) -> None:
        if not len(rows):
            return
        begins = self._begins(rows)
        borders = [*begins.tolist(), len(rows)]
        self._cut_long(rows, 0, borders[0])
        for begin, end in pairwise(borders):
            self._begin(rows, begin)
            self._cut_long(rows, begin, end)

    def _begins(self, rows: TableRows) -> NDArray[np.intp]:
        """The rows that begin a turn: the first of all, and those behind a wrap or a pause."""
        bearing, turn = rows[self._turning.column], self._turning.turn
        is_first = self._last is None
        last_bearing, last_ns = self._last or (bearing[0], int(rows.stamp_ns[0]))
        step = np.abs(np.diff(bearing, prepend=last_bearing))
        # A bearing that goes on beyond a whole turn instead of wrapping ends its turns there.
        whole = np.trunc(bearing / turn * (1 - 1e-9))
        before = np.trunc(np.concatenate([[last_bearing], bearing[:-1]]) / turn * (1 - 1e-9))
        pause_ns = np.diff(rows.stamp_ns, prepend=last_ns)
        begins = (step > turn / 2) | (whole != before) | (pause_ns > PAUSE_NS) | (pause_ns < 0)
        begins[0] |= is_first
        self._last = (float(bearing[-1]), int(rows.stamp_ns[-1]))
        return np.flatnonzero(begins)

    def _begin(self, rows: TableRows, row: int) -> None:
        self.revolutions.append(Revolution(len(self.revolutions), self._blocks, row, int(rows.stamp_ns[row])))
        self._rows = 0

    def _cut_long(self, rows: TableRows, begin: int, end: int) -> None:
        """Go on with a turn by some rows; one that does not end is cut."""
        while self._rows + end - begin > MOST_ROWS:
            begin += MOST_ROWS - self._rows
            self._begin(rows, begin)
        self._rows += end - begin


class RevolutionStream:
    """The revolutions in a table, a few of them a record; their rows are read when they are asked for."""

    def __init__(self, tables: Tables, make: Make) -> None:
        self._make = make
        self._parts = [part for table in tables.tables for part in _parts_of(table)]
        self.spans = [Span(turns[0].first_ns, turns[-1].first_ns, len(turns)) for turns, _ in self._parts]

    def load(self, index: int) -> Record:
        turns, table = self._parts[index]
        stamps = np.array([turn.first_ns for turn in turns], np.int64)
        names = tuple(FaultPlace(table.name, f"the revolution at {turn.first_ns / NS_PER_S:.6f} s") for turn in turns)
        return self._make(stamps, names, lambda row: rows_of_revolution(table, turns[row]))


def finder_of(table: Table) -> RevolutionFinder:
    """What found the revolutions of a table."""
    if not isinstance(table.watch, RevolutionFinder):
        raise TypeError(f"{table.name}: expected a table whose description has `turning`")
    return table.watch


def _parts_of(table: Table) -> list[tuple[list[Revolution], Table]]:
    found = finder_of(table).revolutions
    parts = (found[begin : begin + PER_SPAN] for begin in range(0, len(found), PER_SPAN))
    return [(sorted(part, key=lambda turn: turn.first_ns), table) for part in parts]


def rows_of_revolution(table: Table, turn: Revolution) -> TableRows:
    """The rows from a revolution's begin to the next one's, which may lie in another block."""
    finder = finder_of(table)
    (block, row), (last, until) = (turn.block, turn.row), finder.end_of(turn)
    parts = []
    for index in range(block, last + (until > 0)):
        rows = table.rows(index)
        usual = np.flatnonzero(finder.usual(rows))
        parts.append(rows.only(usual[row if index == block else 0 : until if index == last else None]))
    return joined(table.format.dialect, parts)


def sweep_watcher(archive: Archive, key: str, file: str) -> RevolutionFinder | None:
    """What finds the revolutions in a file of a kind, if the description says that it has some."""
    turning = archive.spec.tables[key].rotating_scanner
    return None if turning is None else RevolutionFinder(turning, file, archive.defects)
