"""Steps on the pixels of the same points in two images, or of known points in one."""

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import inverse_from_transform, transform_from_rotation
from fieldplay_cdff.steps.intrinsics import matrix_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Matches2D,
)
from fieldplay_cdff.stereo.pair_matching import (
    PnpSettings,
    TriangulationSettings,
    pose_from_points,
    triangulate_disparities,
)
from fieldplay_cdff.stereo.parameters import settings_from_parameters

MIN_MATCHES = 8  # of a fundamental matrix
REFINEMENTS = 5
FAILED: Ports = {"success": False}
Mask = NDArray[np.bool_]


def triangulate(first: Array, second: Array, source: Array, sink: Array) -> tuple[Array, Array]:
    """Triangulate points (n, 3) from pixels (n, 2) by two projections (3, 4); return also the errors (n,) in pixels.

    Linear: the smallest singular vector of x P3 - P1 and y P3 - P2 of both.
    """
    rows = [
        pixels[:, axis, None] * matrix[2] - matrix[axis]
        for matrix, pixels in ((first, source), (second, sink))
        for axis in (0, 1)
    ]
    homogeneous = np.linalg.svd(np.stack(rows, axis=1))[2][:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        points = homogeneous[:, :3] / homogeneous[:, 3:]
        offsets = [project(matrix, points) - pixels for matrix, pixels in ((first, source), (second, sink))]
    return points, np.sqrt(sum((offset**2).sum(axis=1) for offset in offsets))


def project(matrix: Array, points: Array) -> Array:
    """Project points (n, 3) to pixels (n, 2) by a projection (3, 4)."""
    seen = points @ matrix[:, :3].T + matrix[:, 3]
    pixels: Array = seen[:, :2] / seen[:, 2:]
    return pixels


def sampson(matrix: Array, source: Array, sink: Array) -> Array:
    """Squared Sampson distances (n,), in pixels, of pixel pairs (n, 2) by a fundamental matrix (3, 3)."""
    first, second = (np.concatenate([pixels, np.ones((len(pixels), 1))], axis=1) for pixels in (source, sink))
    line, back = first @ matrix.T, second @ matrix
    products: Array = (second * line).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances: Array = products**2 / ((line[:, :2] ** 2).sum(axis=1) + (back[:, :2] ** 2).sum(axis=1))
    return distances


def eight_points(source: Array, sink: Array) -> Array:
    """The fundamental matrix (3, 3) of least squares, of 8 or more pairs of pixels (n, 2)."""
    (first, to_first), (second, to_second) = _normalise_pixels(source), _normalise_pixels(sink)
    rows = (second[:, :, None] * first[:, None]).reshape(-1, 9)
    left, sizes, right = np.linalg.svd(np.linalg.svd(rows, full_matrices=len(rows) < 9)[2][-1].reshape(3, 3))
    return _normalise(to_second.T @ (left[:, :2] * sizes[:2]) @ right[:2] @ to_first)


def _normalise_pixels(pixels: Array) -> tuple[Array, Array]:
    """Normalise pixels to (n, 3) about their mean at a mean distance of root 2; return also the matrix (3, 3)."""
    middle = pixels.mean(axis=0)
    scale = np.sqrt(2) / max(float(np.linalg.norm(pixels - middle, axis=1).mean()), 1e-12)
    moved = np.concatenate([(pixels - middle) * scale, np.ones((len(pixels), 1))], axis=1)
    return moved, np.array([[scale, 0, -scale * middle[0]], [0, scale, -scale * middle[1]], [0, 0, 1]])


def _normalise(matrix: Array) -> Array:
    normed: Array = matrix / np.linalg.norm(matrix)
    return -normed if normed[2, 2] < 0 else normed


def _finite(*pixels: Array) -> Mask:
    return np.asarray(np.isfinite(np.concatenate(pixels, axis=1)).all(axis=1), np.bool_)


@implements("PointCloudReconstruction2DTo3D")
class Triangulation(Step):
    """Triangulates matches between two images, in the first camera; `pose` is that of the second in the first.

    A point is removed, or NaN, if it is not in front of both, or if its reprojection error is too large.
    """

    camera_groups: ClassVar[Mapping[str, str]] = {"FirstCameraMatrix": "left", "SecondCameraMatrix": "right"}

    def process(self, *, matches: Matches2D, pose: Array) -> Ports:
        own = inverse_from_transform(pose)
        first = matrix_of(self.settings["FirstCameraMatrix"]) @ np.eye(3, 4)
        second = matrix_of(self.settings["SecondCameraMatrix"]) @ own[:3]
        points = np.full((len(matches), 3), np.nan)
        rows = np.flatnonzero(_finite(matches.source, matches.sink))
        triangulated, errors = triangulate(first, second, matches.source[rows], matches.sink[rows])
        depth = triangulated @ own[2, :3] + own[2, 3]
        good = (triangulated[:, 2] > 0) & (depth > 0) & (errors <= self.general["MaximumReprojectionError"])
        points[rows[good]] = triangulated[good]
        whole = Cloud(points=points)
        return {"pointcloud": whole if self.general["OutputInvalidPoints"] else whole.subset(rows[good])}


@implements("PointCloudReconstruction2DTo3D")
class DisparityTriangulation(Step):
    """Triangulates matches of a rectified pair: on the exact rays of their first pixels, with depth from disparity.

    Such a point projects onto its first pixel, whatever its row error is, so that a comparison with later images
    does not take that for a motion. It is NaN where the second pixel does not lie to the left, or in another row.
    """

    camera_groups: ClassVar[Mapping[str, str]] = {"FirstCameraMatrix": "left"}

    def configure(self) -> None:
        self._limits = settings_from_parameters(TriangulationSettings, self.general)

    def process(self, *, matches: Matches2D, pose: Array) -> Ports:
        matrix = matrix_of(self.settings["FirstCameraMatrix"])
        points = triangulate_disparities(matches.source, matches.sink, matrix, pose[0, 3], self._limits)
        return {"pointcloud": Cloud(points=points)}


@implements("FundamentalMatrixComputation")
class FundamentalMatrixRansac(Step):
    """The fundamental matrix of two images of one scene: x'^T F x = 0, of norm 1, F33 not below 0.

    Inliers are pairs whose Sampson distance is below MaximumSymmetricEpipolarDistance. At least 8 of them.
    """

    def process(self, *, matches: Matches2D) -> Ports:
        matches = matches.subset(_finite(matches.source, matches.sink))
        matrix = self.matrix(matches) if len(matches) >= MIN_MATCHES else None
        if matrix is not None:
            good = matches.subset(self._within(matrix, matches, "MaximumSymmetricEpipolarDistance"))
            if len(good) >= MIN_MATCHES:
                fraction = len(good) / len(matches)
                return {"fundamentalMatrix": matrix, "success": True, "inlierMatches": good, "quality": fraction}
        return FAILED | ({"inlierMatches": matches} if self.general["AllPassOnFailure"] else {})

    def matrix(self, matches: Matches2D) -> Array | None:
        """The matrix (3, 3) by random sampling, then by all that agree with it, as long as these grow no fewer."""
        source, sink = matches.source, matches.sink
        threshold = self.general["OutlierThreshold"]
        confidence, rounds = self.general["Confidence"], self.general["Iterations"]
        method = cv2.USAC_ACCURATE if self.general["Method"] == "USAC" else cv2.FM_RANSAC
        matrix, mask = cv2.findFundamentalMat(source, sink, method, threshold, confidence, rounds)
        if matrix is None or matrix.shape != (3, 3):
            return None
        best = _normalise(np.asarray(matrix, np.float64))
        inside = mask.ravel().astype(bool)
        for _ in range(REFINEMENTS):
            if np.count_nonzero(inside) < MIN_MATCHES:
                break
            finer = eight_points(source[inside], sink[inside])
            agreeing = self._within(finer, matches, "OutlierThreshold")
            if np.count_nonzero(agreeing) < np.count_nonzero(inside):
                break
            best, before, inside = finer, inside, agreeing
            if (before == inside).all():
                break
        return best

    def _within(self, matrix: Array, matches: Matches2D, name: str) -> Mask:
        within: Mask = sampson(matrix, matches.source, matches.sink) < self.general[name] ** 2
        return within


@implements("CamerasTransformEstimation")
class EssentialMatrixDecomposition(Step):
    """The pose of the second camera in the first, with a shift of length 1: the scale is unknown.

    Of four solutions the one with most points in front of both cameras, and more than half of them.
    """

    camera_groups: ClassVar[Mapping[str, str]] = {"FirstCameraMatrix": "left", "SecondCameraMatrix": "left"}

    def process(self, *, fundamentalMatrix: Array, matches: Matches2D) -> Ports:
        first, second = (matrix_of(self.settings[f"{name}CameraMatrix"]) for name in ("First", "Second"))
        if fundamentalMatrix.shape != (3, 3) or not np.isfinite(fundamentalMatrix).all():
            raise ValueError(f"fundamentalMatrix: expected 3 x 3 numbers, got {fundamentalMatrix.tolist()}")
        matches = matches.subset(_finite(matches.source, matches.sink))
        if not len(matches):
            return FAILED
        count = min(self.general["NumberOfTestPoints"], len(matches))
        tested = matches.subset(np.unique(np.linspace(0, len(matches) - 1, count).astype(np.intp)))
        turns = cv2.decomposeEssentialMat(second.T @ fundamentalMatrix @ first)
        poses = [
            transform_from_rotation(turn * np.sign(np.linalg.det(turn)), sign * turns[2].ravel())
            for turn in turns[:2]
            for sign in (1, -1)
        ]  # of the first camera in the second
        fractions = [_fraction_in_front(first, second, pose, tested) for pose in poses]
        best = int(np.argmax(fractions))
        if not fractions[best] > 0.5:
            return FAILED
        return {"transform": inverse_from_transform(poses[best]), "success": True, "quality": fractions[best]}


def _fraction_in_front(first: Array, second: Array, second_t_first: Array, matches: Matches2D) -> float:
    points, _ = triangulate(first @ np.eye(3, 4), second @ second_t_first[:3], matches.source, matches.sink)
    depth = points @ second_t_first[2, :3] + second_t_first[2, 3]
    return float(np.mean((points[:, 2] > 0) & (depth > 0)))


@implements("PerspectiveNPointSolving")
class IterativePnpSolver(Step):
    """The pose of a camera in the frame of points, from their pixels: RANSAC, then refinement by all inliers.

    The quality is the inlier fraction.
    """

    camera_groups: ClassVar[Mapping[str, str]] = {"CameraMatrix": "left"}

    def configure(self) -> None:
        self._pnp = settings_from_parameters(PnpSettings, self.general)

    def process(self, *, points: Cloud, projections: Features2D) -> Ports:
        if len(points) != len(projections):
            raise ValueError(f"projections: expected a pixel of each of {len(points)} points, got {len(projections)}")
        known = _finite(points.points, projections.points)
        matrix = matrix_of(self.settings["CameraMatrix"])
        result = pose_from_points(points.points[known], projections.points[known], matrix, self._pnp)
        if result is None:
            return FAILED
        return {"camera": result.pose, "success": True, "quality": result.quality}
