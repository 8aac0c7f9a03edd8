"""Scenes ready to drive in, deterministic by seed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.world.named import terrain_named
from fieldplay_samples.world.scatter import KeepOut, places, poles, rocks
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import merged
from fieldplay_samples.world.terrain import Terrain

SMALLEST_ROCK_M, LARGEST_ROCK_M = 0.1, 1.2
SMALLEST_OUTCROP_M, LARGEST_OUTCROP_M = 4.0, 9.0
OUTCROP_CLEARANCE_M = 3.0
LARGEST_BOULDER_M = 3.0


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
