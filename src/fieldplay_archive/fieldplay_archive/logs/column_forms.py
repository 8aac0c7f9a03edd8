"""How an item is laid out, whatever its numbers and texts are: runs of items of one form are told by NumPy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.packed_numbers import (
    FIRST_NEGATIVE,
    LARGEST_SMALL,
    MAP,
    MAPS,
    TEXT,
    TEXT_END,
    WIDE,
    is_map,
    list_header,
)

LARGEST = 1 << 14  # bytes of items that are looked at so
MOST_ITEMS = 4096  # within one
LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}  # of bytes and texts: so many bytes of their length
WIDTHS = {first: np.dtype(kind).itemsize for first, kind in WIDE.items()}
NOTHING, FALSE, TRUE = 0xC0, 0xC2, 0xC3

Bytes = NDArray[np.uint8]


def _single() -> NDArray[np.bool_]:
    """Which first bytes (256,) are items of their own: small numbers, nothing, false and true."""
    single = np.zeros(256, bool)
    single[: LARGEST_SMALL + 1] = single[FIRST_NEGATIVE:] = True
    single[[NOTHING, FALSE, TRUE]] = True
    return single


SINGLE = _single()


@dataclass(frozen=True, eq=False, kw_only=True)
class Form:
    """The bytes of an item, the places of those that say what follows, and of those that are items of their own.

    Another item is of this form, and so of this size, if the former are the same and the latter such bytes too.
    """

    data: Bytes
    heads: NDArray[np.intp]
    singles: NDArray[np.intp]

    def fitting(self, rows: Bytes) -> int:
        """How many of the rows (n, size), from the first on, are of this form."""
        if rows.shape[1] != len(self.data):
            return 0
        other = (rows[:, self.heads] != self.data[self.heads]).any(axis=1)
        if len(self.singles):
            other |= ~SINGLE[rows[:, self.singles]].all(axis=1)
        first = int(np.argmax(other)) if len(rows) else 0
        return first if len(rows) and other[first] else len(rows)


def form_of(data: bytes) -> Form | None:
    """The form of an item; None where it is too large, of another kind, or not whole."""
    if not 0 < len(data) <= LARGEST:
        return None
    heads: list[int] = []
    singles: list[int] = []
    place, left, count = 0, 1, 0
    while left and place < len(data) and count < MOST_ITEMS:
        if SINGLE[data[place]]:
            singles.append(place)
            place, left = place + 1, left - 1
        else:
            head, content, within = _sizes(data, place)
            if not head:
                return None
            heads += range(place, place + head)
            place, left = place + head + content, left - 1 + within
        count += 1
    if left or place != len(data):
        return None
    own = np.frombuffer(data, np.uint8)
    return Form(data=own, heads=np.array(heads, np.intp), singles=np.array(singles, np.intp))


def _sizes(data: bytes, place: int) -> tuple[int, int, int]:
    """Of an item: the bytes of its head, those of its content, and the items within; no head where it is another."""
    first = data[place]
    if first in WIDTHS:
        return 1, WIDTHS[first], 0
    if TEXT <= first <= TEXT_END:
        return 1, first - TEXT, 0
    if first in LENGTHS:
        return 1 + LENGTHS[first], _length(data, place, LENGTHS[first]), 0
    if is_map(first):
        size = MAPS.get(first, 0)
        return 1 + size, 0, 2 * (_length(data, place, size) if size else first - MAP)
    header = list_header(data, place)
    return (header.begin - place, 0, header.length) if header is not None else (0, 0, 0)


def _length(data: bytes, place: int, size: int) -> int:
    return int.from_bytes(data[place + 1 : place + 1 + size], "big")
