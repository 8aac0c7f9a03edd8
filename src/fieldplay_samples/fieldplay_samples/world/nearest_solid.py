"""The first of the solids that each ray meets, and how its surface looks there."""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.bundles import candidates
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.soil import Soil
from fieldplay_samples.world.solid_rays import limb_distances, limb_normals, stone_distances, stone_normals
from fieldplay_samples.world.solids import Limbs, Solids, Stones

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Columns = TypeVar("Columns", Stones, Limbs)
WHITE = 0.7
OTHER_PLACE_M = 7.3  # how far apart on the soil's picture two stones take their patterns from


@dataclass(frozen=True, eq=False, kw_only=True)
class Met:
    """Rays (m,) that meet a solid: their numbers, how far off in m, the solid's number, its plane (-1: round)."""

    ray: Indices
    distance_m: Array
    solid: Indices
    side: Indices


def first_met(solids: Solids, rays: Rays, keys: NDArray[np.int64], *, end_m: Array) -> Met:
    """Those rays that meet a solid nearer than end_m (n,); keys (n,) bundle them."""
    *spheres, owner = solids.covers()
    ray, cover = candidates(rays, keys, (spheres[0], spheres[1]), end_m)
    solid = owner[cover]
    stones = len(solids.stones.centre)
    is_stone = solid < stones
    ray, solid = np.concatenate([ray[is_stone], ray[~is_stone]]), np.concatenate([solid[is_stone], solid[~is_stone]])
    first_limb = int(is_stone.sum())
    tried = rays.taken(ray)
    on_stones, side = stone_distances(rows_of(solids.stones, solid[:first_limb]), tried.taken(np.arange(first_limb)))
    others = np.arange(first_limb, len(ray))
    on_limbs = limb_distances(rows_of(solids.limbs, solid[first_limb:] - stones), tried.taken(others))
    distance = np.concatenate([on_stones, on_limbs])
    side = np.concatenate([side, np.full(len(others), -1)])
    seen = np.flatnonzero(distance < end_m[ray])
    order = seen[np.lexsort((distance[seen], ray[seen]))]
    first = order[np.flatnonzero(np.diff(ray[order], prepend=-1))]
    return Met(ray=ray[first], distance_m=distance[first], solid=solid[first], side=side[first])


def rows_of(table: Columns, rows: Indices) -> Columns:
    """The rows (m,) of a table of stones or limbs."""
    return type(table)(**{field.name: getattr(table, field.name).take(rows, axis=0) for field in fields(table)})


def looks(solids: Solids, met: Met, points: Array, *, soil: Soil, footprint_m: Array) -> tuple[Array, Array]:
    """Normals and albedos (m, 3) where solids are met, at points (m, 3), stones patterned as the soil is."""
    normal, albedo = np.empty_like(points), np.empty_like(points)
    of_stone = met.solid < len(solids.stones.centre)
    rows, others = np.flatnonzero(of_stone), np.flatnonzero(~of_stone)
    stones = rows_of(solids.stones, met.solid[rows])
    normal[rows] = stone_normals(stones, points[rows], met.side[rows])
    u, v = _flattened(points[rows] - stones.centre, normal[rows])
    shift = OTHER_PLACE_M * met.solid[rows]
    grain = stones.grain * soil.pattern(u + shift, v - shift, footprint_m[rows])
    albedo[rows] = np.minimum(stones.albedo * np.exp(grain)[:, None], 1.0)
    limbs = rows_of(solids.limbs, met.solid[others] - len(solids.stones.centre))
    normal[others], along = limb_normals(limbs, points[others])
    albedo[others] = np.where(_in_white_band(limbs, along)[:, None], WHITE, limbs.albedo)
    return normal, albedo


def _flattened(points: Array, normal: Array) -> tuple[Array, Array]:
    """The two coordinates (m,) of points (m, 3) that lie most across the normals (m, 3)."""
    facing = np.abs(normal).argmax(axis=1)
    rows = np.arange(len(points))
    return points[rows, (facing + 1) % 3], points[rows, (facing + 2) % 3]


def _in_white_band(limbs: Limbs, along: Array) -> NDArray[np.bool_]:
    banded = limbs.band_m > 0
    return np.asarray(banded & (np.floor(along / np.where(banded, limbs.band_m, 1.0)) % 2 == 1))
