"""Figures of planar range sensors from hand-made messages: what is counted where, what is left out, what is told."""

import base64
import re
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay.recording.record_batches import RecordBatch
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.panels.overview_panel import Overview, StreamTimes
from fieldplay.report.panels.scan_panel import (
    CELL_M,
    MAX_ROWS,
    PER_DEG,
    BearingPanel,
    LaserSeen,
)
from fieldplay.report.panels.tf_panel import TransformPanel
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
    transform,
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
    panel = BearingPanel(overview.frames)
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


def figure(body: str, title: str) -> np.ndarray:
    """The cells (rows, columns, 4) in RGBA of the figure whose picture has this name."""
    (data,) = re.findall(rf'src="data:image/webp;base64,([^"]*)" alt="{re.escape(title)}', body)
    pixels = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    opaque = np.full((*pixels.shape[:2], 1), 255)
    return np.concatenate([pixels[..., 2::-1], pixels[..., 3:], opaque], axis=-1)[..., :4].astype(float)


def at(pixels: np.ndarray, across: float, up: float) -> np.ndarray:
    """The colour at a share of the width and of the height from below."""
    row, column = int((1 - up) * pixels.shape[0]), int(across * pixels.shape[1])
    return np.asarray(pixels[row, column])


def text_of(body: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body.replace("<wbr>", "")))


def scene_ranges(_: int, bearings: np.ndarray) -> np.ndarray:
    """Something at 4 m to the left, a wall at 8 m ahead and to the right, nothing between."""
    return np.where(bearings > 45, 4.1, np.where(bearings < 20, 8.1, np.inf))


def test_returns_are_drawn_by_angle_and_range_with_left_on_left() -> None:
    body = section_of(batch("/laser/scan", scans(scene_ranges)))
    pixels = figure(body, "/laser/scan, 3")
    cells = {
        "left near": (0.1, 0.415),
        "left far": (0.1, 0.815),
        "right near": (0.9, 0.415),
        "right far": (0.9, 0.815),
    }
    assert [name for name, cell in cells.items() if at(pixels, *cell)[3] > 200] == ["left near", "right far"]
    assert at(pixels, 0.32, 0.415)[3] == at(pixels, 0.32, 0.815)[3] == 0
    assert "3 100 returns" in text_of(body).replace("\u202f", " ")


def marker(name: str, x: float, y: float, *, alpha: float = 1.0) -> Any:
    fields = {"pose__position__x": x, "pose__position__y": y, "pose__orientation__w": 1.0, "color__a": alpha}
    return stamped_message("visualization_msgs/msg/Marker", START_NS, "map", ns=name, type=3, **fields)


def test_reference_objects_are_numbered_by_angle_and_range_with_legend() -> None:
    """The laser stands at (1, 0) in the map and looks along its x."""
    markers = [marker("tree", 6.0, 0.0), marker("gone", 3.0, 0.0, alpha=0.2), marker("far pole", 100.0, 0.0)]
    markers.append(marker("pole", 1.0, 4.0))
    array = make("visualization_msgs/msg/MarkerArray", markers=markers)
    laser = transform(START_NS, "map", "laser", (1.0, 0.0, 0.0))
    named = batch("/acfr/reference_objects", [(START_NS, array)])
    body = section_of(named, batch("/laser/scan", scans(scene_ranges)), tf=(laser,))
    result = re.findall(r'class="object" style="left:([\d.]+)%;top:([\d.]+)%">(\d+)<', body)
    assert [number for *_, number in result] == ["1", "3"]
    (ahead, five_m), (left, four_m) = ((float(x), float(y)) for x, y, _ in result)
    assert ahead == pytest.approx(50, abs=1) and left == pytest.approx(0.3, abs=1)
    assert five_m == pytest.approx(100 * (1 - 5 / 10)) and four_m == pytest.approx(100 * (1 - 4 / 10))
    assert "1 tree" in text_of(body) and "3 pole" in text_of(body)
    assert "gone" not in body and "far pole" not in body


def test_waterfall_colours_follow_ranges_from_top_down() -> None:
    """A wall at 20 m, before which something comes at half of the time, on the left alone."""

    def ranges(row: int, bearings: np.ndarray) -> np.ndarray:
        return np.where((row >= 10) & (bearings > 0), 3.0, 20.0)

    pixels = figure(section_of(batch("/laser/scan", scans(ranges))), "/laser/scan, ranges")
    early, late, right = at(pixels, 0.2, 0.8), at(pixels, 0.2, 0.2), at(pixels, 0.8, 0.2)
    assert early == pytest.approx(right)
    assert early[:3].sum() > late[:3].sum() + 100  # dark is near


def test_waterfall_draws_gap_of_days_as_strip() -> None:
    """Two sessions of 20 scans: above and below the strip, what is 3 m and what is 20 m away."""
    after = 5 * 86_400 * 10**9

    def later(messages: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        for _, message in messages:
            message.header.stamp.sec += after // 10**9
        return [(stamp_ns + after, message) for stamp_ns, message in messages]

    near = scans(lambda row, bearings: np.full(len(bearings), 3.0))
    body = section_of(batch("/laser/scan", near + later(scans(lambda row, bearings: np.full(len(bearings), 20.0)))))
    pixels = figure(body, "/laser/scan, ranges")
    assert 'class="break"' in body and ">5 d</span>" in body
    early, late = at(pixels, 0.5, 0.8), at(pixels, 0.5, 0.2)
    assert late[:3].sum() > early[:3].sum() + 100  # dark is near
    assert (pixels[..., 3] > 0).mean() > 0.9


def test_filtered_returns_are_highlighted() -> None:
    def filtered_ranges(row: int, bearings: np.ndarray) -> np.ndarray:
        return np.where(bearings > 45, np.nan, scene_ranges(row, bearings))

    body = section_of(batch("/laser/scan", scans(scene_ranges)), batch("/laser/scan_filtered", scans(filtered_ranges)))
    pixels = figure(body, "/laser/scan, 3")
    assert at(pixels, 0.1, 0.415)[:3].tolist() == list(FLAGGED_RGB)
    assert at(pixels, 0.9, 0.815)[:3].tolist() != list(FLAGGED_RGB)
    assert "taken out" in body and "scan_filtered" not in body


def test_upside_down_radar_has_angles_of_lasers() -> None:
    """It meets something at 4 m to the left of the base, which is to the right of its own."""
    own = np.where(np.arange(120) * 3 > 180, 4.1, 8.1)
    hung = transform(START_NS, "base", "radar", (0, 0, 1), UPSIDE_DOWN)
    level = transform(START_NS, "base", "laser", (0, 0, 1))
    messages = batch("/laser/scan", scans(scene_ranges)), batch("/radar/points", clouds(around(own)))
    pixels = figure(section_of(*messages, tf=(level, hung)), "/radar/points, 2\u202f")
    near, far = (pixels[int((1 - up) * len(pixels)), :, 3] > 0 for up in (0.415, 0.815))
    half = len(near) // 2
    assert (near[:half].sum(), far[half:].sum()) == (59, 60)
    assert near[half + 6 :].sum() == far[6 : half - 6].sum() == 0  # straight behind is at either end
    assert "radar: median" in section_of(*messages, tf=(level, hung))


def test_vertical_laser_has_own_angles_without_radar_curves() -> None:
    upright = transform(START_NS, "base", "laser", (0, 0, 1), ON_ITS_EDGE)
    level = transform(START_NS, "base", "radar", (0, 0, 1))
    radar = batch("/radar/points", clouds(around(np.full(120, 6.0))))
    body = section_of(batch("/laser/scan", scans(scene_ranges)), radar, tf=(upright, level))
    assert "in its own plane" in body
    assert "radar: median" not in body


def test_laser_radar_difference_is_drawn_when_tf_is_known() -> None:
    def near(_: int, bearings: np.ndarray) -> np.ndarray:
        return np.where(bearings > 0, 4.0, 10.0)

    frames = tuple(transform(START_NS, "base", name, (0, 0, 1)) for name in ("laser", "radar"))
    messages = batch("/laser/scan", scans(near)), batch("/radar/points", clouds(around(np.full(120, 10.1))))
    body = section_of(*messages, tf=frames)
    (line,) = re.findall(r'aria-label="laser minus radar"[^>]*>(.*?)</svg>', body)
    (curve,) = re.findall(r'<path d="M([^"]*)" class="line s0">', line)
    points = np.array(curve.split(), float).reshape(-1, 2)
    high = points[points[:, 1] < points[:, 1].max() - 300][:, 0] / 1000 * (30 * 1.12) - 15 * 1.12
    assert high == pytest.approx([-6.25, -0.25], abs=0.2)
    assert "laser minus radar" not in section_of(*messages)


def test_suspect_fractions_and_reports_are_shown_for_each_sensor() -> None:
    fractions = [(START_NS + k * STEP_NS, make("std_msgs/msg/Float32", data=0.1 * k)) for k in range(5)]
    status = make("diagnostic_msgs/msg/DiagnosticStatus", name="front", message="dust or smoke", level=1)
    report = stamped_message("diagnostic_msgs/msg/DiagnosticArray", START_NS, "", status=[status])
    other = make("std_msgs/msg/Float32", data=5.0)
    body = section_of(
        batch("/front/scan", scans(scene_ranges)),
        batch("/front/suspect_ratio", fractions),
        batch("/front/integrity", [(START_NS, report), (START_NS + STEP_NS, report)]),
        batch("/temperature", [(START_NS, other)]),
        batch("/diagnostics", [(START_NS, report)]),
    )
    assert "suspect returns share of all returns front" in text_of(body)
    assert "/front dust or smoke: 2" in text_of(body)
    assert "temperature" not in body


def test_non_planar_or_large_clouds_are_not_treated_as_radar() -> None:
    bent = around(np.full(60, 5.0)) + np.array([0, 0, 0.5])
    large = around(np.full(20_000, 5.0))
    assert section_of(batch("/lidar/points", clouds(bent)), batch("/other/points", clouds(large, 2))) == ""
    assert section_of(batch("/radar/points", clouds(around(np.full(60, 5.0)))))


def test_memory_does_not_grow_with_length() -> None:
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    panel = BearingPanel(overview.frames)
    for start in range(0, 2000, 100):
        part = [(s + start * STEP_NS, message) for s, message in scans(scene_ranges, 100, 180 + start % 200 // 100)]
        panel.add(batch("/laser/scan", part))
    (seen,) = panel.__dict__["_lasers"].values()
    assert isinstance(seen, LaserSeen) and seen.rows is not None
    assert seen.rows.seen == 2000 and MAX_ROWS <= len(seen.rows.rows()[0]) <= 2 * MAX_ROWS + 1
    assert seen.grid.counts[:, int(4.1 / CELL_M)].sum() == 2000 * 44 + 1000
    assert seen.grid.counts[int((180 + 60) * PER_DEG), int(4.1 / CELL_M)] > 0


def test_invalid_scans_are_tolerated() -> None:
    def wild(row: int, bearings: np.ndarray) -> np.ndarray:
        return np.where(bearings > 0, np.nan, [-5.0, 1e30, 5.0][row % 3])

    strange = stamped_message(
        SCAN, START_NS, "laser", angle_min=np.nan, angle_increment=0.0, ranges=np.ones(5, np.float32)
    )
    assert section_of(batch("/laser/scan", [*scans(wild), (START_NS, strange)]))
    assert section_of(batch("/laser/scan", [(START_NS, strange)])) == ""
