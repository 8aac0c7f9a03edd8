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
    """Control points of heights in m, row along y, column along x, with those beyond each edge; n is a power of two.

    `peaks` has the maxima of the surface over squares of 1, 2, 4 ... n cells, one level after the other; `nodes` the
    surface itself above each control point.
    """

    cell_m: float
    bordered_m: NDArray[np.float32]
    nodes_m: NDArray[np.float32]
    peaks_m: NDArray[np.float32]
    first_peak: Indices

    @property
    def control_m(self) -> NDArray[np.float32]:
        """The control points (n, n) themselves."""
        return self.bordered_m[1:-1, 1:-1]

    @property
    def cells(self) -> int:
        """The number of cells along each side of the period."""
        return len(self.bordered_m) - 2


def relief_from_heights(heights_m: Array, cell_m: float) -> GroundRelief:
    """The relief whose control points are heights (n, n)."""
    control = heights_m.astype(np.float32)
    levels = [_cell_peaks(control)]
    while levels[-1].size > 1:
        rows = np.maximum(levels[-1][::2], levels[-1][1::2])
        levels.append(np.maximum(rows[:, ::2], rows[:, 1::2]))
    first = np.cumsum([0, *(level.size for level in levels)])[:-1]
    peaks = np.concatenate([level.ravel() for level in levels])
    return GroundRelief(
        cell_m=cell_m,
        bordered_m=np.pad(control, 1, mode="wrap"),
        nodes_m=_at_nodes(_at_nodes(control, 0), 1),
        peaks_m=peaks,
        first_peak=first.astype(np.int64),
    )


def _at_nodes(control: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    beside = np.roll(control, 1, axis) + np.roll(control, -1, axis)
    return np.asarray(np.float32(0.75) * control + np.float32(0.125) * beside, np.float32)


def _cell_peaks(control: NDArray[np.float32]) -> NDArray[np.float32]:
    """No lower than the surface over each cell (n, n): the highest of the cell's nine Bezier points."""
    return np.asarray(_highest_of_three(_highest_of_three(control, 0), 1) + np.float32(1e-5))


def _highest_of_three(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    before = (values + np.roll(values, 1, axis)) / 2
    return np.asarray(np.maximum(values, np.maximum(before, np.roll(before, -1, axis))), np.float32)


def heights_m(relief: GroundRelief, x: Array, y: Array) -> Array:
    """Heights (...) at x, y (...), in m."""
    return _surface(relief, x, y, sloped=False)[0]


def slopes(relief: GroundRelief, x: Array, y: Array) -> tuple[Array, Array]:
    """The slopes dz/dx and dz/dy (...) at x, y (...) in m."""
    _, east, north = surface(relief, x, y)
    return east, north


def surface(relief: GroundRelief, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Heights (...) in m and slopes dz/dx and dz/dy (...) at x, y (...) in m."""
    height, east, north = _surface(relief, x, y, sloped=True)
    return height, east, north


def _surface(relief: GroundRelief, x: Array, y: Array, *, sloped: bool) -> tuple[Array, ...]:
    (column, across), (row, along) = _nearest(x / relief.cell_m), _nearest(y / relief.cell_m)
    mask, width = relief.cells - 1, relief.cells + 2
    first = (row & mask) * width + (column & mask)  # of the nine control points about a place
    sides, turned = _weights(across), _slope_weights(across)
    total = np.zeros((3 if sloped else 1, *first.shape))
    for down, (weight, tilt) in enumerate(zip(_weights(along), _slope_weights(along), strict=True)):
        three = [_beyond(relief, down * width + right).take(first) for right in (0, 1, 2)]
        line = _sum_of_three(sides, three)
        total[0] += weight * line
        if sloped:
            total[1] += weight * _sum_of_three(turned, three)
            total[2] += tilt * line
    total[1:] /= relief.cell_m
    return tuple(total)


def _beyond(relief: GroundRelief, first: int) -> NDArray[np.float32]:
    return relief.bordered_m.ravel()[first:]


def _sum_of_three(weights: tuple[Array, Array, Array], values: list[NDArray[np.float32]]) -> Array:
    total = weights[0] * values[0]
    total += weights[1] * values[1]
    total += weights[2] * values[2]
    return np.asarray(total)


def _nearest(cells: Array) -> tuple[Indices, Array]:
    """The nearest control point, and how far on from it a place is, in cells."""
    nearest = np.floor(cells + 0.5)
    return nearest.astype(np.int64), cells - nearest


def _weights(offset: Array) -> tuple[Array, Array, Array]:
    """Those of a control point's neighbour before it, its own and that of the one after it."""
    return (0.5 - offset) ** 2 / 2, 0.75 - offset**2, (0.5 + offset) ** 2 / 2


def _slope_weights(offset: Array) -> tuple[Array, Array, Array]:
    return offset - 0.5, -2 * offset, offset + 0.5
