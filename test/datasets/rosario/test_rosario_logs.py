"""Logs of Rosario in forms that the facts leave open, and with ends that a broken recording leaves."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support import tiny_rosario as tiny
from support.archive_messages import (
    Messages,
    Stored,
    messages_of,
    notes_of,
    stored_of,
)
from support.tiny_rosario import TinyRosario

LOGS = Selection(topics="imu/.*|gps/.*|wheels/.*|ground_truth/.*")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyRosario:
    """Logs, calibration and ground truth that no test changes, and a single pair of pictures."""
    archive = TinyRosario(tmp_path_factory.mktemp("rosario") / "sequence01", seconds=1)
    archive.write_all()
    for path in (archive.root / "zed").iterdir():
        if f"_{tiny.START}.000000" not in path.name:
            path.unlink()
    return archive


@pytest.fixture(scope="module")
def messages(written: TinyRosario) -> Messages:
    return messages_of(written.root, LOGS)


@pytest.fixture(scope="module")
def stored(written: TinyRosario) -> Stored:
    return stored_of(written.root, LOGS)


@pytest.fixture
def root(written: TinyRosario, tmp_path: Path) -> Path:
    """A copy of the raw folder, to be changed."""
    shutil.copytree(written.root.parent, tmp_path / "copy")
    return tmp_path / "copy" / "sequence01"


def change(path: Path, of_line: Callable[[str], str]) -> None:
    path.write_text("".join(of_line(line) + "\n" for line in path.read_text().splitlines()))


def defects_of(root: Path) -> list[Defect]:
    with open_dataset(root) as archive:
        return list(check(archive, LOGS))


@pytest.mark.parametrize("labels", ["", "IMU: ", "IMU: 17 x ", "IMU: 17 x 4 ", "IMU,17 ", "IMU,17, ,x "])
def test_imu_is_first_token_and_last_six_numbers(root: Path, stored: Stored, labels: str) -> None:
    change(root / "imu.log", lambda line: f"{line.split()[0]} {labels}{' '.join(line.split()[3:])}")
    assert stored_of(root, LOGS) == stored
    assert defects_of(root) == []


@pytest.mark.parametrize("name", ["imu.log", "gps.log", "odometry_raw.log"])
def test_byte_order_mark_costs_no_line(root: Path, stored: Stored, name: str) -> None:
    (root / name).write_bytes(b"\xef\xbb\xbf" + (root / name).read_bytes())
    assert stored_of(root, LOGS) == stored
    assert defects_of(root) == []


NOISE = bytes(np.random.default_rng(5).integers(0, 256, 3000, np.uint8))
TAILS = {
    "NUL": bytes(5000), "ctrl-Z": b"\x1a", "blank lines": b"\n" * 1_000_000, "noise": NOISE, "blanks": b"   ",
    "a begun line": f"{tiny.START + 1}.0 a: (8".encode(), "a begun time": b"1514",
}  # fmt: skip


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("name", ["imu.log", "gps.log", "odometry_raw.log"])
def test_what_broken_end_leaves_costs_no_row_before_it(root: Path, stored: Stored, name: str, tail: bytes) -> None:
    data = (root / name).read_bytes()
    (root / name).write_bytes(data + tail)
    assert stored_of(root, LOGS) == stored
    last = data.count(b"\n")
    defects = defects_of(root)
    assert bool(defects) == bool(tail.strip())
    assert all(defect.file == name and defect.row is not None and defect.row > last for defect in defects)


@pytest.mark.parametrize("lost", [2, 4, 9, 30])
@pytest.mark.parametrize("name", ["gps.log", "odometry_raw.log", "sequence01_gt.txt"])
def test_cut_last_line_is_reported_and_costs_itself_alone(root: Path, messages: Messages, name: str, lost: int) -> None:
    path = root / name if (root / name).exists() else root.parent / name
    change(path, lambda line: line)
    lines = path.read_bytes().splitlines()[: 13 if name == "gps.log" else None]  # ends with a sentence that counts
    path.write_bytes(b"\n".join(lines)[:-lost])
    before = {"gps.log": 5, "odometry_raw.log": 10, "sequence01_gt.txt": 5}[name]
    topic = {"gps.log": "gps/fix", "odometry_raw.log": "wheels/raw", "sequence01_gt.txt": "ground_truth/odom"}[name]
    assert len(messages_of(root, LOGS)[topic]) == before - 1
    (defect,) = defects_of(root)
    assert (defect.file, defect.row) == (name, len(lines))


def test_imu_whose_last_number_is_cut_loses_that_row(root: Path, messages: Messages) -> None:
    change(root / "imu.log", lambda line: " ".join([*line.split()[:-1], "-425.9616"]))
    (root / "imu.log").write_bytes((root / "imu.log").read_bytes().removesuffix(b"25.9616\n"))
    (defect,) = defects_of(root)
    assert (defect.kind, defect.file, defect.row) == ("cut_off_line", "imu.log", 140)
    assert "column acc_z: expected 4 decimals or more, as in the rows before, got '-4'" in defect.message
    assert len(messages_of(root, LOGS)["imu/data_raw"]) == 139


@pytest.mark.parametrize(("name", "between"), [("motors.log", " "), ("odometry.csv", ","), ("cleaned.txt", "\t")])
def test_odometry_is_known_by_its_lines_whatever_its_name(
    root: Path, messages: Messages, name: str, between: str
) -> None:
    TinyRosario(root, seconds=1).clean_odometry()
    change(root / "odometry.txt", lambda line: between.join(line.split()))
    (root / "odometry.txt").rename(root / name)
    actual = messages_of(root, LOGS)
    for (stamp, one), (other_stamp, other) in zip(actual["wheels/raw"], messages["wheels/raw"], strict=True):
        assert stamp == other_stamp
        np.testing.assert_allclose(one.position, other.position[:4], atol=1e-12)
    notes = notes_of(root)
    assert f"{name}: taken for odometry, by what the lines hold" in notes
    assert not any("not read" in note for note in notes)
    assert defects_of(root) == []


@pytest.mark.parametrize("name", ["sequence01_gt.csv", "gt_sequence01.txt", "ground_truth.tum", "sequence01-gt.txt"])
def test_ground_truth_may_be_called_otherwise(root: Path, stored: Stored, name: str) -> None:
    (root.parent / "sequence01_gt.txt").rename(root.parent / name)
    if name.endswith("csv"):
        change(root.parent / name, lambda line: line.replace(" ", ","))
    assert stored_of(root, LOGS) == stored
    assert f"ground truth: {name}, next to the archive" in notes_of(root)
