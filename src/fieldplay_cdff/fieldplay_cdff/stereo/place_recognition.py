"""Place recognition: which keyframes look alike, by the visual words of their codes, and geometric verification.

A word is 24 of the 256 bits of a code, eight of them to a code. The index has, for each of the eight, all words in
order, each with the number of its keyframe: plain rows, which can be made anew from the codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    Array,
    transform_points,
)
from fieldplay_cdff.stereo.keyframe_map import Codes, View
from fieldplay_cdff.stereo.pair_matching import PnpSettings, pose_from_points
from fieldplay_cdff.stereo.parameters import parameter
from fieldplay_cdff.stereo.pose_refinement import (
    DisparityCorrection,
    RefinementSettings,
    StereoTracks,
    refine_motion,
)

Rows = NDArray[np.uint64]
Indices = NDArray[np.intp]

WORDS, WORD_BITS, OWNER_BITS = 8, 24, 32
MAX_COMMON = 0.2  # of the keyframes: a word that more have does not discriminate
TRIES, CERTAINTY = 400, 0.999
CELLS = 4  # of an image in each direction, to measure how far points are spread
WEIGHTS = RefinementSettings(
    pixel_deviation=0.7, disparity_deviation=0.5, offset_deviation=0.0, radial_deviation=0.0
)  # of points that are matched by their descriptors
FACTOR = 2.0  # on deviations from residuals: their errors are correlated
MIN_M, MIN_RAD = 0.008, 0.001  # no view determines a pose better
NEAREST_M = 0.05


def code_words(codes: Codes) -> NDArray[np.uint32]:
    """The 16-bit words (8, n) of codes (n, 32)."""
    whole = np.ascontiguousarray(codes).view("<u4").T
    return np.asarray(whole & np.uint32((1 << WORD_BITS) - 1), np.uint32)


class PlaceIndex:
    """Words and whose they are: (8, n) rows of the word in the upper half and the keyframe in the lower, in order."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows: Rows = np.zeros((WORDS, 0), np.uint64) if rows is None else rows

    @classmethod
    def of(cls, views: Sequence[tuple[int, View]]) -> "PlaceIndex":
        """The index of keyframes by their numbers."""
        rows = [_rows(number, view) for number, view in views]
        return cls(np.sort(np.concatenate([np.zeros((WORDS, 0), np.uint64), *rows], axis=1), axis=1))

    def add(self, number: int, view: View) -> None:
        """Add a keyframe."""
        new = np.sort(_rows(number, view), axis=1)
        self.rows = np.stack([
            np.insert(old, np.searchsorted(old, own), own) for old, own in zip(self.rows, new, strict=True)
        ])  # fmt: skip

    def remove(self, number: int) -> None:
        """Forget a keyframe."""
        keep_mask: NDArray[np.bool_] = (self.rows & np.uint64((1 << OWNER_BITS) - 1)) != np.uint64(number)
        self.rows = self.rows[keep_mask].reshape(WORDS, -1)

    def scores(self, view: View, count: int) -> dict[int, float]:
        """Return scores of keyframes for a view, of `count` keyframes in total; rare words have more weight."""
        scores: dict[int, float] = {}
        own = code_words(view.codes).astype(np.uint64) << np.uint64(OWNER_BITS)
        for row, words in zip(self.rows, own, strict=True):
            start = np.searchsorted(row, words)
            lengths = np.searchsorted(row, words + np.uint64(1 << OWNER_BITS)) - start
            rare = (lengths > 0) & (lengths <= max(2.0, MAX_COMMON * count))
            start, lengths = start[rare], lengths[rare]
            first = np.repeat(start - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if len(start) else start
            indices = first + np.arange(int(lengths.sum()))
            owners = (row[indices] & np.uint64((1 << OWNER_BITS) - 1)).astype(np.int64)
            weights = np.repeat(np.log(1 + count / np.maximum(lengths, 1)), lengths)
            numbers, which = np.unique(owners, return_inverse=True)
            sums = np.bincount(which.ravel(), weights, len(numbers))
            for number, score in zip(numbers.tolist(), sums.tolist(), strict=True):
                scores[number] = scores.get(number, 0.0) + score
        return scores


def _rows(number: int, view: View) -> Rows:
    words = code_words(view.codes).astype(np.uint64)
    return np.asarray((words << np.uint64(OWNER_BITS)) | np.uint64(number), np.uint64)


@dataclass(frozen=True, eq=False, kw_only=True)
class LoopCandidate:
    """The relation between two views of the same place: first_T_second, its covariance (6, 6) in the second.

    `points` agree with it, which are the fraction `share` of the matches, and lie in so many `cells` of 16.
    """

    pose: Array
    covariance: Array
    points: int
    inlier_fraction: float
    cells: int


@dataclass(frozen=True, kw_only=True)
class SightingSettings:
    """When two views see the same."""

    minimum_points: int = parameter("MinimumPoints", 25)  # that agree
    minimum_fraction: float = parameter("MinimumShare", 0.3)  # of those that look alike
    minimum_cells: int = parameter("MinimumCells", 6)  # of 16 of the image
    ratio: float = parameter("Ratio", 0.85)  # of bits that differ, from the nearest code to the second
    maximum_error_px: float = parameter("MaximumError", 2.0)


def sighting(
    first: View, second: View, camera: StereoCamera, size: tuple[int, int], limits: SightingSettings
) -> LoopCandidate | None:
    """Return the pose of a view in another one; None if they do not determine it.

    Points of the first must be seen where the second has them, and points of the second where the first has them.
    """
    if min(len(first), len(second)) < limits.minimum_points:
        return None
    one, other = _alike(first.codes, second.codes, limits.ratio)
    if len(one) < limits.minimum_points:
        return None
    matrix = camera.matrix
    points, pixels = first.points[one].astype(np.float64), second.pixels[other].astype(np.float64)
    settings = PnpSettings(iterations=TRIES, outlier_threshold_px=limits.maximum_error_px, confidence=CERTAINTY)
    seen = pose_from_points(points, pixels, matrix, settings, minimum=limits.minimum_points)
    if seen is None:
        return None
    pose, second_t_first = seen.pose, seen.camera_t_points
    ahead, back = (
        transform_points(second_t_first, points),
        transform_points(pose, second.points[other].astype(np.float64)),
    )
    agrees = _is_seen(matrix, ahead, pixels, limits.maximum_error_px)
    agrees &= _is_seen(matrix, back, first.pixels[one].astype(np.float64), 2 * limits.maximum_error_px)
    cells = _cells(pixels[agrees], size)
    count = int(agrees.sum())
    if count < limits.minimum_points or count < limits.minimum_fraction * len(one) or cells < limits.minimum_cells:
        return None
    tracks = _tracks(camera, first, second, one[agrees], other[agrees])
    exact = DisparityCorrection(WEIGHTS, camera)
    refined = refine_motion(tracks, pose, camera, settings=WEIGHTS, correction=exact)
    if refined is None:
        return None
    covariance = FACTOR**2 * refined.covariance + np.diag([MIN_M**2] * 3 + [MIN_RAD**2] * 3)
    return LoopCandidate(
        pose=refined.pose, covariance=covariance, points=count, inlier_fraction=count / len(one), cells=cells
    )


def _tracks(camera: StereoCamera, first: View, second: View, one: Indices, other: Indices) -> StereoTracks:
    """Rows of two views that are the same points, with the disparities that both saw."""
    focal_baseline = camera.focal_x * camera.baseline_m
    pixels, new = first.pixels[one].astype(np.float64), second.pixels[other].astype(np.float64)
    disparities = focal_baseline / np.maximum(first.points[one, 2].astype(np.float64), NEAREST_M)
    new_disparities = focal_baseline / np.maximum(second.points[other, 2].astype(np.float64), NEAREST_M)
    return StereoTracks(pixels, disparities, new, new_disparities)


def nearest_of(
    source: NDArray[Any], sink: NDArray[Any], count: int, allowed: NDArray[np.uint8] | None = None
) -> tuple[Array, Indices]:
    """Distances (n, count) of the sinks nearest to each source (n, k), and which these are; bits that differ, or L2.

    Where fewer are allowed, by a mask (n, m), they are -1.
    """
    kind, norm = (cv2.CV_32S, cv2.NORM_HAMMING) if source.dtype == np.uint8 else (cv2.CV_32F, cv2.NORM_L2)
    distances, nearest = cv2.batchDistance(source, sink, kind, normType=norm, K=count, mask=allowed)
    return np.asarray(distances, np.float64), np.asarray(nearest, np.intp)


def _alike(first: Codes, second: Codes, ratio: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of codes that are nearest to each other, much nearer than to any second one."""
    distances, nearest = nearest_of(first, second, 2)
    rows = np.flatnonzero(distances[:, 0] < ratio * distances[:, 1])
    if not len(rows):
        return rows, rows
    indices = nearest[rows, 0].astype(np.intp)
    back = nearest_of(second[indices], first, 1)[1][:, 0]
    mutual = back == rows
    return rows[mutual], indices[mutual]


def _is_seen(matrix: Array, points: Array, pixels: Array, error_px: float) -> NDArray[np.bool_]:
    """Which of points (n, 3) before a camera project to pixels (n, 2)."""
    depth = np.maximum(points[:, 2:], NEAREST_M)
    seen = points[:, :2] / depth * matrix[[0, 1], [0, 1]] + matrix[:2, 2]
    return np.asarray((points[:, 2] > NEAREST_M) & (np.linalg.norm(seen - pixels, axis=1) <= error_px), np.bool_)


def _cells(pixels: Array, size: tuple[int, int]) -> int:
    """Return how many of 16 cells of an image contain pixels (n, 2)."""
    cells = np.clip((pixels / size * CELLS).astype(np.intp), 0, CELLS - 1)
    return len(np.unique(cells[:, 0] * CELLS + cells[:, 1]))
