"""Localisation of a rover by its wheels: which two circles of an image are the wheels of one side, and its pose."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    fixed_xyz_from_rotation,
    rotation_from_fixed_xyz,
    transform_from_rotation,
    transform_from_vectors,
    vector_from_rotation,
)
from fieldplay_cdff.steps.intrinsics import camera_of, grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, State

MM = 1e-3
DEFAULT_BASELINE_M = 0.2  # published: the baseline of the image is used if it has one
MANA = "MANA"  # its depths are disparities
WHEEL_NOISE, BLOB_NOISE, PROCESS_NOISE = 1e-3, 1e-1, 1e-3
BY_BLOB = 0.5  # the quality of a pose from the moving region alone, without wheels
FOREGROUND_ABOVE, MIN_BLOB = 100, 100  # grey value; height in pixels
UP = np.array([0.0, -1.0, 0.0])  # in an optical frame
PIXEL_NOISE, PIXEL_STEP, SIZE_STEP = 0.1, 5.0, 0.01  # variances of the measurement of a circle, and of its motion
INNER = 0.8  # of a wheel's radius, within which depths are those of its side
MIN_SHARE, LARGEST_SHARE = 0.4, 1.4  # of a wheel's radius that a circle on it may have: a rim, or a tyre seen askew
MIN_DEPTHS = 30  # on a wheel
ALONG = 0.8  # the cosine of the largest angle between the heading of a rover and its first motion
NS = 1e-9
LOST: Ports = {"success": False, "quality": 0.0}


# Steps that estimate the pose of a robot from the circles of its wheels in an image.
#
# Poses are those of the robot in the camera: x forward, z up.


class DepthImage(NamedTuple):
    """Depths (h, w) in m, 0 or NaN where they are not known, and the camera's matrix (3, 3)."""

    depths: Array
    matrix: Array

    def point(self, pixel: Array) -> Array | None:
        """The point (3,) in m at a pixel u v, by the median of the depths about it; None where none is known."""
        column, row = (round(float(value)) for value in pixel)
        near = self.depths[max(row - 1, 0) : max(row + 2, 0), max(column - 1, 0) : max(column + 2, 0)]
        known = near[np.isfinite(near) & (near > 0)]
        if not len(known):
            return None
        depth = float(np.median(known))
        ray = [(pixel[0] - self.matrix[0, 2]) / self.matrix[0, 0], (pixel[1] - self.matrix[1, 2]) / self.matrix[1, 1]]
        return np.array([ray[0] * depth, ray[1] * depth, depth])


def depth_image(frame: Frame, *, baseline_m: float = 0.0, farthest_m: float = np.inf) -> DepthImage:
    """Return depths from a depth image (m, or mm as 16UC1), or from disparities if a baseline is given."""
    matrix = camera_of(frame, "depth").matrix
    if frame.image.ndim != 2:
        raise ValueError(f"depth: expected depths (h, w), got {frame.image.shape}")
    depths = np.asarray(frame.image, np.float64)
    if baseline_m > 0:
        disparities = (depths - frame.offset) / frame.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            depths = np.where(disparities > 0, matrix[0, 0] * baseline_m / disparities, np.nan)
    elif frame.encoding in ("16UC1", "mono16"):
        depths = depths * MM
    return DepthImage(np.where(depths < farthest_m, depths, np.nan), matrix)


def pose_of_heading(heading: Array, up: Array, position: Array) -> Array:
    """The pose (4, 4) of a robot at a position that heads along one vector, and has its up nearest to another."""
    x = heading / np.linalg.norm(heading)
    z = up - (up @ x) * x
    z = z / np.linalg.norm(z)
    return transform_from_rotation(np.stack([x, np.cross(z, x), z], axis=1), position)


def circles_of(primitives: Sequence[Array]) -> Array:
    """Circles (n, 3) among primitives; ValueError where one has no x, y and radius."""
    for each in primitives:
        if np.shape(each) < (3,) or not np.isfinite(each).all():
            raise ValueError(f"primitives: expected circles x, y, r, got {np.asarray(each).tolist()}")
    return np.array([each[:3] for each in primitives], np.float64).reshape(-1, 3)


@implements("PoseEstimator")
class PrimitivesPoseEstimator(Step):
    """The pose of an object with one circle, tracked from image to image.

    Of the circles that nearest to the last is taken; one further than MaxDistance away is not believed. The first
    NumFrames images only initialise the position. The heading is along the surface, to where the circle moves.
    """

    keeps_state = True

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._seen = 0
        self._last = np.zeros(2)
        self._state, self._covariance = np.zeros(4), np.eye(4)
        self._is_leftwards = False

    def process(self, *, image: Frame, depth: Frame, primitives: Sequence[Array]) -> Ports:
        depths = depth_image(depth)
        circles = circles_of(primitives)
        if not len(circles):
            raise ValueError("primitives: expected a circle, got none")
        nearest = circles[np.argmin(np.linalg.norm(circles[:, :2] - self._last, axis=1)), :2]
        if self._seen < self.general["NumFrames"]:
            self._seen, self._last = self._seen + 1, nearest
            self._state, self._covariance = np.concatenate([nearest, np.zeros(2)]), np.eye(4)
            return {}
        self._predict()
        is_near = bool(np.linalg.norm(nearest - self._last) < self.general["MaxDistance"])
        if is_near:
            self._correct(nearest)
            moved = nearest[0] - self._last[0]
            self._is_leftwards = moved < 0 if moved else self._is_leftwards
        self._last = nearest
        return {"poses": self._pose(depths)[None], "success": is_near, "quality": float(is_near)}

    def _predict(self) -> None:
        change = np.eye(4)
        change[0, 2] = change[1, 3] = 1.0
        self._state = change @ self._state
        self._covariance = change @ self._covariance @ change.T + np.diag([PIXEL_STEP] * 4)

    def _correct(self, pixel: Array) -> None:
        seen = np.eye(2, 4)
        gain = self._covariance @ seen.T @ np.linalg.inv(seen @ self._covariance @ seen.T + PIXEL_NOISE * np.eye(2))
        self._state = self._state + gain @ (pixel - seen @ self._state)
        self._covariance = (np.eye(4) - gain @ seen) @ self._covariance

    def _pose(self, image: DepthImage) -> Array:
        pixel = self._state[:2]
        position, left, right = (image.point(pixel + np.array([aside, 0])) for aside in (0, -2, 2))
        if position is None or left is None or right is None:
            raise ValueError(f"depth: expected depths about pixel {pixel[0]:.1f}, {pixel[1]:.1f}, got none")
        heading = left - right if self._is_leftwards else right - left
        return pose_of_heading(heading, UP, position)


class Wheels(NamedTuple):
    """Two wheels, the left one first, as circles in the image."""

    left: Array
    right: Array


def wheels_of(circles: Array, robot: str) -> Wheels | None:
    """The two lowest circles, if they are next to each other as the wheels of the robot."""
    if len(circles) < 2:
        return None
    lowest = circles[np.argsort(-circles[:, 1], kind="stable")[:2]]
    distances, radii = np.abs(lowest[0] - lowest[1]), lowest[:, 2]
    if robot == MANA:
        is_pair = distances[1] < radii[0] and radii.max() < distances[0] <= 2 * radii.sum()
    else:
        is_pair = distances[1] <= radii[0]
    left, right = lowest[np.argsort(lowest[:, 0], kind="stable")]
    return Wheels(left, right) if is_pair else None


class PoseFilter:
    """Position and angles, their velocities and accelerations: each coordinate by itself, of constant acceleration."""

    def __init__(self, step_s: float) -> None:
        self.change = np.array([[1, step_s, step_s**2 / 2], [0, 1, step_s], [0, 0, 1]])
        self.state = np.zeros((6, 3))
        self.covariance = np.tile(np.eye(3), (6, 1, 1))
        self.is_started = False

    def predict(self) -> None:
        self.state = self.state @ self.change.T
        self.covariance = self.change @ self.covariance @ self.change.T + PROCESS_NOISE * np.eye(3)

    def correct(self, values: Array, noise: float) -> None:
        """Correct the filter by measured values of the first coordinates, three or all."""
        count = len(values)
        if not self.is_started:
            self.state[:count, 0], self.is_started = values, True
        covariance = self.covariance[:count]
        gain = covariance[:, :, 0] / (covariance[:, :1, 0] + noise)
        self.state[:count] += gain * (values - self.state[:count, 0])[:, None]
        self.covariance[:count] = covariance - gain[:, :, None] * covariance[:, :1]

    @property
    def pose(self) -> Array:
        return transform_from_rotation(rotation_from_fixed_xyz(self.state[3:, 0]), self.state[:3, 0])


@implements("PoseEstimator")
class WheeledRobotPoseEstimator(Step):
    """The pose of a robot by two of its wheels; without them by the moving region, if enabled, or by prediction.

    The robot is midway between the wheels, and heads from one to the other, to where they move. `success` is whether
    anything of it was seen.
    """

    keeps_state = True

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._filter = PoseFilter(self.settings["KFParameters"]["dt"])
        self._left_m: float | None = None
        self._is_leftwards = False

    def process(self, *, image: Frame, depth: Frame, primitives: Sequence[Array]) -> Ports:
        options, robot = self.settings["KFParameters"], self.general["Robot"]
        baseline_m = self.general["Baseline"]
        baseline = depth.baseline_m if baseline_m == DEFAULT_BASELINE_M and depth.baseline_m > 0 else baseline_m
        depths = depth_image(
            depth, baseline_m=baseline if robot == MANA else 0.0, farthest_m=self.general["MaxStereoDepth"]
        )
        wheels = wheels_of(circles_of(primitives), robot)
        values = None if wheels is None else self._by_wheels(depths, wheels)
        noise = WHEEL_NOISE
        if values is None and options["backupMeasurement"]:
            middle = blob_middle(grey_of(image, "image"))
            values = None if middle is None else depths.point(middle)
            noise = BLOB_NOISE
        self._filter_pose(values, noise)
        quality = 0.0 if values is None else BY_BLOB if noise == BLOB_NOISE else 1.0
        return {"poses": self._filter.pose[None], "success": values is not None, "quality": quality}

    def _filter_pose(self, values: Array | None, noise: float) -> None:
        known = self._filter
        if values is None and not known.is_started:
            raise ValueError("primitives: expected two wheels side by side with a depth, got none so far")
        known.predict()
        if values is None:
            return
        jump = np.linalg.norm(values[:3] - known.state[:3, 0])
        if known.is_started and jump > self.settings["KFParameters"]["maxJumpInPosition"]:
            known = self._filter = PoseFilter(self.settings["KFParameters"]["dt"])
        if len(values) > 3:
            turns = np.round((known.state[3:, 0] - values[3:]) / (2 * np.pi))
            values = np.concatenate([values[:3], values[3:] + 2 * np.pi * turns])
        known.correct(values, noise)

    def _by_wheels(self, image: DepthImage, wheels: Wheels) -> Array | None:
        """Return position and angles (6,), or the position alone (3,) if the depths do not determine more."""
        left, right = image.point(wheels.left[:2]), image.point(wheels.right[:2])
        if left is None or right is None:
            return None
        position = (left + right) / 2
        if self._left_m is not None and left[0] != self._left_m:
            self._is_leftwards = bool(left[0] < self._left_m)
        self._left_m = float(left[0])
        along = wheels.right[:2] - wheels.left[:2]
        aside = np.array([along[1], -along[0]]) / np.linalg.norm(along) * wheels.left[2] / 4  # upwards in the image
        above, below = image.point(wheels.left[:2] + aside), image.point(wheels.left[:2] - aside)
        if above is None or below is None or np.allclose(left, right):
            return position
        heading = left - right if self._is_leftwards else right - left
        pose = pose_of_heading(heading, above - below, position)
        return np.concatenate([position, fixed_xyz_from_rotation(pose[:3, :3])])


def blob_middle(grey: NDArray[np.uint8]) -> Array | None:
    """Return the centre u v of the bright region of an image, if it is high enough to be a robot and no shadow."""
    mask = (grey > FOREGROUND_ABOVE).astype(np.uint8)
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows) or rows[-1] - rows[0] < MIN_BLOB:
        return None
    moments = cv2.moments(mask, binaryImage=True)
    return np.array([moments["m10"], moments["m01"]]) / moments["m00"]


class WheelSide(NamedTuple):
    """A circle as a wheel: its centre (3,) in m in the camera, and points (n, 3) of its side."""

    middle: Array
    points: Array


class WheelPair(NamedTuple):
    """Two wheels of one side of a rover: its pose (4, 4), with the heading possibly reversed.

    `flatness` is the fraction of their points in one plane, `misfit` their distance from the prediction: 0 is best.
    """

    pose: Array
    flatness: float
    misfit: float


@implements("WheelLocalisation")
class WheelPairs(Step):
    """The pose of a rover by the two wheels of its visible side, in the moving region of the image.

    Their distance, size and common plane must be those of the model. It heads to where it moved at first; before it
    has moved, and where it is not found, `success` is false and nothing is measured.
    """

    keeps_state = True
    optional = ("predictedState",)

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._start_position: Array | None = None  # where it was seen first
        self._seen_ns: int | None = None
        self._is_headed = False

    def process(
        self, *, image: Frame, depth: Frame, primitives: Sequence[Array], predictedState: State | None = None
    ) -> Ports:
        moving = grey_of(image, "image") > FOREGROUND_ABOVE
        if depth.image.shape != moving.shape:
            raise ValueError(f"depth: expected depths {moving.shape} as the image, got {depth.image.shape}")
        depths = depth_image(depth, baseline_m=depth.baseline_m)
        options, stamp_ns = self.settings["Search"], image.stamp_ns
        if self._seen_ns is not None and (stamp_ns - self._seen_ns) * NS > options["ForgetAfter"]:
            self.reset()
        expected = None
        if self._is_headed and predictedState is not None:
            expected = transform_from_vectors(predictedState.values[:3], predictedState.values[3:6])
        best = self._best(self._sides(depths, moving, circles_of(primitives)), expected)
        if best is None:
            return LOST
        self._seen_ns = stamp_ns
        pose = self._orient_forwards(best.pose, expected)
        if pose is None:
            return LOST
        values = np.concatenate([vector_from_rotation(pose[:3, :3]), pose[:3, 3], np.zeros(6)])
        state = State(values=values, covariance=np.zeros((12, 12)), stamp_ns=stamp_ns)
        return {"measurement": state, "success": True, "quality": best.flatness}

    def _sides(self, image: DepthImage, moving: NDArray[np.bool_], circles: Array) -> list[WheelSide]:
        """Those circles that are on what moves and may be wheels."""
        radius, wheels = self.settings["Model"]["WheelRadius"], []
        height, width = moving.shape
        for circle in circles:
            column, row = (round(float(value)) for value in circle[:2])
            if not (0 <= column < width and 0 <= row < height and moving[row, column]):
                continue
            middle = image.point(circle[:2])
            if middle is None:
                continue
            pixels = image.matrix[0, 0] * radius / middle[2]
            if MIN_SHARE * pixels < circle[2] < LARGEST_SHARE * pixels:
                points = disc_points(image, circle[:2], INNER * pixels, middle[2])
                points = points[np.abs(points[:, 2] - middle[2]) < radius]
                if len(points) >= MIN_DEPTHS:
                    wheels.append(WheelSide(middle * np.median(points[:, 2]) / middle[2], points))
        return wheels

    def _best(self, sides: list[WheelSide], expected: Array | None) -> WheelPair | None:
        pairs = (self._pair(first, second, expected) for first, second in combinations(sides, 2))
        return min((pair for pair in pairs if pair is not None), key=lambda pair: pair.misfit, default=None)

    def _pair(self, first: WheelSide, second: WheelSide, expected: Array | None) -> WheelPair | None:
        """Two circles as wheels of the model; None where they cannot be."""
        model, options = self.settings["Model"], self.settings["Search"]
        along = first.middle - second.middle
        length = float(np.linalg.norm(along))
        off = abs(length / model["WheelBase"] - 1) / options["Tolerance"]
        if off > 1 or abs(along @ UP) > np.sin(np.radians(options["SteepestSlope"])) * length:
            return None
        points = np.concatenate([first.points, second.points])
        centre = points.mean(axis=0)
        out, flatness = _plane(points - centre, options["PlaneTolerance"])
        if flatness < options["MinimumFlatness"]:
            return None
        out = out if out @ centre < 0 else -out
        along = along - (along @ out) * out
        up = np.cross(along, out)
        up = up if up @ UP > 0 else -up
        position = (first.middle + second.middle) / 2 - out * model["Width"] / 2
        misfit = off**2 + (1 - flatness)
        if expected is not None:
            jump = float(np.linalg.norm(position - expected[:3, 3])) / options["MaximumJump"]
            if jump > 1:
                return None
            misfit += jump**2
        return WheelPair(pose_of_heading(along, up, position), flatness, misfit)

    def _orient_forwards(self, pose: Array, expected: Array | None) -> Array | None:
        """Return the pose with its x axis forwards; None while the direction is unknown."""
        if expected is not None:
            forward = float(expected[:3, 0] @ pose[:3, 0])
        else:
            self._start_position = pose[:3, 3] if self._start_position is None else self._start_position
            displacement = pose[:3, 3] - self._start_position
            forward = float(displacement @ pose[:3, 0])
            if np.linalg.norm(displacement) < self.settings["Search"]["MinimumWay"]:
                return None
            if abs(forward) < ALONG * np.linalg.norm(displacement):  # wheels roll: one of the two sights was none
                self._start_position = pose[:3, 3]
                return None
        self._is_headed = True
        return pose if forward > 0 else reverse_heading(pose)


def reverse_heading(pose: Array) -> Array:
    """Return a pose (4, 4) with x and y reversed."""
    return np.asarray(pose @ np.diag([-1.0, -1.0, 1.0, 1.0]), np.float64)


def disc_points(image: DepthImage, middle: Array, radius_px: float, depth_m: float) -> Array:
    """Points (n, 3) in m whose depths are known, of pixels within a radius of one."""
    height, width = image.depths.shape
    low = np.maximum(np.floor(middle - radius_px), 0).astype(int)
    high = np.minimum(np.ceil(middle + radius_px) + 1, [width, height]).astype(int)
    rows, columns = np.mgrid[low[1] : high[1], low[0] : high[0]]
    depths = image.depths[low[1] : high[1], low[0] : high[0]]
    near = np.hypot(columns - middle[0], rows - middle[1]) <= radius_px
    known = near & np.isfinite(depths) & (depths > 0)
    pixels = np.stack([columns[known], rows[known]], axis=1)
    rays = (pixels - image.matrix[:2, 2]) / image.matrix[[0, 1], [0, 1]]
    return np.asarray(np.column_stack([rays, np.ones(len(rays))]) * depths[known][:, None])


def _plane(points: Array, within_m: float) -> tuple[Array, float]:
    """The normal (3,) of the plane through points (n, 3) about their mean; the fraction of them that is near it."""
    inliers = points
    for _ in range(3):
        middle = inliers.mean(axis=0)
        normal = np.linalg.eigh((inliers - middle).T @ (inliers - middle))[1][:, 0]
        off = np.abs((points - middle) @ normal)
        inliers = points[off < max(within_m, float(np.quantile(off, 0.5)))]
    return np.asarray(normal, np.float64), float((off < within_m).mean())
