"""Depth maps and clouds of points, as points in the sensor's frame: x ahead, y left, z up."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay_cdff.logs.types.rows import MISSING, Floats, field

PLANAR, POLAR = "planar", "polar"
MOST_CELLS = 4_000_000
FAR_M = 1e4  # where float32 begins to lose millimetres
XYZ = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
INTENSITY, RING, TIME = ("intensity", "<f4"), ("ring", "<u2"), ("time", "<f4")

Points = NDArray[np.void]


def points_from_depth_map(sample: Any, stamp_ns: int, ns_per_unit: int) -> Points:
    """Points that were measured, row by row from the top: x y z, intensity if there is one, ring, time if it is known.

    The ring counts from the lowest row; the time is in seconds after the stamp.
    """
    rows, columns = _size(sample, "verticalsize"), _size(sample, "horizontalsize")
    distance = _numbers(sample, "distances")
    if len(distance) != rows * columns or rows * columns > MOST_CELLS:
        raise ArchiveError(f"expected {rows} x {columns} distances, got {len(distance)}")
    direction = _directions(sample, rows, columns)
    is_measured = np.isfinite(distance) & (distance > 0)
    remission, time = _numbers(sample, "remissions"), _times_s(sample, rows, columns, stamp_ns, ns_per_unit)
    has_remission = len(remission) == len(distance)
    kinds = [*XYZ, *([INTENSITY] if has_remission else []), RING, *([TIME] if time is not None else [])]
    points = np.zeros(int(is_measured.sum()), kinds)
    _set_places(points, direction[is_measured] * distance[is_measured, None])
    ring = np.repeat(np.arange(rows - 1, -1, -1), columns)
    points["ring"] = ring[is_measured]
    if has_remission:
        points["intensity"] = remission[is_measured]
    if time is not None:
        points["time"] = np.maximum(time[is_measured], 0.0)
    return points


def earliest_offset_ns(sample: Any, stamp_ns: int, ns_per_unit: int) -> int:
    """How long after the stamp the first point was measured; negative where it was before."""
    times = _timestamps(sample)
    return int(times.min()) * ns_per_unit - stamp_ns if len(times) else 0


def _size(sample: Any, name: str) -> int:
    value = field(sample, name)
    if type(value) is not int or not 0 < value <= MOST_CELLS:
        raise ArchiveError(f"{name}: expected a size, got {value!r}")
    return value


def _numbers(sample: Any, name: str) -> Floats:
    try:
        return np.asarray(field(sample, name, default=[]), np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError(f"{name}: expected numbers, got other things") from None


def _directions(sample: Any, rows: int, columns: int) -> Floats:
    """Unit vectors (rows * columns, 3). An elevation is positive downwards, an azimuth to the left."""
    down, is_planar = _angles(sample, "vertical", rows)
    elevation = np.arctan(down) if is_planar else down
    left, is_planar = _angles(sample, "horizontal", columns)
    azimuth = np.arctan(-left) if is_planar else left
    across = np.cos(elevation)[:, None]
    x, y = across * np.cos(azimuth), across * np.sin(azimuth)
    z = np.broadcast_to(-np.sin(elevation)[:, None], x.shape)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def _angles(sample: Any, way: str, count: int) -> tuple[Floats, bool]:
    """The values (count,) of an interval, and whether they are of a plane rather than angles."""
    is_planar = PLANAR in str(field(sample, f"{way}projection")).lower()
    given = _numbers(sample, f"{way}interval")
    if len(given) == count:
        return given, is_planar
    if len(given) == 2:
        first, last = given
        if not is_planar and first == last:
            last = first + 2 * np.pi
        return first + np.arange(count) * (last - first) / max(count - 1, 1), is_planar
    if len(given) == 1:
        return np.full(count, given[0]), is_planar
    raise ArchiveError(f"{way}_interval: expected 1, 2 or {count} numbers, got {len(given)}")


def _timestamps(sample: Any) -> NDArray[np.int64]:
    """The times as in the log."""
    given = field(sample, "timestamps", default=[])
    inner = field(given, "microseconds")
    given = given if inner is None else inner
    if isinstance(given, list):
        given = [field(item, "microseconds", default=item) for item in given]
    try:
        return np.asarray(given, np.int64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError("timestamps: expected times, got other things") from None


def _times_s(sample: Any, rows: int, columns: int, stamp_ns: int, ns_per_unit: int) -> Floats | None:
    """Seconds (rows * columns,) after the stamp, by columns, rows or points; None where one time is for all."""
    times = _timestamps(sample)
    if len(times) < 2:
        return None
    since = times - stamp_ns // ns_per_unit
    seconds = (since * ns_per_unit - stamp_ns % ns_per_unit) / NS_PER_S
    if len(times) == 2:
        return np.tile(np.linspace(seconds[0], seconds[1], columns), rows)
    if len(times) == columns:
        return np.tile(seconds, rows)
    if len(times) == rows:
        return np.repeat(seconds, columns)
    if len(times) == rows * columns:
        return seconds
    raise ArchiveError(f"timestamps: expected 1, 2, {rows}, {columns} or {rows * columns}, got {len(times)}")


def points_from_cloud(sample: Any, _stamp_ns: int = 0, _ns_per_unit: int = 1) -> Points:
    """A cloud's points that are finite: x y z, and intensity where each has one; they have no times."""
    places = _vectors(field(sample, "data.points", "points", default=MISSING))
    intensity = _numbers(field(sample, "data", default=sample), "intensity")
    has_intensity = len(intensity) == len(places) > 0
    is_finite = np.isfinite(places).all(axis=1)
    points = np.zeros(int(is_finite.sum()), [*XYZ, *([INTENSITY] if has_intensity else [])])
    _set_places(points, places[is_finite])
    if has_intensity:
        points["intensity"] = intensity[is_finite]
    return points


def is_far(points: Points) -> bool:
    """Whether points lie so far away that float32 does not hold them to the millimetre."""
    return bool(len(points)) and max(float(np.abs(points[axis]).max()) for axis in "xyz") > FAR_M


def _vectors(given: Any) -> Floats:
    """Places (n, 3) in whatever form."""
    if isinstance(given, dict):
        given = field(given, "data", default=MISSING)
    if not isinstance(given, list | tuple | np.ndarray):
        got = "none" if given is MISSING else type(given).__name__
        raise ArchiveError(f"points: expected a list of points, got {got}")
    if isinstance(given, list) and given and isinstance(given[0], dict):
        given = [field(item, "data", "arr") for item in given]
    try:
        return np.asarray(given, np.float64).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError("points: expected three numbers each, got other things") from None


def _set_places(points: Points, places: Floats) -> None:
    for index, axis in enumerate("xyz"):
        points[axis] = places[:, index]
