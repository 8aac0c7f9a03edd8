"""Steps that describe points of a cloud by the angles between the normals about them."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from fieldplay.core.errors import UsageError
from fieldplay_cdff.steps.neighbours import (
    Edges,
    Indices,
    edges_within,
    starts_of,
    surfaces_of,
    voxel_means,
)
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features3D

NOT_KNOWN = 1000.0  # replaces an undefined value, as published
MIN_POINTS = 3
FPFH_BINS, PFH_BINS = 11, 5
NEIGHBOURS_AT_ONCE = 2_000_000  # of all points that are looked at together: 50 MB
PAIRS_AT_ONCE = 100_000  # so that they stay near the processor
SAMPLED_COUNTS = 100  # points whose neighbours are counted
LOWEST, SPANS = np.array([-np.pi, -1.0, -1.0]), np.array([2 * np.pi, 2.0, 2.0])  # of the three features of a pair


def pair_features(
    points: Array, normals: Array, others: Array, other_normals: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Two angles and a cosine (n, 3) of pairs of points with normals, and which pairs have them."""
    offsets = others - points
    length = np.sqrt(np.einsum("ni,ni->n", offsets, offsets))
    along = offsets / np.maximum(length, np.finfo(float).tiny)[:, None]
    first, second = np.einsum("ni,ni->n", normals, along), np.einsum("ni,ni->n", other_normals, along)
    swaps = np.abs(first) < np.abs(second)
    one = np.where(swaps[:, None], other_normals, normals)
    other = np.where(swaps[:, None], normals, other_normals)
    across = np.cross(np.where(swaps[:, None], -along, along), one)
    width = np.sqrt(np.einsum("ni,ni->n", across, across))
    across /= np.maximum(width, np.finfo(float).tiny)[:, None]
    third = np.cross(one, across)
    angle = np.arctan2(np.einsum("ni,ni->n", third, other), np.einsum("ni,ni->n", one, other))
    cosine = np.einsum("ni,ni->n", across, other)
    return np.stack([angle, cosine, np.where(swaps, -second, first)], axis=1), (length > 0) & (width > 0)


class Descriptor3D(Step):
    """The base class of descriptors of points from the normals of others within a radius."""

    optional: ClassVar[tuple[str, ...]] = ("normals",)

    def configure(self) -> None:
        options = self.settings["NormalEstimationParameters"]
        if (options["SearchRadius"] > 0) == (options["NeighboursSetSize"] > 0):
            raise UsageError(
                f"{self.implementation}: expected a SearchRadius of normals or a NeighboursSetSize above 0, "
                f"got {options['SearchRadius']:g} and {options['NeighboursSetSize']}"
            )

    def process(self, *, pointcloud: Cloud, features: Features3D, normals: Cloud | None = None) -> Ports:
        estimated = self._normals(pointcloud, normals)
        solid = np.flatnonzero(np.isfinite(np.hstack([pointcloud.points, estimated])).all(axis=1))
        if len(solid) < MIN_POINTS:
            raise ValueError(f"pointcloud: expected {MIN_POINTS} or more points with normals, got {len(solid)}")
        if not np.isfinite(features.points).all():
            raise ValueError("features: expected points that are numbers")
        surface = Cloud(points=pointcloud.points[solid], normals=estimated[solid])
        tree = cKDTree(surface.points)
        centers = tree.query(features.points)[1] if len(features) else np.zeros(0, np.intp)
        descriptors = self._describe_features(surface, tree, features, centers)
        result: NDArray[np.float32] = np.where(np.isfinite(descriptors), descriptors, NOT_KNOWN).astype(np.float32)
        is_referred = self.general["OutputFormat"] == "References"
        references = (solid[centers] if features.references is None else features.references) if is_referred else None
        return {"features": Features3D(points=features.points, references=references, descriptors=result)}

    def describe(self, points: Array, normals: Array, tree: cKDTree, centers: Indices) -> Array:
        """Descriptors (m, k) of the points at these indices (m,); NaN where a point has no neighbours."""
        raise NotImplementedError

    def _describe_features(self, surface: Cloud, tree: cKDTree, features: Features3D, centers: Indices) -> Array:
        """Descriptors of the points at these indices, of a thinner cloud where they have very many neighbours."""
        radius, most = self.general["SearchRadius"], self.general["MaximumNeighbours"]
        if most and len(centers):
            sample = surface.points[centers[:: max(len(centers) // SAMPLED_COUNTS, 1)]]
            count = float(np.mean(tree.query_ball_point(sample, radius, return_length=True, workers=self.threads)))
            if count > most:  # as many cells of a surface lie in a circle of the radius
                surface = voxel_means(surface, radius * float(np.sqrt(np.pi / most)))
                tree = cKDTree(surface.points)
                centers = tree.query(features.points)[1]
        assert surface.normals is not None
        return self.describe(surface.points, surface.normals, tree, centers)

    def _normals(self, cloud: Cloud, cloud_normals: Cloud | None) -> Array:
        """Normals (n, 3) as given, of the cloud itself, or estimated."""
        known = cloud.normals if cloud_normals is None else cloud_normals.normals
        if known is not None and not self.general["ForceNormalsEstimation"]:
            if known.shape != cloud.points.shape:
                raise ValueError(f"normals: expected {len(cloud)} of them, got {len(known)}")
            return known
        if not self.general["EnableNormalsEstimation"]:
            raise ValueError("normals: expected a cloud with normals, got none (EnableNormalsEstimation is false)")
        options = self.settings["NormalEstimationParameters"]
        is_number = np.isfinite(cloud.points).all(axis=1)
        result = np.full(cloud.points.shape, np.nan)
        result[is_number], _ = surfaces_of(
            cloud.points[is_number],
            nearest=options["NeighboursSetSize"],
            radius=options["SearchRadius"],
            threads=self.threads,
        )
        return result


@implements("FeaturesDescription3D")
class FpfhDescriptor3D(Descriptor3D):
    """Three histograms (33 numbers): the pairs of a point with its neighbours, and those of these, nearer ones more."""

    def describe(self, points: Array, normals: Array, tree: cKDTree, centers: Indices) -> Array:
        radius = self.general["SearchRadius"]
        edges = _edges_to_others(edges_within(tree, points[centers], radius), centers)
        used, indices = np.unique(np.concatenate([centers, edges.to]), return_inverse=True)
        own, near = indices[: len(centers)], indices[len(centers) :]
        simple = self._simple(points, normals, tree, used)
        weights = sparse.csr_matrix((1 / edges.distances, (edges.of, near)), shape=(len(centers), len(used)))
        sums = (simple[own] + weights @ simple).reshape(len(centers), 3, FPFH_BINS)
        whole = sums.sum(axis=2, keepdims=True)
        result: Array = np.divide(100 * sums, whole, out=np.full_like(sums, np.nan), where=whole > 0)
        return result.reshape(len(centers), 3 * FPFH_BINS)

    def _simple(self, points: Array, normals: Array, tree: cKDTree, used: Indices) -> Array:
        """The histograms of pairs with the neighbours alone (m, 33), some points at a time to bound the memory."""
        radius = self.general["SearchRadius"]
        counts = np.asarray(tree.query_ball_point(points[used], radius, return_length=True), np.int64)
        stops = np.flatnonzero(np.diff(np.cumsum(counts) // NEIGHBOURS_AT_ONCE)) + 1
        parts = [self._histograms(points, normals, tree, some) for some in np.split(used, stops)]
        return np.concatenate(parts)

    def _histograms(self, points: Array, normals: Array, tree: cKDTree, used: Indices) -> Array:
        """The histograms of pairs with the neighbours alone (m, 33), each third 100 in all."""
        edges = _edges_to_others(edges_within(tree, points[used], self.general["SearchRadius"]), used)
        sums = np.zeros(3 * FPFH_BINS * len(used))
        for first in range(0, len(edges.of), PAIRS_AT_ONCE):
            some = slice(first, first + PAIRS_AT_ONCE)
            own, near = used[edges.of[some]], edges.to[some]
            features, is_known = pair_features(points[own], normals[own], points[near], normals[near])
            bins = _bins(features[is_known], FPFH_BINS) + FPFH_BINS * np.arange(3)
            start = 3 * FPFH_BINS * edges.of[first]
            keys = 3 * FPFH_BINS * edges.of[some][is_known][:, None] + bins - start
            histogram = np.bincount(keys.ravel())
            sums[start : start + len(histogram)] += histogram
        counts: Array = sums.reshape(len(used), 3 * FPFH_BINS)
        counts *= 100 / np.maximum(counts[:, :FPFH_BINS].sum(axis=1, keepdims=True), 1)
        return counts


@implements("FeaturesDescription3D")
class PfhDescriptor3D(Descriptor3D):
    """One histogram (125 numbers) of all pairs of points within the radius."""

    def configure(self) -> None:
        super().configure()
        radius, options = self.general["SearchRadius"], self.settings["NormalEstimationParameters"]["SearchRadius"]
        if options >= radius:
            raise UsageError(
                f"PfhDescriptor3D: expected a radius of normals below {radius:g}, that of descriptors, got {options:g}"
            )

    def describe(self, points: Array, normals: Array, tree: cKDTree, centers: Indices) -> Array:
        edges = edges_within(tree, points[centers], self.general["SearchRadius"])
        stops = starts_of(edges, len(centers))[1:][edges.of]
        pairs = stops - np.arange(len(stops)) - 1  # each with those that come after it
        last = np.cumsum(pairs)
        counts = np.zeros(len(centers) * PFH_BINS**3)
        first = 0
        while first < len(pairs):
            until = max(int(np.searchsorted(last, last[first] - pairs[first] + PAIRS_AT_ONCE, "right")), first + 1)
            some = np.arange(first, until)
            one = np.repeat(some, pairs[some])
            other = (
                one
                + 1
                + np.arange(len(one))
                - np.repeat(last[some] - pairs[some] - (last[first] - pairs[first]), pairs[some])
            )
            own, near = edges.to[one], edges.to[other]
            features, is_known = pair_features(points[own], normals[own], points[near], normals[near])
            bins = _bins(features[is_known], PFH_BINS) @ (PFH_BINS ** np.arange(3))
            counts += np.bincount(edges.of[one][is_known] * PFH_BINS**3 + bins, minlength=len(counts))
            first = until
        result = counts.reshape(len(centers), PFH_BINS**3)
        whole = result.sum(axis=1, keepdims=True)
        fractions: Array = np.divide(100 * result, whole, out=np.full_like(result, np.nan), where=whole > 0)
        return fractions


def _edges_to_others(edges: Edges, own: Indices) -> Edges:
    """Edges to other positions, not where the point itself lies, or one just there."""
    other = (own[edges.of] != edges.to) & (edges.distances > 0)
    return Edges(edges.of[other], edges.to[other], edges.distances[other])


def _bins(features: Array, count: int) -> NDArray[np.intp]:
    bins: NDArray[np.intp] = np.clip(((features - LOWEST) / SPANS * count).astype(np.intp), 0, count - 1)
    return bins
