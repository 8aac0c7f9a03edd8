"""Frames of the tf tree as a camera sees them: three axes for each, drawn into its image."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.frames import Frames
from fieldplay.messages.stream_spec import Camera

NEAREST_M = 0.05
AXIS = 0.055  # length of an axis in the image, as a fraction of its width, were it seen from the side
MARGIN = 0.02
FAR = 5.0  # sides of the image: an axis does not lead so far
FISHEYES = ("equidistant", "fisheye")
SAME = 0.012  # frames closer than this fraction of the width share a label
AXES_BGR = ((60, 90, 255), (127, 208, 53), (255, 163, 74))
Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Intrinsics:
    """Camera matrix (3, 3), distortion and its model, and the image size."""

    matrix: Array
    distortion: Array
    model: str
    size: tuple[int, int]


def intrinsics_from_camera(camera: Camera, *, is_rectified: bool) -> Intrinsics:
    """Intrinsics of a camera; rectified images use the projection matrix without distortion."""
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]], float)
    projection = np.array(camera.projection or np.zeros(12), float).reshape(3, 4)[:, :3]
    distortion = np.zeros(0) if is_rectified else np.nan_to_num(np.array(camera.distortion, float))
    rectified = projection if is_rectified and projection.any() else matrix
    return Intrinsics(rectified, distortion, camera.distortion_model, (camera.width, camera.height))


@dataclass(frozen=True, eq=False)
class FramesInImage:
    """Frames in a picture: where their origins (n, 2) and axes (n, 3, 2) are, as shares of its width and height."""

    names: list[str]
    origins: Array
    tips: Array


def frames_in_image(intrinsics: Intrinsics, frame: str, *, frames: Frames, stamp_ns: int) -> FramesInImage | None:
    """The frames in front of a camera and within its picture; None where nothing can be projected."""
    matrix = intrinsics.matrix
    size = np.array(intrinsics.size, float)
    if not np.isfinite(matrix).all() or matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or (size <= 0).any():
        return None
    names, transforms = _in_camera(frame, frames, stamp_ns)
    if not names:
        return None
    depth = transforms[:, 2, 3]
    length = AXIS * size[0] / matrix[0, 0] * depth
    points = transforms[:, None, :3, 3] + np.concatenate(
        [np.zeros((len(names), 1, 3)), np.swapaxes(transforms[:, :3, :3], 1, 2) * length[:, None, None]], axis=1
    )
    pinhole = points[..., :2] / np.maximum(points[..., 2:], NEAREST_M) * np.diag(matrix)[:2] + matrix[:2, 2]
    about = ((pinhole[:, 0] > -0.3 * size) & (pinhole[:, 0] < 1.3 * size)).all(axis=1)
    positions = _project(points.reshape(-1, 3), intrinsics).reshape(len(names), 4, 2) / size
    inside = ((positions[:, 0] > MARGIN) & (positions[:, 0] < 1 - MARGIN)).all(axis=1)
    visible = np.flatnonzero(about & inside & (np.abs(positions) < FAR).all(axis=(1, 2)))
    visible = visible[np.argsort(depth[visible], kind="stable")]
    return (
        FramesInImage([names[index] for index in visible], positions[visible, 0], positions[visible, 1:])
        if len(visible)
        else None
    )


def _in_camera(frame: str, frames: Frames, stamp_ns: int) -> tuple[list[str], Array]:
    names, transforms = [], []
    for name in frames.names:
        joined_by = frames.transform(frame, name, np.array([stamp_ns], np.int64)) if name != frame else None
        if joined_by is not None and joined_by[1][0] and joined_by[0][0, 2, 3] > NEAREST_M:
            names.append(name)
            transforms.append(joined_by[0][0])
    return names, np.array(transforms).reshape(-1, 4, 4)


def _project(points: Array, intrinsics: Intrinsics) -> Array:
    """Pixels (n, 2) of points (n, 3) in the camera's frame, with its distortion."""
    matrix, distortion = intrinsics.matrix, intrinsics.distortion
    points = np.where(points[:, 2:] > NEAREST_M, points, [0.0, 0.0, NEAREST_M])
    still = np.zeros(3)
    if intrinsics.model in FISHEYES and len(distortion) >= 4:
        pixels, _ = cv2.fisheye.projectPoints(points[:, None, :], still, still, matrix, distortion[:4])
    else:
        usable = distortion if len(distortion) in (4, 5, 8, 12, 14) else np.zeros(5)
        pixels, _ = cv2.projectPoints(points, still, still, matrix, usable)
    return np.asarray(pixels, float).reshape(-1, 2)


def merge_overlapping(seen: FramesInImage) -> list[tuple[int, str]]:
    """Merge frames at the same position: the row of the first, and a text of all names."""
    groups: list[tuple[int, list[str]]] = []
    for row, name in enumerate(seen.names):
        near = [group for group in groups if np.abs(seen.origins[group[0]] - seen.origins[row]).max() < SAME]
        if near:
            near[0][1].append(name)
        else:
            groups.append((row, [name]))
    return [(row, names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}") for row, names in groups]


def draw_axes(pixels: Pixels, seen: FramesInImage) -> None:
    """Draw the axes of each frame into an image (h, w, 3) in BGR: x red, y green, z blue, on a dark rim."""
    height, width = pixels.shape[:2]
    size, thick = np.array([width, height]), max(2, round(width / 420))
    for origin, tips in zip(seen.origins, seen.tips, strict=True):
        ends = [np.rint(point * size * 16).astype(int).tolist() for point in (origin, *tips)]
        for colours, width_px in ((((0, 0, 0),) * 3, 2 * thick), (AXES_BGR, thick)):
            for tip, colour in zip(ends[1:], colours, strict=True):
                cv2.line(pixels, ends[0], tip, colour, width_px, cv2.LINE_AA, 4)
