"""The ground: its height, slope and colour at any place, the same for wheels, lidars and cameras."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay_samples.world import relief
from fieldplay_samples.world.layers import CELL_M, Layer, heights_from_layers
from fieldplay_samples.world.soil import Soil

Array = NDArray[np.float64]
KEPT = 4  # grids of terrains


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
        return relief.heights_m(relief_of(self), x, y) + self.slope[0] * x + self.slope[1] * y

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """dz/dx and dz/dy (...) at x, y (...)."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        east, north = relief.slopes(relief_of(self), x, y)
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


def relief_of(terrain: Terrain) -> relief.GroundRelief:
    """The grid that a terrain's layers make, without its overall slope; kept for the terrains used last."""
    if terrain not in _reliefs:
        keep_reliefs({terrain: _made_relief(terrain)})
    return _reliefs[terrain]


def kept_reliefs() -> dict[Terrain, relief.GroundRelief]:
    """The grids that are there, for another process to keep: to make one takes seconds."""
    return dict(_reliefs)


def keep_reliefs(reliefs: Mapping[Terrain, relief.GroundRelief]) -> None:
    """Keep grids that were made, a few at most."""
    _reliefs.update(reliefs)
    for terrain in list(_reliefs)[:-KEPT]:
        del _reliefs[terrain]


def _made_relief(terrain: Terrain) -> relief.GroundRelief:
    heights = heights_from_layers(terrain.layers, terrain.seed)
    weights = np.array([1.0, 6.0, 1.0]) / 8.0  # of the control points about one, in the surface above it
    about_origin = heights[np.ix_((-1, 0, 1), (-1, 0, 1))].astype(np.float32)
    return relief.relief_from_heights(heights - weights @ about_origin @ weights, CELL_M)


_reliefs: dict[Terrain, relief.GroundRelief] = {}
