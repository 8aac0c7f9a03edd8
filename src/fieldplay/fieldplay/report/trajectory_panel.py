"""Where things went: odometry, poses, paths and satellite fixes, those of one frame on one map."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.gaps import length_within
from fieldplay.core.number_text import Axis, count_noun, number_text, tight_axis
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Fix, Odometry, Paths, Pose, Record
from fieldplay.projection.relief import plane_of_points
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report import figures as fig
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Html, Section, join, path_text, plain_table, render
from fieldplay.trajectories.pose_topics import FARTHEST_M, FIX, NO_FIX, PATH, TYPES, UNKNOWN_VARIANCE, enu_of_fixes
from fieldplay.trajectories.route import (
    SMOOTHED_S,
    STANDS_M,
    Route,
    distance_m,
    group_by_frame,
    is_moving,
    path_length_m,
    routes_of_tf,
    speed_from_positions,
    without_pauses,
)

MIN_LENGTH_M = 0.5  # below it there is no height along the way to speak of
PROFILE_STEPS = 240
MAX_MAPS, MAX_STILL = 7, 12
MAX_POSITIONS = 3000
TURN_ERROR = 1e-3  # of a quaternion's numbers


def profiles(overview: Overview, routes: Sequence[Route]) -> list[Html]:
    """Height along the trajectory and speed over time, of those that have any."""
    charts = []
    heights = [
        fig.Curve(one.label, distance_m(one), one.points[:, 2], segment=one.segment, colour=index)
        for index, one in enumerate(routes)
        if np.ptp(one.points[:, 2]) > STANDS_M and path_length_m(one) > MIN_LENGTH_M
    ]
    if heights:
        axis = tight_axis(max(float(curve.x[-1]) for curve in heights), max_labels=5)
        charts.append(fig.Chart(title="Height", curves=heights, unit="m", x_axis=axis, x_title="metres along the path"))
    axis = overview.time_axis(most=5)
    speed_curves = [(index, _speed(overview, one, axis)) for index, one in enumerate(routes)]
    speeds = [replace(curve, colour=index) for index, curve in speed_curves if curve is not None]
    if speeds:
        charts.append(fig.Chart(title="Speed", curves=speeds, unit="m/s", x_axis=axis))
    return [fig.line_chart(chart) for chart in charts]


def _speed(overview: Overview, one: Route, axis: Axis) -> fig.Curve | None:
    """The reported speed, else that of the path, each over a second; at times that are even along the axis."""
    if one.stamp_ns is None or len(one.points) < 3 or path_length_m(one) < MIN_LENGTH_M:
        return None
    seconds = overview.seconds(one.stamp_ns)
    is_known = np.isfinite(one.speed)
    has_speed = bool(is_known.mean() > 0.5 and np.abs(one.speed[is_known]).max() > 0)
    length_s = length_within(overview.intervals_ns, int(one.stamp_ns[0]), int(one.stamp_ns[-1])) / NS_PER_S
    if not has_speed and length_s < 3 * SMOOTHED_S:
        return None
    steps = PROFILE_STEPS if has_speed else min(PROFILE_STEPS, round(length_s / SMOOTHED_S))
    grid = axis.values(np.linspace(axis.fraction(seconds[0]), axis.fraction(seconds[-1]), steps))
    grid = grid[np.isfinite(grid)]
    speed = (
        np.interp(grid, seconds[is_known], one.speed[is_known])
        if has_speed
        else speed_from_positions(one, seconds, grid, axis=axis)
    )
    return fig.Curve(one.label, grid, without_pauses(one, seconds, grid, values=speed))


def route_section(overview: Overview, groups: dict[str, list[Route]]) -> Section | None:
    """A map for each frame in which something moves, the one with the longest way first; and what stands still."""
    if not groups:
        return None
    groups = {frame: [_with_intervals(one, overview) for one in routes] for frame, routes in groups.items()}
    moving = {frame: [one for one in routes if is_moving(one)] for frame, routes in groups.items()}
    ordered = sorted(
        (item for item in moving.items() if item[1]),
        key=lambda item: (item[1][0].is_fix, -max(map(path_length_m, item[1]))),
    )
    parts: list[object] = []
    if ordered:
        maps = [_map(*each, is_small=number > 0) for number, each in enumerate(ordered[:MAX_MAPS])]
        small = render("cards", maps[1:]) if maps[1:] else ""
        shown = ordered[0][1][: fig.MAX_SERIES]
        parts.append(render("beside", [maps[0], small], [_table(shown), *profiles(overview, shown)]))
    if len(ordered) > MAX_MAPS:
        parts.append(render("paragraph", f"{len(ordered) - MAX_MAPS} more frames are not drawn."))
    still = [one for routes in groups.values() for one in routes if not is_moving(one)]
    parts.append(_still_table(still) if still else "")
    lead = "Circles mark the starts, squares the ends. Axes in metres, to scale." if ordered else ""
    return Section("map", "Trajectory", join(parts), lead)


def _table(routes: Sequence[Route]) -> Html:
    rows = [
        (render("keys", fig.keys([(index, one.label)])), f"{number_text(path_length_m(one))} m", _height_text(one),
         one.own_frame or one.frame)
        for index, one in enumerate(routes)
    ]  # fmt: skip
    return plain_table(("Topic", "Way", "Height", "Frame"), rows, is_card=True)


def _still_table(routes: list[Route]) -> Html:
    """Poses that do not change, as numbers."""
    rows = []
    for one in routes[:MAX_STILL]:
        position = "at its origin" if one.is_fix else " ".join(number_text(round(float(v), 3)) for v in one.points[0])
        rows.append((path_text(one.label), one.frame or "–", position))
    return plain_table(("Topic", "Frame", "x y z, m"), rows, title="Standing still", is_card=True)


def _with_intervals(one: Route, overview: Overview) -> Route:
    if one.stamp_ns is None:
        return one
    return replace(one, segment=np.searchsorted(overview.intervals_ns[:, 0], one.stamp_ns, side="right"))


def _height_text(one: Route) -> str:
    low, high = float(one.points[:, 2].min()), float(one.points[:, 2].max())
    return f"{number_text(round(low, 2))} to {number_text(round(high, 2))} m" if high - low > STANDS_M else "level"


def _map(frame: str, routes: list[Route], *, is_small: bool) -> Html:
    """The trajectories of one frame from above."""
    shown = routes[: fig.MAX_SERIES]
    plane = plane_of_points(np.concatenate([one.points[:, :2] for one in shown]), room=0.12, least_m=0.1)
    axes = fig.plane_axes(plane, width=fig.WIDTH if is_small else fig.WIDE)
    for index, one in enumerate(shown):
        fig.draw_path(axes, one.points[:, :2], index, breaks=one.breaks, ends=True)
    name = frame if routes[0].is_fix else f"in {frame}" if frame else "in a frame without a name"
    more = f", {len(routes) - fig.MAX_SERIES} more not drawn" if len(routes) > fig.MAX_SERIES else ""
    details = ("east to the right, north up" if routes[0].is_fix else "x to the right, y up") + more
    drawn = fig.svg_of(axes, f"map {name}")
    return render("figure", drawn, name, details, fig.keys((n, one.label) for n, one in enumerate(shown)))


@dataclass
class _TopicPositions:
    """Positions of one topic: x y z, speed (NaN if unknown), and header time less log time."""

    rows: RowDecimator = field(default_factory=lambda: RowDecimator(5, MAX_POSITIONS))
    frames: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    origin: Array | None = None
    last_path: FramedRecord | None = None


class TrajectoryPanel(Panel):
    """Keeps some thousand positions of each topic."""

    msgtypes = TYPES

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._topics: dict[Topic, _TopicPositions] = {}

    def add(self, batch: RecordBatch) -> None:
        """Positions; of a Path, which is complete each time, the last is enough."""
        content = self._topics.setdefault(batch.topic, _TopicPositions())
        if batch.topic.msgtype == PATH:
            *_, (_, last) = batch.single()
            content.last_path = last()
            return
        for framed in batch.records:
            record = framed.record
            positions = _fixes(content, record) if isinstance(record, Fix) else _positions(record)
            rows = np.column_stack([positions, (record.stamp_ns - record.leaves_ns).astype(float)])
            usable = (np.abs(rows[:, :3]) < FARTHEST_M).all(axis=1)
            content.left_out += int((~usable).sum())
            content.rows.add(record.leaves_ns[usable], rows[usable])
            if isinstance(record, Odometry):
                self._add_odometry(batch.topic.name, framed, record.orientation_xyzw, positions[:, :3], usable=usable)
            content.frames[framed.frame.lstrip("/")] += len(record)

    def _add_odometry(
        self, topic: str, framed: FramedRecord, orientations: Array, positions: Array, *, usable: NDArray[np.bool_]
    ) -> None:
        """What an odometry says of a frame, beside tf."""
        usable = (
            usable & (np.abs(orientations) <= 1 + TURN_ERROR).all(axis=1) & (np.linalg.norm(orientations, axis=1) > 0.5)
        )
        parent, child = framed.frame.lstrip("/"), framed.child_frame.lstrip("/")
        if usable.any() and parent != child:
            edge = self._frames.odometry.setdefault(topic, FrameEdge(parent, child, is_static=False))
            edge.add(framed.record.stamp_ns[usable], np.column_stack([positions, orientations])[usable])

    def report_issues(self, issues: Issues) -> None:
        """Positions that are none, and topics that change their frame."""
        for topic, content in self._topics.items():
            lacks = "no position" if topic.msgtype == FIX else "a position that is none"
            message = f"{count_noun(content.left_out, 'message')} with {lacks}"
            issues.add("position_left_out", topic.name, message, count=content.left_out)
            if len(content.frames) > 1:
                names = ", ".join(f"'{name}'" for name in content.frames)
                issues.add("frame_changes", topic.name, f"expected one frame in all headers, got {names}")

    def sections(self, overview: Overview) -> list[Section]:
        """One map for all that moves in the same world, and one for each other frame."""
        routes = [
            route for topic, content in overview.in_order(self._topics) if (route := _route(topic, content)) is not None
        ]
        if not any(route.is_pose for route in routes):
            routes += routes_of_tf(overview.frames)
        section = route_section(overview, group_by_frame(routes, overview.frames))
        return [section] if section else []


def _positions(record: Record) -> Array:
    speed = np.full(len(record), np.nan)
    if isinstance(record, Odometry):
        known = record.twist_covariance[:, 0, 0] < UNKNOWN_VARIANCE
        speed[known] = np.linalg.norm(record.linear_velocity_m_s, axis=1)[known]
    position = record.position_m if isinstance(record, Odometry | Pose) else np.full((len(record), 3), np.nan)
    return np.column_stack([position, speed])


def _fixes(content: _TopicPositions, record: Fix) -> Array:
    """East, north, up from the first fix; NaN where there is none."""
    geodetic = np.stack([record.latitude_deg, record.longitude_deg, record.altitude_m], axis=-1)
    geodetic[record.status < NO_FIX] = np.nan
    geodetic[(np.abs(geodetic[:, 0]) > 90) | (np.abs(geodetic[:, 1]) > 360)] = np.nan
    geodetic[:, 2] = np.where(np.isfinite(geodetic[:, 2]), geodetic[:, 2], 0.0)
    positions, content.origin = enu_of_fixes(geodetic, content.origin)
    return np.column_stack([positions, np.full(len(positions), np.nan)])


def _route(topic: Topic, content: _TopicPositions) -> Route | None:
    if topic.msgtype == PATH:
        return _path(topic, content)
    stamp_ns, rows = content.rows.rows()
    if not len(stamp_ns):
        return None
    if content.origin is not None:
        latitude, longitude, altitude = content.origin
        frame = f"about {latitude:.6f}°, {longitude:.6f}°, {altitude:.1f}\u00a0m".replace("-", "\u2212")
        return Route(topic.name, frame, rows[:, :3], rows[:, 3], stamp_ns=stamp_ns, is_fix=True)
    frame = content.frames.most_common(1)[0][0]
    tf_ns = stamp_ns + rows[:, 4].astype(np.int64)
    return Route(topic.name, frame, rows[:, :3], rows[:, 3], stamp_ns=stamp_ns, tf_ns=tf_ns)


def _path(topic: Topic, content: _TopicPositions) -> Route | None:
    if content.last_path is None or not isinstance(content.last_path.record, Paths):
        return None
    poses = content.last_path.record.last()
    points = poses.position_m[:: max(1, len(poses) // MAX_POSITIONS)]
    points = points[(np.abs(points) < FARTHEST_M).all(axis=1)]
    if not len(points):
        return None
    unknown = np.full(len(points), np.nan)
    return Route(topic.name, content.last_path.frame.lstrip("/"), points, unknown)
