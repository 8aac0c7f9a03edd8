"""Where rays meet a relief: squares of cells that a ray passes above are skipped, the larger the better.

Of many rays from about one place only those in doubt are followed so. Where the others meet the surface is guessed by
its profiles, and made exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.terrain import GroundRelief, heights_m, surface

Array = NDArray[np.float64]
Single = NDArray[np.float32]
ProfileIndices = NDArray[np.intp]
PROFILE_RAD = 0.004  # of azimuth: rays that differ by less share a profile
FIRST_M, GROWTH = 0.2, 1.01  # the nearest place of a profile, and how much further off the next one is each time
CLEAR = 0.001  # the tangent by which a ray must pass all before, so as not to need a closer look
NEAR = 0.0015  # by which it is so near as to need one
CLEAR_STEPS = 2  # before the place where it meets the ground
STEEPEST = 30.0
ROW = 4 * STEEPEST  # apart in a list of all profiles, each of which rises
Indices = NDArray[np.int64]
CHUNK = 16384  # rays whose numbers stay in the processor's cache
NUDGE_M = 1e-6  # past the edge of a square, to be in the next one for certain
STRAIGHT = 1e-9  # the least that a ray moves sideways: one that does not at all would never leave a square
REFINEMENTS = 12
TOLERANCE_M = 1e-7  # above or below the surface
FIRST_LEVEL = 4
GUESS_ERROR = 0.015  # of the distance: the surface is looked for so much before and behind
STEPS = 6
AT_ONCE, PARTS = 2048, 2048  # rays in doubt and parts of them that are looked at together
SEARCHED = 6  # how often a ray near the ground is looked at between two places of a profile
SETTLED_M = 1e-4  # of a last step, after which the next one would be thousands of times shorter
FLATTEST = 1e-3  # how fast a ray nears the surface at least


# Where rays from about one place should meet the ground: by its profiles, one for all rays that go the same way.
#
# A profile is how high the ground rises as seen from the place, further and further out. The highest rise until then
# hides what is behind: a ray that falls below it has met the ground.


@dataclass(frozen=True, eq=False, kw_only=True)
class Panorama:
    """Distances (m,) in m over the ground, tangents (k, m) under which it is seen there, and the highest until there.

    Rays (n,) have the profile of that row (n,) and a tangent (n,) themselves; `across` (n,) is how far they go over the
    ground in 1 m.
    """

    distance_m: Array
    tangent: Single
    highest: Single
    row: ProfileIndices
    sought: Array
    across: Array


def panorama(relief: GroundRelief, rays: Rays, end_m: Array) -> Panorama:
    """The profiles that rays (n,) need which go up to end_m (n,)."""
    across = np.maximum(np.hypot(rays.directions[:, 0], rays.directions[:, 1]), 1e-9)
    number = np.floor(np.arctan2(rays.directions[:, 1], rays.directions[:, 0]) / PROFILE_RAD).astype(np.int64)
    first = number.min()
    taken = np.bincount(number - first)
    directions = np.flatnonzero(taken)
    row = (np.cumsum(taken > 0) - 1)[number - first]
    centres = np.stack([np.bincount(row, weights=values) for values in rays.origins.T]) / taken[directions]
    distance, tangent = _profiles(
        relief, centres, PROFILE_RAD * (directions + first + 0.5), farthest_m=float(end_m.max())
    )
    return Panorama(
        distance_m=distance,
        tangent=tangent,
        highest=np.maximum.accumulate(tangent, axis=1),
        row=row,
        sought=np.clip(rays.directions[:, 2] / across, -STEEPEST, STEEPEST),
        across=across,
    )


def _profiles(relief: GroundRelief, centre: Array, azimuth: Array, *, farthest_m: float) -> tuple[Array, Single]:
    """Distances (m,) and tangents (k, m) of the profiles from places (3, k) towards azimuths (k,)."""
    count = int(np.ceil(np.log(max(farthest_m / FIRST_M, 2.0)) / np.log(GROWTH))) + 1
    distance = FIRST_M * GROWTH ** np.arange(count)
    first_cell = np.mod(centre[:2] / relief.cell_m, relief.cells).astype(np.float32)
    steps = (distance / relief.cell_m).astype(np.float32)
    x, y = (
        start[:, None] + turn.astype(np.float32)[:, None] * steps
        for start, turn in zip(first_cell, (np.cos(azimuth), np.sin(azimuth)), strict=True)
    )
    height = cv2.remap(relief.nodes_m, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    tangent = (height - centre[2].astype(np.float32)[:, None]) / distance.astype(np.float32)
    return np.asarray(distance, np.float64), np.asarray(np.clip(tangent, -STEEPEST, STEEPEST), np.float32)


def guess_m(seen: Panorama) -> Array:
    """Estimate where (n,) the rays hit the ground, in m along them; inf where they surely do not, NaN if in doubt."""
    flat, last = seen.highest.ravel(), len(seen.distance_m) - 1
    start, sought = seen.row * (last + 1), seen.sought
    listed = seen.highest + ROW * np.arange(len(seen.highest))[:, None]
    index = np.searchsorted(listed.ravel(), sought + ROW * seen.row) - start
    after = np.clip(index, 1, last)
    low, high = flat.take(start + after - 1), flat.take(start + after)
    fraction = (sought - low) / np.maximum(high - low, 1e-12)
    hits = seen.distance_m.take(after - 1) + fraction * np.diff(seen.distance_m).take(after - 1)
    hits[sought - flat.take(start + np.maximum(after - CLEAR_STEPS, 0)) < CLEAR] = np.nan
    hits[index > last] = np.nan
    hits[sought > flat.take(start + last) + CLEAR] = np.inf
    steep = np.flatnonzero(index == 0)  # down to what is nearer than the first place: about as high as there
    first = flat.take(start[steep])
    hits[steep] = np.where(first < 0, FIRST_M * first / np.where(first < 0, sought[steep], 1.0), np.nan)
    return np.asarray(hits / seen.across)


def ground_intervals(seen: Panorama, chosen: ProfileIndices) -> tuple[ProfileIndices, Array, Array]:
    """Where rays of those numbers (c,) come near the ground, until they are surely below it.

    Parts (p,), in the order of the rays and of distance: which of the chosen, from where to where along it in m.
    """
    sought, row = seen.sought[chosen, None], seen.row[chosen]
    close = seen.tangent.take(row, axis=0) > sought - NEAR
    hidden = seen.highest.take(row, axis=0) > sought + NEAR
    parts = (close[:, 1:] | close[:, :-1]) & ~hidden[:, :-1]
    which, part = np.nonzero(parts)
    across = seen.across[chosen[which]]
    return which, seen.distance_m.take(part) / across, seen.distance_m.take(part + 1) / across


def ends_below_ground(seen: Panorama, chosen: ProfileIndices) -> NDArray[np.bool_]:
    """Which (c,) of the chosen rays (c,) surely end up below the ground."""
    return np.asarray(seen.highest[seen.row[chosen], -1] > seen.sought[chosen] + NEAR)


@dataclass(eq=False, kw_only=True)
class _MarchingRays:
    """Rays in progress in units of cells (z in m): index in the chunk, start, stop, position and level."""

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

    def subset(self, keep: NDArray[np.intp]) -> "_MarchingRays":
        return replace(self, **{field.name: getattr(self, field.name).take(keep) for field in fields(self)})


@dataclass(eq=False, kw_only=True)
class _Squares:
    """The squares that rays are in: where each is left, its highest point, and whether its parent is left too."""

    exits: Array
    peak_m: NDArray[np.float32]
    parent_left: NDArray[np.bool_]


def distances_m(relief: GroundRelief, rays: Rays, end_m: Array) -> Array:
    """Distances (n,) in m at which rays (n,) first meet the relief before end_m (n,); inf where they do not."""
    result = np.full(len(rays), np.inf)
    for part in _parts(len(rays), CHUNK):
        result[part] = _chunk_distances_m(relief, rays.part(part), end_m[part])
    return result


def _parts(count: int, size: int) -> Iterator[slice]:
    for first in range(0, count, size):
        yield slice(first, first + size)


def distances_from_point_m(relief: GroundRelief, rays: Rays, end_m: Array, *, nearest_m: float) -> Array:
    """As distances_m, for many rays (n,) that start near each other; hits nearer than nearest_m are ignored."""
    seen = panorama(relief, rays, end_m)
    result = guess_m(seen)
    early = np.flatnonzero(result < nearest_m * (1 + 2 * GUESS_ERROR))
    requested = np.flatnonzero(np.isfinite(result))
    for part in _parts(len(requested), CHUNK):
        result[requested[part]] = _settle(relief, rays.subset(requested[part]), result[requested[part]])
    doubtful = np.flatnonzero(np.isnan(result))
    for part in _parts(len(doubtful), AT_ONCE):
        result[doubtful[part]] = _search(relief, rays.subset(doubtful[part]), ground_intervals(seen, doubtful[part]))
    lost = doubtful[np.isinf(result[doubtful]) & ends_below_ground(seen, doubtful)]
    again = np.unique(np.concatenate([early, lost, np.flatnonzero(result < nearest_m)]))
    started = Rays(origins=rays.points(np.full(len(rays), nearest_m)), directions=rays.directions).subset(again)
    result[again] = nearest_m + distances_m(relief, started, end_m[again] - nearest_m)
    result[result >= end_m] = np.inf
    return result


def _search(relief: GroundRelief, rays: Rays, near: tuple[Indices, Array, Array]) -> Array:
    """Find the first crossings (n,) in the parts of rays (n,) near the ground; inf where there is none."""
    which, start, end = near
    at = start[:, None] + (end - start)[:, None] * np.linspace(0.0, 1.0, SEARCHED + 1)
    gap = np.empty(at.shape)
    for part in _parts(len(at), PARTS):
        looked = rays.subset(np.repeat(which[part], SEARCHED + 1))
        gap[part] = _gap(relief, looked, at[part].ravel()).reshape(-1, SEARCHED + 1)
    crossed = np.flatnonzero((gap <= 0).any(axis=1))
    crossed = crossed[np.flatnonzero(np.diff(which[crossed], prepend=-1))]  # the first part of each ray
    index = (gap[crossed] <= 0).argmax(axis=1)
    crossed, index = crossed[index > 0], index[index > 0]  # a ray that is below it already has to be followed
    result, ray = np.full(len(rays), np.inf), which[crossed]
    bracket = at[crossed, index - 1], at[crossed, index]
    result[ray] = _refine(relief, rays.subset(ray), bracket)
    return result


def _settle(relief: GroundRelief, rays: Rays, guess: Array) -> Array:
    """Refine the guessed crossings (n,) by Newton's method; NaN where it diverges."""
    result, left = np.full(len(guess), np.nan), np.arange(len(guess))
    at, reach = guess, GUESS_ERROR * guess
    for _ in range(STEPS):
        height, east, north = surface(relief, *rays.points(at).T[:2])
        points_z = rays.origins[:, 2] + at * rays.directions[:, 2]
        nears = rays.directions[:, 0] * east + rays.directions[:, 1] * north - rays.directions[:, 2]
        step = (points_z - height) / np.where(nears > FLATTEST, nears, np.inf)
        at = at + step
        there = (np.abs(step) < SETTLED_M) & (nears > FLATTEST)
        result[left[there]] = at[there]
        on = np.flatnonzero(~there & (nears > FLATTEST) & (np.abs(at - guess) < reach))
        if not len(on):
            break
        left, rays, at, guess, reach = left[on], rays.subset(on), at[on], guess[on], reach[on]
    return result


def _chunk_distances_m(relief: GroundRelief, rays: Rays, end_m: Array) -> Array:
    marching = _start_rays(relief, rays, end_m)
    low, high = np.full((2, len(rays)), np.inf)
    while len(marching.index):
        hit, until = _step(relief, marching)
        if len(hit):
            low[marching.index[hit]], high[marching.index[hit]] = marching.at[hit], until
            marching.at[hit] = marching.end[hit]  # parked until enough of them can be left out together
        alive = np.flatnonzero(marching.at < marching.end)
        if len(alive) < 0.8 * len(marching.index):
            marching = marching.subset(alive)
    crossed = np.flatnonzero(np.isfinite(low))
    result = np.full(len(rays), np.inf)
    result[crossed] = _refine(relief, rays.subset(crossed), (low[crossed], high[crossed]))
    return result


def _start_rays(relief: GroundRelief, rays: Rays, end_m: Array) -> _MarchingRays:
    """Start rays at the relief's highest peak, without those that never come down there."""
    scale = np.array([1 / relief.cell_m, 1 / relief.cell_m, 1.0])
    x, y, z = np.ascontiguousarray((rays.origins * scale + [0.5, 0.5, 0.0]).T)
    dx, dy, dz = np.ascontiguousarray((rays.directions * scale).T)
    dx, dy = (np.where(np.abs(d) < STRAIGHT, STRAIGHT, d) for d in (dx, dy))
    peak = float(relief.peaks_m[-1])
    above, falling = z > peak, dz < 0
    at = np.where(above & falling, (peak - z) / np.where(falling, dz, -1.0), 0.0)
    level = np.full(len(x), FIRST_LEVEL)
    started = _MarchingRays(index=np.arange(len(x)), x=x, y=y, z=z, dx=dx, dy=dy, dz=dz, at=at, end=end_m, level=level)
    return started.subset(np.flatnonzero((at < end_m) & (falling | ~above)))


def _step(relief: GroundRelief, rays: _MarchingRays) -> tuple[NDArray[np.intp], Array]:
    """Moves each ray out of its square or down a level; which rays (k,) meet the ground, and by where (k,) at last."""
    squares = _squares(relief, rays)
    exits, bottom = squares.exits, rays.level == 0
    lowest = rays.z + np.where(rays.dz < 0, exits, rays.at) * rays.dz
    above = lowest > squares.peak_m
    near = np.flatnonzero(~above & bottom & (rays.at < rays.end))
    hit = near[_dives(relief, rays.subset(near), exits[near])]
    until = exits[hit]
    passed = above | bottom
    to_peak = (squares.peak_m - rays.z) / np.where(rays.dz < 0, rays.dz, -np.inf)
    entered = rays.at
    rays.at = np.where(passed, exits, np.maximum(entered, to_peak))
    rays.at[hit] = entered[hit]
    rays.level += np.where(passed, squares.parent_left, -1)
    np.minimum(rays.level, len(relief.first_peak) - 1, out=rays.level)
    return hit, until


def _squares(relief: GroundRelief, rays: _MarchingRays) -> _Squares:
    size = np.ldexp(1.0, rays.level)
    inside = rays.at + NUDGE_M
    column = np.floor((rays.x + inside * rays.dx) / size)
    row = np.floor((rays.y + inside * rays.dy) / size)
    side = relief.cells >> rays.level
    index = (row.astype(np.int64) & side - 1) * side + (column.astype(np.int64) & side - 1)
    column += rays.dx > 0
    row += rays.dy > 0
    across, along = (column * size - rays.x) / rays.dx, (row * size - rays.y) / rays.dy
    edge = np.where(across < along, column, row)
    return _Squares(
        exits=np.minimum(np.maximum(np.minimum(across, along), inside), rays.end),
        peak_m=relief.peaks_m.take(relief.first_peak.take(rays.level) + index),
        parent_left=edge.astype(np.int64) & 1 == 0,
    )


def _dives(relief: GroundRelief, rays: _MarchingRays, exits: Array) -> NDArray[np.bool_]:
    """Which rays (k,) are below the surface where they leave their cell or half-way through it."""
    below = np.zeros(len(exits), bool)
    for at in (exits, (rays.at + exits) / 2):
        above = np.flatnonzero(~below)
        along = at[above]
        x, y = (
            (of[above] + along * per[above] - 0.5) * relief.cell_m for of, per in ((rays.x, rays.dx), (rays.y, rays.dy))
        )
        below[above] = rays.z[above] + along * rays.dz[above] <= heights_m(relief, x, y)
    return below


def _refine(relief: GroundRelief, rays: Rays, bracket: tuple[Array, Array]) -> Array:
    """Refine the crossing (n,) within a bracket by the Illinois method (false position)."""
    low, high = bracket
    gap_low, gap_high = _gap(relief, rays, low), _gap(relief, rays, high)
    high = np.where(gap_low <= 0, low, high)
    result, left = high.copy(), np.arange(len(high))
    for _ in range(REFINEMENTS):
        slope = gap_low - gap_high
        fraction = np.where((gap_high < 0) & (gap_low > 0), gap_low / np.where(slope > 0, slope, 1.0), 0.5)
        middle = low + fraction * (high - low)
        gap = _gap(relief, rays, middle)
        result[left] = middle
        outside = gap > 0
        low, gap_low = np.where(outside, middle, low), np.where(outside, gap, gap_low / 2)
        high, gap_high = np.where(outside, high, middle), np.where(outside, gap_high / 2, gap)
        open_ = np.flatnonzero(np.abs(gap) > TOLERANCE_M)
        if not len(open_):
            break
        left, rays = left[open_], rays.subset(open_)
        low, high, gap_low, gap_high = (values[open_] for values in (low, high, gap_low, gap_high))
    return np.asarray(result)


def _gap(relief: GroundRelief, rays: Rays, at: Array) -> Array:
    """How far (n,) above the surface rays are at distances (n,), in m."""
    x, y, z = rays.points(at).T
    return np.asarray(z - heights_m(relief, x, y))
