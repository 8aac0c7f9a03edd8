"""Steps that register a cloud with another one: iterative closest points or planes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import small_gicp
from scipy.spatial import cKDTree

from fieldplay.core.errors import UsageError
from fieldplay.geometry.transforms import transform_from_vectors, transform_points, vector_from_rotation
from fieldplay_cdff.steps.neighbours import (
    Indices,
    finite,
    surfaces_of,
    voxel_means,
)
from fieldplay_cdff.steps.rigid import MIN_PAIRS, freedoms, hold_to_guess, leaves_rotation_free, plane_step, rigid_fit
from fieldplay_cdff.steps.step import (
    Ports,
    Step,
    implements,
    settings_of,
)
from fieldplay_cdff.steps.values import Array, Cloud, Features3D

CACHED_CLOUDS = 2  # that are made ready: the sink of a call is often the source of the last one
METHODS = {"Point": "ICP", "Plane": "PLANE_ICP", "Gicp": "GICP"}  # as small_gicp calls them
FAR_DEVIATIONS = 3  # of the distances' mean: what CloudCompare takes for the farthest points
MIN_TILT = 1e-6  # squared: what is even is taken to be as uneven
HELD_BELOW = 1e-6  # fraction of the information of the best direction, below which a direction keeps the guess
PREFILTERS = ("DistanceLimit", "RandomSampling", "SamplingSurfaceNormal")
AXES = {"AxisX": 0, "AxisY": 1, "AxisZ": 2}


class Registration(Step):
    """The pose of a source cloud in a sink cloud, and whether enough of it lies on the sink there."""

    optional: ClassVar[tuple[str, ...]] = ("transformGuess", "useGuess")

    def process(
        self, *, sourceCloud: Cloud, sinkCloud: Cloud, transformGuess: Array | None = None, useGuess: bool = False
    ) -> Ports:
        if useGuess and transformGuess is None:
            raise ValueError("transformGuess: expected a pose, got none (useGuess is true)")
        return self.register(sourceCloud, sinkCloud, transformGuess if useGuess else None)

    def register(self, source: Cloud, sink: Cloud, guess: Array | None) -> Ports:
        """Return the transform, whether it is reliable, and the fraction of the source that lies on the sink."""
        source, sink = finite(source, "sourceCloud", minimum=0), finite(sink, "sinkCloud", minimum=0)
        start = np.eye(4) if guess is None else guess
        if leaves_rotation_free(source.points) or leaves_rotation_free(sink.points) or not np.isfinite(start).all():
            return {"success": False}
        transform = self.find_transform(source, sink, start)
        if transform is None:
            return {"success": False}
        distances = self.distances(source, sink, transform)
        near = distances[distances <= self.inlier_distance]
        fraction = len(near) / len(distances)
        if (
            not len(near)
            or fraction < self.settings["Acceptance"]["MinimumInlierShare"]
            or _rms(near) > self.largest_rms
        ):
            return {"success": False}
        return {"transform": transform, "success": True, "quality": fraction}

    @property
    def inlier_distance(self) -> float:
        """How far (m) a point may lie from the sink to be on it."""
        return float(self.settings["Acceptance"]["InlierDistance"])

    @property
    def largest_rms(self) -> float:
        """Which root mean square (m) of the distances of inliers is too much."""
        return float(self.settings["Acceptance"]["MaximumRms"]) or np.inf

    def find_transform(self, source: Cloud, sink: Cloud, start: Array) -> Array | None:
        """Return sink_T_source (4, 4), searched from the start; None where too few points are left."""
        raise NotImplementedError

    def distances(self, source: Cloud, sink: Cloud, transform: Array) -> Array:
        """How far (m) the points of the source lie from the nearest one of the sink."""
        result: Array = cKDTree(sink.points).query(transform_points(transform, source.points), workers=self.threads)[0]
        return result


class PreparedCloud(NamedTuple):
    """A cloud as small_gicp takes it."""

    cloud: Cloud
    points: Array
    own: small_gicp.PointCloud
    tree: small_gicp.KdTree


@implements("Registration3D")
class Icp3D(Registration):
    """Nearest points, nearest planes, or planes of both clouds (GICP), by small_gicp."""

    def configure(self) -> None:
        self._ready: list[PreparedCloud] = []
        if self.general["Method"] not in METHODS:
            raise UsageError(f"Icp3D: expected a Method of {', '.join(METHODS)}, got {self.general['Method']!r}")

    @property
    def inlier_distance(self) -> float:
        return float(self.general["MaxCorrespondenceDistance"])

    @property
    def largest_rms(self) -> float:
        return min(super().largest_rms, float(np.sqrt(self.general["EuclideanFitnessEpsilon"])))

    def find_transform(self, source: Cloud, sink: Cloud, start: Array) -> Array | None:
        general = self.general
        own, target = self._ready_of(source), self._ready_of(sink)
        result = self._align(own, target, start)
        observed = freedoms(result.H, own.points)
        transform = hold_to_guess(start, result.T_target_source, observed, held=general["HeldBelow"])
        for side in (1, -1) if general["ReturnDistance"] else ():
            next_start = transform @ observed.step(0, side * general["ReturnDistance"])
            off = transform_points(self._align(own, target, next_start).T_target_source, own.points) - transform_points(
                transform, own.points
            )
            if _rms(np.linalg.norm(off, axis=1)) > general["ReturnDistance"] / 2:
                return None
        return transform

    def _align(self, own: PreparedCloud, target: PreparedCloud, start: Array) -> small_gicp.RegistrationResult:
        general = self.general
        return small_gicp.align(
            target.own,
            own.own,
            target.tree,
            init_T_target_source=start,
            registration_type=METHODS[general["Method"]],
            max_correspondence_distance=general["MaxCorrespondenceDistance"],
            max_iterations=general["MaximumIterations"],
            rotation_epsilon=general["TransformationEpsilon"] ** 0.5,
            translation_epsilon=general["TransformationEpsilon"] ** 0.5,
            num_threads=1,  # more of them add up in another order each time
        )

    def distances(self, source: Cloud, sink: Cloud, transform: Array) -> Array:
        points = transform_points(transform, self._ready_of(source).points)
        _, squares = self._ready_of(sink).tree.batch_nearest_neighbor_search(points, self.threads)
        distances: Array = np.sqrt(np.asarray(squares))
        return distances

    def _ready_of(self, cloud: Cloud) -> PreparedCloud:
        known = next((ready for ready in self._ready if ready.cloud is cloud), None)
        if known is None:
            size = self.general["VoxelResolution"]
            points = voxel_means(cloud, size).points if size else cloud.points
            own = small_gicp.PointCloud(points)
            known = PreparedCloud(cloud, points, own, small_gicp.KdTree(own))
            if self.general["Method"] != "Point":
                count = self.general["NumberOfNeighboursNormalEstimation"]
                small_gicp.estimate_normals_covariances(own, known.tree, count, self.threads)
        self._ready = [known, *(ready for ready in self._ready if ready is not known)][:CACHED_CLOUDS]
        return known


@implements("FeaturesMatching3D", name="Icp3D")
class Icp3DOfFeatures(Step):
    """The same for keypoints, with any descriptor."""

    def configure(self) -> None:
        self._icp = Icp3D(self.settings, threads=self.threads, seed=self.seed)

    def process(self, *, sourceFeatures: Features3D, sinkFeatures: Features3D) -> Ports:
        return self._icp.register(Cloud(points=sourceFeatures.points), Cloud(points=sinkFeatures.points), None)


@implements("Registration3D")
class IcpCC(Registration):
    """Nearest points as CloudCompare does it: of samples, those that overlap, until the error falls no more."""

    def find_transform(self, source: Cloud, sink: Cloud, start: Array) -> Array:
        general = self.general
        random = np.random.default_rng(self.seed)
        points, target = (_sample(cloud.points, general["SamplingLimit"], random) for cloud in (source, sink))
        tree, transform, last = cKDTree(target), start, np.inf
        count = max(int(np.ceil(general["FinalOverlapRatio"] * len(points))), MIN_PAIRS)
        for _ in range(general["MaximumNumberOfIterations"]):
            distances, nearest = tree.query(transform_points(transform, points), workers=self.threads)
            chosen = np.argsort(distances, kind="stable")[:count]
            if general["FarthestPointsAreFilteredOut"]:
                limit = distances.mean() + FAR_DEVIATIONS * distances.std()
                chosen = chosen[distances[chosen] <= limit]
            error = _rms(distances[chosen])
            is_enough = last - error < general["MinimumErrorReduction"]
            if general["ConvergenceType"] == "ErrorReduction" and is_enough:
                break
            transform, last = rigid_fit(points[chosen], target[nearest[chosen]]), error
        return transform


@implements("Registration3D")
class IcpMatcher(Registration):
    """Nearest points or planes as in libpointmatcher: a random fraction of the source, the nearest of these."""

    def configure(self) -> None:
        without = settings_of("IcpMatcher", {})
        changed = [
            f"{group}.{name}"
            for group in without.keys() - {"Acceptance"}
            for name, value in self.settings[group].items()
            if value != without[group][name] and name != "UseDefault"
        ]
        if self.general["UseDefault"] and changed:
            raise UsageError(
                f"IcpMatcher: {', '.join(sorted(changed))} would mean nothing: expected UseDefault false, got true"
            )

    def find_transform(self, source: Cloud, sink: Cloud, start: Array) -> Array | None:
        general = self.general
        if general["MinimizerType"] == "Identity":
            return start
        points, target, normals = self._prefilter(source, sink)
        if min(len(points), len(target)) < MIN_PAIRS:
            return None
        tree, transform, steps = cKDTree(target), start, list[tuple[float, float]]()
        for _ in range(general["MaximumIterations"]):
            at = transform_points(transform, points)
            own, near = self._match_points(tree, at)
            if general["MinimizerType"] == "PointToPlane":
                turn, shift = plane_step(at[own], target[near], normals[near], held=HELD_BELOW)
                step = transform_from_vectors(turn, shift)
            else:
                step = rigid_fit(at[own], target[near])
                turn, shift = vector_from_rotation(step[:3, :3]), step[:3, 3]
            transform = step @ transform
            steps.append((float(np.linalg.norm(turn)), float(np.linalg.norm(shift))))
            turned, shifted = np.mean(steps[-general["SmoothnessLength"] :], axis=0)
            is_smooth = turned < general["MaxRotationDistance"] and shifted < general["MaxTranslationDistance"]
            if is_smooth and len(steps) >= general["SmoothnessLength"]:
                break
        return transform

    def _prefilter(self, source: Cloud, sink: Cloud) -> tuple[Array, Array, Array]:
        """Return the filtered points of both clouds, and normals of the sink's."""
        source, sink = self._filter_cloud(source, "Source"), self._filter_cloud(sink, "Sink")
        normals = sink.normals
        if normals is None and self.general["MinimizerType"] == "PointToPlane" and len(sink) >= MIN_PAIRS:
            normals = self._normals(sink)
        return source.points, sink.points, sink.points if normals is None else normals

    def _filter_cloud(self, cloud: Cloud, side: str) -> Cloud:
        """Apply the filters that are used on the source or the sink, in the order of their steps."""
        used = [name for name in PREFILTERS if self.settings[f"{name}Prefilter"][f"UseOn{side}"]]
        for name in sorted(used, key=lambda each: self.settings[f"{each}Prefilter"][f"StepOn{side}"]):
            values = self.settings[f"{name}Prefilter"]
            if name == "DistanceLimit":
                cloud = _limit_cloud(cloud, values)
            elif name == "RandomSampling":
                cloud = cloud.subset(np.random.default_rng(self.seed).uniform(size=len(cloud)) < values["Probability"])
            elif side == "Sink" and self.general["MinimizerType"] == "PointToPlane" and len(cloud) >= MIN_PAIRS:
                cloud = replace(cloud, normals=self._normals(cloud))
        return cloud

    def _normals(self, cloud: Cloud) -> Array:
        """Normals (n, 3) of the surface about each point."""
        count = max(self.settings["SamplingSurfaceNormalPrefilter"]["NumberOfNeighbours"], MIN_PAIRS)
        normals, _ = surfaces_of(cloud.points, nearest=count, threads=self.threads)
        return normals

    def _match_points(self, tree: cKDTree, points: Array) -> tuple[Indices, Indices]:
        """Indices of points and of their nearest ones, without the farthest pairs."""
        general, trim = self.general, self.settings["TrimmedDistancePostfilter"]
        count = min(general["KdTreeNumberOfNearestNeighbours"], tree.n)
        distances, near = tree.query(
            points, np.arange(1, count + 1), eps=general["KdTreeMatchingEpsilon"], workers=self.threads
        )
        own = np.repeat(np.arange(len(points)), count)
        if trim["Use"]:
            used = max(int(trim["Ratio"] * distances.size), MIN_PAIRS)
            nearest = np.argsort(distances.ravel(), kind="stable")[:used]
            return own[nearest], near.ravel()[nearest]
        return own, near.ravel()


@implements("ReliefMeasurement")
class SurfaceRelief(Step):
    """Measures whether the surfaces of a cloud determine its pose beyond the noise of stereo matching.

    That noise moves with the camera: clouds of flat ground fit best if the camera is assumed static. For each
    direction of a step it takes the mean over the normals of their squared component in it; `relief` is the minimum
    of these divided by the value that the unevenness of points alone would give.
    """

    def process(self, *, pointCloud: Cloud) -> Ports:
        size = self.general["VoxelResolution"]
        cloud = finite(pointCloud, "pointCloud", minimum=0)
        points = voxel_means(cloud, size).points if size and len(cloud) else cloud.points
        if leaves_rotation_free(points):
            return {"success": False, "relief": 0.0}
        nearest = self.general["NumberOfNeighbours"]
        normals, curvatures = surfaces_of(points, nearest=nearest, threads=self.threads)
        middle = points - points.mean(axis=0)
        scale = np.sqrt(np.mean(np.sum(middle**2, axis=1)))
        rows = np.hstack([np.cross(middle / scale, normals), normals])
        minimum = float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[0])
        tilt = float(np.median(2 * curvatures / (1 - curvatures)))  # the square of its tangent
        relief = minimum / max(tilt, MIN_TILT)
        return {"success": relief >= self.general["MinimumRelief"], "relief": relief}


def _limit_cloud(cloud: Cloud, limit: Mapping[str, Any]) -> Cloud:
    """Keep the points beyond a distance from the origin, or along an axis, or only those within."""
    axis = AXES.get(limit["ThresholdDimension"])
    distances = np.linalg.norm(cloud.points, axis=1) if axis is None else np.abs(cloud.points[:, axis])
    is_within = distances < limit["DistanceThreshold"]
    return cloud.subset(is_within != limit["RemovePointsWithinThreshold"])


def _sample(points: Array, count: int, random: np.random.Generator) -> Array:
    """At most `count` of the points."""
    return points if len(points) <= count else points[np.sort(random.choice(len(points), count, replace=False))]


def _rms(distances: Array) -> float:
    return float(np.sqrt(np.mean(distances**2)))
