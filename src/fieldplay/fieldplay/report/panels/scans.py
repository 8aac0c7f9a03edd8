"""What the laser scanners saw: one scan of each, as points around the sensor, x to the right as everywhere here."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator, middle_of
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import LaserScans
from fieldplay.recording.record_source import Issues, RecordBatch
from fieldplay.report.html.markup import Html, element, joined, path_text
from fieldplay.report.html.page import Section, cards
from fieldplay.report.html.plane import dots, mark, plane_drawing, plane_of_points
from fieldplay.report.panels.overview import Overview

SCAN = "sensor_msgs/msg/LaserScan"
MOST_TOPICS = 12
KEPT = 2
FARTHEST_M = 1e6

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Scan:
    """Points (n, 2) in the sensor's frame, of so many beams."""

    log_ns: int
    frame: str
    points: Array
    beams: int


@dataclass
class _Kept:
    picks: Decimator[_Scan] = field(default_factory=lambda: Decimator(KEPT))


class ScanPanel:
    """Keeps a few scans of each topic, and shows the one in the middle."""

    msgtypes = (SCAN,)

    def __init__(self) -> None:
        self._topics: dict[Topic, _Kept] = {}

    def add(self, batch: RecordBatch) -> None:
        """Scans, of which few are kept."""
        kept = self._topics.setdefault(batch.topic, _Kept())
        for stamp_ns, (record, frame, _), row in batch.rows():
            if isinstance(record, LaserScans):
                kept.picks.offer(partial(_scan, stamp_ns, record, row, frame=frame))

    def tell(self, findings: Issues) -> None:
        """Nothing: all that can be read can be shown."""

    def sections(self, overview: Overview) -> list[Section]:
        """One scan of each topic."""
        figures = []
        for topic, kept in overview.in_order(self._topics)[:MOST_TOPICS]:
            scans = [scan for scan in kept.picks.items() if len(scan.points)]
            if scans:
                figures.append(_figure(overview, topic, scans[middle_of([scan.log_ns for scan in scans])]))
        if not figures:
            return []
        left_out = len(self._topics) - MOST_TOPICS
        more = element("p", f"{left_out} more topics are not shown.", class_="muted") if left_out > 0 else ""
        lead = "One scan of each scanner in its own frame, x to the right and y up."
        return [Section("scans", "Laser scans", joined([cards(figures), more]), lead)]


def _scan(log_ns: int, record: LaserScans, row: int, *, frame: str) -> _Scan:
    ranges = record.ranges_m[row, : record.count[row]]
    angles = float(record.angle_min_rad[row]) + float(record.angle_increment_rad[row]) * np.arange(len(ranges))
    good = np.isfinite(ranges) & (ranges >= record.range_min_m[row]) & (ranges <= record.range_max_m[row])
    points = np.stack([ranges * np.cos(angles), ranges * np.sin(angles)], axis=-1)[good]
    points = points[(np.abs(points) < FARTHEST_M).all(axis=1)]
    return _Scan(log_ns, frame, points, len(ranges))


def _figure(overview: Overview, topic: Topic, scan: _Scan) -> Html:
    plane = plane_of_points(np.concatenate([scan.points, np.zeros((1, 2))]))
    told = f"{len(scan.points)} of {scan.beams} beams at {overview.moment_text(scan.log_ns)}, in {scan.frame}"
    caption = element("figcaption", element("b", path_text(topic.name)), element("span", told, class_="muted"))
    drawn = plane_drawing(plane, [dots(plane, scan.points, "s0")], [mark(plane, 0.0, 0.0, kind="sensor")])
    return element("figure", caption, drawn, class_="card")
