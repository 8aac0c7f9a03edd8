"""Our own steps that compose a trajectory from motions, and merge point clouds along it."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    quaternion_from_rotation,
)
from fieldplay_cdff.descriptors.description_reader import GENERAL
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    NO_TIME,
    Array,
    Cloud,
    Frame,
    State,
)
from fieldplay_cdff.stereo.parameters import settings_from_parameters
from fieldplay_cdff.stereo.pose_track import Motion, PoseTrack, TrackSettings, expected_pose
from fieldplay_cdff.stereo.presets import voxel_size
from fieldplay_cdff.stereo.refusals import refusal_of_group

MAX_CELLS = 1 << 20  # to each side of the origin
BITS = 21  # of each of three numbers of a cell


@implements("PoseTrack")
class ComposePose(Step):
    """scene_T_left of the steps last_T_new, or of estimates of it; the first pair that has a basis is the scene.

    A failed or implausible motion does not change the pose. `nextPose` is the prediction for the next pair
    where none is lost; `motion` is the pose of the last pair in the reference pair, and its velocity, so that
    the pose is known at any time. Triggers without stamps count as one a second.
    `accepted` is whether the next pairs are compared with this one: not while it is still near its own reference
    pair, so that a static camera does not drift.
    """

    keeps_state = True
    optional = ("basis", "step", "estimate", "success", "quality")

    def configure(self) -> None:
        self._options = settings_from_parameters(TrackSettings, self.general)
        self._track = PoseTrack(self._options)

    def reset(self) -> None:
        self.configure()

    def process(
        self,
        *,
        trigger: Any,
        basis: Any = None,
        step: Array | None = None,
        estimate: Array | None = None,
        success: bool | None = None,
        quality: float | None = None,
    ) -> Ports:
        stamp_ns = getattr(trigger, "stamp_ns", NO_TIME)
        outcome = self._track.add(
            None if stamp_ns == NO_TIME else stamp_ns,
            can_be_key=self._is_enough(basis),
            step=step,
            estimate=estimate,
            success=success,
            quality=quality,
        )
        self.refusal, self.is_first = refusal_of_group(outcome.refusal, GENERAL), outcome.is_scene
        outputs: Ports = {"success": outcome.pose is not None, "accepted": outcome.is_key}
        if outcome.pose is not None:
            outputs["pose"] = outcome.pose
        if outcome.quality is not None:
            outputs["quality"] = float(outcome.quality)
        motion = self._track.motion
        if motion is None:
            return outputs
        values = np.concatenate([motion.position, motion.rates])
        state = State(values=values, covariance=np.zeros((12, 12)), stamp_ns=motion.stamp_ns)
        return {**outputs, "nextPose": self._track.next_pose, "motion": state}

    def _is_enough(self, basis: Any) -> bool:
        """Whether later pairs can be compared with one that has this; of a cloud its points count."""
        points, minimum = getattr(basis, "points", None), self._options.minimum_points
        if basis is None or points is None or not minimum:
            return basis is not None
        return bool(np.isfinite(points).all(axis=1).sum() >= minimum)


@implements("MotionExpectation")
class ConstantMotion(Step):
    """Predicts the pose at constant velocity, for some seconds only."""

    def process(self, *, trigger: Frame, motion: State) -> Ports:
        own = Motion(motion.values[:6], motion.values[6:], motion.stamp_ns)
        return {"pose": expected_pose(own, trigger.stamp_ns, self.general["MaximumTime"])}


@implements("PoseHistory")
class PoseHistory(Step):
    """Poses of the last pairs relative to the newest, which is one step after the last: (n, 4, 4)."""

    keeps_state = True

    def configure(self) -> None:
        self._poses: deque[Array] = deque(maxlen=self.general["NumberOfAdjustedStereoPairs"] - 1)

    def reset(self) -> None:
        self.configure()

    def process(self, *, pose: Array, step: Array) -> Ports:
        if not self._poses or self._poses[0] is not pose:  # after a failure it is the same again
            self._poses.appendleft(pose)
        new_t_scene = inverse_from_transform(pose @ step)
        return {"posesSequence": np.stack([np.eye(4), *(new_t_scene @ each for each in self._poses)])}


@implements("MergeGate")
class MergeGate(Step):
    """A cloud in the scene when it is due to be merged: every so many pairs, after some distance, or at low overlap."""

    keeps_state = True
    optional = ("map",)

    def configure(self) -> None:
        self._pairs, self._pose = 0, np.eye(4)

    def reset(self) -> None:
        self.configure()

    def process(self, *, pointCloud: Cloud, pose: Array, map: Cloud | None = None) -> Ports:
        is_first = self._pairs == 0
        self._pairs += 1
        if not (is_first or self._is_time(pointCloud, pose, map)):
            return {}
        self._pairs, self._pose = 1, pose
        return {"pointCloud": pointCloud}

    def _is_time(self, cloud: Cloud, pose: Array, there: Cloud | None) -> bool:
        options = self.general
        if options["CloudUpdateType"] == "Time":
            return bool(self._pairs > options["CloudUpdateTime"])
        if options["CloudUpdateType"] == "Distance":
            moved = inverse_from_transform(self._pose) @ pose
            turned = 1 - abs(float(quaternion_from_rotation(moved[:3, :3])[3]))
            is_far = np.linalg.norm(moved[:3, 3]) > options["CloudUpdateTranslationDistance"]
            return bool(is_far or turned > options["CloudUpdateOrientationDistance"])
        return _overlap(cloud, there, options["OverlapInlierDistance"]) < float(options["OverlapThreshold"])


def _overlap(cloud: Cloud, there: Cloud | None, within: float) -> float:
    """The fraction of a cloud's points that have one of another within a distance."""
    if there is None or not len(there) or not len(cloud):
        return 0.0
    distances, _ = cKDTree(there.points).query(cloud.points, distance_upper_bound=within)
    return float(np.isfinite(distances).mean())


@implements("PointCloudAssembly")
class CloudMap(Step):
    """All clouds that came, as the means of the points of each cell, in the order of the cells."""

    keeps_state = True
    optional = ("secondPointCloud", "viewCenter", "viewRadius")

    def configure(self) -> None:
        self._cells: NDArray[np.int64] = np.zeros(0, np.int64)
        self._sums = np.zeros((0, 4))  # of x, y, z, intensity
        self._counts = np.zeros(0)
        self._size_m: float = self.general["VoxelResolution"] or 0.0  # 0: by the first cloud
        self._has_intensity = True
        self._clouds = 0

    def reset(self) -> None:
        self.configure()

    def process(
        self,
        *,
        firstPointCloud: Cloud,
        secondPointCloud: Cloud | None = None,
        viewCenter: Array | None = None,
        viewRadius: float | None = None,
    ) -> Ports:
        for cloud in (firstPointCloud, *([] if secondPointCloud is None else [secondPointCloud])):
            self._merge(cloud)
        self._clouds += 1
        if (self._clouds - 1) % self.general["OutputEvery"]:
            return {}
        radius = self.general["ViewRadius"] if viewRadius is None else viewRadius
        return {"assembledCloud": self._visible_cloud(firstPointCloud.stamp_ns, viewCenter, radius)}

    def _merge(self, cloud: Cloud) -> None:
        size = self._size_m = self._size_m or voxel_size(cloud.points[np.isfinite(cloud.points).all(axis=1)])
        if not size:
            return
        if self.general["VoxelResolution"] is None:
            self.chosen = {GENERAL: {"VoxelResolution": size}}
        inside = np.abs(cloud.points) < MAX_CELLS * size  # which NaN is not
        number: NDArray[np.bool_] = np.asarray(inside.all(axis=1), np.bool_)
        points = cloud.points[number]
        cells = np.floor(points / size).astype(np.int64) + MAX_CELLS
        keys = (cells[:, 0] << 2 * BITS) | (cells[:, 1] << BITS) | cells[:, 2]
        self._has_intensity &= cloud.intensity is not None or not len(points)
        intensity = np.zeros(len(points)) if cloud.intensity is None else cloud.intensity[number]
        sums = np.concatenate([self._sums, np.column_stack([points, intensity])])
        counts = np.concatenate([self._counts, np.ones(len(points))])
        self._cells, indices = np.unique(np.concatenate([self._cells, keys]), return_inverse=True)
        indices = indices.ravel()
        self._sums = np.column_stack([np.bincount(indices, column, len(self._cells)) for column in sums.T])
        self._counts = np.asarray(np.bincount(indices, counts, len(self._cells)), np.float64)

    def _visible_cloud(self, stamp_ns: int, center: Array | None, radius: float) -> Cloud:
        which = self._counts >= self.general["MinimumObservations"]
        means = self._sums[which] / self._counts[which, None]
        intensity = means[:, 3].astype(np.float32) if self._has_intensity and len(means) else None
        cloud = Cloud(points=means[:, :3], intensity=intensity, counts=self._counts[which], stamp_ns=stamp_ns)
        if radius <= 0 or center is None:
            return cloud
        return cloud.subset(np.linalg.norm(cloud.points - center[:3, 3], axis=1) <= radius)
