"""Pictures of a stereo camera in a room whose walls have spots: where it is, is known."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import CameraModel, camera_from_numbers
from fieldplay_cdff.steps.values import Array, Frame

WIDTH, HEIGHT, FOCAL_PX, BASELINE_M = 320, 240, 260.0, 0.12
SIZES_M = np.array([9.0, 6.0, 3.0])
SPOT_M = 0.01
MATRIX = [FOCAL_PX, 0, 159.5, 0, FOCAL_PX, 119.5, 0, 0, 1]
CAMERA = camera_from_numbers(MATRIX, np.zeros(0), "", width=WIDTH, height=HEIGHT)
FORWARD = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # of a camera that looks along x, z being up
Picture = NDArray[np.uint8]


class Room:
    """Walls, floor and ceiling, each with spots of several sizes."""

    def __init__(self, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        sides = [np.delete(SIZES_M, axis) for axis in range(3) for _ in (0, 1)]
        self._spots = [_spots(random, *(round(float(length) / SPOT_M) + 1 for length in lengths)) for lengths in sides]
        columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
        inverse = np.linalg.inv(CAMERA.matrix)
        self._rays = np.stack([columns, rows, np.ones_like(rows)], axis=-1) @ inverse.T

    def picture(self, room_T_camera: Array) -> Picture:
        """What a camera sees from a pose (4, 4) of its optical frame."""
        rays, position = self._rays @ room_T_camera[:3, :3].T, room_T_camera[:3, 3]
        with np.errstate(divide="ignore"):
            away = (np.where(rays > 0, SIZES_M, 0.0) - position) / rays
        axis = away.argmin(axis=-1)
        points = position + rays * away.min(axis=-1)[..., None]
        seen = np.zeros((HEIGHT, WIDTH), np.uint8)
        for side, spots in enumerate(self._spots):
            is_here = (axis == side // 2) & ((rays[..., side // 2] > 0) == side % 2)
            across = np.delete(points, side // 2, axis=-1).astype(np.float32) / np.float32(SPOT_M)
            remap = cv2.remap(spots, across[..., 1], across[..., 0], cv2.INTER_LINEAR)
            seen[is_here] = remap[is_here]
        return seen

    def pair(self, room_T_left: Array) -> tuple[Picture, Picture]:
        """Left and right."""
        aside = np.eye(4)
        aside[0, 3] = BASELINE_M
        return self.picture(room_T_left), self.picture(room_T_left @ aside)


def _spots(random: np.random.Generator, rows: int, columns: int) -> Picture:
    """Grey values (rows, columns) with detail of 2 to 32 spots."""
    whole = np.zeros((rows, columns))
    for size in (2, 6, 16, 32):
        own = random.normal(size=(rows // size + 2, columns // size + 2))
        whole += cv2.resize(own, (columns, rows), interpolation=cv2.INTER_CUBIC)
    scaled: Any = np.clip(128 + 32 * whole, 0, 255).astype(np.uint8)
    return np.asarray(scaled, np.uint8)


def looking(x_m: float, y_m: float = 3.0, yaw_rad: float = 0.0) -> Array:
    """A level camera, 1 m above the floor."""
    pose = np.eye(4)
    turn = np.array([[np.cos(yaw_rad), -np.sin(yaw_rad), 0], [np.sin(yaw_rad), np.cos(yaw_rad), 0], [0, 0, 1.0]])
    pose[:3, :3], pose[:3, 3] = turn @ FORWARD, [x_m, y_m, 1.0]
    return pose


def frames(images: tuple[Picture, Picture], stamp_ns: int) -> tuple[Frame, Frame]:
    """A pair as it goes through ports."""
    left, right = (Frame(image=each, stamp_ns=stamp_ns, camera=CAMERA, baseline_m=BASELINE_M) for each in images)
    return left, right


def cameras() -> dict[str, CameraModel]:
    return {"left": CAMERA, "right": CAMERA}
