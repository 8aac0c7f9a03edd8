"""Rigid transforms as arrays (..., 4, 4), named parent_T_child: p_parent = parent_T_child @ p_child.

Angles are radians, quaternions (..., 4) in the order x y z w. All functions take whole batches.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEW_ROTATIONS = 16  # for so many, plain numbers are faster than NumPy
Array = NDArray[np.float64]


def rotation_about_axis(axis: int, angle: ArrayLike) -> Array:
    """Compute rotations about one axis.

    Args:
        axis: 0, 1 or 2 for x, y or z.
        angle: angles (...) in rad.

    Returns:
        Rotation matrices (..., 3, 3).
    """
    angle = np.asarray(angle, float)
    cos, sin = np.cos(angle), np.sin(angle)
    second, third = (axis + 1) % 3, (axis + 2) % 3
    rotation = np.zeros((*angle.shape, 3, 3))
    rotation[..., axis, axis] = 1.0
    rotation[..., second, second] = rotation[..., third, third] = cos
    rotation[..., second, third] = -sin
    rotation[..., third, second] = sin
    return rotation


def rotation_from_fixed_xyz(rpy: ArrayLike) -> Array:
    """Compute rotations about the fixed axes x, then y, then z: Rz(yaw) Ry(pitch) Rx(roll), as in a URDF.

    Args:
        rpy: roll, pitch, yaw (..., 3) in rad.

    Returns:
        Rotation matrices (..., 3, 3).
    """
    rpy = np.asarray(rpy, float)
    return (
        rotation_about_axis(2, rpy[..., 2]) @ rotation_about_axis(1, rpy[..., 1]) @ rotation_about_axis(0, rpy[..., 0])
    )


def rotation_from_moving_xyz(angles: ArrayLike) -> Array:
    """Compute rotations about x, then the rotated y, then the rotated z: Rx(a) Ry(b) Rz(c).

    Args:
        angles: angles (..., 3) in rad about x, y and z.

    Returns:
        Rotation matrices (..., 3, 3).
    """
    angles = np.asarray(angles, float)
    x, y, z = (rotation_about_axis(axis, angles[..., axis]) for axis in range(3))
    return x @ y @ z


def rotation_from_vector(vector: ArrayLike) -> Array:
    """Compute rotations from rotation vectors; exact for small ones too.

    Args:
        vector: rotation vectors (..., 3), whose direction is the axis and whose length the angle in rad.

    Returns:
        Rotation matrices (..., 3, 3).
    """
    vector = np.asarray(vector, float)
    half = np.linalg.norm(vector, axis=-1, keepdims=True) / 2
    return rotation_from_quaternion(np.concatenate([vector * np.sinc(half / np.pi) / 2, np.cos(half)], axis=-1))


def vector_from_rotation(rotation: ArrayLike) -> Array:
    """Compute rotation vectors from rotations.

    Args:
        rotation: rotation matrices (..., 3, 3).

    Returns:
        Rotation vectors (..., 3) along the axes, with the angles in rad as lengths, at most pi.
    """
    quaternion = quaternion_from_rotation(rotation)
    sine = np.linalg.norm(quaternion[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quaternion[..., 3:])
    return quaternion[..., :3] * np.where(sine > 0, angle / np.maximum(sine, 1e-300), 2.0)


def transform_from_rotation(rotation: ArrayLike, translation: ArrayLike) -> Array:
    """Compose transforms from rotations and translations.

    Args:
        rotation: rotation matrices (..., 3, 3).
        translation: translations (..., 3) in m, which broadcast with the rotations.

    Returns:
        Transforms (..., 4, 4).

    Example:
        >>> base_t_camera = transform_from_rotation(np.eye(3), [0.5, 0.0, 1.2])
        >>> transform_points(base_t_camera, np.array([[1.0, 2.0, 3.0]])).tolist()
        [[1.5, 2.0, 4.2]]
    """
    rotation, translation = np.asarray(rotation, float), np.asarray(translation, float)
    shape = np.broadcast_shapes(rotation.shape[:-2], translation.shape[:-1])
    transform = np.zeros((*shape, 4, 4))
    transform[..., :3, :3] = rotation
    transform[..., :3, 3] = translation
    transform[..., 3, 3] = 1.0
    return transform


def transform_from_vectors(rotation_vector: ArrayLike, translation: ArrayLike) -> Array:
    """Compose transforms from rotation vectors and translations.

    Args:
        rotation_vector: rotation vectors (..., 3) in rad.
        translation: translations (..., 3) in m.

    Returns:
        Transforms (..., 4, 4).
    """
    return transform_from_rotation(rotation_from_vector(rotation_vector), translation)


def transform_points(transform: Array, points: Array) -> Array:
    """Transform points from the child frame to the parent frame.

    Args:
        transform: parent_T_child (..., 4, 4).
        points: points (..., n, 3) in the child frame, n for each transform.

    Returns:
        The points (..., n, 3) in the parent frame.
    """
    return points @ np.swapaxes(transform[..., :3, :3], -1, -2) + transform[..., None, :3, 3]


def inverse_from_transform(transform: ArrayLike) -> Array:
    """Invert rigid transforms.

    Args:
        transform: parent_T_child (..., 4, 4), whose rotation is taken as orthonormal.

    Returns:
        child_T_parent (..., 4, 4).
    """
    transform = np.asarray(transform, float)
    turned_back = np.swapaxes(transform[..., :3, :3], -1, -2)
    return transform_from_rotation(turned_back, -(turned_back @ transform[..., :3, 3:])[..., 0])


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Compute rotations from quaternions.

    Args:
        quaternion: quaternions x y z w (..., 4) of any length but zero.

    Returns:
        Rotation matrices (..., 3, 3).

    Raises:
        ValueError: a quaternion has length 0 or is not a number.
    """
    quaternion = np.asarray(quaternion, float)
    norm = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    if not np.all(norm > 0):
        raise ValueError("a quaternion of length 0 (or NaN) is no rotation")
    x, y, z, w = np.moveaxis(quaternion / norm, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _quaternion_of_numbers(
    xx: float, r01: float, r02: float, r10: float, yy: float, r12: float, r20: float, r21: float, zz: float
) -> list[float]:
    """The same for one rotation, row by row, with the same roundings: for few, NumPy costs more than it saves."""
    xy, xz, yz = r10 + r01, r02 + r20, r21 + r12
    xw, yw, zw = r21 - r12, r02 - r20, r10 - r01
    products = (
        (1 + xx - yy - zz, xy, xz, xw),
        (xy, 1 - xx + yy - zz, yz, yw),
        (xz, yz, 1 - xx - yy + zz, zw),
        (xw, yw, zw, 1 + xx + yy + zz),
    )
    diagonal = [products[index][index] for index in range(4)]
    largest = next((index for index in range(4) if diagonal[index] != diagonal[index]), None)  # NaN, as argmax has it
    x, y, z, w = products[diagonal.index(max(diagonal)) if largest is None else largest]
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not norm:
        return [math.nan] * 4
    quaternion = [x / norm, y / norm, z / norm, w / norm]
    return [-number for number in quaternion] if quaternion[3] < 0 else quaternion


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """Compute quaternions from rotations.

    All products of two components follow from the matrix; the row of the largest component is the exact one.

    Args:
        rotation: rotation matrices (..., 3, 3); NaN gives NaN.

    Returns:
        Unit quaternions x y z w (..., 4), w >= 0.
    """
    r = np.asarray(rotation, float)
    if r.size <= FEW_ROTATIONS * 9:
        rows = [_quaternion_of_numbers(*numbers) for numbers in r.reshape(-1, 9).tolist()]
        return np.array(rows, float).reshape(*r.shape[:-2], 4)
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    xy, xz, yz = r[..., 1, 0] + r[..., 0, 1], r[..., 0, 2] + r[..., 2, 0], r[..., 2, 1] + r[..., 1, 2]
    xw, yw, zw = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    products = np.array(
        [
            [1 + xx - yy - zz, xy, xz, xw],
            [xy, 1 - xx + yy - zz, yz, yw],
            [xz, yz, 1 - xx - yy + zz, zw],
            [xw, yw, zw, 1 + xx + yy + zz],
        ]
    )
    products = np.moveaxis(products, (0, 1), (-2, -1))
    largest = np.argmax(np.diagonal(products, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    positive: Array = np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)
    return positive


def fixed_xyz_from_rotation(rotation: ArrayLike) -> Array:
    """Compute roll, pitch and yaw about the fixed axes x, then y, then z.

    Args:
        rotation: rotation matrices (..., 3, 3).

    Returns:
        Roll, pitch, yaw (..., 3) in rad; at a pitch of +-pi/2 roll and yaw are not unique, and roll is 0.

    Example:
        >>> fixed_xyz_from_rotation(rotation_about_axis(2, 0.25))[2].round(6).item()
        0.25
    """
    r = np.asarray(rotation, float)
    pitch = np.arctan2(-r[..., 2, 0], np.hypot(r[..., 0, 0], r[..., 1, 0]))
    upright = np.hypot(r[..., 0, 0], r[..., 1, 0]) < 1e-9
    roll = np.where(upright, 0.0, np.arctan2(r[..., 2, 1], r[..., 2, 2]))
    yaw = np.where(upright, np.arctan2(-r[..., 0, 1], r[..., 1, 1]), np.arctan2(r[..., 1, 0], r[..., 0, 0]))
    return np.stack([roll, pitch, yaw], axis=-1)
