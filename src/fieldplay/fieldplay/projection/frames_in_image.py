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
MAX_LABELS = 24
NARROW, DESK = 330.0, 720.0  # widths in pixels of an image on a phone and on a desk
LETTER, LINE = 6.6, 17.0  # size of a letter and height of a label, in pixels
Array = NDArray[np.float64]
Box = tuple[float, float, float, float]
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
    """Frames in an image: where their origins (n, 2) and axes (n, 3, 2) are, as shares of its width and height."""

    names: list[str]
    origins: Array
    tips: Array


def frames_in_image(camera: CameraModel, frame: str, *, frames: Frames, stamp_ns: int) -> FramesInImage | None:
    """The frames in front of a camera and within its image; None where nothing can be projected."""
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


def frame_labels(seen: FramesInImage, ratio: float) -> list[dict[str, object]]:
    """Names of frames where they do not lie on each other, in an image that is `ratio` times as wide as high.

    Those that a phone has room for come first, then those for wider pages.
    """
    merged = merge_overlapping(seen)[:MAX_LABELS]
    labels: list[dict[str, object]] = []
    settled: dict[int, bool] = {}  # by number in `merged`, whether it is to the left
    for width, kind in ((NARROW, ""), (DESK, "wide-only")):
        size = (width, width / ratio)
        taken = [
            _box(merged[n][1], seen.origins[merged[n][0]], size, is_left=is_left) for n, is_left in settled.items()
        ]
        for number, (row, name) in enumerate(merged):
            for is_left in (False, True) if number not in settled else ():
                box = _box(name, seen.origins[row], size, is_left=is_left)
                if box[0] >= 0 and box[2] <= width and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    settled[number] = is_left
                    x, y = (round(100 * float(value), 2) for value in seen.origins[row])
                    position = {"x": x, "y": y, "offset": -0.45 if is_left else 0.45}
                    labels.append({"name": name, "kind": f"{kind} {'left' if is_left else ''}".strip(), **position})
                    break
    return labels


def _box(name: str, position: Array, size: tuple[float, float], *, is_left: bool) -> Box:
    """Left, top, right, bottom of a label on an image of a size in pixels."""
    x, y = float(position[0]) * size[0], float(position[1]) * size[1]
    length = LETTER * len(name) + 8
    left = x - 7 - length if is_left else x + 7
    return left, y - LINE / 2, left + length, y + LINE / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
