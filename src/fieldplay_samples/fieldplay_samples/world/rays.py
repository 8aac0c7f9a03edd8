"""Rays: straight lines from a place in a direction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
CELL_RAD = np.deg2rad(4.0)
CELL_M = 1.0
UP = 46  # cells from down to up
SHELLS, NEAREST_M, DEEPER = 15, 0.3, 1.5  # of distance, each so much further off than the one before


@dataclass(frozen=True, eq=False, kw_only=True)
class Rays:
    """Rays from origins along directions, both (n, 3); distances along them are in lengths of the directions."""

    origins: Array
    directions: Array

    def __len__(self) -> int:
        return len(self.origins)

    def subset(self, rows: NDArray[np.intp]) -> "Rays":
        """Return the rays of these indices (m,)."""
        return Rays(origins=self.origins.take(rows, axis=0), directions=self.directions.take(rows, axis=0))

    def part(self, rows: slice) -> "Rays":
        """The rays of those rows."""
        return Rays(origins=self.origins[rows], directions=self.directions[rows])

    def points(self, distance_m: Array) -> Array:
        """Where (n, 3) the rays are at distances (n,)."""
        return np.asarray(self.origins + distance_m[:, None] * self.directions)


# Which rays may meet which solids: rays are bundled by the way they look, and whole bundles are ruled out.


def keys_by_direction(directions: Array) -> NDArray[np.int64]:
    """A number (n,) for rays (n, 3): rays of one number look the same way within some degrees."""
    azimuth = np.arctan2(directions[:, 1], directions[:, 0]) + np.pi
    elevation = np.arcsin(np.clip(directions[:, 2], -1.0, 1.0)) + np.pi / 2
    cells = np.floor(azimuth / CELL_RAD) * UP + np.floor(elevation / CELL_RAD)
    return np.asarray(cells.astype(np.int64))


def keys_by_view(directions: Array, distance_m: Array) -> NDArray[np.int64]:
    """A number (n,) for points seen along directions (n, 3) at distances (n,): near each other if it is the same."""
    shell = np.log(np.maximum(distance_m / NEAREST_M, 1.0)) / np.log(DEEPER)
    return np.asarray(keys_by_direction(directions) * SHELLS + np.minimum(shell, SHELLS - 1).astype(np.int64))


def keys_by_position(points: Array, direction: Array) -> NDArray[np.int64]:
    """Sort keys (n,) for points (n, 3): equal keys are near each other, seen along direction (3,)."""
    aside = np.cross(direction, [0.0, 0.0, 1.0])
    aside = aside / np.linalg.norm(aside) if np.any(aside) else np.array([1.0, 0.0, 0.0])
    up = np.cross(aside, direction)
    first, second = (np.floor(points @ axis / CELL_M).astype(np.int64) for axis in (aside, up))
    return np.asarray(first * 65536 + second)


def candidates(
    rays: Rays, keys: NDArray[np.int64], spheres: tuple[Array, Array], end_m: Array
) -> tuple[Indices, Indices]:
    """Pairs (p,), (p,) of the number of a ray and of a sphere that it meets before end_m (n,), or passes closely.

    Spheres are centres (k, 3) and radii (k,); rays of one key (n,) make a bundle.
    """
    if not len(keys) or not len(spheres[1]):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    keys = keys - keys.min()
    order = np.argsort(keys.astype(np.uint16) if keys.max() < 1 << 16 else keys, kind="stable")  # few bits sort at once
    first = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
    stops = np.append(first[1:], len(order))
    rays = rays.subset(order)
    furthest = np.maximum.reduceat(end_m[order], first)
    bundle, sphere = np.nonzero(_may_meet(_hulls(rays, first), spheres, furthest))
    counts = stops[bundle] - first[bundle]
    before = np.cumsum(counts) - counts
    index = np.arange(counts.sum()) + np.repeat(first[bundle] - before, counts)
    number = np.repeat(sphere, counts)
    close = np.flatnonzero(_passes(rays, index, spheres, number))
    return order[index[close]], number[close]


def _hulls(rays: Rays, first: Indices) -> tuple[Array, Array, Array, Array]:
    """Of each bundle (b,): the middle of the origins, how far they lie from it, the axis, and the half-angle in rad."""
    origins, directions = rays.origins, rays.directions
    low, high = np.minimum.reduceat(origins, first), np.maximum.reduceat(origins, first)
    axis = np.add.reduceat(directions, first)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    sizes = np.diff(np.append(first, len(origins)))
    chord = np.sqrt(np.maximum.reduceat(np.square(directions - np.repeat(axis, sizes, axis=0)).sum(axis=1), first))
    half_angle = 2 * np.arcsin(np.minimum(chord / 2, 1.0))
    return (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2, axis, half_angle


def _may_meet(
    hulls: tuple[Array, Array, Array, Array], spheres: tuple[Array, Array], furthest_m: Array
) -> NDArray[np.bool_]:
    """Whether a bundle's cone touches a sphere (b, k) that is no further off than furthest_m (b,)."""
    origin, spread, axis, half_angle = hulls
    centres, radii = spheres
    square = np.square(origin).sum(axis=1)[:, None] - 2 * origin @ centres.T + np.square(centres).sum(axis=1)
    reach = radii + spread[:, None]
    tangent = np.sqrt(np.maximum(square - np.square(reach), 0.0))  # from the origin to where it touches the sphere
    along = axis @ centres.T - np.einsum("bc,bc->b", axis, origin)[:, None]
    cosine, sine = np.cos(half_angle)[:, None], np.sin(half_angle)[:, None]
    touched = (along >= tangent * cosine - reach * sine) | (tangent == 0) | (cosine <= 0)
    return np.asarray(touched & (square <= np.square(reach + furthest_m[:, None])))


def _passes(rays: Rays, ray: Indices, spheres: tuple[Array, Array], sphere: Indices) -> NDArray[np.bool_]:
    """Whether the straight lines of rays of those numbers (p,) pass through the spheres of those numbers (p,)."""
    along, square = np.zeros(len(ray)), np.zeros(len(ray))
    for origin, course, centre in zip(rays.origins.T, rays.directions.T, spheres[0].T, strict=True):
        towards = centre.take(sphere) - np.ascontiguousarray(origin).take(ray)
        along += towards * np.ascontiguousarray(course).take(ray)
        square += towards * towards
    return np.asarray(square - along * along <= np.square(spheres[1]).take(sphere))
