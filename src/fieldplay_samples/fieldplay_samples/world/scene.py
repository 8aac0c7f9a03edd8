"""Scenes: ground with solids on it, what rays meet there, and one ready to drive in, deterministic by seed."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.world import ground_rays
from fieldplay_samples.world.layers import Soil
from fieldplay_samples.world.rays import Rays, candidates, keys_by_direction, keys_by_position
from fieldplay_samples.world.solids import PLANES, Limbs, Solids, Stones, merge_solids, pole, stone
from fieldplay_samples.world.terrain import Terrain, relief_of, terrain_named

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Columns = TypeVar("Columns", Stones, Limbs)
WHITE = 0.7
SHIFT_M = 7.3  # how far apart on the soil's picture two stones take their patterns from
KeepOut = ArrayLike | Callable[[Array, Array], NDArray[np.bool_]] | None
GROUND = -1
MANY, ONE_PLACE_M = 2000, 2.0  # rays that begin so near each other see the ground alike
FLATTEST = 0.03  # the sine of the flattest angle under which a footprint is still thought to grow
SHADOW_BEGINS_M, SHADOW_ENDS_M = 0.005, 100.0
SMALLEST_ROCK_M, LARGEST_ROCK_M = 0.1, 1.2
SMALLEST_OUTCROP_M, LARGEST_OUTCROP_M = 4.0, 9.0
OUTCROP_CLEARANCE_M = 3.0
LARGEST_BOULDER_M = 3.0


# Where rays meet solids from outside. A ray that begins inside a solid does not see it: a lidar has a housing.


def stone_distances(stones: Stones, rays: Rays) -> tuple[Array, NDArray[np.intp]]:
    """Distances (p,) at which rays (p,) enter the stones (p,), inf for none; by which plane, -1 for the ellipsoid.

    Row p of the rays is tried against row p of the stones.
    """
    start = np.einsum("pji,pj->pi", stones.world_R_stone, rays.origins - stones.centre)
    course = np.einsum("pji,pj->pi", stones.world_R_stone, rays.directions)
    enters, exits = _ellipsoid_span(start / stones.radii_m, course / stones.radii_m)
    height = stones.planes[:, :, 3] - np.einsum("pkc,pc->pk", stones.planes[:, :, :3], start)
    rate = np.einsum("pkc,pc->pk", stones.planes[:, :, :3], course)
    rate = np.where(np.abs(rate) < 1e-12, 1e-12, rate)
    crossing = height / rate
    cuts = np.where(rate < 0, crossing, -np.inf)
    plane = cuts.argmax(axis=1)
    cut = cuts.max(axis=1)
    exits = np.minimum(exits, np.where(rate > 0, crossing, np.inf).min(axis=1))
    side = np.where(cut > enters, plane, -1)
    at = np.maximum(enters, cut)
    return np.where((at < exits) & (at > 0), at, np.inf), side


def _ellipsoid_span(start: Array, course: Array) -> tuple[Array, Array]:
    """Where rays enter and leave the unit sphere (p,); inf and -inf where they miss it."""
    square = np.einsum("pc,pc->p", course, course)
    half = np.einsum("pc,pc->p", start, course)
    inside = half * half - square * (np.einsum("pc,pc->p", start, start) - 1)
    root = np.sqrt(np.maximum(inside, 0.0))
    return np.where(inside > 0, (-half - root) / square, np.inf), np.where(inside > 0, (-half + root) / square, -np.inf)


def stone_normals(stones: Stones, points: Array, side: NDArray[np.intp]) -> Array:
    """Outward normals (p, 3) of the stones at points (p, 3) on their planes `side` (p,), or -1 on the ellipsoid."""
    local = np.einsum("pji,pj->pi", stones.world_R_stone, points - stones.centre)
    round_ = local / np.square(stones.radii_m)
    round_ /= np.maximum(np.linalg.norm(round_, axis=1, keepdims=True), 1e-12)
    flat = stones.planes[np.arange(len(side)), np.maximum(side, 0), :3]
    return np.asarray(np.einsum("pij,pj->pi", stones.world_R_stone, np.where(side[:, None] >= 0, flat, round_)))


def limb_distances(limbs: Limbs, rays: Rays) -> Array:
    """Distances (p,) at which rays (p,) enter the limbs (p,), inf for none; row p against row p."""
    axis = limbs.end - limbs.start
    length = np.linalg.norm(axis, axis=1)
    axis = axis / np.maximum(length, 1e-12)[:, None]
    start, directions = rays.origins - limbs.start, rays.directions
    along, rate = np.einsum("pc,pc->p", start, axis), np.einsum("pc,pc->p", directions, axis)
    aside, turn = start - along[:, None] * axis, directions - rate[:, None] * axis
    side = _entry(aside, turn, limbs.radius_m)
    meets = along + np.where(np.isfinite(side), side, 0.0) * rate
    side = np.where((meets > 0) & (meets < length), side, np.inf)
    first = _entry(start, directions, limbs.radius_m)
    last = _entry(rays.origins - limbs.end, directions, limbs.radius_m)
    at = np.minimum(side, np.minimum(first, last))
    nearest = np.clip(along, 0.0, length)
    inside = np.square(start - nearest[:, None] * axis).sum(axis=1) < np.square(limbs.radius_m)
    return np.where(inside, np.inf, at)


def _entry(start: Array, course: Array, radius_m: Array) -> Array:
    """Where (p,) rays come from outside within radius_m of the origin of their space; inf if behind or never."""
    square = np.maximum(np.einsum("pc,pc->p", course, course), 1e-18)
    half = np.einsum("pc,pc->p", start, course)
    inside = half * half - square * (np.einsum("pc,pc->p", start, start) - radius_m * radius_m)
    at = (-half - np.sqrt(np.maximum(inside, 0.0))) / square
    return np.where((inside > 0) & (at > 0), at, np.inf)


def limb_normals(limbs: Limbs, points: Array) -> tuple[Array, Array]:
    """Outward normals (p, 3) of the limbs at points (p, 3), and how far along (p,) in m these are from the begin."""
    axis = limbs.end - limbs.start
    length = np.linalg.norm(axis, axis=1)
    axis = axis / np.maximum(length, 1e-12)[:, None]
    along = np.clip(np.einsum("pc,pc->p", points - limbs.start, axis), 0.0, length)
    normal = points - limbs.start - along[:, None] * axis
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12), along


# The first of the solids that each ray meets, and how its surface looks there.


@dataclass(frozen=True, eq=False, kw_only=True)
class SolidHits:
    """Rays (m,) that meet a solid: their numbers, how far off in m, the solid's number, its plane (-1: round)."""

    ray: Indices
    distance_m: Array
    solid: Indices
    side: Indices


def first_hits(solids: Solids, rays: Rays, keys: NDArray[np.int64], *, end_m: Array) -> SolidHits:
    """Those rays that meet a solid nearer than end_m (n,); keys (n,) bundle them."""
    *spheres, owner = solids.covers()
    ray, cover = candidates(rays, keys, (spheres[0], spheres[1]), end_m)
    solid = owner[cover]
    stones = len(solids.stones.centre)
    is_stone = solid < stones
    ray, solid = np.concatenate([ray[is_stone], ray[~is_stone]]), np.concatenate([solid[is_stone], solid[~is_stone]])
    first_limb = int(is_stone.sum())
    tried = rays.subset(ray)
    on_stones, side = stone_distances(rows_of(solids.stones, solid[:first_limb]), tried.subset(np.arange(first_limb)))
    others = np.arange(first_limb, len(ray))
    on_limbs = limb_distances(rows_of(solids.limbs, solid[first_limb:] - stones), tried.subset(others))
    distance = np.concatenate([on_stones, on_limbs])
    side = np.concatenate([side, np.full(len(others), -1)])
    seen = np.flatnonzero(distance < end_m[ray])
    order = seen[np.lexsort((distance[seen], ray[seen]))]
    first = order[np.flatnonzero(np.diff(ray[order], prepend=-1))]
    return SolidHits(ray=ray[first], distance_m=distance[first], solid=solid[first], side=side[first])


def rows_of(table: Columns, rows: Indices) -> Columns:
    """The rows (m,) of a table of stones or limbs."""
    return type(table)(**{field.name: getattr(table, field.name).take(rows, axis=0) for field in fields(table)})


def appearance(
    solids: Solids, hits: SolidHits, points: Array, *, soil: Soil, footprint_m: Array
) -> tuple[Array, Array]:
    """Normals and albedos (m, 3) where solids are met, at points (m, 3), stones patterned as the soil is."""
    normal, albedo = np.empty_like(points), np.empty_like(points)
    of_stone = hits.solid < len(solids.stones.centre)
    rows, others = np.flatnonzero(of_stone), np.flatnonzero(~of_stone)
    stones = rows_of(solids.stones, hits.solid[rows])
    normal[rows] = stone_normals(stones, points[rows], hits.side[rows])
    u, v = _flatten(points[rows] - stones.centre, normal[rows])
    shift = SHIFT_M * hits.solid[rows]
    grain = stones.grain * soil.pattern(u + shift, v - shift, footprint_m[rows])
    albedo[rows] = np.minimum(stones.albedo * np.exp(grain)[:, None], 1.0)
    limbs = rows_of(solids.limbs, hits.solid[others] - len(solids.stones.centre))
    normal[others], along = limb_normals(limbs, points[others])
    albedo[others] = np.where(_in_white_band(limbs, along)[:, None], WHITE, limbs.albedo)
    return normal, albedo


def _flatten(points: Array, normal: Array) -> tuple[Array, Array]:
    """Project points (m, 3) to the two coordinates (m,) most across the normals (m, 3)."""
    facing = np.abs(normal).argmax(axis=1)
    rows = np.arange(len(points))
    return points[rows, (facing + 1) % 3], points[rows, (facing + 2) % 3]


def _in_white_band(limbs: Limbs, along: Array) -> NDArray[np.bool_]:
    banded = limbs.band_m > 0
    return np.asarray(banded & (np.floor(along / np.where(banded, limbs.band_m, 1.0)) % 2 == 1))


# Rocks and poles, scattered over the ground and off the way of the robot.


def clear_of(keep_out: KeepOut, clearance_m: float) -> Callable[[Array, Array], NDArray[np.bool_]]:
    """Whether something of radius 0 may stand at x, y (n,): not within clearance_m of a polyline (p, 2).

    A callable of x, y says itself where nothing may stand.
    """
    if keep_out is None:
        return lambda x, y: np.ones(len(x), bool)
    if callable(keep_out):
        return lambda x, y: ~keep_out(x, y)
    corners = np.atleast_2d(np.asarray(keep_out, float))
    return lambda x, y: _distance_to_line(corners, np.c_[x, y]) > clearance_m


def _distance_to_line(corners: Array, points: Array) -> Array:
    """Distances (n,) of points (n, 2) from a line of corners (p, 2)."""
    starts, stops = (corners[:1], corners[:1]) if len(corners) == 1 else (corners[:-1], corners[1:])
    sides = stops - starts
    towards = points[:, None] - starts[None]
    square = np.maximum(np.einsum("sc,sc->s", sides, sides), 1e-12)
    fraction = np.clip(np.einsum("nsc,sc->ns", towards, sides) / square, 0.0, 1.0)
    nearest: Array = np.linalg.norm(towards - fraction[..., None] * sides, axis=2).min(axis=1)
    return nearest


def scatter(
    rng: np.random.Generator,
    sizes_m: Array,
    *,
    centre: ArrayLike,
    radius_m: float,
    keep_out: KeepOut,
    clearance_m: float,
) -> tuple[Array, Array]:
    """Scatter things (n,) within radius_m of the centre; return positions (m, 2) and sizes (m,) off the keep-out."""
    distance, angle = radius_m * np.sqrt(rng.uniform(size=len(sizes_m))), rng.uniform(0, 2 * np.pi, len(sizes_m))
    x, y = np.asarray(centre, float)[:, None] + distance * np.stack([np.cos(angle), np.sin(angle)])
    ring = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    clear = clear_of(keep_out, clearance_m)
    free = clear(x, y)
    for turn in ring:
        free &= clear(x + sizes_m / 2 * np.cos(turn), y + sizes_m / 2 * np.sin(turn))
    return np.stack([x, y], axis=1)[free], sizes_m[free]


def rocks(terrain: Terrain, rng: np.random.Generator, positions_m: Array, *, sizes_m: Array) -> Solids:
    """A rock of about sizes (n,) at each of places (n, 2), sunk in a little."""
    heights = terrain.height_m(positions_m[:, 0], positions_m[:, 1])
    return merge_solids(
        _rock(rng, (float(x), float(y), float(z)), float(size))
        for (x, y), z, size in zip(positions_m, heights, sizes_m, strict=True)
    )


def _rock(rng: np.random.Generator, foot: tuple[float, float, float], size_m: float) -> Solids:
    radii = size_m / 2 * np.array([1.0, rng.uniform(0.65, 0.95), rng.uniform(0.5, 0.85)])
    normals = rng.standard_normal((PLANES, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    reach = np.linalg.norm(normals * radii, axis=1)
    planes = np.c_[normals, reach * rng.uniform(0.55, 0.95, PLANES)]
    turn = Rotation.from_euler("zx", [rng.uniform(0, 2 * np.pi), rng.normal(0, 0.25)]).as_matrix()
    tone = np.array([0.15, 0.135, 0.125]) * rng.lognormal(0.0, 0.35)
    rust = np.array([1.25, 0.95, 0.8]) if rng.uniform() < 0.25 else np.ones(3)
    centre = (foot[0], foot[1], foot[2] + rng.uniform(0.1, 0.6) * radii[2])
    return stone(centre, radii, world_R_stone=turn, planes=planes, albedo=np.minimum(tone * rust, 0.6))


def poles(terrain: Terrain, rng: np.random.Generator, positions_m: Array) -> Solids:
    """A survey pole 2 to 4 m high at each of places (n, 2)."""
    heights = terrain.height_m(positions_m[:, 0], positions_m[:, 1])
    return merge_solids(pole((x, y, z), rng.uniform(2.0, 4.0)) for (x, y), z in zip(positions_m, heights, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Hits:
    """What rays (n,) meet: how far off in m (inf: nothing), the surface's unit normal and albedo (n, 3).

    `solid` (n,) is the number of the solid, -1 for the ground or nothing. Where nothing is met, the rest is 0.
    """

    distance_m: Array
    normal: Array
    albedo: Array
    solid: Indices


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """The ground and the solids on and above it, in ENU metres."""

    terrain: Terrain
    solids: Solids

    def with_solids(self, *parts: Solids) -> "Scene":
        """The same scene with more solids: what moves, as it stands at one moment. Solids are numbered anew."""
        return replace(self, solids=merge_solids([self.solids, *parts]))

    def cast(
        self,
        origins: Array,
        directions: Array,
        *,
        nearest_m: float = 0.0,
        farthest_m: float = 100.0,
        spread_rad: float = 0.0,
    ) -> Hits:
        """What rays from origins (n, 3) along unit directions (n, 3) meet first, between nearest_m and farthest_m.

        A ray is spread_rad wide: patterns finer than that are averaged in the albedo. Many rays from about one place
        take less time each.
        """
        rays = Rays(origins=origins + nearest_m * directions if nearest_m else origins, directions=directions)
        end = np.full(len(rays), farthest_m - nearest_m)
        if len(rays) >= MANY and np.ptp(origins, axis=0).max() < ONE_PLACE_M:
            distance = self._ground_from_point(Rays(origins=origins, directions=directions), nearest_m, farthest_m)
        else:
            distance = ground_rays.distances_m(relief_of(self.terrain), self._level(rays), end)
        hits = first_hits(self.solids, rays, keys_by_direction(directions), end_m=np.minimum(distance, end))
        distance[hits.ray] = hits.distance_m
        return self._visible(rays, distance, hits, nearest_m=nearest_m, spread_rad=spread_rad)

    def in_shadow(self, points: Array, towards_sun: Array, keys: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Which of points (n, 3) have a solid between themselves and the sun (3,); hills throw no shadow.

        Points of one key (n,) are near each other.
        """
        directions = np.broadcast_to(towards_sun, points.shape)
        rays = Rays(origins=points + SHADOW_BEGINS_M * directions, directions=directions)
        keys = keys_by_position(rays.origins, towards_sun) if keys is None else keys
        dark = np.zeros(len(rays), bool)
        dark[first_hits(self.solids, rays, keys, end_m=np.full(len(rays), SHADOW_ENDS_M)).ray] = True
        return dark

    def _ground_from_point(self, rays: Rays, nearest_m: float, farthest_m: float) -> Array:
        """Distances (n,) beyond nearest_m at which rays (n,) from about one point hit the ground."""
        end = np.full(len(rays), farthest_m)
        levelled, relief = self._level(rays), relief_of(self.terrain)
        return ground_rays.distances_from_point_m(relief, levelled, end, nearest_m=nearest_m) - nearest_m

    def _level(self, rays: Rays) -> Rays:
        """Remove the overall slope of the ground from rays: lines stay straight, distances are kept."""
        slope = np.array([*self.terrain.slope, 0.0])
        origins, directions = np.array(rays.origins), np.array(rays.directions)
        origins[:, 2] -= origins @ slope
        directions[:, 2] -= directions @ slope
        return Rays(origins=origins, directions=directions)

    def _visible(self, rays: Rays, distance: Array, hits: SolidHits, *, nearest_m: float, spread_rad: float) -> Hits:
        solid = np.full(len(distance), GROUND)
        solid[hits.ray] = hits.solid
        normal, albedo = np.zeros(rays.origins.shape), np.zeros(rays.origins.shape)
        ground = np.flatnonzero(np.isfinite(distance) & (solid == GROUND))
        x, y, _ = rays.subset(ground).points(distance[ground]).T
        normal[ground] = self.terrain.normal(x, y)
        sine = np.einsum("nc,nc->n", normal[ground], rays.directions[ground])
        steep = np.maximum(np.abs(sine), FLATTEST)
        stretched = spread_rad / np.sqrt(steep * np.sqrt(steep))  # between its width and, with a power of 1, its length
        albedo[ground] = self.terrain.colour(x, y, stretched * (distance[ground] + nearest_m))
        points = rays.subset(hits.ray).points(hits.distance_m)
        footprint = spread_rad * (hits.distance_m + nearest_m)
        looked = appearance(self.solids, hits, points, soil=self.terrain.soil, footprint_m=footprint)
        normal[hits.ray], albedo[hits.ray] = looked
        return Hits(distance_m=distance + nearest_m, normal=normal, albedo=albedo, solid=solid)


def make_scene(
    seed: int,
    *,
    terrain: Terrain | None = None,
    keep_out: KeepOut = None,
    clearance_m: float = 1.2,
    centre: ArrayLike = (0.0, 0.0),
    radius_m: float = 40.0,
    rock_count: int = 700,
    boulder_count: int = 24,
    pole_count: int = 9,
) -> Scene:
    """A volcano's slope, or another ground, with rocks, boulders and poles within radius_m of the centre (2,).

    Rocks have 0.1 to 1.2 m, boulders up to 3 m. Nothing stands within clearance_m of keep_out, a polyline (p, 2), or
    where keep_out(x, y) is true; what would, is left out.
    """
    ground = terrain_named("volcano", seed=seed) if terrain is None else terrain
    rng = np.random.default_rng([seed, 3])
    sizes = np.concatenate(
        [_rock_sizes(rng, rock_count), rng.uniform(LARGEST_ROCK_M, LARGEST_BOULDER_M, boulder_count)]
    )
    where, sizes = scatter(rng, sizes, centre=centre, radius_m=radius_m, keep_out=keep_out, clearance_m=clearance_m)
    radii = np.full(pole_count, 0.1)
    feet, _ = scatter(rng, radii, centre=centre, radius_m=radius_m, keep_out=keep_out, clearance_m=clearance_m)
    return Scene(
        terrain=ground, solids=merge_solids([rocks(ground, rng, where, sizes_m=sizes), poles(ground, rng, feet)])
    )


def _rock_sizes(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Sizes (n,) in m, small ones more often."""
    octaves: NDArray[np.float64] = np.log(LARGEST_ROCK_M / SMALLEST_ROCK_M) * rng.beta(1.2, 2.0, count)
    return SMALLEST_ROCK_M * np.exp(octaves)
