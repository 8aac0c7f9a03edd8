"""Rocks and poles, scattered over the ground and off the way of the robot."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.world.solids import PLANES, Solids, merged, pole, stone
from fieldplay_samples.world.terrain import Terrain

Array = NDArray[np.float64]
KeepOut = ArrayLike | Callable[[Array, Array], NDArray[np.bool_]] | None


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
    begins, ends = (corners[:1], corners[:1]) if len(corners) == 1 else (corners[:-1], corners[1:])
    sides = ends - begins
    towards = points[:, None] - begins[None]
    square = np.maximum(np.einsum("sc,sc->s", sides, sides), 1e-12)
    share = np.clip(np.einsum("nsc,sc->ns", towards, sides) / square, 0.0, 1.0)
    nearest: Array = np.linalg.norm(towards - share[..., None] * sides, axis=2).min(axis=1)
    return nearest


def places(
    rng: np.random.Generator,
    sizes_m: Array,
    *,
    centre: ArrayLike,
    radius_m: float,
    keep_out: KeepOut,
    clearance_m: float,
) -> tuple[Array, Array]:
    """Places (m, 2) within radius_m of the centre and sizes (m,) of those things (n,) that fell off the keep-out."""
    distance, angle = radius_m * np.sqrt(rng.uniform(size=len(sizes_m))), rng.uniform(0, 2 * np.pi, len(sizes_m))
    x, y = np.asarray(centre, float)[:, None] + distance * np.stack([np.cos(angle), np.sin(angle)])
    ring = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    clear = clear_of(keep_out, clearance_m)
    free = clear(x, y)
    for turn in ring:
        free &= clear(x + sizes_m / 2 * np.cos(turn), y + sizes_m / 2 * np.sin(turn))
    return np.stack([x, y], axis=1)[free], sizes_m[free]


def rocks(terrain: Terrain, rng: np.random.Generator, places_m: Array, *, sizes_m: Array) -> Solids:
    """A rock of about sizes (n,) at each of places (n, 2), sunk in a little."""
    heights = terrain.height_m(places_m[:, 0], places_m[:, 1])
    return merged(
        _rock(rng, (float(x), float(y), float(z)), float(size))
        for (x, y), z, size in zip(places_m, heights, sizes_m, strict=True)
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


def poles(terrain: Terrain, rng: np.random.Generator, places_m: Array) -> Solids:
    """A survey pole 2 to 4 m high at each of places (n, 2)."""
    heights = terrain.height_m(places_m[:, 0], places_m[:, 1])
    return merged(pole((x, y, z), rng.uniform(2.0, 4.0)) for (x, y), z in zip(places_m, heights, strict=True))
