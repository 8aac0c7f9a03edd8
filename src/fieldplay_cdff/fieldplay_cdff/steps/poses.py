"""Steps that find rigid transforms from points of the same things in several frames."""

from collections.abc import Sequence
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.rigid import leaves_rotation_free, rigid_fit, robust_fit
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Matches3D


def frames_of(maps: int) -> int:
    """Of how many frames all pairs (1-2, 1-3, .. 2-3, ..) are so many; ValueError where of no number."""
    frames = (1 + isqrt(1 + 8 * maps)) // 2
    if maps < 1 or frames * (frames - 1) // 2 != maps:
        raise ValueError(f"expected the matches of all pairs of frames (1, 3, 6, 10 ..), got {maps}")
    return frames


@implements("Transform3DEstimation")
class LeastSquaresMinimization(Step):
    """Each transform alone, by least squares; NaN if its points do not determine it well enough."""

    def process(self, *, matches: Sequence[Matches3D]) -> Ports:
        frames = frames_of(len(matches))
        pairs = [self._usable(each) for each in matches]
        transforms = np.full((len(pairs), 4, 4), np.nan)
        for index, (source, sink) in enumerate(pairs):
            if not leaves_rotation_free(source):
                transforms[index] = rigid_fit(source, sink)
        transforms = self.joint(transforms, pairs, frames)
        squares = [_squares(transform, *pair) for transform, pair in zip(transforms, pairs, strict=True)]
        is_near = self._are_inliers(transforms, squares)
        if not is_near.any():
            return {"success": False}
        transforms[~is_near] = np.nan
        error = np.sqrt(
            np.mean(np.concatenate([each for each, is_used in zip(squares, is_near, strict=True) if is_used]))
        )
        return {"transforms": transforms, "success": True, "error": float(error)}

    def joint(self, transforms: Array, pairs: Sequence[tuple[Array, Array]], frames: int) -> Array:
        """Transforms (m, 4, 4) that also fit to each other."""
        return transforms

    def _are_inliers(self, transforms: Array, squares: Sequence[Array]) -> NDArray[np.bool_]:
        limit = self.general["MaximumAllowedError"] ** 2
        return np.array([
            bool(np.isfinite(transform).all() and np.mean(each) <= limit)
            for transform, each in zip(transforms, squares, strict=True)
        ])  # fmt: skip

    def _usable(self, matches: Matches3D) -> tuple[Array, Array]:
        """The finite points of both frames, without the outliers where these are rejected."""
        is_number = np.isfinite(np.hstack([matches.source, matches.sink])).all(axis=1)
        source, sink = matches.source[is_number], matches.sink[is_number]
        distance = self.general["OutlierDistance"]
        if distance and not leaves_rotation_free(source):
            random = np.random.default_rng(self.seed)
            rounds = self.general["OutlierRounds"]
            is_near = robust_fit(source, sink, distance=distance, rounds=rounds, random=random)[1]
            source, sink = source[is_near], sink[is_near]
        few = len(source) < self.general["MinimumInliers"]
        return (source[:0], sink[:0]) if few else (source, sink)


@implements("Transform3DEstimation")
class CeresEstimation(LeastSquaresMinimization):
    """All transforms at once, so that going from frame to frame leads where going straight does."""

    def joint(self, transforms: Array, pairs: Sequence[tuple[Array, Array]], frames: int) -> Array:
        indices = {pair: index for index, pair in enumerate(combinations(range(frames), 2))}
        chains = [
            chain
            for i, j, k in combinations(range(frames), 3)
            if np.isfinite(transforms[list(chain := (indices[i, j], indices[j, k], indices[i, k]))]).all()
        ]
        if not chains:
            return transforms
        known = np.flatnonzero(np.isfinite(transforms).all(axis=(1, 2)))
        roots, bests = zip(*(_condense(*pairs[index]) for index in known.tolist()), strict=True)
        first, second, straight = np.array(chains).T

        def moved_transforms(steps: Array) -> Array:
            now: Array = transforms.copy()
            parts = steps.reshape(-1, 6)
            change = transform_from_vectors(parts[:, :3], parts[:, 3:])
            now[known, :3, :3] = transforms[known, :3, :3] @ change[:, :3, :3]
            now[known, :3, 3] += change[:, :3, 3]
            return now

        def errors(steps: Array) -> Array:
            now = moved_transforms(steps)
            of_points = np.array(roots) @ (np.swapaxes(now[known, :3], -1, -2) - np.array(bests))
            differences = inverse_from_transform(now[straight]) @ now[second] @ now[first]
            turns = vector_from_rotation(differences[:, :3, :3])
            return np.concatenate([of_points.ravel(), differences[:, :3, 3].ravel(), turns.ravel()])

        steps: Array = least_squares(errors, np.zeros(6 * len(known)), x_scale="jac").x
        return moved_transforms(steps)


def _condense(source: Array, sink: Array) -> tuple[Array, Array]:
    """Condense the squares of all pairs: a root (4, 4), times the difference of a transform (4, 3) from the best.

    The sum over points of an affine transform is that of these 12 numbers, and what is left over in any case.
    """
    rows = np.hstack([source, np.ones((len(source), 1))])
    best: Array = np.asarray(np.linalg.lstsq(rows, sink, rcond=None)[0], float)
    root: Array = np.asarray(np.linalg.qr(np.vstack([rows, np.zeros((4, 4))]), mode="r"))
    return root, best


def _squares(transform: Array, source: Array, sink: Array) -> Array:
    squares: Array = np.sum((transform_points(transform, source) - sink) ** 2, axis=1)
    return squares
