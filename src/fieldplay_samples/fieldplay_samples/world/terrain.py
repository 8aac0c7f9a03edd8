"""The ground: its height, slope and colour at any place, the same for wheels, lidars and cameras."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.world.layers import (
    CELL_M,
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
Indices = NDArray[np.int64]
MAX_CACHED = 4  # grids of terrains
REACH_M = 0.2  # from a face, within which points are taken for it; it is below half the shortest length
EDGE_M = 0.05  # from a face's edges, where points belong to another
OFF_GROUND_M = 0.1  # beyond which points are none of the ground beside a face
FEWEST = 20
STEPS = 3  # towards the foot of a perpendicular on the ground; it is nearly a plane
KINDS: dict[str, type[Unevenness] | type[Furrows]] = {"noise": Unevenness, "furrows": Furrows}


# A relief: heights on a periodic grid, and between them the smooth surface that everything stands on and sees.
#
# The grid's values are the control points of a biquadratic B-spline: neither the surface nor its slope has a step, and
# over each cell (a square of cell_m about a control point) it stays within bounds known beforehand.


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundRelief:
    """Control points of heights in m, row along y, column along x, with those beyond each edge; n is a power of two.

    `peaks` has the maxima of the surface over squares of 1, 2, 4 ... n cells, one level after the other; `nodes` the
    surface itself above each control point.
    """

    cell_m: float
    bordered_m: NDArray[np.float32]
    nodes_m: NDArray[np.float32]
    peaks_m: NDArray[np.float32]
    first_peak: Indices

    @property
    def control_m(self) -> NDArray[np.float32]:
        """The control points (n, n) themselves."""
        return self.bordered_m[1:-1, 1:-1]

    @property
    def cells(self) -> int:
        """The number of cells along each side of the period."""
        return len(self.bordered_m) - 2


def relief_from_heights(heights_m: Array, cell_m: float) -> GroundRelief:
    """The relief whose control points are heights (n, n)."""
    control = heights_m.astype(np.float32)
    levels = [_cell_peaks(control)]
    while levels[-1].size > 1:
        rows = np.maximum(levels[-1][::2], levels[-1][1::2])
        levels.append(np.maximum(rows[:, ::2], rows[:, 1::2]))
    first = np.cumsum([0, *(level.size for level in levels)])[:-1]
    peaks = np.concatenate([level.ravel() for level in levels])
    return GroundRelief(
        cell_m=cell_m,
        bordered_m=np.pad(control, 1, mode="wrap"),
        nodes_m=_at_nodes(_at_nodes(control, 0), 1),
        peaks_m=peaks,
        first_peak=first.astype(np.int64),
    )


def _at_nodes(control: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    neighbours = np.roll(control, 1, axis) + np.roll(control, -1, axis)
    return np.asarray(np.float32(0.75) * control + np.float32(0.125) * neighbours, np.float32)


def _cell_peaks(control: NDArray[np.float32]) -> NDArray[np.float32]:
    """No lower than the surface over each cell (n, n): the highest of the cell's nine Bezier points."""
    return np.asarray(_highest_of_three(_highest_of_three(control, 0), 1) + np.float32(1e-5))


def _highest_of_three(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    before = (values + np.roll(values, 1, axis)) / 2
    return np.asarray(np.maximum(values, np.maximum(before, np.roll(before, -1, axis))), np.float32)


def heights_m(relief: GroundRelief, x: Array, y: Array) -> Array:
    """Heights (...) at x, y (...), in m."""
    return _surface(relief, x, y, sloped=False)[0]


def slopes(relief: GroundRelief, x: Array, y: Array) -> tuple[Array, Array]:
    """The slopes dz/dx and dz/dy (...) at x, y (...) in m."""
    _, east, north = surface(relief, x, y)
    return east, north


def surface(relief: GroundRelief, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Heights (...) in m and slopes dz/dx and dz/dy (...) at x, y (...) in m."""
    height, east, north = _surface(relief, x, y, sloped=True)
    return height, east, north


def _surface(relief: GroundRelief, x: Array, y: Array, *, sloped: bool) -> tuple[Array, ...]:
    (column, across), (row, along) = _nearest(x / relief.cell_m), _nearest(y / relief.cell_m)
    mask, width = relief.cells - 1, relief.cells + 2
    first = (row & mask) * width + (column & mask)  # of the nine control points about a place
    sides, turned = _weights(across), _slope_weights(across)
    total = np.zeros((3 if sloped else 1, *first.shape))
    for down, (weight, tilt) in enumerate(zip(_weights(along), _slope_weights(along), strict=True)):
        three = [_beyond(relief, down * width + right).take(first) for right in (0, 1, 2)]
        line = _sum_of_three(sides, three)
        total[0] += weight * line
        if sloped:
            total[1] += weight * _sum_of_three(turned, three)
            total[2] += tilt * line
    total[1:] /= relief.cell_m
    return tuple(total)


def _beyond(relief: GroundRelief, first: int) -> NDArray[np.float32]:
    return relief.bordered_m.ravel()[first:]


def _sum_of_three(weights: tuple[Array, Array, Array], values: list[NDArray[np.float32]]) -> Array:
    total = weights[0] * values[0]
    total += weights[1] * values[1]
    total += weights[2] * values[2]
    return np.asarray(total)


def _nearest(cells: Array) -> tuple[Indices, Array]:
    """The nearest control point, and how far on from it a place is, in cells."""
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
        return heights_m(relief_of(self), x, y) + self.slope[0] * x + self.slope[1] * y

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """dz/dx and dz/dy (...) at x, y (...)."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        east, north = slopes(relief_of(self), x, y)
        return east + self.slope[0], north + self.slope[1]

    def normal(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Unit normals (..., 3) at x, y (...), pointing up."""
        east, north = self.slopes(x, y)
        normal = np.stack([-east, -north, np.ones_like(east)], axis=-1)
        return np.asarray(normal / np.sqrt(np.square(east) + np.square(north) + 1)[..., None])

    def colour(self, x: ArrayLike, y: ArrayLike, footprint_m: ArrayLike = 0.0) -> Array:
        """Albedo (..., 3) in 0..1 at x, y (...), averaged over about footprint_m (...)."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        return np.minimum(self.soil.albedo(x, y, np.asarray(footprint_m, float)), 1.0)


def relief_of(terrain: Terrain) -> GroundRelief:
    """The grid that a terrain's layers make, without its overall slope; kept for the terrains used last."""
    if terrain not in _reliefs:
        keep_reliefs({terrain: _make_relief(terrain)})
    return _reliefs[terrain]


def cached_reliefs() -> dict[Terrain, GroundRelief]:
    """Return the cached grids, for another process: to compute one takes seconds."""
    return dict(_reliefs)


def keep_reliefs(reliefs: Mapping[Terrain, GroundRelief]) -> None:
    """Keep grids that were made, a few at most."""
    _reliefs.update(reliefs)
    for terrain in list(_reliefs)[:-MAX_CACHED]:
        del _reliefs[terrain]


def _make_relief(terrain: Terrain) -> GroundRelief:
    heights = heights_from_layers(terrain.layers, terrain.seed)
    weights = np.array([1.0, 6.0, 1.0]) / 8.0  # of the control points about one, in the surface above it
    about_origin = heights[np.ix_((-1, 0, 1), (-1, 0, 1))].astype(np.float32)
    return relief_from_heights(heights - weights @ about_origin @ weights, CELL_M)


_reliefs: dict[Terrain, GroundRelief] = {}


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
    entry = _worlds()[name]
    layers = tuple(_layer(**layer) for layer in entry["layers"])
    return Terrain(
        seed=seed,
        layers=layers,
        soil=_soil(entry["soil"], seed, layers),
        slope=(entry["slope"][0], entry["slope"][1]),
    )


@lru_cache(maxsize=1)
def _worlds() -> dict[str, Any]:
    text = (resources.files("fieldplay_samples") / "data" / "worlds.yaml").read_text("utf-8")
    worlds: dict[str, Any] = yaml.safe_load(text)
    return worlds


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
