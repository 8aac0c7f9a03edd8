"""Bags as other recorders leave them: types with two names, another clock in the headers, nothing beside the file."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay.projection.projection import Wanted, projected
from fieldplay_archive.datasets import BAG, open_dataset
from helpers.foreign_bags import (
    COUNT,
    START_NS,
    STEP_NS,
    stored,
    write_later,
    write_ros1_with_two_names,
    write_ros2,
)
from helpers.sampled import Sampled

LATER_NS = 600_000_000 * 10**9
Output = pytest.CaptureFixture[str]


def test_two_names_of_one_type_are_one_type(tmp_path: Path, capsys: Output) -> None:
    bag = write_ros1_with_two_names(tmp_path / "robot.bag")
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    assert [at for at, _ in stored(tmp_path / "out")["/tf"]] == [START_NS + row * STEP_NS for row in range(COUNT)]
    assert main(["check", str(bag)]) == 0


def test_messages_that_are_left_out_are_an_issue(tmp_path: Path, capsys: Output) -> None:
    bag = write_ros1_with_two_names(tmp_path / "robot.bag", other="std_msgs/msg/UInt32")
    assert main(["check", str(bag)]) == 1
    message = "/tf: expected tf2_msgs/msg/TFMessage, got 50 messages of std_msgs/msg/UInt32, which are left out"
    assert f"mixed_types: robot.bag: {message}" in capsys.readouterr().out
    assert main(["convert", str(bag), str(tmp_path / "out"), "--strict"]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_messages_compressed_one_by_one_are_recognised_without_metadata(plugin: str, tmp_path: Path) -> None:
    """As where the recorder was killed, which writes metadata.yaml last."""
    bag = write_ros2(tmp_path / "bag", plugin=plugin, compression="message")
    expected = stored(bag)
    (storage,) = (file for file in bag.iterdir() if file.name != "metadata.yaml")
    alone = storage.rename(tmp_path / f"alone{storage.suffix}")
    assert main(["convert", str(alone), str(tmp_path / "out")]) == 0
    assert stored(tmp_path / "out") == expected
    with fieldplay.open(alone) as data:
        assert len(data.records("/way")["stamp_ns"]) == COUNT


@pytest.mark.parametrize("later_ns", [LATER_NS, -LATER_NS, 10**9])
def test_poses_are_compared_by_their_stamps_whatever_the_log_says(
    later_ns: int, tmp_path: Path, capsys: Output
) -> None:
    bag = write_later(write_ros2(tmp_path / "bag"), tmp_path / "later", later_ns)
    assert evaluated(bag, capsys)["pairs"] == COUNT
    assert evaluated(bag, capsys, "--start", "2", "--duration", "1")["pairs"] == 21


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_a_storage_file_alone_is_evaluated(plugin: str, tmp_path: Path, capsys: Output) -> None:
    bag = write_ros2(tmp_path / "bag", plugin=plugin)
    (bag / "metadata.yaml").unlink()
    (storage,) = bag.iterdir()
    for path in (bag, storage):
        assert evaluated(path, capsys)["pairs"] == COUNT
    with pytest.raises(SystemExit):
        main(["evaluate", str(storage), "odom", "/truth"])
    assert "there are: /way, /truth; or tf:PARENT.CHILD" in capsys.readouterr().err


def evaluated(bag: Path, capsys: Output, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["evaluate", str(bag), "/way", "/truth", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_projection_of_a_simulation_takes_times_of_its_stamps(sampled_ameds: Sampled, tmp_path: Path) -> None:
    """The recorder's clock is years ahead, and runs at half the rate again of the simulation's."""
    with open_dataset(sampled_ameds.bag, BAG.name) as archive:
        part = tmp_path / "part"
        main(["convert", str(archive.root), str(part), "--duration", "6", "--topics", "lidar|main_cam|tf"])
    bag = write_later(part, tmp_path / "later", LATER_NS, rate=1.5)
    stamp_s = "1656928805"
    wanted = Wanted(laser="lidar", camera="main_cam", time=stamp_s, fixed_frame="odom")
    found = {}
    for path in (part, bag):
        with open_dataset(path, BAG.name) as archive:
            found[path] = projected(archive, wanted, step=lambda share, count: None, tell=print)
    assert found[bag].picture.stamp_ns == found[part].picture.stamp_ns
    apart = np.abs(found[bag].projection.pixels - found[part].projection.pixels)[found[part].projection.is_visible]
    assert apart.max() < 0.01
    with open_dataset(bag, BAG.name) as archive:
        first = projected(archive, replace(wanted, time="0"), step=lambda share, count: None, tell=print)
    assert abs(first.picture.stamp_ns - first.wanted_ns) < 10**8


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_types_named_in_two_parts_are_those_of_three(plugin: str, tmp_path: Path, capsys: Output) -> None:
    """As Crystal and some writers of MCAP have them."""
    bag = write_ros2(tmp_path / "bag", plugin=plugin)
    expected = stored(bag)
    (storage,) = (file for file in bag.iterdir() if file.name != "metadata.yaml")
    if plugin == "sqlite3":
        with sqlite3.connect(storage) as database:
            database.execute("UPDATE topics SET type = replace(type, '/msg/', '/')")
            database.execute("UPDATE message_definitions SET topic_type = replace(topic_type, '/msg/', '/')")
        database.close()
    else:
        shorten_types(storage)
    (bag / "metadata.yaml").unlink()
    assert main(["convert", str(storage), str(tmp_path / "out")]) == 0
    assert "no definition" not in capsys.readouterr().err
    assert stored(tmp_path / "out") == expected
    with fieldplay.open(storage) as data:
        assert data.topics["/gear"].type == "my_robot/msg/Gear"
        assert data.topics["/way"].frame == "base"


def shorten_types(storage: Path) -> None:
    """Take `msg/` out of the schemas' names and leave the summary away, so that the file needs no further change."""
    out, place, data = bytearray(storage.read_bytes()[:8]), 8, storage.read_bytes()
    while place < len(data) - 8:
        op, size = data[place], int.from_bytes(data[place + 1 : place + 9], "little")
        content = data[place + 9 : place + 9 + size]
        place += 9 + size
        if op == 6:  # a chunk: its records stand behind the head and the name of the compression
            begin = 28 + 4 + int.from_bytes(content[28:32], "little") + 8
            out += records_without_msg(content[begin:])
        elif op in (3, 4, 5):
            out += records_without_msg(data[place - 9 - size : place])
        elif op == 15:
            break
    storage.write_bytes(bytes(out))


def records_without_msg(data: bytes) -> bytes:
    out, place = bytearray(), 0
    while place < len(data):
        op, size = data[place], int.from_bytes(data[place + 1 : place + 9], "little")
        content = data[place + 9 : place + 9 + size]
        place += 9 + size
        if op == 3:
            length = int.from_bytes(content[2:6], "little")
            name = content[6 : 6 + length].replace(b"/msg/", b"/")
            content = content[:2] + len(name).to_bytes(4, "little") + name + content[6 + length :]
        out += bytes([op]) + len(content).to_bytes(8, "little") + content
    return bytes(out)
