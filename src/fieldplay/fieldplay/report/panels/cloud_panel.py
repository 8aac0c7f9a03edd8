"""What the lidars saw, from above: many sweeps in the world's frame where tf tells the way, else one in its own."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import number_text
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.messages.image_pixels import colour_map
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD, points_from_rows
from fieldplay.messages.records import Clouds
from fieldplay.recording.record_batches import Issues, RecordBatch, Single, report_unreadable
from fieldplay.report.html.charts import Plane, mark, plane_drawing, plane_of_points, polyline
from fieldplay.report.html.html_images import Pixels, drawing, gradient
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
    path_text,
)
from fieldplay.report.panels.overview_panel import Overview
from fieldplay.report.panels.trajectory_panel import WORLDS

LARGEST, SMALLEST = 720, 240  # cells across
POINTS_PER_CELL = 0.5
LIGHT = (-0.5, 0.5, 0.7)  # towards the light: x, y and z
EXAGGERATED = 1.2
DARKEST, BRIGHTEST = 0.62, 1.25
MIN_HEIGHT_M = 0.05
SMOOTHED_CELLS = 1.8

Array = NDArray[np.float64]

MAX_SWEEPS = 40
MAX_POINTS = 16_000  # of each sweep but the first, which is shown alone too
FIRST_POINTS = 200_000
MAX_TOPICS = 6
FAR_FRACTION = 0.985  # of the points; the few that lie further out would make the rest small
AROUND_M = 12.0
FLAT_M = 1e-3  # all points at one height, as a radar or a laser that scans a plane has them
MIN_TURN = 1e-4  # of a quaternion's numbers


@dataclass(frozen=True, eq=False)
class CloudRelief:
    """A picture (h, w, 4) in BGRA, transparent where there is nothing, and the heights that its colours reach."""

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
class _Sweep:
    """Points (n, 3) in the sensor's frame; times by log and header."""

    log_ns: int
    stamp_ns: int
    frame: str
    points: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class _MergedSweeps:
    """Points (n, 3) of several sweeps in one frame, and the sensor positions (sweeps, 3)."""

    frame_text: str
    points: Array
    positions: Array


@dataclass
class _TopicSweeps:
    samples: Decimator[_Sweep] = field(default_factory=lambda: Decimator(MAX_SWEEPS))
    errors: Counter[str] = field(default_factory=Counter)


class CloudPanel:
    """Keeps some sweeps of each topic, and some points of each."""

    msgtypes = (CLOUD,)

    def __init__(self) -> None:
        self._topics: dict[Topic, _TopicSweeps] = {}

    def add(self, batch: RecordBatch) -> None:
        """Clouds, of which few are decoded."""
        content = self._topics.setdefault(batch.topic, _TopicSweeps())
        for stamp_ns, make in batch.single():
            content.samples.offer(partial(_sweep, content, stamp_ns, make))

    def report_issues(self, issues: Issues) -> None:
        """Clouds that cannot be shown."""
        for topic, content in self._topics.items():
            for issue, count in content.errors.items():
                if issue:
                    issues.add("unreadable_cloud", topic.name, issue, count=count)
                else:
                    report_unreadable(issues, topic, count)

    def sections(self, overview: Overview) -> list[Section]:
        """For each topic the sweeps together and the first alone."""
        figures: list[Html] = []
        for topic, content in overview.in_order(self._topics)[:MAX_TOPICS]:
            sweeps = [sweep for sweep in content.samples.items() if len(sweep.points)]
            if sweeps:
                figures += _figures(overview, topic, sweeps, count=content.samples.seen)
        if not figures:
            return []
        left_out = len(self._topics) - MAX_TOPICS
        more = element("p", f"{left_out} more topics are not shown.", class_="muted") if left_out > 0 else ""
        lead = "Seen from above, coloured by height and lit from the north-west."
        return [Section("clouds", "Point clouds", join_html([cards(figures, "wide"), more]), lead)]


def _sweep(content: _TopicSweeps, log_ns: int, make: Single) -> _Sweep | None:
    framed = make()
    if framed is None or not isinstance(framed.record, Clouds):
        content.errors[""] += 1
        return None
    try:
        points = points_from_rows(framed.record.load(0))
    except ArchiveError as error:
        content.errors[str(error)] += 1
        return None
    most = FIRST_POINTS if not content.samples.seen else MAX_POINTS
    step = -(-len(points) // most) or 1
    return _Sweep(log_ns, int(framed.record.stamp_ns[0]), framed.frame.lstrip("/"), points[::step].copy())


def _figures(overview: Overview, topic: Topic, sweeps: list[_Sweep], *, count: int) -> list[Html]:
    figures = []
    together = _merge_in_world(overview.frames, sweeps) if len(sweeps) > 1 else None
    if together is not None:
        details = f"{len(together.positions)} of {count} clouds in {together.frame_text}"
        plane = plane_of_points(_near_route(together.points[:, :2], together.positions[:, :2]), room=0.02)
        figures.append(_figure(topic, details, plane, points=together.points, positions=together.positions))
    first = sweeps[0].points.astype(float)
    details = f"one cloud at {overview.moment_text(sweeps[0].log_ns)}, in {sweeps[0].frame}"
    plane = plane_of_points(_near(first[:, :2], np.zeros((1, 2))), room=0.02)
    is_world = sweeps[0].frame in WORLDS  # where no sensor stands at the origin
    figures.append(_figure(topic, details, plane, points=first, positions=np.zeros((0 if is_world else 1, 3))))
    return figures


def _merge_in_world(frames: Frames, sweeps: list[_Sweep]) -> _MergedSweeps | None:
    """Merge sweeps in the world frame, by an odometry with attitude, else by tf."""
    for topic, edge in frames.odometry.items():
        if edge.parent == WORLDS[0] and edge.child in frames.path_to_root(sweeps[0].frame) and _turns(edge):
            return _merge_sweeps(frames, sweeps, edge.parent, by=(topic, edge))
    world = next((name for name in WORLDS if name in frames.path_to_root(sweeps[0].frame)[1:]), None)
    return None if world is None else _merge_sweeps(frames, sweeps, world)


def _turns(edge: FrameEdge) -> bool:
    """Whether an odometry tells an attitude, and not always the same."""
    _, rows = edge.rows.rows()
    return bool(np.ptp(rows[:, 3:], axis=0).max() > MIN_TURN)


def _merge_sweeps(
    frames: Frames, sweeps: list[_Sweep], world: str, *, by: tuple[str, FrameEdge] | None = None
) -> _MergedSweeps | None:
    clouds, positions = [], []
    for sweep in sweeps:
        stamp_ns = np.array([sweep.stamp_ns], np.int64)
        transform = frames.transform(by[1].child if by else world, sweep.frame, stamp_ns)
        if transform is not None and by is not None:
            base, known = by[1].at(stamp_ns)
            transform = base @ transform[0], known & transform[1]
        if transform is not None and transform[1][0]:
            (pose,) = transform[0]
            clouds.append(sweep.points[:: _step(sweep)] @ pose[:3, :3].T + pose[:3, 3])
            positions.append(pose[:3, 3])
    if len(positions) < 2:
        return None
    frame_text = f"{world} by {by[0] if by else 'tf'}"
    return _MergedSweeps(frame_text, np.concatenate(clouds), np.array(positions))


def _step(sweep: _Sweep) -> int:
    return -(-len(sweep.points) // MAX_POINTS) or 1


def _near(points: Array, positions: Array) -> Array:
    """Points (n, 2) but for the few that lie farthest from the sensor."""
    away = np.linalg.norm(points - positions[0], axis=1)
    near: Array = points[away <= np.quantile(away, FAR_FRACTION)]
    return near


def _near_route(points: Array, positions: Array) -> Array:
    """The corners of what is worth seeing: the way of the sensor with the surroundings that it saw densely."""
    away = np.linalg.norm(points[::7, None] - positions[None, :: max(1, len(positions) // 16)], axis=2).min(axis=1)
    around = max(AROUND_M, float(np.quantile(away, 0.9)))
    within = points[::7][away <= around]
    return np.concatenate([within, positions])


def _figure(topic: Topic, details: str, plane: Plane, *, points: Array, positions: Array) -> Html:
    relief = relief_of_points(points, plane)
    if relief is None:
        return Html("")
    image = drawing(relief.pixels, alternative=f"{topic.name} from above")
    marks = [mark(plane, *positions[0, :2], kind="sensor")] if len(positions) == 1 else []
    layers = [polyline(plane, positions[:, :2], "s1")] if len(positions) > 1 else []
    what = "the sensor's way" if len(positions) > 1 else "the sensor"
    key = element("span", element("i", class_="key s1"), what) if len(positions) else ""
    low, high = (number_text(round(value, 2)) for value in (relief.low_m, relief.high_m))
    colours = (f"{low} m", element("i", style=f"background:{gradient()}"), f"{high} m")
    is_flat = float(np.ptp(points[:, 2])) < FLAT_M
    ramp = element("div", *(("all at one height",) if is_flat else colours), key, class_="ramp")
    caption = element("figcaption", element("b", path_text(topic.name)), element("span", details, class_="muted"))
    return element("figure", caption, plane_drawing(plane, layers, marks, image=image), ramp, class_="card")
