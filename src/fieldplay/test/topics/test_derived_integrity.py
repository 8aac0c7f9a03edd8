"""What a conversion makes of scans and a radar's clouds, from streams made here, span by span."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.dust.classify import integrity_from_scans
from fieldplay.dust.radar_returns import RadarViews, mounting_from_base, nearest_from_returns
from fieldplay.dust.scans import IN_FRONT, ISOLATED, IntegritySettings, scans_from_messages
from fieldplay.geometry.extrinsics import Edge
from fieldplay.kinematics.computation import FrameNames
from fieldplay.messages import records
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay_testing.hazy_scene import LASER, RADAR, START_NS, Air, Array, Yard, scans_of, turns_of
from fieldplay_testing.reference_messages import block_messages

STORE = get_typestore(Stores.ROS2_JAZZY)
NUMBERS = {"window_s": 0.5, "report_s": 0.4, "least_judged": 50}
SETTINGS = IntegritySettings(window_s=0.5, report_s=0.4, least_judged=50)
SPEC = DerivedSpec(
    kind="sensor_integrity", streams=("laser_scan", "radar_points"), topic="laser", frame="base_link",
    child_frames=("laser", "radar"), settings={**NUMBERS, "lasers": ["laser"]},
)  # fmt: skip
EDGES = [Edge("base_link", "laser", LASER), Edge("base_link", "radar", RADAR)]
SECONDS = 2.0
SCANS, AIRBORNE = scans_of(Yard(air=Air(dust_per_m=0.3)), SECONDS)
STAMPS, TURNS = turns_of(Yard(), SECONDS)
SCAN, SHARE, REPORT = "/yard/laser/scan_filtered", "/yard/laser/suspect_ratio", "/yard/laser/integrity"


class Parted:
    """A stream that is cut into spans."""

    def __init__(self, stamp_ns: np.ndarray, cuts: Sequence[int], make: Callable[[slice], records.Record]) -> None:
        self._parts = [slice(*pair) for pair in pairwise([0, *cuts, len(stamp_ns)])]
        self._make = make
        self.spans = [Span(int(stamp_ns[p][0]), int(stamp_ns[p][-1]), len(stamp_ns[p])) for p in self._parts]

    def load(self, index: int) -> records.Record:
        return self._make(self._parts[index])


def laser(part: slice) -> records.Record:
    stamp_ns = SCANS.stamp_ns[part]
    same = np.ones(len(stamp_ns))
    return records.LaserScans(
        stamp_ns=stamp_ns, angle_min_rad=SCANS.angle_min_rad[part], ranges_m=SCANS.ranges_m[part],
        angle_increment_rad=SCANS.angle_increment_rad[part],
        count=np.where(np.arange(len(SCANS))[part] % 4 == 0, 181, 180), range_min_m=0.05 * same, range_max_m=81 * same,
        scan_time_s=same / 75, time_increment_s=same / 75 / 360,
    )  # fmt: skip


def radar(part: slice, damaged: int | None = None) -> records.Record:
    def load(row: int) -> Any:
        if range(len(STAMPS))[part][row] == damaged:
            raise ArchiveError("torn")
        points = np.zeros(len(TURNS[part][row]), [(axis, "<f4") for axis in "xyz"])
        for number, axis in enumerate("xyz"):
            points[axis] = TURNS[part][row][:, number]
        return points

    return records.Clouds(stamp_ns=STAMPS[part], names=tuple("" for _ in STAMPS[part]), load=load)


def sources(
    laser_cuts: Sequence[int] = (), radar_cuts: Sequence[int] = (), damaged: int | None = None
) -> list[FedStream]:
    return [
        FedStream(Parted(SCANS.stamp_ns, laser_cuts, laser), FrameNames("laser")),
        FedStream(Parted(STAMPS, radar_cuts, lambda part: radar(part, damaged)), FrameNames("radar")),
    ]


def derived_messages(
    laser_cuts: Sequence[int] = (), radar_cuts: Sequence[int] = (), *, first_ns: int = 0, damaged: int | None = None
) -> dict[str, list[tuple[int, Any]]]:
    """The messages by topic, as a conversion would write them."""
    options = DerivedOptions(
        topic=lambda name: f"/yard/{name}", frame_prefix="robot/", tf_rank=0, rank=1, first_ns=first_ns, static=EDGES
    )
    feeds = feeds_of_computation(SPEC, sources(laser_cuts, radar_cuts, damaged), options)
    types = {feed.topic: feed.msgtype for feed in feeds}
    messages: dict[str, list[tuple[int, Any]]] = {topic: [] for topic in types}
    for batch in batches(feeds, range(len(feeds)), Window(START_NS, max(first_ns, START_NS), None)):
        for channel, stamp, data in zip(batch.channel, batch.stamp_ns, block_messages(batch.block), strict=True):
            topic = feeds[channel].topic
            message = STORE.deserialize_cdr(data, types[topic])
            messages[topic].append((int(stamp), message))
    return messages


def stamp_of(message: Any) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


@pytest.fixture(scope="module")
def whole() -> dict[str, list[tuple[int, Any]]]:
    return derived_messages()


def test_each_scan_has_filtered_scan_and_suspect_fraction(whole: dict[str, list[tuple[int, Any]]]) -> None:
    single: list[Array] = [turn.astype(np.float32).astype(np.float64) for turn in TURNS]
    views = RadarViews(stamp_ns=STAMPS, nearest_m=np.stack([nearest_from_returns(SETTINGS, turn) for turn in single]))
    limits = (np.full(len(SCANS), 0.05), np.full(len(SCANS), 81.0))
    scans = scans_from_messages(
        SCANS.stamp_ns, SCANS.angle_min_rad, SCANS.angle_increment_rad, ranges_m=SCANS.ranges_m, limits_m=limits
    )
    result = integrity_from_scans(SETTINGS, None, scans, views=views, mounting=mounting_from_base(LASER, RADAR))
    flagged = (result.outcomes == IN_FRONT) | (result.outcomes == ISOLATED)
    assert flagged[AIRBORNE].mean() > 0.6
    assert [stamp for stamp, _ in whole[SCAN]] == [stamp for stamp, _ in whole[SHARE]] == SCANS.stamp_ns.tolist()
    for row, (stamp, message) in enumerate(whole[SCAN]):
        count = 181 if row % 4 == 0 else 180
        assert len(message.ranges) == count
        assert (stamp_of(message), message.header.frame_id) == (stamp, "robot/laser")
        expected = np.where(flagged[row], np.nan, SCANS.ranges_m[row]).astype(np.float32)[:count]
        assert np.array_equal(message.ranges, expected, equal_nan=True)
    assert [m.data for _, m in whole[SHARE]] == pytest.approx(result.rates.suspect.tolist(), abs=1e-6)
    states = [(stamp, m.status[0].message, m.status[0].name, m.status[0].level) for stamp, m in whole[REPORT]]
    assert states == [(r.stamp_ns, r.verdict, "laser", 0 if r.is_fine else 1) for r in result.reports]
    assert states[-1][1] == "dust or smoke"
    assert [[(v.key, v.value) for v in m.status[0].values] for _, m in whole[REPORT]] == [
        list(report.values) for report in result.reports
    ]


@pytest.mark.parametrize("cuts", [((1, 40, 41, 120), (3, 9)), ((75,), tuple(range(1, 16)))])
def test_result_does_not_depend_on_spans_of_streams(
    whole: dict[str, list[tuple[int, Any]]], cuts: tuple[Sequence[int], Sequence[int]]
) -> None:
    parts = derived_messages(*cuts)
    for topic, messages in whole.items():
        assert [stamp for stamp, _ in parts[topic]] == [stamp for stamp, _ in messages]
    for (_, one), (_, other) in zip(parts[SCAN], whole[SCAN], strict=True):
        assert np.array_equal(one.ranges, other.ranges, equal_nan=True)
    assert [m.data for _, m in parts[SHARE]] == [m.data for _, m in whole[SHARE]]
    assert [m.status for _, m in parts[REPORT]] == [m.status for _, m in whole[REPORT]]


def test_later_start_ignores_earlier_data(whole: dict[str, list[tuple[int, Any]]]) -> None:
    result = derived_messages((70,), first_ns=int(SCANS.stamp_ns[90]))
    assert [stamp for stamp, _ in result[SCAN]] == SCANS.stamp_ns[90:].tolist()
    first, later = result[SCAN][0][1], whole[SCAN][90][1]
    assert np.isnan(first.ranges).sum() < np.isnan(later.ranges).sum()
    assert result[SHARE][0][1].data == 0 < whole[SHARE][90][1].data


def test_damaged_revolution_is_skipped() -> None:
    result = derived_messages(damaged=4)
    assert len(result[SCAN]) == len(SCANS)
    assert result[REPORT][-1][1].status[0].message == "dust or smoke"


def test_sensor_without_static_frame_raises_error_with_its_name() -> None:
    options = DerivedOptions(topic=str, frame_prefix="", tf_rank=0, rank=1, first_ns=0, static=EDGES[:1])
    (feed, *_) = feeds_of_computation(SPEC, sources(), options)
    expected = "expected base_link and radar to be joined by static frames, there are base_link, laser"
    with pytest.raises(ArchiveError, match=expected):
        feed.records(0)
