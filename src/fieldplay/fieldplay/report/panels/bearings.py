"""Range sensors in one plane: range against bearing, over time, lasers against a radar, and how much is suspect."""

from collections import Counter

import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay.core.number_text import count_text
from fieldplay.geometry.frames import Frames
from fieldplay.messages.decoders import MARKERS
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD, points_from_rows
from fieldplay.messages.record_decoder import DIAGNOSTICS
from fieldplay.messages.records import (
    Clouds,
    Diagnostics,
    LaserScans,
    Markers,
    Scalars,
)
from fieldplay.recording.record_source import Issues, RecordBatch
from fieldplay.report.html.charts import line_chart
from fieldplay.report.html.markup import Html, element, joined
from fieldplay.report.html.page import Section, cards, plain_table
from fieldplay.report.panels.bearing_figures import (
    LaserSeen,
    RadarSeen,
    ReferenceObjects,
    density_figure,
    difference_chart,
    shown_range_m,
    waterfall_figure,
)
from fieldplay.report.panels.curves import Numbers
from fieldplay.report.panels.overview import Overview
from fieldplay.report.panels.scans import SCAN

SHARE = "std_msgs/msg/Float32"
FILTERED, SUSPECT, REPORT = "_filtered", "/suspect_ratio", "/integrity"  # how topics end
OBJECTS, VISIBLE = "/reference_objects", 0.5  # how the topic ends; markers more transparent are not there
MOST_SENSORS = 8
MOST_BYTES = 100_000  # of a revolution: more is no radar that gives one range for each bearing
FLAT = 1e-3  # of the range
LEAD = (
    "Range against bearing as seen from above, the left on the left; a sensor that stands on its edge has the angles "
    "of its own plane. Where lasers are compared with a radar, orange is what that takes for dust, smoke or rain. "
    "Numbers are objects whose places are known, if the recording has reference_objects."
)


class BearingPanel:
    """Counts all returns of planar sensors by bearing and range, and keeps a few scans of each."""

    msgtypes = (SCAN, CLOUD, SHARE, DIAGNOSTICS, MARKERS)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._lasers: dict[Topic, LaserSeen] = {}
        self._radars: dict[Topic, RadarSeen | None] = {}  # None is one that does not scan a plane
        self._shares: dict[Topic, Numbers] = {}
        self._verdicts: dict[Topic, Counter[str]] = {}
        self._objects: ReferenceObjects | None = None

    def add(self, batch: RecordBatch) -> None:
        """Scans, revolutions, and what was found of them."""
        kinds = {SCAN: self._add_scans, CLOUD: self._add_clouds, SHARE: self._add_shares, MARKERS: self._add_objects}
        kinds.get(batch.topic.msgtype, self._add_verdicts)(batch)

    def tell(self, findings: Issues) -> None:
        """Nothing: of what cannot be read the panels of scans, clouds and numbers tell."""

    def sections(self, overview: Overview) -> list[Section]:
        """The figures, where a laser was heard, or a radar."""
        lasers = {topic: seen for topic, seen in overview.in_order(self._lasers) if seen.rows is not None}
        raw = {topic: seen for topic, seen in lasers.items() if _partner(topic, FILTERED) not in lasers}
        radars = {t: seen for t, seen in overview.in_order(self._radars) if seen is not None and seen.rows.seen}
        if not raw and not radars:
            return []
        figures = self._figures(overview, dict(list(raw.items())[:MOST_SENSORS]), radars)
        body = joined([*figures, self._told(overview)])
        return [Section("bearings", "Range sensors against bearing", body, LEAD)]

    def _figures(
        self, overview: Overview, lasers: dict[Topic, LaserSeen], radars: dict[Topic, RadarSeen]
    ) -> list[Html]:
        radar = next(iter(radars.values()), None)
        top_m = shown_range_m([radar.grid] if radar else [seen.grid for seen in lasers.values()])
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
        return [cards(densities, "wide"), cards(falls, "wide"), cards([*charts, *self._share_chart(overview)], "wide")]

    def _share_chart(self, overview: Overview) -> list[Html]:
        curves = [curve for _, kept in overview.in_order(self._shares) for curve in kept.curves(overview)]
        if not curves:
            return []
        unit = "share of all returns"
        return [line_chart("suspect returns", curves, unit=unit, x_axis=overview.time_axis())]

    def _told(self, overview: Overview) -> Html:
        if not self._verdicts:
            return Html("")
        rows = [
            (topic.name.removesuffix(REPORT), ", ".join(f"{name}: {count_text(n)}" for name, n in told.most_common()))
            for topic, told in overview.in_order(self._verdicts)
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
                points = points_from_rows(rows).astype(np.float64) if rows.nbytes <= MOST_BYTES else np.zeros((0, 3))
            except ArchiveError:
                continue
            off_plane = np.abs(points[:, 2]) > FLAT * (1 + np.linalg.norm(points, axis=1))
            if rows.nbytes > MOST_BYTES or off_plane.any():
                seen = self._radars[batch.topic] = None
            elif len(points):
                seen.add(int(framed.record.stamp_ns[0]), framed.frame.lstrip("/"), points)

    def _add_shares(self, batch: RecordBatch) -> None:
        if not batch.topic.name.endswith(SUSPECT):
            return
        label = batch.topic.name.removesuffix(SUSPECT).rpartition("/")[2]
        for record, *_ in batch.records:
            if isinstance(record, Scalars):
                numbers = self._shares.setdefault(batch.topic, Numbers((label,)))
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
        told = self._verdicts.setdefault(batch.topic, Counter())
        for _, make in batch.single():
            framed = make()
            if framed is not None and isinstance(framed.record, Diagnostics):
                told.update(state.message for state in framed.record.states[framed.record.place[0]])


def _partner(topic: Topic, ending: str) -> Topic:
    """The scans from which filtered ones were made; of others, themselves by another name."""
    is_filtered = topic.name.endswith(ending)
    return Topic(topic.name.removesuffix(ending), topic.msgtype) if is_filtered else Topic("", topic.msgtype)
