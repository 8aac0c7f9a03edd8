"""Items of MessagePack as plain Python data, or with NumPy arrays where long lists of numbers are."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError

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
FEW = 256  # items of a list that msgpack itself unpacks as quickly
SMALL = 2048  # bytes of a sample that it does
DEEPEST = 64
# What msgpack raises for bytes that are none of its format, are cut off or nested too deep
DECODE_ERRORS = (ValueError, TypeError, OverflowError, msgpack.exceptions.UnpackException)
UNKNOWN_TEXT = "replace"  # how bytes of a text that are no UTF-8 are shown
LARGEST = 1 << 14  # bytes of items that are looked at so
MAX_ITEMS = 4096  # within one
LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, **TEXTS}  # of bytes and texts: so many bytes of their length
WIDTHS = {first: np.dtype(kind).itemsize for first, kind in WIDE.items()}
NOTHING, FALSE, TRUE = 0xC0, 0xC2, 0xC3


# Long lists of numbers in MessagePack, as NumPy arrays straight from their bytes.
#
# Pixels are in these logs as lists of integers, one or two bytes each: making Python objects of them costs more than
# all the rest. Anything but the few plain forms is None here, and is decoded by msgpack itself.


class ListHeader(NamedTuple):
    """The number of items in a list's header, and the offset of the first."""

    length: int
    start: int


def list_header(data: bytes, offset: int) -> ListHeader | None:
    """The header of a list that starts at an offset; None if something else does, or nothing complete."""
    first = data[offset] if offset < len(data) else 0
    if LIST <= first <= LIST_END:
        return ListHeader(first - LIST, offset + 1)
    size = LISTS.get(first, 0)
    if not size or offset + 1 + size > len(data):
        return None
    return ListHeader(int.from_bytes(data[offset + 1 : offset + 1 + size], "big"), offset + 1 + size)


def is_map(first: int) -> bool:
    """Whether an item that starts with this byte is a map."""
    return MAP <= first <= MAP_END or first in MAPS


def is_text(first: int) -> bool:
    """Whether an item that starts with this byte is a text."""
    return TEXT <= first <= TEXT_END or first in TEXTS


class NumberList(NamedTuple):
    """The numbers of a list, and the offset of what follows it."""

    numbers: Numbers
    end: int


def numbers_at(data: bytes, header: ListHeader) -> NumberList | None:
    """The numbers (count,) of a list; None if they are mixed in another way, are no numbers, or are truncated."""
    items = np.frombuffer(data, np.uint8, offset=header.start)
    if not header.length or len(items) < header.length:
        return None
    first = int(items[0])
    numbers = _of_one_width(items, header.length) if first in WIDE else None
    if numbers is None and (first <= LARGEST_SMALL or first >= FIRST_NEGATIVE or first == BYTE):
        numbers = _of_bytes(items[: 2 * header.length], header.length)
    return None if numbers is None else NumberList(numbers.numbers, header.start + numbers.end)


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
    """Decode small numbers, and those after the marker BYTE; a value may be the same byte as the marker.

    In a run of such bytes, marker and value alternate from its start, as no item ends within a run's first byte.
    """
    is_marker = items == BYTE
    if not bool(is_marker[:count].any()):
        return _small(items[:count])
    is_marker[_second_of_pairs(is_marker)] = False
    offsets = np.flatnonzero(~is_marker)[:count]
    if len(offsets) < count:
        return None
    end = int(offsets[-1]) + 1
    is_large = items[:end] > LARGEST_SMALL
    is_bare = ~is_marker[:end]
    is_bare[1:] &= ~is_marker[: end - 1]
    if bool((is_large & is_bare).any()):
        return None  # an item of another kind is among them
    return NumberList(np.take(items, offsets), end)


def _small(items: Bytes) -> NumberList | None:
    is_negative = items >= FIRST_NEGATIVE
    if bool(((items > LARGEST_SMALL) & ~is_negative).any()):
        return None
    return NumberList(items.view(np.int8) if bool(is_negative.any()) else items, len(items))


def _second_of_pairs(is_marker: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The offsets of every other one of a run, starting with the second."""
    pairs = np.flatnonzero(is_marker[1:] & is_marker[:-1])
    if not len(pairs):
        return pairs
    starts = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1] + 1, out=starts[1:])
    index = np.arange(len(pairs))
    start = np.maximum.accumulate(np.where(starts, index, 0))
    seconds: NDArray[np.intp] = pairs[(index - start) & 1 == 0] + 1
    return seconds


def vectors_at(data: bytes, header: ListHeader) -> NumberList | None:
    """Numbers (count, k) of a list of lists, or of maps with one list each, all laid out as the first; else None."""
    item = _first_vector(data, header.start)
    end = header.start + header.length * item.width if item else 0
    if item is None or not header.length or len(data) < end:
        return None
    rows = np.frombuffer(data, np.uint8, end - header.start, header.start).reshape(header.length, item.width)
    numbers = np.array(item.offsets)[:, None] + 1 + np.arange(item.kind.itemsize)
    fixed = np.setdiff1d(np.arange(item.width), numbers)
    if bool((rows[:, fixed] != rows[0, fixed]).any()):
        return None
    packed = np.ascontiguousarray(rows[:, numbers.ravel()]).view(item.kind)
    return NumberList(packed.astype(item.kind.newbyteorder("=")), end)


class _Vector(NamedTuple):
    offsets: list[int]  # of the first bytes of its numbers
    width: int
    kind: np.dtype[np.generic]


def _first_vector(data: bytes, start: int) -> _Vector | None:
    """Return the layout of an item that is a list of floats, or a map with one; None if it is another thing."""
    offset = start
    if data[offset : offset + 1] == bytes((MAP + 1,)) and TEXT <= data[offset + 1] <= TEXT_END:
        offset += 2 + data[offset + 1] - TEXT
    header = list_header(data, offset)
    if header is None or not header.length or header.start >= len(data) or data[header.start] not in FLOATS:
        return None
    kind = np.dtype(WIDE[data[header.start]])
    width = kind.itemsize + 1
    end = header.start + header.length * width
    if header.length > LONGEST_VECTOR or end > len(data):
        return None
    return _Vector([at - start for at in range(header.start, end, width)], end - start, kind)


def plain_from_bytes(data: bytes) -> Any:
    """Decode bytes to dicts, lists, numbers and texts; ArchiveError if they are no complete item of the format.

    No list is made for more items than there are bytes.
    """
    try:
        return msgpack.unpackb(data, raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=True)
    except DECODE_ERRORS as error:
        raise ArchiveError(f"expected an item of MessagePack, got {why(error)}") from None


def settings_from_bytes(data: bytes) -> Any:
    """The same of a file of settings, whose maps may have lists for keys: these are tuples, as all lists are."""
    try:
        return msgpack.unpackb(
            data, raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=False, use_list=False
        )  # fmt: skip
    except DECODE_ERRORS as error:
        raise ArchiveError(f"expected settings in MessagePack, got {why(error)}") from None


def arrays_from_bytes(data: bytes) -> Any:
    """The same as plain_from_bytes, but long lists of numbers, and of vectors (n, k), are NumPy arrays.

    A vector of Rock's, a map whose only entry is a list, counts as that list.
    """
    if len(data) < SMALL:
        return plain_from_bytes(data)
    unpacker = msgpack.Unpacker(
        raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=True, max_buffer_size=max(len(data), 1)
    )
    try:
        unpacker.feed(data)
        return _item(unpacker, data, DEEPEST)
    except (*DECODE_ERRORS, IndexError) as error:
        raise ArchiveError(f"expected an item of MessagePack, got {why(error)}") from None


def _item(unpacker: Any, data: bytes, depth: int) -> Any:
    offset = unpacker.tell()
    if is_map(data[offset]):
        if not depth:
            raise ValueError("maps within maps without end")
        return {_key(unpacker): _item(unpacker, data, depth - 1) for _ in range(unpacker.read_map_header())}
    header = list_header(data, offset)
    if header is None or header.length < FEW:
        return unpacker.unpack()
    array = numbers_at(data, header) or vectors_at(data, header)
    if array is None:
        return unpacker.unpack()
    unpacker.read_bytes(array.end - offset)
    return array.numbers


def _key(unpacker: Any) -> str:
    key = unpacker.unpack()
    if not isinstance(key, str):
        raise ValueError(f"{type(key).__name__} where a name should be")
    return key


def why(error: BaseException) -> str:
    """The issue as text."""
    if isinstance(error, msgpack.exceptions.OutOfData | IndexError):
        return "one that is cut off"
    if isinstance(error, TypeError) or "map key" in str(error):
        return "another thing than a text where a name should be"
    if isinstance(error, msgpack.exceptions.StackError):
        return "one that is nested too deep"
    if isinstance(error, msgpack.exceptions.FormatError):
        return "a byte that no item starts with"
    if isinstance(error, msgpack.exceptions.BufferFull):
        return "a text or bytes of an impossible length"
    return str(error) or type(error).__name__


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """A name of a field or type without what spellings differ in: capitals, underscores, hyphens."""
    return name.replace("_", "").replace("-", "").lower()


# Item layouts: items that are equal byte for byte except for their numbers are detected and decoded as columns.
#
# A template fits items with the same texts; a form fits items with the same offsets of texts and numbers.


@dataclass(frozen=True)
class Number:
    """A number of fixed width, by the offset of its bytes."""

    offset: int
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
        """Count the rows (n, size), from the first on, that fit."""
        bytes_of_item = np.frombuffer(self.data, np.uint8)
        if rows.shape[1] != len(bytes_of_item):
            return 0
        other = (rows[:, self.fixed] != bytes_of_item[self.fixed]).any(axis=1)
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
    except (*DECODE_ERRORS, IndexError, ArchiveError):
        return None
    if walk.offset != len(data) or not walk.numbers:
        return None
    is_fixed = np.ones(len(data), bool)
    for number in walk.numbers:
        is_fixed[number.offset : number.offset + np.dtype(number.kind).itemsize] = False
    return Template(data=data, fixed=np.flatnonzero(is_fixed), tree=tree)


def column(rows: Bytes, number: Number) -> NDArray[np.generic]:
    """A number of all rows (n, size)."""
    kind = np.dtype(number.kind)
    packed = np.ascontiguousarray(rows[:, number.offset : number.offset + kind.itemsize])
    return packed.view(kind)[:, 0].astype(kind.newbyteorder("="))


class _Walk:
    """Goes through an item and finds its numbers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.offset = 0
        self.numbers: list[Number] = []
        self._items = 0

    def item(self, depth: int) -> Any:
        self._items += 1
        if self._items > MAX_ITEMS or depth > 32:
            raise ValueError("too much for a template")
        first = self._data[self.offset]
        if first in WIDE:
            return self._number(first)
        if is_map(first):
            return self._map(first, depth)
        header = list_header(self._data, self.offset)
        if header is not None:
            if header.length > len(self._data):
                raise ValueError("a list that is longer than the data")
            self.offset = header.start
            return [self.item(depth + 1) for _ in range(header.length)]
        return self._constant(first)

    def _number(self, first: int) -> Number:
        kind = WIDE[first]
        number = Number(self.offset + 1, kind)
        self.offset += 1 + np.dtype(kind).itemsize
        self.numbers.append(number)
        return number

    def _map(self, first: int, depth: int) -> dict[str, Any]:
        size = MAPS.get(first, 0)
        start = self.offset + 1
        count = int.from_bytes(self._data[start : start + size], "big") if size else first & 0x0F
        if count > len(self._data):
            raise ValueError("a map that is longer than the data")
        self.offset = start + size
        items = {}
        for _ in range(count):
            key = self._constant(self._data[self.offset])
            if not isinstance(key, str):
                raise ValueError("a name that is no text")
            items[key] = self.item(depth + 1)
        return items

    def _constant(self, first: int) -> Any:
        """A text, a number of one byte, or nothing, false and true."""
        if TEXT <= first <= TEXT_END:
            size = 1 + first - TEXT
        elif first in TEXTS:
            width = TEXTS[first]
            size = 1 + width + int.from_bytes(self._data[self.offset + 1 : self.offset + 1 + width], "big")
        elif SINGLE[first]:
            size = 1
        else:
            raise ValueError("an item of another kind")
        start = self.offset
        self.offset += size
        if self.offset > len(self._data):
            raise IndexError
        return plain_from_bytes(self._data[start : self.offset])


def _single() -> NDArray[np.bool_]:
    """Return which first bytes (256,) are complete items: small numbers, nil, false and true."""
    single = np.zeros(256, bool)
    single[: LARGEST_SMALL + 1] = single[FIRST_NEGATIVE:] = True
    single[[NOTHING, FALSE, TRUE]] = True
    return single


SINGLE = _single()


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemForm:
    """The bytes of an item, the offsets of those that hold headers, and of those that are items of their own.

    Another item is of this form, and so of this size, if the former are the same and the latter such bytes too.
    """

    data: Bytes
    heads: NDArray[np.intp]
    singles: NDArray[np.intp]

    def fitting(self, rows: Bytes) -> int:
        """Count the rows (n, size), from the first on, that have this form."""
        if rows.shape[1] != len(self.data):
            return 0
        other = (rows[:, self.heads] != self.data[self.heads]).any(axis=1)
        if len(self.singles):
            other |= ~SINGLE[rows[:, self.singles]].all(axis=1)
        first = int(np.argmax(other)) if len(rows) else 0
        return first if len(rows) and other[first] else len(rows)


def form_of(data: bytes) -> ItemForm | None:
    """The form of an item; None if it is too large, of another kind, or incomplete."""
    if not 0 < len(data) <= LARGEST:
        return None
    heads: list[int] = []
    singles: list[int] = []
    offset, left, count = 0, 1, 0
    while left and offset < len(data) and count < MAX_ITEMS:
        if SINGLE[data[offset]]:
            singles.append(offset)
            offset, left = offset + 1, left - 1
        else:
            head, content, within = _sizes(data, offset)
            if not head:
                return None
            heads += range(offset, offset + head)
            offset, left = offset + head + content, left - 1 + within
        count += 1
    if left or offset != len(data):
        return None
    bytes_of_item = np.frombuffer(data, np.uint8)
    return ItemForm(data=bytes_of_item, heads=np.array(heads, np.intp), singles=np.array(singles, np.intp))


def _sizes(data: bytes, offset: int) -> tuple[int, int, int]:
    """Of an item: the bytes of its head, those of its content, and the items within; no head where it is another."""
    first = data[offset]
    if first in WIDTHS:
        return 1, WIDTHS[first], 0
    if TEXT <= first <= TEXT_END:
        return 1, first - TEXT, 0
    if first in LENGTHS:
        return 1 + LENGTHS[first], _length(data, offset, LENGTHS[first]), 0
    if is_map(first):
        size = MAPS.get(first, 0)
        return 1 + size, 0, 2 * (_length(data, offset, size) if size else first - MAP)
    header = list_header(data, offset)
    return (header.start - offset, 0, header.length) if header is not None else (0, 0, 0)


def _length(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset + 1 : offset + 1 + size], "big")
