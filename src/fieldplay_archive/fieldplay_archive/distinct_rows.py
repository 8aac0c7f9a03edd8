"""Many small tables that may hold the same rows: each time counts once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.streams import Tables
from fieldplay_archive.tables import Rows, Table

KEPT = 24  # blocks, at most half a megabyte of text each

T = TypeVar("T")


class OneOfMany(Table):
    """A table that keeps neither its file open nor rows in memory: an archive may have thousands of them.

    Pauses are no defects of it: what is usual in one of many files is not known.
    """

    looks_for_gaps = False

    def _look_through(self) -> None:
        super()._look_through()
        self._file.close()

    def rows(self, index: int) -> Rows:
        with self._files.open(self.name) as file:
            return self._read(self.blocks[index], file)


class Kept(Generic[T]):
    """The last things that were made, by their number; safe to call from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()
        self._things: OrderedDict[int, T] = OrderedDict()

    def get(self, key: int, make: Callable[[], T]) -> T:
        """What is kept, or was made just now."""
        with self._lock:
            if key not in self._things:
                self._things[key] = make()
                if len(self._things) > self._most:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]


class DistinctTables(Tables):
    """Tables of one kind as one. Of rows that share a time the first counts, in the order of the tables."""

    def __init__(self, tables: Sequence[Table]) -> None:
        super().__init__(tables)
        self._all: Kept[Rows] = Kept(KEPT)
        self._distinct: Kept[Rows] = Kept(KEPT)
        self._first = np.array([block.first_ns for block in self.blocks], np.int64)
        self._last = np.array([block.last_ns for block in self.blocks], np.int64)

    def rows(self, index: int) -> Rows:
        """The rows of one block that no block before it has."""
        return self._distinct.get(index, lambda: self.all_rows(index).only(self.is_first(index)))

    def all_rows(self, index: int) -> Rows:
        """The rows of one block, those that others have too among them."""
        return self._all.get(index, lambda: Tables.rows(self, index))

    def is_first(self, index: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block have a time that neither a row before them has nor a block before this one."""
        stamp_ns = self.all_rows(index).stamp_ns
        first: NDArray[np.bool_] = np.diff(stamp_ns, prepend=stamp_ns[:1] - 1) != 0
        for other in self.earlier(index):
            first &= ~np.isin(stamp_ns, self.all_rows(other).stamp_ns)
        return first

    def table_of(self, index: int) -> Table:
        """The table that a block belongs to."""
        return self._places[index][0]

    def earlier(self, index: int) -> list[int]:
        """The blocks before this one, in the order of the tables, that share some stretch of time with it."""
        overlaps = (self._first[:index] <= self._last[index]) & (self._last[:index] >= self._first[index])
        found: list[int] = np.flatnonzero(overlaps).tolist()
        return found
