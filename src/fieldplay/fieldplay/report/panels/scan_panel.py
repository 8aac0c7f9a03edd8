"""Range sensors in one plane: range against bearing, over time, lasers against a radar, and how much is suspect."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator, RowDecimator, middle_index
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import (
    Axis,
    count_noun,
    count_text,
    number_axis,
    number_text,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.dust.radar_returns import mounting_from_base, project_to_radar
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages.codec import DIAGNOSTICS, MARKERS
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD, points_from_rows
from fieldplay.messages.records import (
    Clouds,
    Diagnostics,
    LaserScans,
    Markers,
    Scalars,
)
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.html.charts import Curve, dots, line_chart, mark, plane_drawing, plane_of_points
from fieldplay.report.html.html_images import (
    cells_of_fractions,
    curve_over,
    key,
    label_over,
    ramp,
    raster_figure,
)
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
    path_text,
    plain_table,
)
from fieldplay.report.panels.overview_panel import Numbers, Overview

PER_DEG, CELL_M = 2, 0.25
BEARINGS, RANGES = 360 * PER_DEG, 320  # cells, up to 80 m
OFF_EDGE = 0.25  # of a cell, so that beams at quarters of a degree do not lie on edges
MAX_ROWS = 200
SECTORS = 360  # of a revolution
SECTOR_REACH = 2  # to either side of a return, so that there is no gap between those of a radar
MAX_BEAMS = 2000
Counts = NDArray[np.int64]
SHOWN_FRACTION, STEP_M, MAX_M = 0.99, 5.0, 80.0
TICKS_DEG = range(180, -181, -45)
MIN_LEVEL = 0.5  # of a sensor's z axis upwards or downwards; else it stands on its edge
QUANTILES = (0.1, 0.5, 0.9)
ROWS = 160  # of a picture over time
NEAREST_M, FARTHEST_M, BIN_M = -15.0, 15.0, 0.5
NEAR_IN_TIME_NS = NS_PER_S
SCAN = "sensor_msgs/msg/LaserScan"
MAX_TOPICS = 12
MAX_SCANS = 2
FARTHEST_POINT_M = 1e6
Points = NDArray[np.float64]
SUSPECT_RATIO = "std_msgs/msg/Float32"
FILTERED, SUSPECT, REPORT = "_filtered", "/suspect_ratio", "/integrity"  # how topics end
OBJECTS, VISIBLE = "/reference_objects", 0.5  # how the topic ends; markers more transparent are not there
MAX_SENSORS = 8
MAX_BYTES = 100_000  # of a revolution: more is no radar that gives one range for each bearing
FLAT = 1e-3  # of the range
LEAD = (
    "Range against bearing as seen from above, the left on the left; a sensor that stands on its edge has the angles "
    "of its own plane. Where lasers are compared with a radar, orange is what that takes for dust, smoke or rain. "
    "Numbers are objects whose places are known, if the recording has reference_objects."
)


# What range sensors met, by bearing and range: what is kept of it, and the figures of it.


@dataclass(eq=False)
class BearingCounts:
    """How many returns met each cell (BEARINGS, RANGES); bearings from -180 degrees on, about the sensor's z axis."""

    counts: Counts = field(default_factory=lambda: np.zeros((BEARINGS, RANGES), np.int64))

    def add(self, bearing_rad: Array, range_m: Array) -> None:
        """Further returns (n,)."""
        column = np.floor(np.degrees(bearing_rad) * PER_DEG + OFF_EDGE).astype(np.int64) + BEARINGS // 2
        row = np.floor(range_m / CELL_M).astype(np.int64)
        inside = (row >= 0) & (row < RANGES)
        cell = column[inside] % BEARINGS * RANGES + row[inside]
        np.add.at(self.counts.reshape(-1), cell, 1)


@dataclass(eq=False)
class LaserSeen:
    """Scans of a laser: all in a grid, a few as rows of where they begin and their ranges."""

    frame: str = ""
    step_rad: float = 0.0
    grid: BearingCounts = field(default_factory=BearingCounts)
    rows: RowDecimator | None = None
    _beams: int = 0

    def add(self, record: LaserScans, frame: str) -> None:
        """Further scans, all with as many ranges."""
        ranges = record.ranges_m[:, : record.count[0]].copy()
        if not 0 < ranges.shape[1] <= MAX_BEAMS:
            return
        low, high, starts, steps = (
            record.range_min_m,
            record.range_max_m,
            record.angle_min_rad,
            record.angle_increment_rad,
        )
        ranges[~((ranges >= low[:, None]) & (ranges <= high[:, None]))] = np.nan
        good = np.isfinite(starts) & np.isfinite(steps) & (np.abs(starts) < 10) & (np.abs(steps) < 1)
        ranges, starts, steps = ranges[good], starts[good], steps[good]
        if not len(ranges):
            return
        self.frame, self.step_rad = frame.lstrip("/"), float(steps[-1])
        met = np.isfinite(ranges)
        angles = starts[:, None] + steps[:, None] * np.arange(ranges.shape[1])
        self.grid.add(angles[met], ranges[met])
        self._keep(record.stamp_ns[good], starts, ranges)

    def _keep(self, stamp_ns: NDArray[np.int64], starts: Array, ranges: Array) -> None:
        if self.rows is None:
            self._beams = ranges.shape[1] + 1  # scans may differ by one
            self.rows = RowDecimator(1 + self._beams, MAX_ROWS)
        filled = np.full((len(ranges), self._beams), np.nan)
        filled[:, : ranges.shape[1]] = ranges[:, : self._beams]
        self.rows.add(stamp_ns, np.concatenate([starts[:, None], filled], axis=1))


@dataclass(eq=False)
class RadarSeen:
    """Revolutions of a radar: all returns in a grid, a few revolutions as the nearest range in each sector."""

    frame: str = ""
    grid: BearingCounts = field(default_factory=BearingCounts)
    rows: RowDecimator = field(default_factory=lambda: RowDecimator(SECTORS, MAX_ROWS))

    def add(self, stamp_ns: int, frame: str, points: Array) -> None:
        """A revolution with its points (n, 3)."""
        self.frame = frame
        bearing, range_m = np.arctan2(points[:, 1], points[:, 0]), np.linalg.norm(points, axis=1)
        self.grid.add(bearing, range_m)
        nearest = np.full(SECTORS, np.nan)
        around = np.floor(np.degrees(bearing)).astype(np.int64)[:, None] + np.arange(-SECTOR_REACH, SECTOR_REACH + 1)
        np.fmin.at(nearest, around % SECTORS, range_m[:, None])
        self.rows.add(np.array([stamp_ns], np.int64), nearest[None])


RangeSensor = LaserSeen | RadarSeen


@dataclass(frozen=True, kw_only=True, eq=False)
class ReferenceObjects:
    """Objects of known places: their frame, a time at which it is known, their names, and positions (n, 3) in it."""

    frame: str
    stamp_ns: int
    names: tuple[str, ...]
    position_m: Array

    def labels(self, frames: Frames, sensor: str, axes: tuple[Axis, Axis]) -> tuple[list[Html], list[str]]:
        """The number of each object at its bearing and range from a sensor, and what the numbers are."""
        transform = frames.transform(sensor, self.frame, np.array([self.stamp_ns], np.int64))
        if transform is None or not transform[1][0]:
            return [], []
        level = _level(frames, sensor)
        seen = self.position_m @ transform[0][0, :3, :3].T + transform[0][0, :3, 3]
        own_deg, range_m = np.degrees(np.arctan2(seen[:, 1], seen[:, 0])), np.hypot(seen[:, 0], seen[:, 1])
        bearing_deg = (level.sense * own_deg + level.yaw_deg + 180.0) % 360.0 - 180.0
        fractions = axes[0].fractions(bearing_deg), axes[1].fractions(range_m)
        inside = np.all([(fraction >= 0) & (fraction <= 1) for fraction in fractions], axis=0)
        indices = np.flatnonzero(inside & level.is_level).tolist()
        labels = [label_over(float(bearing_deg[i]), float(range_m[i]), axes, str(i + 1)) for i in indices]
        return labels, [f"{i + 1} {self.names[i]}" for i in indices]


@dataclass(frozen=True)
class _Level:
    """How bearings in a base come from a sensor's own: sense * own + yaw, in degrees."""

    sense: float = 1.0
    yaw_deg: float = 0.0
    is_level: bool = True

    def own(self, bearing_deg: Array) -> Array:
        """The sensor's own bearings, from -180 to 180."""
        own_deg: Array = (self.sense * (bearing_deg - self.yaw_deg) + 180.0) % 360.0 - 180.0
        return own_deg


def display_range_m(grids: Sequence[BearingCounts]) -> float:
    """The range of the figures, which covers nearly all returns."""
    counts = np.sum([grid.counts.sum(axis=0) for grid in grids], axis=0)
    reached = np.searchsorted(np.cumsum(counts), SHOWN_FRACTION * counts.sum()) + 1
    return float(np.clip(STEP_M * np.ceil(reached * CELL_M / STEP_M - 0.1), STEP_M, MAX_M))


def density_figure(
    name: str, seen: RangeSensor, frames: Frames, *, top_m: float, radar: RadarSeen | None = None,
    filtered: LaserSeen | None = None, objects: ReferenceObjects | None = None,
) -> Html:  # fmt: skip
    """All returns by bearing and range, those that a filter took out in a colour, and the radar's ranges over them.

    Objects of known places have numbers, with their names below.
    """
    level = _level(frames, seen.frame)
    counts = seen.grid.counts
    x_axis, columns = _bearings(counts, level)
    rows = np.arange(round(top_m / CELL_M))[::-1]
    cells = counts[columns][:, rows].T.astype(np.float64)
    fractions = np.log1p(cells) / max(np.log1p(cells.max(initial=0.0)), 1.0)
    flagged = None
    if filtered is not None:
        remaining = filtered.grid.counts[columns][:, rows].T
        flagged = (cells > 0) & (cells > 2 * remaining)
    pixels = cells_of_fractions(np.where(cells > 0, fractions, np.nan), flagged)
    axes = (x_axis, number_axis_from_zero(top_m))
    is_compared = radar is not None and level.is_level
    layers = _radar_curves(radar, _level(frames, radar.frame), axes) if radar is not None and is_compared else []
    caption = f"{count_text(int(counts.sum()))} returns, m over degrees{'' if level.is_level else ' in its own plane'}"
    keys = [key("s1", "taken out")] if filtered is not None else []
    keys += [key("s3", "radar: median, nearest and farthest tenth")] if layers else []
    labels, names = ([], []) if objects is None else objects.labels(frames, seen.frame, axes)
    keys += [element("span", name) for name in names]
    foot = ramp("few", "many", keys)
    return raster_figure(name, caption, pixels, axes=axes, layers=layers, labels=labels, foot=foot)


def waterfall_figure(overview: Overview, name: str, seen: RangeSensor, *, top_m: float) -> Html:
    """The ranges of each bearing over time, from the top down."""
    level = _level(overview.frames, seen.frame)
    x_axis, columns = _bearings(seen.grid.counts, level, step=PER_DEG)
    own_deg = (columns + 0.5) / PER_DEG - 180.0
    stamp_ns, ranges = _ranges_at(seen, own_deg)
    down = overview.time_axis()
    pictured = _evenly(overview.seconds(stamp_ns), ranges, down)
    pixels = cells_of_fractions(np.minimum(pictured / top_m, 1.0))
    caption = (
        f"ranges over time, of {count_text(len(stamp_ns))} of {count_noun(seen.rows.seen if seen.rows else 0, 'scan')}"
    )
    return raster_figure(name, caption, pixels, axes=(x_axis, down.flip()), foot=ramp("0 m", f"{number_text(top_m)} m"))


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
    transform = frames.transform(carrying, frame, np.zeros(1, np.int64))
    if transform is None or carrying == frame:
        return _Level()
    rotation = transform[0][0, :3, :3]
    if abs(rotation[2, 2]) < MIN_LEVEL:
        return _Level(is_level=False)
    return _Level(float(np.sign(rotation[2, 2])), float(np.degrees(np.arctan2(rotation[1, 0], rotation[0, 0]))))


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
        cell = np.array((total < quantile * total[:, -1:]).sum(axis=1), np.float64)
        range_m = np.where(total[:, -1] > 0, (cell + 0.5) * CELL_M, np.nan)
        within = np.where(range_m <= RANGES * CELL_M, np.minimum(range_m, axes[1].high), np.nan)
        curves.append(curve_over(bearing_deg, within, axes, "s3"))
    return curves


def _ranges_at(seen: RangeSensor, own_deg: Array) -> tuple[NDArray[np.int64], Array]:
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
    requested = axis.values((np.arange(ROWS) + 0.5) / ROWS)
    after = np.clip(np.searchsorted(seconds, requested), 0, len(seconds) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(seconds[before] - requested) < np.abs(seconds[after] - requested)
    nearest = np.where(closer, before, after)
    usual = float(np.median(np.diff(seconds))) if len(seconds) > 1 else axis.high
    steps = np.diff(requested)
    step = float(np.median(steps[np.isfinite(steps)])) if np.isfinite(steps).any() else 0.0
    near = np.abs(seconds[nearest] - requested) <= max(2 * usual, step)
    return np.where(near[:, None], ranges[nearest], np.nan)


def difference_chart(frames: Frames, lasers: Mapping[Topic, LaserSeen], radar: RadarSeen) -> list[Html]:
    """Shares of the returns by their distance from what the radar says, where tf tells where the sensors are."""
    edges = np.arange(NEAREST_M, FARTHEST_M + BIN_M / 2, BIN_M)
    curves = []
    for topic, seen in lasers.items():
        differences = _differences(frames, seen, radar)
        if len(differences):
            counts, _ = np.histogram(np.clip(differences, NEAREST_M, FARTHEST_M), edges)
            curves.append(Curve(topic.name, (edges[1:] + edges[:-1]) / 2, 100.0 * counts / counts.sum()))
    if not curves:
        return []
    x_title = "m; on the left the laser is in front, and the ends hold all that lies beyond them"
    axis = number_axis(NEAREST_M, FARTHEST_M)
    return [line_chart("laser minus radar", curves, unit="% of returns", x_axis=axis, x_title=x_title)]


def _differences(frames: Frames, seen: LaserSeen, radar: RadarSeen) -> Array:
    """Laser minus radar (n,), of the scans that were kept and the revolutions nearest to them in time."""
    moment = np.zeros(1, np.int64)
    transform = frames.transform(radar.frame, seen.frame, moment)
    if transform is None or not frames.are_fixed(radar.frame, seen.frame) or seen.rows is None:
        return np.zeros(0)
    (radar_stamps, sectors), (stamp_ns, values) = radar.rows.rows(), seen.rows.rows()
    after = np.clip(np.searchsorted(radar_stamps, stamp_ns), 1, max(len(radar_stamps) - 1, 1))
    after = np.minimum(after, len(radar_stamps) - 1)
    before = np.maximum(after - 1, 0)
    closer = stamp_ns - radar_stamps[before] <= radar_stamps[after] - stamp_ns
    nearest = np.where(closer, before, after)
    near = np.abs(radar_stamps[nearest] - stamp_ns) <= NEAR_IN_TIME_NS
    angles = values[near, :1] + seen.step_rad * np.arange(values.shape[1] - 1)
    ranges = values[near, 1:]
    met = np.isfinite(ranges)
    placed = project_to_radar(mounting_from_base(transform[0][0], np.eye(4)), angles, np.where(met, ranges, 0.0))
    radar_m = np.take_along_axis(sectors[nearest[near]], placed.bin, axis=1)
    difference = placed.range_m - radar_m
    return np.asarray(difference[met & np.isfinite(radar_m)], np.float64)


# What the laser scanners saw: one scan of each, as points around the sensor, x to the right as everywhere here.


@dataclass(frozen=True, eq=False)
class _Scan:
    """Points (n, 2) in the sensor's frame, of so many beams."""

    log_ns: int
    frame: str
    points: Points
    beams: int


@dataclass
class _TopicScans:
    samples: Decimator[_Scan] = field(default_factory=lambda: Decimator(MAX_SCANS))


class ScanPanel:
    """Keeps a few scans of each topic, and shows the one in the middle."""

    msgtypes = (SCAN,)

    def __init__(self) -> None:
        self._topics: dict[Topic, _TopicScans] = {}

    def add(self, batch: RecordBatch) -> None:
        """Scans, of which few are kept."""
        content = self._topics.setdefault(batch.topic, _TopicScans())
        for stamp_ns, (record, frame, _), row in batch.rows():
            if isinstance(record, LaserScans):
                content.samples.offer(partial(_scan, stamp_ns, record, row, frame=frame))

    def report_issues(self, issues: Issues) -> None:
        """Nothing: all that can be read can be shown."""

    def sections(self, overview: Overview) -> list[Section]:
        """One scan of each topic."""
        figures = []
        for topic, content in overview.in_order(self._topics)[:MAX_TOPICS]:
            scans = [scan for scan in content.samples.items() if len(scan.points)]
            if scans:
                figures.append(_figure(overview, topic, scans[middle_index([scan.log_ns for scan in scans])]))
        if not figures:
            return []
        left_out = len(self._topics) - MAX_TOPICS
        more = element("p", f"{left_out} more topics are not shown.", class_="muted") if left_out > 0 else ""
        lead = "One scan of each scanner in its own frame, x to the right and y up."
        return [Section("scans", "Laser scans", join_html([cards(figures), more]), lead)]


def _scan(log_ns: int, record: LaserScans, row: int, *, frame: str) -> _Scan:
    ranges = record.ranges_m[row, : record.count[row]]
    angles = float(record.angle_min_rad[row]) + float(record.angle_increment_rad[row]) * np.arange(len(ranges))
    good = np.isfinite(ranges) & (ranges >= record.range_min_m[row]) & (ranges <= record.range_max_m[row])
    points = np.stack([ranges * np.cos(angles), ranges * np.sin(angles)], axis=-1)[good]
    points = points[(np.abs(points) < FARTHEST_POINT_M).all(axis=1)]
    return _Scan(log_ns, frame, points, len(ranges))


def _figure(overview: Overview, topic: Topic, scan: _Scan) -> Html:
    plane = plane_of_points(np.concatenate([scan.points, np.zeros((1, 2))]))
    details = f"{len(scan.points)} of {scan.beams} beams at {overview.moment_text(scan.log_ns)}, in {scan.frame}"
    caption = element("figcaption", element("b", path_text(topic.name)), element("span", details, class_="muted"))
    drawn = plane_drawing(plane, [dots(plane, scan.points, "s0")], [mark(plane, 0.0, 0.0, kind="sensor")])
    return element("figure", caption, drawn, class_="card")


class BearingPanel:
    """Counts all returns of planar sensors by bearing and range, and keeps a few scans of each."""

    msgtypes = (SCAN, CLOUD, SUSPECT_RATIO, DIAGNOSTICS, MARKERS)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._lasers: dict[Topic, LaserSeen] = {}
        self._radars: dict[Topic, RadarSeen | None] = {}  # None is one that does not scan a plane
        self._suspect_ratios: dict[Topic, Numbers] = {}
        self._verdicts: dict[Topic, Counter[str]] = {}
        self._objects: ReferenceObjects | None = None

    def add(self, batch: RecordBatch) -> None:
        """Scans, revolutions, and what was found of them."""
        kinds = {
            SCAN: self._add_scans,
            CLOUD: self._add_clouds,
            SUSPECT_RATIO: self._add_suspect_ratios,
            MARKERS: self._add_objects,
        }
        kinds.get(batch.topic.msgtype, self._add_verdicts)(batch)

    def report_issues(self, issues: Issues) -> None:
        """Nothing: of what cannot be read the panels of scans, clouds and numbers tell."""

    def sections(self, overview: Overview) -> list[Section]:
        """The figures, where a laser was heard, or a radar."""
        lasers = {topic: seen for topic, seen in overview.in_order(self._lasers) if seen.rows is not None}
        raw = {topic: seen for topic, seen in lasers.items() if _partner(topic, FILTERED) not in lasers}
        radars = {t: seen for t, seen in overview.in_order(self._radars) if seen is not None and seen.rows.seen}
        if not raw and not radars:
            return []
        figures = self._figures(overview, dict(list(raw.items())[:MAX_SENSORS]), radars)
        body = join_html([*figures, self._verdict_table(overview)])
        return [Section("bearings", "Range sensors against bearing", body, LEAD)]

    def _figures(
        self, overview: Overview, lasers: dict[Topic, LaserSeen], radars: dict[Topic, RadarSeen]
    ) -> list[Html]:
        radar = next(iter(radars.values()), None)
        top_m = display_range_m([radar.grid] if radar else [seen.grid for seen in lasers.values()])
        filtered = {topic: self._lasers.get(Topic(topic.name + FILTERED, SCAN)) for topic in lasers}
        densities = [
            density_figure(
                topic.name, seen, self._frames, top_m=top_m, radar=radar, filtered=filtered[topic],
                objects=self._objects,
            )
            for topic, seen in lasers.items()
        ]  # fmt: skip
        densities += [
            density_figure(t.name, seen, self._frames, top_m=top_m, objects=self._objects) for t, seen in radars.items()
        ]
        both: list[tuple[Topic, LaserSeen | RadarSeen]] = [*lasers.items(), *radars.items()]
        falls = [waterfall_figure(overview, t.name, seen, top_m=top_m) for t, seen in both]
        charts = [] if radar is None else difference_chart(self._frames, lasers, radar)
        return [
            cards(densities, "wide"),
            cards(falls, "wide"),
            cards([*charts, *self._suspect_chart(overview)], "wide"),
        ]

    def _suspect_chart(self, overview: Overview) -> list[Html]:
        curves = [curve for _, numbers in overview.in_order(self._suspect_ratios) for curve in numbers.curves(overview)]
        if not curves:
            return []
        unit = "share of all returns"
        return [line_chart("suspect returns", curves, unit=unit, x_axis=overview.time_axis())]

    def _verdict_table(self, overview: Overview) -> Html:
        if not self._verdicts:
            return Html("")
        rows = [
            (topic.name.removesuffix(REPORT), ", ".join(f"{name}: {count_text(n)}" for name, n in counts.most_common()))
            for topic, counts in overview.in_order(self._verdicts)
        ]
        title = element(
            "figcaption", element("b", "What was reported of them"), element("span", "how often", class_="muted")
        )
        return element("figure", title, plain_table(("Sensor", "Verdicts"), rows), class_="card")

    def _add_scans(self, batch: RecordBatch) -> None:
        for record, frame, _ in batch.records:
            if isinstance(record, LaserScans) and len(record):
                self._lasers.setdefault(batch.topic, LaserSeen()).add(record, frame)

    def _add_clouds(self, batch: RecordBatch) -> None:
        seen = self._radars.setdefault(batch.topic, RadarSeen())
        for _, make in batch.single():
            if seen is None:
                return
            framed = make()
            if framed is None or not isinstance(framed.record, Clouds):
                continue
            try:
                rows = framed.record.load(0)
                points = points_from_rows(rows).astype(np.float64) if rows.nbytes <= MAX_BYTES else np.zeros((0, 3))
            except ArchiveError:
                continue
            off_plane = np.abs(points[:, 2]) > FLAT * (1 + np.linalg.norm(points, axis=1))
            if rows.nbytes > MAX_BYTES or off_plane.any():
                seen = self._radars[batch.topic] = None
            elif len(points):
                seen.add(int(framed.record.stamp_ns[0]), framed.frame.lstrip("/"), points)

    def _add_suspect_ratios(self, batch: RecordBatch) -> None:
        if not batch.topic.name.endswith(SUSPECT):
            return
        label = batch.topic.name.removesuffix(SUSPECT).rpartition("/")[2]
        for record, *_ in batch.records:
            if isinstance(record, Scalars):
                numbers = self._suspect_ratios.setdefault(batch.topic, Numbers((label,)))
                numbers.add(record.leaves_ns, record.values[:, None])

    def _add_objects(self, batch: RecordBatch) -> None:
        """The reference objects of a scene, those that are drawn as being there."""
        if not batch.topic.name.endswith(OBJECTS):
            return
        for record, frame, _ in batch.records:
            if isinstance(record, Markers) and len(record):
                there = record.colour_rgba[-1, :, 3] >= VISIBLE
                self._objects = ReferenceObjects(
                    frame=frame.lstrip("/"),
                    stamp_ns=int(record.stamp_ns[-1]),
                    names=tuple(name for name, is_there in zip(record.names, there.tolist(), strict=True) if is_there),
                    position_m=record.position_m[-1][there],
                )

    def _add_verdicts(self, batch: RecordBatch) -> None:
        if not batch.topic.name.endswith(REPORT):
            return
        counts = self._verdicts.setdefault(batch.topic, Counter())
        for _, make in batch.single():
            framed = make()
            if framed is not None and isinstance(framed.record, Diagnostics):
                counts.update(state.message for state in framed.record.states[framed.record.state_index[0]])


def _partner(topic: Topic, ending: str) -> Topic:
    """The scans from which filtered ones were made; of others, themselves by another name."""
    is_filtered = topic.name.endswith(ending)
    return Topic(topic.name.removesuffix(ending), topic.msgtype) if is_filtered else Topic("", topic.msgtype)
