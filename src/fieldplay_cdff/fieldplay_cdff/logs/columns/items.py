"""Some items of a column: as rows of bytes where all of them are of one form, and as plain data."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgpack
import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.index.file_index import LogColumn
from fieldplay_cdff.logs.index.window import LARGEST_ITEM
from fieldplay_cdff.logs.msgpack_decode.layouts import LARGEST, Bytes, form_of
from fieldplay_cdff.logs.msgpack_decode.values import (
    FAULTS,
    UNKNOWN_TEXT,
    arrays_from_bytes,
    plain_from_bytes,
    why,
)

Read = Callable[[int, int], bytes]  # begin and size
Unpack = Callable[[bytes], Any]  # one item

MOST_BYTES = 8 << 20  # that are read at once
READ_SIZE = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Items:
    """The items of a column, `count` of them before its fault if it has one: `values` unpacks them.

    Where all are of one form, `rows` (count, size) are their bytes.
    """

    count: int
    values: Callable[[], list[Any]]
    rows: Bytes | None = None


class _ItemExtent(NamedTuple):
    """The bytes in which `wanted` items lie, `before` others in front of them, `total` in all.

    Where the places of all are known, `cuts` are those, and the end of the last.
    """

    begin: int
    stop: int
    before: int
    wanted: int
    total: int
    cuts: list[int] | None


def items_of(column: LogColumn, begin: int, end: int, read: Read, *, arrays: bool = False) -> Items:
    """The items begin <= index < end; with `arrays`, long lists of numbers are arrays where the places are known."""
    if column.is_constant:
        place = int(column.begins[0])
        data = read(place, column.end - place)
        rows = np.broadcast_to(np.frombuffer(data, np.uint8), (end - begin, len(data)))
        return Items(count=len(rows), rows=rows, values=lambda: [plain_from_bytes(data)] * len(rows))
    end = min(end, column.count)
    if begin >= end:
        return Items(count=0, values=list)
    extent, unpack = _extent_of(column, begin, end), arrays_from_bytes if arrays else plain_from_bytes
    if extent.stop - extent.begin > MOST_BYTES:
        return Items(count=end - begin, values=partial(_one_by_one, extent, read, unpack))
    return _items(read(extent.begin, extent.stop - extent.begin), extent, unpack)


def _extent_of(column: LogColumn, begin: int, end: int) -> _ItemExtent:
    low, high = begin // column.step, (end - 1) // column.step + 1
    places = column.begins[low : high + 1].tolist() + ([column.end] if high >= len(column.begins) else [])
    first = low * column.step
    total = min(column.count, high * column.step) - first
    cuts = places if column.step == 1 else None
    return _ItemExtent(places[0], places[-1], begin - first, end - begin, total, cuts)


def _items(data: bytes, extent: _ItemExtent, unpack: Unpack) -> Items:
    found = _rows(data, extent.total)
    rows = None if found is None else found[extent.before : extent.before + extent.wanted]
    if extent.cuts is not None:
        cuts = [cut - extent.begin for cut in extent.cuts]
        return Items(count=extent.wanted, rows=rows, values=lambda: [unpack(data[a:b]) for a, b in pairwise(cuts)])
    packed, before = (data, extent.before) if rows is None else (rows.tobytes(), 0)
    return Items(count=extent.wanted, rows=rows, values=lambda: _unpacked(packed, before, extent.wanted))


def _rows(data: bytes, count: int) -> Bytes | None:
    """The bytes (count, size) of items that are all of one form; None if they are not."""
    size = len(data) // count
    form = form_of(data[:size]) if size * count == len(data) and size <= LARGEST else None
    if form is None:
        return None
    rows = np.frombuffer(data, np.uint8).reshape(count, size)
    return rows if form.fitting(rows) == count else None


def _unpacked(data: bytes, before: int, count: int) -> list[Any]:
    """So many items that stand one behind the other, without those before them."""
    unpacker = msgpack.Unpacker(raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=max(len(data), 1))
    try:
        unpacker.feed(data)
        for _ in range(before):
            unpacker.skip()
        return [unpacker.unpack() for _ in range(count)]
    except FAULTS as error:
        raise ArchiveError(f"expected {count} items of a column, got {why(error)}") from None


def _one_by_one(extent: _ItemExtent, read: Read, unpack: Unpack) -> list[Any]:
    """Items each read for itself, as they lie in too many bytes."""
    cuts = extent.cuts or _found_cuts(extent, read)
    return [unpack(read(begin, stop - begin)) for begin, stop in pairwise(cuts)]


def _found_cuts(extent: _ItemExtent, read: Read) -> list[int]:
    """Where items begin, and where the last ends: large ones far behind small ones, so their places were not kept."""
    unpacker = msgpack.Unpacker(_Bytes(extent, read), read_size=READ_SIZE, max_buffer_size=LARGEST_ITEM)
    try:
        for _ in range(extent.before):
            unpacker.skip()
        cuts = [extent.begin + unpacker.tell()]
        for _ in range(extent.wanted):
            unpacker.skip()
            cuts.append(extent.begin + unpacker.tell())
        return cuts
    except FAULTS as error:
        raise ArchiveError(f"expected {extent.total} items of a column, got {why(error)}") from None


class _Bytes:
    """An extent's bytes as a file, for msgpack."""

    def __init__(self, extent: _ItemExtent, read: Read) -> None:
        self._place, self._stop, self._read = extent.begin, extent.stop, read

    def read(self, size: int) -> bytes:
        begin, self._place = self._place, min(self._place + size, self._stop)
        return self._read(begin, self._place - begin) if self._place > begin else b""
