"""Times in the bytes of a log: a sample's own, without unpacking the rest of it, and lists of times of logging.

The latter are read by NumPy where each has eight bytes, else one by one; anything but an integer is no time.
"""

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.asn1_uper import packed_time
from fieldplay_cdff.logs.file_index import NO_TIME, Blocks, Int64Array
from fieldplay_cdff.logs.msgpack_decode import (
    DECODE_ERRORS,
    LARGEST_SMALL,
    MAP,
    MAP_END,
    MAPS,
    UNKNOWN_TEXT,
    is_map,
    is_text,
    plain_name,
    why,
)

MAX_ITEMS = 1_000_000  # of a list, that pocolog2msgpack writes
LOOKED_AT = 1 << 16  # bytes of a sample
PIXELS, VALUES = ("image", "data"), ("points", "colors", "distances", "remissions")
WHOLE = rb"([\x00-\x7f]|\xcc.|\xcd..|\xce....)"  # an integer
SIZES = {name: re.compile(name + WHOLE, re.DOTALL) for name in (rb"row_?[sS]ize", rb"(?:height|rows)")}
ALIKE = 5  # first bytes of a sample, in all but the first of which others are alike
LONGEST_NAME = 255  # bytes of a stream's
HEAD = 20  # first bytes of a sample, its first name among them
NO_NAME = "expected the name of a field, got "
HOLDS_ANOTHER = "it holds the next one in the place of a value"
TIMES = {"timestamp", "reftime", "time", "frametime", "childtime"}  # of names without signs and capitals
COUNTS = {"microseconds", "usec", "nanoseconds"}
INNER = {"metadata", "left"}  # fields that may hold a sample's time
LONGEST_PREFIX = 4096
EIGHT_BYTES = 0xCF  # a number of eight bytes without sign follows
WIDTH = 9  # of such
FIRST_WHOLE, LAST_WHOLE = 0xCC, 0xD3  # first byte of other integers
FEW, MAX_MIXED = 64, 2048  # so many of eight bytes are worth checking the next ones; others that are read at once
MAX_CACHED = 64  # of some 300 kB
Read = Callable[[int, int], bytes]  # start and size


# Whether a sample is damaged, which list it lacks, and whether the converter may have left that list out.


def odd_name(key: object) -> str:
    """The type of a name that is no text, else ""; ValueError for a list or map, as then a value is surely missing."""
    if isinstance(key, list | dict):
        raise ValueError(f"{NO_NAME}{type(key).__name__}")
    return "" if isinstance(key, str) else type(key).__name__


def may_be_shifted(value: bytes, sample: bytes, *, is_last: bool) -> bool:
    """Whether a name is in the position of a value, as everywhere after a missing one; by their first ALIKE bytes.

    In the position of a map's last value is what follows the map then: a name too, or the next sample.
    """
    first = value[0] if value else 0
    is_next_sample = is_last and is_map(first) and value[1:] == sample[1:]
    return is_text(first) or is_next_sample


def ends_with_name(data: bytes) -> bool:
    """Whether the last item of a sample, by its last bytes, is a text as streams are called.

    Only then can it have taken the name of what follows it for the value that it lacks.
    """
    for size in range(1, min(len(data), LONGEST_NAME)):
        heads = (bytes((0xA0 | size,)) if size < 32 else b"\xd9" + bytes((size,)), b"\xda" + size.to_bytes(2, "big"))
        if data[:-size].endswith(heads) and any(char in data[-size:] for char in (b".", b"/")):
            return True
    return False


def holds_another(data: bytes) -> bool:
    """Whether another sample starts within one, as where a list was left out and the next data took its position."""
    head = data[:HEAD]
    return len(head) == HEAD and is_map(head[0]) and data.find(head, 1) >= 0


def missing_list_hint(data: bytes) -> str:
    """Return the addition to the issue of a sample that may lack a list of too many items; else "".

    Only images above some size and point clouds have such lists; the name is there without its value.
    """
    head = data[:LOOKED_AT]
    missing = next((name for name in (*PIXELS, *VALUES) if _lacks(head, name)), None)
    if missing is None or (missing in PIXELS and not _is_large(_first_sample(head))):
        return ""
    return f"; perhaps {missing} had more than {MAX_ITEMS:,} items, as pocolog2msgpack leaves such lists out"


def _lacks(data: bytes, name: str) -> bool:
    """Whether a field's name is followed by no list or bytes: a text follows, or the next sample."""
    packed = bytes((0xA0 | len(name),)) + name.encode()
    offset = data.find(packed)
    while offset >= 0:
        end = offset + len(packed)
        following = data[end : end + 1]
        if following and (is_text(following[0]) or data.startswith(data[:HEAD], end)):
            return True
        offset = data.find(packed, end)
    return False


def _first_sample(data: bytes) -> bytes:
    """A sample's bytes without those of the next one."""
    end = data.find(data[:HEAD], 1)
    return data if end < 0 else data[:end]


def _is_large(data: bytes) -> bool:
    """Return whether an image is larger than the converter writes, by its size fields; True if it has none."""
    matches = [pattern.search(data) for pattern in SIZES.values()]
    sizes = [_whole_number(match[1]) for match in matches if match is not None]
    return len(sizes) < len(matches) or sizes[0] * sizes[1] > MAX_ITEMS


def _whole_number(packed: bytes) -> int:
    return int.from_bytes(packed[1:] or packed, "big")


class TimeInSample(NamedTuple):
    """A sample's time, and the offset of the number in the sample's bytes."""

    time: int
    offset: int


class TimeFinder:
    """Finds the times of a stream's samples: if one has the bytes of the last up to its time, the offset is known.

    If the samples were checked before, the data after their times are not checked `again`.
    """

    def __init__(self, *, again: bool = False) -> None:
        self._again = again
        self.prefix = b""  # prefix of samples, up to the eight bytes of their time

    def time(self, data: bytes) -> int:
        """A sample's time, NO_TIME where it has none. ValueError if it is no sample such as others."""
        prefix = self.prefix
        if prefix and data.startswith(prefix):
            offset = len(prefix)
            return _valid_time(int.from_bytes(data[offset : offset + 8], "big"))
        if not data or not is_map(data[0]):
            return NO_TIME
        result = find_time(data, complete=not self._again)
        if result is None:
            return _valid_time(packed_time(data))
        if data[result.offset] == EIGHT_BYTES and result.offset < LONGEST_PREFIX:
            self.prefix = data[: result.offset + 1]
        return _valid_time(result.time)


def _valid_time(time: int) -> int:
    """A time that is none, or does not fit, counts as none."""
    return time if 0 < time < 1 << 63 else NO_TIME


def times_of_samples(data: NDArray[np.uint8], offsets: Int64Array, finder: TimeFinder) -> Int64Array:
    """The times (n,) of samples that start and end at the offsets (n + 1,), up to the first that is no sample."""
    times = np.full(len(offsets) - 1, NO_TIME, np.int64)
    if not len(times):
        return times
    first = data[offsets[:-1]]
    other = ((first >= MAP) & (first <= MAP_END)) | np.isin(first, list(MAPS))
    if other[0] and not finder.prefix:
        with suppress(*DECODE_ERRORS):
            finder.time(data[: offsets[1]].tobytes())
    if finder.prefix:
        prefix = np.frombuffer(finder.prefix, np.uint8)
        heads = _heads(data, offsets, len(prefix) + 8)
        has_prefix = (heads[:, : len(prefix)] == prefix).all(axis=1)
        values = np.ascontiguousarray(heads[:, len(prefix) :]).view(">u8")[:, 0].astype(np.int64)
        times[:] = np.where(has_prefix & (values > 0), values, NO_TIME)
        other &= ~has_prefix
    for row in np.flatnonzero(other).tolist():
        try:
            times[row] = finder.time(data[offsets[row] : offsets[row + 1]].tobytes())
        except DECODE_ERRORS:
            return times[:row]
    return times


def _heads(data: NDArray[np.uint8], offsets: Int64Array, size: int) -> NDArray[np.uint8]:
    """The first bytes (n, size) of samples; those beyond the end are undefined."""
    whole, count = int(offsets[1] - offsets[0]), len(offsets) - 1
    if whole >= size and bool((np.diff(offsets) == whole).all()):
        return data[int(offsets[0]) : int(offsets[-1])].reshape(count, whole)[:, :size]
    return np.asarray(data[np.minimum(offsets[:-1, None] + np.arange(size), len(data) - 1)], np.uint8)


def find_time(data: bytes, *, complete: bool = True) -> TimeInSample | None:
    """Find the time of a sample that is a map, unpacked completely or up to its time."""
    unpacker = msgpack.Unpacker(
        raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=len(data), max_array_len=64, max_map_len=64
    )
    unpacker.feed(data)
    return _in_map(unpacker, data, depth=2, complete=complete)


def _in_map(unpacker: Any, data: bytes, depth: int, *, complete: bool) -> TimeInSample | None:
    """Return the first time of a map. All its names are checked: a list or map among them indicates a missing value."""
    result = None
    for _ in range(unpacker.read_map_header()):
        if result is not None and not complete:
            break
        key, offset = unpacker.unpack(), unpacker.tell()
        odd_name(key)
        name = plain_name(key) if isinstance(key, str) else ""
        if result is None and name in TIMES:
            result = _time_at(unpacker, data, offset)
        elif result is None and name in INNER and depth and offset < len(data) and is_map(data[offset]):
            result = _in_map(unpacker, data, depth - 1, complete=complete)
        else:
            unpacker.skip()
    return result


def _time_at(unpacker: Any, data: bytes, offset: int) -> TimeInSample | None:
    """A number, or a map with one."""
    if not is_map(data[offset]):
        value = unpacker.unpack()
        return TimeInSample(value, offset) if type(value) is int else None
    result = None
    for _ in range(unpacker.read_map_header()):
        name, at = unpacker.unpack(), unpacker.tell()
        if isinstance(name, str) and plain_name(name) in COUNTS and result is None:
            value = unpacker.unpack()
            result = TimeInSample(value, at) if type(value) is int else None
        else:
            unpacker.skip()
    return result


def time_number(value: object) -> int:
    """A number as a time; NO_TIME if it is none."""
    return value if type(value) is int and 0 <= value < 1 << 63 else NO_TIME


def leading_numbers(data: bytes) -> Int64Array:
    """The numbers (n,) at the start of byte strings that have at least eight bytes."""
    rows = np.frombuffer(data, np.uint8, len(data) // WIDTH * WIDTH).reshape(-1, WIDTH)
    other = np.flatnonzero(rows[:, 0] != EIGHT_BYTES)
    alike = int(other[0]) if len(other) else len(rows)
    values = np.ascontiguousarray(rows[:alike, 1:]).view(">u8")[:, 0].astype(np.int64)
    return np.where(values >= 0, values, NO_TIME)  # negative beyond its range


def numbers_ahead(data: bytes, maximum: int) -> tuple[Int64Array, Int64Array]:
    """The first numbers (n,) of `maximum` in bytes, and where each ends (n,), as far as they are complete.

    They may be fewer than the bytes hold.
    """
    few = min(maximum, FEW)
    if len(leading_numbers(data[: WIDTH * few])) == few:
        values = leading_numbers(data[: WIDTH * maximum])
        return values, WIDTH * np.arange(1, len(values) + 1)
    return _one_by_one(data, min(maximum, MAX_MIXED))


def numbers_between(blocks: Blocks, start: int, end: int, read: Callable[[int, int], bytes]) -> Int64Array:
    """The numbers begin <= index < end of a list."""
    if start >= end:
        return np.zeros(0, np.int64)
    rows, offsets, sizes = blocks.rows, blocks.offsets, blocks.table["size"]
    first, last = np.searchsorted(rows, [start, end - 1], side="right") - 1
    if bool((sizes[first : last + 1] == WIDTH).all()):
        offset = int(offsets[first]) + WIDTH * (start - int(rows[first]))
        numbers = leading_numbers(read(offset, WIDTH * (end - start)))
        if len(numbers) == end - start:
            return numbers
    data = read(int(offsets[first]), int(offsets[last + 1] - offsets[first]))
    numbers = _exactly(data, int(rows[last + 1] - rows[first]))
    return numbers[start - int(rows[first]) : end - int(rows[first])]


def _exactly(data: bytes, count: int) -> Int64Array:
    values, _ = _one_by_one(data, count)
    if len(values) < count:
        raise ArchiveError(f"expected {count} times of logging, got {len(values)}: the log has changed or is cut off")
    return values


def _one_by_one(data: bytes, maximum: int) -> tuple[Int64Array, Int64Array]:
    """Numbers (n,) and where they end (n,), up to the first item that is cut off or none."""
    unpacker: Any = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    unpack, skip, position, offset, size = unpacker.unpack, unpacker.skip, unpacker.tell, 0, len(data)
    values, stops = array("q"), array("q")
    with suppress(*DECODE_ERRORS):
        while len(stops) < maximum and offset < size:
            first = data[offset]
            if first <= LARGEST_SMALL or FIRST_WHOLE <= first <= LAST_WHOLE:
                value = time_number(unpack())
            else:
                value = NO_TIME
                skip()
            offset = position()
            values.append(value)
            stops.append(offset)
    return np.array(values, np.int64), np.array(stops, np.int64)


# Blocks of samples, read again: where each sample starts, and when it was taken. The last of all streams are kept.


class SampleBlock(NamedTuple):
    """The start offsets of samples and the end of the last (n + 1,); their times (n,); their bytes if read."""

    offsets: Int64Array
    times: Int64Array
    data: bytes


class BlockCache:
    """The blocks that were read last; safe to use from several threads."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[Hashable, SampleBlock] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> SampleBlock | None:
        with self._lock:
            if key in self._blocks:
                self._blocks.move_to_end(key)
            return self._blocks.get(key)

    def keep(self, key: Hashable, block: SampleBlock) -> None:
        with self._lock:
            self._blocks[key] = block
            while len(self._blocks) > MAX_CACHED:
                self._blocks.popitem(last=False)


class BlockReader:
    """The samples of a part by its blocks; `key` is what they are kept by."""

    def __init__(self, blocks: Blocks, read: Read, *, cache: BlockCache, key: Hashable) -> None:
        self._blocks, self._read, self._cache, self._key = blocks, read, cache, key
        self._rows, self._offsets = blocks.rows, blocks.offsets

    def offsets(self, low: int, high: int) -> Int64Array:
        """Offsets of samples low <= index < high, and where the last one stops (n + 1,)."""
        if low >= high:
            return np.zeros(0, np.int64)
        first, last = self._between(low, high)
        if self._rows[last] - self._rows[first] == last - first:  # a sample each
            return self._offsets[first : last + 1]
        offsets = [self._block_offsets(index, low, high) for index in range(first, last)]
        return offsets[0] if len(offsets) == 1 else np.concatenate([*(part[:-1] for part in offsets[:-1]), offsets[-1]])

    def times(self, low: int, high: int) -> Int64Array:
        """The times (n,) of samples low <= index < high, as in the log; NO_TIME where there is none."""
        if low >= high:
            return np.zeros(0, np.int64)
        first, last = self._between(low, high)
        if self._rows[last] - self._rows[first] == last - first:
            return np.asarray(self._blocks.table["low"][first:last], np.int64)
        times = np.concatenate([self._block(index).times for index in range(first, last)])
        return times[low - self._rows[first] : high - self._rows[first]]

    def data(self, start: int, size: int) -> bytes:
        """Some bytes of samples: of blocks that are kept, else of the file."""
        first = int(np.searchsorted(self._offsets, start, side="right")) - 1
        last = int(np.searchsorted(self._offsets, start + size))
        cached = [self._cache.get((self._key, index)) for index in range(first, last)]
        chunks = [block.data for block in cached if block is not None and block.data]
        if not chunks or len(chunks) < last - first:
            return self._read(start, size)
        offset = start - int(self._offsets[first])
        whole = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return whole[offset : offset + size]

    def _between(self, low: int, high: int) -> tuple[int, int]:
        """The first block of some samples, and the one after the last."""
        first, last = np.searchsorted(self._rows, [low, high - 1], side="right")
        return int(first) - 1, int(last)

    def _block_offsets(self, index: int, low: int, high: int) -> Int64Array:
        """Offsets of those samples that are in one block, which is not read if all have one size."""
        row, next_row = self._rows[index : index + 2].tolist()
        first, last = max(low, row) - row, min(high, next_row) - row
        size = int(self._blocks.table["size"][index])
        if not size:
            return self._block(index).offsets[first : last + 1]
        return np.asarray(self._offsets[index] + size * np.arange(first, last + 1), np.int64)

    def _block(self, index: int) -> SampleBlock:
        key = (self._key, index)
        block = self._cache.get(key)
        if block is None:
            block = self._load_block(index)
            self._cache.keep(key, block)
        return block

    def _load_block(self, index: int) -> SampleBlock:
        known = self._blocks.table[index]
        start, end = self._offsets[index : index + 2].tolist()
        count, size = int(self._rows[index + 1] - self._rows[index]), int(known["size"])
        times = np.full(count, known["low"] if count == 1 else NO_TIME, np.int64)
        has_to_look = count > 1 and bool(known["known"])
        data = self._read(start, end - start) if has_to_look or not size else b""
        stops = size * np.arange(1, count + 1) if size else _end_offsets(data, count)
        offsets = np.append(0, stops)
        if has_to_look:
            times = times_of_samples(np.frombuffer(data, np.uint8), offsets, TimeFinder(again=True))
        if int(offsets[-1]) != end - start or len(times) != count:
            raise ArchiveError(f"expected {count} samples from byte {start} to {end}, got others: the file has changed")
        return SampleBlock(start + offsets, times, data)


def _end_offsets(data: bytes, count: int) -> Int64Array:
    """Offsets where so many samples stop (n,)."""
    unpacker: Any = msgpack.Unpacker(raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    skip, position = unpacker.skip, unpacker.tell
    stops: list[int] = []
    try:
        for _ in range(count):
            skip()
            stops.append(position())
    except DECODE_ERRORS as error:
        raise ArchiveError(f"expected {count} samples, got {why(error)}: the file has changed") from None
    return np.array(stops, np.int64)
