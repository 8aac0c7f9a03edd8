"""Streams that make one row of several lines of a table that belong together, wherever its blocks end."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.rows import Rows, joined
from fieldplay_archive.tables.table_streams import Tables
from fieldplay_messages.records import Record
from fieldplay_messages.streams import Span

MOST = 64  # lines across the end of a block that are looked at

Choose = Callable[[Rows], Rows]
Begins = Callable[[Rows], NDArray[np.bool_]]
Convert = Callable[[Rows, NDArray[np.int64]], Record]


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

    def _last_before(self, index: int, own: Rows) -> Rows:
        """The line before the first of a block, or none."""
        if index == 0:
            return own.only(np.zeros(0, np.intp))
        rows = self._tables.rows(index - 1)
        chosen = self._choose(rows.only(np.arange(max(len(rows) - MOST, 0), len(rows))))
        return chosen.only(np.arange(max(len(chosen) - 1, 0), len(chosen)))

    def _first_behind(self, index: int, own: Rows) -> Rows:
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
