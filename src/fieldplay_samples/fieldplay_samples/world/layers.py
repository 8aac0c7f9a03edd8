"""Layers that a ground is made of; each one is a periodic grid of heights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.noise import periodic_noise

Array = NDArray[np.float64]

CELL_M = 0.1
CELLS = 2048
PERIOD_M = CELL_M * CELLS
HOLLOWS = (0.02, 0.35)  # the shares of the ground that are lower: where hollows are deepest, and where they end


@dataclass(frozen=True, kw_only=True)
class Unevenness:
    """Fractal unevenness with wavelengths from shortest_m to longest_m.

    `in_hollows` is the share of it that is left in the hollows of the ground's first layer, where ash gathers.
    """

    rms_m: float
    longest_m: float
    shortest_m: float
    roughness: float = 1.0
    in_hollows: float = 1.0

    def heights_m(self, rng: np.random.Generator) -> Array:
        """The layer's grid (n, n)."""
        longest, shortest = self.longest_m / CELL_M, self.shortest_m / CELL_M
        return self.rms_m * periodic_noise(rng, CELLS, longest=longest, shortest=shortest, roughness=self.roughness)


@dataclass(frozen=True, kw_only=True)
class Furrows:
    """Straight furrows, depth_m from crest to bottom, running along heading_deg (from east to north).

    Pitch and heading are moved to the nearest ones that fit the period: by less than a hundredth of the pitch.
    """

    pitch_m: float
    depth_m: float
    heading_deg: float = 0.0

    def waves(self) -> tuple[int, int]:
        """Whole furrows in a period along x and along y."""
        heading, count = np.deg2rad(self.heading_deg), PERIOD_M / self.pitch_m
        return round(-np.sin(heading) * count), round(np.cos(heading) * count)

    def phase(self, x: Array, y: Array) -> Array:
        """The phase (...) in rad at x, y (...) in m; a crest has 0."""
        along_x, along_y = self.waves()
        return 2 * np.pi / PERIOD_M * (along_x * x + along_y * y)

    def heights_m(self, rng: np.random.Generator) -> Array:
        """The layer's grid (n, n)."""
        along = np.arange(CELLS, dtype=np.float64) * CELL_M
        turns = 2 * np.pi * CELL_M / PERIOD_M * np.array(self.waves())
        flattened = np.prod(0.75 + 0.25 * np.cos(turns))  # what the spline makes of a wave through its control points
        return np.asarray(self.depth_m / 2 / flattened * np.cos(self.phase(along[None, :], along[:, None])))


Layer = Unevenness | Furrows


def heights_from_layers(layers: tuple[Layer, ...], seed: int) -> Array:
    """The sum of the layers (n, n), the noise moved so that the deepest hollow of the first one is at the origin."""
    grids = [layer.heights_m(np.random.default_rng([seed, index])) for index, layer in enumerate(layers)]
    open_ground = _outside_hollows(grids[0])
    down, right = np.unravel_index(grids[0].argmin(), grids[0].shape)
    total = np.zeros_like(grids[0])
    for layer, grid in zip(layers, grids, strict=True):
        if isinstance(layer, Unevenness):
            share = layer.in_hollows + (1 - layer.in_hollows) * open_ground
            total += np.roll(share * grid, (-int(down), -int(right)), axis=(0, 1))
        else:
            total += grid
    return total


def _outside_hollows(heights: Array) -> Array:
    """From 0 in the deepest hollows to 1 on two thirds of the ground."""
    deep, shallow = np.quantile(heights[::16, ::16], HOLLOWS)
    rise = np.clip((heights - deep) / max(shallow - deep, 1e-9), 0.0, 1.0)
    return np.asarray(rise * rise * (3 - 2 * rise))
