"""What is known of a log when it has been gone through once: where its samples lie, and when they were taken.

Of samples and times this is told block by block, so that it stays small however many there are.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NO_TIME as NO_TIME

Places = NDArray[np.int64]

Table = NDArray[np.void]

PER_BLOCK = 256  # items of a column between two places that are kept,
LARGE_ITEM = 4096  # but for those of so many bytes: then each
SURELY_NS = 10**17  # what is as large counts nanoseconds, as in logs made of ROS bags; else microseconds

# What is known of a block: its first item and where that begins; the bytes of each item, 0 where they differ; how many
# have a time, and how many of these are in nanoseconds; the least and the largest, NO_TIME where there is none; whether
# the times are in order.
FIELDS = ("row", "begin", "size", "known", "surely_ns", "low", "high", "is_ordered")
BLOCK = np.dtype([(name, np.int64) for name in FIELDS])
BLOCK_ROWS, BLOCK_BYTES = 4096, 1 << 18
LARGE = 1 << 16  # bytes of an item that is a block of its own
MOST_WAITING = 1 << 15  # items that are put into blocks at once
LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, kw_only=True)
class LogColumn:
    """One field of all samples of a flattened log: where every `step`-th item begins, and where the last ends.

    Of names that are written once `is_constant`: then the one item is the value for all samples. If the log has a
    fault in it, it `is_cut`: the samples from there on lack this field.
    """

    count: int
    begins: Places
    end: int
    step: int = PER_BLOCK
    is_constant: bool = False
    is_cut: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks:
    """Items with times that stand one behind the other up to the byte `stop`, in blocks; see BLOCK."""

    table: Table = field(default_factory=lambda: np.zeros(0, BLOCK))
    count: int = 0
    stop: int = 0

    @property
    def rows(self) -> Places:
        """The first item of each block, and the number of all (b + 1,)."""
        return np.append(self.table["row"], self.count)

    @property
    def places(self) -> Places:
        """The first byte of each block, and where the last ends (b + 1,)."""
        return np.append(self.table["begin"], self.stop)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamPart:
    """A stream in one log: its samples with their own times, or the columns of a flattened log, and when logged.

    `logged` has as many as the `.meta` has. Without a type the log was cut off before it.
    """

    stream: str
    type: str = ""
    samples: Blocks = field(default_factory=Blocks)
    logged: Blocks = field(default_factory=Blocks)
    columns: Mapping[str, LogColumn] = field(default_factory=dict)
    has_meta: bool = False

    def __len__(self) -> int:
        columns = [column for column in self.columns.values() if not column.is_constant]
        counts = [column.count for column in columns if not column.is_cut] or [column.count for column in columns]
        return min(counts) if counts else self.samples.count


@dataclass(frozen=True, eq=False, kw_only=True)
class FileIndex:
    """The streams of a log; or, of a file of settings, that it is one. `faults` are kinds and messages."""

    parts: tuple[StreamPart, ...] = ()
    is_settings: bool = False
    faults: tuple[tuple[str, str], ...] = ()


class GrowingBlocks:
    """Items with their begins and times, put into blocks as they come; the last can be taken back."""

    def __init__(self) -> None:
        self._begins, self._times = array("q"), array("q")  # of those that are in no block yet
        self._tables: list[Table] = []
        self._settled = 0
        self.stop = 0

    def __len__(self) -> int:
        return self._settled + len(self._begins)

    def add(self, begin: int, time: int, stop: int) -> None:
        """One that ends at the byte `stop`."""
        self._begins.append(begin)
        self._times.append(time)
        self.stop = stop
        if len(self._begins) >= MOST_WAITING:
            self._settle()

    def extend(self, begins: Places, times: Places, stop: int) -> None:
        """Several (n,), the last of which ends at the byte `stop`."""
        self._begins.frombytes(begins.astype(np.int64).tobytes())
        self._times.frombytes(times.astype(np.int64).tobytes())
        self.stop = stop
        if len(self._begins) >= MOST_WAITING:
            self._settle()

    def take_back(self) -> int:
        """Take away the last; where it began."""
        self._times.pop()
        self.stop = self._begins.pop()
        return self.stop

    def blocks(self) -> Blocks:
        """All that is there."""
        rest = blocks_of(places_of(self._begins), places_of(self._times), stop=self.stop, first_row=self._settled)
        return Blocks(table=np.concatenate([*self._tables, rest]), count=len(self), stop=self.stop)

    def _settle(self) -> None:
        """Put all into blocks but what the last block may yet grow by."""
        begins, times = places_of(self._begins), places_of(self._times)
        table = blocks_of(begins, times, stop=self.stop, first_row=self._settled)
        kept = int(table["row"][-1]) - self._settled
        self._tables.append(table[:-1])
        self._settled += kept
        del self._begins[:kept], self._times[:kept]


def blocks_of(begins: Places, times: Places, *, stop: int = 0, first_row: int = 0) -> Table:
    """Blocks of items (n,): the borders are at fixed rows and bytes, and on both sides of large items."""
    if not len(begins):
        return np.zeros(0, BLOCK)
    rows = first_row + np.arange(len(begins))
    sizes = np.diff(begins, append=stop)
    is_first = rows % BLOCK_ROWS == 0
    is_first[1:] |= begins[1:] // BLOCK_BYTES != begins[:-1] // BLOCK_BYTES
    is_first |= sizes >= LARGE
    is_first[1:] |= sizes[:-1] >= LARGE
    is_first[0] = True
    firsts = np.flatnonzero(is_first)
    has_time = times > 0
    falls = np.zeros(len(times), bool)
    falls[1:] = times[1:] < times[:-1]
    falls[firsts] = False
    smallest, largest = np.minimum.reduceat(sizes, firsts), np.maximum.reduceat(sizes, firsts)
    known = np.add.reduceat(has_time, firsts, dtype=np.int64)
    low = np.minimum.reduceat(np.where(has_time, times, LATEST), firsts)
    table = np.zeros(len(firsts), BLOCK)
    table["row"], table["begin"] = rows[firsts], begins[firsts]
    table["size"] = np.where(smallest == largest, smallest, 0)
    table["known"], table["surely_ns"] = known, np.add.reduceat(times >= SURELY_NS, firsts, dtype=np.int64)
    table["low"] = np.where(known > 0, low, NO_TIME)
    table["high"] = np.maximum.reduceat(np.where(has_time, times, NO_TIME), firsts)
    table["is_ordered"] = ~np.logical_or.reduceat(falls, firsts)
    return table


@dataclass
class GrowingPart:
    """What is found of a stream in one map."""

    type: str = ""
    samples: GrowingBlocks = field(default_factory=GrowingBlocks)
    logged: GrowingBlocks = field(default_factory=GrowingBlocks)
    columns: dict[str, LogColumn] = field(default_factory=dict)
    has_meta: bool = False

    def part(self, stream: str) -> StreamPart:
        return StreamPart(
            stream=stream,
            type=self.type,
            samples=self.samples.blocks(),
            logged=self.logged.blocks(),
            columns=self.columns,
            has_meta=self.has_meta,
        )


def places_of(values: "array[int]") -> Places:
    """The numbers (n,) of an array that grew."""
    return np.frombuffer(values, np.int64).copy() if len(values) else np.zeros(0, np.int64)
