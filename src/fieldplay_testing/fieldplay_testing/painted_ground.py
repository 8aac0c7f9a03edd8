"""A stereo camera over painted ground that is known, and a step that is fed with what it sees."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay.geometry.transforms import inverse_from_transform, transform_from_vectors
from fieldplay_cdff.steps.slam import AmongKeyframes
from fieldplay_cdff.steps.values import (
    Array,
    Frame,
    FramePair,
    PoseEstimate,
)

WIDTH, HEIGHT, FOCAL, BASELINE_M = 320, 240, 260.0, 0.09
MATRIX = np.array([[FOCAL, 0, 159.5], [0, FOCAL, 119.5], [0, 0, 1]])
CAMERA = camera_from_numbers(MATRIX, [], "", width=WIDTH, height=HEIGHT)
CELL_M, SIDE = 0.008, 1400
PERIOD_NS = 250_000_000
SETTINGS = {"Views": {"MaximumPoints": 300, "MinimumPoints": 50}, "Keyframes": {"Shift": 0.25, "Turn": 0.3}}
DRIFT = transform_from_vectors(np.array([0, 0.004, 0.001]), np.array([0.001, 0, 0.002]))  # of each step


@lru_cache
def ground(seed: int) -> np.ndarray:
    """Grey ground with grains of all sizes, 11.2 m each way."""
    random = np.random.default_rng(seed)
    whole = np.zeros((SIDE, SIDE), np.float32)
    for size in (2, 4, 8, 16, 64):
        grain = random.standard_normal((SIDE // size + 1, SIDE // size + 1)).astype(np.float32)
        whole += cv2.resize(grain, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    return np.clip(128 + 28 * whole, 0, 255).astype(np.uint8)


def at(x: float, y: float, heading: float) -> Array:
    """ground_T_camera of a camera 1 m above a place, that looks 50 degrees down along a heading."""
    down = np.radians(50)
    ahead = np.array([np.cos(heading), np.sin(heading), 0])
    axis = ahead * np.cos(down) + np.array([0, 0, -np.sin(down)])
    right = np.array([np.sin(heading), -np.cos(heading), 0])
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([right, np.cross(axis, right), axis])
    pose[:3, 3] = x, y, 1.0
    return pose


def pair(pose: Array, number: int, seed: int = 1, light: float = 1.0) -> FramePair:
    """What the camera sees; the sun may be another."""
    frames = []
    for shift in (0.0, BASELINE_M):
        back = inverse_from_transform(pose @ transform_from_vectors(np.zeros(3), np.array([shift, 0, 0])))
        metres = np.array([[CELL_M, 0, -SIDE / 2 * CELL_M], [0, CELL_M, -SIDE / 2 * CELL_M], [0, 0, 1]])
        seen = cv2.warpPerspective(ground(seed), MATRIX @ back[:3, [0, 1, 3]] @ metres, (WIDTH, HEIGHT))
        image = np.clip(light * seen.astype(float) + 20 * (1 - light), 0, 255).astype(np.uint8)
        frames.append(Frame(image=image, stamp_ns=number * PERIOD_NS, camera=CAMERA, baseline_m=BASELINE_M))
    return FramePair(left=frames[0], right=frames[1])


@dataclass
class Drive:
    """A step that is fed, with an odometry that drifts by `DRIFT` a step; what came out, by pair."""

    step: AmongKeyframes
    drifts: bool = True
    odometry: Array = field(default_factory=lambda: np.eye(4))
    last: Array | None = None
    number: int = 0

    def go(
        self, pose: Array, *, has_odometry: bool = True, seen: FramePair | None = None, **more: Any
    ) -> dict[str, Any]:
        """The next pair; without a published odometry it continues all the same."""
        if self.last is not None:
            step = inverse_from_transform(self.last) @ pose
            self.odometry = self.odometry @ step @ (DRIFT if self.drifts else np.eye(4))
        self.last = pose
        seen = seen or pair(pose, self.number, **more)
        self.number += 1
        if has_odometry:
            odometry = PoseEstimate(pose=self.odometry, covariance=np.zeros((6, 6)))
            return dict(self.step.process(imagePair=seen, odometry=odometry, tracked=True))
        return dict(self.step.process(imagePair=seen, tracked=False))
