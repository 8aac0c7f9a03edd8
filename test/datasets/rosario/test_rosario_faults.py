"""Sequences of Rosario with one fault each: it is reported with its place, and everything else plays."""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from fieldplay.cli.main import main
from fieldplay.topics.selection import Selection
from support import tiny_rosario as tiny
from support.archive_messages import messages_of
from support.broken import (
    Spoil,
    checked,
    content,
    cut,
    line,
)
from support.tiny_rosario import TinyRosario
from support.tiny_rosario_bag import TinyBag

CAMERAS = [
    f"stereo/{camera}/{topic}" for camera in ("left", "right") for topic in ("camera_info", "image_raw/compressed")
]
GGA, RMC = ("gps/fix", "gps/quality", "gps/satellites", "gps/hdop"), ("gps/velocity", "gps/time")
FIX, VELOCITY = dict.fromkeys(GGA, 1), dict.fromkeys(RMC, 1)
COUNTS = {
    "/tf_static": 1, "imu/data_raw": 140, **dict.fromkeys((*FIX, *VELOCITY), 5), "ground_truth/odom": 5,
    "wheels/joint_states": 10, "wheels/raw": 10, **dict.fromkeys(CAMERAS, 15),
}  # fmt: skip
LEFT = [topic for topic in CAMERAS if "left" in topic]
PICTURE = f"zed/left_{tiny.START}.066666.png"


@dataclass(frozen=True)
class Fault:
    """What is done to the sequence's folder, what is said of it, and how many messages of which topics it costs."""

    spoil: Spoil
    file: str
    kind: str
    message: str
    row: int | None = None
    lost: dict[str, int] | None = None
    times: int = 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sequence that no test changes."""
    archive = TinyRosario(tmp_path_factory.mktemp("whole") / "sequence01", seconds=1)
    archive.write_all()
    return archive.root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    shutil.copytree(whole.parent, tmp_path / "copy")
    return tmp_path / "copy" / "sequence01"


def calibration(change: Callable[[dict[str, Any]], object]) -> Spoil:
    def spoil(root: Path) -> None:
        path = root.parent / "calibration01.yaml"
        entries = yaml.safe_load(path.read_text())
        change(entries)
        path.write_text(yaml.safe_dump(entries))

    return spoil


def log(body: str) -> Spoil:
    """Another sentence in the first line of the receiver's log."""
    return line("gps.log", 1, lambda row: f"{tiny.START}.0 gps: {tiny.sentence(body)}".encode())


def five_columns(data: bytes) -> bytes:
    return b"".join(b" ".join(row.split()[:5]) + b"\n" for row in data.splitlines())


WHEELS = {"wheels/joint_states": 1, "wheels/raw": 1}
YAML = "calibration01.yaml"
FAULTS = {
    "a wrong checksum": Fault(
        line("gps.log", 1, lambda row: row.replace(b"*", b"0*")), "gps.log", "wrong_checksum", "expected the checksum",
        1, FIX),
    "a sentence that is cut": Fault(
        line("gps.log", 5, cut), "gps.log", "not_nmea", "expected a time, a label", 5, VELOCITY),
    "noise in the receiver's log": Fault(
        line("gps.log", 3, lambda row: b"\xff\xfe\x00\x80"), "gps.log", "not_nmea", "expected a time, a label", 3),
    "a fix without a place": Fault(
        log("GPGGA,152545.00,,,,,4,12,0.9,50.0,M,18.0,M,,"), "gps.log", "not_a_number",
        "column latitude: expected degrees and minutes", 1, FIX),
    "a sentence with too few fields": Fault(
        log("GPGGA,152545.00,3301.8,S"), "gps.log", "short_row", "expected more fields of GGA, got 4", 1, FIX),
    "a line of the IMU that is cut": Fault(
        line("imu.log", 7, cut), "imu.log", "short_row", "expected 9 columns, got", 7, {"imu/data_raw": 1}),
    "a word among the IMU's numbers": Fault(
        line("imu.log", 9, lambda row: b" ".join([*row.split(b" ")[:-1], b"abc"])), "imu.log", "not_a_number",
        "column acc_z: expected a number, got 'abc'", 9, {"imu/data_raw": 1}),
    "bytes that are no text": Fault(
        line("imu.log", 5, lambda row: b"\xff\xfe " * 12), "imu.log", "long_row", "expected 9 columns, got", 5,
        {"imu/data_raw": 1}),
    "a NaN of the IMU": Fault(
        line("imu.log", 5, lambda row: b" ".join([*row.split(b" ")[:-1], b"nan"])), "imu.log", "not_finite",
        "column acc_z: expected a number, got 'nan'", 5, {"imu/data_raw": 1}),
    "a row of the wheels with a field too few": Fault(
        line("odometry_raw.log", 2, lambda row: row.replace(b",12,", b",")), "odometry_raw.log", "short_row",
        "expected 20 columns, got 19", 2, WHEELS),
    "a direction that is none": Fault(
        line("odometry_raw.log", 2, lambda row: row[:-2] + b"x)"), "odometry_raw.log", "not_a_number",
        "column direction_digit: expected a number, got 'x)'", 2, WHEELS),
    "an empty log": Fault(
        lambda root: (root / "imu.log").write_bytes(b""), "imu.log", "unreadable_table",
        "expected rows of numbers, got none", None, {"imu/data_raw": 140}),
    "an empty log of the receiver": Fault(
        lambda root: (root / "gps.log").write_bytes(b""), "gps.log", "unreadable_table",
        "expected lines of a time, a label",
        None, dict.fromkeys((*FIX, *VELOCITY), 5)),
    "a ground truth of five columns": Fault(
        content("../sequence01_gt.txt", five_columns), "sequence01_gt.txt", "unreadable_table",
        "expected 3 or 4 or 8 columns, got 5", None, {"ground_truth/odom": 5}),
    "a truncated picture": Fault(
        content(PICTURE, cut), PICTURE, "damaged_picture", "expected an image of", None, dict.fromkeys(LEFT, 1)),
    "an empty picture": Fault(
        content(PICTURE, lambda data: b""), PICTURE, "damaged_picture", "got an empty file", None, dict.fromkeys(LEFT,
        1)),
    "a picture without its partner": Fault(
        lambda root: (root / PICTURE).unlink(), PICTURE.replace("left", "right"), "unpaired_picture",
        "expected an image of the left camera at the same time, got none", None, dict.fromkeys(LEFT, 1)),
    "a calibration without a key": Fault(
        calibration(lambda entries: entries["cam1"].pop("T_cn_cnm1")), YAML, "missing_key",
        "expected an entry cam1.T_cn_cnm1, got none; the authors' own number is taken"),
    "a calibration without the IMU": Fault(
        calibration(lambda entries: entries.pop("imu")), YAML, "missing_key", "expected an entry imu.", times=4),
    "a calibration with a matrix that is no rotation": Fault(
        calibration(lambda entries: entries["cam0"]["T_cam_imu"][0].__setitem__(0, 5.0)), YAML, "bad_value",
        "cam0.T_cam_imu: expected a rotation in its first three columns"),
    "a calibration with too few numbers": Fault(
        calibration(lambda entries: entries["cam0"].__setitem__("intrinsics", [1.0, 2.0])), YAML, "bad_value",
        "cam0.intrinsics: expected 4 numbers, got [1.0, 2.0]"),
    "a calibration with a number beyond all numbers": Fault(
        calibration(lambda entries: entries["cam0"].__setitem__("intrinsics", [10**400, 2.0, 3.0, 4.0])), YAML,
        "bad_value", "cam0.intrinsics: expected 4 numbers, got [1000000000"),
    "a calibration with a focal length of 0": Fault(
        calibration(lambda entries: entries["cam0"].__setitem__("intrinsics", [0.0, 300.0, 300.0, 200.0])), YAML,
        "bad_value", "cam0: expected focal lengths and a resolution above 0"),
    "a calibration of a picture wider than any": Fault(
        calibration(lambda entries: entries["cam0"].__setitem__("resolution", [1e308, 376])), YAML,
        "bad_value", "a resolution above 0, this up to 65535, got "),
    "a calibration that is cut": Fault(
        content("../calibration01.yaml", lambda data: b"cam0: {T_cam_imu: [[1"), YAML, "unreadable_calibration",
        "expected YAML:"),
    "an empty calibration": Fault(
        content("../calibration01.yaml", lambda data: b""), YAML, "unreadable_calibration",
        "expected a mapping with cam0"),
    "a calibration that is no text": Fault(
        content("../calibration01.yaml", lambda data: b"\xff\xfe\x81\x00" * 9), YAML, "unreadable_calibration",
        "expected YAML:"),
}  # fmt: skip


@pytest.mark.parametrize("issue", FAULTS.values(), ids=FAULTS)
def test_defect_is_reported_with_its_location_and_rest_plays(
    root: Path, capsys: pytest.CaptureFixture[str], issue: Fault
) -> None:
    issue.spoil(root)
    code, actual = checked(capsys, root)
    assert (code, actual["playable"], actual["dataset"]) == (1, True, "rosario")
    message = [(defect["file"], defect["row"], defect["kind"]) for defect in actual["defects"]]
    assert message == [(issue.file, issue.row, issue.kind)] * issue.times
    assert all(issue.message in defect["message"] for defect in actual["defects"]), actual["defects"]
    expected = {topic: count - (issue.lost or {}).get(topic, 0) for topic, count in COUNTS.items()}
    counts = {topic: len(rows) for topic, rows in messages_of(root).items()}
    assert counts == {topic: count for topic, count in expected.items() if count}


def test_whole_sequence_has_no_defects(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, whole) == (0, {"dataset": "rosario", "archive": str(whole), "playable": True, "defects": []})


@pytest.mark.parametrize("missing", ["calibration01.yaml", "sequence01_gt.txt"])
def test_what_may_lie_next_to_it_may_also_be_missing(
    root: Path, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    (root.parent / missing).unlink()
    assert checked(capsys, root)[0] == 0
    assert len(messages_of(root)["imu/data_raw"]) == 140


def test_several_sequences_in_one_folder_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        archive = TinyRosario(tmp_path / f"sequence0{number}", number=number, seconds=1)
        archive.root.mkdir()
        archive.write_imu()
    assert main(["info", str(tmp_path)]) == 1
    output = capsys.readouterr().err
    assert "expected one sequence, got 2" in output and "sequence01" in output and "sequence02" in output


def test_log_that_is_not_there_is_no_defect(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "odometry_raw.log").unlink()
    assert checked(capsys, root)[0] == 0
    assert main(["check", "--complete", str(root)]) == 1
    assert "missing_file: odometry*.log: expected files for 'odometry'" in capsys.readouterr().out
    assert {topic for topic, count in COUNTS.items() if count} - set(messages_of(root)) == {
        "wheels/joint_states", "wheels/raw",
    }  # fmt: skip


@pytest.mark.parametrize("empty", ["50.000,M,,M", ",M,18.000,M"], ids=["no_separation", "no_height"])
def test_fix_without_its_height_is_one_in_plane_and_reports_it(root: Path, empty: str) -> None:
    body = tiny.gga(0).split("*")[0].removeprefix("$").replace("50.000,M,18.000,M", empty)
    (root / "gps.log").write_text(f"{tiny.START}.5 gps: {tiny.sentence(body)}\n")
    fix = messages_of(root, Selection(topics="gps"))["gps/fix"][0][1]
    assert math.isnan(fix.altitude) and fix.status.status == 2
    assert [fix.latitude, fix.longitude] == pytest.approx([-33.03, -60.88])
    assert fix.position_covariance[[0, 4, 8]] == pytest.approx([0.018**2, 0.018**2, 1e6])


def test_bag_among_raw_files_of_its_run_is_reported_with_how_to_choose(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TinyBag(seconds=1, compression="lz4").write(root / "sequence01.bag")
    assert main(["info", str(root)]) == 1
    output = capsys.readouterr().err
    assert f"expected one sequence, got 2: the raw files in {root}, the bag {root / 'sequence01.bag'};" in output
    assert "give the bag's path, or take the bag out of the folder to have the raw files read" in output
    assert main(["info", str(root / "sequence01.bag")]) == 0


def test_calibration_of_another_sequence_is_not_taken(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root.parent / "calibration01.yaml").rename(root.parent / "calibration02.yaml")
    assert main(["info", str(root)]) == 0
    output = capsys.readouterr().out
    assert "calibration02.yaml next to the archive: of another sequence, not read" in output
    assert "base_link -> imu: the authors' rotation of sequence 1" in output


def test_of_several_calibrations_that_of_number_is_taken(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(root.parent / "calibration01.yaml", root.parent / "calibration02.yaml")
    assert main(["info", str(root)]) == 0
    assert "note: calibration: calibration01.yaml, next to the archive" in capsys.readouterr().out


@pytest.mark.parametrize("names", [("imu.log",), ("imu.log", "gps.log", "odometry.txt"), ("notes.bag",), ("data.db3",)])
def test_folders_with_files_of_such_names_are_not_taken_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).write_text("Tue: started\nTue: it is 5 o'clock, 1,2,3\n")
    assert main(["info", str(tmp_path)]) == 1
    assert "no dataset that fieldplay knows (" in capsys.readouterr().err
