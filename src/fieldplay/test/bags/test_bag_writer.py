"""A bag appears when it is complete, and nothing that looks like one ever else."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

from fieldplay.bags.mcap_writer import McapWriter
from fieldplay.bags.storage import channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import BagError, UserError
from fieldplay.streams.message_block import MergedBlock, MessageBlock, messages_of_channel

STORAGES = ["mcap", "sqlite3"]

WRITE_UNTIL_KILLED = """
import resource, sys
import numpy as np
from fieldplay.bags.storage import channel_of_type
from fieldplay.streams.message_block import messages_of_channel
from fieldplay.streams.message_block import MessageBlock
from fieldplay.bags.writer import BagWriter
path, storage, limit = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
batch = MessageBlock.of_rows(np.ones((100, 10_000), np.uint8))
with BagWriter(path, storage=storage, overwrite=True) as bag:
    number = bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
    for turn in range(10):
        bag.write(messages_of_channel(number, np.full(100, turn), batch))
    sys.stdout.write("written\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


def batch(count: int = 10, size: int = 100) -> MergedBlock:
    return messages_of_channel(1, np.arange(count), MessageBlock.of_rows(np.ones((count, size), np.uint8)))


def write(path: Path, count: int = 10, **options: object) -> None:
    with BagWriter(path, **options) as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.write(batch(count))


def count_in(path: Path) -> int:
    with Reader(path) as reader:
        return sum(1 for _ in reader.messages())


def child(path: Path, storage: str, limit: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path), storage, str(limit)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("storage", STORAGES)
def test_bag_appears_only_when_complete(tmp_path: Path, storage: str) -> None:
    with BagWriter(tmp_path / "bag", storage=storage) as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.write(batch())
        (partial,) = tmp_path.iterdir()
        assert partial.name == f".bag.partial-{os.getpid()}"
        assert not (partial / "metadata.yaml").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]
    suffix = {"mcap": "mcap", "sqlite3": "db3"}[storage]
    assert sorted(path.name for path in (tmp_path / "bag").iterdir()) == [f"bag_0.{suffix}", "metadata.yaml"]


@pytest.mark.parametrize("storage", STORAGES)
def test_exception_leaves_no_files(tmp_path: Path, storage: str) -> None:
    target = tmp_path / "new" / "folders" / "bag"
    with pytest.raises(KeyboardInterrupt), BagWriter(target, storage=storage) as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.write(batch())
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_bag_with_failed_write_is_not_finished(tmp_path: Path) -> None:
    bag = BagWriter(tmp_path / "bag")
    with pytest.raises(BagError, match="a part of it could not be written"), bag, suppress(BagError):
        bag.write(batch())
    assert list(tmp_path.iterdir()) == []


def test_existing_bag_is_refused_and_kept(tmp_path: Path) -> None:
    write(tmp_path / "bag", 3)
    with pytest.raises(BagError, match="exists already"):
        write(tmp_path / "bag", 4)
    assert count_in(tmp_path / "bag") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_overwrite_replaces_bag_at_the_end(tmp_path: Path) -> None:
    write(tmp_path / "bag", 3, storage="sqlite3")
    with BagWriter(tmp_path / "bag", overwrite=True) as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        bag.write(batch(4))
        assert count_in(tmp_path / "bag") == 3
    assert count_in(tmp_path / "bag") == 4
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]
    assert not (tmp_path / "bag" / "bag_0.db3").exists()


def test_failed_overwrite_keeps_old_bag(tmp_path: Path) -> None:
    write(tmp_path / "bag", 3)
    with pytest.raises(ZeroDivisionError), BagWriter(tmp_path / "bag", overwrite=True):
        raise ZeroDivisionError
    assert count_in(tmp_path / "bag") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
def test_failed_swap_keeps_old_bag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    write(tmp_path / "bag", 3)
    rename = os.rename

    def fail_for_the_new_one(source: Path, target: Path) -> None:
        if "partial" in source.name:
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_for_the_new_one)
    with pytest.raises((BagError, KeyboardInterrupt), match=r"Permission denied|^$"):
        write(tmp_path / "bag", 4, overwrite=True)
    assert count_in(tmp_path / "bag") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_overwrite_refuses_path_that_is_no_bag(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("all of it")
    (tmp_path / "file").write_text("text")
    for name in ("home", "file"):
        with pytest.raises(BagError, match="is no bag"):
            write(tmp_path / name, overwrite=True)
    assert (tmp_path / "home" / "thesis.tex").exists() and (tmp_path / "file").exists()


def test_target_created_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="exists already"), BagWriter(tmp_path / "bag"):
        (tmp_path / "bag").mkdir()
    assert list((tmp_path / "bag").iterdir()) == []


def test_two_writers_of_same_bag_do_not_mix(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_channel(channel_of_type("/a", "sensor_msgs/msg/Imu"))
        with pytest.raises(UserError, match="is being written already"):
            write(tmp_path / "bag")
        bag.write(batch(5))
    assert count_in(tmp_path / "bag") == 5


@pytest.mark.parametrize("storage", STORAGES)
def test_killed_run_leaves_no_bag_and_next_run_cleans_up(tmp_path: Path, storage: str) -> None:
    write(tmp_path / "bag", 3)
    with child(tmp_path / "bag", storage) as process:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f".bag.partial-{process.pid}", "bag"]
    assert not (tmp_path / left[0] / "metadata.yaml").exists()
    assert count_in(tmp_path / "bag") == 3
    write(tmp_path / "bag", 4, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


@pytest.mark.parametrize("storage", STORAGES)
def test_file_size_limit_leaves_no_files(tmp_path: Path, storage: str) -> None:
    process = child(tmp_path / "bag", storage, limit=3_000_000)
    _, errors = process.communicate("")
    assert process.returncode == 1
    assert "BagError" in errors.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [1, 100_000])
def test_full_disk_is_reported_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    def on_a_full_disk(path: Path, **options: object) -> McapWriter:
        return McapWriter(open("/dev/full", "wb"), **options)

    monkeypatch.setattr(McapWriter, "create", on_a_full_disk)
    with pytest.raises(BagError, match=r"cannot write the bag .*bag: no space left on the disk"):
        write(tmp_path / "bag", count)
    assert list(tmp_path.iterdir()) == []


def test_bag_being_replaced_by_killed_run_is_restored(tmp_path: Path) -> None:
    write(tmp_path / "bag", 3)
    os.rename(tmp_path / "bag", tmp_path / f".bag.replaced-{dead_pid()}")
    with pytest.raises(BagError, match="exists already"):
        write(tmp_path / "bag", 4)
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]
    assert count_in(tmp_path / "bag") == 3


def test_only_folders_of_exited_runs_of_this_bag_are_removed(tmp_path: Path) -> None:
    gone = dead_pid()
    spared = [f".bag.partial-{os.getppid()}", f".other.partial-{gone}", ".bag.partial-old", ".bag2.partial-1"]
    for name in (*spared, f".bag.partial-{gone}", f".bag.replaced-{gone}", f".bag.partial-{os.getpid()}"):
        (tmp_path / name).mkdir()
    shutil.copytree(tmp_path / spared[0], tmp_path / "bag")
    write(tmp_path / "bag", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*spared, "bag"])


def test_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "bag")
    write(tmp_path / "link", 3)
    assert count_in(tmp_path / "disk" / "bag") == count_in(tmp_path / "link") == 3
    assert (tmp_path / "disk" / "bag" / "bag_0.mcap").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"storage": "rosbag"}, "mcap or sqlite3, got 'rosbag'"),
        ({"storage": "sqlite3", "compression": "zstd"}, "sqlite3 has no compression 'zstd'"),
        ({"compression": "lz4"}, "mcap has no compression 'lz4'"),
    ],
)
def test_unknown_storage_or_compression_is_refused(tmp_path: Path, options: dict[str, str], complaint: str) -> None:
    with pytest.raises(BagError, match=complaint):
        BagWriter(tmp_path / "bag", **options)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file is no folder"):
        write(tmp_path / "file" / "bag")
    with pytest.raises(BagError, match=r"cannot write the bag .*: File name too long"):
        write(tmp_path / ("x" * 250))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
