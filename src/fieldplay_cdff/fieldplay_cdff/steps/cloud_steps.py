"""Steps on clouds: transformation, filtering, merging."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fieldplay_cdff.steps.neighbours import (
    NEAR,
    Indices,
    concatenate_clouds,
    finite,
    surfaces_of,
    voxel_means,
)
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud

VIEW_RADIUS_M = 100.0


@implements("PointCloudTransformation")
class CartesianSystemTransform(Step):
    """Transforms a cloud into another frame, with its normals."""

    def process(self, *, pointCloud: Cloud, pose: Array) -> Ports:
        turn, shift = pose[:3, :3], pose[:3, 3]
        normals = None if pointCloud.normals is None else pointCloud.normals @ turn.T
        return {
            "transformedPointCloud": replace(pointCloud, points=pointCloud.points @ turn.T + shift, normals=normals)
        }


@implements("PointCloudFiltering")
class StatisticalOutlierRemoval(Step):
    """Removes points whose nearest neighbours are further away than those of most points."""

    def process(self, *, pointCloud: Cloud) -> Ports:
        cloud = finite(pointCloud, "pointCloud", minimum=3)
        nearest = min(self.general["NumberOfNearestNeighbours"], len(cloud) - 1)
        distances, _ = cKDTree(cloud.points).query(cloud.points, np.arange(2, nearest + 2), workers=self.threads)
        means = distances.mean(axis=1)
        limit = means.mean() + self.general["StandardDeviationMultiplier"] * means.std(ddof=1)
        is_outlier = means > limit
        return {"filteredPointCloud": cloud.subset(is_outlier == self.general["TakeOutliersOnly"])}


class Assembly(Step):
    """Two clouds in one; or, step by step, each first cloud in all that came before."""

    keeps_state = True
    optional = ("secondPointCloud", "viewCenter", "viewRadius")

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._stored: Cloud | None = None

    def process(
        self,
        *,
        firstPointCloud: Cloud,
        secondPointCloud: Cloud | None = None,
        viewCenter: Array | None = None,
        viewRadius: float = VIEW_RADIUS_M,
    ) -> Ports:
        if self.general["UseIncrementalMode"]:
            first, second = self._stored, firstPointCloud
        elif secondPointCloud is None:
            raise ValueError("secondPointCloud: expected a cloud, got none (UseIncrementalMode is false)")
        else:
            first, second = firstPointCloud, secondPointCloud
        parts = [finite(cloud, "cloud", minimum=0) for cloud in (first, second) if cloud is not None]
        parts = [cloud for cloud in parts if len(cloud)] or parts[:1]
        whole = self.merge(*parts) if len(parts) == 2 else self.alone(parts[0])
        if self.general["UseIncrementalMode"]:
            self._stored = whole
        if self.general["UseDistanceFilter"]:
            center = np.zeros(3) if viewCenter is None else viewCenter[:3, 3]
            whole = whole.subset(np.linalg.norm(whole.points - center, axis=1) < viewRadius)
        return {"assembledCloud": whole}

    def merge(self, stored: Cloud, new: Cloud) -> Cloud:
        """Merge both clouds, which have points, into one."""
        raise NotImplementedError

    def alone(self, cloud: Cloud) -> Cloud:
        """Handle a cloud without another one to merge with."""
        return cloud


@implements("PointCloudAssembly")
class VoxelBinning(Assembly):
    """All points of a cell in one, their mean."""

    def merge(self, stored: Cloud, new: Cloud) -> Cloud:
        return self.alone(concatenate_clouds([stored, new]))

    def alone(self, cloud: Cloud) -> Cloud:
        return voxel_means(cloud, self.general["VoxelResolution"]) if len(cloud) else cloud


@implements("PointCloudAssembly")
class NeighbourPointAverage(Assembly):
    """Stored points move half way to their nearest new points, and all others like their neighbours."""

    def merge(self, stored: Cloud, new: Cloud) -> Cloud:
        radius = self.general["MaxNeighbourDistance"]
        nearest, is_new = _nearest_within(stored.points, new.points, radius, self.threads)
        if not is_new.any():
            return concatenate_clouds([stored, new])
        matched, follows = np.unique(nearest[is_new], return_inverse=True)
        sums = np.stack([np.bincount(follows, column) for column in new.points[is_new].T], axis=1)
        before = stored.points[matched]
        after = (before + sums / np.bincount(follows)[:, None]) / 2
        rest = np.delete(np.arange(len(stored)), matched)
        points = np.concatenate([
            after,
            self._move_points(stored.points[rest], before, after),
            self._move_points(new.points[~is_new], new.points[is_new], after[follows]),
        ])  # fmt: skip
        whole = concatenate_clouds([stored.subset(matched), stored.subset(rest), new.subset(~is_new)])
        return replace(whole, points=points, stamp_ns=max(stored.stamp_ns, new.stamp_ns))

    def _move_points(self, points: Array, before: Array, after: Array) -> Array:
        """Move points as the nearest one of the previous points."""
        limit = self.general["ShiftedWithinRadii"] * self.general["MaxNeighbourDistance"] or np.inf
        distances, nearest = cKDTree(before).query(points, workers=self.threads)
        shifts: Array = np.where((distances <= limit)[:, None], (after - before)[nearest], 0.0)
        return points + shifts


@implements("PointCloudAssembly")
class NeighbourSinglePointAverage(Assembly):
    """Points of both clouds that are nearest to each other become their mean; all others stay, or go."""

    def merge(self, stored: Cloud, new: Cloud) -> Cloud:
        radius = self.general["MaxNeighbourDistance"]
        of_new, is_near = _nearest_within(stored.points, new.points, radius, self.threads)
        of_stored, _ = _nearest_within(new.points, stored.points, radius, self.threads)
        indices = np.flatnonzero(is_near)
        pairs = indices[of_stored[of_new[indices]] == indices]
        own = of_new[pairs]
        whole = [replace(stored.subset(own), points=(stored.points[own] + new.points[pairs]) / 2)]
        if not self.general["IgnoreUnmatchedPointsOnFirstCloud"]:
            whole.append(stored.subset(np.delete(np.arange(len(stored)), own)))
        if not self.general["IgnoreUnmatchedPointsOnSecondCloud"]:
            whole.append(new.subset(np.delete(np.arange(len(new)), pairs)))
        return concatenate_clouds(whole)


@implements("PointCloudAssembly")
class MatcherAssembly(Assembly):
    """Both clouds, downsampled at random where a cubic metre has more points than the maximum."""

    def merge(self, stored: Cloud, new: Cloud) -> Cloud:
        return self.alone(concatenate_clouds([stored, new]))

    def alone(self, cloud: Cloud) -> Cloud:
        options = self.settings["SurfaceNormalPrefilter"]
        count = min(options["NumberOfNeighbours"], len(cloud))
        if count < 2:
            return cloud
        distances, _ = cKDTree(cloud.points).query(
            cloud.points, [count], eps=options["ApproximationEpsilon"], workers=self.threads
        )
        density = count / (4 / 3 * np.pi * np.maximum(distances[:, 0], 1e-9) ** 3)
        fraction = np.random.default_rng(self.seed).uniform(size=len(cloud))
        points = cloud.subset(fraction * density < self.general["MaximumSamplingDensity"])
        if options["KeepNormals"] and len(points) >= 3:
            points = replace(points, normals=surfaces_of(points.points, nearest=count, threads=self.threads)[0])
        return points


def _nearest_within(points: Array, requested: Array, radius: float, threads: int) -> tuple[Indices, NDArray[np.bool_]]:
    """The index of the nearest point for each query point, and whether it is within the radius."""
    distances, nearest = cKDTree(points).query(requested, distance_upper_bound=radius * NEAR, workers=threads)
    return nearest, np.isfinite(distances)
