"""AMEDS's point clouds: what is no return is left out, laser and time are made where the file has none."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, Measurement, measure, sample_indices
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.io.containers import Files
from fieldplay.io.pcd import cloud_from_pcd
from fieldplay.messages import records
from fieldplay.streams.stream import Stream
from fieldplay.trajectories.time_offset import find_time_offset, poses_of_scans
from fieldplay.trajectories.trajectory import FusionError, Trajectory

WINDOW_S = 16  # of clouds that are put onto each other
REACH_S = 0.5
MIN_CLOUDS = 40
MIN_FRACTION = 0.2  # of the sweep, by which the offset must lie to one side
WITHIN_S = 0.05
FARTHEST_M = 60.0
Stamps = NDArray[np.int64]
STREAM = "lidar"
POINT = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4"), ("ring", "<u2")]
INTENSITY_NAMES = ("intensity", "i")
TIME_NAMES = ("time", "t", "timestamp", "offset_time")
UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LONGEST_SCAN, SHORTEST_SCAN = 2.0, 0.1  # in turns: what a field of times must span to be one of times in a unit
FAR_TURNS = 10.0  # from the middle of a cloud's times
MAX_TIMES = (1.0, 99.0)  # percent, between which a field is measured: single ones may be damaged
LOOKED_AT = 3  # clouds, spread over the archive, that determine what their fields hold
NOT_IN_ORDER = "have no times of their points, as these do not follow each other clockwise in the file"
FAR_FROM_LASER_DEG = 0.1
# In a firing group the azimuth of each laser is off by up to 4.2 deg to either side; some tenths are left for noise.
JITTER_RAD = np.deg2rad(9.0)
LONGEST_SWEEP_TURNS = 1.1
Points = NDArray[np.void]


# Whether the time in a cloud's name is that of its first point or of its last, measured by lidar against INS.


def check_cloud_stamp(archive: Archive) -> None:
    """Measure the shift of the clouds' times against the INS, in the part of the recording that turns most unevenly.

    Poses of scans are those of the middle of a sweep: half a sweep after the stamp, or before it.
    """
    streams, half_s = archive.streams, float(archive.spec.constants["revolution_s"]) / 2
    if not {"lidar", "odometry", "body_rates"} <= set(streams):
        return
    window = _most_dynamic_window(streams["body_rates"])
    if window is None:
        return
    stamp_ns, clouds = _clouds(streams["lidar"], *window)
    truth = _ins(streams["odometry"], *window)
    if len(stamp_ns) < MIN_CLOUDS or truth is None:
        return
    if archive.parameters["cloud_stamp"] == "end":
        stamp_ns = stamp_ns + round(2 * half_s * NS_PER_S)  # the times of the names again
    base_T_lidar = _base_T_lidar(archive)
    poses = base_T_lidar @ poses_of_scans(clouds) @ inverse_from_transform(base_T_lidar)
    estimate = Trajectory(stamp_ns=stamp_ns, poses=poses)
    try:
        offset_s = find_time_offset(estimate, truth, within_s=WITHIN_S, reach_s=REACH_S)
    except FusionError:
        archive.notes.append("the clouds' times against the INS: not measured, as no shift fits better than others")
        return
    name = _name_of_first(streams["lidar"])
    text = f"by the motions of lidar and INS the middle of a sweep is {offset_s:+.3f} s from the time in a cloud's name"
    if abs(offset_s) < 2 * MIN_FRACTION * half_s:
        measure(archive, Measurement(f"{text}: too close to distinguish start from end"))
        return
    measure(archive, Measurement(text, "cloud_stamp", "start" if offset_s > 0 else "end"), file=name)


def _most_dynamic_window(rates: Stream) -> tuple[int, int] | None:
    """The seconds in which the turn rate changes most, as the first and the last time; None of a shorter recording."""
    sums: dict[int, tuple[float, int]] = {}
    for index in range(len(rates.spans)):
        record = rates.load(index)
        if not isinstance(record, records.Vector):
            return None
        seconds, inverse = np.unique(record.stamp_ns // NS_PER_S, return_inverse=True)
        totals, counts = np.bincount(inverse, record.vector[:, 2]), np.bincount(inverse)
        for second, total, count in zip(seconds.tolist(), totals.tolist(), counts.tolist(), strict=True):
            known = sums.get(second, (0.0, 0))
            sums[second] = known[0] + total, known[1] + count
    seconds = np.array(sorted(sums), np.int64)
    means = np.array([sums[second][0] / sums[second][1] for second in seconds.tolist()])
    if len(seconds) < WINDOW_S:
        return None
    best, first = -1.0, 0
    for start in range(len(seconds) - WINDOW_S + 1):
        if seconds[start + WINDOW_S - 1] - seconds[start] == WINDOW_S - 1:
            spread = float(means[start : start + WINDOW_S].std())
            best, first = max((best, first), (spread, start))
    start_ns = int(seconds[first]) * NS_PER_S
    return (start_ns, start_ns + WINDOW_S * NS_PER_S) if best >= 0 else None


def _clouds(lidar: Stream, first_ns: int, last_ns: int) -> tuple[Stamps, Iterator[Array]]:
    """The times of the clouds of a stretch of time, and their points (n, 3), one after the other."""
    rows: list[tuple[int, records.Clouds, int]] = []
    for index, span in enumerate(lidar.spans):
        if span.last_ns >= first_ns and span.first_ns <= last_ns:
            record = lidar.load(index)
            if isinstance(record, records.Clouds):
                inside = np.flatnonzero((record.stamp_ns >= first_ns) & (record.stamp_ns <= last_ns))
                rows += [(int(record.stamp_ns[row]), record, row) for row in inside.tolist()]
    chosen = [item for _, item in sorted({item[0]: item for item in rows}.items())]
    return np.array([stamp for stamp, _, _ in chosen], np.int64), (_points(record, row) for _, record, row in chosen)


def _points(record: records.Clouds, row: int) -> Array:
    """Those near enough to be seen again; none of a cloud that is damaged, which is reported where it plays."""
    try:
        cloud = record.load(row)
    except ArchiveError:
        return np.zeros((0, 3))
    points = np.stack([cloud[axis].astype(np.float64) for axis in "xyz"], axis=-1)
    near: Array = points[np.linalg.norm(points, axis=1) < FARTHEST_M]
    return near


def _ins(odometry: Stream, first_ns: int, last_ns: int) -> Trajectory | None:
    """Poses of base_link by the INS in a stretch of time and a second around it."""
    parts = []
    for index, span in enumerate(odometry.spans):
        if span.last_ns >= first_ns - NS_PER_S and span.first_ns <= last_ns + NS_PER_S:
            record = odometry.load(index)
            if isinstance(record, records.Odometry):
                parts.append(record)
    if not parts:
        return None
    stamp_ns = np.concatenate([part.stamp_ns for part in parts])
    rotations = rotation_from_quaternion(np.concatenate([part.orientation_xyzw for part in parts]))
    poses = transform_from_rotation(rotations, np.concatenate([part.position_m for part in parts]))
    inside = np.flatnonzero((stamp_ns >= first_ns - NS_PER_S) & (stamp_ns <= last_ns + NS_PER_S))
    inside = inside[np.unique(stamp_ns[inside], return_index=True)[1]]
    return Trajectory(stamp_ns=stamp_ns[inside], poses=poses[inside]) if len(inside) else None


def _base_T_lidar(archive: Archive) -> Array:
    edges = edges_from_published(archive.spec.extrinsics, archive.spec.tree)
    return next(edge.parent_t_child for edge in edges if (edge.parent, edge.child) == ("base_link", "lidar"))


def _name_of_first(lidar: Stream) -> str:
    record = lidar.load(0)
    return record.names[0] if isinstance(record, records.Clouds) else ""


@dataclass(frozen=True)
class TimeField:
    """The field that holds the points' times, and its unit."""

    name: str
    unit: str


class CloudDecoder:
    """Clouds from the bytes of their files, dense: x y z intensity ring, and time where it is known.

    Points without a return, at 0 0 0 or with a place that is none, are left out; so are those with another number that
    is none, which are reported.
    """

    def __init__(self, archive: Archive, files: Files, names: Sequence[str]) -> None:
        self._report = archive.defects
        self._elevations = np.sort(np.array(archive.spec.constants["lidar_elevations_deg"], np.float64).ravel())
        self._turn_s = float(archive.spec.constants["revolution_s"])
        self._by_azimuth = archive.parameters["point_time"] == "azimuth"
        self._lock = threading.Lock()
        self._reported: set[str] = set()
        self._timeless: dict[str, bool] = {}  # whether a cloud has times, of those that should
        clouds = list(_some_clouds(files, names))
        self._time = time_field(clouds, self._turn_s)
        archive.notes += self._notes(clouds)

    def _notes(self, clouds: Sequence[Points]) -> Iterator[str]:
        """What is to be said of the times, from a few clouds."""
        if self._time is not None:
            span_s = _longest_span(clouds, self._time.name) * UNITS_S[self._time.unit]
            taken = f"are those of the field '{self._time.name}', taken for {self._time.unit}"
            yield f"{STREAM}: the points' times {taken}: so a cloud lasts {span_s:.3g} s"
            return
        for name in TIME_NAMES:
            if any(name in (cloud.dtype.names or ()) for cloud in clouds):
                expected = f"expected one that spans about {self._turn_s:g} s in some unit"
                got = f"{_longest_span(clouds, name):g}"
                yield f"warning: {STREAM}: the field '{name}' is not read as times: {expected}, got a span of {got}"
        if self._by_azimuth:
            returns = (_select(_are_returns(xyz), cloud, xyz) for cloud in clouds for xyz in [_positions(cloud)])
            lost = sum(self._times(cloud, xyz) is None for cloud, xyz in returns)
            if lost:
                yield f"warning: {lost} of {len(clouds)} clouds that were looked at {NOT_IN_ORDER}"

    def check(self, archive: Archive) -> None:
        """Note how many of the clouds that were decoded lack times that they should have."""
        with self._lock:
            lost, count = sum(self._timeless.values()), len(self._timeless)
        if lost:
            archive.notes.append(f"warning: {lost} of {count} clouds {NOT_IN_ORDER}")

    @np.errstate(over="ignore", invalid="ignore")  # a damaged point may lie anywhere
    def __call__(self, data: bytes, name: str) -> Points:
        """The points of one file, in the order of time."""
        cloud = _require_fields(cloud_from_pcd(data))
        xyz = _positions(cloud)
        cloud, xyz = _select(_are_returns(xyz), cloud, xyz)
        fields = self._fields_in_use(cloud)
        good = np.ones(len(cloud), bool)
        for field in fields:
            good &= np.isfinite(cloud[field].astype(np.float32))
        if self._time is not None and self._time.name in fields:
            good[good] = self._is_near(cloud[self._time.name][good], UNITS_S[self._time.unit])
        self._report_bad(name, fields, int((~good).sum()), len(cloud))
        cloud, xyz = _select(good, cloud, xyz)
        time = self._times(cloud, xyz)
        if self._by_azimuth and (self._time is None or self._time.name not in fields):
            with self._lock:
                self._timeless[name] = time is None
        points = self._points(cloud, xyz, fields, time)
        is_in_order = time is None or bool((time[1:] >= time[:-1]).all())
        return points if time is None or is_in_order else points[time_order(time)]

    def _fields_in_use(self, cloud: Points) -> tuple[str, ...]:
        """The fields beside x y z that are read; one that holds no number anywhere counts as absent."""
        names = cloud.dtype.names or ()
        time = () if self._time is None else (self._time.name,)
        intensity = [name for name in INTENSITY_NAMES if name in names][:1]
        requested = [name for name in (*intensity, "ring", *time) if name in names]
        return tuple(name for name in requested if np.isfinite(cloud[name]).any())

    def _is_near(self, own: NDArray[np.generic], unit_s: float) -> NDArray[np.bool_]:
        """Which times (n,) lie within some turns of the middle one; others are damaged."""
        return np.asarray(np.abs(_from_middle(own)) * unit_s <= FAR_TURNS * self._turn_s, np.bool_)

    def _report_bad(self, name: str, fields: Sequence[str], bad: int, count: int) -> None:
        with self._lock:
            is_new = bad > 0 and name not in self._reported
            self._reported.add(name)
        if is_new:
            of = ", ".join(fields)
            got = f"NaN, infinity or a time far from the others in {bad} of {count} points"
            message = f"expected numbers as {of}, got {got}, which are left out"
            self._report(Defect(file=name, kind="damaged_points", stream=STREAM, message=message))

    def _times(self, cloud: Points, xyz: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """Seconds after the first point: the cloud's own where it has them, else from the azimuth, or none."""
        if self._time is not None and self._time.name in (cloud.dtype.names or ()):
            own = cloud[self._time.name]
            if np.isfinite(own).all():
                return (_since_first(own) * UNITS_S[self._time.unit]).astype(np.float32)
        return times_from_azimuth(xyz, self._turn_s) if self._by_azimuth else None

    def _points(
        self, cloud: Points, xyz: NDArray[np.float32], fields: Sequence[str], time: NDArray[np.float32] | None
    ) -> Points:
        points = np.empty(len(cloud), np.dtype(POINT + ([("time", "<f4")] if time is not None else [])))
        points["x"], points["y"], points["z"] = xyz.T
        intensity = next((name for name in INTENSITY_NAMES if name in fields), None)
        points["intensity"] = cloud[intensity] if intensity else 0.0
        rings = cloud["ring"] if "ring" in fields else _ring(xyz, self._elevations)
        points["ring"] = rings
        if time is not None:
            points["time"] = time
        return points


def time_field(clouds: Sequence[Points], turn_s: float) -> TimeField | None:
    """The field of times of some clouds, in the unit in which the longest of them lasts about a turn, if there is one.

    Seconds are fractions: whole numbers count something smaller. A constant field is ignored.
    """
    for name in TIME_NAMES:
        kinds = {cloud.dtype[name].kind for cloud in clouds if name in (cloud.dtype.names or ())}
        span = _longest_span(clouds, name)
        for unit, seconds in UNITS_S.items() if span > 0 else ():
            is_seconds = unit == "s"
            if is_seconds and kinds != {"f"}:
                continue
            if (is_seconds or span * seconds >= SHORTEST_SCAN * turn_s) and span * seconds <= LONGEST_SCAN * turn_s:
                return TimeField(name, unit)
    return None


def _longest_span(clouds: Sequence[Points], name: str) -> float:
    """The longest span of most of a field, in its own unit, 0 where there is none."""
    spans = [0.0]
    for cloud in clouds:
        if name in (cloud.dtype.names or ()):
            own = cloud[name][_are_returns(_positions(cloud))]
            own = own[np.isfinite(own)]
            if len(own):
                spans.append(float(np.ptp(np.percentile(_from_middle(own), MAX_TIMES))))
    return max(spans)


def _since_first(own: NDArray[np.generic]) -> NDArray[np.float64]:
    """Times (n,) after the least."""
    return _differences(own, own.min()) if len(own) else np.zeros(0)


def _from_middle(own: NDArray[np.generic]) -> NDArray[np.float64]:
    """Times (n,) after the middle one, which no damaged one moves."""
    return _differences(own, np.sort(own)[len(own) // 2]) if len(own) else np.zeros(0)


def _differences(own: NDArray[np.generic], start: Any) -> NDArray[np.float64]:
    """Differences, exact also between large whole numbers."""
    kind = np.float64 if own.dtype.kind == "f" else np.int64
    return np.asarray(own.astype(kind) - np.asarray(start).astype(kind), np.float64)


def _some_clouds(files: Files, names: Sequence[str]) -> Iterator[Points]:
    """A few clouds from all over the archive, of those that can be read."""
    for index in sample_indices(len(names), LOOKED_AT):
        try:
            yield _require_fields(cloud_from_pcd(files.read(names[index])))
        except (ArchiveError, OSError):
            continue  # reported when it is its turn


def _require_fields(cloud: Points) -> Points:
    """Require x y z, and one number per point for every field that is read."""
    names = cloud.dtype.names or ()
    if any(axis not in names for axis in "xyz"):
        raise ArchiveError(f"expected a cloud with the fields x y z, got {' '.join(names)}")
    for name in ("x", "y", "z", "ring", *TIME_NAMES, *INTENSITY_NAMES):
        if name in names and cloud.dtype[name].shape:
            raise ArchiveError(f"expected one number for each point as {name}, got {cloud.dtype[name].shape[0]}")
    return cloud


def _positions(cloud: Points) -> NDArray[np.float32]:
    """Positions (n, 3), stored coordinate by coordinate."""
    with np.errstate(over="ignore", invalid="ignore"):
        positions: NDArray[np.float32] = np.stack([cloud[axis].astype(np.float32) for axis in "xyz"]).T
    return positions


def _select(
    keep_mask: NDArray[np.bool_], cloud: Points, xyz: NDArray[np.float32]
) -> tuple[Points, NDArray[np.float32]]:
    """Those points (n,) that are kept, and their places (n, 3); nothing is copied where all are."""
    return (cloud, xyz) if keep_mask.all() else (cloud[keep_mask], xyz.T[:, keep_mask].T)


def _are_returns(xyz: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which places (n, 3) are of a return: the others are NaN or lie at 0 0 0."""
    x, y, z = xyz.T
    result: NDArray[np.bool_] = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & ((x != 0) | (y != 0) | (z != 0))
    return result


def ring_from_elevation(
    xyz: NDArray[np.floating], elevations_deg: ArrayLike
) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    """The ring (n,) of points (n, 3), and which of them (n,) lie further than 0.1 deg from any laser.

    The ring is the rank by elevation, 0 the lowest, of the laser nearest to the point's elevation.
    """
    lasers = np.sort(np.asarray(elevations_deg, np.float64).ravel())
    if not len(lasers) or not np.isfinite(lasers).all():
        raise ValueError(f"expected the elevations of one laser or more in degrees, got {lasers.tolist()}")
    ring = _ring(xyz, lasers)
    return ring, np.abs(_elevation_deg(xyz) - lasers[ring]) > FAR_FROM_LASER_DEG


def _elevation_deg(xyz: NDArray[np.floating]) -> NDArray[np.floating]:
    """The elevations (n,) of points (n, 3) in degrees."""
    x, y, z = np.asarray(xyz).T
    elevation: NDArray[np.floating] = np.rad2deg(np.arctan2(z, np.sqrt(x * x + y * y)))
    return elevation


def _ring(xyz: NDArray[np.floating], lasers: NDArray[np.float64]) -> NDArray[np.uint16]:
    """The place of the nearest laser among those of rising elevation, for each of the points (n, 3).

    By the slopes half-way between them: that saves the arc tangents, which take twice as long as all the rest.
    """
    x, y, z = np.asarray(xyz).T
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = z / np.sqrt(x * x + y * y)
    bounds = np.tan(np.deg2rad((lasers[1:] + lasers[:-1]) / 2)).astype(slope.dtype)
    ring: NDArray[np.uint16] = np.searchsorted(bounds, slope).astype(np.uint16)
    return ring


def times_from_azimuth(xyz: NDArray[np.floating], revolution_s: float) -> NDArray[np.float32] | None:
    """Seconds (n,) within the sweep since the first of the points (n, 3); None if they are not in firing order.

    The lidar turns clockwise seen from above, so the azimuth falls. As each laser of a firing group looks a few degrees
    ahead of or behind the others, a point's own azimuth is no clock: its time is taken half-way between the furthest
    azimuth so far and the nearest one still to come, which never falls. The two differ by no more than the spread of a
    group in a cloud in firing order; one that is stored ring by ring, reversed or shuffled is detected by that.
    """
    x, y, _ = np.asarray(xyz, np.float64).T
    if not len(x):
        return np.zeros(0, np.float32)
    swept = _swept(np.arctan2(y, x))
    furthest = np.maximum.accumulate(swept)
    nearest_to_come = np.minimum.accumulate(swept[::-1])[::-1]
    if not (furthest - nearest_to_come).max() <= JITTER_RAD:
        return None
    revolutions = (furthest + nearest_to_come) / (4 * np.pi)
    revolutions -= revolutions[0]
    if revolutions[-1] > LONGEST_SWEEP_TURNS:
        return None
    times: NDArray[np.float32] = (revolutions * revolution_s).astype(np.float32)
    return times


def _swept(azimuth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle turned clockwise since the first point; a step is a jitter back or else forward by up to nearly a turn."""
    swept: NDArray[np.float64] = azimuth[0] - azimuth
    step = np.diff(swept)
    wraps = np.where(step < -JITTER_RAD, 1, 0) - (step >= 2 * np.pi - JITTER_RAD)
    swept[1:] += 2 * np.pi * np.cumsum(wraps)
    return swept


def time_order(time: NDArray[np.floating]) -> NDArray[np.intp]:
    """The order (n,) that sorts points by time, oldest first; points of one time stay in the order of the file."""
    return np.argsort(time, kind="stable")
