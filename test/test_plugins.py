"""Packages of others: a dataset, a computation and a command, found by entry points; and the library without any."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = str(ROOT / "src" / "fieldplay" / "scripts" / "fieldplay")
ENTRY_POINTS = """
[fieldplay.commands]
tracks = tracks:COMMANDS
[fieldplay.computations]
track_poses = tracks.poses:TrackPoses
[fieldplay.datasets]
tracks = tracks
"""
INIT = 'COMMANDS = {"tracks": ("tracks.command", "name the tracks")}\n'
TRACKS_COMMAND = """
def add_arguments(parser):
    parser.add_argument("words", nargs="*")
def run(chosen):
    print("tracks of", *chosen.words)
    return 0
"""
READER = """
from fieldplay.datasets.ameds import open_archive as open_archive
"""
POSES = """
from fieldplay.kinematics.robots import WheelPoses
class TrackPoses(WheelPoses):
    name = "track_poses"
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package, as pip leaves it."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / "tracks-1.0.dist-info"
    package = folder / "tracks"
    package.mkdir()
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tracks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (package / "__init__.py").write_text(INIT)
    (package / "command.py").write_text(TRACKS_COMMAND)
    (package / "reader.py").write_text(READER)
    (package / "poses.py").write_text(POSES)
    ameds = (ROOT / "config" / "datasets" / "ameds.yaml").read_text("utf-8")
    text = ameds.replace("reader: fieldplay.datasets.ameds", "reader: tracks.reader").replace(
        "name: ameds", "name: tracks", 1
    )
    (package / "tracks.yaml").write_text(text.replace("kind: wheel_poses", "kind: track_poses"), "utf-8")
    return folder


def run(*arguments: str, path: list[Path], code: int = 0) -> str:
    """What the command prints where Python finds these folders, and the libraries."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    environment.pop("AMENT_PREFIX_PATH", None)
    result = subprocess.run(
        [sys.executable, COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result.stderr if code else result.stdout


LIBRARY = [ROOT / "src" / "fieldplay", ROOT / "src" / "fieldplay_samples"]


def test_package_with_entry_points_adds_dataset_computation_and_command(plugin: Path, tmp_path: Path) -> None:
    path = [plugin, *LIBRARY]
    assert run("tracks", "a", "b", path=path) == "tracks of a b\n"
    assert "name the tracks" in run("--help", path=path)
    assert any(line.startswith("tracks ") for line in run("list", path=path).splitlines())
    small = ("--image-rate-hz", "0.5", "--lidar-rate-hz", "0.5", "--image-shrink", "8")
    run("sample", "ameds", str(tmp_path / "sample"), "--seconds", "2", *small, path=path)
    result = json.loads(run("info", str(tmp_path / "sample"), "--dataset", "tracks", "--json", path=path))
    assert result["dataset"] == "tracks"
    where = ("--dataset", "tracks", "--derived", "--topics", "wheels")
    run("convert", str(tmp_path / "sample"), str(tmp_path / "bag"), *where, path=path)
    assert "geometry_msgs/msg/PoseArray" in run("info", str(tmp_path / "bag"), path=path)


ROVER = r"""
name: rover
title: a rover
status: made up
reader: rover_reader
namespace: rover
detect: [rover\.txt]
plausible_years: [2000, 2100]
tables:
  imu: {files: imu\.csv, layouts: [[time, wx, wy, wz, ax, ay, az]], units: {time: ns, wx: rad/s, wy: rad/s, wz: rad/s}}
rows:
  fixes: {files: \d+\.txt, folder: gps, times: times\.txt, columns: [latitude, longitude, altitude, _satellites]}
  scans: {files: \d+\.bin, folder: scans, times: times\.txt, points: [x, y, z, intensity]}
streams:
  - {id: imu, topic: imu, type: sensor_msgs/msg/Imu, frame: imu}
  - {id: fixes, topic: fix, type: sensor_msgs/msg/NavSatFix, frame: gps}
  - {id: scans, topic: points, type: sensor_msgs/msg/PointCloud2, frame: lidar}
"""
ROVER_READER = """
import numpy as np
from fieldplay.datasets.archive import open_tables
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.row_files import cloud_decoder, cloud_stream, file_table, timed_files
from fieldplay.io.table import TableStream
from fieldplay.messages import records

def imu(rows):
    return records.Imu(stamp_ns=rows.stamp_ns, angular_velocity_rad_s=rows.columns("wx", "wy", "wz"),
                       linear_acceleration_m_s2=rows.columns("ax", "ay", "az"))

def fix(rows):
    return records.Fix(stamp_ns=rows.stamp_ns, latitude_deg=rows["latitude"], longitude_deg=rows["longitude"],
                       altitude_m=rows["altitude"], status=np.zeros(len(rows), np.int8))

class Reader(DatasetReader):
    def make_streams(self):
        names, stamp_ns = timed_files(self.archive, self.files, "scans")
        return {
            "imu": TableStream(open_tables(self.archive, self.files)["imu"], imu),
            "fixes": TableStream(file_table(self.archive, self.files, "fixes"), fix),
            "scans": cloud_stream(self.files, names, stamp_ns, cloud_decoder(self.archive, "scans")),
        }

open_archive = Reader.open
"""


def test_description_and_reader_outside_name_all_kinds_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config", "archive/gps", "archive/scans"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "config" / "rover.yaml").write_text(ROVER)
    (tmp_path / "config" / "rover_reader.py").write_text(ROVER_READER)
    archive = tmp_path / "archive"
    (archive / "rover.txt").write_text("a rover\n")
    (archive / "imu.csv").write_text(
        "#timestamp [ms],wx [deg s^-1],wy [deg s^-1],wz [deg s^-1],ax,ay,az\n1317042145967,180,0,0,0,0,9.81\n"
    )
    (archive / "times.txt").write_text("2011-09-26 13:02:25.967654321\n2011-09-26 13:02:26.5\n")
    for index in range(2):
        (archive / "gps" / f"{index}.txt").write_text(f"49.{index} 8.5 115.0 9\n")
        (archive / "scans" / f"{index}.bin").write_bytes(bytes(32))
    monkeypatch.setenv("FIELDPLAY_DATASETS", str(tmp_path / "config"))
    path = [tmp_path / "config", *LIBRARY]
    assert "no defects" in run("check", str(archive), path=path)
    result = json.loads(run("info", str(archive), "--json", path=path))
    counts = {stream["topic"]: (stream["count"], stream["first_ns"]) for stream in result["streams"]}
    first_ns = 1317042145967654321
    assert counts == {
        "/rover/imu": (1, 1317042145967 * 10**6),
        "/rover/fix": (2, first_ns),
        "/rover/points": (2, first_ns),
    }
    assert any("wx, wy, wz in deg/s by the header, made rad/s" in note for note in result["notes"])


def test_library_works_without_any_other_package(tmp_path: Path) -> None:
    result = run("--help", path=LIBRARY)
    assert "convert" in result and "fuse" not in result
    listed = run("list", path=LIBRARY)
    assert "ida " in listed and "sherpatt " not in listed
    run("sample", "ida", str(tmp_path / "sample"), "--seconds", "2", path=LIBRARY)
    run("convert", str(tmp_path / "sample"), str(tmp_path / "bag"), "--derived", path=LIBRARY)
    run("report", str(tmp_path / "bag"), str(tmp_path / "page.html"), path=LIBRARY)
    assert "invalid choice: 'fuse'" in run("fuse", path=LIBRARY, code=2)
