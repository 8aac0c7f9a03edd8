"""The first of the solids that each ray meets, and how its surface looks there."""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.bundles import candidates
from fieldplay_samples.world.soil import Soil
from fieldplay_samples.world.solid_rays import limb_distances, limb_normals, stone_distances, stone_normals
from fieldplay_samples.world.solids import Limbs, Solids, Stones

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Columns = TypeVar("Columns", Stones, Limbs)
WHITE = 0.7


@dataclass(frozen=True, eq=False, kw_only=True)
class Met:
    """Rays (m,) that meet a solid: their numbers, how far off in m, the solid's number, its plane (-1: round)."""

    ray: Indices
    distance_m: Array
    solid: Indices
    side: Indices


def first_met(solids: Solids, rays: tuple[Array, Array], keys: NDArray[np.int64], end_m: Array) -> Met:
    """Those rays, origins and directions (n, 3), that meet a solid nearer than end_m (n,); keys (n,) bundle them."""
    farthest = float(np.max(end_m, initial=0.0))
    ray, solid = candidates(rays, keys, solids.bounds(), farthest)
    stones = len(solids.stones.centre)
    is_stone = solid < stones
    parts = [
        _stones_met(solids.stones, rays, ray[is_stone], solid[is_stone]),
        _limbs_met(solids.limbs, rays, ray[~is_stone], solid[~is_stone] - stones),
    ]
    ray, solid = np.concatenate([ray[is_stone], ray[~is_stone]]), np.concatenate([solid[is_stone], solid[~is_stone]])
    distance, side = (np.concatenate(column) for column in zip(*parts, strict=True))
    seen = np.flatnonzero(distance < end_m[ray])
    order = seen[np.lexsort((distance[seen], ray[seen]))]
    first = order[np.flatnonzero(np.diff(ray[order], prepend=-1))]
    return Met(ray=ray[first], distance_m=distance[first], solid=solid[first], side=side[first])


def _stones_met(stones: Stones, rays: tuple[Array, Array], ray: Indices, stone: Indices) -> tuple[Array, Indices]:
    return stone_distances(rows_of(stones, stone), rays[0].take(ray, axis=0), rays[1].take(ray, axis=0))


def _limbs_met(limbs: Limbs, rays: tuple[Array, Array], ray: Indices, limb: Indices) -> tuple[Array, Indices]:
    distance = limb_distances(rows_of(limbs, limb), rays[0].take(ray, axis=0), rays[1].take(ray, axis=0))
    return distance, np.full(len(distance), -1)


def rows_of(table: Columns, rows: Indices) -> Columns:
    """The rows (m,) of a table of stones or limbs."""
    return type(table)(**{field.name: getattr(table, field.name).take(rows, axis=0) for field in fields(table)})


def looks(solids: Solids, met: Met, points: Array, soil: Soil, footprint_m: Array) -> tuple[Array, Array]:
    """Normals and albedos (m, 3) where solids are met, at points (m, 3), patterned as the soil is."""
    normal, albedo = np.empty_like(points), np.empty_like(points)
    stones = len(solids.stones.centre)
    for of_kind, look in ((met.solid < stones, _stone_looks), (met.solid >= stones, _limb_looks)):
        rows = np.flatnonzero(of_kind)
        normal[rows], albedo[rows] = look(solids, met, rows, points[rows], (soil, footprint_m[rows]))
    return normal, albedo


def _stone_looks(
    solids: Solids, met: Met, rows: Indices, points: Array, pattern: tuple[Soil, Array]
) -> tuple[Array, Array]:
    stones = rows_of(solids.stones, met.solid[rows])
    normal = stone_normals(stones, points, met.side[rows])
    soil, footprint = pattern
    local = points - stones.centre
    facing = np.abs(normal).argmax(axis=1)
    first, second = (local[np.arange(len(local)), (facing + step) % 3] for step in (1, 2))
    shift = 7.3 * met.solid[rows]
    grain = soil.pattern(first + shift, second - shift, footprint)
    return normal, np.minimum(stones.albedo * np.exp(stones.grain * grain)[:, None], 1.0)


def _limb_looks(
    solids: Solids, met: Met, rows: Indices, points: Array, pattern: tuple[Soil, Array]
) -> tuple[Array, Array]:
    limbs = rows_of(solids.limbs, met.solid[rows] - len(solids.stones.centre))
    normal, along = limb_normals(limbs, points)
    banded = limbs.band_m > 0
    white = banded & (np.floor(along / np.where(banded, limbs.band_m, 1.0)) % 2 == 1)
    return normal, np.where(white[:, None], WHITE, limbs.albedo)
