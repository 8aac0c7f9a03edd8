"""Rotations and transforms on arrays, batch first: `(..., 3, 3)` and `(..., 4, 4)`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def floats(values: ArrayLike) -> Floats:
    """Values as an array of float64."""
    return np.asarray(values, dtype=np.float64)


def rotation_about(axis: ArrayLike, angle_rad: ArrayLike) -> Floats:
    """Rotations (..., 3, 3) about one unit axis (3,) by angles (...): Rodrigues' formula."""
    cross = cross_matrix(floats(axis))
    angle = floats(angle_rad)[..., None, None]
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


def cross_matrix(vector: Floats) -> Floats:
    """The matrix (3, 3) of `vector x .`, of one vector (3,)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation_from_fixed_angles(angles_rad: ArrayLike) -> Floats:
    """Rotations (..., 3, 3) of roll, pitch, yaw (..., 3) about fixed axes: `Rz(yaw) Ry(pitch) Rx(roll)`."""
    angles = floats(angles_rad)
    about_z = rotation_about((0, 0, 1), angles[..., 2])
    return about_z @ rotation_about((0, 1, 0), angles[..., 1]) @ rotation_about((1, 0, 0), angles[..., 0])


def fixed_angles_from_rotation(rotation: Floats) -> Floats:
    """Roll, pitch, yaw (..., 3) in rad, about fixed axes; pitch in -90..90 degrees."""
    roll = np.arctan2(rotation[..., 2, 1], rotation[..., 2, 2])
    pitch = np.arctan2(-rotation[..., 2, 0], np.hypot(rotation[..., 2, 1], rotation[..., 2, 2]))
    yaw = np.arctan2(rotation[..., 1, 0], rotation[..., 0, 0])
    return np.stack([roll, pitch, yaw], axis=-1)


def quaternion_from_rotation(rotation: Floats) -> Floats:
    """Unit quaternions (n, 4), x y z w with w >= 0, of rotations (n, 3, 3)."""
    trace = np.trace(rotation, axis1=-2, axis2=-1)
    outer = np.empty((*rotation.shape[:-2], 4, 4))  # four times the product of the quaternion with itself
    outer[..., :3, :3] = rotation + np.swapaxes(rotation, -1, -2) + np.eye(3) * (1.0 - trace)[..., None, None]
    for row, (upper, lower) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[..., row, 3] = outer[..., 3, row] = rotation[..., upper, lower] - rotation[..., lower, upper]
    outer[..., 3, 3] = 1.0 + trace
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    row_of_largest = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    quaternion = row_of_largest / np.linalg.norm(row_of_largest, axis=-1, keepdims=True)
    return floats(np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion))


def transform(rotation: Floats, translation: ArrayLike) -> Floats:
    """Transforms (..., 4, 4) of rotations (..., 3, 3) and translations (..., 3)."""
    offset = floats(translation)
    result = np.zeros((*np.broadcast_shapes(rotation.shape[:-2], offset.shape[:-1]), 4, 4))
    result[..., :3, :3] = rotation
    result[..., :3, 3] = offset
    result[..., 3, 3] = 1.0
    return result


def inverse(a_transform_b: Floats) -> Floats:
    """Invert transforms (..., 4, 4)."""
    back = np.swapaxes(a_transform_b[..., :3, :3], -1, -2)
    return transform(back, -(back @ a_transform_b[..., :3, 3:])[..., 0])


def transform_points(a_transform_b: Floats, points: Floats) -> Floats:
    """Transform points (..., 3) from b to a."""
    return floats((a_transform_b[..., :3, :3] @ points[..., None])[..., 0] + a_transform_b[..., :3, 3])


def rotate_vectors(rotation: Floats, vectors: Floats) -> Floats:
    """Rotate vectors (..., 3) by rotations (..., 3, 3)."""
    return floats((rotation @ vectors[..., None])[..., 0])


def flip_axes(vectors: Floats, axes: Sequence[int] = (1, 2)) -> Floats:
    """Reverse some axes of vectors (..., 3): by default from forward-left-up to forward-right-down and back."""
    axis_signs = np.ones(3)
    axis_signs[list(axes)] = -1.0
    return vectors * axis_signs
