"""Where things went: odometry, poses, paths and satellite fixes, those of one frame on one map."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.number_text import many
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import FramedRecord
from fieldplay.messages.records import (
    Fix,
    Odometry,
    Paths,
    Pose,
    Record,
)
from fieldplay.recording.record_source import Issues, RecordBatch
from fieldplay.report.html.page import Section
from fieldplay.report.panels.map_panel import Route, route_section
from fieldplay.report.panels.overview import Overview

ODOMETRY, PATH, FIX = "nav_msgs/msg/Odometry", "nav_msgs/msg/Path", "sensor_msgs/msg/NavSatFix"
POSES = ("PoseStamped", "PoseWithCovarianceStamped", "PointStamped", "TransformStamped")
KEPT = 3000
FARTHEST_M = 1e8  # no robot goes there: what lies beyond is no position
TURN_ERROR = 1e-3  # of a quaternion's numbers
NO_FIX = 0  # a status below it
UNKNOWN_VARIANCE = 1e5  # a twist with more is not known
WORLDS = ("map", "odom", "world", "earth", "local_level", "odometry")
BASES = ("base_link", "base_footprint", "base")

Array = NDArray[np.float64]


@dataclass
class _Kept:
    """Positions of one topic: x y z, the speed, NaN where it is not told, and how much later the header's time is."""

    rows: RowDecimator = field(default_factory=lambda: RowDecimator(5, KEPT))
    frames: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    origin: Array | None = None
    last_path: FramedRecord | None = None


class TrajectoryPanel:
    """Keeps some thousand positions of each topic."""

    msgtypes = (ODOMETRY, *(f"geometry_msgs/msg/{name}" for name in POSES), PATH, FIX)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._topics: dict[Topic, _Kept] = {}

    def add(self, batch: RecordBatch) -> None:
        """Positions; of a Path, which tells all of it each time, the last is enough."""
        kept = self._topics.setdefault(batch.topic, _Kept())
        if batch.topic.msgtype == PATH:
            *_, (_, last) = batch.single()
            kept.last_path = last()
            return
        for framed in batch.records:
            record = framed.record
            places = _fixes(kept, record) if isinstance(record, Fix) else _positions(record)
            rows = np.column_stack([places, (record.stamp_ns - record.leaves_ns).astype(float)])
            usable = (np.abs(rows[:, :3]) < FARTHEST_M).all(axis=1)
            kept.left_out += int((~usable).sum())
            kept.rows.add(record.leaves_ns[usable], rows[usable])
            if isinstance(record, Odometry):
                self._add_odometry(batch.topic.name, framed, record.orientation_xyzw, places[:, :3], usable=usable)
            kept.frames[framed.frame.lstrip("/")] += len(record)

    def _add_odometry(
        self, topic: str, framed: FramedRecord, turns: Array, places: Array, *, usable: NDArray[np.bool_]
    ) -> None:
        """What an odometry says of a frame, beside tf."""
        usable = usable & (np.abs(turns) <= 1 + TURN_ERROR).all(axis=1) & (np.linalg.norm(turns, axis=1) > 0.5)
        parent, child = framed.frame.lstrip("/"), framed.child_frame.lstrip("/")
        if usable.any() and parent != child:
            edge = self._frames.odometry.setdefault(topic, FrameEdge(parent, child, is_static=False))
            edge.add(framed.record.stamp_ns[usable], np.column_stack([places, turns])[usable])

    def tell(self, findings: Issues) -> None:
        """Positions that are none, and topics that change their frame."""
        for topic, kept in self._topics.items():
            lacks = "no position" if topic.msgtype == FIX else "a position that is none"
            message = f"{many(kept.left_out, 'message')} with {lacks}"
            findings.add("position_left_out", topic.name, message, count=kept.left_out)
            if len(kept.frames) > 1:
                names = ", ".join(f"'{name}'" for name in kept.frames)
                findings.add("frame_changes", topic.name, f"expected one frame in all headers, got {names}")

    def sections(self, overview: Overview) -> list[Section]:
        """One map for all that moves in the same world, and one for each other frame."""
        routes = [
            route for topic, kept in overview.in_order(self._topics) if (route := _route(topic, kept)) is not None
        ]
        if not any(route.is_pose for route in routes):
            routes += _routes_of_tf(overview.frames)
        section = route_section(overview, _grouped(routes, overview.frames))
        return [section] if section else []


def _positions(record: Record) -> Array:
    speed = np.full(len(record), np.nan)
    if isinstance(record, Odometry):
        known = record.twist_covariance[:, 0, 0] < UNKNOWN_VARIANCE
        speed[known] = np.linalg.norm(record.linear_velocity_m_s, axis=1)[known]
    position = record.position_m if isinstance(record, Odometry | Pose) else np.full((len(record), 3), np.nan)
    return np.column_stack([position, speed])


def _fixes(kept: _Kept, record: Fix) -> Array:
    """East, north, up from the first fix; NaN where there is none."""
    geodetic = np.stack([record.latitude_deg, record.longitude_deg, record.altitude_m], axis=-1)
    geodetic[record.status < NO_FIX] = np.nan
    geodetic[(np.abs(geodetic[:, 0]) > 90) | (np.abs(geodetic[:, 1]) > 360)] = np.nan
    geodetic[:, 2] = np.where(np.isfinite(geodetic[:, 2]), geodetic[:, 2], 0.0)
    there = np.isfinite(geodetic).all(axis=1)
    places = np.full((len(geodetic), 4), np.nan)
    if there.any():
        if kept.origin is None:
            kept.origin = geodetic[there][0]
        scale = np.array([np.pi / 180, np.pi / 180, 1.0])
        places[there, :3] = enu_from_geodetic(geodetic[there] * scale, kept.origin * scale)
    return places


def _route(topic: Topic, kept: _Kept) -> Route | None:
    if topic.msgtype == PATH:
        return _path(topic, kept)
    stamp_ns, rows = kept.rows.rows()
    if not len(stamp_ns):
        return None
    if kept.origin is not None:
        latitude, longitude, altitude = kept.origin
        frame = f"about {latitude:.6f}°, {longitude:.6f}°, {altitude:.1f}\u00a0m".replace("-", "\u2212")
        return Route(topic.name, frame, rows[:, :3], rows[:, 3], stamp_ns=stamp_ns, is_fix=True)
    frame = kept.frames.most_common(1)[0][0]
    tf_ns = stamp_ns + rows[:, 4].astype(np.int64)
    return Route(topic.name, frame, rows[:, :3], rows[:, 3], stamp_ns=stamp_ns, tf_ns=tf_ns)


def _path(topic: Topic, kept: _Kept) -> Route | None:
    if kept.last_path is None or not isinstance(kept.last_path.record, Paths):
        return None
    way = kept.last_path.record.last()
    points = way.position_m[:: max(1, len(way) // KEPT)]
    points = points[(np.abs(points) < FARTHEST_M).all(axis=1)]
    if not len(points):
        return None
    unknown = np.full(len(points), np.nan)
    return Route(topic.name, kept.last_path.frame.lstrip("/"), points, unknown)


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
    found = frames.transform(world, base, stamp_ns)
    if found is None or not found[1].any():
        return []
    transforms, known = found
    unknown = np.full(int(known.sum()), np.nan)
    return [Route(f"tf: {base}", world, transforms[known][:, :3, 3], unknown, stamp_ns=stamp_ns[known])]


def _grouped(routes: list[Route], frames: Frames) -> dict[str, list[Route]]:
    """Routes by the frame that they are drawn in; those in a frame that stands in the world go to the world's map."""
    world = _world(routes, frames)
    groups: dict[str, list[Route]] = {}
    for route in routes:
        moved = None if route.is_fix or world is None else _in_world(route, world, frames)
        chosen = moved or route
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
    found = frames.transform(world, route.frame, tf_ns)
    if found is None or not found[1].any():
        return None
    transforms, known = found
    points = (transforms @ np.column_stack([route.points, np.ones(len(route.points))])[:, :, None])[:, :3, 0]
    times = None if route.stamp_ns is None else route.stamp_ns[known]
    return Route(route.label, world, points[known], route.speed[known], stamp_ns=times, own_frame=route.frame)
