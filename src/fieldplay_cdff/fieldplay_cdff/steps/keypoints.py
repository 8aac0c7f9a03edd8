"""Steps that detect keypoints in a cloud: corners of surfaces."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from fieldplay_cdff.steps.neighbours import (
    NEAR,
    Edges,
    Indices,
    edges_within,
    finite,
    neighbourhood,
    starts_of,
    sums_of,
    surfaces_of,
)
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features3D

HARRIS_K = 0.04
NOISE = 1e-9  # of a response: flat ground has none
REFINEMENTS = 10
MIN_POINTS = 3
QUARTER = 0.25  # of a slot: so that neither an axis nor what lies across it is between two slots

Mask = NDArray[np.bool_]


class Detector3D(Step):
    """Keypoints of a cloud, by position, or by their indices in the cloud too."""

    def process(self, *, pointcloud: Cloud) -> Ports:
        cloud = finite(pointcloud, "pointcloud", minimum=MIN_POINTS)
        indices = np.flatnonzero(np.isfinite(pointcloud.points).all(axis=1))
        selected, points = self.detect(cloud.points)
        is_referred = self.general["OutputFormat"] == "References"
        return {"features": Features3D(points=points, references=indices[selected] if is_referred else None)}

    def detect(self, points: Array) -> tuple[Indices, Array]:
        """Return the indices of keypoints among the points (n, 3), and their exact positions."""
        raise NotImplementedError


def largest(responses: Array, points: Array, candidates: Indices, radius: float) -> Indices:
    """The candidates (n,) whose response no other one within the radius exceeds; of equal ones the first."""
    pairs = cKDTree(points[candidates]).query_pairs(radius * NEAR, output_type="ndarray")  # the earlier one first
    own = responses[candidates]
    is_largest = np.ones(len(candidates), bool)
    is_largest[np.where(own[pairs[:, 0]] >= own[pairs[:, 1]], pairs[:, 1], pairs[:, 0])] = False
    return candidates[is_largest]


def _noble(products: Array) -> Array:
    determinant, trace = _parts(products)
    return np.divide(determinant, trace, out=np.zeros_like(trace), where=trace > 0)


def _lowe(products: Array) -> Array:
    determinant, trace = _parts(products)
    return np.divide(determinant, trace**2, out=np.zeros_like(trace), where=trace > 0)


def _harris(products: Array) -> Array:
    determinant, trace = _parts(products)
    return HARRIS_K + determinant - HARRIS_K * trace**2


def _tomasi(products: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(products)[:, 0], float)


def _parts(products: Array) -> tuple[Array, Array]:
    return np.linalg.det(products), np.trace(products, axis1=1, axis2=2)


RESPONSES: Mapping[str, Callable[[Array], Array]] = {
    "Harris": _harris, "Noble": _noble, "Lowe": _lowe, "Tomasi": _tomasi,
}  # fmt: skip


@implements("FeaturesExtraction3D")
class HarrisDetector3D(Detector3D):
    """Points about which normals turn in all directions."""

    def detect(self, points: Array) -> tuple[Indices, Array]:
        general = self.general
        radius = general["SearchRadius"]
        around = neighbourhood(cKDTree(points), general["Radius"])
        normals, curvatures = surfaces_of(points, around=around)
        solid = np.flatnonzero(np.isfinite(curvatures))
        if not len(solid):
            return solid, points[solid]
        if general["Radius"] != radius or len(solid) < len(points):
            points, normals = points[solid], normals[solid]
            around = neighbourhood(cKDTree(points), radius)
        if general["HarrisMethod"] == "Curvature":
            responses = curvatures[solid]
        else:
            means, spreads = around.moments(normals)
            responses = RESPONSES[general["HarrisMethod"]](spreads + means[:, :, None] * means[:, None])
        candidates_above = np.flatnonzero(responses > general["DetectionThreshold"] + NOISE)
        if general["NonMaxSuppression"]:
            candidates_above = largest(responses, points, candidates_above, radius)
        corners = points[candidates_above]
        if general["EnableRefinement"]:
            corners = _refine_corners(corners, points, normals, cKDTree(points), radius)
        return solid[candidates_above], corners


def _refine_corners(corners: Array, points: Array, normals: Array, tree: cKDTree, radius: float) -> Array:
    """Refine corners to where the planes of the points about them intersect."""
    for _ in range(REFINEMENTS if len(corners) else 0):
        edges = edges_within(tree, corners, radius)
        starts, every = starts_of(edges, len(corners)), np.arange(len(edges.to))
        near = normals[edges.to]
        pulls = sums_of(near * np.sum(near * (points[edges.to] - corners[edges.of]), axis=1)[:, None], every, starts)
        products = sums_of((near[:, :, None] * near[:, None]).reshape(-1, 9), every, starts).reshape(-1, 3, 3)
        corners = corners + (np.linalg.pinv(products, rcond=1e-2, hermitian=True) @ pulls[:, :, None])[:, :, 0]
    return corners


@implements("FeaturesExtraction3D")
class IssDetector3D(Detector3D):
    """Points about which others spread differently in three directions (intrinsic shape signatures)."""

    def detect(self, points: Array) -> tuple[Indices, Array]:
        general = self.general
        tree = cKDTree(points)
        around = neighbourhood(tree, general["SalientRadius"])
        means, spreads = around.moments(points)
        offsets = means - points
        small, middle, large = np.linalg.eigvalsh(spreads + offsets[:, :, None] * offsets[:, None]).T
        is_salient = (middle < general["FirstThreshold"] * large) & (small < general["SecondThreshold"] * middle)
        is_salient &= (around.counts > general["MinNumberOfNeighbours"]) & (small > NOISE * large)
        candidates = np.flatnonzero(is_salient)
        if general["NormalRadius"]:
            candidates = candidates[~self._on_rim(points, tree, candidates)]
        selected = largest(small, points, candidates, general["NonMaximaSupressionRadius"])
        return selected, points[selected]

    def _on_rim(self, points: Array, tree: cKDTree, requested: Indices) -> Mask:
        """Whether the neighbours leave a wide angle free, seen along the normal."""
        if not len(requested):
            return np.zeros(0, bool)
        radius = self.general["NormalRadius"]
        normals, _ = surfaces_of(points, radius=radius, threads=self.threads)
        edges = _without_self(edges_within(tree, points[requested], radius), requested)
        angles = _angles(points, normals, edges, requested)
        order = np.lexsort((angles, edges.of))
        angles, starts = angles[order], starts_of(edges, len(requested))
        gaps = np.diff(angles, append=0.0)
        has_any = np.diff(starts) > 0
        last = starts[1:][has_any] - 1
        gaps[last] = angles[starts[:-1][has_any]] + 2 * np.pi - angles[last]
        widest = np.full(len(requested), 2 * np.pi)
        widest[has_any] = np.maximum.reduceat(gaps, starts[:-1][has_any])
        is_free: Mask = widest > self.general["AngleThreshold"]
        return is_free


@implements("FeaturesExtraction3D")
class CornerDetector3D(Detector3D):
    """Points of a smooth region next to another one, with neighbours all around: not on the rim of the cloud."""

    def detect(self, points: Array) -> tuple[Indices, Array]:
        general = self.general
        nearest = general["NumberOfNeighboursNormalEstimation"]
        normals, curvatures = surfaces_of(points, nearest=nearest, threads=self.threads)
        tree = cKDTree(points)
        regions = self._regions(tree, normals, curvatures)
        sizes = np.bincount(regions + 1)[regions + 1]
        is_part = (regions >= 0) & (sizes >= general["MinimumClusterSize"]) & (sizes <= general["MaximumClusterSize"])
        count = min(general["NumberOfNeightbourBorderSelection"] + 1, len(points))
        distances, near = tree.query(points, np.arange(1, count + 1), workers=self.threads)
        is_near = (distances <= general["SearchRadiusBorderSelection"]) & is_part[near]
        is_border = is_part & (is_near & (regions[near] != regions[:, None])).any(axis=1)
        requested = np.flatnonzero(is_border)
        if not len(requested):
            return requested, points[requested]
        of, column = np.nonzero(is_near[requested])
        edges = Edges(of, near[requested][of, column], distances[requested][of, column])
        edges = _without_self(edges, requested)
        slots = general["NumberOfHistogramSlots"]
        turns = _angles(points, normals, edges, requested) / (2 * np.pi)
        slot = np.floor(turns * slots + QUARTER).astype(int) % slots
        is_filled = np.zeros((len(requested), slots), bool)
        is_filled[edges.of, slot] = True
        candidates = requested[slots - is_filled.sum(axis=1) <= general["MaximumNumberOfEmptySlots"]]
        return candidates, points[candidates]

    def _regions(self, tree: cKDTree, normals: Array, curvatures: Array) -> Indices:
        """The number of the smooth region that each point belongs to, -1 for none.

        Even points that are neighbours with normals alike are of one region; others join that of the nearest of these.
        """
        general = self.general
        count = min(general["NumberOfNeighboursRegionGrowing"] + 1, tree.n)
        _, near = tree.query(tree.data, np.arange(1, count + 1), workers=self.threads)
        is_even = curvatures < general["CurvatureThreshold"]
        alike = np.abs(np.einsum("ni,nki->nk", normals, normals[near])) >= np.cos(general["SmoothnessThreshold"])
        joins = alike & is_even[near]
        of, column = np.nonzero(joins & is_even[:, None])
        links = sparse.coo_matrix((np.ones(len(of)), (of, near[of, column])), shape=(tree.n, tree.n))
        _, regions = connected_components(links, directed=False)
        nearest = near[np.arange(tree.n), np.argmax(joins, axis=1)]
        regions_of_cells: Indices = np.where(is_even, regions, np.where(joins.any(axis=1), regions[nearest], -1))
        return regions_of_cells


def _without_self(edges: Edges, requested: Indices) -> Edges:
    other = requested[edges.of] != edges.to
    return Edges(edges.of[other], edges.to[other], edges.distances[other])


def _angles(points: Array, normals: Array, edges: Edges, requested: Indices) -> Array:
    """In which direction (rad) along the surface neighbours lie, from any that each point has of its own."""
    normal = normals[requested]
    along = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    along /= np.maximum(np.linalg.norm(along, axis=1), NOISE)[:, None]
    across = np.cross(normal, along)
    offsets = points[edges.to] - points[requested][edges.of]
    y, x = (np.sum(offsets * axis[edges.of], axis=1) for axis in (across, along))
    angles: Array = np.arctan2(y, x)
    return angles
