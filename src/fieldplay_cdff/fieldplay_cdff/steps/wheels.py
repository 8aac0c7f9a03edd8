"""Steps that tell where a robot is from the circles that its wheels make in a picture.

Poses are those of the robot in the camera: x where it heads to, z up.
"""

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import fixed_xyz_from_rotation, rotation_from_fixed_xyz, transform_from_rotation
from fieldplay_cdff.steps.intrinsics import camera_of, grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame

MM = 1e-3
DEFAULT_BASELINE_M = 0.2  # published: the picture's own holds where it has one
MANA = "MANA"  # its depths are disparities
WHEEL_NOISE, BLOB_NOISE, PROCESS_NOISE = 1e-3, 1e-1, 1e-3
BY_BLOB = 0.5  # the quality of a pose that what moves has told, not wheels
FOREGROUND_ABOVE, LEAST_BLOB = 100, 100  # grey value; height in pixels
UP = np.array([0.0, -1.0, 0.0])  # in an optical frame
PIXEL_NOISE, PIXEL_STEP, SIZE_STEP = 0.1, 5.0, 0.01  # variances of what a circle is measured by, and moves by


class DepthPicture(NamedTuple):
    """Depths (h, w) in m, 0 or NaN where they are not known, and the camera's matrix (3, 3)."""

    depths: Array
    matrix: Array

    def point(self, pixel: Array) -> Array | None:
        """The point (3,) in m at a pixel u v, by the middle of the depths about it; nothing where none is known."""
        column, row = (round(float(value)) for value in pixel)
        near = self.depths[max(row - 1, 0) : max(row + 2, 0), max(column - 1, 0) : max(column + 2, 0)]
        known = near[np.isfinite(near) & (near > 0)]
        if not len(known):
            return None
        depth = float(np.median(known))
        ray = [(pixel[0] - self.matrix[0, 2]) / self.matrix[0, 0], (pixel[1] - self.matrix[1, 2]) / self.matrix[1, 1]]
        return np.array([ray[0] * depth, ray[1] * depth, depth])


def depth_image(frame: Frame, *, baseline_m: float = 0.0, farthest_m: float = np.inf) -> DepthPicture:
    """The depths of a picture of them (m, or mm as 16UC1), or of disparities where a baseline is told."""
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
    return DepthPicture(np.where(depths < farthest_m, depths, np.nan), matrix)


def pose_of_heading(heading: Array, up: Array, place: Array) -> Array:
    """The pose (4, 4) of a robot at a place that heads along one vector, and has its up nearest to another."""
    x = heading / np.linalg.norm(heading)
    z = up - (up @ x) * x
    z = z / np.linalg.norm(z)
    return transform_from_rotation(np.stack([x, np.cross(z, x), z], axis=1), place)


def circles_of(primitives: Sequence[Array]) -> Array:
    """Circles (n, 3) among primitives; ValueError where one has no x, y and radius."""
    for each in primitives:
        if np.shape(each) < (3,) or not np.isfinite(each).all():
            raise ValueError(f"primitives: expected circles x, y, r, got {np.asarray(each).tolist()}")
    return np.array([each[:3] for each in primitives], np.float64).reshape(-1, 3)


@implements("PoseEstimator")
class PrimitivesPoseEstimator(Step):
    """The pose of what makes one circle, followed from picture to picture.

    Of the circles that nearest to the last is taken; one further than MaxDistance away is not believed. The first
    NumFrames pictures only tell where to begin. The heading is along the surface, to where the circle moves.
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
        picture = depth_image(depth)
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
        return {"poses": self._pose(picture)[None], "success": is_near, "quality": float(is_near)}

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

    def _pose(self, picture: DepthPicture) -> Array:
        pixel = self._state[:2]
        place, left, right = (picture.point(pixel + np.array([aside, 0])) for aside in (0, -2, 2))
        if place is None or left is None or right is None:
            raise ValueError(f"depth: expected depths about pixel {pixel[0]:.1f}, {pixel[1]:.1f}, got none")
        heading = left - right if self._is_leftwards else right - left
        return pose_of_heading(heading, UP, place)


class Wheels(NamedTuple):
    """Two wheels, the left one first, as circles in the picture."""

    left: Array
    right: Array


def wheels_of(circles: Array, robot: str) -> Wheels | None:
    """The two lowest circles, if they are beside each other as the wheels of the robot."""
    if len(circles) < 2:
        return None
    lowest = circles[np.argsort(-circles[:, 1], kind="stable")[:2]]
    apart, radii = np.abs(lowest[0] - lowest[1]), lowest[:, 2]
    if robot == MANA:
        is_pair = apart[1] < radii[0] and radii.max() < apart[0] <= 2 * radii.sum()
    else:
        is_pair = apart[1] <= radii[0]
    left, right = lowest[np.argsort(lowest[:, 0], kind="stable")]
    return Wheels(left, right) if is_pair else None


class PoseFilter:
    """Position and angles, their velocities and accelerations: each coordinate by itself, of constant acceleration."""

    def __init__(self, step_s: float) -> None:
        self.change = np.array([[1, step_s, step_s**2 / 2], [0, 1, step_s], [0, 0, 1]])
        self.state = np.zeros((6, 3))
        self.covariance = np.tile(np.eye(3), (6, 1, 1))
        self.is_begun = False

    def predict(self) -> None:
        self.state = self.state @ self.change.T
        self.covariance = self.change @ self.covariance @ self.change.T + PROCESS_NOISE * np.eye(3)

    def correct(self, values: Array, noise: float) -> None:
        """Take measured values of the first coordinates, three or all."""
        count = len(values)
        if not self.is_begun:
            self.state[:count, 0], self.is_begun = values, True
        covariance = self.covariance[:count]
        gain = covariance[:, :, 0] / (covariance[:, :1, 0] + noise)
        self.state[:count] += gain * (values - self.state[:count, 0])[:, None]
        self.covariance[:count] = covariance - gain[:, :, None] * covariance[:, :1]

    @property
    def pose(self) -> Array:
        return transform_from_rotation(rotation_from_fixed_xyz(self.state[3:, 0]), self.state[:3, 0])


@implements("PoseEstimator")
class WheeledRobotPoseEstimator(Step):
    """The pose of a robot by two of its wheels; where they are not seen by what moves, if told so, or by prediction.

    The robot is midway between the wheels, and heads from one to the other, to where they move. `success` tells whether
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
        own, robot = self.settings["KFParameters"], self.general["Robot"]
        told = self.general["Baseline"]
        baseline = depth.baseline_m if told == DEFAULT_BASELINE_M and depth.baseline_m > 0 else told
        picture = depth_image(
            depth, baseline_m=baseline if robot == MANA else 0.0, farthest_m=self.general["MaxStereoDepth"]
        )
        wheels = wheels_of(circles_of(primitives), robot)
        values = None if wheels is None else self._by_wheels(picture, wheels)
        noise = WHEEL_NOISE
        if values is None and own["backupMeasurement"]:
            middle = blob_middle(grey_of(image, "image"))
            values = None if middle is None else picture.point(middle)
            noise = BLOB_NOISE
        self._filtered(values, noise)
        quality = 0.0 if values is None else BY_BLOB if noise == BLOB_NOISE else 1.0
        return {"poses": self._filter.pose[None], "success": values is not None, "quality": quality}

    def _filtered(self, values: Array | None, noise: float) -> None:
        known = self._filter
        if values is None and not known.is_begun:
            raise ValueError("primitives: expected two wheels beside each other with a depth, got none so far")
        known.predict()
        if values is None:
            return
        jump = np.linalg.norm(values[:3] - known.state[:3, 0])
        if known.is_begun and jump > self.settings["KFParameters"]["maxJumpInPosition"]:
            known = self._filter = PoseFilter(self.settings["KFParameters"]["dt"])
        if len(values) > 3:
            turns = np.round((known.state[3:, 0] - values[3:]) / (2 * np.pi))
            values = np.concatenate([values[:3], values[3:] + 2 * np.pi * turns])
        known.correct(values, noise)

    def _by_wheels(self, picture: DepthPicture, wheels: Wheels) -> Array | None:
        """Position and angles (6,), or the position alone (3,) where the depths tell no more."""
        left, right = picture.point(wheels.left[:2]), picture.point(wheels.right[:2])
        if left is None or right is None:
            return None
        place = (left + right) / 2
        if self._left_m is not None and left[0] != self._left_m:
            self._is_leftwards = bool(left[0] < self._left_m)
        self._left_m = float(left[0])
        along = wheels.right[:2] - wheels.left[:2]
        aside = np.array([along[1], -along[0]]) / np.linalg.norm(along) * wheels.left[2] / 4  # upwards in the picture
        above, below = picture.point(wheels.left[:2] + aside), picture.point(wheels.left[:2] - aside)
        if above is None or below is None or np.allclose(left, right):
            return place
        heading = left - right if self._is_leftwards else right - left
        pose = pose_of_heading(heading, above - below, place)
        return np.concatenate([place, fixed_xyz_from_rotation(pose[:3, :3])])


def blob_middle(grey: NDArray[np.uint8]) -> Array | None:
    """The middle u v of what is bright in a picture, if it is high enough to be a robot and no shadow."""
    mask = (grey > FOREGROUND_ABOVE).astype(np.uint8)
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows) or rows[-1] - rows[0] < LEAST_BLOB:
        return None
    moments = cv2.moments(mask, binaryImage=True)
    return np.array([moments["m10"], moments["m01"]]) / moments["m00"]
