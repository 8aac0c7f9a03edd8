"""How items are laid out: what is alike to the byte but for its numbers is told, and read as columns, many at once.

A template fits what has the same texts; a form fits what has the same places for texts and numbers.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.msgpack_decode.number_lists import (
    FIRST_NEGATIVE,
    LARGEST_SMALL,
    MAP,
    MAPS,
    TEXT,
    TEXT_END,
    TEXTS,
    WIDE,
    is_map,
    list_header,
)
from fieldplay_cdff.logs.msgpack_decode.values import FAULTS, plain_from_bytes

LARGEST = 1 << 14  # bytes of items that are looked at so
MOST_ITEMS = 4096  # within one
LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, **TEXTS}  # of bytes and texts: so many bytes of their length
WIDTHS = {first: np.dtype(kind).itemsize for first, kind in WIDE.items()}
NOTHING, FALSE, TRUE = 0xC0, 0xC2, 0xC3

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Number:
    """A number of fixed width, by the place of its bytes."""

    place: int
    kind: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Template:
    """A sample whose numbers may differ: its bytes, where these are fixed, and what it holds, with Number for numbers.

    What else it holds is the same in all samples that fit.
    """

    data: bytes
    fixed: NDArray[np.intp]
    tree: Any

    def fitting(self, rows: Bytes) -> int:
        """How many of the rows (n, size), from the first on, fit."""
        own = np.frombuffer(self.data, np.uint8)
        if rows.shape[1] != len(own):
            return 0
        other = (rows[:, self.fixed] != own[self.fixed]).any(axis=1)
        return int(np.argmax(other)) if bool(other.any()) else len(rows)


class TemplateMatch(NamedTuple):
    """Samples that fit a template, as rows of bytes (n, size)."""

    template: Template
    rows: Bytes


def template_of(data: bytes) -> Template | None:
    """The template of a sample; None where it is too large, or not plain."""
    if not 0 < len(data) <= LARGEST:
        return None
    walk = _Walk(data)
    try:
        tree = walk.item(0)
    except (*FAULTS, IndexError, ArchiveError):
        return None
    if walk.place != len(data) or not walk.numbers:
        return None
    is_fixed = np.ones(len(data), bool)
    for number in walk.numbers:
        is_fixed[number.place : number.place + np.dtype(number.kind).itemsize] = False
    return Template(data=data, fixed=np.flatnonzero(is_fixed), tree=tree)


def column(rows: Bytes, number: Number) -> NDArray[np.generic]:
    """A number of all rows (n, size)."""
    kind = np.dtype(number.kind)
    packed = np.ascontiguousarray(rows[:, number.place : number.place + kind.itemsize])
    return packed.view(kind)[:, 0].astype(kind.newbyteorder("="))


class _Walk:
    """Goes through an item and finds its numbers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0
        self.numbers: list[Number] = []
        self._items = 0

    def item(self, depth: int) -> Any:
        self._items += 1
        if self._items > MOST_ITEMS or depth > 32:
            raise ValueError("too much for a template")
        first = self._data[self.place]
        if first in WIDE:
            return self._number(first)
        if is_map(first):
            return self._map(first, depth)
        header = list_header(self._data, self.place)
        if header is not None:
            if header.length > len(self._data):
                raise ValueError("a list that is longer than the data")
            self.place = header.begin
            return [self.item(depth + 1) for _ in range(header.length)]
        return self._constant(first)

    def _number(self, first: int) -> Number:
        kind = WIDE[first]
        found = Number(self.place + 1, kind)
        self.place += 1 + np.dtype(kind).itemsize
        self.numbers.append(found)
        return found

    def _map(self, first: int, depth: int) -> dict[str, Any]:
        size = MAPS.get(first, 0)
        begin = self.place + 1
        count = int.from_bytes(self._data[begin : begin + size], "big") if size else first & 0x0F
        if count > len(self._data):
            raise ValueError("a map that is longer than the data")
        self.place = begin + size
        found = {}
        for _ in range(count):
            key = self._constant(self._data[self.place])
            if not isinstance(key, str):
                raise ValueError("a name that is no text")
            found[key] = self.item(depth + 1)
        return found

    def _constant(self, first: int) -> Any:
        """A text, a number of one byte, or nothing, false and true."""
        if TEXT <= first <= TEXT_END:
            size = 1 + first - TEXT
        elif first in TEXTS:
            width = TEXTS[first]
            size = 1 + width + int.from_bytes(self._data[self.place + 1 : self.place + 1 + width], "big")
        elif SINGLE[first]:
            size = 1
        else:
            raise ValueError("an item of another kind")
        begin = self.place
        self.place += size
        if self.place > len(self._data):
            raise IndexError
        return plain_from_bytes(self._data[begin : self.place])


def _single() -> NDArray[np.bool_]:
    """Which first bytes (256,) are items of their own: small numbers, nothing, false and true."""
    single = np.zeros(256, bool)
    single[: LARGEST_SMALL + 1] = single[FIRST_NEGATIVE:] = True
    single[[NOTHING, FALSE, TRUE]] = True
    return single


SINGLE = _single()


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemForm:
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


def form_of(data: bytes) -> ItemForm | None:
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
    return ItemForm(data=own, heads=np.array(heads, np.intp), singles=np.array(singles, np.intp))


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
