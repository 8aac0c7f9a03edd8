"""Lists of whole numbers such as the times of logging: by NumPy where each has eight bytes, else one by one."""

from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME, Blocks, Places
from fieldplay_archive.msgpack_logs.unpacking import FAULTS, UNKNOWN_TEXT, why

EIGHT_BYTES = 0xCF  # a number of eight bytes follows
WIDTH = 9


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
    found = _one_by_one(data, int(rows[last + 1] - rows[first]))
    return found[begin - int(rows[first]) : end - int(rows[first])]


def _one_by_one(data: bytes, count: int) -> Places:
    unpacker: Any = msgpack.Unpacker(raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    try:
        return np.array([whole_number(unpacker.unpack()) for _ in range(count)], np.int64)
    except FAULTS as error:
        raise ArchiveError(f"expected {count} times of logging, got {why(error)}") from None
