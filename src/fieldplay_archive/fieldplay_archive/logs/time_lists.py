"""Lists of whole numbers such as the times of logging: by NumPy where each has eight bytes, else one by one.

An item that is no whole number is passed over: it is no time.
"""

from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import numpy as np

from fieldplay_archive.logs.file_index import NO_TIME, Blocks, Places
from fieldplay_archive.logs.unpacking import FAULTS
from fieldplay_messages.errors import ArchiveError

EIGHT_BYTES = 0xCF  # a number of eight bytes follows
WIDTH = 9
LARGEST_SMALL, FIRST_WHOLE, LAST_WHOLE = 0x7F, 0xCC, 0xD3  # whole numbers begin with a byte up to the one, or of these
FEW, MOST_MIXED = 64, 2048  # so many of eight bytes are worth a look at those behind; others that are read at once


def whole_number(value: object) -> int:
    """A number as a time; NO_TIME for what is none."""
    return value if type(value) is int and 0 <= value < 1 << 63 else NO_TIME


def whole_numbers(data: bytes) -> Places:
    """The numbers (n,) with which bytes begin, as far as they have eight bytes each."""
    rows = np.frombuffer(data, np.uint8, len(data) // WIDTH * WIDTH).reshape(-1, WIDTH)
    other = np.flatnonzero(rows[:, 0] != EIGHT_BYTES)
    alike = int(other[0]) if len(other) else len(rows)
    values = np.ascontiguousarray(rows[:alike, 1:]).view(">u8")[:, 0].astype(np.int64)
    return np.where(values >= 0, values, NO_TIME)  # negative beyond its range


def numbers_ahead(data: bytes, most: int) -> tuple[Places, Places]:
    """The first numbers (n,) of `most` in bytes, and where each ends (n,), as far as they are whole.

    They may be fewer than the bytes hold.
    """
    few = min(most, FEW)
    if len(whole_numbers(data[: WIDTH * few])) == few:
        values = whole_numbers(data[: WIDTH * most])
        return values, WIDTH * np.arange(1, len(values) + 1)
    return _one_by_one(data, min(most, MOST_MIXED))


def numbers_between(blocks: Blocks, begin: int, end: int, read: Callable[[int, int], bytes]) -> Places:
    """The numbers begin <= index < end of a list."""
    if begin >= end:
        return np.zeros(0, np.int64)
    rows, places, sizes = blocks.rows, blocks.places, blocks.table["size"]
    first, last = np.searchsorted(rows, [begin, end - 1], side="right") - 1
    if bool((sizes[first : last + 1] == WIDTH).all()):
        place = int(places[first]) + WIDTH * (begin - int(rows[first]))
        found = whole_numbers(read(place, WIDTH * (end - begin)))
        if len(found) == end - begin:
            return found
    data = read(int(places[first]), int(places[last + 1] - places[first]))
    found = _exactly(data, int(rows[last + 1] - rows[first]))
    return found[begin - int(rows[first]) : end - int(rows[first])]


def _exactly(data: bytes, count: int) -> Places:
    values, _ = _one_by_one(data, count)
    if len(values) < count:
        raise ArchiveError(f"expected {count} times of logging, got {len(values)}: the log has changed or is cut off")
    return values


def _one_by_one(data: bytes, most: int) -> tuple[Places, Places]:
    """Numbers (n,) and where they end (n,), up to the first item that is cut off or none."""
    unpacker: Any = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    unpack, skip, tell, place, size = unpacker.unpack, unpacker.skip, unpacker.tell, 0, len(data)
    values, ends = array("q"), array("q")
    with suppress(*FAULTS):
        while len(ends) < most and place < size:
            first = data[place]
            if first <= LARGEST_SMALL or FIRST_WHOLE <= first <= LAST_WHOLE:
                value = whole_number(unpack())
            else:
                value = NO_TIME
                skip()
            place = tell()
            values.append(value)
            ends.append(place)
    return np.array(values, np.int64), np.array(ends, np.int64)
