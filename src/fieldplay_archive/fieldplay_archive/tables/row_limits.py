"""Numbers beyond all that is possible, as a latitude of 200 degrees: their rows are none, unless all are so."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.number_rows import NumberRows
from fieldplay_messages.errors import Defect

Limits = Mapping[int, tuple[str, float, float]]  # by the place in rows.values: the column, its least and its largest


def fitting_limits(
    limits: Mapping[str, tuple[float, float]], numbers: Sequence[str], some: NumberRows
) -> dict[int, tuple[str, float, float]]:
    """The limits of columns that most of some rows keep: where most do not, the unit is another, and none is lost."""
    places = {name: numbers.index(name) for name in limits if name in numbers}
    middles = {name: float(np.median(some.values[:, place])) for name, place in places.items() if len(some.values)}
    return {
        places[name]: (name, *limits[name])
        for name, middle in middles.items()
        if limits[name][0] <= middle <= limits[name][1]
    }


def within_limits(rows: NumberRows, limits: Limits) -> NDArray[np.bool_]:
    """Which rows (n,) keep all limits."""
    kept = np.ones(len(rows.stamp_ns), bool)
    for place, (_, least, largest) in limits.items():
        kept &= (rows.values[:, place] >= least) & (rows.values[:, place] <= largest)
    return kept


def defects_of_limits(file: str, rows: NumberRows, first_line: int, limits: Limits) -> Iterator[Defect]:
    """The rows beyond a limit."""
    for place, (name, least, largest) in limits.items():
        numbers = rows.values[:, place]
        for row in np.flatnonzero((numbers < least) | (numbers > largest)):
            message = f"column {name}: expected {least:g} to {largest:g}, got {numbers[row]:g}; the row is left out"
            yield Defect(file=file, row=first_line + int(rows.line[row]), kind="impossible_value", message=message)
