"""Rows of whole numbers in the order of their first: few are held in memory, many in a file that has no name."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.io.spill_file import SpillFile, spill_folder

Numbers = NDArray[np.int64]

AT_ONCE = 1 << 18  # rows that are sorted in memory
MIN_READ = 1 << 10  # rows of a run that are read at once


class RowsInOrder(Protocol):
    """Rows (n, k) that were sorted; safe to read from several threads."""

    def __len__(self) -> int:
        """How many there are."""

    def rows(self, start: int, end: int) -> Numbers:
        """Those of begin <= index < end."""


def in_order(blocks: Iterable[Numbers], width: int) -> RowsInOrder:
    """Rows (n, width) that come in blocks, by their first number; those with the same stay as they came."""
    runs = (run[np.argsort(run[:, 0], kind="stable")] for run in _runs(blocks))
    first, second = next(runs, np.zeros((0, width), np.int64)), next(runs, None)
    if second is None:
        return _Held(first)
    unmerged = _Filed(width)
    pending = [unmerged.append(run) for run in chain((first, second), runs)]
    merged = _Filed(width)
    for rows in _merge_runs(unmerged, [0, *pending]):
        merged.append(rows)
    return merged


class _Held:
    def __init__(self, rows: Numbers) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, start: int, end: int) -> Numbers:
        return self._rows[start:end]


class _Filed:
    """Rows in a file that is gone when they are let go."""

    def __init__(self, width: int) -> None:
        self._row_bytes, self._width = 8 * width, width
        with _no_space_error():
            self._file = SpillFile()

    def __len__(self) -> int:
        return self._file.size // self._row_bytes

    def append(self, rows: Numbers) -> int:
        """Add rows behind the others; how many there are."""
        with _no_space_error():
            self._file.append(rows.tobytes())
        return len(self)

    def rows(self, start: int, end: int) -> Numbers:
        count = max(min(end, len(self)) - start, 0)
        data = self._file.read(start * self._row_bytes, count * self._row_bytes)
        return np.frombuffer(data, np.int64).reshape(-1, self._width)


@contextmanager
def _no_space_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"times cannot be sorted in {spill_folder()}: {error}") from None


def _runs(blocks: Iterable[Numbers]) -> Iterator[Numbers]:
    """The same rows in larger blocks."""
    waiting: list[Numbers] = []
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) >= AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _merge_runs(rows: _Filed, borders: Sequence[int]) -> Iterator[Numbers]:
    """Merge sorted runs into one order, with a part of each run in memory.

    What may leave is what is less than the last of every part whose run goes on; of the same, that of earlier runs.
    """
    positions, stops = list(borders[:-1]), borders[1:]
    at_once = max(AT_ONCE // len(stops), MIN_READ)
    parts = [rows.rows(0, 0) for _ in stops]
    while True:
        for run, part in enumerate(parts):
            if not len(part) and positions[run] < stops[run]:
                parts[run] = rows.rows(positions[run], min(positions[run] + at_once, stops[run]))
                positions[run] += len(parts[run])
        lasts = [(int(part[-1, 0]), run) for run, part in enumerate(parts) if positions[run] < stops[run]]
        limit, its_run = min(lasts, default=(np.iinfo(np.int64).max, len(parts)))
        cuts = [
            int(np.searchsorted(part[:, 0], limit, side="right" if run <= its_run else "left"))
            for run, part in enumerate(parts)
        ]
        leaving = np.concatenate([part[:cut] for part, cut in zip(parts, cuts, strict=True)])
        if not len(leaving):
            return
        yield leaving[np.argsort(leaving[:, 0], kind="stable")]
        parts = [part[cut:] for part, cut in zip(parts, cuts, strict=True)]
