"""The pose of a camera by points of a stereo pair, of which near ones are known better than far ones."""

from collections.abc import Mapping
from math import lgamma, log
from typing import ClassVar, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    rotation_from_vector,
    transform_from_rotation,
    transform_from_vectors,
    transform_points,
)
from fieldplay_cdff.steps.intrinsics import matrix_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features2D
from fieldplay_cdff.stereo.refusals import Reason, Refusal

SAMPLED = 4  # P3P has up to four poses, of which the fourth match selects the right one
ROUNDS, FEW_ROUNDS = 20, 5  # of least squares at most, in the final refinement and before
SMALL = 1e-10  # a step at which it has converged
MISSED = 1e-3  # the probability of having missed the best pose, below which no more is tried
AT_ONCE = 20  # poses that are tried
MIN_ROUNDS = 60
SEARCHED = 150  # matches by which poses are compared, before all of them count
SPOILT = 4  # one of so many samples of correct matches gives a sufficiently accurate pose
NEAREST_M = 1e-3
FAILED: Ports = {"success": False}
Mask = NDArray[np.bool_]


class Sights(NamedTuple):
    """Points (n, 3), by how much each is uncertain along its ray (n, 3), pixels (n, 2), and the camera (3, 3)."""

    points: Array
    spreads: Array
    pixels: Array
    matrix: Array

    def subset(self, which: NDArray[np.generic]) -> "Sights":
        return Sights(self.points[which], self.spreads[which], self.pixels[which], self.matrix)


class Misses(NamedTuple):
    """Reprojection errors, in pixels for points without uncertainty, and their derivatives by the pose."""

    errors: Array  # (.., n, 2), of deviation 1
    slopes: Array  # (.., n, 2, 3), by the point in the camera
    reach: Array  # (.., n), how many pixels a deviation of 1 along the ray is in the image

    @property
    def lengths(self) -> Array:
        result: Array = np.linalg.norm(self.errors, axis=-1)
        return result


def misses(sights: Sights, poses: Array) -> Misses:
    """Of cameras camera_T_points (.., 4, 4); errors that the points' own uncertainty may cause have less weight."""
    seen = transform_points(poses, sights.points)
    depth = np.where(seen[..., 2] > NEAREST_M, seen[..., 2], np.nan)[..., None]
    focal, centre = np.diag(sights.matrix)[:2], sights.matrix[:2, 2]
    across = seen[..., :2] / depth
    slopes = np.zeros((*seen.shape[:-1], 2, 3))
    slopes[..., [0, 1], [0, 1]] = focal / depth
    slopes[..., 2] = -focal * across / depth
    errors = across * focal + centre - sights.pixels
    shifts = (slopes @ (sights.spreads @ np.swapaxes(poses[..., :3, :3], -1, -2))[..., None])[..., 0]
    # the root of the inverse of 1 + s s^T leaves what is across s, and shortens what is along it
    squares = np.sum(shifts**2, axis=-1, keepdims=True)
    fraction = (1 - 1 / np.sqrt(1 + squares)) / np.maximum(squares, SMALL)
    errors = errors - shifts * fraction * np.sum(shifts * errors, axis=-1, keepdims=True)
    slopes = slopes - (shifts * fraction)[..., None] * (shifts[..., None, :] @ slopes)
    return Misses(np.nan_to_num(errors, nan=np.inf), slopes, np.sqrt(1 + squares[..., 0]))


def best_of_samples(sights: Sights, *, threshold: float, rounds: int, random: np.random.Generator) -> Array | None:
    """Return camera_T_points (4, 4) with most inliers, from samples of four; None if no sample has a pose.

    Four points with depth errors have a pose with errors: the best of some is refined before it is compared.
    """
    best, minimum, tried, requested = None, np.inf, 0, rounds
    while tried < requested:
        tried += AT_ONCE
        poses = _of_samples(sights, random)
        if not len(poses):
            continue
        start = poses[np.argmin(_costs(sights, poses, threshold))]
        pose, inside = refine_pose(sights, start, threshold, rounds=FEW_ROUNDS)
        cost = float(_costs(sights, pose, threshold))
        if cost < minimum:
            best, minimum = pose, cost
            hit = min(float(np.mean(inside)) ** SAMPLED, 0.999) / SPOILT
            enough = int(log(MISSED) / log(1 - hit)) if hit > MISSED / rounds else rounds
            requested = min(rounds, max(enough, MIN_ROUNDS))
    return best


def _costs(sights: Sights, poses: Array, threshold: float) -> Array:
    """What matches do not agree with poses (.., 4, 4), and those that do not at all as much as the threshold."""
    costs: Array = np.sum(np.minimum(misses(sights, poses).lengths, threshold) ** 2, axis=-1)
    return costs


def _of_samples(sights: Sights, random: np.random.Generator) -> Array:
    """Poses (m, 4, 4) by four matches each."""
    poses = [np.zeros((0, 4, 4))]
    for _ in range(AT_ONCE):
        some = random.choice(len(sights.points), SAMPLED, replace=False)
        points, pixels = sights.points[some], sights.pixels[some]
        is_solved, turn, shift = cv2.solvePnP(points, pixels, sights.matrix, np.zeros(0), flags=cv2.SOLVEPNP_AP3P)
        if is_solved and np.isfinite(turn).all() and np.isfinite(shift).all():
            poses.append(transform_from_rotation(rotation_from_vector(turn.ravel()), shift.ravel())[None])
    return np.concatenate(poses)


def refine_pose(sights: Sights, pose: Array, threshold: float, *, rounds: int = ROUNDS) -> tuple[Array, Mask]:
    """Return the least-squares pose of the matches that agree with it, and their mask."""
    inside = misses(sights, pose).lengths <= threshold
    for _ in range(rounds):
        if np.count_nonzero(inside) < SAMPLED:
            break
        rows, errors = _linear(sights.subset(inside), pose)
        step: Array = -np.linalg.pinv(rows.T @ rows, hermitian=True) @ (rows.T @ errors)
        pose = transform_from_vectors(step[:3], step[3:]) @ pose
        inside = misses(sights, pose).lengths <= threshold
        if np.abs(step).max() < SMALL:
            break
    return pose, np.asarray(inside, np.bool_)


def deviation(sights: Sights, pose: Array) -> float:
    """The uncertainty of the camera's position (m), by the residuals of the matches, a pixel at least."""
    rows, errors = _linear(sights, pose)
    variance = max(float(errors @ errors) / max(errors.size - 6, 1), 1.0)
    covariance = np.linalg.pinv(rows.T @ rows) * variance
    return float(np.sqrt(np.trace(covariance[3:, 3:])))


def _linear(sights: Sights, pose: Array) -> tuple[Array, Array]:
    """Rows (2 n, 6) by a rotation and a shift of the camera, and the errors (2 n,)."""
    residuals, seen = misses(sights, pose), transform_points(pose, sights.points)
    turned = np.cross(np.eye(3)[:, None], seen[None])  # (3, n, 3), by a rotation about each axis
    rows = np.concatenate([np.einsum("nij,knj->nik", residuals.slopes, turned), residuals.slopes], axis=2)
    return rows.reshape(-1, 6), residuals.errors.ravel()


def log_chance(inside: int, count: int, one: float) -> float:
    """The logarithm of the expected number of poses, by four of `count` matches, with so many inliers by chance.

    `one` is the probability that a wrong match is an inlier of another pose.
    """
    more = inside - SAMPLED
    return log(max(count - SAMPLED, 1)) + _log_choices(count, inside) + _log_choices(inside, SAMPLED) + more * log(one)


def _log_choices(count: int, some: int) -> float:
    return lgamma(count + 1) - lgamma(some + 1) - lgamma(count - some + 1)


@implements("PerspectiveNPointSolving")
class StereoPnpSolver(Step):
    """The pose of a camera in the frame of points that a stereo camera saw, from their pixels.

    A far point is less certain than a near one, and only along its ray: across it every match counts. A pose that is
    due to chance, or that leaves the position open, is rejected. Quality: the inlier fraction.
    """

    camera_groups: ClassVar[Mapping[str, str]] = {"CameraMatrix": "left", "GeneralParameters": "right"}

    def process(self, *, points: Cloud, projections: Features2D) -> Ports:
        if len(points) != len(projections):
            raise ValueError(f"projections: expected a pixel of each of {len(points)} points, got {len(projections)}")
        sights, options = self._sights(points.points, projections.points), self.general
        count, threshold = len(sights.points), options["OutlierThreshold"]
        self.refusal = Refusal(reason=Reason.FEW_MATCHES, detail=f"{count} points")
        if count < SAMPLED:
            return FAILED
        random = np.random.default_rng(self.seed)
        some = np.unique(np.linspace(0, count - 1, min(count, SEARCHED)).astype(np.intp))
        pose = best_of_samples(sights.subset(some), threshold=threshold, rounds=options["Iterations"], random=random)
        self.refusal = Refusal(reason=Reason.FEW_INLIERS, detail=f"of {count} matches")
        if pose is None:
            return FAILED
        pose, inside = refine_pose(sights, pose, threshold)
        agreeing, certain = int(np.count_nonzero(inside)), sights.subset(inside)
        if agreeing < SAMPLED or self._chance(sights, pose, agreeing) > log(options["MaximumChance"]):
            return FAILED
        self.refusal = Refusal(reason=Reason.AMBIGUOUS, parameter="GeneralParameters.MaximumDeviation")
        if deviation(certain, pose) > options["MaximumDeviation"] / float(np.mean(1 / certain.points[:, 2])):
            return FAILED
        self.refusal = None
        return {"camera": inverse_from_transform(pose), "success": True, "quality": agreeing / count}

    def _chance(self, sights: Sights, pose: Array, agreeing: int) -> float:
        """The log of the expected number of such poses by chance: wrong matches lie anywhere on epipolar lines."""
        wide = 2 * self.general["OutlierThreshold"] * float(np.mean(misses(sights, pose).reach))
        return log_chance(agreeing, len(sights.points), min(wide / (2 * sights.matrix[0, 2]), 1.0))

    def _sights(self, points: Array, pixels: Array) -> Sights:
        """Return the known points with their uncertainty."""
        known = np.isfinite(points).all(axis=1) & np.isfinite(pixels).all(axis=1) & (points[:, 2] > NEAREST_M)
        matrix, options = matrix_of(self.settings["CameraMatrix"]), self.general
        points = points[known]
        fraction = points[:, 2:] * options["DisparityDeviation"] / (matrix[0, 0] * options["Baseline"])
        return Sights(points, points * fraction, pixels[known], matrix)
