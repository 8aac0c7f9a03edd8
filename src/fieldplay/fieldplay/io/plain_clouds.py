"""Point clouds in files of plain numbers, without a header: float32 in binary files, and text with a row a point."""

import io
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError

NUMBER = np.dtype("<f4")
AXES = ("x", "y", "z")


def cloud_from_floats(data: bytes, fields: Sequence[str]) -> NDArray[np.void]:
    """Decode a cloud of little-endian float32, point after point.

    Args:
        data: the bytes of the file.
        fields: the numbers of a point in their order, as `x`, `y`, `z`, `intensity`.

    Returns:
        Points (n,) as a structured array of float32 with these fields, those left out whose position is not finite.

    Raises:
        ArchiveError: the bytes are no whole points, as of a file that was cut off.
    """
    size = NUMBER.itemsize * len(fields)
    if len(data) % size:
        raise ArchiveError(f"expected points of {size} bytes, got {len(data)} bytes: {len(data) % size} too many")
    return _dense(np.frombuffer(data, NUMBER).reshape(-1, len(fields)), fields)


def cloud_from_text(data: bytes, fields: Sequence[str]) -> NDArray[np.void]:
    """Decode a cloud of text, a point a line, the numbers separated by blanks or commas.

    Args:
        data: the bytes of the file.
        fields: the numbers of a point in their order.

    Returns:
        Points (n,) as `cloud_from_floats` has them.

    Raises:
        ArchiveError: a line has another number of numbers, or something that is none; the message names the line.
    """
    text = data.replace(b",", b" ") if b"," in data else data
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty file is a cloud without points
            values = np.loadtxt(io.BytesIO(text), dtype=np.float32, ndmin=2, encoding="utf-8")
    except (ValueError, UnicodeDecodeError):
        raise ArchiveError(_explain(text, len(fields))) from None
    if values.size and values.shape[1] != len(fields):
        raise ArchiveError(_explain(text, len(fields)))
    return _dense(values.reshape(-1, len(fields)), fields)


def add_azimuth_times(points: NDArray[np.void], duration_s: float, *, is_clockwise: bool) -> NDArray[np.void]:
    """Give the points of a sweep the time at which the scanner looked at them, by their azimuth.

    The sweep starts and ends at the rear, and turns evenly.

    Args:
        points: (n,) with x forward and y left in m.
        duration_s: of the sweep in s.
        is_clockwise: how it turns, seen from above.

    Returns:
        The points with a further field `time`, in s after the start.
    """
    names = points.dtype.names or ()
    timed = np.empty(len(points), [*((name, points.dtype[name]) for name in names), ("time", "<f4")])
    for name in names:
        timed[name] = points[name]
    azimuth = np.arctan2(points["y"], points["x"])
    timed["time"] = ((-azimuth if is_clockwise else azimuth) + np.pi) * (duration_s / (2 * np.pi))
    return timed


def _explain(text: bytes, count: int) -> str:
    """The first line that is no point."""
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split()
        if parts and len(parts) != count:
            return f"line {number}: expected {count} numbers, got {len(parts)}"
        for part in parts:
            try:
                float(part)
            except ValueError:
                return f"line {number}: expected a number, got '{part[:40].decode('ascii', 'replace')}'"
    return f"expected lines of {count} numbers, got others"


def _dense(values: NDArray[np.float32], fields: Sequence[str]) -> NDArray[np.void]:
    """The points with a position, as a structured array."""
    axes = [fields.index(axis) for axis in AXES]
    is_finite = np.isfinite(values[:, axes]).all(axis=1)
    values = values if is_finite.all() else values[is_finite]
    points: NDArray[np.void] = np.ascontiguousarray(values, NUMBER).view([(name, "<f4") for name in fields]).reshape(-1)
    return points
