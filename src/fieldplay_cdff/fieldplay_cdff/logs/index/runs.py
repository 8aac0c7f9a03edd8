"""Passes over many samples, or items of a column, at once: runs of those that are alike, and of small ones."""

from array import array
from typing import Any

import msgpack
import numpy as np

from fieldplay_cdff.logs.index.file_index import (
    LARGE_ITEM,
    NO_TIME,
    PER_BLOCK,
    GrowingBlocks,
    LogColumn,
    Places,
)
from fieldplay_cdff.logs.index.times import TimeFinder, times_of_samples
from fieldplay_cdff.logs.index.window import FileWindow
from fieldplay_cdff.logs.msgpack_decode.layouts import (
    LARGEST,
    ItemForm,
    Number,
    Template,
    column,
    form_of,
    template_of,
)
from fieldplay_cdff.logs.msgpack_decode.values import FAULTS

SMALL_SAMPLE, FEWEST, MOST_FAILURES = 1 << 14, 8, 20
MOST_SMALL, MOST_BYTES = 1 << 15, 1 << 18  # small ones that are looked at, and their bytes
FEWEST_ALIKE = 64  # items ahead: to look at fewer takes longer than to pass over them
FIRST_LOOK, LONGEST_LOOK = 128, 1 << 20  # items ahead
LONGEST_PAUSE = 1024  # items that are passed one by one where no runs are


class SampleRuns:
    """What follows a sample in its list. Where it does not pay, or something is wrong, nothing is passed over."""

    def __init__(self, window: FileWindow, unpacker: Any) -> None:
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


class ColumnRuns:
    """The items of a column: `index` and `place` are those of the item that is next, or that has a fault."""

    def __init__(self, window: FileWindow, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self.index, self.place = 0, int(unpacker.tell())
        self._step = 1
        self._begins = array("q")
        self._form: ItemForm | None = None
        self._look, self._pause = FIRST_LOOK, 1

    def pass_over(self, count: int) -> None:
        """Pass over so many items. Each is remembered if the first of them are large, else one of every block."""
        begin, first = self.place, min(count, PER_BLOCK)
        self._up_to(first)
        if self.place - begin < first * LARGE_ITEM:
            self._step = PER_BLOCK
            del self._begins[1:]
        self._up_to(count)

    def column(self, *, is_cut: bool) -> LogColumn:
        """What was found so far."""
        begins: Places = np.array(self._begins, np.int64)
        return LogColumn(count=self.index, begins=begins, end=self.place, step=self._step, is_cut=is_cut)

    def _up_to(self, count: int) -> None:
        while self.index < count:
            size = self._one_by_one(min(self._pause, count - self.index))
            if self.index < count and size <= LARGEST:
                self._run(size, count - self.index)

    def _one_by_one(self, count: int) -> int:
        """Pass over so many items; the size of the last."""
        skip, tell, mark, step, size = self._unpacker.skip, self._unpacker.tell, self._window.mark, self._step, 0
        for _ in range(count):
            begin = self.place
            mark(begin)
            skip()
            if not self.index % step:
                self._begins.append(begin)
            self.place = tell()
            self.index += 1
            size = self.place - begin
        return size

    def _run(self, size: int, most: int) -> None:
        """Pass over those that are of the form of the last, as far as they are read already."""
        begin, given = self.place, self._window.given
        ahead = self._window.bytes_between(begin - size, min(given, begin + size * min(most, self._look)))
        rows = np.frombuffer(ahead, np.uint8, len(ahead) // size * size).reshape(-1, size)
        if len(rows) <= min(most, FEWEST_ALIKE):
            return
        fitting = self._fitting(rows) - 1
        is_whole = fitting == len(rows) - 1
        self._look = min(8 * self._look, LONGEST_LOOK) if is_whole else FIRST_LOOK
        self._pause = 1 if fitting >= min(most, FEWEST_ALIKE) else min(2 * self._pause, LONGEST_PAUSE)
        if fitting <= 0:
            return
        self._unpacker.read_bytes(fitting * size)
        kept = begin + size * np.arange(-self.index % self._step, fitting, self._step, dtype=np.int64)
        self._begins.frombytes(kept.tobytes())
        self.index += fitting
        self.place = begin + size * fitting

    def _fitting(self, rows: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
        """How many rows (n, size) from the first on are of its form."""
        if self._form is None or not self._form.fitting(rows[:1]):
            self._form = form_of(rows[0].tobytes())
        return self._form.fitting(rows) if self._form is not None else 0
