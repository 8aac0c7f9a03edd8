"""Clouds of a body among others on rough ground, as a sensor above sees them: what looks away from it is not there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
SENSOR = np.array([0.0, -4.0, 2.5])  # above the ground; it is the origin of the clouds
CLUTTER, OF_EACH, OF_GROUND, MAX_POINTS = 8, 1800, 9000, 20_000
CLEAR_M = 0.9  # of others about the body
NOISE_M = 0.002


class Surface(NamedTuple):
    """Points (n, 3) and normals (n, 3) out of a body."""

    points: Array
    normals: Array


def block(random: np.random.Generator, count: int, half: Array) -> Surface:
    """A block about the origin, by the halves of its sides."""
    areas = np.repeat([half[1] * half[2], half[0] * half[2], half[0] * half[1]], 2)
    faces = random.choice(6, count, p=areas / areas.sum())
    normals = np.zeros((count, 3))
    normals[np.arange(count), faces // 2] = np.where(faces % 2 == 0, -1.0, 1.0)
    points = np.where(normals != 0, normals, random.uniform(-1, 1, (count, 3)))
    return Surface(points * half, normals)


def tube(random: np.random.Generator, count: int, radius: float, half: float) -> Surface:
    """A tube along z about the origin."""
    angles = random.uniform(0, 2 * np.pi, count)
    normals = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=1)
    return Surface(normals * radius + random.uniform(-half, half, (count, 1)) * [0, 0, 1], normals)


def place_surface(surface: Surface, turn: Array, position: Array) -> Surface:
    return Surface(surface.points @ turn.T + position, surface.normals @ turn.T)


def body(random: np.random.Generator, count: int = 6000) -> Surface:
    """A body of 1.3 m without symmetry: two blocks, a tube and a plate."""
    parts = [
        place_surface(block(random, 2 * count // 5, np.array([0.30, 0.20, 0.15])), np.eye(3), np.zeros(3)),
        place_surface(block(random, count // 5, np.array([0.10, 0.10, 0.20])), np.eye(3), np.array([0.15, 0.05, 0.35])),
        place_surface(tube(random, count // 5, 0.07, 0.25), np.eye(3), np.array([-0.2, 0.1, 0.35])),
        place_surface(
            block(random, count // 5, np.array([0.05, 0.25, 0.03])), np.eye(3), np.array([-0.05, -0.40, 0.05])
        ),
    ]
    return Surface(*map(np.concatenate, zip(*parts, strict=True)))


def any_turn(random: np.random.Generator) -> Array:
    turn: Array = Rotation.from_quat(random.normal(size=4)).as_matrix()
    return turn


def any_pose(random: np.random.Generator) -> Array:
    """sensor_T_body (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = any_turn(random)
    pose[:3, 3] = [*random.uniform(-1, 1, 2), random.uniform(-0.1, 0.5)] - SENSOR
    return pose


def scene(random: np.random.Generator, sensor_T_body: Array | None, *, noise_m: float = NOISE_M) -> Array:
    """Points (n, 3) of rough ground, other bodies, and the body where there is a pose, half of which is hidden."""
    parts = []
    if sensor_T_body is not None:
        parts.append(place_surface(body(random), sensor_T_body[:3, :3], sensor_T_body[:3, 3] + SENSOR))
    for _ in range(CLUTTER):
        position = np.array([*random.uniform(-2, 2, 2), random.uniform(0, 0.6)])
        if sensor_T_body is not None and np.linalg.norm(position - sensor_T_body[:3, 3] - SENSOR) < CLEAR_M:
            position[:2] += 1.2 * np.sign(position[:2] - sensor_T_body[:2, 3] - SENSOR[:2])
        is_block = random.random() < 0.6
        size, length = random.uniform(0.08, 0.35, 3), random.uniform(0.1, 0.5)
        other = block(random, OF_EACH, size) if is_block else tube(random, OF_EACH, 0.7 * float(size[0]), length)
        parts.append(place_surface(other, any_turn(random), position))
    flat = random.uniform(-3, 3, (OF_GROUND, 2))
    heights = 0.05 * np.sin(2 * flat[:, 0]) + 0.05 * np.cos(3 * flat[:, 1]) - 0.6
    parts.append(Surface(np.column_stack([flat, heights]), np.tile([0.0, 0.0, 1.0], (OF_GROUND, 1))))
    points, normals = map(np.concatenate, zip(*parts, strict=True))
    points = points[np.einsum("ij,ij->i", normals, SENSOR - points) > 0] - SENSOR
    points = points[random.permutation(len(points))[:MAX_POINTS]]
    return np.asarray(points + random.normal(0, noise_m, points.shape))
