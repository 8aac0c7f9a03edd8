"""Rows of plants on the crests of furrows, as the ground's colour shows them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.layers import Furrows

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CropRows:
    """A green strip of width_m on each crest; patchiness moves its edges by that share of the width."""

    furrows: Furrows
    albedo: tuple[float, float, float]
    width_m: float
    patchiness: float = 0.3

    def share(self, x: Array, y: Array, *, raggedness: Array, footprint_m: Array | float) -> Array:
        """How much of the ground (...) at x, y (...) the plants cover; raggedness (...) has about rms 1."""
        aside = np.abs(np.angle(np.exp(1j * self.furrows.phase(x, y)))) / (2 * np.pi) * self.furrows.pitch_m
        edge = self.width_m / 2 * (1 + self.patchiness * raggedness)
        blur = self.width_m / 8 + np.asarray(footprint_m) / 2
        near = 1 / (1 + np.exp(np.clip((aside - edge) / blur * 2, -50, 50)))
        seen = np.clip(2 - 2 * np.asarray(footprint_m) / self.furrows.pitch_m, 0.0, 1.0)
        mean: float = self.width_m / self.furrows.pitch_m
        return np.asarray(mean + seen * (near - mean))
