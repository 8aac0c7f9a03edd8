"""When a sample was taken, as it says itself, found without unpacking the rest of it."""

from contextlib import suppress
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.bits_samples import packed_time
from fieldplay_archive.logs.field_names import plain_name
from fieldplay_archive.logs.file_index import NO_TIME, Places
from fieldplay_archive.logs.packed_numbers import MAP, MAP_END, MAPS, TEXT, TEXT_END, is_map
from fieldplay_archive.logs.unpacking import FAULTS, UNKNOWN_TEXT

TIMES = {"timestamp", "reftime", "time", "frametime", "childtime"}  # of names without signs and capitals
COUNTS = {"microseconds", "usec", "nanoseconds"}
INNER = {"metadata", "left"}  # what a sample's time may stand in
UNSIGNED, SIGNED = 0xCF, 0xD3  # first bytes of numbers of eight
LONGEST_PREFIX = 4096
ALIKE = 5  # first bytes of a sample, in all but the first of which others are alike
TEXTS = (0xD9, 0xDA, 0xDB)
NO_NAME = "expected the name of a field, got "
HEAD = 20  # bytes with which a sample begins, its first name among them


class Found(NamedTuple):
    """A sample's time, and the place of the number in the sample's bytes."""

    time: int
    place: int


class TimeFinder:
    """Finds the times of a stream's samples: where one has the bytes of the last up to its time, the place is known.

    If the samples were looked at before, what is behind their times is not looked at `again`.
    """

    def __init__(self, *, again: bool = False) -> None:
        self._again = again
        self.prefix = b""  # with which samples begin, up to the eight bytes of their time

    def time(self, data: bytes) -> int:
        """A sample's time, NO_TIME where it has none. ValueError if it is no sample such as others."""
        prefix = self.prefix
        if prefix and data.startswith(prefix):
            place = len(prefix)
            return _whole(int.from_bytes(data[place : place + 8], "big"))
        if not data or not is_map(data[0]):
            return NO_TIME
        found = found_time(data, whole=not self._again)
        if found is None:
            return _whole(packed_time(data))
        if data[found.place] == UNSIGNED and found.place < LONGEST_PREFIX:
            self.prefix = data[: found.place + 1]
        return _whole(found.time)


def _whole(time: int) -> int:
    """A time that is none, or does not fit, counts as none."""
    return time if 0 < time < 1 << 63 else NO_TIME


def times_of_samples(data: NDArray[np.uint8], places: Places, finder: TimeFinder) -> Places:
    """The times (n,) of samples that begin and end at the places (n + 1,), up to the first that is no sample."""
    times = np.full(len(places) - 1, NO_TIME, np.int64)
    if not len(times):
        return times
    first = data[places[:-1]]
    other = ((first >= MAP) & (first <= MAP_END)) | np.isin(first, list(MAPS))
    if other[0] and not finder.prefix:
        with suppress(*FAULTS):
            finder.time(data[: places[1]].tobytes())
    if finder.prefix:
        prefix = np.frombuffer(finder.prefix, np.uint8)
        heads = _heads(data, places, len(prefix) + 8)
        has_prefix = (heads[:, : len(prefix)] == prefix).all(axis=1)
        found = np.ascontiguousarray(heads[:, len(prefix) :]).view(">u8")[:, 0].astype(np.int64)
        times[:] = np.where(has_prefix & (found > 0), found, NO_TIME)
        other &= ~has_prefix
    for row in np.flatnonzero(other).tolist():
        try:
            times[row] = finder.time(data[places[row] : places[row + 1]].tobytes())
        except FAULTS:
            return times[:row]
    return times


def _heads(data: NDArray[np.uint8], places: Places, size: int) -> NDArray[np.uint8]:
    """The first bytes (n, size) of samples; what is beyond the end is of no meaning."""
    whole, count = int(places[1] - places[0]), len(places) - 1
    if whole >= size and bool((np.diff(places) == whole).all()):
        return data[int(places[0]) : int(places[-1])].reshape(count, whole)[:, :size]
    return np.asarray(data[np.minimum(places[:-1, None] + np.arange(size), len(data) - 1)], np.uint8)


def found_time(data: bytes, *, whole: bool = True) -> Found | None:
    """The time of a sample that is a map, which is gone through as a whole or up to its time."""
    unpacker = msgpack.Unpacker(
        raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=len(data), max_array_len=64, max_map_len=64
    )
    unpacker.feed(data)
    return _in_map(unpacker, data, depth=2, whole=whole)


def _in_map(unpacker: Any, data: bytes, depth: int, *, whole: bool) -> Found | None:
    """The first time of a map. All its names are looked at: a list or map among them tells of a missing value."""
    found = None
    for _ in range(unpacker.read_map_header()):
        if found is not None and not whole:
            break
        key, place = unpacker.unpack(), unpacker.tell()
        odd_name(key)
        name = plain_name(key) if isinstance(key, str) else ""
        if found is None and name in TIMES:
            found = _time_at(unpacker, data, place)
        elif found is None and name in INNER and depth and place < len(data) and is_map(data[place]):
            found = _in_map(unpacker, data, depth - 1, whole=whole)
        else:
            unpacker.skip()
    return found


def odd_name(key: object) -> str:
    """What a name is that is no text, else nothing; ValueError for a list or map, as then surely a value is missing."""
    if isinstance(key, list | dict):
        raise ValueError(f"{NO_NAME}{type(key).__name__}")
    return "" if isinstance(key, str) else type(key).__name__


def may_be_shifted(value: bytes, sample: bytes, *, is_last: bool) -> bool:
    """Whether a name stands in the place of a value, as everywhere behind a missing one; by their first ALIKE bytes.

    In the place of a map's last value is what follows the map then: a name too, or the next sample.
    """
    first = value[0] if value else 0
    is_next_sample = is_last and is_map(first) and value[1:] == sample[1:]
    return TEXT <= first <= TEXT_END or first in TEXTS or is_next_sample


def _time_at(unpacker: Any, data: bytes, place: int) -> Found | None:
    """A number, or a map with one."""
    if not is_map(data[place]):
        value = unpacker.unpack()
        return Found(value, place) if type(value) is int else None
    found = None
    for _ in range(unpacker.read_map_header()):
        name, at = unpacker.unpack(), unpacker.tell()
        if isinstance(name, str) and plain_name(name) in COUNTS and found is None:
            value = unpacker.unpack()
            found = Found(value, at) if type(value) is int else None
        else:
            unpacker.skip()
    return found


def holds_another(data: bytes) -> bool:
    """Whether another sample begins within one, as where a list was left out and what follows it took its place."""
    head = data[:HEAD]
    return len(head) == HEAD and is_map(head[0]) and data.find(head, 1) >= 0
