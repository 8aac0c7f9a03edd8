"""`convert --jobs N`: messages, order and bytes are the same whatever N is; what fails leaves nothing."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from mcap.reader import make_reader

from fieldplay.bags.writer import BagWriter
from fieldplay.cli.main import main
from fieldplay.convert import conversion
from fieldplay.io.parser_processes import has_threads
from fieldplay.io.pcd import cloud_from_pcd, pcd_from_cloud
from fieldplay.io.table_rows import RowCache
from fieldplay.streams.message_block import MergedBlock
from fieldplay_testing.tiny_sherpatt import write_archive
from support.sampled import Sampled
from support.tiny_acfr import TinyAcfr
from support.tiny_ida import TinyIda
from support.tiny_rosario import TinyRosario

Stored = list[tuple[str, int, bytes]]


@pytest.fixture(scope="module")
def archives(few_images: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small archive of each dataset."""
    folder = tmp_path_factory.mktemp("archives")
    for archive in (
        TinyAcfr(folder / "29-DynamicDayTriangleClear", seconds=0.6, visual_size=(68, 52)),
        TinyRosario(folder / "sequence01", seconds=1),
        TinyIda(folder / "insight_ida"),
    ):
        archive.write_all()
    return {
        "acfr": folder / "29-DynamicDayTriangleClear",
        "ameds": few_images,
        "ida": folder / "insight_ida",
        "rosario": folder / "sequence01",
        "sherpatt": write_archive(folder / "sherpatt"),
    }


def files_of_bag(bag: Path) -> list[str]:
    information = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    names: list[str] = information["relative_file_paths"]
    assert sorted(names) == sorted(path.name for path in bag.iterdir() if path.name != "metadata.yaml")
    assert information["message_count"] == sum(file["message_count"] for file in information["files"])
    return names


def stored(bag: Path) -> Stored:
    """All messages in the order of the files."""
    return [message for name in files_of_bag(bag) for message in _stored_in(bag / name)]


def _stored_in(path: Path) -> Iterator[tuple[str, int, bytes]]:
    if path.suffix == ".db3":
        with sqlite3.connect(path) as database:
            yield from database.execute(
                "SELECT name, timestamp, data FROM messages JOIN topics ON topic_id = topics.id ORDER BY messages.id"
            )
        return
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
            yield channel.topic, message.log_time, message.data


def converted(archive: Path, out: Path, *arguments: str) -> Stored:
    assert main(["convert", str(archive), str(out), *arguments]) == 0
    return stored(out)


def without_progress(text: str) -> list[str]:
    """What is told, but for how far it is, which comes after some time alone."""
    return [line for line in text.splitlines() if not line.startswith(("opening ", "converting "))]


@pytest.mark.parametrize("dataset", ["acfr", "ameds", "ida", "rosario", "sherpatt"])
def test_all_datasets_give_same_bytes_in_same_order(
    dataset: str, archives: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = converted(archives[dataset], tmp_path / "one", "--derived")
    output = capsys.readouterr()
    assert len(files_of_bag(tmp_path / "one")) == 1
    for count in (2, 3):
        out = tmp_path / f"jobs{count}"
        assert converted(archives[dataset], out, "--derived", "--jobs", str(count)) == expected
        assert len(files_of_bag(out)) == count
        again = capsys.readouterr()
        assert without_progress(again.err) == without_progress(output.err)  # defects and warnings too
        assert again.out == output.out.replace(str(tmp_path / "one"), str(out))
    assert [stamp for _, stamp, _ in expected] == sorted(stamp for _, stamp, _ in expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--storage", "sqlite3"],
        ["--compression", "zstd", "--images", "raw", "--topics", "main_cam|gnss"],
        ["--start", "0.4", "--duration", "0.7", "--derived"],
        ["--topics", "arm/joint_states"],  # of which there are two
    ],
)
def test_options_hold_for_all_parts(arguments: list[str], archives: dict[str, Path], tmp_path: Path) -> None:
    expected = converted(archives["ameds"], tmp_path / "one", *arguments)
    assert converted(archives["ameds"], tmp_path / "three", *arguments, "--jobs", "3") == expected


def test_what_has_state_is_same_in_longer_drive(sampled_ameds: Sampled, tmp_path: Path) -> None:
    arguments = ["--derived", "--topics", "wheels|tf|expected|path|integrity", "--jobs"]
    one, three = (converted(sampled_ameds.archive, tmp_path / count, *arguments, count) for count in ("1", "3"))
    odometry = [data for topic, _, data in one if topic == "/ameds/wheels/odom"]
    assert len(set(odometry)) > 100
    assert one == three


def test_damaged_images_are_reported_once_and_strict_leaves_nothing(
    archives: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "AMEDS" / "Traverse_5"
    shutil.copytree(next(archives["ameds"].iterdir()), root)
    images = sorted(root.glob("MainCam_*.jpg"))
    for image in (images[0], images[-1]):
        image.write_bytes(image.read_bytes()[:200])
    messages = []
    for count in ("1", "2"):
        converted(root, tmp_path / count, "--jobs", count)
        messages.append(without_progress(capsys.readouterr().err))
    assert messages[0] == messages[1]
    lines = "\n".join(messages[0])
    assert all(lines.count(image.name) == 1 for image in (images[0], images[-1]))
    assert main(["convert", str(root), str(tmp_path / "strict"), "--strict", "--jobs", "2"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "AMEDS"]


def test_text_is_parsed_in_workers_whose_origin_had_parsers_threads(
    archives: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "AMEDS" / "Traverse_5"
    shutil.copytree(next(archives["ameds"].iterdir()), root)
    for path in root.glob("*.pcd"):
        points = cloud_from_pcd(path.read_bytes())
        head = pcd_from_cloud(points).partition(b"DATA")[0]
        path.write_bytes(head + b"DATA ascii\n" + "".join(f"{' '.join(map(str, row))}\n" for row in points).encode())
    pl.read_csv(b"1,2\n3,4")
    assert has_threads()
    monkeypatch.setattr(RowCache, "add", lambda *_: None)  # no row has room: all are parsed again
    arguments = ["--topics", "lidar|imu/data_raw", "--jobs"]
    one, two = (converted(root, tmp_path / count, *arguments, count) for count in ("1", "2"))
    assert one == two
    assert {topic for topic, *_ in one} == {"/tf_static", "/ameds/lidar/points", "/ameds/imu/data_raw"}


def test_worker_that_is_killed_leaves_nothing(
    archives: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, write = os.getpid(), BagWriter.write_part

    def killed(self: BagWriter, number: int, batches: Iterator[MergedBlock]) -> Any:
        if number == 1:
            assert os.getpid() != mine
            os.kill(os.getpid(), signal.SIGKILL)
        return write(self, number, batches)

    monkeypatch.setattr(BagWriter, "write_part", killed)
    assert main(["convert", str(archives["ameds"]), str(tmp_path / "out"), "--jobs", "2"]) == 1
    assert (
        "a process that wrote a part of the bag has ended by signal 9: nothing was written" in capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())


def test_interrupt_ends_all_workers_and_leaves_nothing(
    archives: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: list[int] = []
    wait = conversion._wait

    def interrupted(parts: Any, received: Any) -> None:
        workers.extend(part.process.pid for part in parts)
        signal.raise_signal(signal.SIGINT)
        wait(parts, received)

    def endless(self: BagWriter, number: int, batches: Iterator[MergedBlock]) -> None:
        while True:
            signal.pause()

    monkeypatch.setattr(conversion, "_wait", interrupted)
    monkeypatch.setattr(BagWriter, "write_part", endless)
    assert main(["convert", str(archives["ameds"]), str(tmp_path / "out"), "--jobs", "2"]) == 130
    assert len(workers) == 2
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
    assert not list(tmp_path.iterdir())


def test_full_disk_is_reported_as_text(
    archives: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fieldplay.bags.mcap_writer.McapWriter.write", full)
    assert main(["convert", str(archives["ameds"]), str(tmp_path / "out"), "--jobs", "2"]) == 1
    assert "no space left on the disk" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dataset", ["acfr", "ameds"])
def test_tables_that_other_processes_parse_give_same(
    dataset: str, archives: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = converted(archives[dataset], tmp_path / "one")
    output = without_progress(capsys.readouterr().err)
    program = shutil.which("fieldplay")
    assert program is not None  # a process of its own, in which no parser has begun yet
    command = [program, "convert", str(archives[dataset]), str(tmp_path / "two"), "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert stored(tmp_path / "two") == expected
    assert without_progress(done.stderr) == output


@pytest.mark.parametrize("word", ["0", "-1", "many"])
def test_number_of_jobs_is_at_least_one(word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["convert", str(tmp_path), str(tmp_path / "out"), "--jobs", word])
    assert "expected a count from 1" in capsys.readouterr().err


def test_files_of_workers_move_apart(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with path.open("rb", buffering=0) as file:
        file.seek(40)
        child = os.fork()
        if not child:
            conversion._reopen_files()
            os._exit(0 if file.read(10) == bytes(range(40, 50)) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert file.read(1) == bytes([40])


def test_those_that_parse_end_with_program_that_is_killed() -> None:
    """They hold its output open for as long as they live."""
    script = (
        "import os, signal\n"
        "from fieldplay.io.parser_processes import start_parsers\n"
        "with start_parsers(2):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=60)
    assert ended.returncode == -signal.SIGKILL
