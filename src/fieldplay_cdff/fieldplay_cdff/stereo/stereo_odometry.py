"""Stereo visual odometry: where a stereo camera is, from one pair of its images to the next.

    camera = StereoCamera(focal_x=700.0, focal_y=700.0, center_x=516.0, center_y=386.0, baseline_m=0.1)
    odometry = StereoOdometry(camera)
    for stamp_ns, left, right in pairs:  # rectified grey images (h, w), uint8
        estimate = odometry.track(left, right, stamp_ns)
        if estimate.success:
            print(estimate.pose)  # the left camera in the frame of the first left image

Corners of the left image are followed into the right one, which gives points before the camera, and into the next left
one, where the pixels of these points give its pose. Pairs are compared with a key pair, which is replaced once the
camera has moved on, so a camera that stands does not drift.
"""

from concurrent.futures import ThreadPoolExecutor, wait
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
from fieldplay_cdff.stereo.pose_track import (
    DriftingCovariance,
    DriftSettings,
    PoseTrack,
    StepUncertainty,
    TrackSettings,
    expected_pose,
)
from fieldplay_cdff.stereo.presets import motion_limits
from fieldplay_cdff.stereo.refusals import Reason, Refusal, refusal_of_group

LEAST_DISPARITY_PX = 0.1  # of a corrected disparity
MAX_DEVIATION_OF_DEPTH = 0.05  # of a position, by the median depth: beyond, the motion is not determined
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


@dataclass(frozen=True, kw_only=True)
class CornerSettings:
    """Which corners are taken: the strongest, none nearer to a stronger one than a distance."""

    maximum_count: int = parameter("MaxFeaturesNumber", 500)
    quality: float = parameter("Quality", 0.01)  # of the weakest, as a fraction of the strongest
    minimum_strength: float = parameter("LeastStrength", 2.5e-4)  # the smaller eigenvalue
    minimum_distance_px: float = parameter("MinimumDistance", 10.0)
    block_size_px: int = parameter("BlockSize", 5)


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """How points are followed from one image into another (Lucas-Kanade, forward and backward)."""

    window_px: int = parameter("WindowSize", 21)
    fine_window_px: int = parameter("FineWindowSize", 0)  # in which the position is refined at last; 0: not at all
    pyramid_levels: int = parameter("PyramidLevels", 3)
    maximum_return_error_px: float = parameter("MaximumReturnError", 0.5)
    maximum_row_error_px: float = parameter("MaximumRowError", 0.0)  # of a rectified pair; 0: any
    equalize_brightness: bool = parameter("EqualizeBrightness", True)


@dataclass(frozen=True, kw_only=True)
class TriangulationSettings:
    """Which matches of a rectified pair have a point."""

    minimum_disparity_px: float = parameter("MinimumDisparity", 0.5)
    maximum_row_error_px: float = parameter("MaximumRowError", 1.0)


@dataclass(frozen=True, kw_only=True)
class PnpSettings:
    """How the pose of a camera is found by points and their pixels: RANSAC, then all that agree."""

    outlier_threshold_px: float = parameter("OutlierThreshold", 2.0)
    confidence: float = parameter("Confidence", 0.999)
    iterations: int = parameter("Iterations", 200)
    minimum_matches: int = parameter("MinimumMatches", 20)  # of the odometry: with fewer no pose is looked for


@dataclass(frozen=True, kw_only=True)
class OdometrySettings:
    """All settings of `StereoOdometry`, part by part."""

    corners: CornerSettings = parameter("Corners", CornerSettings())
    stereo: FlowSettings = parameter(
        "StereoTracking", FlowSettings(fine_window_px=11, pyramid_levels=4, maximum_row_error_px=1.0)
    )
    temporal: FlowSettings = parameter("Tracking", FlowSettings(fine_window_px=11, pyramid_levels=5))
    triangulation: TriangulationSettings = parameter("Triangulation", TriangulationSettings())
    pnp: PnpSettings = parameter("PerspectiveNPoint", PnpSettings())
    refinement: RefinementSettings = parameter("Refinement", RefinementSettings())
    track: TrackSettings = parameter(
        "PoseTrack",
        TrackSettings(
            prediction="Constant", maximum_shift_m=None, maximum_turn_rad=None, minimum_quality=0.4,
            restart_after_pairs=3, minimum_points=40, kept_within_m=None, kept_within_rad=0.03,
        ),
    )  # fmt: skip
    drift: DriftSettings = parameter("PoseUncertainty", DriftSettings())


# The odometry.


@dataclass(frozen=True, eq=False, kw_only=True)
class StereoEstimate:
    """What is known of a pair.

    Args:
        stamp_ns: when the pair was taken.
        success: whether the pose is known; without it pose and covariance are none.
        pose: the left camera (4, 4) in the frame of the first left image, or in the map.
        covariance: of the pose (6, 6), shift before rotation, about the axes of that frame as in ROS.
        quality: 0 to 1: the fraction of points that support the pose, less where these are few or in one corner.
        refusal: why the pose is not known.
        is_scene: whether it is the first pose, which is known by definition.
    """

    stamp_ns: int
    success: bool
    pose: Array | None = None
    covariance: Array | None = None
    quality: float = 0.0
    refusal: Refusal | None = None
    is_scene: bool = False


class KeyPair(NamedTuple):
    """A pair that others are compared with: pixels (n, 2) of the left image, their disparities (n,), points (n, 3)."""

    left: Grey
    pixels: Array
    disparities: Array
    points: Array


class KeyMatch(NamedTuple):
    """A motion from the key pair: key_T_left (4, 4), its quality, and by which tracks it was refined."""

    pose: Array
    quality: float
    refined: RefinedMotion | None = None
    tracks: StereoTracks | None = None


class StereoOdometry:
    """The pose of a stereo camera, pair by pair.

    Args:
        camera: of the rectified images.
        settings: which corners, matches and steps are taken.
        threads: with two or more, both comparisons of a pair run at the same time; the result is the same.
    """

    def __init__(
        self, camera: StereoCamera, settings: OdometrySettings = OdometrySettings(), *, threads: int = 1
    ) -> None:
        self.camera, self.settings = camera, settings
        self._pool = ThreadPoolExecutor(1) if threads > 1 else None  # its thread ends with this object
        self.reset()

    def reset(self) -> None:
        """Forget all pairs: the next one is the first again."""
        self._track, self._uncertainty = PoseTrack(self.settings.track), DriftingCovariance(self.settings.drift)
        self._key: KeyPair | None = None
        self._correction = DisparityCorrection(self.settings.refinement, self.camera)
        self._depth_m, self._chosen_depth_m = 0.0, 0.0

    @property
    def chosen(self) -> dict[str, dict[str, float]]:
        """Parameters that were `auto`, as the first pairs chose them, by group and name."""
        own = self.settings.track
        limits = motion_limits(self._chosen_depth_m, self._track.period_s) if self._chosen_depth_m else {}
        autos = {"MaximumShift": own.maximum_shift_m, "MaximumTurn": own.maximum_turn_rad,
                 "KeptWithin": own.kept_within_m}  # fmt: skip
        track = {name: limits[name] for name, value in autos.items() if value is None and name in limits}
        return {"PoseTrack": track} if track else {}

    @property
    def correction(self) -> DisparityCorrection:
        """What the disparities are off by the calibration, as far as the drive told it."""
        return self._correction

    @property
    def depth_m(self) -> float:
        """Median depth of the points of the key pair, m; 0 before the first."""
        return self._depth_m

    def track(self, left: Grey, right: Grey, stamp_ns: int) -> StereoEstimate:
        """The pose of a pair.

        Args:
            left: rectified image (h, w), uint8.
            right: the same of the right camera, of the same size.
            stamp_ns: when they were taken; it increases.

        Returns:
            The pose in the frame of the first left image with enough points; no success where it is not known.
        """
        require_grey_pair(left, right)
        try:
            current, match = self._compare(left, right, stamp_ns)
        except cv2.error:
            self.skip(stamp_ns)
            raise
        known = np.asarray(np.isfinite(current.points).all(axis=1))
        is_key = int(known.sum()) >= self.settings.track.minimum_points
        self._track.limit(self.settings.track.of_camera(self._depth_m, self._track.period_s))
        step, quality = (match.pose, match.quality) if isinstance(match, KeyMatch) else (None, None)
        outcome = self._track.add(stamp_ns, can_be_key=is_key, step=step, quality=quality)
        uncertainty = self._step_uncertainty(match) if isinstance(match, KeyMatch) else None
        if outcome.is_key:
            self._replace_key(current, match if isinstance(match, KeyMatch) and outcome.pose is not None else None)
        covariance = self._uncertainty.add(outcome.pose, stamp_ns, restarted=outcome.is_key, step=uncertainty)
        refusal = match if isinstance(match, Refusal) else refusal_of_group(outcome.refusal, "PoseTrack")
        if refusal is not None and not is_key and refusal.reason in (Reason.FEW_MATCHES, Reason.NO_RESULT):
            refusal = _few_points(len(known), int(known.sum()))
        return StereoEstimate(
            stamp_ns=stamp_ns,
            success=outcome.pose is not None,
            pose=outcome.pose,
            covariance=covariance,
            quality=outcome.quality or 0.0,
            refusal=None if outcome.pose is not None else refusal,
            is_scene=outcome.is_scene,
        )

    def skip(self, stamp_ns: int) -> None:
        """A pair that cannot be used counts as one of which no pose is known."""
        self._uncertainty.add(None, stamp_ns, restarted=self._track.add(stamp_ns, can_be_key=False).is_key)

    def _replace_key(self, current: KeyPair, match: KeyMatch | None) -> None:
        """Compare with another pair from now on; what the last motion told of the calibration is kept."""
        if match is not None and match.tracks is not None:
            self._calibrate(match.tracks, match.pose)
        self._key = current
        depths = current.points[np.isfinite(current.points[:, 2]), 2]
        self._depth_m = float(np.median(depths)) if len(depths) else self._depth_m
        self._chosen_depth_m = self._chosen_depth_m or self._depth_m

    def _calibrate(self, tracks: StereoTracks, pose: Array) -> None:
        """Take over what a motion tells of the calibration."""
        settings, correction = self.settings.refinement, self._correction
        both = refine_motion(tracks, pose, self.camera, settings=settings, correction=correction, calibrates=True)
        if both is not None:
            correction.update(both.correction, both.correction_covariance)

    def _step_uncertainty(self, match: KeyMatch) -> StepUncertainty | None:
        """How well a refined motion is known; None of one that is not refined."""
        if match.refined is None or self._key is None:
            return None
        factor = self.settings.refinement.residual_factor
        return StepUncertainty(factor**2 * match.refined.covariance, self._scale_deviation())

    def _scale_deviation(self) -> float:
        """By how much all lengths may be off, as the offset of the disparities is known."""
        assert self._key is not None
        disparities = self._key.disparities[np.isfinite(self._key.disparities)]
        near = np.percentile(disparities, 75) if len(disparities) else 1.0
        offset_px = self.settings.refinement.offset_remaining + self._correction.offset_deviation_px
        return offset_px / max(float(near), 1.0)

    def _compare(self, left: Grey, right: Grey, stamp_ns: int) -> "tuple[KeyPair, KeyMatch | Refusal]":
        """Both comparisons of a pair: of its images with each other, and with the key pair."""
        if self._pool is None:
            return self._see(left, right), self._match_key(left, right, stamp_ns)
        match = self._pool.submit(self._match_key, left, right, stamp_ns)
        try:
            return self._see(left, right), match.result()
        finally:
            wait([match])

    def _see(self, left: Grey, right: Grey) -> KeyPair:
        """Corners of the left image that are in the right one, and the points that this gives."""
        corners, _ = find_corners(left, self.settings.corners)
        pixels, sinks, _ = follow_points(left, right, corners, self.settings.stereo)
        points = triangulate_disparities(
            pixels, sinks, self.camera.matrix, self.camera.baseline_m, self.settings.triangulation
        )
        disparities = np.where(np.isfinite(points[:, 2]), pixels[:, 0] - sinks[:, 0], np.nan)
        return KeyPair(left, pixels, disparities, points)

    def _match_key(self, left: Grey, right: Grey, stamp_ns: int) -> KeyMatch | Refusal:
        """key_T_left by the points of the key pair, or why there is none."""
        motion = self._track.motion
        if self._key is None or motion is None:
            return Refusal(reason=Reason.FEW_DISPARITIES)
        if self._key.left.shape != left.shape:
            return Refusal(reason=Reason.FEW_MATCHES, detail="the size of the images changed")
        key_points = self._points_of_key(self._key)
        expected = expected_pose(motion, stamp_ns, self.settings.track.maximum_time_s)
        guess = project_points(self._key.pixels, key_points, expected, self.camera.matrix)
        sources, sinks, _ = follow_points(self._key.left, left, self._key.pixels, self.settings.temporal, guess)
        known = np.flatnonzero(np.isfinite(key_points).all(axis=1))
        own, other = common_pixels(self._key.pixels[known], sources)
        rows = known[own]
        minimum = self.settings.pnp.minimum_matches
        if len(own) < minimum:
            return Refusal(reason=Reason.FEW_MATCHES, parameter="PerspectiveNPoint.MinimumMatches", value=len(own))
        try:
            found = pose_from_points(key_points[rows], sinks[other], self.camera.matrix, self.settings.pnp)
        except cv2.error:  # of points that are all in one place
            found = None
        if found is None:
            return Refusal(reason=Reason.FEW_INLIERS, detail=f"{len(own)} matches")
        if not self.settings.refinement.enabled:
            return KeyMatch(found.pose, found.quality)
        return self._refine(self._key, rows, sinks[other], (left, right), found.pose)

    def _points_of_key(self, key: KeyPair) -> Array:
        """The points of the key pair, its disparities corrected as far as the calibration is known."""
        if not self.settings.refinement.enabled:
            return key.points
        disparities = np.maximum(key.disparities + self._correction.at(key.pixels), LEAST_DISPARITY_PX)
        return points_of_disparities(key.pixels, disparities, self.camera)

    def _refine(
        self, key: KeyPair, rows: Indices, pixels: Array, images: tuple[Grey, Grey], pose: Array
    ) -> KeyMatch | Refusal:
        """The motion by both images of the new pair, judged by what supports it."""
        expected = project_disparities(self._points_of_key(key)[rows], pose, self.camera)
        guess = pixels - np.column_stack([expected - self._correction.at(pixels), np.zeros(len(pixels))])
        sources, sinks, _ = follow_points(*images, pixels, self.settings.stereo, guess)
        own, other = common_pixels(pixels, sources)
        new = np.full(len(rows), np.nan)
        new[own] = pixels[own, 0] - sinks[other, 0]
        tracks = StereoTracks(key.pixels[rows], key.disparities[rows], pixels, new)
        settings, correction = self.settings.refinement, self._correction
        refined = refine_motion(
            tracks, pose, self.camera, settings=settings, correction=correction, calibrates=correction.is_applied
        )
        if refined is None:
            return Refusal(reason=Reason.AMBIGUOUS)
        deviation_m = float(np.sqrt(np.linalg.eigvalsh(refined.covariance[:3, :3])[-1]))
        if deviation_m > MAX_DEVIATION_OF_DEPTH * self._depth_m:
            detail = f"the position is known to {deviation_m:.2g} m at a depth of {self._depth_m:.2g} m"
            return Refusal(reason=Reason.AMBIGUOUS, detail=detail)
        return KeyMatch(refined.pose, self._quality(tracks, refined, images[0].shape), refined, tracks)

    def _quality(self, tracks: StereoTracks, refined: RefinedMotion, shape: tuple[int, ...]) -> float:
        """The fraction of inliers, less where these are few or cover little of the image."""
        inliers = tracks.new_pixels[refined.inliers]
        cells = np.unique((inliers / shape[::-1] * CELLS).astype(np.intp) @ [1, CELLS], axis=0)
        support = min(1.0, len(inliers) / FULL_SUPPORT) * min(1.0, len(cells) / FULL_CELLS)
        return float(np.mean(refined.inliers)) * support


def _few_points(corners: int, points: int) -> Refusal:
    """Why a pair has too few points."""
    if points > corners / 2:
        return Refusal(reason=Reason.FEW_CORNERS, parameter="Corners.MaxFeaturesNumber")
    return Refusal(reason=Reason.FEW_DISPARITIES, detail=f"{points} of {corners} corners are in the right image")


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
        settings: window, levels, and by how much the way back and the row may be off.
        expected: where the pixels may be in the sink (n, 2); else they are looked for about their own positions.

    Returns:
        Pixels of the source that are found again (m, 2), where they are in the sink (m, 2), and by how many pixels
        the way back misses them (m,).
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
    """Where points (n, 2) are in the sink, from where they are about (n, 2), by a small window.

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
    """Where points are seen after a step.

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
    """Points (n, 3) before the left camera, on the very rays of left pixels (n, 2), as far away as the columns tell.

    Such a point projects onto its left pixel, whatever is wrong with the rows: who compares it with later images does
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

    The one with which most of random samples agree (RANSAC), then the best of all that agree with it.

    Args:
        points: (n, 3), in any frame.
        pixels: of these (n, 2).
        matrix: K (3, 3).
        settings: how far off a pixel may be, and how long to try.
        minimum: points that must agree.

    Returns:
        The pose; none where too few points tell one.
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
