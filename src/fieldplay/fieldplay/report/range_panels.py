"""Clouds, laser scans and what range sensors met by bearing: a figure of each, as the live view shows the details."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator, middle_index
from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import Axis, count_text, tight_axis
from fieldplay.messages.codec import DIAGNOSTICS
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD, points_from_rows
from fieldplay.messages.records import Clouds, Diagnostics, LaserScans
from fieldplay.projection.relief import MAX_POINTS, Sweep, merge_in_world, plane_of_points, relief_of_points
from fieldplay.recording.record_batches import Issues, RecordBatch, Single, report_unreadable
from fieldplay.report import figures as fig
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Html, Section, join, plain_table, render
from fieldplay.trajectories.route import WORLDS

MAX_SWEEPS, MAX_CLOUDS, MAX_SCANNERS, MAX_SENSORS = 40, 6, 12, 8
FIRST_POINTS = 200_000  # of the first sweep, which is shown alone if need be
FAR_FRACTION = 0.985  # of the points; the few that lie further out would make the rest small
AROUND_M = 12.0
FLAT_M = 1e-3  # all points at one height, as a radar or a laser that scans a plane has them
SCAN, SCANS_KEPT, FARTHEST_POINT_M = "sensor_msgs/msg/LaserScan", 2, 1e6
FILTERED, REPORT = "_filtered", "/integrity"  # how topics end
PER_DEG, CELL_M = 2, 0.25
BEARINGS, RANGES = 360 * PER_DEG, 320  # cells, up to 80 m
OFF_EDGE = 0.25  # of a cell, so that beams at quarters of a degree do not lie on edges
SHOWN_FRACTION, STEP_M, MAX_M = 0.99, 5.0, 80.0
MAX_BEAMS, MAX_BYTES = 2000, 100_000  # of a scan and of a revolution: more is no radar with one range for each bearing
FLAT = 1e-3  # of the range
FLAGGED_BGR = (0, 94, 213)  # as series 1 of the page
BEARINGS_LEAD = (
    "Range against the sensor's own bearing, its left on the left. "
    "Orange is what a filter takes for dust, smoke or rain."
)
Array = NDArray[np.float64]


def _not_shown(count: int) -> Html:
    return render("paragraph", f"{count} more topics are not shown.", "muted") if count > 0 else join([])


@dataclass
class _TopicSweeps:
    samples: Decimator[Sweep]
    errors: Counter[str] = field(default_factory=Counter)


class CloudPanel(Panel):
    """Keeps some sweeps of each topic, and some points of each."""

    msgtypes = (CLOUD,)

    def __init__(self, expected: Mapping[str, int] | None = None) -> None:
        self._expected = expected or {}
        self._topics: dict[Topic, _TopicSweeps] = {}

    def add(self, batch: RecordBatch) -> None:
        """Clouds, of which few are decoded."""
        samples: Decimator[Sweep] = Decimator(MAX_SWEEPS, expected=self._expected.get(batch.topic.name, 0))
        content = self._topics.setdefault(batch.topic, _TopicSweeps(samples))
        for stamp_ns, make in batch.single():
            content.samples.offer(partial(_sweep, content, stamp_ns, make))

    def report_issues(self, issues: Issues) -> None:
        """Clouds that cannot be shown."""
        for topic, content in self._topics.items():
            for issue, count in content.errors.items():
                if issue:
                    issues.add("unreadable_cloud", topic.name, issue, count=count)
                else:
                    report_unreadable(issues, topic, count)

    def sections(self, overview: Overview) -> list[Section]:
        """The sweeps of each topic from above, together where tf says how, else the first."""
        shown = [(t, c, c.samples.items()) for t, c in overview.in_order(self._topics)[:MAX_CLOUDS]]
        figures = [
            _cloud_figure(overview, topic, [sweep for sweep in sweeps if len(sweep.points)], count=content.samples.seen)
            for topic, content, sweeps in shown
            if any(len(sweep.points) for sweep in sweeps)
        ]
        if not figures:
            return []
        body = join([render("cards", figures, "wide"), _not_shown(len(self._topics) - MAX_CLOUDS)])
        return [
            Section("clouds", "Point clouds", body, "Seen from above, coloured by height and lit from the north-west.")
        ]


def _sweep(content: _TopicSweeps, log_ns: int, make: Single) -> Sweep | None:
    framed = make()
    if framed is None or not isinstance(framed.record, Clouds):
        content.errors[""] += 1
        return None
    try:
        points = points_from_rows(framed.record.load(0))
    except ArchiveError as error:
        content.errors[str(error)] += 1
        return None
    step = -(-len(points) // (MAX_POINTS if content.samples.seen else FIRST_POINTS)) or 1
    return Sweep(log_ns, int(framed.record.stamp_ns[0]), framed.frame.lstrip("/"), points[::step].copy())


def _cloud_figure(overview: Overview, topic: Topic, sweeps: list[Sweep], *, count: int) -> Html:
    merged = merge_in_world(overview.frames, sweeps) if len(sweeps) > 1 else None
    if merged is not None:
        frame_text, points, positions = merged
        details = f"{len(positions)} of {count} clouds in {frame_text}"
        some, path = points[:: max(1, len(points) // 20_000)], positions[:: max(1, len(positions) // 16)]
        away = np.linalg.norm(some[:, None, :2] - path[None, :, :2], axis=2).min(axis=1)
        near = np.concatenate([some[away <= max(AROUND_M, float(np.quantile(away, 0.9)))], positions])
    else:
        points = sweeps[0].points.astype(float)
        details = f"one cloud at {overview.moment_text(sweeps[0].log_ns)}, in {sweeps[0].frame}"
        positions = np.zeros((0 if sweeps[0].frame in WORLDS else 1, 3))  # where no sensor stands at the origin
        away = np.linalg.norm(points[:, :2], axis=1)
        near = points[away <= np.quantile(away, FAR_FRACTION)]
    plane = plane_of_points(near[:, :2], room=0.02)
    relief = relief_of_points(points, plane)
    if relief is None:
        return join([])
    axes = fig.plane_axes(plane)
    below = fig.image_below(axes, relief.pixels)
    if len(positions) == 1:
        fig.draw_mark(axes, positions[0], kind="sensor")
    elif len(positions):
        fig.draw_path(axes, positions[:, :2], 1)
    legend = [("s1", "the sensor's path" if len(positions) > 1 else "the sensor")] if len(positions) else []
    is_flat = float(np.ptp(points[:, 2])) < FLAT_M
    foot = fig.ramp(fig.metres_text(relief.low_m), fig.metres_text(relief.high_m), legend)
    foot = render("paragraph", "all at one height", "muted") if is_flat else foot
    label = f"{topic.name} from above"
    return render("figure", fig.svg_of(axes, label, below=below), topic.name, details, (), foot)


@dataclass(frozen=True, eq=False)
class _Scan:
    """Points (n, 2) in the sensor's frame, of so many beams."""

    log_ns: int
    frame: str
    points: Array
    beams: int


class ScanPanel(Panel):
    """Keeps a few scans of each topic, and shows the one in the middle: points around the sensor."""

    msgtypes = (SCAN,)

    def __init__(self) -> None:
        self._topics: dict[Topic, Decimator[_Scan]] = {}

    def add(self, batch: RecordBatch) -> None:
        """Scans, of which few are kept."""
        content = self._topics.setdefault(batch.topic, Decimator(SCANS_KEPT))
        for stamp_ns, (record, frame, _), row in batch.rows():
            if isinstance(record, LaserScans):
                content.offer(partial(_scan, stamp_ns, record, row, frame=frame))

    def sections(self, overview: Overview) -> list[Section]:
        """One scan of each topic."""
        figures = []
        for topic, content in overview.in_order(self._topics)[:MAX_SCANNERS]:
            scans = [scan for scan in content.items() if len(scan.points)]
            if scans:
                figures.append(_scan_figure(overview, topic, scans[middle_index([scan.log_ns for scan in scans])]))
        if not figures:
            return []
        body = join([render("cards", figures), _not_shown(len(self._topics) - MAX_SCANNERS)])
        lead = "One scan of each scanner in its own frame, x to the right and y up, in metres."
        return [Section("scans", "Laser scans", body, lead)]


def _scan(log_ns: int, record: LaserScans, row: int, *, frame: str) -> _Scan:
    ranges = record.ranges_m[row, : record.count[row]]
    angles = float(record.angle_min_rad[row]) + float(record.angle_increment_rad[row]) * np.arange(len(ranges))
    good = np.isfinite(ranges) & (ranges >= record.range_min_m[row]) & (ranges <= record.range_max_m[row])
    points = np.stack([ranges * np.cos(angles), ranges * np.sin(angles)], axis=-1)[good]
    return _Scan(log_ns, frame, points[(np.abs(points) < FARTHEST_POINT_M).all(axis=1)], len(ranges))


def _scan_figure(overview: Overview, topic: Topic, scan: _Scan) -> Html:
    axes = fig.plane_axes(plane_of_points(np.concatenate([scan.points, np.zeros((1, 2))])), width=360)
    axes.plot(*scan.points.T, ".", color=fig.SERIES[0], markersize=3, gid="dots s0")
    fig.draw_mark(axes, np.zeros(2), kind="sensor")
    details = f"{len(scan.points)} of {scan.beams} beams at {overview.moment_text(scan.log_ns)}, in {scan.frame}"
    return render("figure", fig.svg_of(axes, topic.name), topic.name, details)


@dataclass(eq=False)
class BearingCounts:
    """How many returns met each cell (BEARINGS, RANGES); bearings from -180 degrees on, about the sensor's z axis."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((BEARINGS, RANGES), np.int64))

    def add(self, bearing_rad: Array, range_m: Array) -> None:
        """Further returns (n,)."""
        column = np.floor(np.degrees(bearing_rad) * PER_DEG + OFF_EDGE).astype(np.int64) + BEARINGS // 2
        row = np.floor(range_m / CELL_M).astype(np.int64)
        inside = (row >= 0) & (row < RANGES)
        np.add.at(self.counts.reshape(-1), column[inside] % BEARINGS * RANGES + row[inside], 1)

    def add_scans(self, record: LaserScans) -> None:
        """Further scans, all with as many ranges."""
        ranges = record.ranges_m[:, : record.count[0]]
        if not 0 < ranges.shape[1] <= MAX_BEAMS:
            return
        starts, steps = record.angle_min_rad[:, None], record.angle_increment_rad[:, None]
        with np.errstate(invalid="ignore"):
            met = (ranges >= record.range_min_m[:, None]) & (ranges <= record.range_max_m[:, None])
            met &= np.isfinite(ranges) & (np.abs(starts) < 10) & (np.abs(steps) < 1)
        self.add((starts + steps * np.arange(ranges.shape[1]))[met], ranges[met])


class BearingPanel(Panel):
    """Counts all returns of planar sensors, lasers and radars, by bearing and range."""

    msgtypes = (SCAN, CLOUD, DIAGNOSTICS)

    def __init__(self) -> None:
        self._lasers: dict[Topic, BearingCounts] = {}
        self._radars: dict[Topic, BearingCounts | None] = {}  # None is one that does not scan a plane
        self._verdicts: dict[Topic, Counter[str]] = {}

    def add(self, batch: RecordBatch) -> None:
        """Scans, revolutions, and what was reported of them."""
        {SCAN: self._add_scans, CLOUD: self._add_clouds}.get(batch.topic.msgtype, self._add_verdicts)(batch)

    def sections(self, overview: Overview) -> list[Section]:
        """A figure for each sensor, and a table of the reports."""
        lasers = {topic: seen for topic, seen in overview.in_order(self._lasers) if seen.counts.any()}
        radars = {t: seen for t, seen in overview.in_order(self._radars) if seen is not None and seen.counts.any()}
        unfiltered = {t: Topic(t.name.removesuffix(FILTERED), SCAN) for t in lasers}
        raw = [topic for topic, source in unfiltered.items() if source == topic or source not in lasers]
        sensors = {topic: lasers[topic] for topic in raw[:MAX_SENSORS]} | radars
        if not sensors:
            return []
        top_m = display_range_m(list(radars.values()) or list(sensors.values()))
        figures = [
            _density_figure(topic.name, seen, lasers.get(Topic(topic.name + FILTERED, SCAN)), top_m=top_m)
            for topic, seen in sensors.items()
        ]
        verdicts = [
            (topic.name.removesuffix(REPORT), ", ".join(f"{name}: {count_text(n)}" for name, n in counts.most_common()))
            for topic, counts in overview.in_order(self._verdicts)
        ]
        table = plain_table(("Sensor", "Verdicts"), verdicts, title="What was reported of them", is_card=True)
        body = join([render("cards", figures, "wide"), table if verdicts else ""])
        return [Section("bearings", "Range sensors against bearing", body, BEARINGS_LEAD)]

    def _add_scans(self, batch: RecordBatch) -> None:
        for record, *_ in batch.records:
            if isinstance(record, LaserScans) and len(record):
                self._lasers.setdefault(batch.topic, BearingCounts()).add_scans(record)

    def _add_clouds(self, batch: RecordBatch) -> None:
        seen = self._radars.setdefault(batch.topic, BearingCounts())
        for _, make in batch.single():
            framed = make() if seen is not None else None
            if seen is None or framed is None or not isinstance(framed.record, Clouds):
                continue
            try:
                rows = framed.record.load(0)
                points = points_from_rows(rows).astype(np.float64) if rows.nbytes <= MAX_BYTES else np.zeros((0, 3))
            except ArchiveError:
                continue
            range_m = np.linalg.norm(points, axis=1)
            if rows.nbytes > MAX_BYTES or (np.abs(points[:, 2]) > FLAT * (1 + range_m)).any():
                seen = self._radars[batch.topic] = None
            else:
                seen.add(np.arctan2(points[:, 1], points[:, 0]), range_m)

    def _add_verdicts(self, batch: RecordBatch) -> None:
        if not batch.topic.name.endswith(REPORT):
            return
        counts = self._verdicts.setdefault(batch.topic, Counter())
        for _, make in batch.single():
            framed = make()
            if framed is not None and isinstance(framed.record, Diagnostics):
                counts.update(state.message for state in framed.record.states[framed.record.state_index[0]])


def display_range_m(seen: list[BearingCounts]) -> float:
    """The range of the figures, which covers nearly all returns."""
    counts = np.sum([one.counts.sum(axis=0) for one in seen], axis=0)
    reached = np.searchsorted(np.cumsum(counts), SHOWN_FRACTION * counts.sum()) + 1
    return float(np.clip(STEP_M * np.ceil(reached * CELL_M / STEP_M - 0.1), STEP_M, MAX_M))


def _density_figure(name: str, seen: BearingCounts, filtered: BearingCounts | None, *, top_m: float) -> Html:
    """All returns by bearing and range, from the left to the right; those that a filter took out in a colour."""
    met = np.flatnonzero(seen.counts.sum(axis=1))
    first, last = int(met[0]), int(met[-1]) + 1
    rows = slice(round(top_m / CELL_M) - 1, None, -1)
    cells = seen.counts[first:last][::-1, rows].T.astype(np.float64)
    pixels = fig.cells_of_fractions(np.where(cells > 0, np.log1p(cells) / np.log1p(max(cells.max(), 2.0)), np.nan))
    details = f"{count_text(int(seen.counts.sum()))} returns, m over degrees"
    if filtered is not None:
        pixels[(cells > 0) & (cells > 2 * filtered.counts[first:last][::-1, rows].T), :3] = FLAGGED_BGR
        details += f", {100 * (1 - filtered.counts.sum() / seen.counts.sum()):.1f} % of them taken out"
    high, low = (edge / PER_DEG - 180.0 for edge in (last, first))
    ticks = [tick for tick in range(180, -181, -45 if high - low <= 200 else -90) if low <= tick <= high]
    x_axis = Axis(high, low, tuple((float(tick), f"{tick}°".replace("-", "\u2212")) for tick in ticks))
    axes = fig.raster_axes(x_axis, tight_axis(top_m))
    drawn = fig.svg_of(axes, f"{name}, returns", below=fig.image_below(axes, pixels, is_exact=True))
    foot = fig.ramp("few", "many", [("s1", "taken out")] if filtered is not None else [])
    return render("figure", drawn, name, details, (), foot)
