"""Keyframes: pairs of a stereo camera that are kept, what is known again of each, and how they hang together.

A code is 32 bytes: the signs of 256 sums of a SIFT descriptor's numbers, so that few bits differ between what looks
alike, and words of a place index are cut out of it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import inverse_from_transform, vector_from_rotation
from fieldplay_cdff.steps.intrinsics import StereoCamera, camera_of, grey_pair, stereo_camera
from fieldplay_cdff.steps.pose_graph import GraphEdges, transport_covariance
from fieldplay_cdff.steps.rigid import transform_points
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Frame,
    FramePair,
    Matches2D,
)

PORTS = ("sourceFrame", "sinkFrame")
FARTHEST_PX = 500.0  # that a point may be expected to move
SAME_GAIN, SAME_MEAN = 0.05, 5.0  # by which contrast (as a logarithm) and brightness of pictures may differ
Grey = NDArray[np.uint8]
Codes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
BITS, NUMBERS = 256, 128  # of a code, of a SIFT descriptor
WINDOW, LEVELS = 21, 4  # px and further levels, with which points are followed into the right picture
RETURN_PX, ROW_PX = 0.5, 1.0  # by which a way back, and a row, may be off
MIN_PX = 1.0  # of disparity: what is further away tells no distance
FEW = 1e-9
METRES_PER_RAD = 2.0  # as much as which a turn counts where keyframes are compared
_DRAWN = hashlib.shake_256(b"signs of codes").digest(NUMBERS * BITS // 8)
BIT_SIGNS = np.unpackbits(np.frombuffer(_DRAWN, np.uint8)).reshape(NUMBERS, BITS).astype(np.float32) * 2 - 1


# Steps of our own that find points of a picture in another by their surroundings, without descriptors.


def track_flow(
    source: Grey, sink: Grey, points: Array, *, window: int, levels: int, expected: Array | None = None
) -> tuple[Array, Array]:
    """Track points (n, 2) of an image in another (n, 2); return also the forward-backward errors (n,).

    They are looked for about where they are expected (n, 2), else at their own place. Infinitely far where they are
    lost, or left the picture.
    """
    start = np.array(points, np.float32).reshape(-1, 1, 2)
    aim = start if expected is None else np.array(expected, np.float32).reshape(-1, 1, 2)
    size, starts = (window, window), cv2.OPTFLOW_USE_INITIAL_FLOW
    there, is_tracked, _ = cv2.calcOpticalFlowPyrLK(
        source, sink, start, aim.copy(), winSize=size, maxLevel=levels, flags=starts
    )
    home = start + np.asarray(there) - aim
    back, is_back, _ = cv2.calcOpticalFlowPyrLK(sink, source, there, home, winSize=size, maxLevel=levels, flags=starts)
    pixels = there[:, 0].astype(np.float64)
    height, width = source.shape
    is_there = (
        (is_tracked[:, 0] > 0) & (is_back[:, 0] > 0) & ((pixels >= 0) & (pixels <= [width - 1, height - 1])).all(axis=1)
    )
    return pixels, np.where(is_there, np.linalg.norm((back - start)[:, 0], axis=1), np.inf)


def as_bright_as(source: Grey, sink: Grey) -> Grey:
    """The sink with the mean and the deviation of the source's grey values; as it is where they differ little."""
    (mean, spread), (own_mean, own_spread) = (
        [float(np.ravel(each)[0]) for each in cv2.meanStdDev(image)] for image in (source, sink)
    )
    gain = spread / own_spread if own_spread > 0 else 1.0
    if abs(np.log(max(gain, 1e-3))) < SAME_GAIN and abs(mean - own_mean) < SAME_MEAN:
        return sink
    return np.asarray(cv2.convertScaleAbs(sink, None, gain, mean - gain * own_mean), np.uint8)


def _project(pixels: Array, points: Array, step: Array, matrix: Array) -> Array:
    """Project points (n, 3) into a camera (3, 3) with a pose in their frame; their own pixels where impossible."""
    seen = transform_points(inverse_from_transform(step), points)
    with np.errstate(divide="ignore", invalid="ignore"):
        projected = (seen / seen[:, 2:]) @ matrix[:2].T
        good = (seen[:, 2] > 0) & (np.abs(projected - pixels) < FARTHEST_PX).all(axis=1)  # which NaN is not
    return np.where(good[:, None], projected, pixels)


@implements("FeaturesTracking2D")
class PyramidTracker(Step):
    """Points followed by the slopes of grey values, from coarse to fine; one that is not found on the way back goes.

    Where the exposure changed, the later picture is made as bright and as rich in contrast as the earlier one. With the
    points (n, 3) that features are pictures of, in the earlier camera, and the pose that the later one is expected to
    have in it, they are looked for where they then would be.
    """

    optional = ("points", "step")

    def process(
        self, *, sourceFrame: Frame, sinkFrame: Frame, features: Features2D, points: Cloud | None = None,
        step: Array | None = None,
    ) -> Ports:  # fmt: skip
        options = self.general
        source, sink = grey_pair(sourceFrame, sinkFrame, PORTS)
        if options["EqualizeBrightness"]:
            sink = as_bright_as(source, sink)
        known = np.isfinite(features.points).all(axis=1)
        pixels, guess = features.points[known], None
        if not len(pixels):
            return {"matches": Matches2D(source=pixels, sink=pixels, probability=np.zeros(0)), "quality": 0.0}
        if points is not None and step is not None:
            guess = _project(pixels, points.points[known], step, camera_of(sinkFrame, PORTS[1]).matrix)
        window, levels = options["WindowSize"], options["PyramidLevels"]
        sinks, off = track_flow(source, sink, pixels, window=window, levels=levels, expected=guess)
        is_valid = off < options["MaximumReturnError"]
        if options["MaximumRowError"] > 0:  # of a rectified pair
            is_valid &= np.abs(sinks[:, 1] - pixels[:, 1]) <= options["MaximumRowError"]
        probability = np.exp(-(off[is_valid] ** 2) / 2)
        matches = Matches2D(source=pixels[is_valid], sink=sinks[is_valid], probability=probability)
        return {"matches": matches, "quality": float(is_valid.mean())}


@implements("MatchRefinement")
class LucasKanade(Step):
    """Matches whose sink is moved by parts of a pixel to where the picture looks most as it does about the source.

    Those that would move too far, or leave the picture, go. Quality: the share that stays.
    """

    def process(self, *, sourceFrame: Frame, sinkFrame: Frame, matches: Matches2D) -> Ports:
        options, (source, sink) = self.general, grey_pair(sourceFrame, sinkFrame, PORTS)
        if not len(matches):
            return {"matches": matches, "quality": 0.0}
        started = matches.sink.astype(np.float32)
        pixels, is_tracked, _ = cv2.calcOpticalFlowPyrLK(
            source, sink, matches.source.astype(np.float32), started.copy(),
            winSize=(options["WindowSize"], options["WindowSize"]), maxLevel=options["PyramidLevels"],
            criteria=(cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, options["Iterations"], options["LeastStep"]),
            flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
        )  # fmt: skip
        is_near = np.linalg.norm(pixels - started, axis=1) <= options["MaximumShift"]
        rows = np.flatnonzero(np.asarray(is_tracked).ravel().astype(np.bool_) & is_near)
        tracked = replace(matches.subset(rows), sink=np.asarray(pixels, np.float64)[rows])
        return {"matches": tracked, "quality": len(rows) / len(matches)}


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """What is known again of a pair: pixels (n, 2) of the left picture, points (n, 3) before it, codes (n, 32)."""

    pixels: NDArray[np.float32]
    points: NDArray[np.float32]
    codes: Codes

    def __len__(self) -> int:
        return len(self.pixels)


class ViewFinder:
    """Finds what is known again of pairs: SIFT on a picture made smaller by a whole number, at most `width` wide."""

    def __init__(self, *, maximum: int, contrast: float, width: int) -> None:
        self._sift = cv2.SIFT.create(nfeatures=maximum, contrastThreshold=contrast)
        self._width = width

    def view(self, pair: FramePair) -> tuple[View, StereoCamera]:
        """The view of a pair, and its camera; points without a distance are left out."""
        left, right = grey_pair(pair.left, pair.right)
        camera = stereo_camera(pair.left, "imagePair", baseline_m=pair.baseline_m)
        shrink = max(1, round(left.shape[1] / self._width))
        small = cv2.resize(left, None, fx=1 / shrink, fy=1 / shrink, interpolation=cv2.INTER_AREA)
        keypoints, descriptors = self._sift.detectAndCompute(small if shrink > 1 else left, None)
        if descriptors is None or not len(keypoints):
            return _empty(), camera
        pixels = (np.array([point.pt for point in keypoints], np.float64) + 0.5) * shrink - 0.5
        moved, off = track_flow(left, right, pixels, window=WINDOW, levels=LEVELS)
        disparities = pixels - moved
        is_valid = (off < RETURN_PX) & (np.abs(disparities[:, 1]) <= ROW_PX) & (disparities[:, 0] > MIN_PX)
        pixels, depth = pixels[is_valid], camera.focal_x * camera.baseline_m / disparities[is_valid, 0]
        across = (pixels - [camera.center_x, camera.center_y]) / [camera.focal_x, camera.focal_y]
        points = np.column_stack([across * depth[:, None], depth])
        codes = codes_of(np.asarray(descriptors)[is_valid])
        return View(pixels=pixels.astype(np.float32), points=points.astype(np.float32), codes=codes), camera


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
    """A pair that is kept: its number, when it was taken, the left camera in the map (4, 4), what is known again."""

    id: int
    stamp_ns: int
    pose: Array
    view: View


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyframeEdge:
    """first_T_second (4, 4) between keyframes, its covariance (6, 6) in the second; whether a place was known again."""

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
        """From the first of this to the second of the other, by way of what they share."""
        covariance = transport_covariance(self.covariance, other.measured) + other.covariance
        closes = self.is_closure or other.is_closure
        whole = self.measured @ other.measured
        return KeyframeEdge(
            first=self.first, second=other.second, measured=whole, covariance=covariance, is_closure=closes
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RelativeFrame:
    """A pair that is not kept: when it was taken, and where it was seen from a keyframe (4, 4)."""

    stamp_ns: int
    keyframe: int
    pose: Array


@dataclass
class KeyframeMap:
    """Keyframes by number, what was measured between them, and all other pairs, each hung on a keyframe."""

    camera: StereoCamera
    size: tuple[int, int]  # of the pictures, px
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
        """Edges of places that were known again."""
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
        """Put all keyframes to other poses (k, 4, 4)."""
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
        """Keyframes within a shift and a turn of a pose in the map (4, 4), the nearest first."""
        if not self.keyframes:
            return []
        shifts, turns = _pose_differences(pose, self.poses)
        far = shifts + METRES_PER_RAD * turns
        numbers = list(self.keyframes)
        rows = np.flatnonzero((shifts <= shift_m) & (turns <= turn_rad))
        return [numbers[row] for row in rows[np.argsort(far[rows], kind="stable")]]

    def redundant_keyframe(self, kept_numbers: Sequence[int]) -> int:
        """The keyframe that is nearest to another one, which tells least; those to be kept and the first one stay."""
        poses, numbers = self.poses, list(self.keyframes)
        shifts = np.linalg.norm(poses[:, None, :3, 3] - poses[None, :, :3, 3], axis=-1)
        cosines = (np.einsum("aij,bij->ab", poses[:, :3, :3], poses[:, :3, :3], optimize=True) - 1) / 2
        far = shifts + METRES_PER_RAD * np.arccos(np.clip(cosines, -1, 1))
        far[np.arange(len(far)), np.arange(len(far))] = np.inf
        nearest = far.min(axis=1)
        nearest[[row for row, number in enumerate(numbers) if row == 0 or number in kept_numbers]] = np.inf
        return numbers[int(np.argmin(nearest))]

    def drop(self, number: int) -> None:
        """Forget a keyframe; what hangs on it hangs on that of its neighbours to which the way is best known."""
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
