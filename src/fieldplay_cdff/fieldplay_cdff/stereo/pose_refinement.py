"""The motion of a stereo camera between two pairs, by least squares on the pixels of both images of the new pair.

A point is known by its pixel in the first left image and its disparity, and is seen in the new left and right image.
Its residuals are the column and the row in the left image, and the disparity. The uncertainty of the first disparity
is propagated into all three, so a distant point constrains a translation little and a rotation well. Residuals are
weighted robustly (Cauchy).

The calibration of a real rig is never exact: a relative rotation of the cameras shifts all disparities, and a rest of
radial distortion shifts those near the left and right border. An offset of one pixel makes a drive past points with
20 pixels of disparity 5 % too long. Offset and radial part are therefore estimated along with the motion
(`DisparityCorrection`) and filtered over the pairs of a drive.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    transform_from_vectors,
    transform_points,
)
from fieldplay_cdff.stereo.parameters import parameter

Mask = NDArray[np.bool_]
NEAREST_M = 0.05  # before the camera
MEDIAN_OF_CHI2 = 2.366  # of a sum of three squares of deviation 1
CONVERGED = 1e-7  # rad and m
MAX_ROUNDS = 15
TINY = 1e-12
TERMS = 2  # of a correction of disparities: offset, radial
UNKNOWN_PX = 1e3  # deviation of a disparity that was not measured


@dataclass(frozen=True, kw_only=True)
class RefinementSettings:
    """Settings of the refinement of a motion, and of the calibration error."""

    enabled: bool = parameter("Enabled", True)  # false: the motion is that of PnP in the left image
    pixel_deviation: float = parameter("PixelDeviation", 0.3)  # px, of a followed point
    disparity_deviation: float = parameter("DisparityDeviation", 0.5)  # px
    robust_deviations: float = parameter("RobustDeviations", 2.0)  # residual from which on a point counts less
    inlier_deviations: float = parameter("InlierDeviations", 4.0)  # within which a point supports the motion
    offset_deviation: float = parameter("OffsetDeviation", 1.0)  # px, of disparities by the calibration; 0: exact
    radial_deviation: float = parameter("RadialDeviation", 1.0)  # px, of those at the border
    calibration_threshold: float = parameter("CalibrationThreshold", 0.3)  # px; smaller errors count as exact
    offset_remaining: float = parameter("OffsetRemaining", 0.05)  # px, deviation of what stays of an offset
    residual_factor: float = parameter("ResidualFactor", 2.5)  # on deviations from residuals: these are correlated
    calibration_walk: float = parameter("CalibrationWalk", 0.02)  # px, by which these may change from key to key


class DisparityCorrection:
    """The correction of measured disparities: an offset, and a part that grows with the squared column.

    It is a filter: `estimate` (2,) in px with its `information` (2, 2). Followed points are off by a tenth of a pixel
    and more where surfaces are slanted, which looks like an offset. So an estimate within the threshold of the settings
    counts as none: `values` are 0.
    """

    def __init__(self, settings: RefinementSettings, camera: StereoCamera) -> None:
        deviations = np.array([settings.offset_deviation, settings.radial_deviation])
        self._prior = np.diag(np.maximum(deviations, TINY) ** 2)
        self._walk = np.diag(np.minimum(settings.calibration_walk, deviations) ** 2)
        self._camera = camera
        self._threshold_px = settings.calibration_threshold
        self.estimate, self.information = np.zeros(TERMS), np.linalg.inv(self._prior)

    @property
    def size_px(self) -> float:
        """Root mean square of the estimate over the columns of an image, px."""
        offset, radial = self.estimate
        return float(np.sqrt(max(offset**2 + 2 * offset * radial / 3 + radial**2 / 5, 0.0)))

    @property
    def is_applied(self) -> bool:
        """Whether the calibration is surely off by more than the threshold."""
        return self.size_px > self._threshold_px + 2 * float(np.sqrt(np.linalg.inv(self.information)[0, 0]))

    @property
    def values(self) -> Array:
        """Offset and radial part that are added to disparities (2,), px."""
        return self.estimate if self.is_applied else np.zeros(TERMS)

    @property
    def offset_deviation_px(self) -> float:
        """Return the standard deviation of the offset, px."""
        return float(np.sqrt(np.linalg.inv(self.information)[0, 0])) if self.is_applied else 0.0

    def basis(self, pixels: Array) -> Array:
        """Return the weight of each part (n, 2) at pixels (n, 2) of an image."""
        return correction_basis(pixels, self._camera)

    def at(self, pixels: Array) -> Array:
        """The correction (n,) in px at pixels (n, 2) of the left image."""
        result: Array = self.basis(pixels) @ self.values
        return result

    def update(self, values: Array, covariance: Array) -> None:
        """Update from a new key pair; later ones may differ by the random walk, and no more than at first."""
        grown = covariance + self._walk
        self.estimate = values
        self.information = np.linalg.inv(grown) + np.linalg.inv(1e4 * self._prior)


def correction_basis(pixels: Array, camera: StereoCamera) -> Array:
    """Return the weights of offset and radial part of a correction (n, 2) at pixels (n, 2) of an image."""
    across = (pixels[:, 0] - camera.center_x) / camera.center_x
    return np.column_stack([np.ones(len(pixels)), across**2])


class StereoTracks(NamedTuple):
    """Points of a key pair that are seen in a new pair: n rows, in px; NaN for points missing in the right image.

    Args:
        pixels: in the left image of the key pair (n, 2).
        disparities: there (n,).
        new_pixels: in the left image of the new pair (n, 2).
        new_disparities: there (n,), NaN where not measured.
    """

    pixels: Array
    disparities: Array
    new_pixels: Array
    new_disparities: Array

    def subset(self, which: NDArray[np.generic]) -> "StereoTracks":
        """The tracks of a mask or of indices."""
        return StereoTracks(*(each[which] for each in self))


@dataclass(frozen=True, eq=False, kw_only=True)
class RefinedMotion:
    """A motion and how well it is known.

    Args:
        pose: key_T_new (4, 4).
        covariance: of the pose (6, 6), shift before rotation, about the axes of the new camera.
        inliers: which of the tracks support it (n,).
        scale: ratio of the residuals to the expected deviations by the settings.
        correction: of disparities (2,) in px, by this pair and those before.
        correction_covariance: of that (2, 2).
    """

    pose: Array
    covariance: Array
    inliers: Mask
    scale: float
    correction: Array = field(default_factory=lambda: np.zeros(TERMS))
    correction_covariance: Array = field(default_factory=lambda: np.eye(TERMS))


def refine_motion(
    tracks: StereoTracks,
    pose: Array,
    camera: StereoCamera,
    *,
    settings: RefinementSettings,
    correction: DisparityCorrection,
    calibrates: bool = False,
) -> RefinedMotion | None:
    """The motion with which the tracks agree best, by Gauss-Newton.

    Args:
        tracks: points of the key pair in the new pair.
        pose: key_T_new (4, 4) to start from, within some pixels of the right one.
        camera: of the rectified images.
        settings: deviations and robust weights.
        correction: of disparities as it is known so far; it is not changed.
        calibrates: whether the correction is estimated, too; else it is taken as it is.

    Returns:
        The motion; None where the tracks do not determine one.
    """
    state = _State(inverse_from_transform(pose), correction.estimate if calibrates else correction.values)
    free = 6 + TERMS if calibrates else 6
    linear, scale = None, 1.0
    normal: Array = np.zeros((0, 0))
    for _ in range(MAX_ROUNDS):
        linear = _linearize(tracks, state, camera, settings, correction)
        squares = np.sum(linear.errors**2, axis=1)
        scale = float(np.sqrt(np.median(squares) / MEDIAN_OF_CHI2))
        width = settings.robust_deviations * max(scale, TINY)
        weights = 1 / (1 + squares / width**2)
        rows = linear.rows[:, :, :free] * np.sqrt(weights)[:, None, None]
        errors = (linear.errors * np.sqrt(weights)[:, None]).ravel()
        flat = rows.reshape(-1, free) / max(scale, TINY)
        normal, pull = flat.T @ flat, flat.T @ errors / max(scale, TINY)
        if calibrates:
            normal[6:, 6:] += correction.information
            pull[6:] += correction.information @ (state.correction - correction.estimate)
        step = _solve(normal, -pull)
        if step is None:
            return None
        state = state.advance(step)
        if np.abs(step[:6]).max() < CONVERGED:
            break
    if linear is None or not np.isfinite(state.camera_t_key).all():
        return None
    covariance = np.asarray(np.linalg.inv(normal), np.float64)
    limit = settings.inlier_deviations * max(scale, 1.0)
    inliers = np.sum(linear.errors**2, axis=1) <= limit**2
    return RefinedMotion(
        pose=inverse_from_transform(state.camera_t_key),
        covariance=covariance[np.ix_(SHIFT_FIRST, SHIFT_FIRST)],
        inliers=np.asarray(inliers, np.bool_),
        scale=scale,
        correction=state.correction,
        correction_covariance=covariance[6:, 6:] if calibrates else np.zeros((TERMS, TERMS)),
    )


SHIFT_FIRST = [3, 4, 5, 0, 1, 2]


class _State(NamedTuple):
    """camera_T_key (4, 4), and the correction of disparities (2,)."""

    camera_t_key: Array
    correction: Array

    def advance(self, step: Array) -> "_State":
        """Return the state after a step (6,) or (8,): rotation, shift, correction."""
        moved = transform_from_vectors(step[:3], step[3:6]) @ self.camera_t_key
        return _State(moved, self.correction + step[6:] if len(step) > 6 else self.correction)


class _Linear(NamedTuple):
    """Residuals (n, 3) in deviations, and how they change with the state (n, 3, 8)."""

    errors: Array
    rows: Array


def _linearize(
    tracks: StereoTracks, state: _State, camera: StereoCamera, settings: RefinementSettings,
    correction: DisparityCorrection,
) -> _Linear:  # fmt: skip
    """Residuals of deviation 1, the uncertainty of the key pair's disparities taken out, and their slopes."""
    at_key, at_new = correction.basis(tracks.pixels), correction.basis(tracks.new_pixels)
    disparities = np.maximum(tracks.disparities + at_key @ state.correction, 0.1)
    points = points_of_disparities(tracks.pixels, disparities, camera)
    seen = transform_points(state.camera_t_key, points)
    depth = np.maximum(seen[:, 2], NEAREST_M)
    across, down = seen[:, 0] / depth, seen[:, 1] / depth
    focal, baseline = camera.focal_x, camera.baseline_m
    is_measured = np.isfinite(tracks.new_disparities)
    measured = np.where(is_measured, tracks.new_disparities, 0.0) + at_new @ state.correction
    errors = np.column_stack([
        focal * across + camera.center_x - tracks.new_pixels[:, 0],
        camera.focal_y * down + camera.center_y - tracks.new_pixels[:, 1],
        np.where(is_measured, focal * baseline / depth - measured, 0.0),
    ])  # fmt: skip
    slopes = np.zeros((len(points), 3, 3))  # by the point in the new camera
    slopes[:, 0, 0], slopes[:, 0, 2] = focal / depth, -focal * across / depth
    slopes[:, 1, 1], slopes[:, 1, 2] = camera.focal_y / depth, -camera.focal_y * down / depth
    slopes[:, 2, 2] = -focal * baseline / depth**2
    rotated = (points / disparities[:, None]) @ state.camera_t_key[:3, :3].T
    by_disparity = -(slopes @ rotated[:, :, None])[:, :, 0]
    rows = np.zeros((len(points), 3, 6 + TERMS))
    rows[:, :, :3] = slopes @ np.cross(np.eye(3)[None], seen[:, None]).transpose(0, 2, 1)
    rows[:, :, 3:6] = slopes
    rows[:, :, 6:] = by_disparity[:, :, None] * at_key[:, None, :]
    rows[:, 2, 6:] -= at_new
    pixel, disparity = settings.pixel_deviation, settings.disparity_deviation
    inverse = np.tile([1 / pixel, 1 / pixel, 1 / disparity], (len(points), 1))
    inverse[:, 2] = np.where(is_measured, inverse[:, 2], 1 / UNKNOWN_PX)
    along = by_disparity * inverse * disparity
    squares = np.sum(along**2, axis=1, keepdims=True)
    # the root of the inverse of 1 + a a^T leaves what is across a, and shortens what is along it
    fraction = (1 - 1 / np.sqrt(1 + squares)) / np.maximum(squares, TINY)
    errors, rows = errors * inverse, rows * inverse[:, :, None]
    errors = errors - along * fraction * np.sum(along * errors, axis=1, keepdims=True)
    rows = rows - (along * fraction)[:, :, None] * (along[:, None, :] @ rows)
    return _Linear(errors, rows)


def _solve(normal: Array, right: Array) -> Array | None:
    try:
        step = np.asarray(np.linalg.solve(normal, right), np.float64)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


def points_of_disparities(pixels: Array, disparities: Array, camera: StereoCamera) -> Array:
    """Points (n, 3) in m before the left camera, by its pixels (n, 2) and their disparities (n,) in px."""
    across = (pixels - [camera.center_x, camera.center_y]) / [camera.focal_x, camera.focal_y]
    depth = camera.focal_x * camera.baseline_m / disparities
    return np.column_stack([across, np.ones(len(pixels))]) * depth[:, None]
