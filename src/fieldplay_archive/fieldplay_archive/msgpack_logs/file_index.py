"""What is known of a log when it has been gone through once: where each sample lies, and when it was taken."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]

NO_TIME = int(np.iinfo(np.int64).min)
PER_BLOCK = 256  # items of a column between two places that are kept,
LARGE_ITEM = 4096  # but for those of so many bytes: then each


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """One field of all samples of a flattened log: where every `step`-th item begins, and where the last ends.

    Of names that are written once `is_constant`: then the one item is the value for all samples.
    """

    count: int
    begins: Places
    end: int
    step: int = PER_BLOCK
    is_constant: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """A stream in one log: its samples' bytes, or the columns of a flattened log, and their times as in the file.

    begins (n,), one sample behind the other up to the byte `stop`; own (n,) with NO_TIME where a sample has none;
    logged (m,), as many as the `.meta` has. Without a type the log was cut off before it.
    """

    stream: str
    type: str = ""
    begins: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    stop: int = 0
    own: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    logged: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: Mapping[str, Column] = field(default_factory=dict)
    has_meta: bool = False

    def __len__(self) -> int:
        counts = [column.count for column in self.columns.values() if not column.is_constant]
        return min(counts) if counts else len(self.begins)

    @property
    def ends(self) -> Places:
        """Where each sample ends (n,)."""
        return np.append(self.begins[1:], self.stop) if len(self.begins) else self.begins


@dataclass(frozen=True, eq=False, kw_only=True)
class FileIndex:
    """The streams of a log; or, of a file of settings, that it is one. `faults` are kinds and messages."""

    parts: tuple[Part, ...] = ()
    is_settings: bool = False
    faults: tuple[tuple[str, str], ...] = ()
