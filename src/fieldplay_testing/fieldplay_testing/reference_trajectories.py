"""Ways that a robot may go, for the tests of trajectories."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def headings(yaw: Array) -> Rotation:
    """Rotations (n,) about z."""
    return Rotation.from_euler("z", np.reshape(yaw, (-1, 1)))


def transforms(rotation: Rotation, position: Array) -> Array:
    """Poses (n, 4, 4)."""
    poses = np.tile(np.eye(4), (len(position), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = rotation.as_matrix(), position
    return poses


def wander(count: int, *, seed: int = 0, step_m: float = 0.05) -> Array:
    """A way (n, 4, 4) over hills with bends to either side, the robot tilted."""
    random = np.random.default_rng(seed)
    angles = np.cumsum(random.normal(0, [0.01, 0.01, 0.05], (count, 3)), axis=0)
    turns = Rotation.from_euler("xyz", angles)
    return transforms(turns, np.cumsum(turns.apply([step_m, 0, 0]), axis=0))


def drift_trajectory(truth: Array, *, seed: int = 1) -> Array:
    """Return a trajectory as an odometry has it: with errors in its motions, from another start."""
    random = np.random.default_rng(seed)
    motions = np.linalg.inv(truth[:-1]) @ truth[1:]
    errors = transforms(
        Rotation.from_rotvec(random.normal(0, 0.003, (len(motions), 3))), random.normal(0, 0.002, (len(motions), 3))
    )
    poses = [transforms(Rotation.from_euler("xyz", [[0.1, -0.2, 2.0]]), np.array([[3.0, -4.0, 1.0]]))[0]]
    for motion in motions @ errors:
        poses.append(poses[-1] @ motion)
    return np.array(poses)
