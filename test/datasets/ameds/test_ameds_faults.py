"""Archives with one fault each: it is reported once, with its place, and everything else plays."""

import hashlib
import json
import os
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay_testing.tiny_ameds import IMAGES_PER_CAMERA as PICTURES
from support.broken import (
    Spoil,
    checked,
    content,
    counts_of,
    line,
    lines,
    run,
    zip_of,
)

START = 1656931512
EVERY = 10**9  # messages: all of a topic

IMU = ("imu/data_raw", "imu/data", "imu/mag", "imu/temperature", "air/pressure", "air/temperature")
POSE = ("imu/data", "gnss/fix", "gnss/fix_type", "gnss/odom", "gnss/time")
BODY = ("gnss/body_velocity", "gnss/body_rates")
ESTIMATED = ("platform/wheel_estimate", "platform/wheel_attitudes")
MAIN = ("main_cam/camera_info", "main_cam/image_raw/compressed")
AUX = ("aux_cam/camera_info", "aux_cam/image_raw/compressed")
WHEELS = ("platform/joint_states", "platform/wheel_speeds", "platform/wheel_speeds_cmd")
LIDAR = ("lidar/points",)
COUNTS = {
    **dict.fromkeys((*IMU, *POSE, *BODY, "gnss/velocity", "gnss/acceleration"), 200),
    **dict.fromkeys(("platform/twist_estimate", "platform/pose_estimate", *ESTIMATED), 200),
    **dict.fromkeys((*WHEELS, "platform/velocity"), 100),
    **dict.fromkeys((f"{arm}/{topic}" for arm, topic in (
        ("main_arm", "joint_states"), ("aux_arm", "joint_states"),
        ("main_cam", "pose_estimate"), ("aux_cam", "pose_estimate"))), 2),
    **dict.fromkeys((*MAIN, *AUX), PICTURES),
    "projected/image_raw/compressed": PICTURES, "lidar/points": 10,
}  # fmt: skip
OF_FILE = {
    "GnssImu.csv": IMU, "GnssPose.csv": POSE, "GnssBodyVelocity.csv": BODY[:1], "GnssBodyAngularVelocity.csv": BODY[1:],
    "GnssBodyAcceleration.csv": ("gnss/acceleration",), "GnssNedVelocity.csv": ("gnss/velocity",),
    "PlatformMotorEncoders.csv": WHEELS, "Platform2DVelocity.csv": ("platform/velocity",),
    "Platform2DTwistEstimate.csv": ("platform/twist_estimate",),
    "Platform2DPoseEstimate.csv": ("platform/pose_estimate",),
    "PlatformWheelPoseEstimate.csv": ESTIMATED,
    "MainArmJointAngles.csv": ("main_arm/joint_states",), "AuxArmJointAngles.csv": ("aux_arm/joint_states",),
    "MainCamPoseEstimate.csv": ("main_cam/pose_estimate",), "AuxCamPoseEstimate.csv": ("aux_cam/pose_estimate",),
    "MainCam_": MAIN, "AuxCam_": AUX, "LidarPointcloud_": LIDAR,
}  # fmt: skip
ENDS = {"MainCam_": "jpg", "AuxCam_": "jpg", "LidarPointcloud_": "pcd"}
PICTURE = f"MainCam_{START}.033333.jpg"
CLOUD = f"LidarPointcloud_{START}.2.pcd"
LATE, TWIN = f"MainCam_{START + 2}.000000.jpg", f"MainCam_{START}.0333330.jpg"
NAME_OF_IMU, POSES = "GnssImu.csv", "GnssPose.csv"

Place = tuple[str, int | None, str, str]  # file, row, kind, a part of the message


@dataclass(frozen=True)
class Fault:
    """What is done to the archive's folder, what is said of it, and how many messages of which topics it costs."""

    spoil: Spoil
    defects: tuple[Place, ...]
    lost: Mapping[str, int] = field(default_factory=dict)
    in_zip: bool = True


def row(number: int, new: bytes, name: str = NAME_OF_IMU) -> Spoil:
    return line(name, number, lambda _: new)


def cell(number: int, column: int, new: bytes, name: str = NAME_OF_IMU) -> Spoil:
    """Another text in one field; columns count from 0, the time."""

    def edit(rows: list[bytes]) -> None:
        cells = rows[number - 1].split(b",")
        cells[column] = new
        rows[number - 1] = b",".join(cells)

    return lines(name, edit)


def column(index: int, change: Callable[[float], float], name: str = NAME_OF_IMU) -> Spoil:
    """Another number in one column of all rows."""

    def edit(rows: list[bytes]) -> None:
        for position, row in enumerate(rows):
            cells = row.split(b",")
            cells[index] = repr(float(change(float(cells[index])))).encode()
            rows[position] = b",".join(cells)

    return lines(name, edit)


def pcd(points: int, kind: str, fields: str = "x y z intensity", width: int | None = None) -> bytes:
    count = len(fields.split())
    return (
        f"VERSION 0.7\nFIELDS {fields}\nSIZE{' 4' * count}\nTYPE{' F' * count}\nCOUNT{' 1' * count}\n"
        f"WIDTH {points if width is None else width}\nHEIGHT 1\nPOINTS {points}\nDATA {kind}\n"
    ).encode()


def other_cloud(head: bytes, body: bytes) -> Spoil:
    return content(CLOUD, lambda _: head + body)


def instead(make: Callable[[Path], object], name: str = NAME_OF_IMU) -> Spoil:
    """Something else in the place of a file."""

    def spoil(root: Path) -> None:
        (root / name).unlink()
        make(root / name)

    return spoil


def link(name: str, target: str) -> Spoil:
    return instead(lambda path: path.symlink_to(target), name)


def copied(name: str, new: str) -> Spoil:
    return lambda root: shutil.copy(root / name, root / new)


def renamed_images(*fractions: str) -> Spoil:
    def spoil(root: Path) -> None:
        for path, fraction in zip(sorted(root.glob("MainCam_*.jpg")), fractions, strict=False):
            path.rename(root / f"MainCam_{START}{fraction}.jpg")

    return spoil


def junk(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def each(topics: tuple[str, ...], count: int = 1) -> dict[str, int]:
    return dict.fromkeys(topics, count)


def imu_row(spoil: Spoil, row: int, kind: str, message: str) -> Fault:
    return Fault(spoil, ((NAME_OF_IMU, row, kind, message),), each(IMU), in_zip=row > 100 or kind == "long_row")


def imu_table(spoil: Spoil, message: str, **options: bool) -> Fault:
    return Fault(spoil, ((NAME_OF_IMU, None, "unreadable_table", message),), each(IMU, EVERY), **options)


def picture(spoil: Spoil, message: str, **options: bool) -> Fault:
    return Fault(spoil, ((PICTURE, None, "damaged_picture", message),), each(MAIN), **options)


def cloud(spoil: Spoil, message: str) -> Fault:
    return one(spoil, CLOUD, None, "damaged_cloud", message, lost=each(LIDAR))


def one(spoil: Spoil, *position: Any, lost: Mapping[str, int] | None = None) -> Fault:
    return Fault(spoil, ((position[0], position[1], position[2], position[3]),), lost or {})


FAULTS: dict[str, Fault] = {
    "short row": imu_row(row(7, b"1656931512.06,1,2"), 7, "short_row", "expected 13 columns, got 3: '1656931512.06,"),
    "long row": imu_row(lines(NAME_OF_IMU, lambda r: r.__setitem__(6, r[6] + b",1")), 7, "long_row", "got 14"),
    "a row of text": imu_row(row(2, b"sensor restarted"), 2, "short_row", "expected 13 columns, got 1: 'sensor"),
    "text": imu_row(cell(9, 3, b"n/a"), 9, "not_a_number", "column acc_z: expected a number, got 'n/a'"),
    "nan": imu_row(cell(200, 1, b"nan"), 200, "not_finite", "column acc_x: expected a number, got 'nan'"),
    "inf": imu_row(cell(2, 12, b"-inf"), 2, "not_finite", "column air_temperature: expected a number, got '-inf'"),
    "empty field": imu_row(cell(2, 7, b""), 2, "not_a_number", "column mag_x: expected a number, got nothing"),
    "empty fields": imu_row(row(2, b"," * 12), 2, "not_a_number", "column time: expected a time in seconds, got noth"),
    "comma as decimal sign": imu_row(cell(3, 1, b"0,1"), 3, "long_row", "expected 13 columns, got 14"),
    "latin-1": imu_row(cell(4, 2, "0.2°".encode("latin-1")), 4, "not_a_number", "got '0.2\ufffd'"),
    "zeros in a row": imu_row(row(4, b"\0" * 90), 4, "short_row", "expected 13 columns, got 1: '\ufffd\ufffd"),
    "time of text": imu_row(cell(5, 0, b"noon"), 5, "not_a_number", "column time: expected a time in seconds, got 'n"),
    "time 0": imu_row(cell(5, 0, b"0"), 5, "implausible_time", "expected one that this dataset can hold, got 0 s"),
    "time in ms": imu_row(cell(5, 0, b"1656931512040"), 5, "implausible_time", "got 1656931512040"),
    "very long line": imu_row(row(5, b"7" * 3_000_000), 5, "long_row", "got a line of more than 1048576 bytes"),
    "cut": imu_row(content(NAME_OF_IMU, lambda data: data[:-60]), 200, "short_row", "expected 13 columns, got 6"),
    "device time of text": one(
        cell(5, 1, b"-", POSES), POSES, 5, "not_a_number", "device_time: expected a time in s", lost=each(POSE)
    ),
    "a column missing": imu_table(
        lines(NAME_OF_IMU, lambda rows: rows.__setitem__(slice(None), [row[: row.rindex(b",")] for row in rows])),
        "expected 13 or 16 columns, got 12",
    ),
    "a header in another order, half understood": imu_table(
        lines(NAME_OF_IMU, lambda rows: rows.insert(0, b"time,gyro_x,gyro_y,gyro_z,acc_x,acc_y,acc_z,a,b,c,d,e,f")),
        "expected column 2 to be acc_x, got a header that calls it gyro_x",
    ),
    "utf-16": imu_table(content(NAME_OF_IMU, lambda data: data.decode().encode("utf-16")), "got UTF-16"),
    "binary junk": imu_table(content(NAME_OF_IMU, lambda _: junk(5000)), "expected rows of numbers, got none"),
    "empty file": imu_table(content(NAME_OF_IMU, lambda _: b""), "expected rows of numbers, got none"),
    "header only": imu_table(content(NAME_OF_IMU, lambda _: b"time,acc_x\n"), "expected rows of numbers, got none"),
    "a table that cannot be read": imu_table(link(NAME_OF_IMU, "/proc/self/mem"), "Input/output", in_zip=False),
    "a table that is a link to nothing": imu_table(link(NAME_OF_IMU, "gone.csv"), "No such file", in_zip=False),
    "a table that is a pipe": imu_table(instead(os.mkfifo), "expected a file, got a pipe", in_zip=False),
    "time twice": one(
        cell(6, 0, b"1656931512.04"), NAME_OF_IMU, 6, "duplicate_time", "the time is that of the row before"
    ),
    "time that runs back": one(
        cell(6, 0, b"1656931512.035"), NAME_OF_IMU, 6, "backward_time", "the time runs back by 0.005"
    ),
    "gap in a table": one(
        lines("GnssNedVelocity.csv", lambda rows: rows.__delitem__(slice(50, 150))), "GnssNedVelocity.csv", 51, "gap",
        "no row for 1.010 s before this one, at 1656931513.5 s", lost={"gnss/velocity": 100},
    ),
    "gap in pictures": one(
        copied(PICTURE, LATE), LATE, None, "gap", "no file for 1.767 s before this one", lost=each(MAIN, -1)
    ),
    "unknown fix type": one(
        cell(8, 11, b"9", POSES), POSES, 8, "out_of_range", "fix_type: expected 0 to 7, got 9"
    ),
    "clock offset": one(
        column(1, lambda t: t - 100, POSES), POSES, None, "clock_offset", "host's clock is +100.25"
    ),
    "gyro in rad/s": one(
        lambda root: [column(4 + axis, np.radians)(root) for axis in range(3)],
        "GnssImu.csv", None, "unit_mismatch", "slope 1.000; gyro_unit=deg/s does not fit, --set gyro_unit=rad/s would",
    ),
    "magnetometer in mG": one(
        lambda root: [column(7 + axis, lambda value: 1000 * value)(root) for axis in range(3)],
        NAME_OF_IMU, None, "unit_mismatch", "450 mG); magnetometer_unit=G does not fit, --set magnetometer_unit=mG",
    ),
    "gravity turned": one(
        column(3, np.negative), "GnssImu.csv", None, "unit_mismatch", "accelerometer_sign=1 does not fit"
    ),
    "latitude in degrees": one(
        column(2, np.degrees, POSES), POSES, None, "implausible_unit", "longitude: expected rad, got"
    ),
    "pressure in hPa": one(
        column(11, lambda value: value / 100), NAME_OF_IMU, None, "implausible_unit", "pressure: expected Pa, got 740"
    ),
    **{
        f"picture cut after {end}": picture(content(PICTURE, lambda data, end=end: data[:end]), message)
        for end, message in ((4, "expected"), (300, "expected"), (9000, "end marker FFD9"), (-2, "end marker FFD9"))
    },
    "picture without a byte": picture(content(PICTURE, lambda _: b""), "got an empty file"),
    "picture of text": picture(content(PICTURE, lambda _: b"not found"), "got a file that starts with b'not foun'"),
    "picture that cannot be read": picture(link(PICTURE, "/proc/self/mem"), "Input/output error", in_zip=False),
    "picture that is a link to nothing": picture(link(PICTURE, "gone.jpg"), "No such file", in_zip=False),
    "picture without a time": one(
        copied(PICTURE, "MainCam_last.jpg"), "MainCam_last.jpg", None, "no_time_in_name", "expected a time in the name"
    ),
    "picture of 1970": one(
        copied(PICTURE, "MainCam_0000000012.jpg"), "MainCam_0000000012.jpg", None, "no_time_in_name", "got 12 s"
    ),
    "two pictures in a whole second": Fault(
        renamed_images("", ".jpeg"),
        tuple((f"MainCam_{START}{end}", None, "time_not_unique", "same whole second") for end in (".jpg", ".jpeg.jpg")),
        each(MAIN, 2),
    ),
    "two pictures of one time": one(
        copied(PICTURE, TWIN), TWIN, None, "duplicate_time", f"is that of Traverse_5/{PICTURE}", lost=each(MAIN, -1)
    ),
    "fractions of two lengths": one(
        renamed_images(*(f"_{1 + 9 * index}" for index in range(PICTURES))),
        r"MainCam_.*\.jpe?g", None, "ambiguous_time", "got '_1' and '_10'", lost=each(MAIN, EVERY),
    ),
    "cloud cut": cloud(content(CLOUD, lambda data: data[:-50]), "expected 11520 bytes for 720 points of 16, got 11470"),
    "cloud cut in its header": cloud(content(CLOUD, lambda data: data[:60]), "expected a PCD header up to its line"),
    "cloud without a byte": cloud(content(CLOUD, lambda _: b""), "expected a PCD header up to its line DATA, got 0"),
    "cloud of another count": cloud(other_cloud(pcd(3, "binary", width=4), bytes(48)), "expected PCD POINTS 4 as"),
    "cloud of text": cloud(other_cloud(pcd(2, "ascii"), b"1 2 3 4\n1 2 x 4\n"), "line 11: expected a number F4 as z"),
    "cloud of unknown data": cloud(other_cloud(pcd(1, "zipped"), bytes(16)), "expected PCD DATA ascii, binary"),
    "cloud without x": cloud(other_cloud(pcd(1, "binary", "a y z"), bytes(12)), "with the fields x y z, got a y z"),
    "damaged LZF": cloud(
        other_cloud(pcd(2, "binary_compressed"), b"\x06\0\0\0\x20\0\0\0" + b"\xff" * 6), "damaged LZF stream"
    ),
}  # fmt: skip


def compression_of(file: Path) -> int:
    return zipfile.ZIP_DEFLATED if file.suffix == ".csv" else zipfile.ZIP_STORED


def digest(folder: Path) -> dict[str, str]:
    """What the files of a folder hold."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def require_check(capsys: pytest.CaptureFixture[str], archive: Path, defects: Sequence[Place]) -> None:
    """`check` finds just these defects."""
    code, issues = checked(capsys, archive)
    result = issues["defects"]
    assert code == 1
    assert Counter((each["file"], each["row"], each["kind"]) for each in result) == Counter(d[:3] for d in defects)
    for _, _, kind, message in defects:
        assert any(message in each["message"] for each in result if each["kind"] == kind), result


def require_convert(
    capsys: pytest.CaptureFixture[str], archive: Path, defects: Sequence[Place], lost: Mapping[str, int]
) -> None:
    """`convert` tells the place of each defect once, and its bag has all but the lost messages."""
    code, _, err = run(capsys, "convert", archive, bag := archive.parent / "out" / "bag")
    assert code == 0
    for file, row, _, message in defects:
        assert err.count(f"  {file}{f':{row}' if row else ''}: ") == 1, err
        assert message in err
    expected = {topic: max(count - lost.get(topic, 0), 0) for topic, count in COUNTS.items()}
    counts = {topic.removeprefix("/ameds/"): count for topic, count in counts_of(bag).items() if "/tf" not in topic}
    assert counts == {topic: count for topic, count in expected.items() if count}
    shutil.rmtree(bag.parent)


def spoiled(issue: Fault, few_images: Path, folder: Path) -> Path:
    shutil.copytree(few_images, folder, copy_function=shutil.copyfile)
    issue.spoil(folder / "Traverse_5")
    return folder


def places(issue: Fault, archive: Path) -> list[Place]:
    """The places as the archive names them: the traverse's folder, a pattern, or the archive."""
    return [
        (file if "*" in file else f"Traverse_5/{file}" if file else archive.name, row, kind, message)
        for file, row, kind, message in issue.defects
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_defect_is_reported_once_and_all_else_plays(
    name: str, few_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    issue = FAULTS[name]
    archive = spoiled(issue, few_images, tmp_path / "AMEDS")
    before, defects = digest(archive), places(issue, archive)
    require_check(capsys, archive, defects)
    require_convert(capsys, archive, defects, issue.lost)
    assert run(capsys, "convert", "--strict", archive, tmp_path / "out" / "bag")[0] == 1
    assert not (tmp_path / "out").exists()
    assert digest(archive) == before


@pytest.mark.parametrize("name", [name for name, issue in FAULTS.items() if issue.in_zip])
def test_defect_in_zip_is_reported_with_same_location(
    name: str, few_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = zip_of(spoiled(FAULTS[name], few_images, tmp_path / "AMEDS"), kind=compression_of)
    require_convert(capsys, archive, places(FAULTS[name], archive), FAULTS[name].lost)


@pytest.mark.parametrize("name", OF_FILE)
def test_files_that_are_missing_are_no_defect_unless_all_are_requested(
    name: str, few_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(few_images, tmp_path / "AMEDS", ignore=shutil.ignore_patterns(f"{name}*"))
    file, archive = f"{name.removesuffix('.csv')}*.{ENDS.get(name, 'csv')}", tmp_path / "AMEDS"
    require_convert(capsys, archive, [], each(OF_FILE[name], EVERY))
    if name.endswith(".csv"):
        (archive / name).mkdir()  # which is no table
    assert checked(capsys, archive)[0] == 0
    code, out, _ = run(capsys, "check", "--json", "--complete", archive)
    (defect,) = json.loads(out)["defects"]
    assert (code, defect["file"], defect["kind"]) == (1, file, "missing_file")
    assert f"  note: {file}: expected files for" in run(capsys, "info", archive)[1]
