"""Stereo visual odometry: where a stereo camera is, from one pair of its images to the next.

    camera = StereoCamera(focal_x=700.0, focal_y=700.0, center_x=516.0, center_y=386.0, baseline_m=0.1)
    odometry = StereoOdometry(camera)
    for stamp_ns, left, right in pairs:  # rectified grey images (h, w), uint8
        estimate = odometry.track(left, right, stamp_ns)
        if estimate.success:
            print(estimate.pose)  # the left camera in the frame of the first left image

Corners of the left image are followed into the right one, which gives points before the camera, and into the next left
one, where the pixels of these points give its pose. Pairs are compared with a key pair, which is replaced once the
camera has moved on, so a static camera does not drift.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import cv2
import numpy as np

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import Array
from fieldplay_cdff.stereo.pair_matching import (
    Grey,
    KeyMatch,
    KeyPair,
    MatchSettings,
    PairMatcher,
    require_grey_pair,
)
from fieldplay_cdff.stereo.parameters import parameter
from fieldplay_cdff.stereo.pose_refinement import DisparityCorrection
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


@dataclass(frozen=True, kw_only=True)
class OdometrySettings(MatchSettings):
    """Settings of `StereoOdometry`."""

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
    """The result for a pair.

    Args:
        stamp_ns: time of the pair, ns.
        success: whether the pose is known; if not, pose and covariance are None.
        pose: the left camera (4, 4) in the frame of the first left image, or in the map.
        covariance: of the pose (6, 6), translation before rotation, about the axes of that frame as in ROS.
        quality: 0 to 1: the fraction of points that support the pose, lower if these are few or in one corner.
        refusal: the reason if the pose is not known.
        is_scene: whether it is the first pose, the identity by definition.
    """

    stamp_ns: int
    success: bool
    pose: Array | None = None
    covariance: Array | None = None
    quality: float = 0.0
    refusal: Refusal | None = None
    is_scene: bool = False


class StereoOdometry:
    """Visual odometry of a stereo camera, pair by pair.

    Args:
        camera: of the rectified images.
        settings: corners, matches, limits of motions.
        threads: with two or more, both comparisons of a pair run in parallel; the result is the same.
    """

    def __init__(
        self, camera: StereoCamera, settings: OdometrySettings = OdometrySettings(), *, threads: int = 1
    ) -> None:
        self.camera, self.settings = camera, settings
        self._matcher = PairMatcher(camera, settings)
        self._pool = ThreadPoolExecutor(1) if threads > 1 else None  # its thread ends with this object
        self.reset()

    def reset(self) -> None:
        """Forget all pairs; the next one is the first again."""
        self._track, self._uncertainty = PoseTrack(self.settings.track), DriftingCovariance(self.settings.drift)
        self._key: KeyPair | None = None
        self._matcher = PairMatcher(self.camera, self.settings)
        self._depth_m, self._chosen_depth_m = 0.0, 0.0

    @property
    def chosen(self) -> dict[str, dict[str, float]]:
        """Values of parameters that were `auto`, chosen from the first pairs, by group and name."""
        own = self.settings.track
        limits = motion_limits(self._chosen_depth_m, self._track.period_s) if self._chosen_depth_m else {}
        autos = {"MaximumShift": own.maximum_shift_m, "MaximumTurn": own.maximum_turn_rad,
                 "KeptWithin": own.kept_within_m}  # fmt: skip
        track = {name: limits[name] for name, value in autos.items() if value is None and name in limits}
        return {"PoseTrack": track} if track else {}

    @property
    def correction(self) -> DisparityCorrection:
        """Estimated error of the disparities from the calibration."""
        return self._matcher.correction

    @property
    def depth_m(self) -> float:
        """Median depth of the points of the key pair, m; 0 before the first."""
        return self._depth_m

    def track(self, left: Grey, right: Grey, stamp_ns: int) -> StereoEstimate:
        """Compute the pose of a pair.

        Args:
            left: rectified image (h, w), uint8.
            right: the same of the right camera, of the same size.
            stamp_ns: their time, increasing.

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
        """Make a pair the new key pair; the calibration learned from the last motion is kept."""
        if match is not None and match.tracks is not None:
            self._matcher.calibrate(match.tracks, match.pose)
        self._key = current
        self._depth_m = current.depth_m or self._depth_m
        self._chosen_depth_m = self._chosen_depth_m or self._depth_m

    def _step_uncertainty(self, match: KeyMatch) -> StepUncertainty | None:
        """Return the uncertainty of a refined motion; None for one that is not refined."""
        if match.refined is None or self._key is None:
            return None
        factor = self.settings.refinement.residual_factor
        return StepUncertainty(factor**2 * match.refined.covariance, self._scale_deviation())

    def _scale_deviation(self) -> float:
        """Return the relative error of all lengths, from the uncertainty of the disparity offset."""
        assert self._key is not None
        disparities = self._key.disparities[np.isfinite(self._key.disparities)]
        near = np.percentile(disparities, 75) if len(disparities) else 1.0
        offset_px = self.settings.refinement.offset_remaining + self._matcher.correction.offset_deviation_px
        return offset_px / max(float(near), 1.0)

    def _compare(self, left: Grey, right: Grey, stamp_ns: int) -> "tuple[KeyPair, KeyMatch | Refusal]":
        """Both comparisons of a pair: of its images with each other, and with the key pair."""
        if self._pool is None:
            return self._matcher.see(left, right), self._match(left, right, stamp_ns)
        match = self._pool.submit(self._match, left, right, stamp_ns)
        try:
            return self._matcher.see(left, right), match.result()
        finally:
            wait([match])

    def _match(self, left: Grey, right: Grey, stamp_ns: int) -> KeyMatch | Refusal:
        """The motion from the key pair, searched near its prediction at constant velocity."""
        motion = self._track.motion
        if self._key is None or motion is None:
            return Refusal(reason=Reason.FEW_DISPARITIES)
        expected = expected_pose(motion, stamp_ns, self.settings.track.maximum_time_s)
        return self._matcher.match(self._key, left, right, expected)


def _few_points(corners: int, points: int) -> Refusal:
    """Return the reason why a pair has too few points."""
    if points > corners / 2:
        return Refusal(reason=Reason.FEW_CORNERS, parameter="Corners.MaxFeaturesNumber")
    return Refusal(reason=Reason.FEW_DISPARITIES, detail=f"{points} of {corners} corners are in the right image")
