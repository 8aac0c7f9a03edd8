"""Vectors, rotations and covariances from the axes of an archive to those of ROS: FLU bodies in an ENU world (REP-103).

FRD is forward right down, FLU forward left up; NED north east down, NWU north west up, ENU east north up.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

FLU_FROM_FRD = np.array([1.0, -1.0, -1.0])
QUARTER_TURN = np.pi / 2


def flu_from_frd(vectors: ArrayLike) -> Array:
    """Convert vectors of a body from forward right down to forward left up.

    The function is its own inverse.

    Args:
        vectors: vectors or rates (..., 3) in the FRD body frame, of any unit.

    Returns:
        The vectors (..., 3) in the FLU body frame.

    Example:
        >>> flu_from_frd([1.0, 2.0, 3.0]).tolist()
        [1.0, -2.0, -3.0]
    """
    turned: Array = np.asarray(vectors, float) * FLU_FROM_FRD
    return turned


def enu_from_ned(vectors: ArrayLike) -> Array:
    """Convert vectors in the world from north east down to east north up.

    Args:
        vectors: vectors (..., 3) in NED, of any unit.

    Returns:
        The vectors (..., 3) in ENU.

    Example:
        >>> enu_from_ned([1.0, 2.0, 3.0]).tolist()
        [2.0, 1.0, -3.0]
    """
    vectors = np.asarray(vectors, float)
    return np.stack([vectors[..., 1], vectors[..., 0], -vectors[..., 2]], axis=-1)


def enu_rpy_from_ned_rpy(rpy: ArrayLike) -> Array:
    """Convert the attitude of an FRD body in NED to that of the FLU body in ENU.

    Args:
        rpy: roll, pitch, yaw (..., 3) in rad about fixed axes; yaw is clockwise from north.

    Returns:
        Roll, pitch, yaw (..., 3) in rad about fixed axes; yaw is counter-clockwise from east and not wrapped.
    """
    rpy = np.asarray(rpy, float)
    return np.stack([rpy[..., 0], -rpy[..., 1], QUARTER_TURN - rpy[..., 2]], axis=-1)


def quaternion_from_fixed_xyz(rpy: ArrayLike) -> Array:
    """Compute quaternions of rotations about the fixed axes x, then y, then z.

    Args:
        rpy: roll, pitch, yaw (..., 3) in rad.

    Returns:
        Unit quaternions x y z w (..., 4), w >= 0.

    Example:
        >>> quaternion_from_fixed_xyz([0.0, 0.0, np.pi / 2]).round(4).tolist()
        [0.0, 0.0, 0.7071, 0.7071]
    """
    half = np.asarray(rpy, float) / 2
    (sr, sp, sy), (cr, cp, cy) = np.moveaxis(np.sin(half), -1, 0), np.moveaxis(np.cos(half), -1, 0)
    quaternion = np.stack(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ],
        axis=-1,
    )
    return np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)


def quaternion_from_moving_xyz(angles: ArrayLike) -> Array:
    """Compute quaternions of rotations about x, then the rotated y, then the rotated z.

    Args:
        angles: angles (..., 3) in rad about x, y and z.

    Returns:
        Unit quaternions x y z w (..., 4), w >= 0.
    """
    half = np.asarray(angles, float) / 2
    (sa, sb, sc), (ca, cb, cc) = np.moveaxis(np.sin(half), -1, 0), np.moveaxis(np.cos(half), -1, 0)
    quaternion = np.stack(
        [
            sa * cb * cc + ca * sb * sc,
            ca * sb * cc - sa * cb * sc,
            ca * cb * sc + sa * sb * cc,
            ca * cb * cc - sa * sb * sc,
        ],
        axis=-1,
    )
    return np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)


def rotate_vectors(quaternions: ArrayLike, vectors: ArrayLike) -> Array:
    """Rotate vectors by quaternions.

    Args:
        quaternions: unit quaternions x y z w (..., 4); their length is not checked.
        vectors: vectors (..., 3), which broadcast with the quaternions.

    Returns:
        The rotated vectors (..., 3).
    """
    quaternions, vectors = np.asarray(quaternions, float), np.asarray(vectors, float)
    axis, w = quaternions[..., :3], quaternions[..., 3:]
    twice = 2 * np.cross(axis, vectors)
    turned: Array = vectors + w * twice + np.cross(axis, twice)
    return turned


def diagonal(variances: ArrayLike) -> Array:
    """Make covariances of independent axes.

    Args:
        variances: variances (..., k).

    Returns:
        Covariances (..., k, k), zero off the diagonal.
    """
    variances = np.asarray(variances, float)
    covariances: Array = variances[..., :, None] * np.eye(variances.shape[-1])
    return covariances
