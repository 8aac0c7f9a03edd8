"""Poses in the plane from twists, exactly along the arcs that constant twists drive."""

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array

SMALL_TURN = 1e-4  # rad: below this, series replace the quotients


def displacement_from_twist(twist: ArrayLike, duration: ArrayLike) -> Array:
    """Displacements (..., 3), x, y, turn in the frame at the start, of twists (..., 3) held for durations (...)."""
    twist, duration = np.asarray(twist, float), np.asarray(duration, float)
    turn = twist[..., 2] * duration
    small = np.abs(turn) < SMALL_TURN
    safe = np.where(small, 1.0, turn)
    forward = np.where(small, 1 - turn**2 / 6, np.sin(safe) / safe)
    aside = np.where(small, turn / 2, (1 - np.cos(safe)) / safe)
    dx, dy = twist[..., 0] * duration, twist[..., 1] * duration
    return np.stack([forward * dx - aside * dy, aside * dx + forward * dy, turn], axis=-1)


def moved(pose: ArrayLike, displacement: ArrayLike) -> Array:
    """Poses (..., 3) x, y, yaw after displacements (..., 3) in their own frames; yaw is not wrapped."""
    pose, displacement = np.asarray(pose, float), np.asarray(displacement, float)
    cos, sin = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    dx, dy = displacement[..., 0], displacement[..., 1]
    step = np.stack([cos * dx - sin * dy, sin * dx + cos * dy, displacement[..., 2]], axis=-1)
    after: Array = pose + step
    return after


def path_from_twists(twists: ArrayLike, durations: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Poses (n + 1, 3) along n twists (n, 3), each held for its duration (n,), from the start on."""
    return path_from_displacements(displacement_from_twist(twists, durations), start)


def path_from_displacements(displacements: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Poses (n + 1, 3) along n displacements (n, 3), each in the frame at the end of the one before."""
    steps, start = np.asarray(displacements, float), np.asarray(start, float)
    yaw = start[2] + np.concatenate([[0.0], np.cumsum(steps[:, 2])])
    cos, sin = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    x = start[0] + np.concatenate([[0.0], np.cumsum(cos * steps[:, 0] - sin * steps[:, 1])])
    y = start[1] + np.concatenate([[0.0], np.cumsum(sin * steps[:, 0] + cos * steps[:, 1])])
    return np.stack([x, y, yaw], axis=-1)


def covariance_from_planar(planar: ArrayLike, unknown: float) -> Array:
    """Covariances (..., 6, 6) of x y z and the turns from those of x, y, yaw (..., 3, 3); the rest is unknown."""
    planar = np.asarray(planar, float)
    known = [0, 1, 5]
    covariance = np.zeros((*planar.shape[:-2], 6, 6))
    covariance[..., range(6), range(6)] = unknown
    covariance[..., np.array(known)[:, None], known] = planar
    return covariance


def quaternion_from_yaw(yaw: ArrayLike) -> Array:
    """Quaternions x y z w (..., 4) of turns about z."""
    half = np.asarray(yaw, float) / 2
    zero = np.zeros_like(half)
    return np.stack([zero, zero, np.sin(half), np.cos(half)], axis=-1)
