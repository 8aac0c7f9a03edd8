"""Places that are known again: which keyframes look alike, by words of their codes, and what their geometry tells.

A word is 24 of the 256 bits of a code, eight of them to a code. The index has, for each of the eight, all words in
order, each with the number of its keyframe: plain rows, which can be made anew from the codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import inverse_from_transform, rotation_from_vector, transform_from_rotation
from fieldplay_cdff.steps.features import nearest_of
from fieldplay_cdff.steps.intrinsics import StereoCamera
from fieldplay_cdff.steps.keyframes import Codes, View
from fieldplay_cdff.steps.rigid import transform_points
from fieldplay_cdff.steps.two_views import EXACT
from fieldplay_cdff.steps.values import Array

Rows = NDArray[np.uint64]

WORDS, WORD_BITS, OWNER_BITS = 8, 24, 32
MAX_COMMON = 0.2  # of the keyframes: a word that more have tells nothing
TRIES, CERTAINTY = 400, 0.999
CELLS = 4  # of a picture, each way, by which it is told how far points are spread
PIXEL = 1.0  # px, how well a point is seen
MIN_M, MIN_RAD = 0.005, 0.001  # no view tells a pose better
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
        """How much of a view each keyframe has, of so many in all: words that few have tell more."""
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
    """What a view tells of another that sees the same: first_T_second, its covariance (6, 6) in the second.

    `points` agree with it, which are so large a `share` of those that look alike, and lie in so many `cells` of 16.
    """

    pose: Array
    covariance: Array
    points: int
    inlier_fraction: float
    cells: int


@dataclass(frozen=True, kw_only=True)
class SightingLimits:
    """What is believed: points that agree, their share, cells of the picture; how alike codes are; px of an error."""

    points: int
    inlier_fraction: float
    cells: int
    ratio: float
    error_px: float


def sighting(
    first: View, second: View, camera: StereoCamera, size: tuple[int, int], limits: SightingLimits
) -> LoopCandidate | None:
    """Where a view was taken, seen from another one; None where they do not tell it.

    Points of the first must be seen where the second has them, and points of the second where the first has them.
    """
    if min(len(first), len(second)) < limits.points:
        return None
    one, other = _alike(first.codes, second.codes, limits.ratio)
    if len(one) < limits.points:
        return None
    matrix = np.array([[camera.focal_x, 0, camera.center_x], [0, camera.focal_y, camera.center_y], [0, 0, 1.0]])
    points, pixels = first.points[one].astype(np.float64), second.pixels[other].astype(np.float64)
    good, turn, shift, inliers = cv2.solvePnPRansac(
        points, pixels, matrix, np.zeros(0), iterationsCount=TRIES, reprojectionError=limits.error_px,
        confidence=CERTAINTY,
    )  # fmt: skip
    if not good or inliers is None or len(inliers) < limits.points:
        return None
    inside = inliers.ravel()
    turn, shift = cv2.solvePnPRefineLM(points[inside], pixels[inside], matrix, np.zeros(0), turn, shift, EXACT)
    if not (np.isfinite(turn).all() and np.isfinite(shift).all()):
        return None
    second_t_first = transform_from_rotation(rotation_from_vector(turn.ravel()), shift.ravel())
    pose = inverse_from_transform(second_t_first)
    ahead, back = (
        transform_points(second_t_first, points),
        transform_points(pose, second.points[other].astype(np.float64)),
    )
    agrees = _is_seen(matrix, ahead, pixels, limits.error_px)
    agrees &= _is_seen(matrix, back, first.pixels[one].astype(np.float64), 2 * limits.error_px)
    cells = _cells(pixels[agrees], size)
    count = int(agrees.sum())
    if count < limits.points or count < limits.inlier_fraction * len(one) or cells < limits.cells:
        return None
    covariance = _covariance(camera, ahead[agrees])
    return LoopCandidate(pose=pose, covariance=covariance, points=count, inlier_fraction=count / len(one), cells=cells)


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
    """Which of points (n, 3) before a camera are seen at pixels (n, 2)."""
    depth = np.maximum(points[:, 2:], NEAREST_M)
    seen = points[:, :2] / depth * matrix[[0, 1], [0, 1]] + matrix[:2, 2]
    return np.asarray((points[:, 2] > NEAREST_M) & (np.linalg.norm(seen - pixels, axis=1) <= error_px), np.bool_)


def _cells(pixels: Array, size: tuple[int, int]) -> int:
    """In how many of 16 cells of a picture there are pixels (n, 2)."""
    cells = np.clip((pixels / size * CELLS).astype(np.intp), 0, CELLS - 1)
    return len(np.unique(cells[:, 0] * CELLS + cells[:, 1]))


def _covariance(camera: StereoCamera, points: Array) -> Array:
    """How well points (n, 3) before a camera tell where it is (6, 6)."""
    x, y, z = points.T
    rows = np.zeros((len(points), 2, 6))
    rows[:, 0, 0], rows[:, 0, 2] = -camera.focal_x / z, camera.focal_x * x / z**2
    rows[:, 1, 1], rows[:, 1, 2] = -camera.focal_y / z, camera.focal_y * y / z**2
    rows[:, :, 3:] = np.cross(points[:, None], rows[:, :, :3])  # a turn of the camera shifts points by point x turn
    flat = rows.reshape(-1, 6) / PIXEL
    known = flat.T @ flat + 1e-9 * np.eye(6)
    covariance: Array = np.linalg.inv(known) + np.diag([MIN_M**2] * 3 + [MIN_RAD**2] * 3)
    return covariance
