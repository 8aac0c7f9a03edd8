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
from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_from_vector,
    transform_from_rotation,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.stereo.parameters import parameter

FARTHEST_PX = 500.0  # that a point may be expected to move
SAME_GAIN, SAME_MEAN = 0.05, 5.0  # by which contrast (as a logarithm) and brightness of images may differ
MIN_POINTS = 4  # of a pose
EXACT = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_MAX_ITER, 100, 1e-14)
PART_S = 0.25  # of a motion, over which its direction does not change
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
class TrackSettings:
    """Which steps are believed, and what is assumed where none is known; 0 is no limit."""

    prediction: str = parameter("Prediction", "Still")  # of the next step: Still or Constant
    maximum_shift_m: float = parameter("MaximumShift", 0.0)  # from what was to be expected, per pair
    maximum_turn_rad: float = parameter("MaximumTurn", 0.0)
    minimum_quality: float = parameter("MinimumQuality", 0.0)
    restart_after_pairs: int = parameter("RestartAfter", 0)  # that failed, after which it goes on as before
    predicted_pairs: int = parameter("PredictedPairs", 12)  # periods for which it may go on as before
    minimum_points: int = parameter("LeastBasis", 0)  # of a key pair
    kept_within_m: float = parameter("KeptWithin", 0.0)  # of the key pair, within which that stays
    kept_within_rad: float = parameter("KeptWithinTurn", 0.0)
    maximum_time_s: float = parameter("MaximumTime", 3.0)  # for which points are looked for where motion leads


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """How far an odometry may be off: by deviations that grow with the root of the path length, and with gaps."""

    shift_per_root_m: float = parameter("ShiftPerRoot", 0.006)  # after a metre
    turn_per_root_rad: float = parameter("TurnPerRoot", 0.003)
    metres_per_turn: float = parameter("MetresPerTurn", 0.5)  # as much as which a turn by 1 rad counts
    gap_speed_m_s: float = parameter("GapSpeed", 0.3)
    gap_turn_rad_s: float = parameter("GapTurn", 0.2)

    def length_m(self, step: Array) -> float:
        """Length of a step (4, 4) in m, its rotation included."""
        turned = float(np.linalg.norm(vector_from_rotation(step[:3, :3])))
        return float(np.linalg.norm(step[:3, 3])) + self.metres_per_turn * turned

    def covariance_of_length(self, length_m: float) -> Array:
        """The covariance (6, 6) that a path length adds."""
        return np.diag([self.shift_per_root_m**2 * length_m] * 3 + [self.turn_per_root_rad**2 * length_m] * 3)

    def covariance_of_gap(self, seconds: float) -> Array:
        """The covariance (6, 6) that a time adds in which nothing was known."""
        return np.diag([(self.gap_speed_m_s * seconds) ** 2] * 3 + [(self.gap_turn_rad_s * seconds) ** 2] * 3)


@dataclass(frozen=True, kw_only=True)
class OdometrySettings:
    """All settings of `StereoOdometry`, part by part."""

    corners: CornerSettings = parameter("Corners", CornerSettings())
    stereo: FlowSettings = parameter("StereoTracking", FlowSettings(pyramid_levels=4, maximum_row_error_px=1.0))
    temporal: FlowSettings = parameter("Tracking", FlowSettings(pyramid_levels=5))
    triangulation: TriangulationSettings = parameter("Triangulation", TriangulationSettings())
    pnp: PnpSettings = parameter("PerspectiveNPoint", PnpSettings())
    track: TrackSettings = parameter(
        "PoseTrack",
        TrackSettings(
            prediction="Constant", maximum_shift_m=0.5, maximum_turn_rad=0.35, minimum_quality=0.4,
            restart_after_pairs=3, minimum_points=40, kept_within_m=0.1, kept_within_rad=0.03,
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
        quality: the fraction of points that support the pose, 0 to 1.
    """

    stamp_ns: int
    success: bool
    pose: Array | None = None
    covariance: Array | None = None
    quality: float = 0.0


class KeyPair(NamedTuple):
    """A pair that others are compared with: the left image, pixels (n, 2) in it, their points (n, 3), NaN for none."""

    left: Grey
    pixels: Array
    points: Array


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
        is_key = bool(np.isfinite(current.points).all(axis=1).sum() >= self.settings.track.minimum_points)
        step, quality = (None, None) if match is None else (match.pose, match.quality)
        outcome = self._track.add(stamp_ns, can_be_key=is_key, step=step, quality=quality)
        if outcome.is_key:
            self._key = current
        covariance = self._uncertainty.add(outcome.pose, stamp_ns, restarted=outcome.is_key)
        return StereoEstimate(
            stamp_ns=stamp_ns,
            success=outcome.pose is not None,
            pose=outcome.pose,
            covariance=covariance,
            quality=outcome.quality or 0.0,
        )

    def skip(self, stamp_ns: int) -> None:
        """A pair that cannot be used counts as one of which no pose is known."""
        self._uncertainty.add(None, stamp_ns, restarted=self._track.add(stamp_ns, can_be_key=False).is_key)

    def _compare(self, left: Grey, right: Grey, stamp_ns: int) -> "tuple[KeyPair, PointPose | None]":
        """Both comparisons of a pair: of its images with each other, and with the key pair."""
        if self._pool is None:
            return self._see(left, right), self._match_key(left, stamp_ns)
        match = self._pool.submit(self._match_key, left, stamp_ns)
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
        return KeyPair(left, pixels, points)

    def _match_key(self, left: Grey, stamp_ns: int) -> "PointPose | None":
        """key_T_left by the points of the key pair; none where too few of them are seen."""
        motion = self._track.motion
        if self._key is None or motion is None or self._key.left.shape != left.shape:
            return None
        expected = expected_pose(motion, stamp_ns, self.settings.track.maximum_time_s)
        guess = project_points(self._key.pixels, self._key.points, expected, self.camera.matrix)
        sources, sinks, _ = follow_points(self._key.left, left, self._key.pixels, self.settings.temporal, guess)
        known = np.flatnonzero(np.isfinite(self._key.points).all(axis=1))
        own, other = common_pixels(self._key.pixels[known], sources)
        if len(own) < self.settings.pnp.minimum_matches:
            return None
        try:
            return pose_from_points(self._key.points[known[own]], sinks[other], self.camera.matrix, self.settings.pnp)
        except cv2.error:  # of points that are all in one place
            return None


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


# Steps put together: what is believed, what is expected, and how far it may be off.


class TrackOutcome(NamedTuple):
    """scene_T_left (4, 4), none where it is not known; whether this pair is now the key; the quality of the step."""

    pose: Array | None
    is_key: bool
    quality: float | None


class Motion(NamedTuple):
    """Where the last known pair was, seen from the key pair, and its velocity about the axes of the camera.

    Both are a rotation vector and a shift (6,), `rates` in rad/s and m/s.
    """

    position: Array
    rates: Array
    stamp_ns: int


class PoseTrack:
    """scene_T_left of the steps key_T_left; the first pair that can be a key is the scene.

    What failed, or is not believed, leaves the pose as it is. After some failures in a row the pair is taken to be
    where it would be if it had gone on as before, and is the new key.
    """

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings
        self._key: Array | None = None  # of the pair that others are compared with
        self._last = np.eye(4)  # of the last pair that is known
        self._step = np.eye(4)  # from pair to pair, as they came to begin with
        self._period_ns = 0  # between these
        self._last_ns = self._now_ns = 0
        self._failed = 0

    def add(
        self,
        stamp_ns: int | None,
        *,
        can_be_key: bool,
        step: Array | None = None,
        estimate: Array | None = None,
        success: bool | None = None,
        quality: float | None = None,
    ) -> TrackOutcome:
        """The next pair.

        Args:
            stamp_ns: when it was taken; without one, pairs count as one a second.
            can_be_key: whether later pairs can be compared with it.
            step: key_T_left (4, 4), none where it is not known.
            estimate: scene_T_left (4, 4) instead.
            success: false where the step is not to be believed.
            quality: of the step, 0 to 1.
        """
        self._now_ns = self._now_ns + NS_PER_S if stamp_ns is None else stamp_ns
        if self._key is None:
            if not can_be_key:
                return TrackOutcome(None, is_key=False, quality=None)
            self._key, self._last_ns = np.eye(4), self._now_ns
            return TrackOutcome(self._key, is_key=True, quality=1.0)
        new = step if estimate is None else inverse_from_transform(self._key) @ estimate
        if new is None or success is False or self._is_outlier(self._key @ new, quality):
            return self._refuse(can_be_key=can_be_key)
        before, self._last = self._last, self._key @ new
        self._period_ns = self._period_ns or self._now_ns - self._last_ns
        self._step = _part(inverse_from_transform(before) @ self._last, 1 / self._pairs)
        self._last_ns, self._failed = self._now_ns, 0
        is_new = not self._is_near(new)
        if is_new:
            self._key = self._last
        return TrackOutcome(self._last, is_key=is_new, quality=quality)

    @property
    def next_pose(self) -> Array:
        """scene_T_left (4, 4) that is to be expected of the next pair, where none is lost."""
        since = (self._now_ns - self._last_ns) / self._period_ns if self._period_ns else float(self._failed)
        return self._expected_pose(since + 1)

    @property
    def motion(self) -> Motion | None:
        """How it moves, as far as that is predicted; none before the first key pair."""
        if self._key is None:
            return None
        speed, rates = self._period_ns / NS_PER_S, np.zeros(6)
        if speed and self._settings.prediction == "Constant":
            rates = np.concatenate([vector_from_rotation(self._step[:3, :3]), self._step[:3, 3]]) / speed
        position = inverse_from_transform(self._key) @ self._last
        return Motion(np.concatenate([vector_from_rotation(position[:3, :3]), position[:3, 3]]), rates, self._last_ns)

    def _is_near(self, new: Array) -> bool:
        own = self._settings
        return bool(np.linalg.norm(new[:3, 3]) < own.kept_within_m and _angle(new) < own.kept_within_rad)

    def _is_outlier(self, pose: Array, quality: float | None) -> bool:
        """Whether a pose is implausible."""
        if not np.isfinite(pose).all():
            return True
        own = self._settings
        off = inverse_from_transform(self._expected_pose(self._pairs)) @ pose
        limits = ((own.maximum_shift_m, float(np.linalg.norm(off[:3, 3]))), (own.maximum_turn_rad, _angle(off)))
        is_far = any(limit > 0 and value > limit * max(self._pairs, 1) for limit, value in limits)
        return is_far or (quality is not None and quality < own.minimum_quality)

    @property
    def _pairs(self) -> float:
        """How many periods ago the last pair was that is known."""
        since_ns = self._now_ns - self._last_ns
        return since_ns / self._period_ns if self._period_ns and since_ns > 0 else float(1 + self._failed)

    def _expected_pose(self, pairs: float) -> Array:
        """Predict the pose so many periods after the last known one; for some predictions only."""
        if self._settings.prediction != "Constant":
            return self._last
        return self._last @ repeat_step(self._step, min(pairs, self._settings.predicted_pairs))

    def _refuse(self, *, can_be_key: bool) -> TrackOutcome:
        self._failed += 1
        restarts = 0 < self._settings.restart_after_pairs <= self._failed and can_be_key
        if restarts:
            self._key = self._last = self._expected_pose(self._pairs)
            self._last_ns, self._failed = self._now_ns, 0
        return TrackOutcome(None, is_key=restarts, quality=0.0)


class DriftingCovariance:
    """How far the poses of a trajectory may be off by now; where it was restarted, the gap is in it, too."""

    def __init__(self, drift: DriftSettings) -> None:
        self._drift = drift
        self._last: Array | None = None
        self._known, self._known_ns = np.zeros((6, 6)), 0
        self._is_gap = False

    def add(self, pose: Array | None, stamp_ns: int, *, restarted: bool) -> Array | None:
        """The covariance (6, 6) of the next pose (4, 4), about the axes of its parent; none without a pose."""
        if pose is None:
            self._is_gap |= restarted
            return None
        if self._last is not None:
            step = inverse_from_transform(self._last) @ pose
            self._known = transport_covariance(self._known, step) + self._drift.covariance_of_length(
                self._drift.length_m(step)
            )
            if self._is_gap:
                self._known = self._known + self._drift.covariance_of_gap((stamp_ns - self._known_ns) / NS_PER_S)
        self._last, self._known_ns, self._is_gap = pose, stamp_ns, False
        return covariance_in_parent(pose, self._known)


def transport_covariance(covariance: Array, step: Array) -> Array:
    """The covariance (6, 6) of a pose as that of the pose a step (4, 4) further, each in its own frame."""
    turn, shift = step[:3, :3], step[:3, 3]
    change = np.zeros((6, 6))
    change[:3, :3] = change[3:, 3:] = turn.T
    change[:3, 3:] = turn.T @ np.cross(shift, np.eye(3))  # of a turn before the step
    result: Array = change @ covariance @ change.T
    return result


def covariance_in_parent(pose: Array, covariance: Array) -> Array:
    """The covariance (6, 6) of a pose (4, 4) about the axes of its parent, from that about its own axes."""
    turn = np.kron(np.eye(2), pose[:3, :3])
    result: Array = turn @ covariance @ turn.T
    return result


def expected_pose(motion: Motion, stamp_ns: int, maximum_s: float) -> Array:
    """key_T_left (4, 4) at a time, if it goes on as it did, for so many seconds at most."""
    seconds = max(0.0, min((stamp_ns - motion.stamp_ns) / NS_PER_S, maximum_s))
    position, step = (transform_from_vectors(each[:3], each[3:]) for each in (motion.position, motion.rates * PART_S))
    return np.asarray(position @ repeat_step(step, seconds / PART_S))


def repeat_step(step: Array, times: float) -> Array:
    """Repeat a step (4, 4) a number of times, which may be fractional."""
    whole = max(1, ceil(times))
    power: Array = np.linalg.matrix_power(_part(step, times / whole), whole)
    return power


def _part(step: Array, fraction: float) -> Array:
    """A fraction of a step's shift and rotation."""
    if fraction == 1:
        return step
    return transform_from_vectors(vector_from_rotation(step[:3, :3]) * fraction, step[:3, 3] * fraction)


def _angle(pose: Array) -> float:
    """By how much a pose turns, rad."""
    return 2 * float(np.arccos(min(1.0, abs(float(quaternion_from_rotation(pose[:3, :3])[3])))))
