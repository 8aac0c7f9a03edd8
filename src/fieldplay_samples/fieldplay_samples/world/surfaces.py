"""How far points are from what there truly is: ground with a box on it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.terrain import Terrain

Array = NDArray[np.float64]
STEPS = 3  # towards the foot of a perpendicular on the ground; it is nearly a plane


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


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundWithBox:
    """The surfaces of a world: of the ground and of a box on it."""

    terrain: Terrain
    box: StandingBox

    def distance_m(self, points: Array) -> Array:
        """How far (n,) points (n, 3) of the world in m, east north up, are from the nearer of the two surfaces."""
        return np.asarray(np.minimum(np.abs(self.box.distance_m(points)), self.ground_distance_m(points)))

    def ground_distance_m(self, points: Array) -> Array:
        """How far (n,) points (n, 3) are from the ground."""
        foot = points[:, :2].copy()
        for _ in range(STEPS):
            normal = self.terrain.normal(*foot.T)
            height = points[:, 2] - self.terrain.height_m(*foot.T)
            away = np.einsum("nc,nc->n", np.column_stack([points[:, :2] - foot, height]), normal)
            foot = points[:, :2] - away[:, None] * normal[:, :2]
        beside = np.column_stack([foot, self.terrain.height_m(*foot.T)])
        return np.asarray(np.linalg.norm(points - beside, axis=1))
