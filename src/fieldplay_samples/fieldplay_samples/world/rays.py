"""Rays: straight lines from a place in a direction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rays:
    """Rays from origins along directions, both (n, 3); distances along them are in lengths of the directions."""

    origins: Array
    directions: Array

    def __len__(self) -> int:
        return len(self.origins)

    def taken(self, rows: NDArray[np.intp]) -> "Rays":
        """The rays of those numbers (m,)."""
        return Rays(origins=self.origins.take(rows, axis=0), directions=self.directions.take(rows, axis=0))

    def part(self, rows: slice) -> "Rays":
        """The rays of those rows."""
        return Rays(origins=self.origins[rows], directions=self.directions[rows])

    def points(self, distance_m: Array) -> Array:
        """Where (n, 3) the rays are at distances (n,)."""
        return np.asarray(self.origins + distance_m[:, None] * self.directions)
