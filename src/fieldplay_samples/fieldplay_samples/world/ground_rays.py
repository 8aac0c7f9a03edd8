"""Where rays meet ground and solids: a mesh about where they start, and on the ground the exact surface."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.layers import CELL_M
from fieldplay_samples.world.rays import NO_HITS, MeshHits, Rays, TriangleMesh, joined
from fieldplay_samples.world.solids import Solids
from fieldplay_samples.world.terrain import Terrain

Array = NDArray[np.float64]
TILE_M = 16.0  # rays that start in one tile share a mesh, whoever casts them when
WIDEST = 1 << 20  # tiles from west to east
FINE_M = 10.0  # about the tile, in which the mesh is as fine as the control points of the surface
GROWTH = 0.04  # from one line of the mesh to the next one beyond
MESH_M = 270.0  # how far it goes
CACHED = 4
STEPS = 4
SETTLED_M = 2e-3  # of a step, after which the rest is a thousandth of it: Newton's method is quadratic
LARGEST_STEP = 0.02  # of the distance and 1 m: beyond, the surface is another one than the mesh's
FLATTEST = 1e-3  # how fast a ray nears the surface at least


def first_hits_about(terrain: Terrain, solids: Solids, rays: Rays, end_m: float) -> MeshHits:
    """Return what rays (n,) meet first, nearer than end_m: triangles of the solids, then of the ground."""
    column, row = np.floor(rays.origins[:, :2] / TILE_M).astype(np.int64).T
    key = column * WIDEST + row
    if len(key) and (key == key[0]).all():  # as of an image; to sort so many keys takes long
        return _tile(terrain, solids, int(column[0]), int(row[0])).first_hits(rays, np.full(len(rays), end_m))
    parts = [NO_HITS]
    for one in np.unique(key):
        chosen = np.flatnonzero(key == one)
        tile = _tile(terrain, solids, int(column[chosen[0]]), int(row[chosen[0]]))
        met = tile.first_hits(rays.subset(chosen), np.full(len(chosen), end_m))
        parts.append(replace(met, ray=chosen[met.ray]))
    return joined(parts)


def on_surface(terrain: Terrain, rays: Rays, met: MeshHits) -> tuple[Array, Array]:
    """Distances (m,) and normals (m, 3) where rays (m,) meet the surface that wheels stand on, by Newton's method."""
    east, north = np.empty((2, len(rays)))
    distance, left = met.distance_m.copy(), np.arange(len(rays))
    limit = LARGEST_STEP * (1.0 + distance)
    for _ in range(STEPS):
        part = rays if len(left) == len(rays) else rays.subset(left)
        x, y, z = part.points(distance[left]).T
        height, east[left], north[left] = terrain.surface(x, y)
        nears = part.directions[:, 0] * east[left] + part.directions[:, 1] * north[left] - part.directions[:, 2]
        step = np.where(nears > FLATTEST, (z - height) / np.maximum(nears, FLATTEST), 0.0)
        distance[left] += np.clip(step, -limit[left], limit[left])
        left = left[np.abs(step) > SETTLED_M]
        if not len(left):
            break
    normal = np.stack([-east, -north, np.ones(len(rays))], axis=1)
    normal /= np.sqrt(np.square(east) + np.square(north) + 1.0)[:, None]
    return distance, normal


@lru_cache(maxsize=CACHED)
def _tile(terrain: Terrain, solids: Solids, column: int, row: int) -> TriangleMesh:
    """The solids, and the surface as triangles that are finest about a tile."""
    x, y = _lines(column * TILE_M), _lines(row * TILE_M)
    heights = terrain.height_m(x[None, :], y[:, None])
    vertices = np.stack([*np.meshgrid(x, y), heights], axis=-1).reshape(-1, 3).astype(np.float32)
    index = np.arange(len(vertices), dtype=np.int32).reshape(len(y), len(x))
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    ground = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return TriangleMesh(
        vertices_m=np.concatenate([solids.mesh.vertices_m, vertices]),
        triangles=np.concatenate([solids.triangles, ground + np.int32(len(solids.vertices_m))]),
    )


def _lines(start_m: float) -> Array:
    """Coordinates (m,) of the mesh's lines for a tile that starts there."""
    fine = np.arange(round((TILE_M + 2 * FINE_M) / CELL_M) + 1) * CELL_M + start_m - FINE_M
    count = int(np.ceil(np.log1p(GROWTH * MESH_M / CELL_M) / np.log1p(GROWTH)))
    beyond = CELL_M / GROWTH * (np.power(1.0 + GROWTH, np.arange(1, count + 1)) - 1.0)
    return np.concatenate([fine[0] - beyond[::-1], fine, fine[-1] + beyond])
