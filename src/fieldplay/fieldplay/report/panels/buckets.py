"""Numbers over time in a bounded number of buckets, whose width doubles when there are more."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import clipped_intervals

FIRST_WIDTH_NS = 1_000_000

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Of each bucket (n,) its number, rows, first and last time; of each column in it (n, columns) what it adds up."""

    place: Integers
    count: Integers
    first: Integers
    last: Integers
    finite: Integers
    total: Array
    low: Array
    high: Array

    def put(self, to: NDArray[np.intp], rows: "_Rows") -> None:
        """Add rows (m,) into the buckets at these indices (m,)."""
        ways = (None, np.add, np.minimum, np.maximum, np.add, np.add, np.minimum, np.maximum)
        for way, entry in zip(ways, fields(self), strict=True):
            if way is not None:
                way.at(getattr(self, entry.name), to, getattr(rows, entry.name))


def _empty(place: Integers, columns: int) -> _Rows:
    n, extremes = len(place), np.iinfo(np.int64)
    return _Rows(
        place,
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
    def place(self) -> Integers:
        """The number of each bucket (buckets,), in order: it begins at so many times the width."""
        return self._rows.place

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
        middle = self._rows.place * self.width_ns + self.width_ns // 2
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
        to = np.searchsorted(self._rows.place, stamp_ns // self.width_ns)
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

    def widened(self, width_ns: int) -> "Buckets":
        """The same rows in buckets that are as wide as these, or a power of two wider."""
        wider = Buckets(self._columns, self._limit)
        wider.width_ns, wider._rows = self.width_ns, self._rows
        wider._move(width_ns, np.unique(self._rows.place // (width_ns // self.width_ns)))
        return wider

    def _make_room(self, stamp_ns: Integers) -> None:
        """See to it that there are buckets for the times, by further ones or by doubling their width."""
        width, new = self.width_ns, np.unique(stamp_ns // self.width_ns)
        near = np.searchsorted(self._rows.place, new)
        if near[-1] < len(self._rows.place) and (self._rows.place[near] == new).all():
            return
        places = np.union1d(self._rows.place, new)
        while len(places) > self._limit:
            width, places = 2 * width, np.unique(places // 2)
        self._move(width, places)

    def _move(self, width_ns: int, places: Integers) -> None:
        """Put the rows into the buckets of these numbers, which are as wide or wider."""
        rows, ratio = _empty(places, self._columns), width_ns // self.width_ns
        rows.put(np.searchsorted(places, self._rows.place // ratio), self._rows)
        self.width_ns, self._rows = width_ns, rows


def drawn_width_ns(buckets: Buckets, pieces_ns: Integers, limit: int) -> int:
    """The least width of buckets of which so many hold all time in the pieces (k, 2) between their first and last row.

    However few rows there are, a curve then has points that are as far apart as its picture can show.
    """
    width, span = buckets.width_ns, buckets.span_ns
    if not len(span):
        return width
    pieces = clipped_intervals(pieces_ns, int(span[0, 0]), int(span[-1, 1]))
    while int((pieces[:, 1] // width - pieces[:, 0] // width + 1).sum()) > max(limit, 2 * len(pieces)):
        width *= 2
    return width
