"""Where things went: odometry, poses, paths and satellite fixes, those of one frame on one map."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.gaps import length_within
from fieldplay.core.number_text import Axis, count_noun, number_axis, number_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import (
    Fix,
    Odometry,
    Paths,
    Pose,
    Record,
)
from fieldplay.projection.relief import plane_of_points
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.figures import (
    MAX_SERIES,
    WIDE,
    WIDTH,
    Array,
    Chart,
    Curve,
    draw_path,
    keys,
    line_chart,
    plane_axes,
    svg_of,
)
from fieldplay.report.overview import Overview
from fieldplay.report.page import Html, Section, join, path_text, piece, plain_table

SMOOTHED_S = 1.0
STANDS_M = 0.005
PAUSE = 10.0  # usual steps
MIN_LENGTH_M = 0.5  # below it there is no height along the way to speak of
PROFILE_STEPS = 240
MAX_MAPS = 7
MAX_STILL = 12
ODOMETRY, PATH, FIX = "nav_msgs/msg/Odometry", "nav_msgs/msg/Path", "sensor_msgs/msg/NavSatFix"
POSES = ("PoseStamped", "PoseWithCovarianceStamped", "PointStamped", "TransformStamped")
MAX_POSITIONS = 3000
FARTHEST_M = 1e8  # no robot goes there: what lies beyond is no position
TURN_ERROR = 1e-3  # of a quaternion's numbers
NO_FIX = 0  # a status below it
UNKNOWN_VARIANCE = 1e5  # a twist with more is not known
WORLDS = ("map", "odom", "world", "earth", "local_level", "odometry")
BASES = ("base_link", "base_footprint", "base")


# Routes: how far something went and where its messages paused, on maps, in tables, and as profiles along the way.


@dataclass(frozen=True, eq=False)
class Route:
    """Positions (n, 3) in a frame with speeds (n,) as told, NaN where they are not; at times (n,) if they have any.

    The times are those of the log, beside them those of the headers, by which tf tells where the frame was.
    """

    label: str
    frame: str
    points: Array
    speed: Array
    stamp_ns: NDArray[np.int64] | None = None
    tf_ns: NDArray[np.int64] | None = None
    is_fix: bool = False
    own_frame: str = ""
    segment: NDArray[np.intp] | None = None  # of the recording, by point: what lies between two pieces is not known

    @property
    def breaks(self) -> list[int]:
        """The points before which its messages paused."""
        if self.stamp_ns is None or len(self.stamp_ns) < 3:
            return []
        steps = np.diff(self.stamp_ns)
        breaks: list[int] = (np.flatnonzero(steps > max(PAUSE * float(np.median(steps)), NS_PER_S)) + 1).tolist()
        return breaks

    @property
    def is_pose(self) -> bool:
        return not self.is_fix and self.stamp_ns is not None


def is_moving(one: Route) -> bool:
    """Whether the positions change."""
    return float(np.ptp(one.points, axis=0).max()) > STANDS_M


def path_length_m(one: Route) -> float:
    """Path length of positions a second apart, so that noise does not count."""
    return float(distance_m(one)[-1])


def distance_m(one: Route) -> Array:
    """The way so far (n,)."""
    if one.stamp_ns is None or len(one.points) < 3:
        steps = np.linalg.norm(np.diff(one.points, axis=0, prepend=one.points[:1]), axis=1)
        return np.cumsum(steps)
    seconds = (one.stamp_ns - one.stamp_ns[0]) / NS_PER_S
    number = np.floor(seconds / SMOOTHED_S)
    coarse = np.flatnonzero(np.r_[True, np.diff(number) > 0])  # the first place of each second
    coarse = np.unique(np.r_[coarse, len(seconds) - 1]) if len(coarse) > 2 else np.arange(len(seconds))
    positions = one.points[coarse]
    steps = np.linalg.norm(np.diff(positions, axis=0, prepend=positions[:1]), axis=1)
    if one.segment is not None:
        steps[np.diff(one.segment[coarse], prepend=one.segment[0]) != 0] = 0.0
    distances: Array = np.interp(seconds, seconds[coarse], np.cumsum(steps))
    return distances


def profiles(overview: Overview, routes: Sequence[Route]) -> list[Html]:
    """Height along the trajectory and speed over time, of those that have any."""
    charts = []
    heights = [
        Curve(one.label, distance_m(one), one.points[:, 2], segment=one.segment, colour=index)
        for index, one in enumerate(routes)
        if np.ptp(one.points[:, 2]) > STANDS_M and path_length_m(one) > MIN_LENGTH_M
    ]
    if heights:
        longest = max(float(curve.x[-1]) for curve in heights)
        ticks = number_axis(0.0, longest, max_labels=5).ticks
        axis = Axis(0.0, longest, tuple(tick for tick in ticks if 0 <= tick[0] <= longest))
        charts.append(Chart(title="Height", curves=heights, unit="m", x_axis=axis, x_title="metres along the way"))
    axis = overview.time_axis(most=5)
    speed_curves = [(index, _speed(overview, one, axis)) for index, one in enumerate(routes)]
    speeds = [replace(curve, colour=index) for index, curve in speed_curves if curve is not None]
    if speeds:
        charts.append(Chart(title="Speed", curves=speeds, unit="m/s", x_axis=axis))
    return [line_chart(chart) for chart in charts]


def _speed(overview: Overview, one: Route, axis: Axis) -> Curve | None:
    """The speed as told, else from the way, each over a second; at times that are even along the axis."""
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
        else _speed_from_positions(one, seconds, grid, axis=axis)
    )
    return Curve(one.label, grid, _without_pauses(one, seconds, grid, values=speed))


def _speed_from_positions(one: Route, seconds: Array, grid: Array, *, axis: Axis) -> Array:
    """Speed from positions at times (n,), for each interval of the axis; NaN for a single time."""
    distances = np.interp(grid, seconds, distance_m(one))
    cuts = np.flatnonzero(np.diff(axis.segment_indices(grid))) + 1
    runs = zip(np.split(distances, cuts), np.split(grid, cuts), strict=True)
    return np.concatenate([np.gradient(*run) if len(run[0]) > 1 else np.full(len(run[0]), np.nan) for run in runs])


def _without_pauses(one: Route, seconds: Array, grid: Array, *, values: Array) -> Array:
    """Values (n,) at the times of a grid (n,), NaN where the messages paused."""
    paused = np.zeros(len(grid), bool)
    for index in one.breaks:
        paused |= (grid > seconds[index - 1]) & (grid < seconds[index])
    return np.where(paused, np.nan, values)


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
        small = piece("cards", maps[1:]) if maps[1:] else ""
        shown = ordered[0][1][:MAX_SERIES]
        parts.append(piece("beside", [maps[0], small], [_table(shown), *profiles(overview, shown)]))
    if len(ordered) > MAX_MAPS:
        parts.append(piece("paragraph", f"{len(ordered) - MAX_MAPS} more frames are not drawn."))
    still = [one for routes in groups.values() for one in routes if not is_moving(one)]
    parts.append(_still_table(still) if still else "")
    lead = "Circles mark the starts, squares the ends. Axes in metres, to scale." if ordered else ""
    return Section("map", "Where it went", join(parts), lead)


def _table(routes: Sequence[Route]) -> Html:
    rows = [
        (piece("keys", keys([(index, one.label)])), f"{number_text(path_length_m(one))} m", _height_text(one),
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
    shown = routes[:MAX_SERIES]
    plane = plane_of_points(np.concatenate([one.points[:, :2] for one in shown]), room=0.12, least_m=0.1)
    axes = plane_axes(plane, width=WIDTH if is_small else WIDE)
    for index, one in enumerate(shown):
        draw_path(axes, one.points[:, :2], index, breaks=one.breaks, ends=True)
    name = frame if routes[0].is_fix else f"in {frame}" if frame else "in a frame without a name"
    more = f", {len(routes) - MAX_SERIES} more not drawn" if len(routes) > MAX_SERIES else ""
    details = ("east to the right, north up" if routes[0].is_fix else "x to the right, y up") + more
    drawn = svg_of(axes, f"map {name}")
    return piece("figure", drawn, name, details, keys((n, one.label) for n, one in enumerate(shown)))


@dataclass
class _TopicPositions:
    """Positions of one topic: x y z, speed (NaN if unknown), and header time less log time."""

    rows: RowDecimator = field(default_factory=lambda: RowDecimator(5, MAX_POSITIONS))
    frames: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    origin: Array | None = None
    last_path: FramedRecord | None = None


class TrajectoryPanel:
    """Keeps some thousand positions of each topic."""

    msgtypes = (ODOMETRY, *(f"geometry_msgs/msg/{name}" for name in POSES), PATH, FIX)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._topics: dict[Topic, _TopicPositions] = {}

    def add(self, batch: RecordBatch) -> None:
        """Positions; of a Path, which tells all of it each time, the last is enough."""
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
            routes += _routes_of_tf(overview.frames)
        section = route_section(overview, _group_by_frame(routes, overview.frames))
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
    there = np.isfinite(geodetic).all(axis=1)
    positions = np.full((len(geodetic), 4), np.nan)
    if there.any():
        if content.origin is None:
            content.origin = geodetic[there][0]
        scale = np.array([np.pi / 180, np.pi / 180, 1.0])
        positions[there, :3] = enu_from_geodetic(geodetic[there] * scale, content.origin * scale)
    return positions


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


def _routes_of_tf(frames: Frames) -> list[Route]:
    """Where nothing else tells the way: how the base moves in the world by tf."""
    names = frames.names
    base = next((name for name in BASES if name in frames.parents), None)
    world = next((name for name in WORLDS if name in names), None)
    if base is None or world is None:
        return []
    moving = [edge for edge in map(frames.parents.get, frames.path_to_root(base)) if edge and not edge.is_static]
    if not moving:
        return []
    stamp_ns, _ = moving[0].rows.rows()
    transform = frames.transform(world, base, stamp_ns)
    if transform is None or not transform[1].any():
        return []
    transforms, known = transform
    unknown = np.full(int(known.sum()), np.nan)
    return [Route(f"tf: {base}", world, transforms[known][:, :3, 3], unknown, stamp_ns=stamp_ns[known])]


def _group_by_frame(routes: list[Route], frames: Frames) -> dict[str, list[Route]]:
    """Group trajectories by the frame they are drawn in: the world where their frame is connected to it."""
    world = _world(routes, frames)
    groups: dict[str, list[Route]] = {}
    for one in routes:
        in_world = None if one.is_fix or world is None else _in_world(one, world, frames)
        chosen = in_world or one
        groups.setdefault(chosen.frame, []).append(chosen)
    return groups


def _world(routes: list[Route], frames: Frames) -> str | None:
    used = Counter(route.frame for route in routes if not route.is_fix)
    for name in WORLDS:
        if name in used or (used and name in frames.names):
            return name
    return used.most_common(1)[0][0] if used else None


def _in_world(route: Route, world: str, frames: Frames) -> Route | None:
    """A route in the frame of the world, if its own frame stands there: fixed, or on the way from world to base."""
    if route.frame == world:
        return route
    base = next((name for name in BASES if name in frames.parents), None)
    stands = frames.are_fixed(world, route.frame) or (base is not None and route.frame in frames.path_to_root(base)[1:])
    if not stands:
        return None
    tf_ns = route.tf_ns if route.tf_ns is not None else np.zeros(len(route.points), np.int64)
    transform = frames.transform(world, route.frame, tf_ns)
    if transform is None or not transform[1].any():
        return None
    transforms, known = transform
    points = (transforms @ np.column_stack([route.points, np.ones(len(route.points))])[:, :, None])[:, :3, 0]
    times = None if route.stamp_ns is None else route.stamp_ns[known]
    return Route(route.label, world, points[known], route.speed[known], stamp_ns=times, own_frame=route.frame)
