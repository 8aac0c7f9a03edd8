"""The numbers of IDA's rows that are codes: a tool, a phase, bits. One that cannot be is told, and taken for none."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.number_rows import BadLine, NumberRows

LARGEST = {"tool": 9, "grapple_phase": 5, "stat": 2**32 - 1}
STAT, SPARE_BITS = "stat", range(20, 32)
KIND = "impossible_code"


def with_possible_codes(rows: NumberRows, numbers: Sequence[str]) -> NumberRows:
    """The rows, NaN in place of codes that cannot be, which are told. Their columns are `numbers`."""
    values, faults = rows.values.copy(), []
    for name, largest in LARGEST.items():
        codes = values[:, numbers.index(name)]
        wrong = np.isfinite(codes) & ((codes < 0) | (codes > largest) | (codes != np.floor(codes)))
        expected = f"column {name}: expected a whole number from 0 to {largest}, got "
        faults += [
            BadLine(int(rows.line[row]), KIND, f"{expected}{codes[row]:.12g}") for row in np.flatnonzero(wrong).tolist()
        ]
        codes[wrong] = np.nan
    faults += _with_spare_bits(rows.line, values[:, numbers.index(STAT)])
    return replace(rows, values=values).with_bad(tuple(faults)) if faults else rows


def _with_spare_bits(line: NDArray[np.int64], stat: NDArray[np.float64]) -> Iterator[BadLine]:
    """The rows with a bit that has no meaning: those that have one may be what they seem."""
    for row in np.flatnonzero(stat >= 1 << SPARE_BITS.start).tolist():
        expected = f"column {STAT}: expected no bits from {SPARE_BITS.start} to {SPARE_BITS.stop - 1}, which are spare"
        yield BadLine(int(line[row]), KIND, f"{expected}, got {int(stat[row])} ({int(stat[row]):#x}); the others count")
