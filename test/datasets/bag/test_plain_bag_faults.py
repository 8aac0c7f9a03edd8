"""Bags of no dataset that are old, odd or broken: what of them is read, and what is told."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.qos import qos_of_profiles
from fieldplay.bags.storage import Channel, Qos
from fieldplay.bags.writer import BagWriter
from fieldplay.cli.main import main
from fieldplay.core.errors import UsageError
from fieldplay.datasets.registry import open_dataset
from fieldplay.player.player_state import play_plan
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from support.foreign_bags import (
    COUNT,
    GEAR,
    START_NS,
    STEP_NS,
    stored,
    write_ros1,
    write_ros2,
)


def converted(bag: Path, tmp_path: Path, *options: str) -> Path:
    assert main(["convert", str(bag), str(tmp_path / "out"), "--overwrite", *options]) == 0
    return tmp_path / "out"


def test_bag_without_definitions_keeps_its_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As those of Humble and before: types and topics, without definitions, profiles as numbers."""
    bag = write_ros2(tmp_path / "bag", plugin="sqlite3")
    (bag / "metadata.yaml").unlink()
    (storage,) = bag.glob("*.db3")
    with sqlite3.connect(storage) as database:
        database.execute("DROP TABLE message_definitions")
        profiles = "- history: 1\n  depth: 3\n  reliability: 2"
        database.execute("UPDATE topics SET type_description_hash = '', offered_qos_profiles = ?", (profiles,))
    database.close()
    with open_dataset(bag) as archive:
        channels = {feed.topic: feed.channel for feed in archive_topic_streams(archive, Selection())}
    gear, text = channels["/gear"], channels["/words"]
    assert (gear.msgtype, gear.msgdef, gear.type_hash) == (GEAR, "", "")
    assert text.msgdef == "string data\n" and text.type_hash.startswith("RIHS01_")
    assert text.qos == Qos(reliability="best_effort", depth=3)
    out = converted(bag, tmp_path)
    assert "/gear: the bag has no definition of my_robot/msg/Gear" in capsys.readouterr().err
    with sqlite3.connect(storage) as database:
        rows = (
            "SELECT timestamp, data FROM messages WHERE topic_id = (SELECT id FROM topics WHERE name = ?) ORDER BY id"
        )
        expected = database.execute(rows, ("/gear",)).fetchall()
    database.close()
    with open_dataset(out) as archive:
        stream = archive.streams["/gear"]
        assert [span.count for span in stream.spans] == [COUNT]
        record = stream.load(0)
        actual = [(int(at), record.load(row)) for row, at in enumerate(record.stamp_ns)]
    assert actual == expected


def test_type_without_definition_can_be_played_at_other_times(tmp_path: Path) -> None:
    """Whether its messages begin with a header is as its definition says; without any it is not known."""
    bag = write_ros2(tmp_path / "bag")
    with open_dataset(bag) as archive:
        program, feeds = play_plan(archive, Selection())
        restamps = {feed.topic: restamp for feed, restamp in zip(feeds, program.restamps, strict=True)}
        assert restamps["/words"] is None
        restamp = restamps["/gear"]
        first = stored(bag)["/gear"][0][1]
        assert restamp is not None and restamp(first, 10**9)[4:8] == (START_NS // 10**9 + 1).to_bytes(4, "little")
        with pytest.raises(UsageError, match="--images is for archives of a dataset"):
            play_plan(archive, Selection(images="compressed"))
        with pytest.raises(UsageError, match="no topic of it can be played here"):
            play_plan(archive, Selection(), is_left_out=lambda feed: True)


def test_messages_that_were_logged_without_clock_are_put_to_start(tmp_path: Path) -> None:
    path = tmp_path / "bag"
    text = bytes((0, 1, 0, 0)) + (2).to_bytes(4, "little") + b"a\0"
    with BagWriter(path) as writer:
        number = writer.add_channel(Channel(topic="/words", msgtype="std_msgs/msg/String", msgdef="", type_hash=""))

        stamps = np.array([0, 0, START_NS, START_NS + STEP_NS])
        writer.write(messages_of_channel(number, stamps, MessageBlock.of_messages([text] * 4)))
    out = converted(path, tmp_path, "--start", "0", "--duration", "0.01")
    assert [at for at, _ in stored(out)["/words"]] == [START_NS] * 3


def test_chunk_that_is_damaged_costs_its_messages_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_ros1(tmp_path / "robot.bag", chunk_bytes=20_000)
    data = bytearray(bag.read_bytes())
    index = data.index(b"word 50") - 200
    data[index : index + 400] = bytes(400)
    bag.write_bytes(bytes(data))
    out = converted(bag, tmp_path)
    assert "damaged" in capsys.readouterr().err
    text = {data for _, data in stored(out)["/words"]}
    expected = [data for _, data in stored(write_ros2(tmp_path / "other"))["/words"]]
    assert expected[0] in text and expected[-1] in text and expected[50] not in text


def test_parts_of_bag_of_ros_1_are_joined(tmp_path: Path) -> None:
    whole = write_ros1(tmp_path / "robot.bag").read_bytes()
    (tmp_path / "robot.bag.00").write_bytes(whole[:100_000])
    (tmp_path / "robot.bag.01").write_bytes(whole[100_000:])
    (tmp_path / "robot.bag").unlink()
    out = converted(tmp_path / "robot.bag.00", tmp_path)
    expected = stored(write_ros2(tmp_path / "other"))
    assert {name: messages for name, messages in stored(out).items() if name != "/near"} == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (None, Qos()),
        ("", Qos()),
        ("no list", Qos()),
        ("- [", Qos()),
        ("- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2", Qos()),
        ("- durability: 1\n  depth: 1", Qos(durability="transient_local", depth=1)),
        ([{"durability": "transient_local", "depth": 1}, {"durability": "volatile", "depth": 5}], Qos(depth=5)),
        ([{"reliability": "reliable"}, {"reliability": "best_effort"}], Qos(reliability="best_effort")),
        ([{"history": "keep_all"}], Qos(history="keep_all")),
    ],
)
def test_topic_is_offered_as_all_its_publishers_did(message: object, expected: Qos) -> None:
    assert qos_of_profiles(message) == expected


def test_where_there_are_several_bags_one_is_to_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "day"
    write_ros2(folder / "morning", plugin="sqlite3")
    write_ros1(folder / "noon.bag")
    assert main(["info", str(folder)]) == 1
    assert "it holds bags (morning/morning.db3, noon.bag): give the path of one" in capsys.readouterr().err
    shutil.make_archive(str(tmp_path / "day"), "zip", folder)
    assert main(["info", str(tmp_path / "day.zip")]) == 1
    assert "unpack it, and give the path of one" in capsys.readouterr().err


def test_of_topic_with_two_types_first_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As where a topic was called anew while a bag was recorded."""
    bag = tmp_path / "bag"
    with Writer(bag, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        types = get_typestore(Stores.ROS2_JAZZY)
        for index, name in enumerate(("String", "Empty")):
            connection = writer.add_connection("/words", f"std_msgs/msg/{name}", typestore=types)
            writer.write(connection, START_NS + index, bytes((0, 1, 0, 0, 0)))
    assert [at for at, _ in stored(converted(bag, tmp_path))["/words"]] == [START_NS]
    message = "/words: expected std_msgs/msg/String, got 1 message of std_msgs/msg/Empty, which are left out"
    assert message in capsys.readouterr().err


def test_messages_of_another_serialization_are_reported_by_their_topic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_ros2(tmp_path / "bag")
    (storage,) = bag.glob("*.mcap")
    one = b"/words" + (3).to_bytes(4, "little")
    assert one + b"cdr" in storage.read_bytes()
    storage.write_bytes(storage.read_bytes().replace(one + b"cdr", one + b"xyz"))
    result = stored(converted(storage, tmp_path))
    assert "/words: expected messages in CDR, got 100 messages in xyz, which are left out" in capsys.readouterr().err
    assert "/words" not in result and len(result["/gear"]) == COUNT
