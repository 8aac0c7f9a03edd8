"""What range sensors met, by bearing and range: counts of all returns, and a few whole scans."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.cdr.columns import Columns
from fieldplay_messages.thinning import ThinRows

PER_DEG, CELL_M = 2, 0.25
BEARINGS, RANGES = 360 * PER_DEG, 320  # cells, up to 80 m
OFF_EDGE = 0.25  # of a cell, so that beams at quarters of a degree do not lie on edges
KEPT_ROWS = 200
SECTORS = 360  # of a revolution
SECTOR_REACH = 2  # to either side of a return, so that there is no gap between those of a radar
MOST_BEAMS = 2000

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(eq=False)
class Grid:
    """How many returns met each cell (BEARINGS, RANGES); bearings from -180 degrees on, about the sensor's z axis."""

    counts: Counts = field(default_factory=lambda: np.zeros((BEARINGS, RANGES), np.int64))

    def add(self, bearing_rad: Array, range_m: Array) -> None:
        """Further returns (n,)."""
        column = np.floor(np.degrees(bearing_rad) * PER_DEG + OFF_EDGE).astype(np.int64) + BEARINGS // 2
        row = np.floor(range_m / CELL_M).astype(np.int64)
        inside = (row >= 0) & (row < RANGES)
        place = column[inside] % BEARINGS * RANGES + row[inside]
        np.add.at(self.counts.reshape(-1), place, 1)


@dataclass(eq=False)
class LaserSeen:
    """Scans of a laser: all in a grid, a few as rows of where they begin and their ranges."""

    frame: str = ""
    step_rad: float = 0.0
    grid: Grid = field(default_factory=Grid)
    rows: ThinRows | None = None
    _beams: int = 0

    def add(self, columns: Columns) -> None:
        """Further scans."""
        ranges = columns.rows["ranges"].astype(np.float64)
        if ranges.ndim != 2 or not 0 < ranges.shape[1] <= MOST_BEAMS:
            return
        low, high, begins, steps = columns.numbers("range_min", "range_max", "angle_min", "angle_increment").T
        ranges[~((ranges >= low[:, None]) & (ranges <= high[:, None]))] = np.nan
        good = np.isfinite(begins) & np.isfinite(steps) & (np.abs(begins) < 10) & (np.abs(steps) < 1)
        ranges, begins, steps = ranges[good], begins[good], steps[good]
        if not len(ranges):
            return
        self.frame, self.step_rad = columns.text("header.frame_id").lstrip("/"), float(steps[-1])
        met = np.isfinite(ranges)
        angles = begins[:, None] + steps[:, None] * np.arange(ranges.shape[1])
        self.grid.add(angles[met], ranges[met])
        self._keep(columns.time_ns()[good], begins, ranges)

    def _keep(self, stamp_ns: NDArray[np.int64], begins: Array, ranges: Array) -> None:
        if self.rows is None:
            self._beams = ranges.shape[1] + 1  # scans may differ by one
            self.rows = ThinRows(1 + self._beams, KEPT_ROWS)
        filled = np.full((len(ranges), self._beams), np.nan)
        filled[:, : ranges.shape[1]] = ranges[:, : self._beams]
        self.rows.add(stamp_ns, np.concatenate([begins[:, None], filled], axis=1))


@dataclass(eq=False)
class RadarSeen:
    """Revolutions of a radar: all returns in a grid, a few revolutions as the nearest range in each sector."""

    frame: str = ""
    grid: Grid = field(default_factory=Grid)
    rows: ThinRows = field(default_factory=lambda: ThinRows(SECTORS, KEPT_ROWS))

    def add(self, stamp_ns: int, frame: str, points: Array) -> None:
        """A revolution with its points (n, 3)."""
        self.frame = frame
        bearing, range_m = np.arctan2(points[:, 1], points[:, 0]), np.linalg.norm(points, axis=1)
        self.grid.add(bearing, range_m)
        nearest = np.full(SECTORS, np.nan)
        around = np.floor(np.degrees(bearing)).astype(np.int64)[:, None] + np.arange(-SECTOR_REACH, SECTOR_REACH + 1)
        np.fmin.at(nearest, around % SECTORS, range_m[:, None])
        self.rows.add(np.array([stamp_ns], np.int64), nearest[None])
