"""Where rays meet a relief: squares of cells that a ray passes above are skipped, the larger the better.

Of rays in a grid, neighbours of which look nearly the same way, some are followed so. Between them the distance is
guessed, and made exact where the ray goes through the surface about there; the rest is followed too.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.relief import GroundRelief, heights_m

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
CHUNK = 16384  # rays whose numbers stay in the processor's cache
NUDGE_M = 1e-6  # past the edge of a square, to be in the next one for certain
STRAIGHT = 1e-9  # the least that a ray moves sideways: one that does not at all would never leave a square
REFINEMENTS = 12
FOUND_M = 1e-7  # above or below the surface
FIRST_LEVEL = 4
LIKE_NEIGHBOURS = 1.25  # the greatest by the least distance of those around a ray, where all are on one surface
AT_SURFACE_M = 5e-4  # above or below it: where a guess is right
GUESS_ERROR = 0.01  # of the distance: the surface is looked for so much before and behind


@dataclass(frozen=True, kw_only=True)
class RayGrid:
    """How rays lie, row by row: neighbours look nearly the same way, and every so many of them are followed.

    What is thinner than the distance of those, a crest against the sky, may be seen through.
    """

    rows: int
    columns: int
    every_row: int = 1
    every_column: int = 1


@dataclass(eq=False, kw_only=True)
class _UnderWay:
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

    def kept(self, keep: NDArray[np.intp]) -> "_UnderWay":
        return replace(self, **{field.name: getattr(self, field.name).take(keep) for field in fields(self)})


@dataclass(eq=False, kw_only=True)
class _Squares:
    """The squares that rays are in: where each is left, its highest point, and whether its parent is left too."""

    leaves: Array
    peak_m: NDArray[np.float32]
    parent_left: NDArray[np.bool_]


def distances_m(relief: GroundRelief, rays: Rays, end_m: Array) -> Array:
    """Distances (n,) in m at which rays (n,) first meet the relief before end_m (n,); inf where they do not."""
    result = np.full(len(rays), np.inf)
    for first in range(0, len(rays), CHUNK):
        part = slice(first, first + CHUNK)
        chunk = Rays(origins=rays.origins[part], directions=rays.directions[part])
        result[part] = _chunk_distances_m(relief, chunk, end_m[part])
    return result


def distances_in_grid_m(relief: GroundRelief, rays: Rays, end_m: Array, grid: RayGrid) -> Array:
    """As distances_m, for rays (n,) in a grid, of which only some are followed."""
    numbers = np.arange(len(rays)).reshape(grid.rows, grid.columns)
    some = numbers[:: grid.every_row, :: grid.every_column]
    result = np.full(len(rays), np.nan)
    result[some.ravel()] = distances_m(relief, rays.taken(some.ravel()), end_m[some.ravel()])
    guess = _guessed(result[some], grid)
    asked = np.flatnonzero(np.isfinite(guess) & np.isnan(result))
    chosen, nearer = rays.taken(asked), guess[asked] * (1 - GUESS_ERROR)
    further = np.minimum(guess[asked] * (1 + GUESS_ERROR), end_m[asked])
    above, below = _gap(relief, chosen, nearer), -_gap(relief, chosen, further)
    sure = np.flatnonzero((above > 0) & (below > 0))
    falls = (above[sure] + below[sure]) / (further[sure] - nearer[sure])  # about how fast it nears the surface
    found, certain = nearer[sure] + above[sure] / falls, chosen.taken(sure)
    found += _gap(relief, certain, found) / falls
    gap = _gap(relief, certain, found)
    good = np.flatnonzero((np.abs(gap) < AT_SURFACE_M) & (found > nearer[sure]) & (found < further[sure]))
    result[asked[sure[good]]] = found[good] + gap[good] / falls[good]
    rest = np.flatnonzero(np.isnan(result))
    result[rest] = distances_m(relief, rays.taken(rest), end_m[rest])
    return result


def _guessed(some: Array, grid: RayGrid) -> Array:
    """Distances (n,) of all rays by those followed around them, inverse ones being even; NaN where those differ."""
    low = high = inverse = 1 / np.maximum(some, 1e-9)  # 0 where nothing is met
    for axis, count, every in ((0, grid.rows, grid.every_row), (1, grid.columns, grid.every_column)):
        before = np.arange(count) // every
        after = -(-np.arange(count) // every)
        known = after < some.shape[axis]  # beyond the last one followed there is nothing to go by
        after = np.where(known, after, before)
        share = (np.arange(count) % every / every).reshape((-1, 1) if axis == 0 else (1, -1))
        inverse = inverse.take(before, axis) * (1 - share) + inverse.take(after, axis) * share
        low = np.minimum(low.take(before, axis), low.take(after, axis))
        low = np.where(known.reshape(share.shape), low, 0.0)
        high = np.maximum(high.take(before, axis), high.take(after, axis))
    alike = (low > 0) & (high < LIKE_NEIGHBOURS * low)
    return np.asarray(np.where(alike, 1 / np.where(alike, inverse, 1.0), np.nan)).ravel()


def _chunk_distances_m(relief: GroundRelief, rays: Rays, end_m: Array) -> Array:
    under_way = _started(relief, rays, end_m)
    low, high = np.full((2, len(rays)), np.inf)
    while len(under_way.index):
        hit, until = _step(relief, under_way)
        if len(hit):
            low[under_way.index[hit]], high[under_way.index[hit]] = under_way.at[hit], until
            under_way.at[hit] = under_way.end[hit]  # parked until enough of them can be left out together
        alive = np.flatnonzero(under_way.at < under_way.end)
        if len(alive) < 0.8 * len(under_way.index):
            under_way = under_way.kept(alive)
    found = np.flatnonzero(np.isfinite(low))
    result = np.full(len(rays), np.inf)
    result[found] = _refined(relief, rays.taken(found), (low[found], high[found]))
    return result


def _started(relief: GroundRelief, rays: Rays, end_m: Array) -> _UnderWay:
    """Rays already down at the relief's highest peak; those that never come down there are left out."""
    scale = np.array([1 / relief.cell_m, 1 / relief.cell_m, 1.0])
    x, y, z = np.ascontiguousarray((rays.origins * scale + [0.5, 0.5, 0.0]).T)
    dx, dy, dz = np.ascontiguousarray((rays.directions * scale).T)
    dx, dy = (np.where(np.abs(d) < STRAIGHT, STRAIGHT, d) for d in (dx, dy))
    peak = float(relief.peaks_m[-1])
    above, falling = z > peak, dz < 0
    at = np.where(above & falling, (peak - z) / np.where(falling, dz, -1.0), 0.0)
    level = np.full(len(x), FIRST_LEVEL)
    started = _UnderWay(index=np.arange(len(x)), x=x, y=y, z=z, dx=dx, dy=dy, dz=dz, at=at, end=end_m, level=level)
    return started.kept(np.flatnonzero((at < end_m) & (falling | ~above)))


def _step(relief: GroundRelief, rays: _UnderWay) -> tuple[NDArray[np.intp], Array]:
    """Moves each ray out of its square or down a level; which rays (k,) meet the ground, and by where (k,) at last."""
    squares = _squares(relief, rays)
    leaves, bottom = squares.leaves, rays.level == 0
    lowest = rays.z + np.where(rays.dz < 0, leaves, rays.at) * rays.dz
    above = lowest > squares.peak_m
    near = np.flatnonzero(~above & bottom & (rays.at < rays.end))
    hit = near[_dives(relief, rays.kept(near), leaves[near])]
    until = leaves[hit]
    passed = above | bottom
    to_peak = (squares.peak_m - rays.z) / np.where(rays.dz < 0, rays.dz, -np.inf)
    entered = rays.at
    rays.at = np.where(passed, leaves, np.maximum(entered, to_peak))
    rays.at[hit] = entered[hit]
    rays.level += np.where(passed, squares.parent_left, -1)
    np.minimum(rays.level, len(relief.first_peak) - 1, out=rays.level)
    return hit, until


def _squares(relief: GroundRelief, rays: _UnderWay) -> _Squares:
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


def _dives(relief: GroundRelief, rays: _UnderWay, leaves: Array) -> NDArray[np.bool_]:
    """Which rays (k,) are below the surface where they leave their cell or half-way through it."""
    below = np.zeros(len(leaves), bool)
    for at in (leaves, (rays.at + leaves) / 2):
        above = np.flatnonzero(~below)
        along = at[above]
        x, y = (
            (of[above] + along * per[above] - 0.5) * relief.cell_m for of, per in ((rays.x, rays.dx), (rays.y, rays.dy))
        )
        below[above] = rays.z[above] + along * rays.dz[above] <= heights_m(relief, x, y)
    return below


def _refined(relief: GroundRelief, rays: Rays, bracket: tuple[Array, Array]) -> Array:
    """The crossing (n,) within a bracket, by false position that halves the weight of an end which stays."""
    low, high = bracket
    gap_low, gap_high = _gap(relief, rays, low), _gap(relief, rays, high)
    high = np.where(gap_low <= 0, low, high)
    result, left = high.copy(), np.arange(len(high))
    for _ in range(REFINEMENTS):
        slope = gap_low - gap_high
        share = np.where((gap_high < 0) & (gap_low > 0), gap_low / np.where(slope > 0, slope, 1.0), 0.5)
        middle = low + share * (high - low)
        gap = _gap(relief, rays, middle)
        result[left] = middle
        outside = gap > 0
        low, gap_low = np.where(outside, middle, low), np.where(outside, gap, gap_low / 2)
        high, gap_high = np.where(outside, high, middle), np.where(outside, gap_high / 2, gap)
        open_ = np.flatnonzero(np.abs(gap) > FOUND_M)
        if not len(open_):
            break
        left, rays = left[open_], rays.taken(open_)
        low, high, gap_low, gap_high = (values[open_] for values in (low, high, gap_low, gap_high))
    return np.asarray(result)


def _gap(relief: GroundRelief, rays: Rays, at: Array) -> Array:
    """How far (n,) above the surface rays are at distances (n,), in m."""
    x, y, z = rays.points(at).T
    return np.asarray(z - heights_m(relief, x, y))
