"""The 12 x 12 covariance, velocities and rates of an FRD body in NED, turned to those of an FLU body in ENU.

The state has the order of NavQAsciiData.txt: north, east, down; their rates; roll, pitch, yaw; their rates. Angles are
those of Rz(yaw) Ry(pitch) Rx(roll), in rad.
"""

import numpy as np
from numpy.typing import NDArray

from fieldplay_kinematics import axes

Floats = NDArray[np.float64]

STATE = 12
POSE, TWIST = np.array([0, 1, 2, 6, 7, 8]), np.array([3, 4, 5, 9, 10, 11])
ENU_FROM_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def ned_from_frd(angles: Floats) -> Floats:
    """Rotations (n, 3, 3) that take vectors of the body to the world, from roll, pitch, yaw (n, 3)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def flu_from_ned(angles: Floats) -> Floats:
    """Matrices (n, 3, 3) that take vectors of the world (NED) to the body (FLU)."""
    matrices: Floats = axes.FLU_FROM_FRD[:, None] * ned_from_frd(angles).transpose(0, 2, 1)
    return matrices


def flu_rates_from(angles: Floats, rates_are: str) -> Floats:
    """Matrices (n, 3, 3) that take the archive's dRoll, dPitch, dYaw to rates about the body's axes (FLU).

    They are `euler` rates, the derivatives of the angles, or already the `body` rates of the FRD body.
    """
    frd = np.zeros((len(angles), 3, 3)) + np.eye(3)
    if rates_are == "euler":
        (sr, sp, _), (cr, cp, _) = np.sin(angles).T, np.cos(angles).T
        frd[:, 0, 2] = -sp
        frd[:, 1, 1], frd[:, 1, 2] = cr, sr * cp
        frd[:, 2, 1], frd[:, 2, 2] = -sr, cr * cp
    matrices: Floats = axes.FLU_FROM_FRD[:, None] * frd
    return matrices


def pose_covariance(covariance: Floats) -> Floats:
    """Covariances (n, 6, 6) of east, north, up and of roll, pitch, yaw about fixed axes, from (n, 12, 12)."""
    turn = np.zeros((6, 6))
    turn[:3, :3], turn[3:, 3:] = ENU_FROM_NED, np.diag(axes.FLU_FROM_FRD)
    return turned(covariance[:, POSE[:, None], POSE], turn)


def twist_covariance(covariance: Floats, linear: Floats, angular: Floats) -> Floats:
    """Covariances (n, 6, 6) of the twist in the body from (n, 12, 12), by the matrices that take the rates there.

    The angles' own errors are left out: they would add the velocity times an error of direction.
    """
    turn = np.zeros((len(covariance), 6, 6))
    turn[:, :3, :3], turn[:, 3:, 3:] = linear, angular
    return turned(covariance[:, TWIST[:, None], TWIST], turn)


def turned(covariance: Floats, turn: Floats) -> Floats:
    """Covariances (..., k, k) of what the matrices (..., k, k) make of the vectors."""
    found: Floats = turn @ covariance @ np.swapaxes(turn, -1, -2)
    return found


def applied(matrices: Floats, vectors: Floats) -> Floats:
    """Vectors (n, 3) times matrices (n, 3, 3)."""
    found: Floats = np.einsum("nij,nj->ni", matrices, vectors)
    return found


def flu_rates_between(angles: Floats, seconds: Floats) -> Floats:
    """Mean rates (n - 1, 3) about the body's axes (FLU) from one attitude (n, 3) to the next, so much later."""
    matrices = ned_from_frd(angles)
    turn = np.swapaxes(matrices[:-1], 1, 2) @ matrices[1:]
    skew = (turn - np.swapaxes(turn, 1, 2)) / 2
    axis = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    sine = np.linalg.norm(axis, axis=1)
    angle = np.arctan2(sine, (np.trace(turn, axis1=1, axis2=2) - 1) / 2)
    scale = np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 1.0)
    found: Floats = axis * (scale / seconds)[:, None] * axes.FLU_FROM_FRD
    return found
