"""Steps that localise a model in a scene by points with similar descriptors."""

from itertools import permutations, product

import numpy as np
from scipy.spatial import cKDTree

from fieldplay.geometry.transforms import transform_from_rotation, transform_points
from fieldplay_cdff.steps.histograms import NOT_KNOWN
from fieldplay_cdff.steps.neighbours import NEAR, Indices
from fieldplay_cdff.steps.rigid import MIN_PAIRS, leaves_rotation_free, rigid_fit, robust_fit
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Features3D
from fieldplay_cdff.stereo.refusals import Reason, Refusal

ROWS_AT_ONCE = 1000
TRIED_AT_ONCE = 20_000
JUDGED_BY = 64  # points of the model, before the best transforms are scored by all
JUDGED_WHOLLY = 24
CERTAINTY = 1e-4  # of missing the model, with which no more is tried
REFITS, STAGES = 6, 4  # of fits, and of the distances within which points are fitted
NEAR_SPACINGS, SETTLED = 1.5, 0.01  # of the scene's points: the last distance; a step that changes nothing
LOOSE_WEIGHT = 0.1  # in a score, of being near the scene at all, so that a pose is drawn to it
ELSEWHERE = 3.0  # spacings of the scene's points: poses that are this far off are different
SMALLEST_M = 1e-9  # spacing
MUCH_LARGER = 20.0  # than the scene no model is, of which a part is to be found there


def unit(features: Features3D) -> Array:
    """Descriptors (n, k) of length 1, so that a distance means the same for all kinds."""
    descriptors: Array = features.descriptors.astype(float)
    descriptors /= np.maximum(np.linalg.norm(descriptors, axis=1, keepdims=True), np.finfo(float).tiny)
    return descriptors


def most_similar(source: Array, sink: Array, count: int) -> tuple[Indices, Array]:
    """Indices (n, count) of the most similar descriptors, nearest first, and their distances."""
    indices, distances = np.zeros((len(source), count), np.intp), np.zeros((len(source), count))
    for first in range(0, len(source), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        alike = source[rows] @ sink.T
        best = np.sort(np.argpartition(-alike, count - 1, axis=1)[:, :count], axis=1)
        order = np.argsort(-np.take_along_axis(alike, best, axis=1), axis=1, kind="stable")
        indices[rows] = np.take_along_axis(best, order, axis=1)
        distances[rows] = np.sqrt(np.maximum(2 - 2 * np.take_along_axis(alike, indices[rows], axis=1), 0))
    return indices, distances


def usable(features: Features3D) -> Features3D:
    """The features with a known position and descriptor; ValueError where there are no descriptors."""
    if len(features) and not features.descriptors.size:
        raise ValueError("expected features with descriptors, got points alone")
    is_number = np.isfinite(features.points).all(axis=1)
    if len(features):
        is_number &= np.isfinite(features.descriptors).all(axis=1)
        is_number &= (features.descriptors != NOT_KNOWN).any(axis=1)
    return Features3D(points=features.points[is_number], descriptors=features.descriptors[: len(features)][is_number])


class DescribedMatch(Step):
    """The pose of a model's features among those of a scene."""

    def process(self, *, sourceFeatures: Features3D, sinkFeatures: Features3D) -> Ports:
        source, sink = usable(sourceFeatures), usable(sinkFeatures)
        _require_same_unit(source.points, sink.points)
        if leaves_rotation_free(source.points) or leaves_rotation_free(sink.points):
            return {"success": False}
        widths = [features.descriptors.shape[1] for features in (source, sink)]
        if widths[0] != widths[1]:
            raise ValueError(f"expected descriptors of one kind, got some of {widths[0]} and of {widths[1]} numbers")
        return self.match(source, sink)

    def match(self, source: Features3D, sink: Features3D) -> Ports:
        """Return the transform, if there is a reliable one."""
        raise NotImplementedError


def _require_same_unit(model: Array, scene: Array) -> None:
    """ValueError where a model is so much larger than a scene that they have not the same unit."""
    sizes = [float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0 for points in (model, scene)]
    if sizes[1] and sizes[0] > MUCH_LARGER * sizes[1]:
        raise ValueError(f"the model is {sizes[0]:.4g} m large, the scene {sizes[1]:.4g} m: is it in millimetres?")


@implements("FeaturesMatching3D")
class BestDescriptorMatch(DescribedMatch):
    """From points that are each other's best match; most of these must agree."""

    def match(self, source: Features3D, sink: Features3D) -> Ports:
        there, distances = most_similar(unit(source), unit(sink), 1)
        back, _ = most_similar(unit(sink), unit(source), 1)
        own = np.arange(len(there))
        is_pair = (back[there[:, 0], 0] == own) & (distances[:, 0] <= self.general["MaxCorrespondenceDistance"])
        points, others = source.points[is_pair], sink.points[there[is_pair, 0]]
        if leaves_rotation_free(points):
            return {"success": False}
        transform, is_near = robust_fit(
            points, others, distance=self.general["InlierDistance"], rounds=self.general["Rounds"],
            random=np.random.default_rng(self.seed),
        )  # fmt: skip
        fraction = float(is_near.mean())
        if leaves_rotation_free(points[is_near]) or fraction < self.general["MinimumInlierShare"]:
            return {"success": False}
        return {"transform": transform, "success": True, "quality": fraction}


@implements("FeaturesMatching3D")
class Ransac3D(DescribedMatch):
    """From a few points at a time, at equal distances in both, until enough of the model lies on the scene.

    MaxCorrespondenceDistance may be so large that the model fits in many poses. So poses are scored within the spacing
    of the scene's points, too, and one with an alternative that scores nearly as well is no success.
    """

    def match(self, source: Features3D, sink: Features3D) -> Ports:
        general, scene = self.general, sink.points
        count = min(general["CorrespondenceRandomness"], len(scene))
        alike, _ = most_similar(unit(source), unit(sink), count)
        self._model, self._tree = source.points, cKDTree(scene)
        spacing = np.median(self._tree.query(scene, [2])[0])
        self._limit = general["MaxCorrespondenceDistance"]
        self._tight = min(self._limit, max(float(spacing), SMALLEST_M))
        candidates = np.stack([self._refine(each) for each in self._candidates(alike)])
        best, other = self._decide(candidates)
        fraction, score = self._fraction(best, self._limit), self._score(best)
        if fraction < general["InlierFraction"] or fraction * len(self._model) < MIN_PAIRS:
            return {"success": False}
        if other > general["MaximumAlternative"] * score:
            detail = f"another orientation fits {100 * other / max(score, other):.0f} % as well"
            self.refusal = Refusal(reason=Reason.AMBIGUOUS_MODEL, detail=detail)
            return {"success": False}
        return {"transform": best, "success": True, "quality": fraction}

    def _decide(self, candidates: Array) -> tuple[Array, float]:
        """The best of candidates and of the best one turned, and the score of the best one that is elsewhere."""
        first = candidates[np.argmax([self._score(each) for each in candidates])]
        turned = [self._refine(each) for each in _turned(first, self._model)]
        poses = np.stack([*candidates, *turned])
        scores = np.array([self._score(each) for each in poses])
        best = int(np.argmax(scores))
        off = transform_points(poses, self._model[None]) - transform_points(poses[best], self._model)
        is_elsewhere = np.sqrt(np.mean(np.sum(off**2, axis=-1), axis=-1)) > ELSEWHERE * self._tight
        return poses[best], float(scores[is_elsewhere].max(initial=0.0))

    def _refine(self, transform: Array) -> Array:
        """The best pose of an iterative fit to the nearest points, within a distance that shrinks to the spacing."""
        best, score = transform, self._score(transform)
        near_m = min(self._limit, NEAR_SPACINGS * self._tight)
        for limit_m in np.geomspace(self._limit, near_m, STAGES):
            for _ in range(REFITS):
                distances, near = self._nearest(transform_points(transform, self._model), limit_m)
                is_near = np.isfinite(distances)
                if leaves_rotation_free(self._model[is_near]):
                    break
                refitted = rigid_fit(self._model[is_near], self._tree.data[near[is_near]])
                step = transform_points(refitted, self._model) - transform_points(transform, self._model)
                transform = refitted
                own = self._score(transform)
                if own > score:
                    best, score = transform, own
                if np.abs(step).max() < SETTLED * self._tight:
                    break
        return best

    def _candidates(self, alike: Indices) -> Array:
        """The transforms (n, 4, 4) that score best."""
        general, scene = self.general, self._tree.data
        random = np.random.default_rng(self.seed)
        judges = random.permutation(len(self._model))[:JUDGED_BY]
        best, top, tried, requested = np.eye(4)[None], np.zeros(1), 0, general["MaximumIterations"]
        while tried < requested:
            rounds = min(TRIED_AT_ONCE, requested - tried)
            picked = random.integers(len(alike), size=(rounds, general["NumberOfSamples"]))
            there = alike[picked, random.integers(alike.shape[1], size=picked.shape)]
            is_similar = _are_alike(self._model[picked], scene[there], general["SimilarityThreshold"])
            tried += rounds
            if not is_similar.any():
                continue
            transforms = rigid_fit(self._model[picked[is_similar]], scene[there[is_similar]])
            first = self._scores(transforms, judges)
            order = np.argsort(-first, kind="stable")[:JUDGED_WHOLLY]
            scores = self._scores(transforms[order], np.arange(len(self._model)))
            best, top = np.concatenate([best, transforms[order]]), np.concatenate([top, scores])
            order = np.argsort(-top, kind="stable")[:JUDGED_WHOLLY]
            best, top = best[order], top[order]
            hit = (self._fraction(best[0], self._tight) / alike.shape[1]) ** general["NumberOfSamples"]
            requested = min(requested, int(np.log(CERTAINTY) / np.log1p(-min(hit, 0.5))) if hit > 1e-12 else requested)
        return best

    def _scores(self, transforms: Array, indices: Indices) -> Array:
        """Score of each transform (n, 4, 4) by some of the model's points, from 0 to 1: 1 where all lie on points.

        A point within the spacing of the scene's points counts by its distance, one farther off by a little up to
        MaxCorrespondenceDistance.
        """
        at_once = max(ROWS_AT_ONCE * 200 // len(indices), 1)
        parts = []
        for first in range(0, len(transforms), at_once):
            points = transform_points(transforms[first : first + at_once], self._model[indices][None])
            distances = np.minimum(self._nearest(points, self._limit)[0], self._limit)
            tight = 1 - np.minimum(distances / self._tight, 1) ** 2
            loose = 1 - distances / self._limit
            parts.append(((1 - LOOSE_WEIGHT) * tight + LOOSE_WEIGHT * loose).mean(axis=1))
        return np.concatenate(parts)

    def _score(self, transform: Array) -> float:
        return float(self._scores(transform[None], np.arange(len(self._model)))[0])

    def _fraction(self, transform: Array, limit_m: float) -> float:
        """Fraction of the model's points within a distance of points of the scene."""
        return float(np.isfinite(self._nearest(transform_points(transform, self._model), limit_m)[0]).mean())

    def _nearest(self, points: Array, limit_m: float) -> tuple[Array, Indices]:
        distances, near = self._tree.query(points, distance_upper_bound=limit_m * NEAR, workers=self.threads)
        return distances, near


def _turned(transform: Array, model: Array) -> Array:
    """Poses (23, 4, 4): a pose rotated about the model's centre by the rotations of a cube along its principal axes."""
    middle = model.mean(axis=0)
    axes = np.linalg.svd(model - middle, full_matrices=False)[2]
    axes[2] *= np.sign(np.linalg.det(axes))
    signed = [np.diag(signs) @ np.eye(3)[list(order)]
              for order in permutations(range(3)) for signs in product((1.0, -1.0), repeat=3)]  # fmt: skip
    cube = np.stack([each for each in signed if np.linalg.det(each) > 0 and not np.array_equal(each, np.eye(3))])
    rotations = axes.T @ cube @ axes
    turned = transform_from_rotation(rotations, middle - rotations @ middle)
    result: Array = transform @ turned
    return result


def _are_alike(one: Array, other: Array, similarity: float) -> Array:
    """Whether all edges between points (m, n, 3) are as long as those between others, within a tolerance."""
    lengths, others = (np.linalg.norm(points - np.roll(points, 1, axis=1), axis=2) for points in (one, other))
    shorter, longer = np.minimum(lengths, others), np.maximum(lengths, others)
    alike: Array = ((shorter >= similarity * longer) & (shorter > 0)).all(axis=1)
    return alike
