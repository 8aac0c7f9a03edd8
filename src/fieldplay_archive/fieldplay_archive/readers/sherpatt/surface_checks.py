"""Where the rover is on the surface model, and whether it stands on it."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.archive import Archive
from fieldplay_kinematics.axes import rotated
from fieldplay_messages import records
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.streams import Stream

ODOMETRY, SATELLITES = "wheel_odom", "dgps_odom"
BODY, BASE = "body_height_m", "base_link"
MOST_PLACES = 50
FAR_M, FAR_DEG = 0.5, 20.0
AHEAD = np.array([1.0, 0.0, 0.0])

Numbers = NDArray[np.float64]


def start_of_body(archive: Archive, streams: Mapping[str, Stream]) -> Numbers:
    """Where the body is in the map (3,) when the odometry begins, by the satellites; 0, 0, 0 where there are none."""
    satellites = streams.get(SATELLITES)
    record = None if satellites is None else _row_near(satellites, _begin_ns(streams.get(ODOMETRY, satellites)))
    return np.zeros(3) if record is None else _bodies(archive, record).reshape(3)


def _begin_ns(stream: Stream) -> int:
    return min((span.first_ns for span in stream.spans), default=0)


def _row_near(stream: Stream, stamp_ns: int) -> records.Odometry | None:
    """The row of odometry that is nearest to a time."""
    spans = stream.spans
    for index in sorted(
        range(len(spans)), key=lambda i: max(spans[i].first_ns - stamp_ns, stamp_ns - spans[i].last_ns, 0)
    ):
        record = stream.load(index)
        if isinstance(record, records.Odometry) and len(record):
            return record.only(np.array([np.argmin(np.abs(record.stamp_ns - stamp_ns))]))
    return None


def body_places(archive: Archive) -> Numbers:
    """Places (n, 3) of the body in the map along the way, by the satellites."""
    satellites = archive.streams.get(SATELLITES)
    if satellites is None:
        return np.zeros((0, 3))
    found = []
    for index in range(0, len(satellites.spans), -(-len(satellites.spans) // MOST_PLACES)):
        record = satellites.load(index)
        if isinstance(record, records.Odometry) and len(record):
            each = -(-len(record) * min(len(satellites.spans), MOST_PLACES) // MOST_PLACES)
            found.append(_bodies(archive, record.only(np.arange(0, len(record), each))))
    return np.concatenate(found) if found else np.zeros((0, 3))


def check_surface(archive: Archive, name: str, places: Numbers, heights_below: Callable[[Numbers], Numbers]) -> None:
    """Note how high the body is above the surface along its way, against how high it stands."""
    wanted = float(archive.spec.constants[BODY])
    if not len(places):
        archive.notes.append(f"{name}: no satellite positions in the map, so nothing tells whether it is placed well")
        return
    try:
        above = places[:, 2] - heights_below(places[:, :2])
    except ArchiveError as error:
        archive.notes.append(f"{name}: whether it is placed well cannot be measured: {error}")
        return
    above = above[np.isfinite(above)]
    if not len(above):
        archive.notes.append(f"{name}: the way by the satellites lies beyond it; see surface_start")
        return
    low, middle, high = np.percentile(above, [10, 50, 90])
    doubt = ""
    if abs(middle - wanted) > FAR_M:
        doubt = ": it is placed wrongly, see surface_start and surface_z_offset_m"
    archive.notes.append(
        f"measured: the body is {middle:.2f} m above the surface (from {low:.2f} to {high:.2f} m, {len(above)} of "
        f"{len(places)} places by the satellites lie on it), it stands {wanted:.2f} m high{doubt}"
    )


def check_heading(archive: Archive, known_deg: float) -> None:
    """Note which way the odometry's x axis points by the satellites, against the authors' number."""
    odometry, satellites = archive.streams.get(ODOMETRY), archive.streams.get(SATELLITES)
    if odometry is None or satellites is None:
        return
    begin = _begin_ns(odometry)
    unit, wheels = _row_near(satellites, begin), _row_near(odometry, begin)
    if unit is None or wheels is None:
        return
    by_unit = rotated(unit.orientation_xyzw[0], rotated(_body_in_unit(archive)[1], AHEAD))
    by_wheels = rotated(wheels.orientation_xyzw[0], AHEAD)
    found_deg = float(np.degrees(np.arctan2(by_unit[1], by_unit[0]) - np.arctan2(by_wheels[1], by_wheels[0])))
    apart = (found_deg - known_deg + 180) % 360 - 180
    doubt = ": the satellite unit's axes are taken wrongly, see dgps_frame" if abs(apart) > FAR_DEG else ""
    archive.notes.append(
        f"measured: the odometry's x axis points {found_deg % 360:.1f} degrees from east to north by the satellite "
        f"unit, {known_deg:.1f} by the authors' numbers{doubt}"
    )


def _bodies(archive: Archive, record: records.Odometry) -> Numbers:
    """Places (n, 3) of the body from poses of the unit, whose place in it the description has."""
    return np.asarray(record.position_m + rotated(record.orientation_xyzw, _body_in_unit(archive)[0]), float)


def _body_in_unit(archive: Archive) -> tuple[Numbers, Numbers]:
    """The body's place (3,) and quaternion (4,) in the satellite unit."""
    unit = next(stream.child_frame for stream in archive.spec.streams if stream.id == SATELLITES)
    for row in archive.spec.extrinsics:
        if (row.parent, row.child) == (unit, BASE):
            return np.array(row.translation), np.array(row.rotation)
    return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
