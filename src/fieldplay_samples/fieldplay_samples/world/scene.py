"""Scenes: ground with solids on it, what rays meet there, and one ready to drive in, deterministic by seed."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.world import ground_rays
from fieldplay_samples.world.bundles import keys_by_direction, keys_by_place
from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.nearest_solid import Met, first_met, looks
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scatter import KeepOut, places, poles, rocks
from fieldplay_samples.world.solids import Solids, merged
from fieldplay_samples.world.terrain import Terrain, relief_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
GROUND = -1
MANY, ONE_PLACE_M = 2000, 2.0  # rays that begin so near each other see the ground alike
FLATTEST = 0.03  # the sine of the flattest angle under which a footprint is still thought to grow
SHADOW_BEGINS_M, SHADOW_ENDS_M = 0.005, 100.0
SMALLEST_ROCK_M, LARGEST_ROCK_M = 0.1, 1.2
SMALLEST_OUTCROP_M, LARGEST_OUTCROP_M = 4.0, 9.0
OUTCROP_CLEARANCE_M = 3.0
LARGEST_BOULDER_M = 3.0


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
        return replace(self, solids=merged([self.solids, *parts]))

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
            distance = self._ground_from_place(Rays(origins=origins, directions=directions), nearest_m, farthest_m)
        else:
            distance = ground_rays.distances_m(relief_of(self.terrain), self._levelled(rays), end)
        met = first_met(self.solids, rays, keys_by_direction(directions), end_m=np.minimum(distance, end))
        distance[met.ray] = met.distance_m
        return self._seen(rays, distance, met, nearest_m=nearest_m, spread_rad=spread_rad)

    def in_shadow(self, points: Array, towards_sun: Array, keys: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Which of points (n, 3) have a solid between themselves and the sun (3,); hills throw no shadow.

        Points of one key (n,) are near each other.
        """
        directions = np.broadcast_to(towards_sun, points.shape)
        rays = Rays(origins=points + SHADOW_BEGINS_M * directions, directions=directions)
        keys = keys_by_place(rays.origins, towards_sun) if keys is None else keys
        dark = np.zeros(len(rays), bool)
        dark[first_met(self.solids, rays, keys, end_m=np.full(len(rays), SHADOW_ENDS_M)).ray] = True
        return dark

    def _ground_from_place(self, rays: Rays, nearest_m: float, farthest_m: float) -> Array:
        """Distances (n,) beyond nearest_m at which rays (n,) from about one place meet the ground."""
        end = np.full(len(rays), farthest_m)
        levelled, relief = self._levelled(rays), relief_of(self.terrain)
        return ground_rays.distances_from_place_m(relief, levelled, end, nearest_m=nearest_m) - nearest_m

    def _levelled(self, rays: Rays) -> Rays:
        """Rays with the overall slope of the ground taken off: that leaves straight lines and distances."""
        slope = np.array([*self.terrain.slope, 0.0])
        origins, directions = np.array(rays.origins), np.array(rays.directions)
        origins[:, 2] -= origins @ slope
        directions[:, 2] -= directions @ slope
        return Rays(origins=origins, directions=directions)

    def _seen(self, rays: Rays, distance: Array, met: Met, *, nearest_m: float, spread_rad: float) -> Hits:
        solid = np.full(len(distance), GROUND)
        solid[met.ray] = met.solid
        normal, albedo = np.zeros(rays.origins.shape), np.zeros(rays.origins.shape)
        ground = np.flatnonzero(np.isfinite(distance) & (solid == GROUND))
        x, y, _ = rays.taken(ground).points(distance[ground]).T
        normal[ground] = self.terrain.normal(x, y)
        sine = np.einsum("nc,nc->n", normal[ground], rays.directions[ground])
        steep = np.maximum(np.abs(sine), FLATTEST)
        stretched = spread_rad / np.sqrt(steep * np.sqrt(steep))  # between its width and, with a power of 1, its length
        albedo[ground] = self.terrain.colour(x, y, stretched * (distance[ground] + nearest_m))
        points = rays.taken(met.ray).points(met.distance_m)
        footprint = spread_rad * (met.distance_m + nearest_m)
        looked = looks(self.solids, met, points, soil=self.terrain.soil, footprint_m=footprint)
        normal[met.ray], albedo[met.ray] = looked
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
    where, sizes = places(rng, sizes, centre=centre, radius_m=radius_m, keep_out=keep_out, clearance_m=clearance_m)
    thin = np.full(pole_count, 0.1)
    feet, _ = places(rng, thin, centre=centre, radius_m=radius_m, keep_out=keep_out, clearance_m=clearance_m)
    return Scene(terrain=ground, solids=merged([rocks(ground, rng, where, sizes_m=sizes), poles(ground, rng, feet)]))


def _rock_sizes(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Sizes (n,) in m, small ones more often."""
    octaves: NDArray[np.float64] = np.log(LARGEST_ROCK_M / SMALLEST_ROCK_M) * rng.beta(1.2, 2.0, count)
    return SMALLEST_ROCK_M * np.exp(octaves)
