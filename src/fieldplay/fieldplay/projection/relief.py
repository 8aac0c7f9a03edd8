"""Points seen from above: sweeps merged in the world, the plane that shows them, their heights as a shaded image."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.messages.image_pixels import colour_map
from fieldplay.trajectories.route import WORLDS

NARROWEST, WIDEST, MIN_M = 1.0, 1.9, 0.02  # width by height of a map, and its least width
LARGEST, SMALLEST = 720, 240  # cells across
POINTS_PER_CELL = 0.5
LIGHT = (-0.5, 0.5, 0.7)  # towards the light: x, y and z
EXAGGERATED = 1.2
DARKEST, BRIGHTEST = 0.62, 1.25
MIN_HEIGHT_M = 0.05
SMOOTHED_CELLS = 1.8
MAX_POINTS = 16_000  # of each sweep that is merged
MIN_TURN = 1e-4  # of a quaternion's numbers
Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Plane:
    """The piece that is seen, in metres, x to the right and y up."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    @property
    def width(self) -> float:
        return self.x_high - self.x_low

    @property
    def ratio(self) -> float:
        return self.width / (self.y_high - self.y_low)


def plane_of_points(points: Array, *, room: float = 0.08, least_m: float = MIN_M) -> Plane:
    """The piece that holds points (n, 2), with room around them, not too narrow and not too wide."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    size = np.maximum((high - low) * (1 + 2 * room), least_m)
    width, height = max(size[0], NARROWEST * size[1]), max(size[1], size[0] / WIDEST)
    return Plane(*(float(v) for v in (middle[0] - width / 2, middle[0] + width / 2)),
                 *(float(v) for v in (middle[1] - height / 2, middle[1] + height / 2)))  # fmt: skip


@dataclass(frozen=True, eq=False)
class CloudRelief:
    """An image (h, w, 4) in BGRA, transparent where there is nothing, and the heights that its colours reach."""

    pixels: Pixels
    low_m: float
    high_m: float


def relief_of_points(points: Array, plane: Plane) -> CloudRelief | None:
    """The relief of points (n, 3) that lie on a piece of plane; None where none do."""
    inside = (
        (points[:, 0] >= plane.x_low) & (points[:, 0] < plane.x_high)
        & (points[:, 1] > plane.y_low) & (points[:, 1] <= plane.y_high)
    )  # fmt: skip
    points = points[inside]
    if not len(points):
        return None
    across = int(np.clip(np.sqrt(len(points) / POINTS_PER_CELL * plane.ratio), SMALLEST, LARGEST))
    cell_m = plane.width / across
    heights, weights = _grid(points, plane, cell_m, shape=(max(1, round(across / plane.ratio)), across))
    there = weights > 0
    low, high = (float(value) for value in np.percentile(heights[there], (1, 99)))
    high = max(high, low + MIN_HEIGHT_M)
    colours = colour_map((heights - low) / (high - low)).astype(np.float64)
    lit = np.clip(colours * _shade(heights, there, cell_m)[..., None], 0, 255)
    pixels = np.zeros((*heights.shape, 4), np.uint8)
    pixels[..., :3] = lit.astype(np.uint8)
    pixels[..., 3] = np.where(there, 255, 0)
    scale = max(1, round(LARGEST / across))
    large = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST) if scale > 1 else pixels
    return CloudRelief(np.asarray(large, np.uint8), low, high)


def _grid(points: Array, plane: Plane, cell_m: float, *, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Mean heights (rows, columns) with the first row in the north, and weights, 0 where nothing is near."""
    column = np.minimum(((points[:, 0] - plane.x_low) / cell_m).astype(int), shape[1] - 1)
    row = np.minimum(((plane.y_high - points[:, 1]) / cell_m).astype(int), shape[0] - 1)
    cell = row * shape[1] + column
    count = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    total = np.bincount(cell, points[:, 2], minlength=shape[0] * shape[1]).reshape(shape)
    spread_count = cv2.GaussianBlur(count, (0, 0), 1.0, borderType=cv2.BORDER_CONSTANT)
    spread_total = cv2.GaussianBlur(total, (0, 0), 1.0, borderType=cv2.BORDER_CONSTANT)
    near = np.asarray(spread_count) > 0.04
    heights = np.divide(spread_total, spread_count, out=np.zeros(shape), where=near)
    return heights, near.astype(np.float64)


def _shade(heights: Array, there: NDArray[np.bool_], cell_m: float) -> Array:
    """How bright each cell is: 1 on level ground."""
    filled = np.where(there, heights, float(np.median(heights[there])))
    smooth = np.asarray(cv2.GaussianBlur(filled, (0, 0), SMOOTHED_CELLS))
    down, right = np.gradient(smooth, cell_m)
    normal = np.stack([-right * EXAGGERATED, down * EXAGGERATED, np.ones_like(smooth)], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    light = np.array(LIGHT) / np.linalg.norm(LIGHT)
    bright: Array = np.clip(normal @ light / light[2], DARKEST, BRIGHTEST)
    edge = cv2.erode(there.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0  # a slope there is none
    bright[np.asarray(edge)] = 1.0
    return bright


@dataclass(frozen=True, eq=False)
class Sweep:
    """Points (n, 3) in the sensor's frame; times by log and header."""

    log_ns: int
    stamp_ns: int
    frame: str
    points: NDArray[np.float32]


def merge_in_world(frames: Frames, sweeps: list[Sweep]) -> tuple[str, Array, Array] | None:
    """The frame, points (n, 3) and sensor positions (sweeps, 3) in the world, by an odometry with attitude or by tf."""
    for topic, edge in frames.odometry.items():
        if edge.parent == WORLDS[0] and edge.child in frames.path_to_root(sweeps[0].frame) and _turns(edge):
            return _merge_sweeps(frames, sweeps, edge.parent, by=(topic, edge))
    world = next((name for name in WORLDS if name in frames.path_to_root(sweeps[0].frame)[1:]), None)
    return None if world is None else _merge_sweeps(frames, sweeps, world)


def _turns(edge: FrameEdge) -> bool:
    """Whether an odometry has an attitude, and not always the same."""
    _, rows = edge.rows.rows()
    return bool(np.ptp(rows[:, 3:], axis=0).max() > MIN_TURN)


def _merge_sweeps(
    frames: Frames, sweeps: list[Sweep], world: str, *, by: tuple[str, FrameEdge] | None = None
) -> tuple[str, Array, Array] | None:
    clouds, positions = [], []
    for sweep in sweeps:
        stamp_ns = np.array([sweep.stamp_ns], np.int64)
        transform = frames.transform(by[1].child if by else world, sweep.frame, stamp_ns)
        if transform is not None and by is not None:
            base, known = by[1].at(stamp_ns)
            transform = base @ transform[0], known & transform[1]
        if transform is not None and transform[1][0]:
            (pose,) = transform[0]
            step = -(-len(sweep.points) // MAX_POINTS) or 1
            clouds.append(sweep.points[::step] @ pose[:3, :3].T + pose[:3, 3])
            positions.append(pose[:3, 3])
    if len(positions) < 2:
        return None
    return f"{world} by {by[0] if by else 'tf'}", np.concatenate(clouds), np.array(positions)
