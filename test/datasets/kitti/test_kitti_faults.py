"""One fault at a time in KITTI's drives and sequences: it is reported with its place, and everything else plays."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from support import tiny_kitti as tiny
from support.archive_messages import messages_of
from support.tiny_kitti import TinyDrive

CALIBRATION = "calib_cam_to_cam.txt"


@dataclass(frozen=True)
class Fault:
    """What is spoilt in a drive or its day, the defect that follows, and the counts of topics that change."""

    spoil: Callable[[Path], object]
    file: str
    row: int | None
    kind: str
    message: str
    counts: dict[str, int]


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    def spoil(root: Path) -> None:
        path = root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return spoil


def gray(count: int, *, info: int | None = None) -> dict[str, int]:
    return {"camera_gray_left/image_raw/compressed": count, "camera_gray_left/camera_info": info or count}


OXTS = dict.fromkeys(("imu/data", "gnss/fix", "gnss/velocity", "gnss/odom", "/tf"), tiny.FRAMES - 1)
FAULTS = {
    "a missing image": Fault(
        lambda root: (root / "image_00/data/0000000002.png").unlink(), "image_00/timestamps.txt", 3, "missing_file",
        "expected a file for the time of line 3, got none", gray(4),
    ),
    "a cut image": Fault(
        lambda root: (root / "image_00/data/0000000002.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(30)),
        "image_00/data/0000000002.png", None, "damaged_picture", "", gray(4),
    ),
    "a cut cloud": Fault(
        lambda root: (root / "velodyne_points/data/0000000001.bin").write_bytes(bytes(1601)),
        "velodyne_points/data/0000000001.bin", None, "damaged_cloud",
        "expected points of 16 bytes, got 1601 bytes: 1 too many", {"lidar/points": 4},
    ),
    "a missing cloud": Fault(
        lambda root: (root / "velodyne_points/data/0000000004.bin").unlink(), "velodyne_points/timestamps.txt", 5,
        "missing_file", "expected a file for the time of line 5, got none", {"lidar/points": 4},
    ),
    "an oxts file without its last column": Fault(
        lambda root: (root / "oxts/data/0000000003.txt").write_text(" ".join(["1.5"] * 29)),
        "oxts/data/0000000003.txt", 1, "short_row", "expected 30 columns, got 29", OXTS,
    ),
    "an oxts file with another column": Fault(
        lambda root: (root / "oxts/data/0000000003.txt").write_text(" ".join(["1.5"] * 31)),
        "oxts/data/0000000003.txt", 1, "long_row", "expected 30 columns, got 31", OXTS,
    ),
    "an empty oxts file": Fault(
        lambda root: (root / "oxts/data/0000000003.txt").write_text(""),
        "oxts/data/0000000003.txt", 1, "empty_file", "expected a row of 30 numbers, got an empty file", OXTS,
    ),
    "a text in an oxts file": Fault(
        edit("oxts/data/0000000003.txt", "0.036", "north"),
        "oxts/data/0000000003.txt", 1, "not_a_number", "column roll: expected a number, got 'north'", OXTS,
    ),
    "fewer times than files": Fault(
        lambda root: (root / "image_00/timestamps.txt").write_text(tiny.dates(tiny.stamps_ns()[:4])),
        "image_00/data/0000000004.png", None, "no_time", "expected a line with its time in image_00/timestamps.txt",
        gray(4),
    ),
    "more times than files": Fault(
        lambda root: (root / "image_00/timestamps.txt").write_text(
            tiny.dates([*tiny.stamps_ns(), tiny.stamps_ns()[-1] + 10**8, tiny.stamps_ns()[-1] + 2 * 10**8])
        ),
        "image_00/timestamps.txt", 6, "missing_file", "expected a file for the time of lines 6 to 7, got none", {},
    ),
    "a time that is none": Fault(
        edit("image_00/timestamps.txt", "13:02:26.174321098", "13:02:xx.174321098"),
        "image_00/timestamps.txt", 3, "not_a_time", "expected a time, got '2011-09-26 13:02:xx", gray(4),
    ),
    "a singular projection": Fault(
        edit(f"../{CALIBRATION}", tiny.line("P_rect_03", tiny.P_RECT[3]), tiny.line("P_rect_03", [0] * 12)),
        CALIBRATION, 34, "bad_value", "P_rect_03: expected a camera matrix with focal lengths above 0",
        {"camera_color_right/camera_info": 0},
    ),
    "a projection with fewer numbers": Fault(
        edit(f"../{CALIBRATION}", tiny.line("P_rect_01", tiny.P_RECT[1]), tiny.line("P_rect_01", [1] * 9)),
        CALIBRATION, 18, "bad_value", "P_rect_01: expected 12 numbers, got 9", {"camera_gray_right/camera_info": 0},
    ),
    "a rotation that is none": Fault(
        edit("../calib_velo_to_cam.txt", tiny.line("R", tiny.VELO_R), tiny.line("R", [1] * 9)),
        "calib_velo_to_cam.txt", 2, "bad_value", "R: expected a rotation", {},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyDrive:
    return TinyDrive(tmp_path_factory.mktemp("kitti") / tiny.DATE).write_all()


@pytest.fixture(scope="module")
def counts(written: TinyDrive) -> dict[str, int]:
    return {topic: len(rows) for topic, rows in messages_of(written.root).items()}


def check(capsys: pytest.CaptureFixture[str], root: Path) -> tuple[int, dict[str, Any]]:
    code = main(["check", str(root), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_intact_drive_has_no_defects(written: TinyDrive, capsys: pytest.CaptureFixture[str]) -> None:
    code, actual = check(capsys, written.root)
    assert (code, actual["dataset"], actual["defects"]) == (0, "kitti", [])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_fault_is_reported_with_its_place_and_rest_plays(
    fault: Fault, written: TinyDrive, counts: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(written.day, tmp_path / tiny.DATE)) / written.root.name
    fault.spoil(root)
    code, actual = check(capsys, root)
    assert (code, actual["playable"]) == (1, True)
    defects = [each for each in actual["defects"] if each["kind"] != "gap"]
    assert [(each["file"], each["row"], each["kind"]) for each in defects] == [(fault.file, fault.row, fault.kind)]
    assert fault.message in defects[0]["message"]
    after = {topic: len(rows) for topic, rows in messages_of(root).items()}
    assert {topic: after.get(topic, 0) for topic in counts} == {**counts, **fault.counts}


@pytest.mark.parametrize(
    ("edited", "row", "kind", "message", "count"),
    [
        (lambda lines: [*lines[:2], "1 2 3", *lines[3:]], 3, "short_row", "expected 12 columns, got 3", 4),
        (lambda lines: lines[:4], 4, "count_mismatch", "expected a line for each of 5 times, got 4", 4),
        (lambda lines: [*lines, lines[-1]], 6, "count_mismatch", "expected a line for each of 5 times, got 6", 5),
    ],
)
def test_poses_that_do_not_fit_are_reported(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    edited: Callable[[list[str]], list[str]],
    row: int,
    kind: str,
    message: str,
    count: int,
) -> None:
    root = tiny.write_sequence(tmp_path / "dataset")
    poses = tmp_path / "dataset" / "poses" / "00.txt"
    poses.write_text("\n".join(edited(poses.read_text().splitlines())) + "\n")
    code, actual = check(capsys, root)
    (defect,) = actual["defects"]
    assert (code, defect["file"], defect["row"], defect["kind"]) == (1, "00.txt", row, kind)
    assert message in defect["message"]
    assert len(messages_of(root)["ground_truth/odom"]) == count
