"""Figures of planar range sensors from hand-made messages: what is counted where, what is left out, what is told."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from fieldplay.recording.record_batches import RecordBatch
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.overview import Overview
from fieldplay.report.range_panels import (
    CELL_M,
    PER_DEG,
    BearingPanel,
)
from fieldplay.report.tf_panel import TransformPanel
from fieldplay.streams.stream_times import StreamTimes
from fieldplay_testing.drawn import drawn_image
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
    transforms,
)

SCAN, CLOUD = "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/PointCloud2"
STEP_NS = 50_000_000
UPSIDE_DOWN = (1.0, 0.0, 0.0, 0.0)
ON_ITS_EDGE = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
FLAGGED_RGB = (213, 94, 0)
Ranges = Callable[[int, np.ndarray], np.ndarray]


def scans(ranges: Ranges, count: int = 20, beams: int = 181) -> list[tuple[int, Any]]:
    """Scans from the right to the left whose ranges are a function of the row and of the bearings in degrees."""
    bearings = np.arange(beams) - 90.0
    return [
        (START_NS + row * STEP_NS, stamped_message(
            SCAN, START_NS + row * STEP_NS, "laser", angle_min=-np.pi / 2, angle_increment=np.radians(1.0),
            range_min=0.1, range_max=80.0, ranges=ranges(row, bearings).astype(np.float32),
        ))
        for row in range(count)
    ]  # fmt: skip


def clouds(points: np.ndarray, count: int = 20) -> list[tuple[int, Any]]:
    """Revolutions of a radar, all alike."""
    fields = [
        make("sensor_msgs/msg/PointField", name=axis, offset=4 * index, datatype=7, count=1)
        for index, axis in enumerate("xyz")
    ]
    size = {"height": 1, "width": len(points), "point_step": 12, "row_step": 12 * len(points)}
    data = np.frombuffer(points.astype("<f4").tobytes(), np.uint8)
    return [
        (
            START_NS + row * STEP_NS,
            stamped_message(CLOUD, START_NS + row * STEP_NS, "radar", fields=fields, data=data, **size),
        )
        for row in range(count)
    ]


def around(ranges: np.ndarray) -> np.ndarray:
    """Points at the ranges, evenly around, from the bearing 0 on."""
    bearings = np.arange(len(ranges)) * 2 * np.pi / len(ranges)
    return np.stack([ranges * np.cos(bearings), ranges * np.sin(bearings), 0 * ranges], axis=-1)


def section_of(*batches: RecordBatch, tf: tuple[Any, ...] = ()) -> str:
    """The body of the section, the empty text where there is none."""
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    panel = BearingPanel()
    if tf:
        TransformPanel(overview.frames).add(batch("/tf_static", [(START_NS, transforms(*tf))]))
    for each in batches:
        overview.streams.setdefault(each.topic, StreamTimes()).add(each.stamp_ns)
        overview.streams[each.topic].flush_pending()
        if each.topic.msgtype in panel.msgtypes:
            panel.add(each)
    panel.report_issues(overview.issues)
    assert overview.issues.total == 0
    sections = panel.sections(overview)
    return str(sections[0].body) if sections else ""


def at(pixels: np.ndarray, across: float, up: float) -> np.ndarray:
    """The colour at a share of the width and of the height from below."""
    row, column = int((1 - up) * pixels.shape[0]), int(across * pixels.shape[1])
    return np.asarray(pixels[row, column])


def text_of(body: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", str.replace(body, "<wbr>", "")))


def scene_ranges(_: int, bearings: np.ndarray) -> np.ndarray:
    """Something at 4 m to the left, a wall at 8 m ahead and to the right, nothing between."""
    return np.where(bearings > 45, 4.1, np.where(bearings < 20, 8.1, np.inf))


def test_returns_are_drawn_by_angle_and_range_with_left_on_left() -> None:
    body = section_of(batch("/laser/scan", scans(scene_ranges)))
    pixels = drawn_image(body, "/laser/scan, returns")
    cells = {
        "left near": (0.1, 0.415),
        "left far": (0.1, 0.815),
        "right near": (0.9, 0.415),
        "right far": (0.9, 0.815),
    }
    assert [name for name, cell in cells.items() if at(pixels, *cell)[3] > 200] == ["left near", "right far"]
    assert at(pixels, 0.32, 0.415)[3] == at(pixels, 0.32, 0.815)[3] == 0
    assert "3 100 returns" in text_of(body).replace("\u202f", " ")


def test_filtered_returns_are_highlighted() -> None:
    def filtered_ranges(row: int, bearings: np.ndarray) -> np.ndarray:
        return np.where(bearings > 45, np.nan, scene_ranges(row, bearings))

    body = section_of(batch("/laser/scan", scans(scene_ranges)), batch("/laser/scan_filtered", scans(filtered_ranges)))
    pixels = drawn_image(body, "/laser/scan, returns")
    assert at(pixels, 0.1, 0.415)[:3].tolist() == list(FLAGGED_RGB)
    assert at(pixels, 0.9, 0.815)[:3].tolist() != list(FLAGGED_RGB)
    assert "29.0 % of them taken out" in body and "scan_filtered" not in body


def test_radar_is_drawn_by_its_own_angles() -> None:
    """It meets something at 4.1 m to the left, and what is farther to the right."""
    own = np.where(np.arange(120) * 3 < 180, 4.1, 8.1)
    messages = batch("/laser/scan", scans(scene_ranges)), batch("/radar/points", clouds(around(own)))
    body = section_of(*messages)
    pixels = drawn_image(body, "/radar/points, returns")
    near, far = (pixels[int((1 - up) * len(pixels)), :, 3] > 0 for up in (0.415, 0.815))
    half = len(near) // 2
    assert (near[:half].sum(), far[half:].sum()) == (60, 60)
    assert near[half + 6 :].sum() == far[6 : half - 6].sum() == 0  # straight behind is at either end
    assert "2\u202f400 returns" in body


def test_reports_are_counted_for_each_sensor() -> None:
    status = make("diagnostic_msgs/msg/DiagnosticStatus", name="front", message="dust or smoke", level=1)
    report = stamped_message("diagnostic_msgs/msg/DiagnosticArray", START_NS, "", status=[status])
    body = section_of(
        batch("/front/scan", scans(scene_ranges)),
        batch("/front/integrity", [(START_NS, report), (START_NS + STEP_NS, report)]),
        batch("/diagnostics", [(START_NS, report)]),
    )
    assert "/front dust or smoke: 2" in text_of(body)
    assert "/diagnostics" not in body


def test_non_planar_or_large_clouds_are_not_treated_as_radar() -> None:
    bent = around(np.full(60, 5.0)) + np.array([0, 0, 0.5])
    large = around(np.full(20_000, 5.0))
    assert section_of(batch("/lidar/points", clouds(bent)), batch("/other/points", clouds(large, 2))) == ""
    assert section_of(batch("/radar/points", clouds(around(np.full(60, 5.0)))))


def test_memory_does_not_grow_with_length() -> None:
    panel = BearingPanel()
    for start in range(0, 2000, 100):
        part = [(s + start * STEP_NS, message) for s, message in scans(scene_ranges, 100, 180 + start % 200 // 100)]
        panel.add(batch("/laser/scan", part))
    (seen,) = panel.__dict__["_lasers"].values()
    assert seen.counts[:, int(4.1 / CELL_M)].sum() == 2000 * 44 + 1000
    assert seen.counts[int((180 + 60) * PER_DEG), int(4.1 / CELL_M)] > 0


def test_invalid_scans_are_tolerated() -> None:
    def wild(row: int, bearings: np.ndarray) -> np.ndarray:
        return np.where(bearings > 0, np.nan, [-5.0, 1e30, 5.0][row % 3])

    strange = stamped_message(
        SCAN, START_NS, "laser", angle_min=np.nan, angle_increment=0.0, ranges=np.ones(5, np.float32)
    )
    assert section_of(batch("/laser/scan", [*scans(wild), (START_NS, strange)]))
    assert section_of(batch("/laser/scan", [(START_NS, strange)])) == ""
