"""Frames of the tf tree as a camera sees them: three axes for each, drawn over its picture."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.frames import Frames
from fieldplay.messages.stream_spec import Camera
from fieldplay.report.html.charts import UNITS, percent
from fieldplay.report.html.markup import Html, element, joined

NEAREST_M = 0.05
AXIS = 0.055  # length of an axis on the picture, as a share of its width, were it seen from the side
MARGIN = 0.02
FAR = 5.0  # of the picture's sides: an axis does not lead so far
FISHEYES = ("equidistant", "fisheye")
SAME = 0.012  # frames closer than this share of the width are one sign
MOST_SIGNS = 24
NARROW, WIDE = 330.0, 720.0  # widths in pixels of a picture on a phone and on a desk
LETTER, LINE = 6.6, 17.0  # size of a letter and height of a label, in pixels

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lens:
    """How a camera projects: its matrix (3, 3), its distortion and the model of it, the width and height it is for."""

    matrix: Array
    distortion: Array
    model: str
    size: tuple[int, int]


def lens_from_camera(camera: Camera, *, is_rectified: bool) -> Lens:
    """How a camera projects; of rectified pictures the new matrix holds, and no distortion is left."""
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]], float)
    projection = np.array(camera.projection or np.zeros(12), float).reshape(3, 4)[:, :3]
    distortion = np.zeros(0) if is_rectified else np.nan_to_num(np.array(camera.distortion, float))
    rectified = projection if is_rectified and projection.any() else matrix
    return Lens(rectified, distortion, camera.distortion_model, (camera.width, camera.height))


@dataclass(frozen=True, eq=False)
class FramesInImage:
    """Frames in a picture: where their origins (n, 2) and axes (n, 3, 2) are, as shares of its width and height."""

    names: list[str]
    origins: Array
    tips: Array


def frames_in_image(lens: Lens, frame: str, *, frames: Frames, stamp_ns: int) -> FramesInImage | None:
    """The frames in front of a camera and within its picture; None where nothing can be projected."""
    matrix = lens.matrix
    size = np.array(lens.size, float)
    if not np.isfinite(matrix).all() or matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or (size <= 0).any():
        return None
    names, transforms = _in_camera(frame, frames, stamp_ns)
    if not names:
        return None
    depth = transforms[:, 2, 3]
    length = AXIS * size[0] / matrix[0, 0] * depth
    ends = transforms[:, None, :3, 3] + np.concatenate(
        [np.zeros((len(names), 1, 3)), np.swapaxes(transforms[:, :3, :3], 1, 2) * length[:, None, None]], axis=1
    )
    pinhole = ends[..., :2] / np.maximum(ends[..., 2:], NEAREST_M) * np.diag(matrix)[:2] + matrix[:2, 2]
    about = ((pinhole[:, 0] > -0.3 * size) & (pinhole[:, 0] < 1.3 * size)).all(axis=1)
    places = _projected(ends.reshape(-1, 3), lens).reshape(len(names), 4, 2) / size
    inside = ((places[:, 0] > MARGIN) & (places[:, 0] < 1 - MARGIN)).all(axis=1)
    kept = np.flatnonzero(about & inside & (np.abs(places) < FAR).all(axis=(1, 2)))
    kept = kept[np.argsort(depth[kept], kind="stable")]
    return FramesInImage([names[place] for place in kept], places[kept, 0], places[kept, 1:]) if len(kept) else None


def overlay(seen: FramesInImage, ratio: float) -> Html:
    """The axes as lines over a picture (width by height is ratio), and the names beside them where there is room."""
    signs = _merged(seen)[:MOST_SIGNS]
    rows = [index for index, _ in signs]
    lines = [_axes(seen.origins[row], seen.tips[row]) for row in rows]
    svg = element("svg", *lines, viewBox=f"0 0 {UNITS} {UNITS}", preserveAspectRatio="none")
    labels = _labels([name for _, name in signs], seen.origins[rows], ratio)
    return joined([svg, *labels])


def _in_camera(frame: str, frames: Frames, stamp_ns: int) -> tuple[list[str], Array]:
    names, found = [], []
    for name in frames.names:
        joined_by = frames.transform(frame, name, np.array([stamp_ns], np.int64)) if name != frame else None
        if joined_by is not None and joined_by[1][0] and joined_by[0][0, 2, 3] > NEAREST_M:
            names.append(name)
            found.append(joined_by[0][0])
    return names, np.array(found).reshape(-1, 4, 4)


def _projected(points: Array, lens: Lens) -> Array:
    """Pixels (n, 2) of points (n, 3) in the camera's frame, with its distortion."""
    matrix, distortion = lens.matrix, lens.distortion
    points = np.where(points[:, 2:] > NEAREST_M, points, [0.0, 0.0, NEAREST_M])
    still = np.zeros(3)
    if lens.model in FISHEYES and len(distortion) >= 4:
        pixels, _ = cv2.fisheye.projectPoints(points[:, None, :], still, still, matrix, distortion[:4])
    else:
        usable = distortion if len(distortion) in (4, 5, 8, 12, 14) else np.zeros(5)
        pixels, _ = cv2.projectPoints(points, still, still, matrix, usable)
    return np.asarray(pixels, float).reshape(-1, 2)


def _merged(seen: FramesInImage) -> list[tuple[int, str]]:
    """Signs: the row of a frame, and the names of all that are at its place."""
    signs: list[tuple[int, list[str]]] = []
    for row, name in enumerate(seen.names):
        near = [sign for sign in signs if np.abs(seen.origins[sign[0]] - seen.origins[row]).max() < SAME]
        if near:
            near[0][1].append(name)
        else:
            signs.append((row, [name]))
    return [(row, names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}") for row, names in signs]


def _axes(origin: Array, tips: Array) -> Html:
    def line(tip: Array, kind: str) -> Html:
        (x1, y1), (x2, y2) = np.rint(origin * UNITS).astype(int).tolist(), np.rint(tip * UNITS).astype(int).tolist()
        return element("path", d=f"M{x1} {y1}L{x2} {y2}", class_=kind)

    return joined(
        [line(tip, "under") for tip in tips] + [line(tip, f"a{axis}") for axis, tip in zip("xyz", tips, strict=True)]
    )


def _labels(names: list[str], places: Array, ratio: float) -> list[Html]:
    """Names where they do not lie on each other: those that a phone has room for, then those for wider pages."""
    made: list[Html] = []
    settled: list[tuple[int, bool]] = []
    for width, kind in ((NARROW, ""), (WIDE, "wide-only")):
        size = (width, width / ratio)
        taken = [_box(names[row], places[row], size, is_left=is_left) for row, is_left in settled]
        for row, name in enumerate(names):
            if any(row == done for done, _ in settled):
                continue
            for is_left in (False, True):
                box = _box(name, places[row], size, is_left=is_left)
                if box[0] >= 0 and box[2] <= width and not any(_meet(box, other) for other in taken):
                    taken.append(box)
                    settled.append((row, is_left))
                    made.append(_label(name, places[row], kind, is_left=is_left))
                    break
    return made


def _label(name: str, place: Array, kind: str, *, is_left: bool) -> Html:
    offset = "-.45rem" if is_left else ".45rem"
    style = f"left:calc({percent(float(place[0]))} + {offset});top:{percent(float(place[1]))}"
    return element("span", name, class_=f"{kind} {'left' if is_left else ''}".strip() or None, style=style)


Box = tuple[float, float, float, float]


def _box(name: str, place: Array, size: tuple[float, float], *, is_left: bool) -> Box:
    """Left, top, right, bottom of a label on a picture of a size in pixels."""
    x, y = float(place[0]) * size[0], float(place[1]) * size[1]
    length = LETTER * len(name) + 8
    left = x - 7 - length if is_left else x + 7
    return left, y - LINE / 2, left + length, y + LINE / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
