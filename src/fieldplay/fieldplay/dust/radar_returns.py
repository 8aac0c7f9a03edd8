"""What a scanning radar sees in each bearing, and where the returns of a laser lie for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.scans import IntegritySettings
from fieldplay.geometry.transforms import Array, inverse_from_transform

BINS = 360  # bearings of one degree about the radar's own z axis
NS_PER_S = 1_000_000_000
MOST_REVOLUTIONS = 16  # that one look takes in
HISTORY_REVOLUTIONS = 128  # revolutions before those that come


@dataclass(frozen=True, eq=False, kw_only=True)
class Mounting:
    """A laser in the frame of the radar (4, 4), and whether the radar's z axis points up or down: 1 or -1."""

    radar_t_laser: Array
    up: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RadarViews:
    """Revolutions at their times (m,) in order: the nearest range in each bearing (m, BINS), infinite where none is."""

    stamp_ns: NDArray[np.int64]
    nearest_m: Array

    def between(self, first_ns: int, last_ns: int) -> "RadarViews":
        """Those with first_ns <= time <= last_ns."""
        start, end = np.searchsorted(self.stamp_ns, (first_ns, last_ns + 1))
        return RadarViews(stamp_ns=self.stamp_ns[start:end], nearest_m=self.nearest_m[start:end])

    def with_revolutions(
        self, settings: IntegritySettings, stamp_ns: NDArray[np.int64], points: Sequence[Array]
    ) -> "RadarViews":
        """The last of these and further revolutions (m,), each of points (n, 3) in the radar's frame.

        What lies ahead of them is forgotten: it is of a time from which one jumped back.
        """
        if not len(stamp_ns):
            return self
        end = int(np.searchsorted(self.stamp_ns, stamp_ns[0]))
        start = max(0, end + 1 - HISTORY_REVOLUTIONS)
        nearest = [nearest_from_returns(settings, revolution)[None] for revolution in points]
        return RadarViews(
            stamp_ns=np.concatenate([self.stamp_ns[start:end], stamp_ns]),
            nearest_m=np.concatenate([self.nearest_m[start:end], *nearest]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RadarCoverage:
    """Laser returns (n, k) as the radar has them: bearing as a bin, range, and how far above its plane."""

    bin: NDArray[np.intp]
    range_m: Array
    above_m: Array


def mounting_from_base(base_t_laser: Array, base_t_radar: Array) -> Mounting:
    """Both mountings in a base whose z axis points up (4, 4)."""
    radar_t_laser = inverse_from_transform(base_t_radar) @ base_t_laser
    return Mounting(radar_t_laser=radar_t_laser, up=1.0 if base_t_radar[2, 2] >= 0 else -1.0)


def nearest_from_returns(settings: IntegritySettings, points: Array) -> Array:
    """The nearest range in each bearing (BINS,) from the points of a revolution (n, 3) in the radar's frame.

    A return stands for all bearings within cell_deg of it.
    """
    range_m = np.sqrt((points * points).sum(axis=-1))
    keep_mask = range_m >= settings.radar_nearest_m
    bins = _bins(points[keep_mask, 0], points[keep_mask, 1])
    reach = round(settings.cell_deg)
    around = (bins[:, None] + np.arange(-reach, reach + 1)) % BINS
    nearest = np.full(BINS, np.inf)
    np.minimum.at(nearest, around, range_m[keep_mask, None])
    return nearest


def reach_ns(settings: IntegritySettings) -> int:
    """How long before a scan a revolution may lie that counts for it."""
    return round((settings.radar_delay_s + settings.radar_memory_s) * NS_PER_S) + 1


def no_views() -> RadarViews:
    """No revolution."""
    return RadarViews(stamp_ns=np.zeros(0, np.int64), nearest_m=np.zeros((0, BINS)))


def nearest_at(settings: IntegritySettings, views: RadarViews, stamp_ns: NDArray[np.int64]) -> Array:
    """The nearest range (n, BINS) of the revolutions that count at each of the times (n,)."""
    newest = stamp_ns - round(settings.radar_delay_s * NS_PER_S)
    start = np.searchsorted(views.stamp_ns, newest - round(settings.radar_memory_s * NS_PER_S))
    count = np.searchsorted(views.stamp_ns, newest, side="right") - start
    nearest = np.full((len(stamp_ns), BINS), np.inf)
    for step in range(min(int(count.max(initial=0)), MOST_REVOLUTIONS)):
        rows = np.flatnonzero(count > step)
        nearest[rows] = np.minimum(nearest[rows], views.nearest_m[start[rows] + step])
    return nearest


def project_to_radar(mounting: Mounting, angles_rad: Array, range_m: Array) -> RadarCoverage:
    """Transform laser returns (n, k) at their angles in the laser's frame to the radar's bins and ranges."""
    rotation, translation = mounting.radar_t_laser[:3, :3], mounting.radar_t_laser[:3, 3]
    ahead, left = range_m * np.cos(angles_rad), range_m * np.sin(angles_rad)
    x, y, z = (rotation[axis, 0] * ahead + rotation[axis, 1] * left + translation[axis] for axis in range(3))
    level = np.hypot(x, y)
    return RadarCoverage(bin=_bins(x, y), range_m=np.hypot(level, z), above_m=mounting.up * z)


def _bins(x: Array, y: Array) -> NDArray[np.intp]:
    return np.asarray(np.floor(np.degrees(np.arctan2(y, x)) * (BINS / 360)), np.intp) % BINS
