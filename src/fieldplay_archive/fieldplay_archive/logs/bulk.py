"""Passes over many samples at once, as far as they are read already: those that are alike, and small ones."""

from typing import Any

import msgpack
import numpy as np

from fieldplay_archive.logs.file_index import NO_TIME, Places
from fieldplay_archive.logs.index_growth import GrowingBlocks
from fieldplay_archive.logs.sample_time import TimeFinder, times_of_samples
from fieldplay_archive.logs.template import Number, Template, column, template_of
from fieldplay_archive.logs.unpacking import FAULTS
from fieldplay_archive.logs.window import Window

SMALL_SAMPLE, FEWEST, MOST_FAILURES = 1 << 14, 8, 20
MOST_SMALL, MOST_BYTES = 1 << 15, 1 << 18  # small ones that are looked at, and their bytes


class Bulk:
    """What follows a sample in its list. Where it does not pay, or something is wrong, nothing is passed over."""

    def __init__(self, window: Window, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self._template: Template | None = None
        self._unlike, self._unfit = 0, 0  # how often it was in vain

    def add(self, data: bytes, begin: int, most: int, *, found: GrowingBlocks, finder: TimeFinder) -> int:
        """Add those that follow one, `most` at most; how many there were."""
        if not 0 < len(data) <= SMALL_SAMPLE:
            return 0
        return self._alike(data, begin, most, found=found, finder=finder) or self._small(
            begin + len(data), most, found=found, finder=finder
        )

    def _alike(self, data: bytes, begin: int, most: int, *, found: GrowingBlocks, finder: TimeFinder) -> int:
        """Those that are as the last but for their numbers."""
        size, prefix = len(data), finder.prefix
        if self._unlike > MOST_FAILURES or not data.startswith(prefix) or not prefix:
            return 0
        ahead = self._window.bytes_between(begin + size, min(self._window.given, begin + size * (most + 1)))
        rows = np.frombuffer(ahead, np.uint8, len(ahead) // size * size).reshape(-1, size)
        if len(rows) < FEWEST:
            return 0
        template = self._template
        if template is None or not template.data.startswith(prefix) or not template.fitting(rows[:1]):
            template = self._template = template_of(data)
        fitting = template.fitting(rows) if template is not None else 0
        self._unlike = 0 if fitting >= FEWEST else self._unlike + 1
        if not fitting:
            return 0
        self._unpacker.read_bytes(fitting * size)
        places = begin + size * np.arange(1, fitting + 1, dtype=np.int64)
        times = column(rows[:fitting], Number(len(prefix), ">u8")).astype(np.int64)  # negative beyond its range
        found.extend(places, np.where(times > 0, times, NO_TIME), begin + size * (fitting + 1))
        return fitting

    def _small(self, begin: int, most: int, *, found: GrowingBlocks, finder: TimeFinder) -> int:
        """Small ones of different lengths, up to one whose maps have other names than texts."""
        if self._unfit > MOST_FAILURES:
            return 0
        ahead = self._window.bytes_between(begin, min(self._window.given, begin + MOST_BYTES))
        ends = _ends(ahead, min(most, MOST_SMALL))
        places = np.append(0, ends)
        large = np.flatnonzero(np.diff(places) > SMALL_SAMPLE)
        count = int(large[0]) if len(large) else len(ends)
        times = times_of_samples(np.frombuffer(ahead, np.uint8), places[: count + 1], finder)
        count = len(times)
        self._unfit = 0 if count >= FEWEST else self._unfit + 1
        if not count:
            return 0
        self._unpacker.read_bytes(int(places[count]))
        found.extend(begin + places[:count], times, begin + int(places[count]))
        return count


def _ends(data: bytes, most: int) -> Places:
    """Where items end (n,), of which there are `most` at most; unpacked so that all names in them are looked at."""
    unpacker: Any = msgpack.Unpacker(raw=True, use_list=False, strict_map_key=True, max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    ends: list[int] = []
    try:
        for _ in zip(range(most), unpacker, strict=False):
            ends.append(unpacker.tell())
    except FAULTS:
        pass  # it is told when it is looked at alone
    return np.array(ends, np.int64)
