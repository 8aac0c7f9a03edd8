"""Vectors, turns and covariances from the axes of an archive to those of ROS: FLU bodies in an ENU world (REP-103).

FRD is forward right down, FLU forward left up; NED north east down, NWU north west up, ENU east north up.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

FLU_FROM_FRD = np.array([1.0, -1.0, -1.0])
QUARTER_TURN = np.pi / 2


def flu_from_frd(vectors: ArrayLike) -> Array:
    """Vectors or rates (..., 3) of a body."""
    turned: Array = np.asarray(vectors, float) * FLU_FROM_FRD
    return turned


def enu_from_ned(vectors: ArrayLike) -> Array:
    """Vectors (..., 3) in the world."""
    vectors = np.asarray(vectors, float)
    return np.stack([vectors[..., 1], vectors[..., 0], -vectors[..., 2]], axis=-1)


def enu_rpy_from_ned_rpy(rpy: ArrayLike) -> Array:
    """Roll, pitch, yaw (..., 3) about fixed axes, of an FRD body in NED, as those of the FLU body in ENU."""
    rpy = np.asarray(rpy, float)
    return np.stack([rpy[..., 0], -rpy[..., 1], QUARTER_TURN - rpy[..., 2]], axis=-1)


def quaternion_from_fixed_xyz(rpy: ArrayLike) -> Array:
    """Quaternions x y z w (..., 4), w >= 0, of turns about the fixed axes x, then y, then z."""
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
    """Quaternions x y z w (..., 4), w >= 0, of turns about x, then the turned y, then the turned z."""
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
    """Rotate vectors (..., 3) by unit quaternions x y z w (..., 4)."""
    quaternions, vectors = np.asarray(quaternions, float), np.asarray(vectors, float)
    axis, w = quaternions[..., :3], quaternions[..., 3:]
    twice = 2 * np.cross(axis, vectors)
    turned: Array = vectors + w * twice + np.cross(axis, twice)
    return turned


def diagonal(variances: ArrayLike) -> Array:
    """Covariances (..., k, k) with these variances (..., k) and nothing else."""
    variances = np.asarray(variances, float)
    covariances: Array = variances[..., :, None] * np.eye(variances.shape[-1])
    return covariances
