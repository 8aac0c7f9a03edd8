"""Rows of marked lines that are well written and yet cannot be right, as far as their own numbers tell."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.number_rows import COUNT, BadLine, NumberRows

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
BARELY = 1e-3  # of a turn, by which angles may lead beyond it
NEARLY = 1e-6  # of the larger, by which two numbers of a covariance may differ that should be equal
LEFT_OUT = "the line is left out"


def faults_of_choices(
    rows: NumberRows, numbers: Sequence[str], choices: Mapping[str, tuple[float, ...]]
) -> Iterator[tuple[int, BadLine]]:
    """The rows, and what is wrong, with a number that is none of those that its column can have; NaN is no number."""
    for name, known in choices.items():
        column = rows.values[:, numbers.index(name)]
        for row in np.flatnonzero(~np.isin(column, known) & ~np.isnan(column)).tolist():
            expected = ", ".join(f"{value:g}" for value in known)
            message = f"column {name}: expected one of {expected}, got {column[row]:g}; {LEFT_OUT}"
            yield row, BadLine(int(rows.line[row]), "out_of_range", message)


def faults_of_angles(
    rows: NumberRows, numbers: Sequence[str], angles: Sequence[str], *, turn: float
) -> Iterator[tuple[int, BadLine]]:
    """The rows, and what is wrong, whose values lead beyond a whole turn, or all lie at one angle."""
    start, step = (rows.values[:, numbers.index(name)] for name in angles[:2])
    count = rows.values[:, numbers.index(COUNT)]
    led = start + step * (count - 1)
    beyond = np.maximum(np.abs(start), np.abs(led)) > turn * (1 + BARELY)
    for row in np.flatnonzero(beyond).tolist():
        expected = f"columns {angles[0]}, {angles[1]}: expected angles within a turn, {turn:.6g}"
        message = f"{expected}, got {start[row]:g} to {led[row]:g}: in another unit?; {LEFT_OUT}"
        yield row, BadLine(int(rows.line[row]), "wrong_angle", message)
    for row in np.flatnonzero((step == 0) & (count > 1) & ~beyond).tolist():
        message = f"column {angles[1]}: expected a step between {count[row]:g} values, got 0; {LEFT_OUT}"
        yield row, BadLine(int(rows.line[row]), "wrong_angle", message)


def is_whole_before(rest: Floats, size: int, columns: int) -> bool:
    """Whether a line that lacks numbers has all its columns, by what is left (k,) of the covariance behind these.

    A line that was cut off in the covariance lacks nothing before it. Where so few numbers are gone that it may be one
    of the columns, and all that were read after it one place too early, the covariance tells: its rest is symmetric.
    """
    missing = size**2 - len(rest)
    if not len(rest) or missing <= 0:
        return False
    if missing > columns:
        return True
    whole = np.concatenate([np.full(missing, np.nan), rest]).reshape(size, size)
    both = np.isfinite(whole) & np.isfinite(whole.T)
    return not np.allclose(whole[both], whole.T[both], rtol=NEARLY, atol=0)


def faults_of_variances(rows: NumberRows, size: int) -> Iterator[BadLine]:
    """The rows whose covariance (size, size) has a variance below 0, which becomes NaN here and counts as unknown."""
    if rows.lists is None:
        return
    variances = rows.lists[:, :: size + 1]
    for row, place in np.argwhere(variances < 0).tolist():
        expected = f"covariance ({place + 1}, {place + 1}): expected a variance of 0 or more"
        message = f"{expected}, got {variances[row, place]:g}; the row is kept, its covariance is unknown there"
        yield BadLine(int(rows.line[row]), "negative_variance", message)
    variances[variances < 0] = np.nan
