"""Frames of the tf tree as a camera sees them: three axes for each, drawn into its image."""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.camera_model import PLUMB_BOB, RATIONAL, USED, CameraModel, pixels_from_points
from fieldplay.geometry.frames import Frames

NEAREST_M = 0.05
AXIS = 0.055  # length of an axis in the image, as a fraction of its width, were it seen from the side
MARGIN = 0.02
FAR = 5.0  # sides of the image: an axis does not lead so far
FISHEYES = ("equidistant", "fisheye")
SAME = 0.012  # frames closer than this fraction of the width share a label
AXES_BGR = ((60, 90, 255), (127, 208, 53), (255, 163, 74))
Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]


def camera_of_drawing(camera: CameraModel, *, is_rectified: bool) -> CameraModel:
    """The camera of raw images, or of rectified ones; a distortion that is none of its model's is left out."""
    if is_rectified:
        camera = camera.with_matrix(camera.projection_matrix, camera.width, camera.height)
        return replace(camera, distortion_model=PLUMB_BOB, distortion=())
    numbers = tuple(np.nan_to_num(camera.coefficients).tolist())
    if camera.distortion_model in FISHEYES and len(numbers) >= 4:
        return replace(camera, distortion=numbers[:4])
    known = {4: PLUMB_BOB, 5: PLUMB_BOB, 8: RATIONAL, 12: RATIONAL, 14: RATIONAL}.get(len(numbers))
    return replace(camera, distortion_model=known or PLUMB_BOB, distortion=numbers[:USED] if known else ())


@dataclass(frozen=True, eq=False)
class FramesInImage:
    """Frames in a picture: where their origins (n, 2) and axes (n, 3, 2) are, as shares of its width and height."""

    names: list[str]
    origins: Array
    tips: Array


def frames_in_image(camera: CameraModel, frame: str, *, frames: Frames, stamp_ns: int) -> FramesInImage | None:
    """The frames in front of a camera and within its picture; None where nothing can be projected."""
    matrix = camera.matrix
    size = np.array([camera.width, camera.height], float)
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
    pixels, has_pixel = pixels_from_points(camera, points.reshape(-1, 3))
    positions = np.where(has_pixel[:, None], pixels, np.inf).reshape(len(names), 4, 2) / size
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
