"""The picture nearest to a time, and the scans nearest to that; what is damaged is told and the next one taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.projection.moments import distance_text, time_text
from fieldplay.projection.nearest import Row, nearest_rows
from fieldplay.projection.sensors import Sensor
from fieldplay_fusion.projection_points import SensorPoints, points_from_cloud, points_from_scan
from fieldplay_messages import records
from fieldplay_messages.cdr.picture_pixels import PictureError, pixels_from_file, pixels_from_image
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.stamps import NS_PER_S

TRIED = 16  # rows beside those wanted, where some are damaged
Pixels = NDArray[np.uint8]
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture (h, w, 3) in BGR at its time."""

    stamp_ns: int
    pixels: Pixels


@dataclass(frozen=True, eq=False)
class Scan:
    """The points of a scan at its time."""

    stamp_ns: int
    points: SensorPoints

    @property
    def then_ns(self) -> NDArray[np.int64]:
        """When each point was measured (n,)."""
        return self.stamp_ns + np.rint(self.points.offsets_s * NS_PER_S).astype(np.int64)


def picture_at(camera: Sensor, stamp_ns: int, within_s: float, tell: Tell) -> Picture:
    """The picture nearest to a time."""
    rows = _near(camera, stamp_ns, within_s, count=1, other="the time asked for")
    for row in rows:
        try:
            return Picture(row.stamp_ns, _pixels_of(row))
        except (ArchiveError, PictureError, OSError) as error:
            tell(f"{_name_of(row)}: {error}; the next nearest picture is taken")
    raise ArchiveError(f"{camera.spec.topic}: none of {len(rows)} pictures within {within_s:g} s can be read")


def scans_at(laser: Sensor, stamp_ns: int, within_s: float, *, count: int, tell: Tell) -> list[Scan]:
    """The scans nearest to a time, in the order of time; the nearest of them must be within some seconds."""
    rows = _near(laser, stamp_ns, within_s, count=count, other="the picture")
    found: list[Scan] = []
    for row in rows:
        try:
            found.append(Scan(row.stamp_ns, _points_of(row)))
        except (ArchiveError, OSError) as error:
            tell(f"{_name_of(row)}: {error}; it is left out")
        if len(found) == count:
            break
    if not found:
        raise ArchiveError(f"{laser.spec.topic}: none of {len(rows)} scans about the picture can be read")
    return sorted(found, key=lambda scan: scan.stamp_ns)


def _near(sensor: Sensor, stamp_ns: int, within_s: float, *, count: int, other: str) -> Sequence[Row]:
    rows = nearest_rows(sensor.stream, stamp_ns, count + TRIED)
    near = [row for row in rows if abs(row.stamp_ns - stamp_ns) <= within_s * NS_PER_S]
    if not near:
        apart = distance_text(rows[0].stamp_ns, stamp_ns, other) if rows else ""
        nearest = f"the nearest is at {time_text(rows[0].stamp_ns)}, {apart}" if rows else "there is none"
        raise ArchiveError(f"{sensor.spec.topic}: nothing within {within_s:g} s of {other}; {nearest}")
    return rows if count > 1 else near


def _pixels_of(row: Row) -> Pixels:
    if not isinstance(row.record, records.Pictures):
        raise TypeError(f"expected pictures, got {type(row.record).__name__}")
    data = row.record.load(row.row)
    return pixels_from_image(data) if isinstance(data, records.Pixels) else pixels_from_file(data)


def _points_of(row: Row) -> SensorPoints:
    record = row.record
    if isinstance(record, records.Clouds):
        return points_from_cloud(record.load(row.row))
    if isinstance(record, records.LaserScans):
        place = row.row
        return points_from_scan(
            record.ranges_m[place, : record.count[place]],
            angle_min_rad=float(record.angle_min_rad[place]),
            angle_increment_rad=float(record.angle_increment_rad[place]),
            time_increment_s=float(record.time_increment_s[place]),
            limits_m=(float(record.range_min_m[place]), float(record.range_max_m[place])),
        )
    raise TypeError(f"expected scans or clouds, got {type(record).__name__}")


def _name_of(row: Row) -> str:
    if isinstance(row.record, records.Pictures | records.Clouds):
        return row.record.names[row.row]
    return f"the scan at {time_text(row.stamp_ns)}"
