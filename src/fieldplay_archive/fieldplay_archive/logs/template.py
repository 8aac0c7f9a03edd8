"""Samples that are alike to the byte but for their numbers: many of them are told and read as columns at once."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.packed_numbers import WIDE, is_map, list_header
from fieldplay_archive.logs.unpacking import FAULTS, plain_from_bytes
from fieldplay_messages.errors import ArchiveError

LARGEST = 1 << 14  # bytes of samples that are looked at so
MOST_ITEMS = 4096
MAPS = {0xDE: 2, 0xDF: 4}
TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
SINGLE = {0xC0, 0xC2, 0xC3}  # nothing, false, true

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


class Alike(NamedTuple):
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
        if 0xA0 <= first <= 0xBF:
            size = 1 + first - 0xA0
        elif first in TEXTS:
            width = TEXTS[first]
            size = 1 + width + int.from_bytes(self._data[self.place + 1 : self.place + 1 + width], "big")
        elif first <= 0x7F or first >= 0xE0 or first in SINGLE:
            size = 1
        else:
            raise ValueError("an item of another kind")
        begin = self.place
        self.place += size
        if self.place > len(self._data):
            raise IndexError
        return plain_from_bytes(self._data[begin : self.place])
