"""Scenes: ground with solids on it, what rays meet there, and one ready to drive in, deterministic by seed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.world.ground_rays import first_hits_about, on_surface
from fieldplay_samples.world.rays import MeshHits, Rays
from fieldplay_samples.world.solids import Solids, merge_solids, pole, stone
from fieldplay_samples.world.terrain import Terrain, terrain_named

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.intp]
PLANES = 12  # of a rock
SHIFT_M = 7.3  # how far apart on the soil's image two stones take their patterns from
KeepOut = ArrayLike | Callable[[Array, Array], NDArray[np.bool_]] | None
GROUND = -1
FLATTEST = 0.03  # the sine of the flattest angle under which a footprint is still thought to grow
SHADOW_BEGINS_M, SHADOW_ENDS_M = 0.005, 100.0
SMALLEST_ROCK_M, LARGEST_ROCK_M = 0.1, 1.2
LARGEST_BOULDER_M = 3.0


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
    albedo: Single
    solid: Indices


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """The ground, solids that stand on it, and further ones as they are at one moment, in ENU metres."""

    terrain: Terrain
    solids: Solids
    moving: Solids = field(default_factory=lambda: merge_solids([]))

    def with_solids(self, *parts: Solids) -> "Scene":
        """The same scene with more solids, numbered after those that are there: what moves, as it is at one moment."""
        return replace(self, moving=merge_solids([self.moving, *parts]))

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

        A ray is spread_rad wide: patterns finer than that are averaged in the albedo.
        """
        rays = Rays(origins=origins + nearest_m * directions if nearest_m else origins, directions=directions)
        hits = self._meet(rays, farthest_m - nearest_m)
        self._colour(hits, rays, spread_rad=spread_rad, nearest_m=nearest_m)
        hits.distance_m[:] += nearest_m
        return hits

    def distances_m(
        self, origins: Array, directions: Array, *, nearest_m: float = 0.0, farthest_m: float = 100.0
    ) -> Array:
        """How far off (n,) what is met is, as `cast` has it, without its looks."""
        rays = Rays(origins=origins + nearest_m * directions if nearest_m else origins, directions=directions)
        return self._meet(rays, farthest_m - nearest_m).distance_m + nearest_m

    def in_shadow(self, points: Array, towards_sun: Array) -> NDArray[np.bool_]:
        """Which of points (n, 3) have a solid between themselves and the sun (3,); hills throw no shadow."""
        directions = np.broadcast_to(towards_sun, points.shape)
        rays = Rays(origins=points + SHADOW_BEGINS_M * directions, directions=directions)
        return self.solids.mesh.occludes(rays, SHADOW_ENDS_M) | self.moving.mesh.occludes(rays, SHADOW_ENDS_M)

    def _meet(self, rays: Rays, end_m: float) -> Hits:
        """What rays meet first, without its albedo; distances are from the rays' origins."""
        count = len(rays)
        hits = Hits(
            distance_m=np.full(count, np.inf),
            normal=np.zeros((count, 3)),
            albedo=np.zeros((count, 3), np.float32),
            solid=np.full(count, GROUND),
        )
        met = first_hits_about(self.terrain, self.solids, rays, end_m)
        of_solid = met.triangle < len(self.solids.triangles)
        ground = met.subset(np.flatnonzero(~of_solid))
        hits.distance_m[ground.ray], hits.normal[ground.ray] = on_surface(self.terrain, rays.subset(ground.ray), ground)
        self._note(hits, self.solids, met.subset(np.flatnonzero(of_solid)), first=0)
        if len(self.moving):
            end = np.minimum(hits.distance_m, end_m)
            self._note(hits, self.moving, self.moving.mesh.first_hits(rays, end), first=len(self.solids))
        return hits

    def _note(self, hits: Hits, solids: Solids, met: MeshHits, *, first: int) -> None:
        """Enter hits of solids, whose numbers count from `first` on."""
        corners = solids.triangles[met.triangle]
        weights = np.stack([1.0 - met.u - met.v, met.u, met.v], axis=1)
        normal = np.einsum("mk,mkc->mc", weights, solids.normals[corners])
        hits.distance_m[met.ray] = met.distance_m
        hits.solid[met.ray] = first + solids.owner[corners[:, 0]]
        hits.normal[met.ray] = normal / np.linalg.norm(normal, axis=1, keepdims=True)

    def _colour(self, hits: Hits, rays: Rays, *, spread_rad: float, nearest_m: float) -> None:
        """Fill in the albedo of what is met."""
        met = np.isfinite(hits.distance_m)
        ground = np.flatnonzero(met & (hits.solid == GROUND))
        distance, normal, seen = hits.distance_m[ground], hits.normal[ground], rays.subset(ground)
        x, y, _ = seen.points(distance).T
        steep = np.maximum(np.abs(np.einsum("nc,nc->n", normal, seen.directions)), FLATTEST)
        stretched = spread_rad / np.sqrt(steep * np.sqrt(steep))  # between its width and, with a power of 1, its length
        hits.albedo[ground] = self.terrain.colour(x, y, stretched * (distance + nearest_m))
        for first, solids in ((0, self.solids), (len(self.solids), self.moving)):
            row = np.flatnonzero((hits.solid >= first) & (hits.solid < first + len(solids)))
            points, solid = rays.subset(row).points(hits.distance_m[row]), hits.solid[row] - first
            u, v = _flatten(points - solids.anchor_m[solid], hits.normal[row])
            shift, footprint = SHIFT_M * (solid + first), spread_rad * (hits.distance_m[row] + nearest_m)
            grain = solids.grain[solid] * self.terrain.soil.pattern(u + shift, v - shift, footprint)
            hits.albedo[row] = np.minimum(solids.albedo_at(solid, points) * np.exp(grain)[:, None], 1.0)


def _flatten(points: Array, normal: Array) -> tuple[Array, Array]:
    """Project points (m, 3) to the two coordinates (m,) most across the normals (m, 3)."""
    facing = np.abs(normal).argmax(axis=1)
    rows = np.arange(len(points))
    return points[rows, (facing + 1) % 3], points[rows, (facing + 2) % 3]


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
