"""What is known of a log when it has been gone through once: where its samples lie, and when they were taken.

Of samples and times this is told block by block, so that it stays small however many there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]

Table = NDArray[np.void]

NO_TIME = int(np.iinfo(np.int64).min)
PER_BLOCK = 256  # items of a column between two places that are kept,
LARGE_ITEM = 4096  # but for those of so many bytes: then each
SURELY_NS = 10**17  # what is as large counts nanoseconds, as in logs made of ROS bags; else microseconds

# What is known of a block: its first item and where that begins; the bytes of each item, 0 where they differ; how many
# have a time, and how many of these are in nanoseconds; the least and the largest, NO_TIME where there is none; whether
# the times are in order.
FIELDS = ("row", "begin", "size", "known", "surely_ns", "low", "high", "is_ordered")
BLOCK = np.dtype([(name, np.int64) for name in FIELDS])


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
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
class Part:
    """A stream in one log: its samples with their own times, or the columns of a flattened log, and when logged.

    `logged` has as many as the `.meta` has. Without a type the log was cut off before it.
    """

    stream: str
    type: str = ""
    samples: Blocks = field(default_factory=Blocks)
    logged: Blocks = field(default_factory=Blocks)
    columns: Mapping[str, Column] = field(default_factory=dict)
    has_meta: bool = False

    def __len__(self) -> int:
        columns = [column for column in self.columns.values() if not column.is_constant]
        counts = [column.count for column in columns if not column.is_cut] or [column.count for column in columns]
        return min(counts) if counts else self.samples.count


@dataclass(frozen=True, eq=False, kw_only=True)
class FileIndex:
    """The streams of a log; or, of a file of settings, that it is one. `faults` are kinds and messages."""

    parts: tuple[Part, ...] = ()
    is_settings: bool = False
    faults: tuple[tuple[str, str], ...] = ()
