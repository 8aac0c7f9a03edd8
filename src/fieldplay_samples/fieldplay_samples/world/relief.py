"""A relief: heights on a periodic grid, and between them the smooth surface that everything stands on and sees.

The grid's values are the control points of a biquadratic B-spline: neither the surface nor its slope has a step, and
over each cell (a square of cell_m about a control point) it stays within bounds known beforehand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundRelief:
    """Control points (n, n) of heights in m, row along y, column along x; n is a power of two.

    `peaks` has the maxima of the surface over squares of 1, 2, 4 ... n cells, one level after the other.
    """

    cell_m: float
    control_m: NDArray[np.float32]
    peaks_m: NDArray[np.float32]
    first_peak: Indices

    @property
    def cells(self) -> int:
        """The number of cells along each side of the period."""
        return int(self.control_m.shape[0])


def relief_from_heights(heights_m: Array, cell_m: float) -> GroundRelief:
    """The relief whose control points are heights (n, n)."""
    control = heights_m.astype(np.float32)
    levels = [_cell_peaks(control)]
    while levels[-1].size > 1:
        rows = np.maximum(levels[-1][::2], levels[-1][1::2])
        levels.append(np.maximum(rows[:, ::2], rows[:, 1::2]))
    first = np.cumsum([0, *(level.size for level in levels)])[:-1]
    peaks = np.concatenate([level.ravel() for level in levels])
    return GroundRelief(cell_m=cell_m, control_m=control, peaks_m=peaks, first_peak=first.astype(np.int64))


def _cell_peaks(control: NDArray[np.float32]) -> NDArray[np.float32]:
    """No lower than the surface over each cell (n, n): the highest of the cell's nine Bezier points."""
    return np.asarray(_highest_of_three(_highest_of_three(control, 0), 1) + np.float32(1e-5))


def _highest_of_three(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    before = (values + np.roll(values, 1, axis)) / 2
    return np.asarray(np.maximum(values, np.maximum(before, np.roll(before, -1, axis))), np.float32)


def heights_m(relief: GroundRelief, x: Array, y: Array) -> Array:
    """Heights (...) at x, y (...), in m."""
    columns, across = _weights(x / relief.cell_m)
    rows, along = _weights(y / relief.cell_m)
    return _weighted(relief, (rows, along), (columns, across))


def slopes(relief: GroundRelief, x: Array, y: Array) -> tuple[Array, Array]:
    """The slopes dz/dx and dz/dy (...) at x, y (...) in m."""
    columns, across = _weights(x / relief.cell_m)
    rows, along = _weights(y / relief.cell_m)
    _, turned = _slope_weights(x / relief.cell_m)
    _, tilted = _slope_weights(y / relief.cell_m)
    east = _weighted(relief, (rows, along), (columns, turned)) / relief.cell_m
    north = _weighted(relief, (rows, tilted), (columns, across)) / relief.cell_m
    return east, north


def _weighted(
    relief: GroundRelief, rows: tuple[Indices, tuple[Array, ...]], columns: tuple[Indices, tuple[Array, ...]]
) -> Array:
    control, mask = relief.control_m.ravel(), relief.cells - 1
    (row, along), (column, across) = rows, columns
    sides = [column + right & mask for right in (-1, 0, 1)]
    total = np.zeros(row.shape)
    for down, weight in zip((-1, 0, 1), along, strict=True):
        line = (row + down & mask) * relief.cells
        before, here, after = (control.take(line + side) for side in sides)
        total += weight * (across[0] * before + across[1] * here + across[2] * after)
    return total


def _weights(cells: Array) -> tuple[Indices, tuple[Array, ...]]:
    """The nearest control point, and the weights of it and its neighbours on either side."""
    nearest = np.floor(cells + 0.5)
    offset = cells - nearest
    return nearest.astype(np.int64), ((0.5 - offset) ** 2 / 2, 0.75 - offset**2, (0.5 + offset) ** 2 / 2)


def _slope_weights(cells: Array) -> tuple[Indices, tuple[Array, ...]]:
    nearest = np.floor(cells + 0.5)
    offset = cells - nearest
    return nearest.astype(np.int64), (offset - 0.5, -2 * offset, offset + 0.5)
