"""The lasers of ACFR's datasets, from their lines to messages: sense, units, codes, merged scans, frames."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.registry import open_dataset, spec_of_dataset
from fieldplay.geometry.extrinsics import edges_from_published, transform_from_published
from fieldplay.topics.selection import Selection
from support import tiny_acfr as tiny
from support.archive_messages import Messages, messages_of
from support.tiny_acfr import LASERS, TinyAcfr

TOPICS = {"LaserHorizontal": "laser_horizontal", "LaserVertical": "laser_vertical", "LaserPort": "laser_port",
          "LaserStarboard": "laser_starboard"}  # fmt: skip
SCANS = Selection(topics="laser_.*")
TREE = {  # facts, 3.2: x y z in base_link, x y z w
    "laser_horizontal": ((0.108987, -0.008302, 0.919726), (-0.007442202, 0.074764509, 0.014673940, 0.997065473)),
    "laser_vertical": ((-0.000291, 0.082272, 1.126802), (0.698142817, 0.007580259, 0.006297898, 0.715890692)),
    "laser_port": ((0.190857, 0.548777, 0.763776), (-0.004723424, 0.022756928, 0.015854280, 0.999604148)),
    "laser_starboard": ((0.198663, -0.534253, 0.849538), (-0.005383311, 0.003651945, 0.020525629, 0.999768164)),
    "radar": ((-0.025753, 0.047174, 1.399104), (0.993539706, 0.058476645, -0.097005753, 0.007015579)),
    "visual_camera": ((0.183635946, -0.414215997, 1.219122630), (-0.569131368, 0.539748320, -0.435233060, 0.441965406)),
    "ir_camera": ((0.266830288, 0.353304530, 1.195903685), (-0.587281885, 0.534418893, -0.428627021, 0.431016602)),
}
CAMERAS_THROUGH = {  # facts, 3.2: where the cameras are by the other lasers' rows
    ("visual_camera", "laser_port"): (0.2548, -0.3993, 1.2889),
    ("visual_camera", "laser_starboard"): (0.2539, -0.3875, 1.3434),
    ("ir_camera", "laser_port"): (0.3639, 0.3723, 1.2878),
    ("ir_camera", "laser_starboard"): (0.3471, 0.3872, 1.3198),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyAcfr:
    """Lasers alone, which no test changes."""
    archive = TinyAcfr(tmp_path_factory.mktemp("acfr") / "29-DynamicDayTriangleClear")
    archive.write_lasers()
    return archive


@pytest.fixture(scope="module")
def messages(written: TinyAcfr) -> Messages:
    return messages_of(written.root)


def one_line(root: Path, *numbers: object, lines: int = 1) -> Path:
    """A dataset of one laser with one line, so many times."""
    text = "".join(f"*{tiny.START}.{10 * k:06d} RANGE_DATA {' '.join(map(str, numbers))}\n" for k in range(lines))
    TinyAcfr(root / "set").write("LaserPort/RangeBearingQAsciiData.txt", [text])
    return root / "set"


def scan_of(root: Path, **parameters: Any) -> Any:
    return messages_of(root, SCANS, **parameters)["laser_port/scan"][0][1]


def angles(scan: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.linspace(scan.angle_min, scan.angle_min + (len(scan.ranges) - 1) * scan.angle_increment, len(scan.ranges))


def test_every_line_is_scan_at_its_own_time_with_as_many_beams(messages: Messages) -> None:
    stamps = [stamp for _, _, stamp in tiny.times(tiny.LASER_HZ, 1)]
    for laser, name in TOPICS.items():
        actual = messages[f"{name}/scan"]
        assert [stamp for stamp, _ in actual] == stamps
        for index, (stamp, scan) in enumerate(actual):
            assert scan.header.stamp.sec * 10**9 + scan.header.stamp.nanosec == stamp
            assert scan.header.frame_id == name
            expected = np.array(tiny.ranges_cm(laser, index)[::-1], np.float32) / np.float32(100)
            np.testing.assert_allclose(scan.ranges, expected, rtol=1e-6)


def test_beams_stand_counter_clockwise_at_negative_of_their_angle(messages: Messages) -> None:
    for index, (_, scan) in enumerate(messages["laser_starboard/scan"]):
        last = tiny.first_deg(index) + tiny.beams(index) - 1
        assert math.degrees(scan.angle_min) == pytest.approx(-last, abs=1e-5)
        assert math.degrees(scan.angle_max) == pytest.approx(-tiny.first_deg(index), abs=1e-5)
        assert math.degrees(scan.angle_increment) == pytest.approx(1, abs=1e-6)
        assert angles(scan)[-1] == pytest.approx(scan.angle_max, abs=1e-5)


def test_times_and_limits_of_scan_are_those_of_device(messages: Messages) -> None:
    scan = messages["laser_vertical/scan"][3][1]
    assert scan.scan_time == pytest.approx(1 / 75)
    assert scan.time_increment == pytest.approx(37.04e-6, rel=1e-4)
    assert (scan.range_min, scan.range_max, len(scan.intensities)) == (0, 81, 0)


def test_what_file_has_to_left_is_seen_to_left_of_vehicle(messages: Messages) -> None:
    """The left frame pole, at -33 degrees in the file, counter-clockwise, and by the laser's yaw of 1.63 degrees."""
    transform = static_transform(messages, "laser_horizontal")
    for _, scan in messages["laser_horizontal/scan"]:
        near = int(np.argmin(scan.ranges))
        angle = angles(scan)[near]
        assert math.degrees(angle) == pytest.approx(33, abs=0.6)
        point = scan.ranges[near] * np.array([math.cos(angle), math.sin(angle), 0])
        x, y, _ = transform[:3, :3] @ point + transform[:3, 3]
        assert y > 1.8 and x > 2.7
        assert math.degrees(math.atan2(y - transform[1, 3], x - transform[0, 3])) == pytest.approx(34.8, abs=0.9)


def static_transform(messages: Messages, child: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    ((_, message),) = messages["/tf_static"]
    (result,) = (item.transform for item in message.transforms if item.child_frame_id == child)
    matrix = np.eye(4)
    rotation, translation = result.rotation, result.translation
    matrix[:3, :3] = Rotation.from_quat([rotation.x, rotation.y, rotation.z, rotation.w]).as_matrix()
    matrix[:3, 3] = translation.x, translation.y, translation.z
    return matrix


def test_static_tree_is_that_of_facts(messages: Messages) -> None:
    for child, (translation, quaternion) in TREE.items():
        actual = static_transform(messages, child)
        np.testing.assert_allclose(actual[:3, 3], translation, atol=1e-8)
        np.testing.assert_allclose(actual[:3, :3], Rotation.from_quat(quaternion).as_matrix(), atol=3e-9)
    axes = static_transform(messages, "radar")[:3, :3]
    np.testing.assert_allclose(axes[:, 0], (0.974341, 0.114837, -0.193579), atol=1e-6)  # ahead and down
    np.testing.assert_allclose(axes[:, 2], (-0.191938, -0.025286, -0.981081), atol=1e-6)  # upside down


def test_every_laser_has_its_own_row_for_each_camera_and_they_nearly_agree() -> None:
    spec = spec_of_dataset("acfr")
    rows = spec.projections
    assert len({(row.parent, row.child) for row in rows}) == len(rows) == 8
    tree = {edge.child: edge.parent_t_child for edge in edges_from_published(spec.extrinsics, spec.tree)}
    for row in rows:
        camera = tree[row.child] @ np.linalg.inv(transform_from_published(row))  # base_link to camera
        turn = Rotation.from_matrix(camera[:3, :3].T @ tree[row.parent][:3, :3])
        if row.child in ("laser_horizontal", "laser_vertical"):  # the second comes through the first
            np.testing.assert_allclose(camera, tree[row.parent], atol=3e-6)
        else:
            np.testing.assert_allclose(camera[:3, 3], CAMERAS_THROUGH[row.parent, row.child], atol=1e-4)
            assert math.degrees(turn.magnitude()) < (0.3 if row.parent == "visual_camera" else 1.7)


@pytest.mark.parametrize(("unit", "ranges_m", "limit"), [(1, [1.234, 8.09], 8.1), (2, [12.34, 80.9], 81.0)])
def test_ranges_are_in_unit_of_their_line(tmp_path: Path, unit: int, ranges_m: list[float], limit: float) -> None:
    scan = scan_of(one_line(tmp_path, 0, 0.01745329, 0.01745329, unit, 2, 1234, 8090))
    np.testing.assert_allclose(scan.ranges, ranges_m[::-1], rtol=1e-6)
    assert scan.range_max == pytest.approx(limit)


def told_of(root: Path) -> list[Defect]:
    """What is told of the lines of a dataset."""
    with open_dataset(root, "acfr", allow_empty=True) as archive:
        return [defect for defect in archive.defects.listed if defect.kind != "missing_file"]


@pytest.mark.parametrize(
    ("start", "step", "end", "count"), [(-90, 1, 90, 181), (-1.57, 1, 178.43, 181), (-1.57, 0, -1.57, 181)]
)
def test_angles_beyond_turn_or_without_step_are_no_scan(
    tmp_path: Path, start: float, step: float, end: float, count: int
) -> None:
    root = one_line(tmp_path, start, step, end, 2, count, *[500] * count)
    (defect,) = told_of(root)
    assert (defect.row, defect.kind) == (1, "wrong_angle") and defect.message.endswith("the line is left out")
    with pytest.raises(ArchiveError, match="nothing of acfr in it"):
        scan_of(root)


def test_metres_and_kilometres_are_understood_and_error_has_no_ranges(tmp_path: Path) -> None:
    for unit, text, expected in ((3, 12.5, 12.5), (4, 0.0125, 12.5), (4, 12.5, math.inf)):
        root = one_line(tmp_path / f"{unit}-{text}", 0, 0.01745329, 0, unit, 1, text)
        np.testing.assert_allclose(scan_of(root).ranges, [expected])
        assert told_of(root) == []
    root = one_line(tmp_path / "none", 0, 0.01745329, 0, 0, 1, 12.5)
    (defect,) = told_of(root)
    assert (defect.row, defect.kind) == (1, "out_of_range")
    assert defect.message == "column unit: expected one of 1, 2, 3, 4, got 0; the line is left out"
    np.testing.assert_allclose(scan_of(root, range_unit="m").ranges, [12.5])  # then what the line says does not count


def test_file_that_reports_its_unit_wrongly_can_be_read(tmp_path: Path) -> None:
    root = one_line(tmp_path, 0, 0.01745329, 0.01745329, 2, 2, 1.5, 2.5)
    np.testing.assert_allclose(scan_of(root, range_unit="m").ranges, [2.5, 1.5])
    np.testing.assert_allclose(scan_of(root).ranges, [0.025, 0.015], rtol=1e-6)


@pytest.mark.parametrize("unit", [1, 2])
def test_what_lies_beyond_is_infinite_and_what_is_no_range_is_nan(tmp_path: Path, unit: int) -> None:
    codes = [8183, 8186, 8187, 8189, 8190, 8191, 8180, 8179, 0, -1]
    root = one_line(tmp_path, 0, 0.01745329, 9 * 0.01745329, unit, len(codes), *codes)
    far = 8179 / (1000 if unit == 1 else 100)
    np.testing.assert_allclose(scan_of(root).ranges[::-1], [math.inf] * 7 + [far] + [math.nan] * 2, rtol=1e-6)
    sick = scan_of(root, range_codes="sick").ranges[::-1]
    np.testing.assert_allclose(sick, [math.inf] + [math.nan] * 5 + [math.inf, far] + [math.nan] * 2, rtol=1e-6)


def test_line_that_runs_counter_clockwise_already_is_not_turned(tmp_path: Path) -> None:
    scan = scan_of(one_line(tmp_path, 0.5, -0.01745329, 0.5 - 2 * 0.01745329, 2, 3, 100, 200, 300))
    np.testing.assert_allclose(scan.ranges, [1, 2, 3])
    assert scan.angle_min == pytest.approx(-0.5)
    assert scan.angle_increment == pytest.approx(0.01745329)


def test_stamps_may_go_back_to_first_beam_and_sense_may_be_turned(written: TinyAcfr) -> None:
    early = messages_of(written.root, SCANS, laser_stamps="first_beam")["laser_port/scan"]
    stamps = [stamp for _, _, stamp in tiny.times(tiny.LASER_HZ, 1)]
    for index, (stamp, _) in enumerate(early):
        assert stamps[index] - stamp == pytest.approx((tiny.beams(index) - 1) / 360 / 75 * 1e9, abs=10)
    turned = messages_of(written.root, SCANS, laser_stamps="first_beam", beam_sense="clockwise")["laser_port/scan"]
    assert [stamp for stamp, _ in turned] == stamps  # then the first beam of the message is the last that was measured
    assert turned[0][1].time_increment == pytest.approx(-37.04e-6, rel=1e-4)


def merged(root: Path, laser: str = "laser_port", **parameters: Any) -> list[tuple[int, Any]]:
    return messages_of(root, SCANS, merge_scans=True, **parameters)[f"{laser}/scan_full"]


def test_four_lines_make_one_scan_when_they_are_requested(written: TinyAcfr, messages: Messages) -> None:
    assert not any("scan_full" in topic for topic in messages)
    stamps = [stamp for _, _, stamp in tiny.times(tiny.LASER_HZ, 1)]
    result = merged(written.root)
    assert [stamp for stamp, _ in result] == stamps[::4]
    for number, (_, scan) in enumerate(result[:-1]):
        assert len(scan.ranges) == 721
        assert math.degrees(scan.angle_min) == pytest.approx(-90, abs=1e-5)
        assert math.degrees(scan.angle_increment) == pytest.approx(0.25, abs=1e-6)
        assert (scan.scan_time, scan.time_increment) == (pytest.approx(4 / 75), 0)
        for quarter in range(4):
            own = tiny.ranges_cm("LaserPort", 4 * number + quarter)
            np.testing.assert_allclose(scan.ranges[::-1][quarter::4], np.array(own) / 100, rtol=1e-6)
    early = merged(written.root, laser_stamps="first_beam")
    for number, (stamp, _) in enumerate(early):
        assert stamps[4 * number] - stamp == pytest.approx(0.5 / 75 * 1e9, abs=10)  # half a turn
    rest = result[-1][1].ranges[::-1]  # 75 lines are 18 scans and three lines
    assert np.isnan(rest[3::4]).all() and np.isfinite(rest[2::4]).all() and len(rest) == 721


@pytest.mark.parametrize("gone", [{0}, {5}, {4, 5}, {7, 8}, {4, 5, 6, 7}, {6, 7, 8, 9}, {1, 6, 11}])
def test_lost_lines_leave_beams_without_number_and_shift_nothing(tmp_path: Path, gone: set[int]) -> None:
    archive = TinyAcfr(tmp_path / "set", seconds=0.4, lost=lambda index: index in gone)
    archive.write_lasers()
    result = merged(archive.root)
    groups = [{index for index in range(first, min(first + 4, 30)) if index not in gone} for first in range(0, 30, 4)]
    groups = [group for group in groups if group]
    stamps = [stamp for _, _, stamp in tiny.times(tiny.LASER_HZ, 1)]
    assert [stamp for stamp, _ in result] == [stamps[min(group)] for group in groups]
    for (_, scan), group in zip(result, groups, strict=True):
        assert len(scan.ranges) == 721
        there = {quarter for quarter in range(4) if not np.isnan(scan.ranges[::-1][quarter::4]).all()}
        assert there == {index % 4 for index in group}


def test_scans_of_hundred_degrees_in_millimetres_are_merged_too(tmp_path: Path) -> None:
    lines = []
    for index in range(8):
        count, start = (101 if index % 4 == 0 else 100), math.radians(-50 + 0.25 * (index % 4))
        numbers = [start, tiny.STEP_RAD, start + (count - 1) * tiny.STEP_RAD, tiny.MM, count, *([2000 + index] * count)]
        lines.append(f"*{tiny.START}.{13 * index:03d} RANGE_DATA {' '.join(map(str, numbers))}\n")
    TinyAcfr(tmp_path / "set").write("LaserPort/RangeBearingQAsciiData.txt", lines)
    result = merged(tmp_path / "set")
    assert [len(scan.ranges) for _, scan in result] == [401, 401]
    assert math.degrees(result[0][1].angle_max) == pytest.approx(50, abs=1e-5)
    np.testing.assert_allclose(result[1][1].ranges[::-1][:5], [2.004, 2.005, 2.006, 2.007, 2.004], rtol=1e-6)
    assert result[0][1].range_max == pytest.approx(8.1)


def test_lines_of_all_beams_are_whole_scans_already(tmp_path: Path) -> None:
    step = tiny.STEP_RAD / 4
    root = one_line(tmp_path, -math.pi / 2, step, -math.pi / 2 + 720 * step, 2, 721, *range(100, 821), lines=3)
    messages = messages_of(root, SCANS, merge_scans=True)
    for topic in ("laser_port/scan", "laser_port/scan_full"):
        assert len(messages[topic]) == 3
        np.testing.assert_allclose(messages[topic][2][1].ranges[::-1], np.arange(100, 821) / 100, rtol=1e-6)
    assert messages["laser_port/scan"][0][1].time_increment == 0
    early = messages_of(root, SCANS, laser_stamps="first_beam")["laser_port/scan"][0][0]
    assert tiny.START_NS - early == pytest.approx(3.5 / 75 * 1e9, abs=10)  # four turns, the last one of which is half


def test_scans_are_merged_across_blocks_of_long_file(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "set", seconds=60, lost=lambda index: index % 97 == 5)
    archive.write("LaserPort/RangeBearingQAsciiData.txt", archive.laser_lines("LaserPort"))
    with open_dataset(archive.root, "acfr", {"merge_scans": True}) as opened:
        single, full = opened.streams["laser_port_scan"], opened.streams["laser_port_scan_full"]
        assert len(full.spans) > 3
        records: list[Any] = [full.load(index) for index in range(len(full.spans))]
        lines: list[Any] = [single.load(index) for index in range(len(single.spans))]
    counts = [np.isfinite(record.ranges_m).sum() for record in records]
    assert sum(counts) == sum(record.count.sum() for record in lines)
    stamps = np.concatenate([record.stamp_ns for record in records])
    first: dict[int, int] = {}
    for index, _, stamp in tiny.times(tiny.LASER_HZ, 60):
        if index % 97 != 5:
            first.setdefault(index // 4, stamp)
    assert stamps.tolist() == list(first.values())


def spoilt(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    return lambda text: " ".join(change(text.split(" ")))


FAULTS: list[tuple[Callable[[str], str], str, int]] = [
    (spoilt(lambda words: words[:-1]), "short_row", 1),
    (spoilt(lambda words: [*words, "100"]), "long_row", 1),
    (spoilt(lambda words: [*words[:6], "17", *words[7:]]), "long_row", 1),
    (spoilt(lambda words: [*words[:50], "1?0", *words[51:]]), "not_a_number", 1),
    (spoilt(lambda words: [*words[:2], "-90", "1", "90", *words[5:]]), "wrong_angle", 1),
    (spoilt(lambda words: [words[0], "RANGE_REFLECTIVITY_DATA", *words[2:]]), "wrong_type", 1),
    (spoilt(lambda words: [*words[:4], "0.1", *words[5:]]), "wrong_angle", 0),
    (spoilt(lambda words: [*words[:5], "9", *words[6:]]), "out_of_range", 1),
    (spoilt(lambda words: ["*1924198733.5", *words[1:]]), "backward_time", 0),
    (spoilt(lambda words: ["*12241987330.5", *words[1:]]), "not_a_number", 1),
    (lambda text: text[: len(text) // 2], "short_row", 1),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "lost"), FAULTS)
def test_faulty_line_is_reported_once_and_all_others_play(
    tmp_path: Path, change: Callable[[str], str], kind: str, lost: int
) -> None:
    archive = TinyAcfr(tmp_path / "set")
    lines = archive.laser_lines("LaserPort")
    lines[40] = change(lines[40].rstrip("\n")) + "\n"
    archive.write("LaserPort/RangeBearingQAsciiData.txt", lines)
    with open_dataset(archive.root, "acfr") as opened:
        actual = [(defect.row, defect.kind) for defect in opened.defects.listed if defect.kind != "missing_file"]
    expected = {"backward_time": [(42, "backward_time"), (41, "gap")]}.get(kind, [(41, kind)])
    assert sorted(actual, key=str) == sorted(expected, key=str)
    assert len(messages_of(archive.root, SCANS)["laser_port/scan"]) == 75 - lost


def test_gap_is_reported(tmp_path: Path) -> None:
    archive = TinyAcfr(tmp_path / "set", seconds=3, lost=lambda index: 80 <= index < 130)
    archive.write("LaserVertical/RangeBearingQAsciiData.txt", archive.laser_lines("LaserVertical"))
    with open_dataset(archive.root, "acfr") as opened:
        result = [(defect.row, defect.kind) for defect in opened.defects.listed if defect.kind != "missing_file"]
    assert result == [(81, "gap")]


def test_lasers_are_distinguished_by_their_folders(messages: Messages) -> None:
    firsts = [messages[f"{TOPICS[laser]}/scan"][0][1].ranges[-1] for laser in LASERS]
    np.testing.assert_allclose(firsts, [10, 11, 12, 13])
