"""A few of many: every k-th is kept, and k doubles whenever there are too many. Memory stays bounded, the pick even."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import clip_intervals

FIRST_WIDTH_NS = 1_000_000
Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Item = TypeVar("Item")


class RowDecimator:
    """Between `limit` and twice as many rows of numbers (n, width) with their times, evenly picked, and the last."""

    def __init__(self, width: int, limit: int) -> None:
        self._stamp_ns = np.empty(2 * limit, np.int64)
        self._values = np.empty((2 * limit, width))
        self._stride, self._count = 1, 0
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        self.seen = 0

    def add(self, stamp_ns: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Further rows: times (n,) and numbers (n, width)."""
        if not len(stamp_ns):
            return
        self._last = (stamp_ns[-1:].copy(), values[-1:].copy())
        chosen = self._chosen(len(stamp_ns))
        while self._count + len(chosen) > len(self._stamp_ns):
            self._halve()
            chosen = self._chosen(len(stamp_ns))
        end = self._count + len(chosen)
        self._stamp_ns[self._count : end], self._values[self._count : end] = stamp_ns[chosen], values[chosen]
        self._count = end
        self.seen += len(stamp_ns)

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (n,) and numbers (n, width), in the order of time."""
        stamp_ns, values = self._stamp_ns[: self._count], self._values[: self._count]
        if self._last is not None and (self.seen - 1) % self._stride:
            stamp_ns, values = np.append(stamp_ns, self._last[0]), np.append(values, self._last[1], axis=0)
        order = np.argsort(stamp_ns, kind="stable")
        return stamp_ns[order], values[order]

    def _chosen(self, count: int) -> NDArray[np.intp]:
        return np.arange(-self.seen % self._stride, count, self._stride)

    def _halve(self) -> None:
        count = (self._count + 1) // 2
        self._stamp_ns[:count] = self._stamp_ns[: self._count : 2].copy()
        self._values[:count] = self._values[: self._count : 2].copy()
        self._count, self._stride = count, 2 * self._stride


class Decimator(Generic[Item]):
    """Between `limit` and twice as many things, evenly picked; each is made only when it is picked, and the last.

    Where about how many will come is known, none is made that would be dropped later.
    """

    def __init__(self, limit: int, *, expected: int = 0) -> None:
        self._limit, self._stride = limit, 1
        while -(-expected // self._stride) > 2 * limit:
            self._stride *= 2
        self._items: list[tuple[int, Item]] = []
        self._last: tuple[int, Callable[[], Item | None]] | None = None
        self.seen = 0

    def offer(self, make: Callable[[], Item | None]) -> None:
        """The next thing; make may give None where it is of no use."""
        if self.seen % self._stride == 0:
            item = make()
            if item is not None:
                self._items.append((self.seen, item))
        self._last = (self.seen, make)
        self.seen += 1
        if len(self._items) > 2 * self._limit:
            self._stride *= 2
            self._items = [entry for entry in self._items if entry[0] % self._stride == 0]

    def items(self) -> list[Item]:
        """What was kept, in the order in which it came, and the last."""
        items = [item for _, item in self._items]
        if self._last is not None and (self._last[0] % self._stride or not self._items):
            last = self._last[1]()
            items += [] if last is None else [last]
        return items


def middle_index(stamp_ns: Sequence[int]) -> int:
    """The index of the time nearest to the middle between the first and the last."""
    middle = (stamp_ns[0] + stamp_ns[-1]) // 2
    return min(range(len(stamp_ns)), key=lambda index: abs(stamp_ns[index] - middle))


# Numbers over time in a bounded number of buckets, whose width doubles when there are more.


@dataclass(frozen=True, eq=False)
class _Rows:
    """Of each bucket (n,) its number, rows, first and last time; of each column in it (n, columns) what it adds up."""

    number: Integers
    count: Integers
    first: Integers
    last: Integers
    finite: Integers
    total: Array
    low: Array
    high: Array

    def put(self, to: NDArray[np.intp], rows: "_Rows") -> None:
        """Add rows (m,) into the buckets at these indices (m,)."""
        operations = (None, np.add, np.minimum, np.maximum, np.add, np.add, np.minimum, np.maximum)
        for operation, entry in zip(operations, fields(self), strict=True):
            if operation is not None:
                operation.at(getattr(self, entry.name), to, getattr(rows, entry.name))


def _empty(number: Integers, columns: int) -> _Rows:
    n, extremes = len(number), np.iinfo(np.int64)
    return _Rows(
        number,
        np.zeros(n, np.int64),
        np.full(n, extremes.max, np.int64),
        np.full(n, extremes.min, np.int64),
        np.zeros((n, columns), np.int64),
        np.zeros((n, columns)),
        np.full((n, columns), np.inf),
        np.full((n, columns), -np.inf),
    )


class Buckets:
    """How many rows, and the lowest, highest and mean of each column, in up to `limit` equal stretches of time.

    The buckets lie on multiples of their width, so that two of them make one of the double width. There are only those
    that have rows: stretches without any cost nothing, however long they are.
    """

    def __init__(self, columns: int = 0, limit: int = 256) -> None:
        self._columns, self._limit, self.width_ns = columns, limit, FIRST_WIDTH_NS
        self._rows = _empty(np.zeros(0, np.int64), columns)

    @property
    def number(self) -> Integers:
        """The number of each bucket (buckets,), in order: it begins at so many times the width."""
        return self._rows.number

    @property
    def count(self) -> Integers:
        """Rows of each bucket (buckets,), at least 1."""
        return self._rows.count

    @property
    def span_ns(self) -> Integers:
        """The first and the last time of a row in each bucket (buckets, 2)."""
        return np.stack([self._rows.first, self._rows.last], axis=-1)

    @property
    def stamp_ns(self) -> Integers:
        """The middle of each bucket (buckets,), or the nearest to it between its first and its last row."""
        middle = self._rows.number * self.width_ns + self.width_ns // 2
        return np.asarray(np.clip(middle, self._rows.first, self._rows.last), np.int64)

    @property
    def low(self) -> Array:
        """The lowest of each column (buckets, columns), infinite where there is no finite number."""
        return self._rows.low

    @property
    def high(self) -> Array:
        """The highest of each column, minus infinite where there is no finite number."""
        return self._rows.high

    @property
    def mean(self) -> Array:
        """The mean of each column, NaN where there is no finite number."""
        total, finite = self._rows.total, self._rows.finite
        mean: Array = np.divide(total, finite, out=np.full(total.shape, np.nan), where=finite > 0)
        return mean

    def add(self, stamp_ns: Integers, values: Array | None = None) -> None:
        """Further rows: times (n,) and numbers (n, columns). What is not finite is left out."""
        if not len(stamp_ns):
            return
        self._make_room(stamp_ns)
        to = np.searchsorted(self._rows.number, stamp_ns // self.width_ns)
        if values is None:
            values = np.zeros((len(stamp_ns), 0))
        finite = np.isfinite(values)
        self._rows.put(
            to,
            _Rows(
                to,
                np.ones(len(stamp_ns), np.int64),
                stamp_ns,
                stamp_ns,
                finite.astype(np.int64),
                np.where(finite, values, 0.0),
                np.where(finite, values, np.inf),
                np.where(finite, values, -np.inf),
            ),
        )

    def widen(self, width_ns: int) -> "Buckets":
        """The same rows in buckets that are as wide as these, or a power of two wider."""
        wider = Buckets(self._columns, self._limit)
        wider.width_ns, wider._rows = self.width_ns, self._rows
        wider._move(width_ns, np.unique(self._rows.number // (width_ns // self.width_ns)))
        return wider

    def _make_room(self, stamp_ns: Integers) -> None:
        """See to it that there are buckets for the times, by further ones or by doubling their width."""
        width, new = self.width_ns, np.unique(stamp_ns // self.width_ns)
        near = np.searchsorted(self._rows.number, new)
        if near[-1] < len(self._rows.number) and (self._rows.number[near] == new).all():
            return
        numbers = np.union1d(self._rows.number, new)
        while len(numbers) > self._limit:
            width, numbers = 2 * width, np.unique(numbers // 2)
        self._move(width, numbers)

    def _move(self, width_ns: int, numbers: Integers) -> None:
        """Put the rows into the buckets of these numbers, which are as wide or wider."""
        rows, ratio = _empty(numbers, self._columns), width_ns // self.width_ns
        rows.put(np.searchsorted(numbers, self._rows.number // ratio), self._rows)
        self.width_ns, self._rows = width_ns, rows


def drawing_width_ns(buckets: Buckets, intervals_ns: Integers, limit: int) -> int:
    """The least bucket width at which `limit` buckets hold the intervals (k, 2) between first and last row.

    However few rows there are, a curve then has points that are as far apart as its image can show.
    """
    width, span = buckets.width_ns, buckets.span_ns
    if not len(span):
        return width
    intervals = clip_intervals(intervals_ns, int(span[0, 0]), int(span[-1, 1]))
    while int((intervals[:, 1] // width - intervals[:, 0] // width + 1).sum()) > max(limit, 2 * len(intervals)):
        width *= 2
    return width
