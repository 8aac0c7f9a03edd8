"""Scans of a laser without what a radar sees through, how many returns that were, and what it says of the air."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldplay_archive.outlets.derived.parts import Chain, Place, Rows, Stamps, feed_of_made, feed_of_rows
from fieldplay_archive.spec import DerivedSpec
from fieldplay_fusion.integrity import Integrity, IntegrityState, filtered_ranges, integrity_from_scans
from fieldplay_fusion.integrity_radar import (
    Mounting,
    RadarViews,
    mounting_from_base,
    nearest_from_returns,
    no_views,
    reach_ns,
)
from fieldplay_fusion.integrity_scans import scans_from_messages
from fieldplay_fusion.integrity_settings import IntegritySettings, integrity_from_settings
from fieldplay_fusion.integrity_shares import Report
from fieldplay_kinematics.extrinsics import Edge
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.cdr.layout import layout_of
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.feeds.feed import Feed, SpanMessages, messages_of_record
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

SCAN, SHARE = "sensor_msgs/msg/LaserScan", "std_msgs/msg/Float32"
DIAGNOSTICS = "diagnostic_msgs/msg/DiagnosticArray"
FILTERED, SUSPECT, REPORT = "scan_filtered", "suspect_ratio", "integrity"  # below the laser's name
FINE, WARNING = 0, 1
KEPT_SPANS = 8


@dataclass(frozen=True, eq=False)
class _Judged:
    """Scans, and what was found of them."""

    scans: records.LaserScans
    found: Integrity


class _Radar:
    """The revolutions of a stream of clouds, as far as they are needed at a time."""

    def __init__(self, settings: IntegritySettings, stream: Stream, first_ns: int) -> None:
        self._settings, self._stream, self._first_ns = settings, stream, first_ns
        self._views: dict[int, RadarViews] = {}

    def views(self, first_ns: int, last_ns: int) -> RadarViews:
        """The revolutions that count from a time to another."""
        begin = max(first_ns - reach_ns(self._settings), self._first_ns)
        wanted = [i for i, span in enumerate(self._stream.spans) if span.last_ns >= begin and span.first_ns <= last_ns]
        for index in sorted(wanted, key=lambda index: self._stream.spans[index].first_ns):
            if index not in self._views:
                self._views[index] = self._loaded(index)
        parts = [self._views[index].between(begin, last_ns) for index in wanted] or [no_views()]
        self._views = dict(list(self._views.items())[-max(KEPT_SPANS, len(wanted)) :])
        stamp_ns = np.concatenate([part.stamp_ns for part in parts])
        order = np.argsort(stamp_ns, kind="stable")
        return RadarViews(stamp_ns=stamp_ns[order], nearest_m=np.concatenate([part.nearest_m for part in parts])[order])

    def _loaded(self, index: int) -> RadarViews:
        record = self._stream.load(index)
        if not isinstance(record, records.Clouds):
            raise TypeError(f"expected clouds of a radar, got {type(record).__name__}")
        points = [(row, _points(record, row)) for row in range(len(record))]
        seen = [(row, nearest_from_returns(self._settings, found)) for row, found in points if found is not None]
        if not seen:
            return no_views()
        return RadarViews(
            stamp_ns=record.stamp_ns[[row for row, _ in seen]], nearest_m=np.stack([nearest for _, nearest in seen])
        )


def _points(record: records.Clouds, row: int) -> Array | None:
    """The points (n, 3) of a revolution; none where it is damaged, of which the feed of the clouds tells."""
    try:
        points = record.load(row)
    except (ArchiveError, OSError):
        return None
    return np.stack([points[axis].astype(np.float32) for axis in "xyz"], axis=-1).astype(np.float64)


def _mounting(edges: Sequence[Edge], base: str, *, laser: str, radar: str) -> Mounting:
    in_base = {edge.child: edge.parent_t_child for edge in edges if edge.parent == base}
    for frame in (laser, radar):
        if frame not in in_base:
            raise ValueError(f"{frame}: expected a static frame below {base}, there are {', '.join(in_base) or 'none'}")
    return mounting_from_base(in_base[laser], in_base[radar])


def _chain(
    spec: DerivedSpec, streams: Sequence[Stream], place: Place
) -> Chain[records.LaserScans, IntegrityState, _Judged]:
    laser, radar = streams
    settings = integrity_from_settings(spec.settings)
    clouds = _Radar(settings, radar, place.first_ns)
    mounting = _mounting(place.static, spec.frame, laser=spec.child_frames[0], radar=spec.child_frames[1])

    def inputs(index: int) -> tuple[Stamps, records.LaserScans]:
        record = laser.load(index)
        if not isinstance(record, records.LaserScans):
            raise TypeError(f"expected scans of a laser, got {type(record).__name__}")
        scans = record.only(record.stamp_ns >= place.first_ns)
        return scans.stamp_ns, scans

    def compute(
        before: IntegrityState | None, stamp_ns: Stamps, record: records.LaserScans
    ) -> tuple[_Judged, IntegrityState]:
        scans = scans_from_messages(
            stamp_ns, record.angle_min_rad, record.angle_increment_rad, ranges_m=record.ranges_m,
            limits_m=(record.range_min_m, record.range_max_m),
        )  # fmt: skip
        views = clouds.views(int(stamp_ns[0]), int(stamp_ns[-1]))
        found = integrity_from_scans(settings, before, scans, views=views, mounting=mounting)
        return _Judged(record, found), found.last

    return Chain(inputs, compute)


def sensor_integrity(spec: DerivedSpec, streams: Sequence[Stream], place: Place) -> list[Feed]:
    """The scans filtered, the share of suspect returns with each, and a report once in a while."""
    chain = _chain(spec, streams, place)
    laser = streams[0]
    scan_spec = StreamSpec(id="derived", topic="", type=SCAN, frame=place.frame_prefix + spec.child_frames[0])

    def filtered(index: int) -> tuple[Stamps, SpanMessages]:
        stamp_ns, judged = chain.rows(index)
        if judged is None:
            return stamp_ns, messages_of_record(laser.load(index).only(np.zeros(0, np.intp)), scan_spec)
        ranges = filtered_ranges(judged.scans.ranges_m, judged.found.outcomes)
        return stamp_ns, messages_of_record(replace(judged.scans, ranges_m=ranges), scan_spec)

    def shares(index: int) -> Rows:
        stamp_ns, judged = chain.rows(index)
        data, rows = layout_of(SHARE, {}).rows(len(stamp_ns))
        if judged is not None:
            rows["data"] = np.nan_to_num(judged.found.shares.suspect)
        return stamp_ns, data

    def reports(index: int) -> tuple[Stamps, SpanMessages]:
        _, judged = chain.rows(index)
        record = _diagnostics(spec.topic, [] if judged is None else judged.found.reports)
        return record.stamp_ns, messages_of_record(record, StreamSpec(id="derived", topic="", type=DIAGNOSTICS))

    topics = {name: place.topic(f"{spec.topic}/{name}") for name in (FILTERED, SUSPECT, REPORT)}
    made = {FILTERED: (SCAN, filtered), REPORT: (DIAGNOSTICS, reports)}
    return [
        *(
            feed_of_made(
                topic=topics[name], msgtype=kind, spans=laser.spans, load=load, rank=place.rank, stream="derived"
            )
            for name, (kind, load) in made.items()
        ),
        feed_of_rows(laser, topics[SUSPECT], SHARE, rank=place.rank, make=shares),
    ]


def _diagnostics(laser: str, reports: Sequence[Report]) -> records.Diagnostics:
    states = tuple(
        (records.State(laser, FINE if report.is_fine else WARNING, report.verdict, report.values),)
        for report in reports
    )
    stamp_ns = np.array([report.stamp_ns for report in reports], np.int64)
    return records.Diagnostics(stamp_ns=stamp_ns, states=states, place=np.arange(len(reports)))
