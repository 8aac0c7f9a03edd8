"""Where rays from about one place should meet the ground: by its profiles, one for all rays that go the same way.

A profile is how high the ground rises as seen from the place, further and further out. The highest rise until then
hides what is behind: a ray that falls below it has met the ground.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.relief import GroundRelief

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.intp]
WAY_RAD = 0.004  # of azimuth: rays that differ by less share a profile
FIRST_M, GROWTH = 0.2, 1.01  # the nearest place of a profile, and how much further off the next one is each time
CLEAR = 0.001  # the tangent by which a ray must pass all before, so as not to need a closer look
NEAR = 0.0015  # by which it is so near as to need one
CLEAR_STEPS = 2  # before the place where it meets the ground
STEEPEST = 30.0
ROW = 4 * STEEPEST  # apart in a list of all profiles, each of which rises


@dataclass(frozen=True, eq=False, kw_only=True)
class Panorama:
    """Distances (m,) in m over the ground, tangents (k, m) under which it is seen there, and the highest until there.

    Rays (n,) have the profile of that row (n,) and a tangent (n,) themselves; `across` (n,) is how far they go over the
    ground in 1 m.
    """

    distance_m: Array
    tangent: Single
    highest: Single
    row: Indices
    sought: Array
    across: Array


def panorama(relief: GroundRelief, rays: Rays, end_m: Array) -> Panorama:
    """The profiles that rays (n,) need which go up to end_m (n,)."""
    across = np.maximum(np.hypot(rays.directions[:, 0], rays.directions[:, 1]), 1e-9)
    number = np.floor(np.arctan2(rays.directions[:, 1], rays.directions[:, 0]) / WAY_RAD).astype(np.int64)
    first = number.min()
    taken = np.bincount(number - first)
    ways = np.flatnonzero(taken)
    row = (np.cumsum(taken > 0) - 1)[number - first]
    places = np.stack([np.bincount(row, weights=values) for values in rays.origins.T]) / taken[ways]
    distance, tangent = _profiles(relief, places, WAY_RAD * (ways + first + 0.5), farthest_m=float(end_m.max()))
    return Panorama(
        distance_m=distance,
        tangent=tangent,
        highest=np.maximum.accumulate(tangent, axis=1),
        row=row,
        sought=np.clip(rays.directions[:, 2] / across, -STEEPEST, STEEPEST),
        across=across,
    )


def _profiles(relief: GroundRelief, places: Array, azimuth: Array, *, farthest_m: float) -> tuple[Array, Single]:
    """Distances (m,) and tangents (k, m) of the profiles from places (3, k) towards azimuths (k,)."""
    count = int(np.ceil(np.log(max(farthest_m / FIRST_M, 2.0)) / np.log(GROWTH))) + 1
    distance = FIRST_M * GROWTH ** np.arange(count)
    begin = np.mod(places[:2] / relief.cell_m, relief.cells).astype(np.float32)
    steps = (distance / relief.cell_m).astype(np.float32)
    x, y = (
        start[:, None] + turn.astype(np.float32)[:, None] * steps
        for start, turn in zip(begin, (np.cos(azimuth), np.sin(azimuth)), strict=True)
    )
    height = cv2.remap(relief.nodes_m, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    tangent = (height - places[2].astype(np.float32)[:, None]) / distance.astype(np.float32)
    return np.asarray(distance, np.float64), np.asarray(np.clip(tangent, -STEEPEST, STEEPEST), np.float32)


def guessed_m(seen: Panorama) -> Array:
    """About where (n,) the rays meet the ground, in m along them; inf where they surely do not, NaN if in doubt."""
    flat, last = seen.highest.ravel(), len(seen.distance_m) - 1
    begin, sought = seen.row * (last + 1), seen.sought
    listed = seen.highest + ROW * np.arange(len(seen.highest))[:, None]
    place = np.searchsorted(listed.ravel(), sought + ROW * seen.row) - begin
    after = np.clip(place, 1, last)
    low, high = flat.take(begin + after - 1), flat.take(begin + after)
    share = (sought - low) / np.maximum(high - low, 1e-12)
    met = seen.distance_m.take(after - 1) + share * np.diff(seen.distance_m).take(after - 1)
    met[sought - flat.take(begin + np.maximum(after - CLEAR_STEPS, 0)) < CLEAR] = np.nan
    met[place > last] = np.nan
    met[sought > flat.take(begin + last) + CLEAR] = np.inf
    steep = np.flatnonzero(place == 0)  # down to what is nearer than the first place: about as high as there
    first = flat.take(begin[steep])
    met[steep] = np.where(first < 0, FIRST_M * first / np.where(first < 0, sought[steep], 1.0), np.nan)
    return np.asarray(met / seen.across)


def near_m(seen: Panorama, chosen: Indices) -> tuple[Indices, Array, Array]:
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


def goes_under(seen: Panorama, chosen: Indices) -> NDArray[np.bool_]:
    """Which (c,) of the chosen rays (c,) surely end up below the ground."""
    return np.asarray(seen.highest[seen.row[chosen], -1] > seen.sought[chosen] + NEAR)
