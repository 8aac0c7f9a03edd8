"""Pairs of rectified images that are compared: corners, their disparities, and the motion from one pair to another.

Corners of a left image are followed into the right one, which gives points before the camera, and into the left image
of another pair, where the pixels of these points give its pose. The pose is refined by the pixels of both new images.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_from_vector,
    transform_from_rotation,
    transform_points,
)
from fieldplay_cdff.stereo.parameters import parameter
from fieldplay_cdff.stereo.pose_refinement import (
    NEAREST_M,
    DisparityCorrection,
    RefinedMotion,
    RefinementSettings,
    StereoTracks,
    points_of_disparities,
    refine_motion,
)
from fieldplay_cdff.stereo.refusals import Reason, Refusal, few_matches

LEAST_DISPARITY_PX = 0.1  # of a corrected disparity
MAX_DEVIATION_OF_DEPTH = 0.05  # of a position, by the median depth: beyond, the motion is not determined
MAX_SCALE = 4.0  # by which residuals of the median point may exceed the deviations of the settings
CELLS, FULL_CELLS, FULL_SUPPORT = 4, 4, 30  # an image has 4 x 4 cells; in 4 of them 30 points support a motion fully
FINE_PX = 1.0  # by which a position may be refined
FARTHEST_PX = 500.0  # that a point may be expected to move
SAME_GAIN, SAME_MEAN = 0.05, 5.0  # by which contrast (as a logarithm) and brightness of images may differ
MIN_POINTS = 4  # of a pose
EXACT = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_MAX_ITER, 100, 1e-14)
Grey = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


# Settings. A field names the parameter of the processing step that it is the same as.
MATCHES_PARAMETER = "PerspectiveNPoint.MinimumMatches"


@dataclass(frozen=True, kw_only=True)
class CornerSettings:
    """Selection of corners: the strongest, none nearer to a stronger one than a distance."""

    maximum_count: int = parameter("MaxFeaturesNumber", 500)
    quality: float = parameter("Quality", 0.01)  # of the weakest, as a fraction of the strongest
    minimum_strength: float = parameter("LeastStrength", 2.5e-4)  # the smaller eigenvalue
    minimum_distance_px: float = parameter("MinimumDistance", 10.0)
    block_size_px: int = parameter("BlockSize", 5)


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """Tracking of points from one image to another (Lucas-Kanade, forward and backward)."""

    window_px: int = parameter("WindowSize", 21)
    fine_window_px: int = parameter("FineWindowSize", 0)  # in which the position is refined at last; 0: not at all
    pyramid_levels: int = parameter("PyramidLevels", 3)
    maximum_return_error_px: float = parameter("MaximumReturnError", 0.5)
    maximum_row_error_px: float = parameter("MaximumRowError", 0.0)  # of a rectified pair; 0: any
    equalize_brightness: bool = parameter("EqualizeBrightness", True)


@dataclass(frozen=True, kw_only=True)
class TriangulationSettings:
    """Conditions for the triangulation of matches of a rectified pair."""

    minimum_disparity_px: float = parameter("MinimumDisparity", 0.5)
    maximum_row_error_px: float = parameter("MaximumRowError", 1.0)


@dataclass(frozen=True, kw_only=True)
class PnpSettings:
    """Pose estimation from points and their pixels: RANSAC, then all inliers."""

    outlier_threshold_px: float = parameter("OutlierThreshold", 2.0)
    confidence: float = parameter("Confidence", 0.999)
    iterations: int = parameter("Iterations", 200)
    minimum_matches: int = parameter("MinimumMatches", 20)  # of the odometry: with fewer no pose is computed


@dataclass(frozen=True, kw_only=True)
class MatchSettings:
    """All settings for the comparison of pairs."""

    corners: CornerSettings = parameter("Corners", CornerSettings())
    stereo: FlowSettings = parameter(
        "StereoTracking", FlowSettings(fine_window_px=11, pyramid_levels=4, maximum_row_error_px=1.0)
    )
    temporal: FlowSettings = parameter("Tracking", FlowSettings(fine_window_px=11, pyramid_levels=5))
    triangulation: TriangulationSettings = parameter("Triangulation", TriangulationSettings())
    pnp: PnpSettings = parameter("PerspectiveNPoint", PnpSettings())
    refinement: RefinementSettings = parameter("Refinement", RefinementSettings())


# The comparison.


class KeyPair(NamedTuple):
    """A pair that others are compared with: pixels (n, 2) of the left image, their disparities (n,), points (n, 3)."""

    left: Grey
    pixels: Array
    disparities: Array
    points: Array

    @property
    def depth_m(self) -> float:
        """Median depth of the points, m; 0 where there are none."""
        depths = self.points[np.isfinite(self.points[:, 2]), 2]
        return float(np.median(depths)) if len(depths) else 0.0


class KeyMatch(NamedTuple):
    """A motion from the key pair: key_T_left (4, 4), its quality, and by which tracks it was refined."""

    pose: Array
    quality: float
    refined: RefinedMotion | None = None
    tracks: StereoTracks | None = None


class PairMatcher:
    """Compares pairs of a stereo camera.

    Args:
        camera: of the rectified images.
        settings: which corners and matches are taken.

    Attributes:
        correction: of disparities, as far as the calibration is known to be off.
    """

    def __init__(self, camera: StereoCamera, settings: MatchSettings = MatchSettings()) -> None:
        self.camera, self.settings = camera, settings
        self.correction = DisparityCorrection(settings.refinement, camera)

    def see(self, left: Grey, right: Grey) -> KeyPair:
        """Corners of the left image that are in the right one, and the points that this gives."""
        corners, _ = find_corners(left, self.settings.corners)
        pixels, sinks, _ = follow_points(left, right, corners, self.settings.stereo)
        points = triangulate_disparities(
            pixels, sinks, self.camera.matrix, self.camera.baseline_m, self.settings.triangulation
        )
        disparities = np.where(np.isfinite(points[:, 2]), pixels[:, 0] - sinks[:, 0], np.nan)
        return KeyPair(left, pixels, disparities, points)

    def match(self, key: KeyPair, left: Grey, right: Grey, expected: Array) -> KeyMatch | Refusal:
        """The motion from a key pair to another one.

        Args:
            key: as `see` gave it.
            left: rectified image (h, w), uint8.
            right: the same of the right camera.
            expected: predicted key_T_left (4, 4), for the search of points.

        Returns:
            key_T_left by the points of the key pair, or why there is none.
        """
        if key.left.shape != left.shape:
            return Refusal(reason=Reason.FEW_MATCHES, detail="the size of the images changed")
        rows, pixels = self._follow(key, left, expected)
        if len(rows) < self.settings.pnp.minimum_matches:
            return few_matches(len(rows), MATCHES_PARAMETER)
        points = self._points_of_key(key)
        try:
            found = pose_from_points(points[rows], pixels, self.camera.matrix, self.settings.pnp)
        except cv2.error:  # of points that are all at one position
            found = None
        if found is None:
            return Refusal(reason=Reason.FEW_INLIERS, detail=f"{len(rows)} matches")
        if not self.settings.refinement.enabled:
            return KeyMatch(found.pose, found.quality)
        tracks = self._tracks(key, rows, pixels, (left, right), found.pose)
        return self._refine(tracks, found.pose, key)

    def refine_guess(
        self, key: KeyPair, left: Grey, right: Grey, guess: Array, others: StereoTracks | None = None
    ) -> KeyMatch | Refusal:
        """The motion from a key pair to another one, near a guess by another method.

        Args:
            key: as `see` gave it.
            left: rectified image (h, w), uint8.
            right: the same of the right camera.
            guess: key_T_left (4, 4); a wrong one has too few inliers.
            others: known matches, which are used in addition.

        Returns:
            key_T_left by all matches, or why there is none.
        """
        rows, pixels = self._follow(key, left, guess)
        tracks = self._tracks(key, rows, pixels, (left, right), guess)
        if others is not None:
            tracks = StereoTracks(*(np.concatenate(each) for each in zip(tracks, others, strict=True)))
        if len(tracks.pixels) < self.settings.pnp.minimum_matches:
            return few_matches(len(tracks.pixels), MATCHES_PARAMETER)
        return self._refine(tracks, guess, key)

    def _follow(self, key: KeyPair, left: Grey, expected: Array) -> tuple[Indices, Array]:
        """Rows of the key pair's points that are found in a left image, and their pixels (n, 2) there."""
        points = self._points_of_key(key)
        guess = project_points(key.pixels, points, expected, self.camera.matrix)
        sources, sinks, _ = follow_points(key.left, left, key.pixels, self.settings.temporal, guess)
        known = np.flatnonzero(np.isfinite(points).all(axis=1))
        own, other = common_pixels(key.pixels[known], sources)
        return known[own], sinks[other]

    def _points_of_key(self, key: KeyPair) -> Array:
        """The points of the key pair, its disparities corrected as far as the calibration is known."""
        if not self.settings.refinement.enabled:
            return key.points
        disparities = np.maximum(key.disparities + self.correction.at(key.pixels), LEAST_DISPARITY_PX)
        return points_of_disparities(key.pixels, disparities, self.camera)

    def _tracks(
        self, key: KeyPair, rows: Indices, pixels: Array, images: tuple[Grey, Grey], pose: Array
    ) -> StereoTracks:
        """Points of the key pair with their pixels in the new left image, and the disparities there."""
        expected = project_disparities(self._points_of_key(key)[rows], pose, self.camera)
        guess = pixels - np.column_stack([expected - self.correction.at(pixels), np.zeros(len(pixels))])
        sources, sinks, _ = follow_points(*images, pixels, self.settings.stereo, guess)
        own, other = common_pixels(pixels, sources)
        new = np.full(len(rows), np.nan)
        new[own] = pixels[own, 0] - sinks[other, 0]
        return StereoTracks(key.pixels[rows], key.disparities[rows], pixels, new)

    def _refine(self, tracks: StereoTracks, pose: Array, key: KeyPair) -> KeyMatch | Refusal:
        """Return the motion by both images of the new pair, scored by its inliers."""
        settings, correction = self.settings.refinement, self.correction
        refined = refine_motion(
            tracks, pose, self.camera, settings=settings, correction=correction, calibrates=correction.is_applied
        )
        if refined is None:
            return Refusal(reason=Reason.AMBIGUOUS)
        if refined.scale > MAX_SCALE:
            return Refusal(reason=Reason.FEW_INLIERS, detail=f"{len(tracks.pixels)} matches contradict each other")
        deviation_m = settings.residual_factor * float(np.sqrt(np.linalg.eigvalsh(refined.covariance[:3, :3])[-1]))
        if deviation_m > MAX_DEVIATION_OF_DEPTH * key.depth_m:
            detail = f"the position is known to {deviation_m:.2g} m at a depth of {key.depth_m:.2g} m"
            return Refusal(reason=Reason.AMBIGUOUS, detail=detail)
        return KeyMatch(refined.pose, self._quality(tracks, refined, key.left.shape), refined, tracks)

    def _quality(self, tracks: StereoTracks, refined: RefinedMotion, shape: tuple[int, ...]) -> float:
        """The fraction of inliers, less where these are few or cover little of the image."""
        inliers = tracks.new_pixels[refined.inliers]
        cells = np.unique((inliers / shape[::-1] * CELLS).astype(np.intp) @ [1, CELLS], axis=0)
        support = min(1.0, len(inliers) / FULL_SUPPORT) * min(1.0, len(cells) / FULL_CELLS)
        return float(np.mean(refined.inliers)) * support

    def calibrate(self, tracks: StereoTracks, pose: Array) -> None:
        """Update the calibration from a motion (4, 4) and its tracks."""
        settings, correction = self.settings.refinement, self.correction
        both = refine_motion(tracks, pose, self.camera, settings=settings, correction=correction, calibrates=True)
        if both is not None:
            correction.update(both.correction, both.correction_covariance)


def require_grey_pair(left: Grey, right: Grey) -> None:
    """ValueError where images are not grey, or not of one size."""
    for side, image in (("left", left), ("right", right)):
        if image.ndim != 2 or image.dtype != np.uint8 or not image.size:
            raise ValueError(f"{side}: expected a grey image (h, w) of uint8, got {image.shape} of {image.dtype}")
    if left.shape != right.shape:
        raise ValueError(f"right: expected an image of {left.shape} as left, got {right.shape}")


# Corners, and where they are in another image.


def find_corners(image: Grey, settings: CornerSettings) -> tuple[Array, Array]:
    """The strongest corners, by the smaller of both slopes: pixels (n, 2), and their strengths (n,)."""
    everywhere = np.full(image.shape, 255, np.uint8)
    corners, strength = cv2.goodFeaturesToTrackWithQuality(
        image, settings.maximum_count, settings.quality, settings.minimum_distance_px, everywhere,
        blockSize=settings.block_size_px,
    )  # fmt: skip
    pixels = np.asarray([] if corners is None else corners, np.float64).reshape(-1, 2)
    response = np.asarray([] if corners is None else strength, np.float64).ravel()
    strong = response >= settings.minimum_strength
    return pixels[strong], response[strong]


def follow_points(
    source: Grey, sink: Grey, pixels: Array, settings: FlowSettings, expected: Array | None = None
) -> tuple[Array, Array, Array]:
    """Follow pixels of an image into another.

    Where the exposure changed, the sink is made as bright and as rich in contrast as the source.

    Args:
        source: an image (h, w).
        sink: another one of the same size.
        pixels: in the source (n, 2).
        settings: window, levels, and the limits of the forward-backward check and of the row.
        expected: predicted positions of the pixels in the sink (n, 2); else the search starts at their own positions.

    Returns:
        Pixels of the source that are tracked (m, 2), their positions in the sink (m, 2), and by how many pixels
        the forward-backward check misses them (m,).
    """
    if not len(pixels):
        return pixels, pixels, np.zeros(0)
    if settings.equalize_brightness:
        sink = equalize_brightness(source, sink)
    sinks, errors = track_flow(
        source, sink, pixels, window=settings.window_px, levels=settings.pyramid_levels, expected=expected
    )
    is_valid = errors < settings.maximum_return_error_px
    if settings.fine_window_px and is_valid.any():
        sinks[is_valid] = refine_flow(source, sink, pixels[is_valid], sinks[is_valid], settings.fine_window_px)
    if settings.maximum_row_error_px > 0:  # of a rectified pair
        is_valid &= np.abs(sinks[:, 1] - pixels[:, 1]) <= settings.maximum_row_error_px
    return pixels[is_valid], sinks[is_valid], errors[is_valid]


def track_flow(
    source: Grey, sink: Grey, points: Array, *, window: int, levels: int, expected: Array | None = None
) -> tuple[Array, Array]:
    """Track points (n, 2) of an image in another (n, 2); return also the forward-backward errors (n,).

    They are looked for about where they are expected (n, 2), else at their own position. Errors are infinite where
    points are lost, or left the image.
    """
    start = np.array(points, np.float32).reshape(-1, 1, 2)
    aim = start if expected is None else np.array(expected, np.float32).reshape(-1, 1, 2)
    size, starts = (window, window), cv2.OPTFLOW_USE_INITIAL_FLOW
    there, is_tracked, _ = cv2.calcOpticalFlowPyrLK(
        source, sink, start, aim.copy(), winSize=size, maxLevel=levels, flags=starts
    )
    home = start + np.asarray(there) - aim
    back, is_back, _ = cv2.calcOpticalFlowPyrLK(sink, source, there, home, winSize=size, maxLevel=levels, flags=starts)
    pixels = there[:, 0].astype(np.float64)
    height, width = source.shape
    is_there = (
        (is_tracked[:, 0] > 0) & (is_back[:, 0] > 0) & ((pixels >= 0) & (pixels <= [width - 1, height - 1])).all(axis=1)
    )
    return pixels, np.where(is_there, np.linalg.norm((back - start)[:, 0], axis=1), np.inf)


def refine_flow(source: Grey, sink: Grey, points: Array, sinks: Array, window: int) -> Array:
    """Refine positions (n, 2) in the sink, from approximate ones (n, 2), by a small window.

    A large window finds a point again, but averages over a surface that is not parallel to the image: on the ground
    ahead of a camera that moves it is off by some tenths of a pixel, always to the same side.
    """
    start, aim = (np.array(each, np.float32).reshape(-1, 1, 2) for each in (points, sinks))
    fine, is_tracked, _ = cv2.calcOpticalFlowPyrLK(
        source, sink, start, aim.copy(), winSize=(window, window), maxLevel=0, flags=cv2.OPTFLOW_USE_INITIAL_FLOW
    )
    moved = np.linalg.norm(np.asarray(fine - aim)[:, 0], axis=1)
    is_near = (is_tracked[:, 0] > 0) & (moved < FINE_PX)
    return np.where(is_near[:, None], np.asarray(fine)[:, 0], sinks).astype(np.float64)


def equalize_brightness(source: Grey, sink: Grey) -> Grey:
    """The sink with the mean and the deviation of the source's grey values; as it is where they differ little."""
    (mean, spread), (own_mean, own_spread) = (
        [float(np.ravel(each)[0]) for each in cv2.meanStdDev(image)] for image in (source, sink)
    )
    gain = spread / own_spread if own_spread > 0 else 1.0
    if abs(np.log(max(gain, 1e-3))) < SAME_GAIN and abs(mean - own_mean) < SAME_MEAN:
        return sink
    return np.asarray(cv2.convertScaleAbs(sink, None, gain, mean - gain * own_mean), np.uint8)


def project_points(pixels: Array, points: Array, step: Array, matrix: Array) -> Array:
    """Predict the pixels of points after a motion.

    Args:
        pixels: of the points before it (n, 2), which are returned where a point is not known or too far off.
        points: in the camera before the step (n, 3).
        step: the pose of the camera after it (4, 4), in the camera before it.
        matrix: K (3, 3).

    Returns:
        Pixels (n, 2).
    """
    seen = transform_points(inverse_from_transform(step), points)
    with np.errstate(divide="ignore", invalid="ignore"):
        projected = (seen / seen[:, 2:]) @ matrix[:2].T
        good = (seen[:, 2] > 0) & (np.abs(projected - pixels) < FARTHEST_PX).all(axis=1)  # which NaN is not
    return np.where(good[:, None], projected, pixels)


def project_disparities(points: Array, step: Array, camera: StereoCamera) -> Array:
    """The disparities (n,) in px of points (n, 3), in the camera before a step (4, 4), after it."""
    depth = transform_points(inverse_from_transform(step), points)[:, 2]
    result: Array = camera.focal_x * camera.baseline_m / np.maximum(depth, NEAREST_M)
    return result


def triangulate_disparities(
    left: Array, right: Array, matrix: Array, baseline_m: float, settings: TriangulationSettings
) -> Array:
    """Return points (n, 3) in the left camera, on the exact rays of left pixels (n, 2), with depth from disparity.

    Such a point projects onto its left pixel, whatever its row error is, so that a comparison with later images does
    not take that for a motion. It is NaN where the right pixel (n, 2) does not lie to the left, or in another row.
    """
    inverse = np.linalg.inv(matrix)
    shifts = left - right
    known = np.isfinite(shifts).all(axis=1)
    known &= shifts[:, 0] >= settings.minimum_disparity_px
    known &= np.abs(shifts[:, 1]) <= settings.maximum_row_error_px
    rays = np.column_stack([left, np.ones(len(left))]) @ inverse.T
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = baseline_m / (inverse[0, 0] * shifts[:, 0])
        return np.where(known[:, None], rays * depth[:, None], np.nan)


def common_pixels(one: Array, other: Array) -> tuple[Indices, Indices]:
    """Indices of equal pixels in (n, 2) and (m, 2), each pixel once, in the order of their columns."""
    _, indices, its = np.intersect1d(one[:, 0] + 1j * one[:, 1], other[:, 0] + 1j * other[:, 1], return_indices=True)
    return indices, its


# The pose of a camera by points and their pixels.


class PointPose(NamedTuple):
    """camera_T_points (4, 4), the indices of the points that agree with it, and their fraction of all."""

    camera_t_points: Array
    inliers: Indices
    quality: float

    @property
    def pose(self) -> Array:
        """points_T_camera (4, 4)."""
        return inverse_from_transform(self.camera_t_points)


def pose_from_points(
    points: Array, pixels: Array, matrix: Array, settings: PnpSettings, *, minimum: int = MIN_POINTS
) -> PointPose | None:
    """The pose of a camera by points and their pixels.

    The pose with most inliers of random samples (RANSAC), then the best of all inliers.

    Args:
        points: (n, 3), in any frame.
        pixels: of these (n, 2).
        matrix: K (3, 3).
        settings: how far off a pixel may be, and how long to try.
        minimum: points that must agree.

    Returns:
        The pose; None if there are too few points.
    """
    if len(points) < minimum:
        return None
    good, turn, shift, inliers = cv2.solvePnPRansac(
        points, pixels, matrix, np.zeros(0), iterationsCount=settings.iterations,
        reprojectionError=settings.outlier_threshold_px, confidence=settings.confidence,
    )  # fmt: skip
    if not good or inliers is None or len(inliers) < minimum:
        return None
    inside = inliers.ravel().astype(np.intp)
    turn, shift = cv2.solvePnPRefineLM(points[inside], pixels[inside], matrix, np.zeros(0), turn, shift, EXACT)
    if not np.isfinite(turn).all() or not np.isfinite(shift).all():
        return None
    camera_t_points = transform_from_rotation(rotation_from_vector(turn.ravel()), shift.ravel())
    return PointPose(camera_t_points, inside, len(inside) / len(points))
