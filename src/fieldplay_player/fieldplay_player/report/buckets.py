"""Numbers over time in a bounded number of buckets, whose width doubles as the time grows longer."""

import numpy as np
from numpy.typing import NDArray

FIRST_WIDTH_NS = 1_000_000

Array = NDArray[np.float64]


class Buckets:
    """How many rows, and the lowest, highest and mean of each column, in up to `limit` equal stretches of time.

    The buckets lie on multiples of their width, so that two of them make one of the double width.
    """

    def __init__(self, columns: int = 0, limit: int = 256) -> None:
        self._limit, self.width_ns, self._first = limit, FIRST_WIDTH_NS, 0
        self._count: NDArray[np.int64] = np.zeros(limit, np.int64)
        self._finite: NDArray[np.int64] = np.zeros((limit, columns), np.int64)
        self._total = np.zeros((limit, columns))
        self._low, self._high = np.full((limit, columns), np.inf), np.full((limit, columns), -np.inf)

    @property
    def count(self) -> NDArray[np.int64]:
        """Rows of each bucket, from the first that has any to the last (buckets,)."""
        return self._count[self._used]

    @property
    def stamp_ns(self) -> NDArray[np.int64]:
        """The middle of each bucket (buckets,)."""
        first: NDArray[np.int64] = np.arange(self._limit)[self._used] + self._first
        return first * self.width_ns + self.width_ns // 2

    @property
    def low(self) -> Array:
        """The lowest of each column (buckets, columns), infinite where there is no finite number."""
        return self._low[self._used]

    @property
    def high(self) -> Array:
        """The highest of each column, minus infinite where there is no finite number."""
        return self._high[self._used]

    @property
    def mean(self) -> Array:
        """The mean of each column, NaN where there is no finite number."""
        total, finite = self._total[self._used], self._finite[self._used]
        mean: Array = np.divide(total, finite, out=np.full(total.shape, np.nan), where=finite > 0)
        return mean

    def add(self, stamp_ns: NDArray[np.int64], values: Array | None = None) -> None:
        """Further rows: times (n,) and numbers (n, columns). What is not finite is left out."""
        if not len(stamp_ns):
            return
        self._make_room(int(stamp_ns.min()), int(stamp_ns.max()))
        place = stamp_ns // self.width_ns - self._first
        np.add.at(self._count, place, 1)
        if values is not None and values.shape[1]:
            finite = np.isfinite(values)
            np.add.at(self._finite, place, finite)
            np.add.at(self._total, place, np.where(finite, values, 0.0))
            np.minimum.at(self._low, place, np.where(finite, values, np.inf))
            np.maximum.at(self._high, place, np.where(finite, values, -np.inf))

    @property
    def _used(self) -> slice:
        there = np.flatnonzero(self._count)
        return slice(int(there[0]), int(there[-1]) + 1) if len(there) else slice(0, 0)

    def _make_room(self, first_ns: int, last_ns: int) -> None:
        """See to it that the times fit, by moving the buckets or doubling their width."""
        used = self._used
        if used.stop:
            begin = (self._first + used.start) * self.width_ns
            first_ns, last_ns = min(first_ns, begin), max(last_ns, (self._first + used.stop) * self.width_ns - 1)
        if self._first <= first_ns // self.width_ns and last_ns // self.width_ns < self._first + self._limit:
            return
        width = self.width_ns
        while last_ns // width - first_ns // width >= self._limit:
            width *= 2
        self._move(width, first_ns // width)

    def _move(self, width_ns: int, first: int) -> None:
        """Put the buckets into others, which are as wide or wider and begin elsewhere."""
        there = np.flatnonzero(self._count)
        place = (self._first + there) * self.width_ns // width_ns - first
        for name, empty, put in (
            ("_count", 0, np.add),
            ("_finite", 0, np.add),
            ("_total", 0.0, np.add),
            ("_low", np.inf, np.minimum),
            ("_high", -np.inf, np.maximum),
        ):
            before = getattr(self, name)
            moved = np.full_like(before, empty)
            put.at(moved, place, before[there])
            setattr(self, name, moved)
        self.width_ns, self._first = width_ns, first
