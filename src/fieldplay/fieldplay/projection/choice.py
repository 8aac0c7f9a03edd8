"""The picture nearest to a time, and the scans nearest to that; what is damaged is told and the next one taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.serialized_stream import Serialized, SerializedStream
from fieldplay.core.dates import distance_text, time_text
from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages import records
from fieldplay.messages.image_pixels import pixels_from_file, pixels_from_image
from fieldplay.messages.records import Record
from fieldplay.projection.points import SensorPoints, points_from_cloud, points_from_scan
from fieldplay.projection.sensors import Sensor
from fieldplay.streams.stream import Span, Stream

TRIED = 16  # rows beside those wanted, where some are damaged
ROUNDS, CLOSE_NS = 8, NS_PER_S // 10  # of the search in a bag whose headers have another clock than its recorder
Pixels = NDArray[np.uint8]
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class NearRow:
    """A row of a record and its time; in a bag it was logged `delay_ns` later."""

    stamp_ns: int
    record: Record
    row: int
    delay_ns: int = 0


def log_delay_ns(stream: Stream) -> int:
    """How much later the first message of a bag's topic was logged than its header says; 0 for an archive."""
    record = stream.load(0) if isinstance(stream, SerializedStream) and stream.spans else None
    if not isinstance(record, Serialized):
        return 0
    rows = np.arange(min(len(record), TRIED))
    found = (framed.record for row in rows for framed in record.framed(rows[row : row + 1]))
    return next((int(one.leaves_ns[0] - one.stamp_ns[0]) for one in found), 0)


def nearest_rows(stream: Stream, stamp_ns: int, count: int) -> list[NearRow]:
    """Return so many rows, or all there are, those nearest to a time first; of two as near the earlier one.

    A bag is ordered by log time, and its headers may have another clock, which may even run at another rate, as in a
    simulation: the search is repeated with the delay of the message that is found.
    """
    delay_ns, found = log_delay_ns(stream), list[NearRow]()
    for _ in range(ROUNDS):
        found = _nearest_logged(stream, stamp_ns, count, delay_ns=delay_ns)
        if not found or abs(found[0].delay_ns - delay_ns) <= CLOSE_NS:
            break
        delay_ns = found[0].delay_ns
    return found


def _nearest_logged(stream: Stream, stamp_ns: int, count: int, *, delay_ns: int) -> list[NearRow]:
    """The same among the messages that were logged about so much later."""
    found: list[NearRow] = []
    log_ns = stamp_ns + delay_ns
    for index in sorted(range(len(stream.spans)), key=lambda index: _distance(stream.spans[index], log_ns)):
        is_full = len(found) == count
        if is_full and _distance(stream.spans[index], log_ns) > abs(found[-1].stamp_ns - stamp_ns):
            break
        found = sorted(
            [*found, *_nearest_of(stream.load(index), log_ns, count)],
            key=lambda row: (abs(row.stamp_ns - stamp_ns), row.stamp_ns),
        )[:count]
    return found


def _nearest_of(record: Record, log_ns: int, count: int) -> list[NearRow]:
    order = np.argsort(np.abs(record.stamp_ns - log_ns), kind="stable")[:count]
    if isinstance(record, Serialized):  # the times in the messages of a bag are those that count
        found = [framed.record for framed in record.framed(order)]
        rows = [(one, row, *times) for one in found for row, times in enumerate(_times_of(one))]
        return [NearRow(stamp_ns, one, row, delay_ns=logged_ns - stamp_ns) for one, row, stamp_ns, logged_ns in rows]
    return [NearRow(int(record.stamp_ns[row]), record, row) for row in order.tolist()]


def _times_of(record: Record) -> list[tuple[int, int]]:
    return list(zip(record.stamp_ns.tolist(), record.leaves_ns.tolist(), strict=True))


def _distance(span: Span, stamp_ns: int) -> int:
    """How near to a time a row of a span may be."""
    return max(span.first_ns - stamp_ns, stamp_ns - span.last_ns, 0)


@dataclass(frozen=True, eq=False)
class CameraImage:
    """A picture (h, w, 3) in BGR at its time; in a bag it was logged `delay_ns` later."""

    stamp_ns: int
    pixels: Pixels
    delay_ns: int = 0


@dataclass(frozen=True, eq=False)
class Scan:
    """The points of a scan at its time."""

    stamp_ns: int
    points: SensorPoints

    @property
    def then_ns(self) -> NDArray[np.int64]:
        """When each point was measured (n,)."""
        return self.stamp_ns + np.rint(self.points.offsets_s * NS_PER_S).astype(np.int64)


def image_at(camera: Sensor, stamp_ns: int, within_s: float, tell: Tell) -> CameraImage:
    """The picture nearest to a time."""
    rows = _near(camera, stamp_ns, within_s, count=1, other="the time asked for")
    for row in rows:
        try:
            return CameraImage(row.stamp_ns, _pixels_of(row), row.delay_ns)
        except (ArchiveError, OSError) as error:
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


def _near(sensor: Sensor, stamp_ns: int, within_s: float, *, count: int, other: str) -> Sequence[NearRow]:
    rows = nearest_rows(sensor.stream, stamp_ns, count + TRIED)
    near = [row for row in rows if abs(row.stamp_ns - stamp_ns) <= within_s * NS_PER_S]
    if not near:
        apart = distance_text(rows[0].stamp_ns, stamp_ns, other) if rows else ""
        nearest = f"the nearest is at {time_text(rows[0].stamp_ns)}, {apart}" if rows else "there is none"
        raise ArchiveError(f"{sensor.spec.topic}: nothing within {within_s:g} s of {other}; {nearest}")
    return rows if count > 1 else near


def _pixels_of(row: NearRow) -> Pixels:
    if not isinstance(row.record, records.Pictures):
        raise TypeError(f"expected pictures, got {type(row.record).__name__}")
    data = row.record.load(row.row)
    return pixels_from_image(data) if isinstance(data, records.Pixels) else pixels_from_file(data)


def _points_of(row: NearRow) -> SensorPoints:
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


def _name_of(row: NearRow) -> str:
    if isinstance(row.record, records.Pictures | records.Clouds):
        return row.record.names[row.row]
    return f"the scan at {time_text(row.stamp_ns)}"
