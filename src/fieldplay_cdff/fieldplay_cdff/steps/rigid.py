"""Rigid transforms between points of the same things in two frames, without scale."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    rotation_from_vector,
    transform_from_rotation,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.values import Array

FLAT = 1e-9  # of the longest extent: what is narrower is a line
REFITS = 3
MIN_PAIRS = 3


def rigid_fit(source: Array, sink: Array) -> Array:
    """sink_T_source (..., 4, 4) of least squares between points (..., n, 3)."""
    of_source, of_sink = source.mean(axis=-2), sink.mean(axis=-2)
    products = np.swapaxes(sink - of_sink[..., None, :], -1, -2) @ (source - of_source[..., None, :])
    left, _, right = np.linalg.svd(products)
    mirror = np.ones(left.shape[:-1])
    mirror[..., 2] = np.sign(np.linalg.det(left @ right))
    turn = left * mirror[..., None, :] @ right
    return transform_from_rotation(turn, of_sink - (turn @ of_source[..., None])[..., 0])


def leaves_rotation_free(points: Array) -> bool:
    """Whether points (n, 3) are too few or collinear, so that a rotation is undetermined."""
    if len(points) < MIN_PAIRS:
        return True
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(extents[1] <= FLAT * max(extents[0], FLAT))


def robust_fit(
    source: Array, sink: Array, *, distance: float, rounds: int, random: np.random.Generator
) -> tuple[Array, NDArray[np.bool_]]:
    """sink_T_source (4, 4) with most inliers of points (n, 3) within a distance (m), and the inliers."""
    picked = random.integers(len(source), size=(rounds, MIN_PAIRS))
    candidate = rigid_fit(source[picked], sink[picked])
    errors = np.linalg.norm(transform_points(candidate, source[None]) - sink, axis=-1)
    best = np.argmin(np.minimum(errors, distance).sum(axis=1))
    transform, is_near = candidate[best], errors[best] <= distance
    for _ in range(REFITS):
        if leaves_rotation_free(source[is_near]):
            break
        transform = rigid_fit(source[is_near], sink[is_near])
        is_near = np.linalg.norm(transform_points(transform, source) - sink, axis=-1) <= distance
    return transform, is_near


def plane_step(points: Array, sink: Array, normals: Array, *, held: float = 0.0) -> tuple[Array, Array]:
    """The rotation vector and the shift, each (3,), that bring points (n, 3) nearer to the planes of those of the sink.

    Directions with less than the fraction `held` of the information of the best direction are not moved: on a flat
    floor two shifts and a rotation.
    """
    center = points.mean(axis=0)
    scale = max(np.sqrt(np.mean(np.sum((points - center) ** 2, axis=1))), FLAT)
    rows = np.hstack([np.cross((points - center) / scale, normals), normals])
    lengths, axes = np.linalg.eigh(rows.T @ rows)
    axes = axes[:, lengths > max(held, FLAT) * lengths[-1]]
    step = -axes @ np.linalg.solve(
        axes.T @ rows.T @ rows @ axes, axes.T @ rows.T @ np.sum((points - sink) * normals, axis=1)
    )
    turn: Array = step[:3] / scale
    return turn, step[3:] - np.cross(turn, center)


class Freedoms(NamedTuple):
    """Motions of a cloud about its centre, from the least to the best determined one by a Hessian."""

    center: Array  # (3,)
    scale: float  # m, the scale of rotations against shifts
    lengths: Array  # (6,), the information of each
    axes: Array  # (6, 6), rotations times the scale, and shifts; in columns

    def step(self, index: int, size: float) -> Array:
        """Return a transform (4, 4) that moves the cloud by so many metres along one degree of freedom."""
        return self.transform(self.axes[:, index] * size)

    def transform(self, change: Array) -> Array:
        """The transform (4, 4) of a rotation times the scale and a shift (6,)."""
        turned = rotation_from_vector(change[:3] / self.scale)
        return transform_from_rotation(turned, self.center + change[3:] - turned @ self.center)


def freedoms(hessian: Array, points: Array) -> Freedoms:
    """The information of a Hessian (6, 6) of rotation and shift, about the origin of points (n, 3), by direction."""
    center = points.mean(axis=0)
    scale = max(float(np.sqrt(np.mean(np.sum((points - center) ** 2, axis=1)))), FLAT)
    about = np.eye(6)
    about[3:, :3] = np.cross(center, np.eye(3)).T
    about[:, :3] /= scale
    return Freedoms(center, scale, *np.linalg.eigh(about.T @ hessian @ about))


def hold_to_guess(guess: Array, estimate: Array, own: Freedoms, *, held: float) -> Array:
    """Return the estimate without those directions from the guess that are observed too weakly."""
    free = own.axes[:, own.lengths <= held * own.lengths[-1]]
    if not free.shape[1]:
        return estimate
    step = np.linalg.inv(guess) @ estimate
    turn = vector_from_rotation(step[:3, :3])
    change = np.concatenate([turn * own.scale, step[:3, :3] @ own.center + step[:3, 3] - own.center])
    return guess @ own.transform(change - free @ (free.T @ change))
