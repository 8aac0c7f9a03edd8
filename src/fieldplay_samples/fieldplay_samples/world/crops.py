"""Rows of plants on the crests of furrows, as the ground's colour shows them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.layers import Furrows

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class CropRows:
    """A green strip of width_m on each crest; patchiness moves its edges by that share of the width."""

    furrows: Furrows
    albedo: tuple[float, float, float]
    width_m: float
    patchiness: float = 0.3

    def share(self, x: Array, y: Array, *, raggedness: Single, footprint_m: Single) -> Single:
        """How much of the ground (...) at x, y (...) the plants cover; raggedness (...) has about rms 1."""
        turns = self.furrows.phase(x, y) / (2 * np.pi)
        aside = np.abs(turns - np.round(turns)).astype(np.float32) * self.furrows.pitch_m
        edge = self.width_m / 2 * (1 + self.patchiness * raggedness)
        blur = self.width_m / 8 + footprint_m / 2
        near = 1 / (1 + np.exp(np.clip((aside - edge) / blur * 2, -50, 50)))
        seen = np.clip(2 - 2 * footprint_m / self.furrows.pitch_m, 0.0, 1.0)
        mean: float = self.width_m / self.furrows.pitch_m
        return np.asarray(mean + seen * (near - mean), np.float32)
