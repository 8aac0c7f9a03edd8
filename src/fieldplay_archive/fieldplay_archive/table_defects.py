"""What is wrong with the rows of a table, each with its line."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.errors import Defect
from fieldplay_archive.number_rows import NumberRows
from fieldplay_archive.stamps import NS_PER_S


def defects_of_lines(file: str, rows: NumberRows, first_line: int) -> Iterator[Defect]:
    """The lines of a block that are no rows."""
    for bad in rows.bad:
        yield Defect(file=file, row=first_line + bad.line, kind=bad.kind, message=bad.message)


def defects_of_impossible_times(
    file: str, rows: NumberRows, possible: NDArray[np.bool_], first_line: int
) -> Iterator[Defect]:
    """The rows (n,) whose times are not possible."""
    for row in np.flatnonzero(~possible):
        message = f"the time {int(rows.stamp_ns[row]) / NS_PER_S:.9g} s lies outside what this dataset can hold"
        yield Defect(file=file, row=first_line + int(rows.line[row]), kind="implausible_time", message=message)


def defects_of_order(file: str, rows: NumberRows, first_line: int, previous_ns: int | None) -> Iterator[Defect]:
    """The rows whose time is not after that of the row before; previous_ns is that of the row before the block."""
    before = np.concatenate([[rows.stamp_ns[0] - 1 if previous_ns is None else previous_ns], rows.stamp_ns[:-1]])
    step = rows.stamp_ns - before
    for row in np.flatnonzero(step <= 0):
        line = first_line + int(rows.line[row])
        if step[row] < 0:
            message = f"the time runs back by {-int(step[row]) / NS_PER_S:.9f} s"
            yield Defect(file=file, row=line, kind="backward_time", message=message)
        else:
            yield Defect(file=file, row=line, kind="duplicate_time", message="the time is that of the row before")
