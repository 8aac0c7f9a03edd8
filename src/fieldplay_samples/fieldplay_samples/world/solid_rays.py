"""Where rays meet solids from outside. A ray that begins inside a solid does not see it: a lidar has a housing."""

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.solids import Limbs, Stones

Array = NDArray[np.float64]


def stone_distances(stones: Stones, rays: Rays) -> tuple[Array, NDArray[np.intp]]:
    """Distances (p,) at which rays (p,) enter the stones (p,), inf for none; by which plane, -1 for the ellipsoid.

    Row p of the rays is tried against row p of the stones.
    """
    begin = np.einsum("pji,pj->pi", stones.world_R_stone, rays.origins - stones.centre)
    course = np.einsum("pji,pj->pi", stones.world_R_stone, rays.directions)
    enters, leaves = _ellipsoid_span(begin / stones.radii_m, course / stones.radii_m)
    height = stones.planes[:, :, 3] - np.einsum("pkc,pc->pk", stones.planes[:, :, :3], begin)
    rate = np.einsum("pkc,pc->pk", stones.planes[:, :, :3], course)
    rate = np.where(np.abs(rate) < 1e-12, 1e-12, rate)
    crossing = height / rate
    cuts = np.where(rate < 0, crossing, -np.inf)
    plane = cuts.argmax(axis=1)
    cut = cuts.max(axis=1)
    leaves = np.minimum(leaves, np.where(rate > 0, crossing, np.inf).min(axis=1))
    side = np.where(cut > enters, plane, -1)
    at = np.maximum(enters, cut)
    return np.where((at < leaves) & (at > 0), at, np.inf), side


def _ellipsoid_span(begin: Array, course: Array) -> tuple[Array, Array]:
    """Where rays enter and leave the unit sphere (p,); inf and -inf where they miss it."""
    square = np.einsum("pc,pc->p", course, course)
    half = np.einsum("pc,pc->p", begin, course)
    inside = half * half - square * (np.einsum("pc,pc->p", begin, begin) - 1)
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
    axis = limbs.end - limbs.begin
    length = np.linalg.norm(axis, axis=1)
    axis = axis / np.maximum(length, 1e-12)[:, None]
    begin, directions = rays.origins - limbs.begin, rays.directions
    along, rate = np.einsum("pc,pc->p", begin, axis), np.einsum("pc,pc->p", directions, axis)
    aside, turn = begin - along[:, None] * axis, directions - rate[:, None] * axis
    side = _entry(aside, turn, limbs.radius_m)
    meets = along + np.where(np.isfinite(side), side, 0.0) * rate
    side = np.where((meets > 0) & (meets < length), side, np.inf)
    first = _entry(begin, directions, limbs.radius_m)
    last = _entry(rays.origins - limbs.end, directions, limbs.radius_m)
    at = np.minimum(side, np.minimum(first, last))
    nearest = np.clip(along, 0.0, length)
    inside = np.square(begin - nearest[:, None] * axis).sum(axis=1) < np.square(limbs.radius_m)
    return np.where(inside, np.inf, at)


def _entry(begin: Array, course: Array, radius_m: Array) -> Array:
    """Where (p,) rays come from outside within radius_m of the origin of their space; inf if behind or never."""
    square = np.maximum(np.einsum("pc,pc->p", course, course), 1e-18)
    half = np.einsum("pc,pc->p", begin, course)
    inside = half * half - square * (np.einsum("pc,pc->p", begin, begin) - radius_m * radius_m)
    at = (-half - np.sqrt(np.maximum(inside, 0.0))) / square
    return np.where((inside > 0) & (at > 0), at, np.inf)


def limb_normals(limbs: Limbs, points: Array) -> tuple[Array, Array]:
    """Outward normals (p, 3) of the limbs at points (p, 3), and how far along (p,) in m these are from the begin."""
    axis = limbs.end - limbs.begin
    length = np.linalg.norm(axis, axis=1)
    axis = axis / np.maximum(length, 1e-12)[:, None]
    along = np.clip(np.einsum("pc,pc->p", points - limbs.begin, axis), 0.0, length)
    normal = points - limbs.begin - along[:, None] * axis
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12), along
