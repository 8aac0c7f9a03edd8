"""Steps that wrap stereo odometry, stereo SLAM and localisation in a map: `fieldplay_cdff.stereo` has the classes."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from fieldplay.core.errors import UsageError
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay_cdff.steps.intrinsics import grey_pair, matrix_of, stereo_camera
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features2D, Frame, FramePair, PoseEstimate
from fieldplay_cdff.stereo import (
    LocalisationSettings,
    MapLocalisation,
    OdometrySettings,
    SlamSettings,
    StereoEstimate,
    StereoOdometry,
    StereoSlam,
    load_map,
    save_map,
)
from fieldplay_cdff.stereo.pair_matching import MatchSettings, PairMatcher
from fieldplay_cdff.stereo.parameters import settings_from_parameters
from fieldplay_cdff.stereo.pose_refinement import StereoTracks
from fieldplay_cdff.stereo.pose_track import DriftingCovariance, DriftSettings
from fieldplay_cdff.stereo.refusals import Reason, Refusal
from fieldplay_cdff.stereo.stereo_slam import KeyframeTracker

MINIMUM_QUALITY = "GeneralParameters.MinimumQuality"
FAILED: Ports = {"success": False}


def _pose_ports(estimate: StereoEstimate, correction: Array | None = None) -> Ports:
    if estimate.pose is None or estimate.covariance is None:
        return FAILED
    pose = PoseEstimate(
        pose=estimate.pose, covariance=estimate.covariance, stamp_ns=estimate.stamp_ns, correction=correction
    )
    return {"pose": pose, "success": True}


@implements("StereoOdometry")
class LucasKanadePnp(Step):
    """The trajectory of a stereo camera by points that it follows, as LucasKanadePnpSteps does it step by step."""

    keeps_state = True
    camera_groups: ClassVar[Mapping[str, str]] = {"CameraMatrix": "left", "GeneralParameters": "right"}

    def configure(self) -> None:
        camera = StereoCamera.from_matrix(matrix_of(self.settings["CameraMatrix"]), self.general["Baseline"])
        settings = settings_from_parameters(OdometrySettings, self.settings)
        self._odometry = StereoOdometry(camera, settings, threads=self.threads)

    def reset(self) -> None:
        self._odometry.reset()

    def process(self, *, left: Frame, right: Frame) -> Ports:
        try:
            images = grey_pair(left, right)
        except ValueError:
            self._odometry.skip(left.stamp_ns)
            raise
        estimate = self._odometry.track(*images, left.stamp_ns)
        self.chosen, self.refusal, self.is_first = self._odometry.chosen, estimate.refusal, estimate.is_scene
        return {**_pose_ports(estimate, self._odometry.correction.values), "quality": estimate.quality}


@implements("MotionRefinement")
class BothImages(Step):
    """Refines a guessed motion between pairs: by corners tracked from their predicted positions, and by matches.

    `camera` is lastLeft_T_left. A guess that is due to chance has too few inliers, and is refused. The
    calibration learned from the drive is kept for the next pairs.
    """

    keeps_state = True
    optional = ("points", "projections")

    def configure(self) -> None:
        self._settings = settings_from_parameters(MatchSettings, self.settings)
        self._matcher: PairMatcher | None = None

    def reset(self) -> None:
        self._matcher = None

    def process(
        self, *, left: Frame, right: Frame, lastLeft: Frame, lastRight: Frame, camera: Array,
        points: Cloud | None = None, projections: Features2D | None = None,
    ) -> Ports:  # fmt: skip
        stereo = stereo_camera(left, "left", baseline_m=right.baseline_m)
        if self._matcher is None or self._matcher.camera != stereo:
            self._matcher = PairMatcher(stereo, self._settings)
        matcher = self._matcher
        key = matcher.see(*grey_pair(lastLeft, lastRight, ("lastLeft", "lastRight")))
        others = None if points is None or projections is None else _tracks(points, projections, stereo)
        match = matcher.refine_guess(key, *grey_pair(left, right), camera, others)
        if isinstance(match, Refusal):
            self.refusal = match
            return FAILED
        if match.quality < self.general["MinimumQuality"]:
            self.refusal = Refusal(reason=Reason.LOW_QUALITY, parameter=MINIMUM_QUALITY, value=match.quality)
            return FAILED
        if match.tracks is not None:
            matcher.calibrate(match.tracks, match.pose)
        return {"camera": match.pose, "success": True, "quality": match.quality}


def _tracks(points: Cloud, projections: Features2D, camera: StereoCamera) -> StereoTracks:
    """Points of the last pair and their pixels in the new left image, whose disparities are not known."""
    depth = np.where(points.points[:, 2] > 0, points.points[:, 2], np.nan)
    pixels = (points.points / depth[:, None]) @ camera.matrix[:2].T
    known = np.isfinite(pixels).all(axis=1) & np.isfinite(projections.points).all(axis=1)
    disparities = camera.focal_x * camera.baseline_m / depth[known]
    return StereoTracks(pixels[known], disparities, projections.points[known], np.full(len(disparities), np.nan))


@implements("PoseUncertainty")
class DriftingPose(Step):
    """The poses of a trajectory with their covariance so far; a trajectory that restarted includes the gap, too."""

    keeps_state = True
    optional = ("pose", "accepted")

    def configure(self) -> None:
        self._uncertainty = DriftingCovariance(settings_from_parameters(DriftSettings, self.general))

    def reset(self) -> None:
        self.configure()

    def process(self, *, trigger: Frame, pose: Array | None = None, accepted: bool = False) -> Ports:
        covariance = self._uncertainty.add(pose, trigger.stamp_ns, restarted=accepted)
        if pose is None or covariance is None:
            return {}
        return {"estimate": PoseEstimate(pose=pose, covariance=covariance, stamp_ns=trigger.stamp_ns)}


class AmongKeyframes(Step):
    """The common base of the steps with a map of keyframes: a pair, and its odometry."""

    keeps_state = True
    optional = ("odometry", "tracked")

    def process(self, *, imagePair: FramePair, odometry: PoseEstimate | None = None, tracked: bool = True) -> Ports:
        left, right = grey_pair(imagePair.left, imagePair.right)
        tracker = self._tracker_of(imagePair)
        pose = odometry.pose if odometry is not None and tracked else None
        correction = odometry.correction if odometry is not None else None
        estimate = tracker.update(left, right, imagePair.left.stamp_ns, odometry=pose, correction=correction)
        self.chosen, self.refusal, self.is_first = tracker.chosen, estimate.refusal, estimate.is_scene
        return _pose_ports(estimate)

    def _tracker_of(self, pair: FramePair) -> KeyframeTracker:
        """The one that knows the camera of a pair."""
        raise NotImplementedError


def _camera_of_pair(pair: FramePair) -> StereoCamera:
    return stereo_camera(pair.left, "imagePair", baseline_m=pair.baseline_m)


@implements("StereoSlam")
class KeyframeSlam(AmongKeyframes):
    """SLAM: adds a keyframe every so far; each loop closure corrects all keyframes.

    `path` is the complete trajectory, after each correction and at the end, `map` the final map.
    """

    def configure(self) -> None:
        self._slam: StereoSlam | None = None
        self._settings = settings_from_parameters(SlamSettings, self.settings)
        if self.general["SaveMap"] and not self.general["MapFile"]:
            raise UsageError("SaveMap: expected a MapFile to save the map to")

    def reset(self) -> None:
        self.configure()

    def process(self, *, imagePair: FramePair, odometry: PoseEstimate | None = None, tracked: bool = True) -> Ports:
        outputs = super().process(imagePair=imagePair, odometry=odometry, tracked=tracked)
        if self._slam is not None and self._slam.is_corrected:
            return {**outputs, "path": self._slam.trajectory}
        return outputs

    def _tracker_of(self, pair: FramePair) -> StereoSlam:
        camera = _camera_of_pair(pair)
        if self._slam is None:
            self._slam = StereoSlam(camera, self._settings)
        self._slam.camera = camera
        return self._slam

    def finish(self) -> Ports:
        """The trajectory and the map, which is saved if requested."""
        if self._slam is None or self._slam.map is None:
            return {}
        if self.general["SaveMap"]:
            save_map(Path(self.general["MapFile"]), self._slam.map)
        return {"path": self._slam.trajectory, "map": self._slam.map}


@implements("StereoSlam", name="KeyframeLocalisation")
class InMapOfKeyframes(AmongKeyframes):
    """Found by two keyframes that agree, then held by those that are near; between them the odometry carries."""

    files: ClassVar[Mapping[str, str]] = {"GeneralParameters.MapFile": "the map in which to find the camera"}

    def configure(self) -> None:
        self._localisation: MapLocalisation | None = None
        if self.general["MapFile"]:
            keyframe_map, index = load_map(Path(self.general["MapFile"]), self.notes.append)
            settings = settings_from_parameters(LocalisationSettings, self.settings)
            self._localisation = MapLocalisation(keyframe_map, index=index, settings=settings)

    def reset(self) -> None:
        if self._localisation is not None:
            self._localisation.reset()

    def _tracker_of(self, pair: FramePair) -> MapLocalisation:
        if self._localisation is None:
            raise ValueError("MapFile: expected the map in which to find the camera, got nothing")
        self._localisation.require_size(pair.left.image)
        self._localisation.camera = _camera_of_pair(pair)
        return self._localisation
