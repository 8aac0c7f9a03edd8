"""Model localisation by point pair features: a pair of points with normals that matches determines a complete pose.

The sign of normals does not matter: a model is seen from outside, and so is a scene, but neither determines it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fieldplay.geometry.transforms import transform_from_vectors, transform_points
from fieldplay_cdff.steps.correspondences import DescribedMatch
from fieldplay_cdff.steps.keypoints import Detector3D
from fieldplay_cdff.steps.neighbours import (
    Indices,
    cells_of,
    finite,
    surfaces_of,
)
from fieldplay_cdff.steps.rigid import plane_step
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features3D

Mask = NDArray[np.bool_]
THINNED = 1.5  # tolerances between points of which pairs are made
LENGTHS = (0.25, 0.75)  # of the model's size, of pairs
SLOTS = 16  # more than there are of a cosine
FLAT_PAIR = 0.95  # cosine of normals of a pair that may be anywhere on a plane
SAME_NORMAL = 0.85
MIN_WIDTH = 0.2  # of a normal across a pair, which determines the rotation of the pair about its axis
STAGES = ((24, 3000), (120, 200))  # how many points of the model score poses, how many of these poses go on
REFINEMENTS = (2.0, 2.0, 1.0, 1.0, 1.0, 1.0)  # tolerances within which points are drawn to planes
FINAL_POINT, FINAL_PLANE = 1.5, 0.3  # tolerances from a point and from its plane, in the end
AT_ONCE = 400_000
MIN_POINTS = 30


class Surface(NamedTuple):
    """Points (n, 3) and their normals (n, 3), of either sign."""

    points: Array
    normals: Array

    def subset(self, which: NDArray[np.generic]) -> "Surface":
        return Surface(self.points[which], self.normals[which])


class ExactTimeSync(NamedTuple):
    """Indices (n,) of two points each, and the pair features: the distance and three cosines (n, 4)."""

    first: Indices
    second: Indices
    features: Array


@implements("FeaturesExtraction3D")
class VoxelSampling3D(Detector3D):
    """Points all over the surface, one of each cell."""

    def detect(self, points: Array) -> tuple[Indices, Array]:
        indices = _index_per_cell(points, self.general["Resolution"])
        return indices, points[indices]


@implements("FeaturesDescription3D")
class SurfaceNormals3D(Step):
    """The normal of the surface about a point."""

    optional = ("normals",)

    def process(self, *, pointcloud: Cloud, features: Features3D, normals: Cloud | None = None) -> Ports:
        options, cloud = self.general, finite(pointcloud, "pointcloud", minimum=3)
        known = normals.normals if normals is not None else cloud.normals
        if known is None or len(known) != len(cloud):
            radius = options["SearchRadius"]
            known, _ = surfaces_of(
                cloud.points, nearest=0 if radius else options["NeighboursSetSize"], radius=radius, threads=self.threads
            )
        indices = cKDTree(cloud.points).query(features.points)[1] if len(features) else np.zeros(0, np.intp)
        features_with_normals = Features3D(
            points=features.points, references=features.references, descriptors=known[indices].astype(np.float32)
        )
        return {"features": features_with_normals}


@implements("FeaturesMatching3D")
class OrientedPairs(DescribedMatch):
    """Point pair features, scored by the fraction of the model's surface that lies on that of the scene."""

    def match(self, source: Features3D, sink: Features3D) -> Ports:
        model, scene = (Surface(each.points, each.descriptors.astype(float)) for each in (source, sink))
        if model.normals.shape[1] != 3:
            raise ValueError(f"expected normals as descriptors, got {model.normals.shape[1]} numbers of each point")
        size = float(np.linalg.norm(np.ptp(model.points, axis=0)))
        self._reach = self.general["Tolerance"] * size
        self._model = model.subset(_index_per_cell(model.points, THINNED * self._reach))
        self._scene, self._tree = scene, cKDTree(scene.points)
        self._random = np.random.default_rng(self.seed)
        if min(len(self._model.points), len(scene.points)) < MIN_POINTS:
            return {"success": False}
        poses = self._candidate_poses(size)
        if not len(poses):
            return {"success": False}
        pose, fraction = self._best(poses)
        if fraction < self.general["InlierFraction"]:
            return {"success": False, "quality": fraction}
        return {"transform": pose, "success": True, "quality": fraction}

    def _candidate_poses(self, size: float) -> Array:
        """Poses (n, 4, 4) that bring a pair of the model onto one of the scene."""
        model, options = self._model, self.general
        first, second = self._random.integers(len(model.points), size=(2, options["ModelPairs"]))
        known = self._pairs(model, first, second, size)
        keys = self._keys(known)
        order = np.argsort(keys, kind="stable")
        scene = self._scene.subset(_index_per_cell(self._scene.points, THINNED * self._reach))
        requested = self._pairs(scene, *self._neighbours(scene.points, LENGTHS[1] * size), size)
        cosines = requested.features[:, 1:]
        on_plane = (cosines[:, :2] < options["Angle"]).all(axis=1) & (cosines[:, 2] > FLAT_PAIR)
        requested = ExactTimeSync(*(part[~on_plane] for part in requested))
        low, high = (np.searchsorted(keys[order], self._keys(requested), side) for side in ("left", "right"))
        there = np.tile(np.flatnonzero(high > low), options["PairsOfModelForEach"])
        picked = order[low[there] + (self._random.random(len(there)) * (high - low)[there]).astype(np.intp)]
        return np.concatenate([
            _poses(model, known, picked, scene, requested, there, sign) for sign in (1.0, -1.0)
        ])  # fmt: skip

    def _pairs(self, surface: Surface, first: Indices, second: Indices, size: float) -> ExactTimeSync:
        differences = surface.points[second] - surface.points[first]
        length = np.linalg.norm(differences, axis=1)
        fits = (length > LENGTHS[0] * size) & (length < LENGTHS[1] * size)
        first, second, length = first[fits], second[fits], length[fits]
        along = differences[fits] / length[:, None]
        one, other = surface.normals[first], surface.normals[second]
        cosines = [np.abs(np.einsum("ij,ij->i", *both)) for both in ((one, along), (other, along), (one, other))]
        return ExactTimeSync(first, second, np.stack([length, *cosines], axis=1))

    def _keys(self, pairs: ExactTimeSync) -> NDArray[np.int64]:
        """Numbers that are the same for pairs that are alike."""
        steps = np.array([self._reach, *[self.general["Angle"]] * 3])
        slots = np.floor(pairs.features / steps).astype(np.int64)
        keys: NDArray[np.int64] = ((slots[:, 0] * SLOTS + slots[:, 1]) * SLOTS + slots[:, 2]) * SLOTS + slots[:, 3]
        return keys

    def _neighbours(self, points: Array, radius: float) -> tuple[Indices, Indices]:
        """Points picked at random, and for each one of those within a radius."""
        options = self.general
        chosen = self._random.permutation(len(points))[: options["References"]]
        around = cKDTree(points).query_ball_point(points[chosen], radius, workers=self.threads, return_sorted=True)
        counts = np.array([len(each) for each in around])
        starts, flat = np.cumsum(counts) - counts, np.concatenate([np.array(each, np.intp) for each in around])
        of = self._random.integers(len(chosen), size=options["ScenePairs"])
        return chosen[of], flat[starts[of] + (self._random.random(len(of)) * counts[of]).astype(np.intp)]

    def _best(self, poses: Array) -> tuple[Array, float]:
        """The pose that brings most of the model onto the scene, and the fraction that then lies on it."""
        stages = (*STAGES, (len(self._model.points), self.general["Refined"]))
        for count, best_count in stages:
            judges = self._random.permutation(len(self._model.points))[:count]
            poses = poses[np.argsort(-self._inlier_fractions(poses, judges), kind="stable")[:best_count]]
        refined_poses = []
        for pose in poses:
            for reach in REFINEMENTS:
                pose = self._nearer(pose, reach * self._reach)
            refined_poses.append((self._final_inlier_fraction(pose), pose))
        fraction, pose = max(refined_poses, key=lambda each: each[0])
        return pose, fraction

    def _inlier_fractions(self, poses: Array, judges: Indices) -> Array:
        """Fraction of the model's points with a scene point and similar normal nearby, by pose."""
        step = max(1, AT_ONCE // len(judges))
        parts = []
        for start in range(0, len(poses), step):
            some = poses[start : start + step]
            near, _, _ = self._correspondences(some, judges, self._reach)
            parts.append(near.mean(axis=1))
        return np.concatenate(parts)

    def _correspondences(self, poses: Array, judges: Indices, reach: float) -> tuple[Mask, Indices, Array]:
        """Return which model points (poses, n) correspond to scene points, to which ones, and where they are."""
        points = transform_points(poses, self._model.points[judges])
        distances, near = self._tree.query(points, distance_upper_bound=reach, workers=self.threads)
        is_met = np.isfinite(distances)
        near = np.where(is_met, near, 0)
        normals = self._model.normals[judges] @ np.swapaxes(poses[:, :3, :3], 1, 2)
        is_met &= np.abs(np.einsum("pni,pni->pn", normals, self._scene.normals[near])) > SAME_NORMAL
        return is_met, near, points

    def _nearer(self, pose: Array, reach: float) -> Array:
        """The pose after points were drawn to the planes that they are near to."""
        is_met, near, points = (
            each[0] for each in self._correspondences(pose[None], np.arange(len(self._model.points)), reach)
        )
        if is_met.sum() < MIN_POINTS // 3:
            return pose
        sink, normals = self._scene.points[near[is_met]], self._scene.normals[near[is_met]]
        result: Array = transform_from_vectors(*plane_step(points[is_met], sink, normals)) @ pose
        return result

    def _final_inlier_fraction(self, pose: Array) -> float:
        every = np.arange(len(self._model.points))
        is_met, near, points = (each[0] for each in self._correspondences(pose[None], every, FINAL_POINT * self._reach))
        off = np.einsum("ni,ni->n", points - self._scene.points[near], self._scene.normals[near])
        return float((is_met & (np.abs(off) < FINAL_PLANE * self._reach)).mean())


def _poses(
    model: Surface,
    known: ExactTimeSync,
    picked: Indices,
    scene: Surface,
    requested: ExactTimeSync,
    there: Indices,
    sign: float,
) -> Array:
    """Poses (n, 4, 4) that bring pairs of the model onto those of the scene, its first normals with a sign."""
    sides = []
    for surface, pairs, which, turned in ((model, known, picked, sign), (scene, requested, there, 1.0)):
        one, other = pairs.first[which], pairs.second[which]
        axes, is_good = _axes(surface.points[other] - surface.points[one], turned * surface.normals[one])
        middle = (surface.points[one] + surface.points[other]) / 2
        sides.append((axes, is_good, middle, surface.normals[other]))
    (own, first_good, own_middle, own_normal), (target, second_good, middle, normal) = sides
    turns = target @ np.swapaxes(own, 1, 2)
    alike = np.abs(np.einsum("nij,nj,ni->n", turns, own_normal, normal)) > SAME_NORMAL
    good = first_good & second_good & alike
    poses = np.tile(np.eye(4), (int(good.sum()), 1, 1))
    poses[:, :3, :3] = turns[good]
    poses[:, :3, 3] = middle[good] - np.einsum("nij,nj->ni", turns[good], own_middle[good])
    return poses


def _axes(directions: Array, normal: Array) -> tuple[Array, Mask]:
    """Axes (n, 3, 3): along directions, and as much across as normals are; whether they are enough."""
    along = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    across = normal - np.einsum("ij,ij->i", normal, along)[:, None] * along
    width = np.linalg.norm(across, axis=1)
    across = across / np.maximum(width, 1e-12)[:, None]
    return np.stack([along, across, np.cross(along, across)], axis=2), width > MIN_WIDTH


def _index_per_cell(points: Array, side_m: float) -> Indices:
    cells = cells_of(np.floor(points / side_m).astype(np.int64))
    return np.sort(cells.order[cells.starts])
