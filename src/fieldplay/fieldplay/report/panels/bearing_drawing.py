"""Figures of planar range sensors: how often each bearing gave each range, and the ranges over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.markup import Html
from fieldplay.report.html.raster import cells_of_shares, curve_over, key, ramp, raster_figure
from fieldplay.report.html.ticks import Axis, count_text, many, number_axis, number_text
from fieldplay.report.panels.bearing_grids import BEARINGS, CELL_M, PER_DEG, RANGES, SECTORS, Grid, LaserSeen, RadarSeen
from fieldplay.report.recording import Recording
from fieldplay_kinematics.frames import Frames
from fieldplay_kinematics.transforms import Array

Seen = LaserSeen | RadarSeen
SHOWN_SHARE, STEP_M, MOST_M = 0.99, 5.0, 80.0
TICKS_DEG = range(180, -181, -45)
LEAST_LEVEL = 0.5  # of a sensor's z axis upwards or downwards; else it stands on its edge
QUANTILES = (0.1, 0.5, 0.9)
ROWS = 160  # of a picture over time


@dataclass(frozen=True)
class _Level:
    """How bearings in a base come from a sensor's own: sense * own + yaw, in degrees."""

    sense: float = 1.0
    yaw_deg: float = 0.0
    is_level: bool = True

    def own(self, bearing_deg: Array) -> Array:
        """The sensor's own bearings, from -180 to 180."""
        found: Array = (self.sense * (bearing_deg - self.yaw_deg) + 180.0) % 360.0 - 180.0
        return found


def shown_range_m(grids: Sequence[Grid]) -> float:
    """How far figures reach: as nearly all returns of some sensors do."""
    counts = np.sum([grid.counts.sum(axis=0) for grid in grids], axis=0)
    reached = np.searchsorted(np.cumsum(counts), SHOWN_SHARE * counts.sum()) + 1
    return float(np.clip(STEP_M * np.ceil(reached * CELL_M / STEP_M - 0.1), STEP_M, MOST_M))


def density_figure(
    name: str, seen: Seen, frames: Frames, *, top_m: float, radar: RadarSeen | None = None,
    filtered: LaserSeen | None = None,
) -> Html:  # fmt: skip
    """All returns by bearing and range, those that a filter took out in a colour, and the radar's ranges over them."""
    level = _level(frames, seen.frame)
    counts = seen.grid.counts
    x_axis, columns = _bearings(counts, level)
    rows = np.arange(round(top_m / CELL_M))[::-1]
    cells = counts[columns][:, rows].T.astype(np.float64)
    shares = np.log1p(cells) / max(np.log1p(cells.max(initial=0.0)), 1.0)
    flagged = None
    if filtered is not None:
        kept = filtered.grid.counts[columns][:, rows].T
        flagged = (cells > 0) & (cells > 2 * kept)
    pixels = cells_of_shares(np.where(cells > 0, shares, np.nan), flagged)
    axes = (x_axis, number_axis_from_zero(top_m))
    is_compared = radar is not None and level.is_level
    layers = _radar_curves(radar, _level(frames, radar.frame), axes) if radar is not None and is_compared else []
    told = f"{count_text(int(counts.sum()))} returns, m over degrees{'' if level.is_level else ' in its own plane'}"
    keys = [key("s1", "taken out")] if filtered is not None else []
    keys += [key("s3", "radar: median, nearest and farthest tenth")] if layers else []
    return raster_figure(name, told, pixels, axes=axes, layers=layers, foot=ramp("few", "many", keys))


def waterfall_figure(recording: Recording, name: str, seen: Seen, *, top_m: float) -> Html:
    """The ranges of each bearing over time, from the top down."""
    level = _level(recording.frames, seen.frame)
    x_axis, columns = _bearings(seen.grid.counts, level, step=PER_DEG)
    own_deg = (columns + 0.5) / PER_DEG - 180.0
    stamp_ns, ranges = _ranges_at(seen, own_deg)
    down = recording.time_axis()
    pictured = _evenly(recording.seconds(stamp_ns), ranges, down)
    pixels = cells_of_shares(np.minimum(pictured / top_m, 1.0))
    told = f"ranges over time, of {count_text(len(stamp_ns))} of {many(seen.rows.seen if seen.rows else 0, 'scan')}"
    return raster_figure(name, told, pixels, axes=(x_axis, down.turned()), foot=ramp("0 m", f"{number_text(top_m)} m"))


def number_axis_from_zero(top: float) -> Axis:
    """An axis from 0 to a number, without room."""
    return Axis(0.0, top, tuple(tick for tick in number_axis(0.0, top).ticks if 0.0 <= tick[0] <= top))


def _level(frames: Frames, frame: str) -> _Level:
    """How a sensor lies in the frame that carries it; as if it were that frame where nothing is known."""
    path = frames.path_to_root(frame)
    edges = frames.parents
    carrying = frame
    for name in path[:-1]:
        if not edges[name].is_static:
            break
        carrying = edges[name].parent
    found = frames.transform(carrying, frame, np.zeros(1, np.int64))
    if found is None or carrying == frame:
        return _Level()
    turn = found[0][0, :3, :3]
    if abs(turn[2, 2]) < LEAST_LEVEL:
        return _Level(is_level=False)
    return _Level(float(np.sign(turn[2, 2])), float(np.degrees(np.arctan2(turn[1, 0], turn[0, 0]))))


def _bearings(counts: NDArray[np.int64], level: _Level, step: int = 1) -> tuple[Axis, NDArray[np.intp]]:
    """The axis from the left to the right that holds all returns, and the columns of counts along it."""
    shown = np.arange(BEARINGS)[::-1]
    bearing_deg = (shown + 0.5) / PER_DEG - 180.0
    columns = np.floor((level.own(bearing_deg) + 180.0) * PER_DEG).astype(np.intp) % BEARINGS
    met = np.flatnonzero(counts[columns].sum(axis=1))
    first, last = (int(met[0]), int(met[-1]) + 1) if len(met) else (0, BEARINGS)
    high, low = 180.0 - first / PER_DEG, 180.0 - last / PER_DEG
    chosen = [tick for tick in TICKS_DEG[:: 1 if high - low <= 200 else 2] if low <= tick <= high]
    ticks = tuple((float(tick), f"{tick}°".replace("-", "\u2212")) for tick in chosen)
    return Axis(high, low, ticks), columns[first:last:step]


def _radar_curves(radar: RadarSeen, level: _Level, axes: tuple[Axis, Axis]) -> list[Html]:
    """Quantiles of the radar's ranges in each degree."""
    bearing_deg = np.arange(axes[0].high, axes[0].low, 1.0)
    own = np.floor((level.own(bearing_deg) + 180.0) * PER_DEG).astype(np.intp)
    around = own[:, None] + np.arange(-3, 4)
    counts = radar.grid.counts[around % BEARINGS].sum(axis=1)
    total = np.cumsum(counts, axis=1)
    curves = []
    for quantile in QUANTILES:
        place = np.array((total < quantile * total[:, -1:]).sum(axis=1), np.float64)
        range_m = np.where(total[:, -1] > 0, (place + 0.5) * CELL_M, np.nan)
        within = np.where(range_m <= RANGES * CELL_M, np.minimum(range_m, axes[1].high), np.nan)
        curves.append(curve_over(bearing_deg, within, axes, "s3"))
    return curves


def _ranges_at(seen: Seen, own_deg: Array) -> tuple[NDArray[np.int64], Array]:
    """The times (n,) of what was kept, and the ranges (n, k) at bearings (k,) of the sensor's own."""
    if isinstance(seen, RadarSeen):
        stamp_ns, values = seen.rows.rows()
        return stamp_ns, values[:, np.floor(own_deg).astype(np.intp) % SECTORS]
    if seen.rows is None:
        return np.zeros(0, np.int64), np.zeros((0, len(own_deg)))
    stamp_ns, values = seen.rows.rows()
    beam = np.rint((np.radians(own_deg) - values[:, :1]) / seen.step_rad).astype(np.intp) + 1
    inside = (beam >= 1) & (beam < values.shape[1])
    return stamp_ns, np.where(inside, np.take_along_axis(values, np.where(inside, beam, 1), axis=1), np.nan)


def _evenly(seconds: Array, ranges: Array, axis: Axis) -> Array:
    """The rows (ROWS, k) nearest to even places on the axis of time, NaN where there is none near."""
    if not len(seconds):
        return np.full((ROWS, ranges.shape[1]), np.nan)
    wanted = axis.values((np.arange(ROWS) + 0.5) / ROWS)
    after = np.clip(np.searchsorted(seconds, wanted), 0, len(seconds) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(seconds[before] - wanted) < np.abs(seconds[after] - wanted)
    nearest = np.where(closer, before, after)
    usual = float(np.median(np.diff(seconds))) if len(seconds) > 1 else axis.high
    steps = np.diff(wanted)
    step = float(np.median(steps[np.isfinite(steps)])) if np.isfinite(steps).any() else 0.0
    near = np.abs(seconds[nearest] - wanted) <= max(2 * usual, step)
    return np.where(near[:, None], ranges[nearest], np.nan)
