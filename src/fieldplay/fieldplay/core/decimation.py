"""A few of many: every k-th is kept, and k doubles whenever there are too many. Memory stays bounded, the pick even."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

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
    """Between `limit` and twice as many things, evenly picked; each is made only when it is picked, and the last."""

    def __init__(self, limit: int) -> None:
        self._limit, self._stride = limit, 1
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
