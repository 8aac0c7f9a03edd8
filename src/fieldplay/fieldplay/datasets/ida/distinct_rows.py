"""Many small tables that may hold the same rows: each counts once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.io.row_cache import TableRows
from fieldplay.io.table import Table
from fieldplay.io.table_streams import Tables

KEPT = 24  # blocks, at most half a megabyte of text each

T = TypeVar("T")


class LatestThings(Generic[T]):
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
    """Tables of one kind as one, in which each row counts once.

    Within a table rows are the same that have the same time and numbers. Of rows of several tables that share a time
    the first counts, in the order of the tables; but where a table has several rows of that time, as with a coarse
    clock, only those with the same numbers are the same. `own` are columns that each table counts for itself.
    """

    def __init__(self, tables: Sequence[Table], own: Sequence[str] = ()) -> None:
        super().__init__(tables)
        self._own = frozenset(own)
        self._distinct: LatestThings[TableRows] = LatestThings(KEPT)
        self._first = np.array([block.first_ns for block in self.blocks], np.int64)
        self._last = np.array([block.last_ns for block in self.blocks], np.int64)

    def rows(self, index: int) -> TableRows:
        """The rows of one block that no block before it has."""
        return self._distinct.get(index, lambda: self.all_rows(index).only(self.is_first(index)))

    def all_rows(self, index: int) -> TableRows:
        """The rows of one block, those that others have too among them."""
        return super().rows(index)

    def is_first(self, index: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block neither a row before them repeats nor a block before this one has."""
        first = are_new(self.all_rows(index))
        for other in self.earlier(index):
            first &= ~self.are_in(index, other)
        return first

    def are_in(self, index: int, other: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block an earlier one has."""
        rows, theirs = self.all_rows(index), self.all_rows(other)
        found = np.isin(rows.stamp_ns, theirs.stamp_ns)
        is_one_table = self.table_of(index) is self.table_of(other)
        by_numbers = found if is_one_table else found & np.isin(rows.stamp_ns, _shared_times(rows, theirs))
        if by_numbers.any():
            own = frozenset() if is_one_table else self._own
            near = theirs.only(np.isin(theirs.stamp_ns, rows.stamp_ns[by_numbers]))
            found[by_numbers] = _are_among(_bits(rows.only(by_numbers), own), _bits(near, own))
        return found

    def contradict(self, index: int, other: int) -> NDArray[np.bool_]:
        """Which rows (n,) of a block an earlier one of another table has with other numbers."""
        rows, theirs = self.all_rows(index), self.all_rows(other)
        found = self.are_in(index, other) & ~np.isin(rows.stamp_ns, _shared_times(rows, theirs))
        place = np.searchsorted(theirs.stamp_ns, rows.stamp_ns[found])
        columns = [column not in self._own for column in rows.dialect.numbers]
        first, second = rows.values[found][:, columns], theirs.values[place][:, columns]
        found[found] = ((first != second) & np.isfinite(first) & np.isfinite(second)).any(axis=1)
        return found

    def earlier(self, index: int) -> list[int]:
        """The blocks before this one, in the order of the tables, that share some stretch of time with it."""
        overlaps = (self._first[:index] <= self._last[index]) & (self._last[:index] >= self._first[index])
        found: list[int] = np.flatnonzero(overlaps).tolist()
        return found


def are_new(rows: TableRows) -> NDArray[np.bool_]:
    """Which rows (n,), in the order of time, have another time or other numbers than all before them."""
    new = np.ones(len(rows), bool)
    places = np.flatnonzero(share_a_time(rows.stamp_ns))
    if len(places):
        _, first = np.unique(_bits(rows.only(places), frozenset()), axis=0, return_index=True)
        new[places] = False
        new[places[first]] = True
    return new


def share_a_time(stamp_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the times (n,), in order, the one before or behind is as well."""
    same = np.diff(stamp_ns) == 0
    found: NDArray[np.bool_] = np.append(same, False) | np.append(False, same)
    return found[: len(stamp_ns)]


def _shared_times(*parts: TableRows) -> NDArray[np.int64]:
    """The times that several rows of a part have that are not the same."""
    stamps = [part.stamp_ns[are_new(part)] for part in parts]
    return np.concatenate([part[share_a_time(part)] for part in stamps])


def _bits(rows: TableRows, without: frozenset[str]) -> NDArray[np.int64]:
    """Times and numbers (n, 1 + k) as they are in memory, one form of zero and of NaN; but for some columns."""
    columns = [column not in without for column in rows.dialect.numbers]
    values = np.where(np.isnan(rows.values), np.nan, rows.values + 0.0)[:, columns]
    return np.column_stack([rows.stamp_ns, np.ascontiguousarray(values).view(np.int64)])


def _are_among(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the rows (n, k) are among others (m, k)."""
    _, place = np.unique(np.concatenate([rows, others]), axis=0, return_inverse=True)
    place = place.reshape(-1)
    return np.asarray(np.isin(place[: len(rows)], place[len(rows) :]), bool)
