"""The map of an archive without true poses: east, north, up about its first good fix, and odom in it.

Where the odometry starts, the antenna is at its fix. The heading of odom is the rotation between the paths of the
antenna by the fixes and by the odometry in the first metres, backwards or round a bend as they may go; at the end of
an archive, where no path is left, those of the last metres. The odometry is computed, or the archive's own.

Positions of the same antenna that the archive has in axes of their own, as a ground truth, get a frame in that map:
by the rotation and the translation that fit all of them best onto the fixes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DerivedSpec, GnssMapFrame
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.geometry.transforms import (
    Array,
    rotation_about_axis,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.messages import records
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.stream import Span, Stream
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay.trajectories.association import relative_yaw

ODOMETRY = "nav_msgs/msg/Odometry"
WINDOWS_S = (10, 20, 40, 80, 160, 320, 640)  # how far is looked, while the robot stands
FEWEST = 3  # fixes on the way
LONGEST_STEP_NS = NS_PER_S  # between fixes, for positions between them
LARGEST_RMS_M = 2.0  # of positions that belong to the fixes

Stamps = NDArray[np.int64]
Odometry = DerivedSpec | StreamSpec  # computed, or the archive's own


@dataclass(frozen=True, eq=False)
class _AntennaPaths:
    """Antenna positions at times (n,): by the odometry from its start, and by the fixes; (n, 3) each."""

    stamp_ns: Stamps
    in_odom_m: Array
    in_map_m: Array

    @property
    def length_m(self) -> float:
        """The smaller extent of both paths, so that neither noise nor slip counts as motion."""
        if len(self.stamp_ns) < FEWEST:
            return 0.0
        return min(_extent_m(self.in_odom_m), _extent_m(self.in_map_m))

    def near(self, start_ns: int, within_m: float) -> "_AntennaPaths":
        """The part around the start in which the antenna stays within this distance of it."""
        nearest = self.in_odom_m[np.abs(self.stamp_ns - start_ns).argmin()]
        is_far = np.linalg.norm((self.in_odom_m - nearest)[:, :2], axis=1) > within_m
        before, after = (self.stamp_ns[is_far & side] for side in (self.stamp_ns < start_ns, self.stamp_ns >= start_ns))
        first_ns, last_ns = max(before, default=self.stamp_ns[0] - 1), min(after, default=self.stamp_ns[-1])
        keep_mask = (self.stamp_ns > first_ns) & (self.stamp_ns <= last_ns)
        return _AntennaPaths(self.stamp_ns[keep_mask], self.in_odom_m[keep_mask], self.in_map_m[keep_mask])


def _extent_m(positions: Array) -> float:
    """The horizontal extent of positions (n, 3)."""
    return float(np.linalg.norm(np.ptp(positions[:, :2], axis=0))) if len(positions) else 0.0


def streams_of_odometry(odometry: Odometry) -> tuple[str, ...]:
    """The streams that an odometry is computed of; its own where it is the archive's."""
    return odometry.streams if isinstance(odometry, DerivedSpec) else (odometry.id,)


def edge_from_fixes(
    archive: Archive, config: GnssMapFrame, odometry: Odometry, start_ns: int, base_T_antenna: Array
) -> Edge | str:
    """A level map -> odom, the antenna being at its fix at start_ns; or why there is none.

    A computed odometry starts at zero at that time.
    """
    name = next(stream.topic for stream in archive.spec.streams if stream.id == config.stream)
    if config.stream not in archive.streams:
        return f"there is no {name}"
    fixes = archive.streams[config.stream]
    origin = _origin(fixes, config.least_status)
    if origin is None:
        return f"no fix of {name} is good enough: expected a status of {config.least_status} or above"
    best = _AntennaPaths(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
    for first_ns, last_ns in _windows(archive, (*streams_of_odometry(odometry), config.stream), start_ns):
        poses = _poses(archive, odometry, start_ns, first_ns=first_ns, last_ns=last_ns)
        rows = _good_fixes(fixes, config.least_status, first_ns, last_ns)
        paths = _antenna_paths(poses, rows, origin, base_T_antenna)
        paths = paths.near(start_ns, config.way_m) if len(paths.stamp_ns) else paths
        best = max(best, paths, key=lambda candidate: candidate.length_m)
        if best.length_m >= config.least_way_m and _extent_m(paths.in_odom_m) >= config.way_m:
            break
    if best.length_m < config.least_way_m:
        source = "the wheels" if isinstance(odometry, DerivedSpec) else odometry.topic
        return f"expected a path length of {config.least_way_m} m on {name} and {source}, got {best.length_m:.2f} m"
    return Edge(config.frame, odometry.frame, _map_T_odom(best, start_ns))


def edge_of_positions(archive: Archive, config: GnssMapFrame) -> Edge | str | None:
    """A level map -> the frame of the antenna's other positions, or why there is none; None where there are none."""
    spec = next((stream for stream in archive.spec.streams if stream.id == config.positions), None)
    if spec is None or spec.id not in archive.streams or config.stream not in archive.streams:
        return None
    fixes = archive.streams[config.stream]
    origin, (first_ns, last_ns) = _origin(fixes, config.least_status), _times(archive.streams[spec.id])
    if origin is None:
        return "no fix is good enough"
    margin_ns = LONGEST_STEP_NS
    stamp_ns, geodetic = _good_fixes(fixes, config.least_status, first_ns - margin_ns, last_ns + margin_ns)
    positions = _positions(archive.streams[spec.id])
    if len(stamp_ns) < FEWEST:
        return f"expected {FEWEST} good fixes at the times of {spec.topic}, got {len(stamp_ns)}"
    geodetic[:, 2] = np.where(np.isnan(geodetic[:, 2]), origin[2], geodetic[:, 2])
    keep_mask = _have_fixes(stamp_ns, positions[0])
    own_m, map_m = positions[1][keep_mask], _at(stamp_ns, enu_from_geodetic(geodetic, origin), positions[0][keep_mask])
    if min(_extent_m(own_m), _extent_m(map_m)) < config.least_way_m:
        return f"expected a path of {config.least_way_m} m on {spec.topic} and the fixes, got less"
    rotation = rotation_about_axis(2, relative_yaw(own_m[:, :2], map_m[:, :2]))
    translation = (map_m - own_m @ rotation.T).mean(axis=0)
    rms_m = float(np.sqrt((((map_m - own_m @ rotation.T - translation)[:, :2]) ** 2).sum(axis=1).mean()))
    if rms_m > LARGEST_RMS_M:
        return f"{spec.topic} does not fit the fixes: {rms_m:.2f} m (rms) are left"
    return Edge(config.frame, spec.frame, transform_from_rotation(rotation, translation))


def _times(stream: Stream) -> tuple[int, int]:
    """The first and the last time of a stream."""
    return min(span.first_ns for span in stream.spans), max(span.last_ns for span in stream.spans)


def _positions(stream: Stream) -> tuple[Stamps, Array]:
    """Times (n,) and positions (n, 3) of an odometry, in the order of time."""
    rows = [stream.load(index) for index in range(len(stream.spans))]
    odometry = [row for row in rows if isinstance(row, records.Odometry)]
    stamp_ns = np.concatenate([row.stamp_ns for row in odometry])
    order = np.argsort(stamp_ns, kind="stable")
    return stamp_ns[order], np.concatenate([row.position_m for row in odometry])[order]


def _have_fixes(fix_ns: Stamps, stamp_ns: Stamps) -> NDArray[np.bool_]:
    """At which times (n,) fixes are near before and after."""
    after = np.clip(np.searchsorted(fix_ns, stamp_ns), 1, len(fix_ns) - 1)
    is_inside = (stamp_ns >= fix_ns[0]) & (stamp_ns <= fix_ns[-1])
    result: NDArray[np.bool_] = is_inside & (fix_ns[after] - fix_ns[after - 1] <= LONGEST_STEP_NS)
    return result


def _map_T_odom(paths: _AntennaPaths, start_ns: int) -> Array:
    """Rotate one path into the other, whatever their scale, and put the antenna onto its fix."""
    first, second = ((path - path.mean(axis=0))[:, :2] for path in (paths.in_odom_m, paths.in_map_m))
    sine = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]).sum()
    rotation = rotation_about_axis(2, np.arctan2(sine, (first * second).sum()))
    row = np.abs(paths.stamp_ns - start_ns).argmin()
    return transform_from_rotation(rotation, paths.in_map_m[row] - rotation @ paths.in_odom_m[row])


def _windows(archive: Archive, names: tuple[str, ...], start_ns: int) -> Iterator[tuple[int, int]]:
    """Longer and longer stretches of time after the begin, to the archive's end, and then around it."""
    spans = [span for name in names for span in archive.streams[name].spans]
    end_ns = max(span.last_ns for span in spans)
    for length_s in WINDOWS_S:
        yield start_ns, start_ns + length_s * NS_PER_S
        if start_ns + length_s * NS_PER_S >= end_ns:
            break
    for length_s in WINDOWS_S:
        yield start_ns - length_s * NS_PER_S, start_ns + length_s * NS_PER_S


def _origin(fixes: Stream, least_status: int) -> Array | None:
    """Latitude and longitude (rad) and altitude (m) of the first good fix; height 0 where it has none."""
    for index in sorted(range(len(fixes.spans)), key=lambda index: fixes.spans[index].first_ns):
        geodetic = _geodetic(fixes, index, least_status)
        if len(geodetic[0]):
            origin: Array = np.nan_to_num(geodetic[1][0])
            return origin
    return None


def _geodetic(fixes: Stream, index: int, least_status: int) -> tuple[Stamps, Array]:
    """Times (n,) and places (n, 3) of a span's good fixes; the height of one in the plane is NaN."""
    rows = fixes.load(index)
    if not isinstance(rows, records.Fix):
        raise TypeError(f"expected fixes, got {type(rows).__name__}")
    positions = np.stack([np.radians(rows.latitude_deg), np.radians(rows.longitude_deg), rows.altitude_m], axis=1)
    is_good = (rows.status >= least_status) & np.isfinite(positions[:, :2]).all(axis=1)
    return rows.stamp_ns[is_good], positions[is_good]


def _good_fixes(fixes: Stream, least_status: int, first_ns: int, last_ns: int) -> tuple[Stamps, Array]:
    """The same of a stretch of time, in its order."""
    parts = [_geodetic(fixes, index, least_status) for index in _within(fixes.spans, first_ns, last_ns)]
    if not parts:
        return np.zeros(0, np.int64), np.zeros((0, 3))
    stamp_ns, positions = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    keep = np.flatnonzero((stamp_ns >= first_ns) & (stamp_ns <= last_ns))
    keep = keep[np.argsort(stamp_ns[keep], kind="stable")]
    return stamp_ns[keep], positions[keep]


def _poses(archive: Archive, odometry: Odometry, start_ns: int, *, first_ns: int, last_ns: int) -> tuple[Stamps, Array]:
    """The odometry's poses x, y, yaw (n, 3) of a stretch of time; a computed one as seen from where it is at begin."""
    spans, load = _rows_of(archive, odometry, first_ns)
    parts = [load(index) for index in _within(spans, first_ns, last_ns)]
    rows = [part for part in parts if isinstance(part, records.Odometry) and len(part)]
    if not rows:
        return np.zeros(0, np.int64), np.zeros((0, 3))
    stamp_ns = np.concatenate([part.stamp_ns for part in rows])
    rotations = np.concatenate([rotation_from_quaternion(part.orientation_xyzw) for part in rows])
    poses = np.concatenate([part.position_m for part in rows])
    poses[:, 2] = np.unwrap(np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0]))
    if isinstance(odometry, StreamSpec):
        return stamp_ns, poses
    start = _at(stamp_ns, poses, np.array([start_ns]))[0]
    back = rotation_about_axis(2, -start[2])[:2, :2]
    return stamp_ns, np.column_stack([(poses - start)[:, :2] @ back.T, poses[:, 2] - start[2]])


def _rows_of(
    archive: Archive, odometry: Odometry, first_ns: int
) -> tuple[Sequence[Span], Callable[[int], records.Record]]:
    """The spans of an odometry, and what loads one of them; of a computed one what is computed from a time on."""
    if isinstance(odometry, StreamSpec):
        stream = archive.streams[odometry.id]
        return stream.spans, stream.load
    options = DerivedOptions(topic=str, frame_prefix="", tf_rank=0, rank=0, first_ns=first_ns, odom_tf=False)
    sources = [FedStream(archive.streams[name]) for name in odometry.streams]
    feed = _odometry_feed(feeds_of_computation(odometry.with_parameters(archive.parameters), sources, options))
    return feed.spans, feed.records


def _odometry_feed(feeds: list[TopicStream]) -> TopicStream:
    return next(feed for feed in feeds if feed.msgtype == ODOMETRY)


def _antenna_paths(
    poses: tuple[Stamps, Array], fixes: tuple[Stamps, Array], origin: Array, base_T_antenna: Array
) -> _AntennaPaths:
    """Antenna positions at the times of the fixes within the time of the odometry."""
    stamp_ns, positions = fixes
    keep_mask = (
        (stamp_ns >= poses[0][0]) & (stamp_ns <= poses[0][-1]) if len(poses[0]) else np.zeros(len(stamp_ns), bool)
    )
    stamp_ns, positions = stamp_ns[keep_mask], positions[keep_mask]
    if not len(stamp_ns):
        return _AntennaPaths(stamp_ns, np.zeros((0, 3)), np.zeros((0, 3)))
    positions[:, 2] = np.where(np.isnan(positions[:, 2]), origin[2], positions[:, 2])
    odom_poses = _at(*poses, stamp_ns)
    cos, sin = np.cos(odom_poses[:, 2]), np.sin(odom_poses[:, 2])
    lever_arm = base_T_antenna[:3, 3]
    in_odom = np.column_stack(
        [
            odom_poses[:, 0] + cos * lever_arm[0] - sin * lever_arm[1],
            odom_poses[:, 1] + sin * lever_arm[0] + cos * lever_arm[1],
            np.full(len(odom_poses), lever_arm[2]),
        ]
    )
    return _AntennaPaths(stamp_ns, in_odom, enu_from_geodetic(positions, origin))


def _at(stamp_ns: Stamps, values: Array, requested_ns: Stamps) -> Array:
    """Columns (n, k) of numbers at other times (m,)."""
    since = stamp_ns[0]
    times = (requested_ns - since).astype(float)
    return np.column_stack([np.interp(times, (stamp_ns - since).astype(float), column) for column in values.T])


def _within(spans: Sequence[Span], first_ns: int, last_ns: int) -> list[int]:
    """The spans of a stretch of time, in its order."""
    indices = [index for index, span in enumerate(spans) if span.last_ns >= first_ns and span.first_ns <= last_ns]
    return sorted(indices, key=lambda index: spans[index].first_ns)
