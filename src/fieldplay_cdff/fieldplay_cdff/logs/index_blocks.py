"""Blocks of samples, read again: where each sample begins, and when it was taken. The last of all streams are kept."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import msgpack
import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.file_index import NO_TIME, Blocks, Int64Array
from fieldplay_cdff.logs.msgpack_decode import DECODE_ERRORS, UNKNOWN_TEXT, why
from fieldplay_cdff.logs.sample_times import TimeFinder, times_of_samples

MAX_CACHED = 64  # of some 300 kB

Read = Callable[[int, int], bytes]  # begin and size


class SampleBlock(NamedTuple):
    """The samples' begins, and where the last ends (n + 1,); their times (n,); their bytes if these had to be read."""

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
        """The first block of some samples, and that behind the last."""
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
