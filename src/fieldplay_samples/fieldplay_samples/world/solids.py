"""Solid bodies that stand on the ground or move above it: rocks, boxes, spheres, cylinders, poles, limbs, trees.

All are closed meshes, round ones so fine that no face is further than 3 mm within the true surface.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.world.rays import TriangleMesh

Array = NDArray[np.float64]
Faces = NDArray[np.int32]
Indices = NDArray[np.intp]
WITHIN_M = 0.003  # of a round surface, in which its faces may lie
FEWEST_PARTS, MOST_PARTS = 5, 40  # of an edge of the octahedron that is blown up to a sphere
CAPSULE_SEGMENTS, CAP_RINGS, CYLINDER_SEGMENTS = 20, 4, 64
BARK = (0.20, 0.16, 0.12)
LEAF_SIZE_M = (0.075, 0.105, 0.045)
CLUMPS = 7
WHITE = 0.7


@dataclass(frozen=True, eq=False, kw_only=True)
class Solids:
    """Bodies (k,) as triangles (t, 3) of vertices (v, 3) with outward normals (v, 3).

    `owner` (v,) is the body that a vertex belongs to. A body's pattern starts at its anchor (k, 3); `grain` (k,) is how
    strong it is on its albedo (k, 3). Where `bands` (k, 3), bands per metre along an axis, are not 0, every second band
    from the anchor on is white.
    """

    vertices_m: Array
    normals: Array
    triangles: Faces
    owner: Indices
    anchor_m: Array
    albedo: Array
    grain: Array
    bands: Array

    def __len__(self) -> int:
        return len(self.grain)

    @cached_property
    def mesh(self) -> TriangleMesh:
        """The triangles for rays."""
        return TriangleMesh(vertices_m=self.vertices_m.astype(np.float32), triangles=self.triangles)

    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates (k, 3) of the bodies, in m."""
        low, high = np.full((2, len(self), 3), np.inf) * [[[1.0]], [[-1.0]]]
        np.minimum.at(low, self.owner, self.vertices_m)
        np.maximum.at(high, self.owner, self.vertices_m)
        return low, high

    def albedo_at(self, solid: Indices, points: Array) -> Array:
        """Albedo (m, 3) of bodies (m,) at points (m, 3) of them, without grain."""
        band = np.einsum("mc,mc->m", points - self.anchor_m[solid], self.bands[solid])
        return np.where((np.floor(band) % 2 == 1)[:, None], WHITE, self.albedo[solid])


def _body(
    vertices_m: Array,
    normals: Array,
    triangles: Faces,
    *,
    anchor_m: ArrayLike,
    albedo: ArrayLike,
    grain: float = 0.0,
    bands: ArrayLike = (0.0, 0.0, 0.0),
) -> Solids:
    return Solids(
        vertices_m=vertices_m,
        normals=normals,
        triangles=triangles,
        owner=np.zeros(len(vertices_m), np.intp),
        anchor_m=np.asarray(anchor_m, float)[None],
        albedo=np.broadcast_to(np.asarray(albedo, float), (1, 3)),
        grain=np.array([float(grain)]),
        bands=np.asarray(bands, float)[None],
    )


def merge_solids(parts: Iterable[Solids]) -> Solids:
    """Merge solids into one, in the order of the parts."""
    parts = [_NOTHING, *parts]
    first_vertex, first_body = (
        np.cumsum([0, *map(len, columns)])
        for columns in ([part.vertices_m for part in parts], [part.grain for part in parts])
    )
    offsets = {"triangles": first_vertex, "owner": first_body}
    columns = {field.name: [getattr(part, field.name) for part in parts] for field in fields(Solids)}
    for name, first in offsets.items():
        columns[name] = [(rows + start).astype(rows.dtype) for rows, start in zip(columns[name], first, strict=False)]
    return Solids(**{name: np.concatenate(rows) for name, rows in columns.items()})


def stone(
    centre: ArrayLike,
    radii_m: ArrayLike,
    *,
    world_R_stone: ArrayLike | None = None,
    planes: ArrayLike | None = None,
    albedo: ArrayLike = 0.3,
    grain: float = 1.0,
) -> Solids:
    """An ellipsoid of radii (3,) about centre (3,), cut by planes (p, 4): outward normal, distance in m."""
    radii = np.broadcast_to(np.asarray(radii_m, float), 3)
    directions, triangles = _unit_sphere(_parts(float(radii.max())))
    points = directions * radii
    normals = directions / radii
    if planes is not None:
        cuts = np.atleast_2d(np.asarray(planes, float))
        share = np.maximum(points @ cuts[:, :3].T, 0.0) / cuts[:, 3]
        cut, depth = share.argmax(axis=1), share.max(axis=1)
        points = points / np.maximum(depth, 1.0)[:, None]
        normals = np.where(depth[:, None] > 1.0, cuts[cut, :3], normals)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    turn = np.eye(3) if world_R_stone is None else np.asarray(world_R_stone, float)
    middle = np.asarray(centre, float)
    points = middle + points @ turn.T
    return _body(points, normals @ turn.T, triangles, anchor_m=middle, albedo=albedo, grain=grain)


def sphere(centre: ArrayLike, radius_m: float, *, albedo: ArrayLike = 0.3, grain: float = 0.0) -> Solids:
    """A sphere about centre (3,)."""
    return stone(centre, radius_m, albedo=albedo, grain=grain)


def box(
    centre: ArrayLike,
    sizes_m: ArrayLike,
    *,
    world_R_box: ArrayLike | None = None,
    albedo: ArrayLike = 0.3,
    grain: float = 0.0,
) -> Solids:
    """A box of whole lengths (3,) along its own axes, about centre (3,)."""
    corners, normals, triangles = _unit_box()
    turn = np.eye(3) if world_R_box is None else np.asarray(world_R_box, float)
    middle = np.asarray(centre, float)
    points = middle + (corners * np.asarray(sizes_m, float) / 2) @ turn.T
    return _body(points, normals @ turn.T, triangles, anchor_m=middle, albedo=albedo, grain=grain)


def capsule(
    start: ArrayLike, end: ArrayLike, radius_m: float, *, albedo: ArrayLike = 0.3, band_m: float = 0.0
) -> Solids:
    """All that is within radius_m of the line from start to end (3,); with bands in turn of its albedo and white."""
    first, line = np.asarray(start, float), np.subtract(end, start)
    length = float(np.linalg.norm(line))
    axis = line / length if length else np.array([0.0, 0.0, 1.0])
    normals, along, triangles = _unit_capsule()
    normals = normals @ _turn_of_axis(axis).T
    points = first + along[:, None] * line + radius_m * normals
    bands = axis / band_m if band_m else np.zeros(3)
    return _body(points, normals, triangles, anchor_m=first, albedo=albedo, bands=bands)


def cylinder(
    centre: ArrayLike, axis: ArrayLike, radius_m: float, half_m: float, *, albedo: ArrayLike = 0.3, grain: float = 0.0
) -> Solids:
    """A cylinder about a unit axis (3,), half_m long to both sides of its centre (3,)."""
    points, normals, triangles = _unit_cylinder()
    turn, middle = _turn_of_axis(np.asarray(axis, float)), np.asarray(centre, float)
    points = middle + (points * [radius_m, radius_m, half_m]) @ turn.T
    return _body(points, normals @ turn.T, triangles, anchor_m=middle, albedo=albedo, grain=grain)


def pole(foot: ArrayLike, height_m: float, *, radius_m: float = 0.04, albedo: ArrayLike = (0.6, 0.08, 0.05)) -> Solids:
    """A survey pole of red and white bands, upright on foot (3,)."""
    x, y, z = np.asarray(foot, float)
    return capsule((x, y, z - 0.3), (x, y, z + height_m - radius_m), radius_m, albedo=albedo, band_m=0.4)


def _turn_of_axis(axis: Array) -> Array:
    """A rotation (3, 3) that takes z to a unit axis (3,)."""
    aside = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    aside /= np.linalg.norm(aside)
    return np.stack([aside, np.cross(axis, aside), axis], axis=1)


# Meshes of unit bodies, triangles counter-clockwise seen from outside.


def _parts(radius_m: float) -> int:
    """How many parts each edge of the octahedron needs, for faces within WITHIN_M of a sphere."""
    return int(np.clip(np.ceil(np.sqrt(radius_m / WITHIN_M)), FEWEST_PARTS, MOST_PARTS))


@lru_cache(maxsize=MOST_PARTS)
def _unit_sphere(parts: int) -> tuple[Array, Faces]:
    """Vertices (v, 3) and triangles (t, 3) of an octahedron blown up, whose edges have so many parts."""
    row, column = np.nonzero(np.add.outer(np.arange(parts + 1), np.arange(parts + 1)) <= parts)
    index = np.full((parts + 2, parts + 2), -1)
    index[row, column] = np.arange(len(row))
    upright = np.stack([index[row, column], index[row + 1, column], index[row, column + 1]], axis=1)
    turned = np.stack([index[row + 1, column], index[row + 1, column + 1], index[row, column + 1]], axis=1)
    octant = np.concatenate([faces[(faces >= 0).all(axis=1)] for faces in (upright, turned)])
    points = np.stack([row, column, parts - row - column], axis=1).astype(float)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    vertices, triangles = [], []
    for number, signs in enumerate(product((1.0, -1.0), repeat=3)):
        vertices.append(points * signs)
        triangles.append((octant if np.prod(signs) > 0 else octant[:, ::-1]) + number * len(points))
    return np.concatenate(vertices), np.concatenate(triangles).astype(np.int32)


@lru_cache(maxsize=1)
def _unit_box() -> tuple[Array, Array, Faces]:
    """Corners (24, 3) of a box from -1 to 1, four a side, their normals and triangles."""
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    corners, normals, triangles = [], [], []
    for number, (axis, side) in enumerate(product(range(3), (1.0, -1.0))):
        turn = np.roll(np.eye(3), axis, axis=1)  # rows: outwards, and two axes along the side
        corners.append(side * turn[0] + square @ (turn[1:] * [[1.0], [side]]))
        normals.append(np.tile(side * turn[0], (4, 1)))
        triangles.append(np.array([[0, 1, 2], [0, 2, 3]]) + 4 * number)
    return np.concatenate(corners), np.concatenate(normals), np.concatenate(triangles).astype(np.int32)


@lru_cache(maxsize=1)
def _unit_capsule() -> tuple[Array, Array, Faces]:
    """Normals (v, 3) of a capsule along z, how far along its line (v,) each vertex is, and triangles."""
    angle = np.linspace(-np.pi / 2, 0.0, CAP_RINGS + 1)
    angle = np.concatenate([angle, -angle[::-1]])
    along = np.repeat([0.0, 1.0], CAP_RINGS + 1)
    normals, triangles = _lathe(np.stack([np.cos(angle), np.sin(angle)], axis=1), CAPSULE_SEGMENTS)
    return normals, np.repeat(along, CAPSULE_SEGMENTS), triangles


@lru_cache(maxsize=1)
def _unit_cylinder() -> tuple[Array, Array, Faces]:
    """Vertices (v, 3) of a cylinder of radius 1 from -1 to 1 along z, their normals and triangles."""
    profile = np.array([[0.0, -1.0], [1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    facing = np.repeat([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0]], 2, axis=0)
    (points, triangles), (normals, _) = (_lathe(values, CYLINDER_SEGMENTS) for values in (profile, facing))
    return points, normals, triangles


def _lathe(profile: Array, segments: int) -> tuple[Array, Faces]:
    """Vertices and triangles of what a profile (p, 2), distance from z and height from below up, makes about z."""
    turn = 2.0 * np.pi * np.arange(segments) / segments
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points = np.concatenate(
        [profile[:, None, :1] * around, np.broadcast_to(profile[:, None, 1:], (len(profile), segments, 1))], axis=2
    )
    here = np.arange(len(profile) * segments).reshape(len(profile), segments)
    after = np.roll(here, -1, axis=1)
    first = np.stack([here[:-1], after[:-1], after[1:]], axis=-1).reshape(-1, 3)
    second = np.stack([here[:-1], after[1:], here[1:]], axis=-1).reshape(-1, 3)
    return points.reshape(-1, 3), np.concatenate([first, second]).astype(np.int32)


_NOTHING = Solids(
    vertices_m=np.zeros((0, 3)),
    normals=np.zeros((0, 3)),
    triangles=np.zeros((0, 3), np.int32),
    owner=np.zeros(0, np.intp),
    anchor_m=np.zeros((0, 3)),
    albedo=np.zeros((0, 3)),
    grain=np.zeros(0),
    bands=np.zeros((0, 3)),
)


# Trees: a trunk, and a crown of a few round clumps of leaves.


@dataclass(frozen=True, kw_only=True)
class Habit:
    """A tree's height, its trunk's radius, where the crown begins and how far it reaches from the trunk, in m."""

    height_m: float
    trunk_m: float
    crown_from_m: float
    crown_m: float


def tree(foot: tuple[float, float, float], habit: Habit, rng: np.random.Generator) -> tuple[Solids, Solids]:
    """Trunk and crown of a tree on foot (3,)."""
    x, y, z = foot
    trunk = capsule((x, y, z - 0.3), (x, y, z + 0.8 * habit.height_m), habit.trunk_m, albedo=BARK)
    half = 0.5 * (habit.height_m - habit.crown_from_m)
    return trunk, merge_solids(
        _clump((x, y, z + habit.crown_from_m + half), half, habit.crown_m, rng=rng) for _ in range(CLUMPS)
    )


def _clump(middle: tuple[float, float, float], half_m: float, reach_m: float, *, rng: np.random.Generator) -> Solids:
    size = np.array([reach_m, reach_m, half_m]) * rng.uniform(0.4, 0.6)
    turn, away = rng.uniform(0.0, 2.0 * np.pi), 0.5 * reach_m * np.sqrt(rng.uniform())
    up = rng.uniform(-1.0, 1.0) * (half_m - size[2])
    centre = np.add(middle, [away * np.cos(turn), away * np.sin(turn), up])
    return stone(centre, size, albedo=np.array(LEAF_SIZE_M) * rng.lognormal(0.0, 0.2), grain=2.5)


def habit_of_size(height_m: float, rng: np.random.Generator) -> Habit:
    """How a tree of a height grows in the open."""
    return Habit(
        height_m=height_m,
        trunk_m=0.025 * height_m,
        crown_from_m=height_m * float(rng.uniform(0.25, 0.4)),
        crown_m=height_m * float(rng.uniform(0.25, 0.4)),
    )
