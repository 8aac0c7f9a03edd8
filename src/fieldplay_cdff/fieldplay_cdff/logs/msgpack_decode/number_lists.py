"""Long lists of numbers in MessagePack, as NumPy arrays straight from their bytes.

Pixels stand in these logs as lists of integers, one or two bytes each: making Python objects of them costs more than
all the rest. What is not of the few plain forms is None here, and goes through msgpack itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# The first byte of an item
LARGEST_SMALL, FIRST_NEGATIVE = 0x7F, 0xE0  # numbers of one byte: up to the one, or from the other on
BYTE = 0xCC  # a number of one byte follows
WIDE = {  # so does one of this kind
    0xCA: ">f4", 0xCB: ">f8", 0xCC: "u1", 0xCD: ">u2", 0xCE: ">u4", 0xCF: ">u8",
    0xD0: "i1", 0xD1: ">i2", 0xD2: ">i4", 0xD3: ">i8",
}  # fmt: skip
FLOATS = (0xCA, 0xCB)
LONGEST_VECTOR = 64
MAP, MAP_END, LIST, LIST_END, TEXT, TEXT_END = 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF
LISTS, MAPS = {0xDC: 2, 0xDD: 4}, {0xDE: 2, 0xDF: 4}  # with so many bytes of their length
TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}

Numbers = NDArray[np.generic]
Bytes = NDArray[np.uint8]


class ListHeader(NamedTuple):
    """How many items a list says it has, and where the first begins."""

    length: int
    begin: int


def list_header(data: bytes, place: int) -> ListHeader | None:
    """The header of a list that begins at a place; None if something else does, or nothing whole."""
    first = data[place] if place < len(data) else 0
    if LIST <= first <= LIST_END:
        return ListHeader(first - LIST, place + 1)
    size = LISTS.get(first, 0)
    if not size or place + 1 + size > len(data):
        return None
    return ListHeader(int.from_bytes(data[place + 1 : place + 1 + size], "big"), place + 1 + size)


def is_map(first: int) -> bool:
    """Whether an item that begins with this byte is a map."""
    return MAP <= first <= MAP_END or first in MAPS


def is_text(first: int) -> bool:
    """Whether an item that begins with this byte is a text."""
    return TEXT <= first <= TEXT_END or first in TEXTS


class NumberList(NamedTuple):
    """The numbers of a list, and where what follows it begins."""

    numbers: Numbers
    end: int


def numbers_at(data: bytes, header: ListHeader) -> NumberList | None:
    """The numbers (count,) of a list; None where they are mixed in another way, are no numbers, or are cut off."""
    items = np.frombuffer(data, np.uint8, offset=header.begin)
    if not header.length or len(items) < header.length:
        return None
    first = int(items[0])
    found = _of_one_width(items, header.length) if first in WIDE else None
    if found is None and (first <= LARGEST_SMALL or first >= FIRST_NEGATIVE or first == BYTE):
        found = _of_bytes(items[: 2 * header.length], header.length)
    return None if found is None else NumberList(found.numbers, header.begin + found.end)


def _of_one_width(items: Bytes, count: int) -> NumberList | None:
    kind = np.dtype(WIDE[int(items[0])])
    end = count * (kind.itemsize + 1)
    if len(items) < end:
        return None
    rows = items[:end].reshape(count, -1)
    if bool((rows[:, 0] != items[0]).any()):
        return None
    return NumberList(np.ascontiguousarray(rows[:, 1:]).view(kind)[:, 0].astype(kind.newbyteorder("=")), end)


def _of_bytes(items: Bytes, count: int) -> NumberList | None:
    """Small numbers, and those that have the marker BYTE before them; a value may be the same byte as the marker.

    In a run of such bytes marker and value take turns from its beginning on, as no item ends within a run's first byte.
    """
    is_marker = items == BYTE
    if not bool(is_marker[:count].any()):
        return _small(items[:count])
    is_marker[_second_of_pairs(is_marker)] = False
    places = np.flatnonzero(~is_marker)[:count]
    if len(places) < count:
        return None
    end = int(places[-1]) + 1
    is_large = items[:end] > LARGEST_SMALL
    is_bare = ~is_marker[:end]
    is_bare[1:] &= ~is_marker[: end - 1]
    if bool((is_large & is_bare).any()):
        return None  # an item of another kind is among them
    return NumberList(np.take(items, places), end)


def _small(items: Bytes) -> NumberList | None:
    is_negative = items >= FIRST_NEGATIVE
    if bool(((items > LARGEST_SMALL) & ~is_negative).any()):
        return None
    return NumberList(items.view(np.int8) if bool(is_negative.any()) else items, len(items))


def _second_of_pairs(is_marker: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The places of every other one of a run, the second of it first."""
    pairs = np.flatnonzero(is_marker[1:] & is_marker[:-1])
    if not len(pairs):
        return pairs
    begins = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1] + 1, out=begins[1:])
    index = np.arange(len(pairs))
    begin = np.maximum.accumulate(np.where(begins, index, 0))
    seconds: NDArray[np.intp] = pairs[(index - begin) & 1 == 0] + 1
    return seconds


def vectors_at(data: bytes, header: ListHeader) -> NumberList | None:
    """Numbers (count, k) of a list of lists, or of maps with one list each, all laid out as the first; else None."""
    item = _first_vector(data, header.begin)
    end = header.begin + header.length * item.width if item else 0
    if item is None or not header.length or len(data) < end:
        return None
    rows = np.frombuffer(data, np.uint8, end - header.begin, header.begin).reshape(header.length, item.width)
    numbers = np.array(item.places)[:, None] + 1 + np.arange(item.kind.itemsize)
    fixed = np.setdiff1d(np.arange(item.width), numbers)
    if bool((rows[:, fixed] != rows[0, fixed]).any()):
        return None
    packed = np.ascontiguousarray(rows[:, numbers.ravel()]).view(item.kind)
    return NumberList(packed.astype(item.kind.newbyteorder("=")), end)


class _Vector(NamedTuple):
    places: list[int]  # of the first bytes of its numbers
    width: int
    kind: np.dtype[np.generic]


def _first_vector(data: bytes, begin: int) -> _Vector | None:
    """How an item is laid out that is a list of floats, or a map with one; None if it is another thing."""
    place = begin
    if data[place : place + 1] == bytes((MAP + 1,)) and TEXT <= data[place + 1] <= TEXT_END:
        place += 2 + data[place + 1] - TEXT
    header = list_header(data, place)
    if header is None or not header.length or header.begin >= len(data) or data[header.begin] not in FLOATS:
        return None
    kind = np.dtype(WIDE[data[header.begin]])
    width = kind.itemsize + 1
    end = header.begin + header.length * width
    if header.length > LONGEST_VECTOR or end > len(data):
        return None
    return _Vector([at - begin for at in range(header.begin, end, width)], end - begin, kind)
