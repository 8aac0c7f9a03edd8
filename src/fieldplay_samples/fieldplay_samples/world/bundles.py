"""Which rays may meet which solids: rays are bundled by the way they look, and whole bundles are ruled out."""

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
CELL_RAD = np.deg2rad(4.0)
CELL_M = 1.0


def keys_by_direction(directions: Array) -> NDArray[np.int64]:
    """A number (n,) for rays (n, 3): rays of one number look the same way within some degrees."""
    azimuth = np.arctan2(directions[:, 1], directions[:, 0])
    elevation = np.arcsin(np.clip(directions[:, 2], -1.0, 1.0))
    return _key(np.floor(azimuth / CELL_RAD), np.floor(elevation / CELL_RAD))


def keys_by_place(points: Array, direction: Array) -> NDArray[np.int64]:
    """A number (n,) for points (n, 3): those of one number are near each other, seen along direction (3,)."""
    aside = np.cross(direction, [0.0, 0.0, 1.0])
    aside = aside / np.linalg.norm(aside) if np.any(aside) else np.array([1.0, 0.0, 0.0])
    up = np.cross(aside, direction)
    return _key(np.floor(points @ aside / CELL_M), np.floor(points @ up / CELL_M))


def _key(first: Array, second: Array) -> NDArray[np.int64]:
    return first.astype(np.int64) * 65536 + second.astype(np.int64)


def candidates(
    rays: Rays, keys: NDArray[np.int64], spheres: tuple[Array, Array], *, farthest_m: float
) -> tuple[Indices, Indices]:
    """Pairs (p,), (p,) of the number of a ray and of a sphere that it meets within farthest_m, or passes closely.

    Spheres are centres (k, 3) and radii (k,); rays of one key (n,) make a bundle.
    """
    if not len(keys) or not len(spheres[1]):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
    ends = np.append(first[1:], len(order))
    bundle, sphere = np.nonzero(_may_meet(_hulls(rays.taken(order), first), spheres, farthest_m))
    counts = ends[bundle] - first[bundle]
    before = np.cumsum(counts) - counts
    place = np.arange(counts.sum()) + np.repeat(first[bundle] - before, counts)
    ray, number = order[place], np.repeat(sphere, counts)
    close = _passes(rays.taken(ray), spheres[0].take(number, axis=0), spheres[1].take(number))
    return ray[close], number[close]


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
    hulls: tuple[Array, Array, Array, Array], spheres: tuple[Array, Array], farthest_m: float
) -> NDArray[np.bool_]:
    """Whether a bundle's cone touches a sphere (b, k)."""
    origin, spread, axis, half_angle = hulls
    centres, radii = spheres
    towards = centres[None] - origin[:, None]
    distance = np.sqrt(np.einsum("bkc,bkc->bk", towards, towards))
    reach = radii[None] + spread[:, None]
    cosine = np.einsum("bkc,bc->bk", towards, axis) / np.maximum(distance, 1e-9)
    seen_under = np.arcsin(np.minimum(reach / np.maximum(distance, 1e-9), 1.0))
    touched = np.arccos(np.clip(cosine, -1.0, 1.0)) <= half_angle[:, None] + seen_under
    inside = distance <= reach
    return np.asarray((touched | inside) & (distance - reach <= farthest_m))


def _passes(rays: Rays, centres: Array, radii: Array) -> NDArray[np.bool_]:
    """Whether a ray's straight line (p,) passes through its sphere (p,)."""
    towards = centres - rays.origins
    along = np.einsum("pc,pc->p", towards, rays.directions)
    return np.asarray(np.einsum("pc,pc->p", towards, towards) - along * along <= radii * radii)
