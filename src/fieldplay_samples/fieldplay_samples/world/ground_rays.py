"""Where rays meet a relief: squares of cells that a ray passes above are skipped, the larger the better."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.relief import Relief, heights_m

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
CHUNK = 16384  # rays whose numbers stay in the processor's cache
NUDGE_M = 1e-6  # past the edge of a square, to be in the next one for certain
STRAIGHT = 1e-9  # the least that a ray moves sideways: one that does not at all would never leave a square
REFINEMENTS = 8
FIRST_LEVEL = 4


@dataclass(eq=False, kw_only=True)
class _Rays:
    """Rays under way in units of cells (z in m): which of the chunk, where from and to, how far, on which level."""

    index: Indices
    x: Array
    y: Array
    z: Array
    dx: Array
    dy: Array
    dz: Array
    at: Array
    end: Array
    level: Indices

    def kept(self, keep: NDArray[np.intp]) -> "_Rays":
        return replace(self, **{field.name: getattr(self, field.name).take(keep) for field in fields(self)})


@dataclass(eq=False, kw_only=True)
class _Squares:
    """The squares that rays are in: where each is left, its highest point, and whether its parent is left too."""

    leaves: Array
    peak_m: NDArray[np.float32]
    parent_left: NDArray[np.bool_]


def distances_m(relief: Relief, origins: Array, directions: Array, begin_m: Array, end_m: Array) -> Array:
    """Distances (n,) in m at which rays (n, 3) first meet the relief between begin and end (n,); inf where they do not.

    Directions need not be unit vectors: a distance is in their lengths.
    """
    result = np.full(len(origins), np.inf)
    for first in range(0, len(origins), CHUNK):
        part = slice(first, first + CHUNK)
        result[part] = _chunk(relief, origins[part], directions[part], (begin_m[part], end_m[part]))
    return result


def _chunk(relief: Relief, origins: Array, directions: Array, span_m: tuple[Array, Array]) -> Array:
    rays = _started(relief, origins, directions, span_m)
    low, high = np.full((2, len(origins)), np.inf)
    while len(rays.index):
        hit, until = _step(relief, rays)
        if len(hit):
            low[rays.index[hit]], high[rays.index[hit]] = rays.at[hit], until
            rays.at[hit] = rays.end[hit]  # parked until the others are many enough to be moved together
        alive = np.flatnonzero(rays.at < rays.end)
        if len(alive) < 0.8 * len(rays.index):
            rays = rays.kept(alive)
    found = np.flatnonzero(np.isfinite(low))
    result = np.full(len(origins), np.inf)
    result[found] = _refined(relief, origins[found], directions[found], (low[found], high[found]))
    return result


def _started(relief: Relief, origins: Array, directions: Array, span_m: tuple[Array, Array]) -> _Rays:
    """Rays already down at the relief's highest peak; those that never come down there are left out."""
    scale = np.array([1 / relief.cell_m, 1 / relief.cell_m, 1.0])
    x, y, z = np.ascontiguousarray((origins * scale + [0.5, 0.5, 0.0]).T)
    dx, dy, dz = np.ascontiguousarray((directions * scale).T)
    dx, dy = (np.where(np.abs(d) < STRAIGHT, STRAIGHT, d) for d in (dx, dy))
    begin, end = span_m
    peak = float(relief.peaks_m[-1])
    above, falling = z + begin * dz > peak, dz < 0
    at = np.where(above & falling, np.maximum(begin, (peak - z) / np.where(falling, dz, -1.0)), begin)
    level = np.full(len(x), FIRST_LEVEL)
    rays = _Rays(index=np.arange(len(x)), x=x, y=y, z=z, dx=dx, dy=dy, dz=dz, at=at, end=end, level=level)
    return rays.kept(np.flatnonzero((at < end) & (falling | ~above)))


def _step(relief: Relief, rays: _Rays) -> tuple[NDArray[np.intp], Array]:
    """Moves each ray out of its square or down a level; which rays (k,) meet the ground, and by where (k,) at last."""
    squares = _squares(relief, rays)
    leaves, bottom = squares.leaves, rays.level == 0
    lowest = rays.z + np.where(rays.dz < 0, leaves, rays.at) * rays.dz
    above = lowest > squares.peak_m
    near = np.flatnonzero(~above & bottom & (rays.at < rays.end))
    hit = near[_dives(relief, rays, near, leaves)]
    until = leaves[hit]
    passed = above | bottom
    to_peak = (squares.peak_m - rays.z) / np.where(rays.dz < 0, rays.dz, -np.inf)
    entered = rays.at
    rays.at = np.where(passed, leaves, np.maximum(entered, to_peak))
    rays.at[hit] = entered[hit]
    rays.level += np.where(passed, squares.parent_left, -1)
    np.minimum(rays.level, len(relief.first_peak) - 1, out=rays.level)
    return hit, until


def _squares(relief: Relief, rays: _Rays) -> _Squares:
    size = np.ldexp(1.0, rays.level)
    inside = rays.at + NUDGE_M
    column = np.floor((rays.x + inside * rays.dx) / size)
    row = np.floor((rays.y + inside * rays.dy) / size)
    side = relief.cells >> rays.level
    place = (row.astype(np.int64) & side - 1) * side + (column.astype(np.int64) & side - 1)
    column += rays.dx > 0
    row += rays.dy > 0
    across, along = (column * size - rays.x) / rays.dx, (row * size - rays.y) / rays.dy
    edge = np.where(across < along, column, row)
    return _Squares(
        leaves=np.minimum(np.maximum(np.minimum(across, along), inside), rays.end),
        peak_m=relief.peaks_m.take(relief.first_peak.take(rays.level) + place),
        parent_left=edge.astype(np.int64) & 1 == 0,
    )


def _dives(relief: Relief, rays: _Rays, near: NDArray[np.intp], leaves: Array) -> NDArray[np.bool_]:
    """Which of the rays `near` (k,) are below the surface half-way through their cell or at its end."""
    below = np.zeros(len(near), bool)
    if not len(near):
        return below
    x, y, z, dx, dy, dz = (values.take(near) for values in (rays.x, rays.y, rays.z, rays.dx, rays.dy, rays.dz))
    begin, end = rays.at.take(near), leaves.take(near)
    for at in (end, (begin + end) / 2):
        height = heights_m(relief, (x + at * dx - 0.5) * relief.cell_m, (y + at * dy - 0.5) * relief.cell_m)
        below |= z + at * dz <= height
    return below


def _refined(relief: Relief, origins: Array, directions: Array, bracket: tuple[Array, Array]) -> Array:
    """The crossing (n,) within a bracket, by false position that halves the weight of an end which stays."""
    low, high = bracket
    gap_low, gap_high = _gap(relief, origins, directions, low), _gap(relief, origins, directions, high)
    high = np.where(gap_low <= 0, low, high)
    middle = high
    for _ in range(REFINEMENTS):
        slope = gap_low - gap_high
        share = np.where((gap_high < 0) & (gap_low > 0), gap_low / np.where(slope > 0, slope, 1.0), 0.5)
        middle = low + share * (high - low)
        gap = _gap(relief, origins, directions, middle)
        outside = gap > 0
        low, gap_low = np.where(outside, middle, low), np.where(outside, gap, gap_low / 2)
        high, gap_high = np.where(outside, high, middle), np.where(outside, gap_high / 2, gap)
    return middle


def _gap(relief: Relief, origins: Array, directions: Array, at: Array) -> Array:
    """How far (n,) above the surface rays are at a distance (n,), in m."""
    x, y, z = (origins + at[:, None] * directions).T
    return np.asarray(z - heights_m(relief, x, y))
