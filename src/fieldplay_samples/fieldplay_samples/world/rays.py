"""Rays, and the triangles that they meet: Embree finds the first one."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.intp]
PASSED_M = 1e-4  # beyond a triangle that a ray leaves a body through, before the next one is looked for


@dataclass(frozen=True, eq=False, kw_only=True)
class Rays:
    """Rays from origins along directions, both (n, 3); distances along them are in lengths of the directions."""

    origins: Array
    directions: Array

    def __len__(self) -> int:
        return len(self.origins)

    def subset(self, rows: Indices) -> "Rays":
        """Return the rays of these indices (m,)."""
        return Rays(origins=self.origins.take(rows, axis=0), directions=self.directions.take(rows, axis=0))

    def points(self, distance_m: Array) -> Array:
        """Where (n, 3) the rays are at distances (n,)."""
        return np.asarray(self.origins + distance_m[:, None] * self.directions)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeshHits:
    """Rays (m,) that meet a mesh: their indices, distances in m, triangles, weights of its second and third vertex."""

    ray: Indices
    distance_m: Array
    triangle: Indices
    u: Single
    v: Single

    def subset(self, rows: Indices) -> "MeshHits":
        """Return the hits of these indices (k,)."""
        return MeshHits(**{field.name: getattr(self, field.name).take(rows, axis=0) for field in fields(self)})


@dataclass(frozen=True, eq=False, kw_only=True)
class TriangleMesh:
    """Triangles (t, 3) of vertices (v, 3) in m, counter-clockwise seen from outside; rays do not see their insides."""

    vertices_m: Single
    triangles: NDArray[np.int32]

    def __getstate__(self) -> dict[str, Any]:
        return {"vertices_m": self.vertices_m, "triangles": self.triangles}  # another process builds its own tree

    @cached_property
    def _tree(self) -> Any:
        from embreex.mesh_construction import TriangleMesh as EmbreeMesh  # here: other samples do without it
        from embreex.rtcore_scene import EmbreeScene

        tree = EmbreeScene(robust=True)
        EmbreeMesh(tree, self.vertices_m, self.triangles)
        return tree

    def first_hits(self, rays: Rays, end_m: Array) -> MeshHits:
        """Return the first triangles that rays (n,) meet from outside, nearer than end_m (n,)."""
        if not len(rays) or not len(self.triangles):
            return NO_HITS
        directions = rays.directions.astype(np.float32)
        found = self._tree.run(rays.origins.astype(np.float32), directions, dists=end_m.astype(np.float32), output=True)
        facing, is_hit = np.einsum("nc,nc->n", found["Ng"], directions), found["primID"] >= 0
        ray, inside = (np.flatnonzero(is_hit & entered) for entered in (facing < 0, facing >= 0))
        distance = found["tfar"].astype(float)
        met = MeshHits(
            ray=ray,
            distance_m=distance[ray],
            triangle=found["primID"][ray].astype(np.intp),
            u=found["u"][ray],
            v=found["v"][ray],
        )
        if not len(inside):
            return met
        passed, rest = distance[inside] + PASSED_M, rays.subset(inside)
        moved = Rays(origins=rest.points(passed), directions=rest.directions)
        beyond = self.first_hits(moved, end_m[inside] - passed)
        further = beyond.distance_m + passed[beyond.ray]
        return joined([met, replace(beyond, ray=inside[beyond.ray], distance_m=further)])

    def occludes(self, rays: Rays, end_m: float) -> NDArray[np.bool_]:
        """Which rays (n,) meet a triangle nearer than end_m."""
        if not len(self.triangles):
            return np.zeros(len(rays), bool)
        reach = np.full(len(rays), end_m, np.float32)
        origins, directions = (values.astype(np.float32) for values in (rays.origins, rays.directions))
        return np.asarray(self._tree.run(origins, directions, dists=reach, query="OCCLUDED") >= 0)


def joined(parts: list[MeshHits]) -> MeshHits:
    """Join hits of several casts."""
    names = [field.name for field in fields(MeshHits)]
    return MeshHits(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


NO_HITS = MeshHits(
    ray=np.zeros(0, np.intp),
    distance_m=np.zeros(0),
    triangle=np.zeros(0, np.intp),
    u=np.zeros(0, np.float32),
    v=np.zeros(0, np.float32),
)
