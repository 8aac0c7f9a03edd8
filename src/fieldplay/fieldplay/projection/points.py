"""What lasers and radars measure as points in their own frame, each with its own time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SensorPoints:
    """Points (n, 3) in m in the sensor's frame, and when each was measured (n,), in s after the scan's stamp."""

    points: Array
    offsets_s: Array

    def __len__(self) -> int:
        return len(self.points)


def points_from_scan(
    ranges: ArrayLike,
    *,
    angle_min_rad: float,
    angle_increment_rad: float,
    time_increment_s: float = 0.0,
    limits_m: tuple[float, float] = (0.0, np.inf),
) -> SensorPoints:
    """The rays (k,) of a scan that met something within the limits, x along angle 0 and y along a quarter turn."""
    ranges = np.asarray(ranges, np.float64)
    rays = np.flatnonzero(np.isfinite(ranges) & (ranges > 0) & (ranges >= limits_m[0]) & (ranges <= limits_m[1]))
    angles, lengths = angle_min_rad + angle_increment_rad * rays, ranges[rays]
    points = np.stack([lengths * np.cos(angles), lengths * np.sin(angles), np.zeros(len(rays))], axis=-1)
    return SensorPoints(points, np.asarray(time_increment_s * rays, np.float64))


def points_from_cloud(cloud: NDArray[np.void]) -> SensorPoints:
    """The finite points of a structured array (n,) with x, y, z and perhaps `time`; none at the sensor itself."""
    names: Sequence[str] = cloud.dtype.names or ()
    points = np.stack([_numbers(cloud[axis]) for axis in "xyz"], axis=-1)
    offsets = _numbers(cloud["time"]) if "time" in names else np.zeros(len(points))
    is_valid = np.isfinite(points).all(axis=1) & np.isfinite(offsets) & points.any(axis=1)
    return SensorPoints(points[is_valid], offsets[is_valid])


def _numbers(column: NDArray[Any]) -> Array:
    return np.asarray(column, np.float64).reshape(-1)
