"""The ground: its height, slope and colour at any place, the same for wheels, lidars and cameras."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.world.layers import (
    CELL_M,
    CELLS,
    CropRows,
    Furrows,
    Grain,
    Layer,
    Shade,
    Soil,
    Unevenness,
    heights_from_layers,
)

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int64]
MAX_CACHED = 4  # grids of terrains
REACH_M = 0.2  # from a face, within which points are taken for it; it is below half the shortest length
EDGE_M = 0.05  # from a face's edges, where points belong to another
OFF_GROUND_M = 0.1  # beyond which points are none of the ground beside a face
FEWEST = 20
STEPS = 3  # towards the foot of a perpendicular on the ground; it is nearly a plane
KINDS: dict[str, type[Unevenness] | type[Furrows]] = {"noise": Unevenness, "furrows": Furrows}


# The surface that everything stands on and sees: a biquadratic B-spline with heights on a periodic grid as its control
# points, so that neither it nor its slope has a step.


def _surface(bordered_m: Single, x: Array, y: Array, *, sloped: bool) -> tuple[Array, ...]:
    """Heights (...) in m, and slopes dz/dx and dz/dy (...) where they are asked for, at x, y (...) in m."""
    (column, across), (row, along) = _nearest(x / CELL_M), _nearest(y / CELL_M)
    width, flat = CELLS + 2, bordered_m.ravel()
    first = (row & CELLS - 1) * width + (column & CELLS - 1)  # of the nine control points about a position
    sides, turned = _weights(across), _slope_weights(across)
    total = np.zeros((3 if sloped else 1, *first.shape))
    for down, (weight, tilt) in enumerate(zip(_weights(along), _slope_weights(along), strict=True)):
        three = [flat[down * width + right :].take(first) for right in (0, 1, 2)]
        line = _sum_of_three(sides, three)
        total[0] += weight * line
        if sloped:
            total[1] += weight * _sum_of_three(turned, three)
            total[2] += tilt * line
    total[1:] /= CELL_M
    return tuple(total)


def _sum_of_three(weights: tuple[Array, Array, Array], values: list[Single]) -> Array:
    total = weights[0] * values[0]
    total += weights[1] * values[1]
    total += weights[2] * values[2]
    return np.asarray(total)


def _nearest(cells: Array) -> tuple[Indices, Array]:
    """The nearest control point, and how far on from it a position is, in cells."""
    nearest = np.floor(cells + 0.5)
    return nearest.astype(np.int64), cells - nearest


def _weights(offset: Array) -> tuple[Array, Array, Array]:
    """Those of a control point's neighbour before it, its own and that of the one after it."""
    return (0.5 - offset) ** 2 / 2, 0.75 - offset**2, (0.5 + offset) ** 2 / 2


def _slope_weights(offset: Array) -> tuple[Array, Array, Array]:
    return offset - 0.5, -2 * offset, offset + 0.5


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """Ground without end (it repeats after 204.8 m) in ENU metres; height 0 at the origin; deterministic by seed.

    `slope` is the overall one, dz/dx and dz/dy.
    """

    seed: int
    layers: tuple[Layer, ...]
    soil: Soil
    slope: tuple[float, float] = (0.0, 0.0)

    def height_m(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights (...) at x, y (...)."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        (height,) = _surface(relief_of(self), x, y, sloped=False)
        return height + self.slope[0] * x + self.slope[1] * y

    def surface(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Heights (...) in m, dz/dx and dz/dy (...) at x, y (...)."""
        height, east, north = _surface(relief_of(self), x, y, sloped=True)
        return height + self.slope[0] * x + self.slope[1] * y, east + self.slope[0], north + self.slope[1]

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """dz/dx and dz/dy (...) at x, y (...)."""
        return self.surface(*np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)))[1:]

    def normal(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Unit normals (..., 3) at x, y (...), pointing up."""
        east, north = self.slopes(x, y)
        normal = np.stack([-east, -north, np.ones_like(east)], axis=-1)
        return np.asarray(normal / np.sqrt(np.square(east) + np.square(north) + 1)[..., None])

    def colour(self, x: ArrayLike, y: ArrayLike, footprint_m: ArrayLike = 0.0) -> Single:
        """Albedo (..., 3) in 0..1 at x, y (...), averaged over about footprint_m (...)."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        return np.asarray(np.minimum(self.soil.albedo(x, y, np.asarray(footprint_m, float)), 1.0), np.float32)


def relief_of(terrain: Terrain) -> Single:
    """The control points that a terrain's layers make, with those beyond each edge, without its overall slope.

    Row along y, column along x. Kept for the terrains used last: to compute them takes half a second.
    """
    if terrain not in _reliefs:
        heights = heights_from_layers(terrain.layers, terrain.seed)
        weights = np.array([1.0, 6.0, 1.0]) / 8.0  # of the control points about one, in the surface above it
        about_origin = heights[np.ix_((-1, 0, 1), (-1, 0, 1))].astype(np.float32)
        level = (heights - weights @ about_origin @ weights).astype(np.float32)
        keep_reliefs({terrain: np.pad(level, 1, mode="wrap")})
    return _reliefs[terrain]


def cached_reliefs() -> dict[Terrain, Single]:
    """Return the cached grids, for another process."""
    return dict(_reliefs)


def keep_reliefs(reliefs: Mapping[Terrain, Single]) -> None:
    """Keep grids that were made, a few at most."""
    _reliefs.update(reliefs)
    for terrain in list(_reliefs)[:-MAX_CACHED]:
        del _reliefs[terrain]


_reliefs: dict[Terrain, Single] = {}


# How far points are from what there truly is: ground with a box on it.


@dataclass(frozen=True, eq=False, kw_only=True)
class StandingBox:
    """A box of whole lengths (3,) in m along its own axes; world_T_box (4, 4) is the pose of its middle."""

    world_T_box: Array
    sizes_m: Array

    def distance_m(self, points: Array) -> Array:
        """How far (n,) points (n, 3) of the world are from the box's faces: above 0 outside, below inside."""
        pose = self.world_T_box
        beyond = np.abs((points - pose[:3, 3]) @ pose[:3, :3]) - self.sizes_m / 2
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return np.asarray(outside + np.minimum(beyond.max(axis=1), 0.0))


def _face(own: Array, halves: Array, *, axis: int, side: int) -> float:
    """Where a face is along its axis, by points (n, 3) in the box's own axes that are near it and off its edges."""
    across = [other for other in range(3) if other != axis]
    near = np.abs(side * own[:, axis] - halves[axis]) < REACH_M
    off_edges = (np.abs(own[:, across]) < halves[across] - EDGE_M).all(axis=1)
    return _median(own[near & off_edges, axis])


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) >= FEWEST else np.nan


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundWithBox:
    """The surfaces of a world: of the ground and of a box on it."""

    terrain: Terrain
    box: StandingBox

    def distance_m(self, points: Array) -> Array:
        """How far (n,) points (n, 3) of the world in m, east north up, are from the nearer of the two surfaces."""
        return np.asarray(np.minimum(np.abs(self.box.distance_m(points)), self.ground_distance_m(points)))

    def box_lengths_m(self, points: Array) -> tuple[Array, Array]:
        """Lengths (3,) of the box as points (n, 3) have it, NaN where they lack a side, and the true ones.

        Between opposite faces, each the median of points nearer to it than REACH_M; upwards from the ground beside.
        """
        pose, halves = self.box.world_T_box, self.box.sizes_m / 2
        in_box = (points - pose[:3, 3]) @ pose[:3, :3]
        raised = in_box[self.ground_distance_m(points) > OFF_GROUND_M]
        sides = [
            _face(raised, halves, axis=axis, side=1) - _face(raised, halves, axis=axis, side=-1) for axis in (0, 1)
        ]
        distances = np.abs(in_box[:, :2]) - halves[:2]
        ground = (distances.max(axis=1) > REACH_M) & (distances.max(axis=1) < 2 * REACH_M) & (in_box[:, 2] < 0)
        feet = points[ground].copy()
        feet[:, 2] = self.terrain.height_m(feet[:, 0], feet[:, 1])
        true_ground = ((feet - pose[:3, 3]) @ pose[:3, :3])[:, 2]
        height = _face(in_box, halves, axis=2, side=1) - _median(in_box[ground, 2])
        return floats([*sides, height]), floats([*self.box.sizes_m[:2], halves[2] - _median(true_ground)])

    def ground_distance_m(self, points: Array) -> Array:
        """How far (n,) points (n, 3) are from the ground."""
        foot = points[:, :2].copy()
        for _ in range(STEPS):
            normal = self.terrain.normal(*foot.T)
            height = points[:, 2] - self.terrain.height_m(*foot.T)
            away = np.einsum("nc,nc->n", np.column_stack([points[:, :2] - foot, height]), normal)
            foot = points[:, :2] - away[:, None] * normal[:, :2]
        distances = np.column_stack([foot, self.terrain.height_m(*foot.T)])
        return np.asarray(np.linalg.norm(points - distances, axis=1))


# Grounds by name, as data/worlds.yaml describes them.


def terrain_named(name: str, *, seed: int) -> Terrain:
    """The ground `name` (volcano, ploughed_field, grassland), deterministic by seed."""
    entry = numbers_of("worlds")[name]
    layers = tuple(_layer(**layer) for layer in entry["layers"])
    return Terrain(
        seed=seed,
        layers=layers,
        soil=_soil(entry["soil"], seed, layers),
        slope=(entry["slope"][0], entry["slope"][1]),
    )


def _layer(*, kind: str, **numbers: float) -> Layer:
    return KINDS[kind](**numbers)


def _soil(entry: dict[str, Any], seed: int, layers: tuple[Layer, ...]) -> Soil:
    shades = tuple(Shade(**{**shade, "albedo": tuple(shade["albedo"])}) for shade in entry["shades"])
    grain = tuple(Grain(**grain) for grain in entry["grain"])
    return Soil(seed=seed, base=tuple(entry["base"]), shades=shades, grain=grain, rows=_rows(layers, entry.get("rows")))


def _rows(layers: tuple[Layer, ...], entry: dict[str, Any] | None) -> CropRows | None:
    """Plants grow on the first layer of furrows."""
    if entry is None:
        return None
    furrows = next(layer for layer in layers if isinstance(layer, Furrows))
    return CropRows(furrows=furrows, **{**entry, "albedo": tuple(entry["albedo"])})
