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
    run("sample", "ameds", str(tmp_path / "sample"), "--seconds", "2", path=path)
    result = json.loads(run("info", str(tmp_path / "sample"), "--dataset", "tracks", "--json", path=path))
    assert result["dataset"] == "tracks"
    where = ("--dataset", "tracks", "--derived", "--topics", "wheels")
    run("convert", str(tmp_path / "sample"), str(tmp_path / "bag"), *where, path=path)
    assert "geometry_msgs/msg/PoseArray" in run("info", str(tmp_path / "bag"), path=path)


def test_library_works_without_any_other_package(tmp_path: Path) -> None:
    result = run("--help", path=LIBRARY)
    assert "convert" in result and "fuse" not in result
    listed = run("list", path=LIBRARY)
    assert "ida " in listed and "sherpatt " not in listed
    run("sample", "ida", str(tmp_path / "sample"), "--seconds", "2", path=LIBRARY)
    run("convert", str(tmp_path / "sample"), str(tmp_path / "bag"), "--derived", path=LIBRARY)
    run("report", str(tmp_path / "bag"), str(tmp_path / "page.html"), path=LIBRARY)
    assert "invalid choice: 'fuse'" in run("fuse", path=LIBRARY, code=2)
