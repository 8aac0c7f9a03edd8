"""Keyframes: stored pairs of a stereo camera, their features for recognition, and the edges between them.

A code is 32 bytes: the signs of 256 sums of a SIFT descriptor's numbers, so that few bits differ between what looks
alike, and words of a place index are cut out of it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import Array, inverse_from_transform, vector_from_rotation
from fieldplay_cdff.stereo.pair_matching import Grey, track_flow
from fieldplay_cdff.stereo.parameters import parameter
from fieldplay_cdff.stereo.pose_graph import GraphEdges
from fieldplay_cdff.stereo.pose_refinement import correction_basis
from fieldplay_cdff.stereo.pose_track import transport_covariance

Codes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
BITS, NUMBERS = 256, 128  # of a code, of a SIFT descriptor
WINDOW, LEVELS = 21, 4  # px and further levels, with which points are tracked into the right image
RETURN_PX, ROW_PX = 0.5, 1.0  # by which the forward-backward check, and a row, may be off
MIN_PX = 1.0  # of disparity: what is further away has no usable depth
FEW = 1e-9
METRES_PER_RAD = 2.0  # weight of a rotation in the comparison of keyframes
_DRAWN = hashlib.shake_256(b"signs of codes").digest(NUMBERS * BITS // 8)
BIT_SIGNS = np.unpackbits(np.frombuffer(_DRAWN, np.uint8)).reshape(NUMBERS, BITS).astype(np.float32) * 2 - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """The features of a pair for recognition: pixels (n, 2) of the left image, points (n, 3) and codes (n, 32)."""

    pixels: NDArray[np.float32]
    points: NDArray[np.float32]
    codes: Codes

    def __len__(self) -> int:
        return len(self.pixels)


@dataclass(frozen=True, kw_only=True)
class ViewSettings:
    """The features of a pair for recognition."""

    maximum_points: int = parameter("MaximumPoints", 800)
    minimum_points: int = parameter("MinimumPoints", 80)  # of a keyframe
    contrast: float = parameter("Contrast", 0.01)
    image_width_px: int = parameter("PictureWidth", 516)  # wider images are reduced by an integer factor


class ViewFinder:
    """Extracts the features of pairs for recognition: SIFT on an image reduced by an integer factor."""

    def __init__(self, settings: ViewSettings) -> None:
        self._sift = cv2.SIFT.create(nfeatures=settings.maximum_points, contrastThreshold=settings.contrast)
        self._width = settings.image_width_px

    def view(self, left: Grey, right: Grey, camera: StereoCamera, correction: Array | None = None) -> View:
        """The view of a pair of rectified images (h, w); points without a distance are left out.

        Args:
            left: grey image (h, w).
            right: the same of the right camera.
            camera: of both.
            correction: of disparities (2,) in px, offset and radial part; none where they are exact.
        """
        shrink = max(1, round(left.shape[1] / self._width))
        small = cv2.resize(left, None, fx=1 / shrink, fy=1 / shrink, interpolation=cv2.INTER_AREA)
        keypoints, descriptors = self._sift.detectAndCompute(small if shrink > 1 else left, None)
        if descriptors is None or not len(keypoints):
            return _empty()
        pixels = (np.array([point.pt for point in keypoints], np.float64) + 0.5) * shrink - 0.5
        moved, off = track_flow(left, right, pixels, window=WINDOW, levels=LEVELS)
        disparities = pixels - moved
        is_valid = (off < RETURN_PX) & (np.abs(disparities[:, 1]) <= ROW_PX) & (disparities[:, 0] > MIN_PX)
        columns = disparities[:, 0]
        if correction is not None:
            columns = columns + correction_basis(pixels, camera) @ correction
            is_valid &= columns > MIN_PX / 2
        pixels, depth = pixels[is_valid], camera.focal_x * camera.baseline_m / columns[is_valid]
        across = (pixels - [camera.center_x, camera.center_y]) / [camera.focal_x, camera.focal_y]
        points = np.column_stack([across * depth[:, None], depth])
        codes = codes_of(np.asarray(descriptors)[is_valid])
        return View(pixels=pixels.astype(np.float32), points=points.astype(np.float32), codes=codes)


def corrected_view(view: View, camera: StereoCamera, change: Array) -> View:
    """A view whose disparities are corrected by as much more, offset and radial part (2,) in px."""
    focal_baseline = camera.focal_x * camera.baseline_m
    depth = view.points[:, 2:].astype(np.float64)
    disparities = focal_baseline / depth[:, 0] + correction_basis(view.pixels.astype(np.float64), camera) @ change
    factor = focal_baseline / np.maximum(disparities, MIN_PX / 2) / depth[:, 0]
    return replace(view, points=(view.points * factor[:, None]).astype(np.float32))


def codes_of(descriptors: NDArray[np.float32]) -> Codes:
    """Codes (n, 32) of SIFT descriptors (n, 128)."""
    roots = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), FEW))
    return np.packbits((roots - roots.mean(axis=1, keepdims=True)) @ BIT_SIGNS > 0, axis=1)


def _empty() -> View:
    return View(
        pixels=np.zeros((0, 2), np.float32),
        points=np.zeros((0, 3), np.float32),
        codes=np.zeros((0, BITS // 8), np.uint8),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Keyframe:
    """A stored pair: its number, when it was taken, the left camera in the map (4, 4), its features."""

    id: int
    stamp_ns: int
    pose: Array
    view: View


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyframeEdge:
    """first_T_second (4, 4) between keyframes, its covariance (6, 6) in the second; whether it is a loop closure."""

    first: int
    second: int
    measured: Array
    covariance: Array
    is_closure: bool = False

    def inverse(self) -> "KeyframeEdge":
        """Return the same edge from the other keyframe."""
        back = inverse_from_transform(self.measured)
        return replace(
            self,
            first=self.second,
            second=self.first,
            measured=back,
            covariance=transport_covariance(self.covariance, back),
        )

    def then(self, other: "KeyframeEdge") -> "KeyframeEdge":
        """From the first of this to the second of the other, by the keyframe that they have in common."""
        covariance = transport_covariance(self.covariance, other.measured) + other.covariance
        closes = self.is_closure or other.is_closure
        whole = self.measured @ other.measured
        return KeyframeEdge(
            first=self.first, second=other.second, measured=whole, covariance=covariance, is_closure=closes
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativeFrame:
    """A pair that is not a keyframe: when it was taken, and its pose relative to a keyframe (4, 4)."""

    stamp_ns: int
    keyframe: int
    pose: Array


@dataclass
class KeyframeMap:
    """Keyframes by number, the measurements between them, and all other pairs, each relative to a keyframe."""

    camera: StereoCamera
    size: tuple[int, int]  # of the images, px
    keyframes: dict[int, Keyframe] = field(default_factory=dict)
    edges: list[KeyframeEdge] = field(default_factory=list)
    frames: list[RelativeFrame] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.keyframes)

    @property
    def poses(self) -> Array:
        """map_T_left (k, 4, 4) of all keyframes."""
        return np.array([each.pose for each in self.keyframes.values()]).reshape(-1, 4, 4)

    @property
    def closures(self) -> list[KeyframeEdge]:
        """The edges of loop closures."""
        return [edge for edge in self.edges if edge.is_closure]

    def closure_poses(self) -> Array:
        """Poses (2 n, 4, 4) of both keyframes of each loop closure."""
        numbers = [number for edge in self.closures for number in (edge.first, edge.second)]
        return np.array([self.keyframes[number].pose for number in numbers]).reshape(-1, 4, 4)

    def graph(self) -> GraphEdges:
        """The edges between rows of poses."""
        rows = {number: row for row, number in enumerate(self.keyframes)}
        return GraphEdges(
            nodes=np.array([(rows[edge.first], rows[edge.second]) for edge in self.edges], np.intp).reshape(-1, 2),
            measured=np.array([edge.measured for edge in self.edges]).reshape(-1, 4, 4),
            covariance=np.array([edge.covariance for edge in self.edges]).reshape(-1, 6, 6),
            is_doubted=np.array([edge.is_closure for edge in self.edges], bool),
        )

    def move(self, poses: Array) -> None:
        """Set all keyframes to other poses (k, 4, 4)."""
        for (number, keyframe), pose in zip(list(self.keyframes.items()), poses, strict=True):
            self.keyframes[number] = replace(keyframe, pose=pose)

    def trajectory(self) -> tuple[Numbers, Array]:
        """Increasing times (n,), and map_T_left (n, 4, 4) then, of keyframes and of all poses that depend on them."""
        hung = [(each.stamp_ns, self.keyframes[each.keyframe].pose @ each.pose) for each in self.frames]
        own = [(each.stamp_ns, each.pose) for each in self.keyframes.values()]
        rows = dict(sorted(hung + own, key=lambda row: row[0]))
        return np.array(list(rows), np.int64), np.array(list(rows.values())).reshape(-1, 4, 4)

    def attach_frame(self, frame: RelativeFrame, maximum: int) -> None:
        """Keep where a pair was taken; of too many every second one goes."""
        self.frames.append(frame)
        if len(self.frames) > maximum:
            del self.frames[1::2]

    def near(self, pose: Array, *, shift_m: float, turn_rad: float) -> list[int]:
        """Keyframes within a shift and a rotation of a pose in the map (4, 4), the nearest first."""
        if not self.keyframes:
            return []
        shifts, turns = _pose_differences(pose, self.poses)
        far = shifts + METRES_PER_RAD * turns
        numbers = list(self.keyframes)
        rows = np.flatnonzero((shifts <= shift_m) & (turns <= turn_rad))
        return [numbers[row] for row in rows[np.argsort(far[rows], kind="stable")]]

    def redundant_keyframe(self, kept_numbers: Sequence[int]) -> int:
        """Return the most redundant keyframe, nearest to another one; those to be kept and the first one stay."""
        poses, numbers = self.poses, list(self.keyframes)
        shifts = np.linalg.norm(poses[:, None, :3, 3] - poses[None, :, :3, 3], axis=-1)
        cosines = (np.einsum("aij,bij->ab", poses[:, :3, :3], poses[:, :3, :3], optimize=True) - 1) / 2
        far = shifts + METRES_PER_RAD * np.arccos(np.clip(cosines, -1, 1))
        far[np.arange(len(far)), np.arange(len(far))] = np.inf
        nearest = far.min(axis=1)
        nearest[[row for row, number in enumerate(numbers) if row == 0 or number in kept_numbers]] = np.inf
        return numbers[int(np.argmin(nearest))]

    def drop(self, number: int) -> None:
        """Remove a keyframe; its edges move to the neighbour with the most certain edge."""
        own = [edge if edge.first == number else edge.inverse() for edge in self._edges_of(number)]
        heir = min(own, key=lambda edge: (float(np.trace(edge.covariance)), edge.second))
        back = heir.inverse()
        self.edges = [edge for edge in self.edges if number not in (edge.first, edge.second)]
        self.edges += [back.then(edge) for edge in own if edge is not heir and edge.second != heir.second]
        self.frames = [
            each if each.keyframe != number
            else replace(each, keyframe=heir.second, pose=back.measured @ each.pose)
            for each in self.frames
        ]  # fmt: skip
        gone = self.keyframes.pop(number)
        self.frames.append(RelativeFrame(stamp_ns=gone.stamp_ns, keyframe=heir.second, pose=back.measured))

    def _edges_of(self, number: int) -> Iterator[KeyframeEdge]:
        return (edge for edge in self.edges if number in (edge.first, edge.second))


def _pose_differences(pose: Array, poses: Array) -> tuple[Array, Array]:
    """Distances (k,) in m and angles (k,) in rad of poses (k, 4, 4) from one (4, 4)."""
    differences = inverse_from_transform(pose) @ poses
    return np.linalg.norm(differences[:, :3, 3], axis=1), np.linalg.norm(
        vector_from_rotation(differences[:, :3, :3]), axis=1
    )
