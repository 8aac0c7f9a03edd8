"""How far points are from what there truly is: ground with a box on it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.frames import floats
from fieldplay_samples.world.terrain import Terrain

Array = NDArray[np.float64]
REACH_M = 0.2  # from a face, within which points are taken for it; it is below half the shortest length
EDGE_M = 0.05  # from a face's edges, where points belong to another
OFF_GROUND_M = 0.1  # beyond which points are none of the ground beside a face
FEWEST = 20
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


def _face(own: Array, halves: Array, *, axis: int, sign: int) -> float:
    """Where a face is along its axis, by points (n, 3) in the box's own axes that are near it and off its edges."""
    across = [other for other in range(3) if other != axis]
    near = np.abs(sign * own[:, axis] - halves[axis]) < REACH_M
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
        own = (points - pose[:3, 3]) @ pose[:3, :3]
        raised = own[self.ground_distance_m(points) > OFF_GROUND_M]
        sides = [
            _face(raised, halves, axis=axis, sign=1) - _face(raised, halves, axis=axis, sign=-1) for axis in (0, 1)
        ]
        beside = np.abs(own[:, :2]) - halves[:2]
        ground = (beside.max(axis=1) > REACH_M) & (beside.max(axis=1) < 2 * REACH_M) & (own[:, 2] < 0)
        feet = points[ground].copy()
        feet[:, 2] = self.terrain.height_m(feet[:, 0], feet[:, 1])
        true_ground = ((feet - pose[:3, 3]) @ pose[:3, :3])[:, 2]
        height = _face(own, halves, axis=2, sign=1) - _median(own[ground, 2])
        return floats([*sides, height]), floats([*self.box.sizes_m[:2], halves[2] - _median(true_ground)])

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
