"""Passes over the items of a column once: runs of items of one form by NumPy, what lies between them one by one."""

from array import array
from typing import Any

import numpy as np

from fieldplay_archive.logs.column_forms import LARGEST, Form, form_of
from fieldplay_archive.logs.file_index import LARGE_ITEM, PER_BLOCK, Column, Places
from fieldplay_archive.logs.window import Window

FEWEST_ALIKE = 64  # items ahead: to look at fewer takes longer than to pass over them
FIRST_LOOK, LONGEST_LOOK = 128, 1 << 20  # items ahead
LONGEST_PAUSE = 1024  # items that are passed one by one where no runs are


class ColumnItems:
    """The items of a column: `index` and `place` are those of the item that is next, or that has a fault."""

    def __init__(self, window: Window, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self.index, self.place = 0, int(unpacker.tell())
        self._step = 1
        self._begins = array("q")
        self._form: Form | None = None
        self._look, self._pause = FIRST_LOOK, 1

    def pass_over(self, count: int) -> None:
        """Pass over so many items. Each is remembered if the first of them are large, else one of every block."""
        begin, first = self.place, min(count, PER_BLOCK)
        self._up_to(first)
        if self.place - begin < first * LARGE_ITEM:
            self._step = PER_BLOCK
            del self._begins[1:]
        self._up_to(count)

    def column(self, *, is_cut: bool) -> Column:
        """What was found so far."""
        begins: Places = np.array(self._begins, np.int64)
        return Column(count=self.index, begins=begins, end=self.place, step=self._step, is_cut=is_cut)

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
