"""What is wrong with the rows of a table, each with its line; and which of them are so wrong that they are none."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.rows import ParsedRows
from fieldplay_messages.errors import Defect
from fieldplay_messages.gaps import GapFinder
from fieldplay_messages.stamps import NS_PER_S

Limits = Mapping[int, tuple[str, float, float]]  # by the place in rows.values: the column, its least and its largest


def fitting_limits(
    limits: Mapping[str, tuple[float, float]], numbers: Sequence[str], some: ParsedRows
) -> dict[int, tuple[str, float, float]]:
    """The limits of columns that most of some rows keep: where most do not, the unit is another, and none is lost."""
    places = {name: numbers.index(name) for name in limits if name in numbers}
    middles = {name: float(np.median(some.values[:, place])) for name, place in places.items() if len(some.values)}
    return {
        places[name]: (name, *limits[name])
        for name, middle in middles.items()
        if limits[name][0] <= middle <= limits[name][1]
    }


def within_limits(rows: ParsedRows, limits: Limits) -> NDArray[np.bool_]:
    """Which rows (n,) keep all limits."""
    kept = np.ones(len(rows.stamp_ns), bool)
    for place, (_, least, largest) in limits.items():
        kept &= (rows.values[:, place] >= least) & (rows.values[:, place] <= largest)
    return kept


def defects_of_limits(file: str, rows: ParsedRows, first_line: int, limits: Limits) -> Iterator[Defect]:
    """The rows beyond a limit."""
    for place, (name, least, largest) in limits.items():
        numbers = rows.values[:, place]
        for row in np.flatnonzero((numbers < least) | (numbers > largest)):
            message = f"column {name}: expected {least:g} to {largest:g}, got {numbers[row]:g}; the row is left out"
            yield Defect(file=file, row=first_line + int(rows.line[row]), kind="impossible_value", message=message)


def defects_of_lines(file: str, rows: ParsedRows, first_line: int) -> Iterator[Defect]:
    """The lines of a block that are no rows."""
    for bad in rows.bad:
        yield Defect(file=file, row=first_line + bad.line, kind=bad.kind, message=bad.message)


def defects_of_impossible_times(
    file: str, rows: ParsedRows, possible: NDArray[np.bool_], first_line: int
) -> Iterator[Defect]:
    """The rows (n,) whose times are not possible."""
    for row in np.flatnonzero(~possible):
        message = f"column time: expected one that this dataset can hold, got {_seconds(rows.stamp_ns[row])}"
        yield Defect(file=file, row=first_line + int(rows.line[row]), kind="implausible_time", message=message)


def steps_ns(rows: ParsedRows, previous_ns: int | None) -> NDArray[np.int64]:
    """By how much each row (n,) is later than the row before; previous_ns is the time of the row before the block."""
    return np.diff(rows.stamp_ns, prepend=rows.stamp_ns[0] - 1 if previous_ns is None else previous_ns)


def defects_of_order(file: str, rows: ParsedRows, first_line: int, step: NDArray[np.int64]) -> Iterator[Defect]:
    """The rows whose step (n,) from the row before is backward or none."""
    for row in np.flatnonzero(step <= 0):
        line = first_line + int(rows.line[row])
        if step[row] < 0:
            message = f"the time runs back by {-int(step[row]) / NS_PER_S:.9f} s"
            yield Defect(file=file, row=line, kind="backward_time", message=message)
        else:
            yield Defect(file=file, row=line, kind="duplicate_time", message="the time is that of the row before")


def defects_of_gaps(file: str, rows: ParsedRows, first_line: int, finder: GapFinder) -> Iterator[Defect]:
    """The rows that come after a gap."""
    for row, gap_ns in finder.gaps(rows.stamp_ns):
        message = f"no row for {gap_ns / NS_PER_S:.3f} s before this one, at {_seconds(rows.stamp_ns[row])}"
        yield Defect(file=file, row=first_line + int(rows.line[row]), kind="gap", message=message)


def defects_of_ranges(
    file: str, rows: ParsedRows, first_line: int, ranges: Mapping[int, tuple[str, float, float]]
) -> Iterator[Defect]:
    """The rows with a number, by its place in rows.values, below its least or above its largest value."""
    for place, (name, least, largest) in ranges.items():
        numbers = rows.values[:, place]
        for row in np.flatnonzero((numbers < least) | (numbers > largest)):
            message = f"column {name}: expected {least:g} to {largest:g}, got {numbers[row]:g}; the row is kept"
            yield Defect(file=file, row=first_line + int(rows.line[row]), kind="out_of_range", message=message)


def _seconds(stamp_ns: np.int64) -> str:
    """A time as exact decimal seconds."""
    seconds, ns = divmod(abs(int(stamp_ns)), NS_PER_S)
    return f"{'-' if stamp_ns < 0 else ''}{seconds}.{ns:09d}".rstrip("0").rstrip(".") + " s"
