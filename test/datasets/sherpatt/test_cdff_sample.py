"""`fieldplay cdff` on the sample of SherpaTT: the tools agree with each other, and with msgpack and polars alone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import polars as pl
import pytest

from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_testing.reference_logs import Run, read_log, runner

TINY: dict[str, Any] = {"image_rate_hz": 4.0, "image_shrink": 24, "lidar_columns": 45}
ODOMETRY = "/mcs_sensor_processing.rigid_body_state_out"
JOINTS = "/mcs_sensor_processing.joints_status_all"
LEFT = "/hcru1/pt_stereo_rect/left/image"
WAIT_S = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sherpatt") / "logs"
    return write_sample("sherpatt", out, SampleOptions(seconds=5.0, seed=3, settings=TINY, workers=1)).path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def file_with(folder: Path, stream: str) -> Path:
    logs = (path for path in folder.glob("*.msg") if not path.stem.endswith(("_tf", "_camera")))
    return next(path for path in sorted(logs) if stream in read_log(path))


def test_info_counts_what_is_in_files(run: Run, folder: Path) -> None:
    code, out, _ = run("info", folder, "--json")
    result = json.loads(out)
    assert (code, result["faults"]) == (0, [])
    counts = {
        (file["file"], stream["stream"]): stream["count"] for file in result["files"] for stream in file["streams"]
    }
    assert counts == {
        (path.name, name): len(samples)
        for path in folder.glob("*.msg")
        if not path.stem.endswith(("_tf", "_camera"))
        for name, samples in read_log(path).items()
        if not name.endswith(".meta")
    }
    whole = {stream["stream"]: stream for stream in result["streams"]}
    assert (whole[LEFT]["unit"], whole[LEFT]["dialect"], whole[LEFT]["count"]) == ("ns", "InFuse, from ROS", 20)
    assert whole[ODOMETRY]["sampled"]["rate_hz"] == pytest.approx(100.0, abs=0.1)
    settings = {file["file"]: file["settings"] for file in result["files"] if file["settings"]}
    assert len(settings) == 2
    assert any("7 transforms: imu -> sherpaTT_body" in line for lines in settings.values() for line in lines)


def test_chunk_of_images_holds_very_bytes(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("chunk", folder, LEFT, "--start", "15", "--end", "18", tmp_path / "out.msg")[0] == 0
    samples, times = [], []
    for path in sorted(folder.glob("recording_*_0*.msg")):
        content = read_log(path)
        samples += content[LEFT]
        times += content[f"{LEFT}.meta"]["timestamps"]
    written = read_log(tmp_path / "out.msg")
    assert written[LEFT] == samples[15:18]
    assert written[f"{LEFT}.meta"] == {"timestamps": times[15:18], "type": "Frame"}
    data = (tmp_path / "out.msg").read_bytes()
    assert all(msgpack.packb(sample["data"]["data"]) in data for sample in samples[15:18])


def test_chunk_plays_as_archive_does(run: Run, folder: Path, tmp_path: Path) -> None:
    source = file_with(folder, ODOMETRY)
    assert run("chunk", source, ODOMETRY, "--start", "1s", "--end", "2s", tmp_path / "out.msg")[0] == 0
    first, count = read_log(tmp_path / "out.msg")[f"{ODOMETRY}.meta"]["timestamps"], 100
    assert len(first) == count
    shown = [
        run("show", path, ODOMETRY, "--time", "2018-11-27T09:30:01.5Z", "--json")[1]
        for path in (source, tmp_path / "out.msg")
    ]
    assert json.loads(shown[0])["sample"] == json.loads(shown[1])["sample"]


def test_joints_are_table_with_column_for_each(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "joints.parquet"
    assert run("export", folder, JOINTS, out, "--lists", "names,elements", "--time", "sample")[0] == 0
    parquet = pl.read_parquet(out)
    samples = read_log(file_with(folder, JOINTS))[JOINTS]
    assert parquet.height == len(samples)
    position = [sample["elements"][2]["position"] for sample in samples]
    assert parquet["elements.2.position"].to_list() == position
    assert parquet["names.2"].unique().to_list() == [samples[0]["names"][2]]
    times = [sample["timestamp"]["microseconds"] * 1000 for sample in samples]
    assert parquet["sample_time_ns"].to_list() == times


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fieldplay cdff ch", {"chunk"}),
        ("fieldplay cdff export a --fo", {"--format"}),
        ("fieldplay cdff export a b --time ", {"log", "sample"}),
        ("fieldplay cdff diagram a b --imp", {"--implementation"}),
    ],
)
def test_shell_completes_tools_and_their_options(line: str, expected: set[str], tmp_path: Path) -> None:
    requested = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line}
    requested |= {"COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words")}
    program = [sys.executable, "-c", "from fieldplay.cli.main import main; main()"]
    subprocess.run(program, env={**os.environ, **requested}, check=False, capture_output=True, timeout=WAIT_S)
    assert {word.strip() for word in (tmp_path / "words").read_text().splitlines()} == expected
