"""Bags as other recorders leave them: types with two names, another clock in the headers, nothing beside the file."""

import json
import shutil
import sqlite3
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import Writer as McapWriter
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import fieldplay
from fieldplay.bags.storage import Channel, Qos, channel_of_type
from fieldplay.bags.writer import BagWriter
from fieldplay.cli.main import main
from fieldplay.datasets.registry import BAG, open_dataset
from fieldplay.projection.projection import ProjectionRequest, project
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from support.foreign_bags import (
    COUNT,
    GEAR,
    GEAR_TEXT,
    START_NS,
    STEP_NS,
    store_with_gears,
    stored,
    write_later,
    write_ros1,
    write_ros1_with_two_names,
    write_ros2,
)
from support.sampled import Sampled

LATER_NS = 600_000_000 * 10**9
Output = pytest.CaptureFixture[str]


def test_two_names_of_one_type_are_one_type(tmp_path: Path, capsys: Output) -> None:
    bag = write_ros1_with_two_names(tmp_path / "robot.bag")
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    assert [at for at, _ in stored(tmp_path / "out")["/tf"]] == [START_NS + row * STEP_NS for row in range(COUNT)]
    assert main(["check", str(bag)]) == 0


def test_messages_that_are_left_out_are_issue(tmp_path: Path, capsys: Output) -> None:
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
def test_poses_are_compared_by_their_stamps_whatever_log_says(later_ns: int, tmp_path: Path, capsys: Output) -> None:
    bag = write_later(write_ros2(tmp_path / "bag"), tmp_path / "later", later_ns)
    assert evaluated(bag, capsys)["pairs"] == COUNT
    assert evaluated(bag, capsys, "--start", "2", "--duration", "1")["pairs"] == 21


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_storage_file_alone_is_evaluated(plugin: str, tmp_path: Path, capsys: Output) -> None:
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
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_projection_of_simulation_takes_times_of_its_stamps(sampled_ameds: Sampled, tmp_path: Path) -> None:
    """The recorder's clock is years ahead, and runs at half the rate again of the simulation's."""
    with open_dataset(sampled_ameds.bag, BAG.name) as archive:
        part = tmp_path / "part"
        main(["convert", str(archive.root), str(part), "--duration", "6", "--topics", "lidar|main_cam|tf"])
    bag = write_later(part, tmp_path / "later", LATER_NS, rate=1.5)
    stamp_s = "1656928805"
    requested = ProjectionRequest(laser="lidar", camera="main_cam", time=stamp_s, fixed_frame="odom")
    results = {}
    for path in (part, bag):
        with open_dataset(path, BAG.name) as archive:
            results[path] = project(archive, requested, step=lambda fraction, count: None, report=print)
    assert results[bag].image.stamp_ns == results[part].image.stamp_ns
    difference = np.abs(results[bag].projection.pixels - results[part].projection.pixels)[
        results[part].projection.is_visible
    ]
    assert difference.max() < 0.01
    with open_dataset(bag, BAG.name) as archive:
        first = project(archive, replace(requested, time="0"), step=lambda fraction, count: None, report=print)
    assert abs(first.image.stamp_ns - first.requested_ns) < 10**8


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
    out, position, data = bytearray(storage.read_bytes()[:8]), 8, storage.read_bytes()
    while position < len(data) - 8:
        op, size = data[position], int.from_bytes(data[position + 1 : position + 9], "little")
        content = data[position + 9 : position + 9 + size]
        position += 9 + size
        if op == 6:  # a chunk: its records stand behind the head and the name of the compression
            start = 28 + 4 + int.from_bytes(content[28:32], "little") + 8
            out += records_without_msg(content[start:])
        elif op in (3, 4, 5):
            out += records_without_msg(data[position - 9 - size : position])
        elif op == 15:
            break
    storage.write_bytes(bytes(out))


def records_without_msg(data: bytes) -> bytes:
    out, position = bytearray(), 0
    while position < len(data):
        op, size = data[position], int.from_bytes(data[position + 1 : position + 9], "little")
        content = data[position + 9 : position + 9 + size]
        position += 9 + size
        if op == 3:
            length = int.from_bytes(content[2:6], "little")
            name = content[6 : 6 + length].replace(b"/msg/", b"/")
            content = content[:2] + len(name).to_bytes(4, "little") + name + content[6 + length :]
        out += bytes([op]) + len(content).to_bytes(8, "little") + content
    return bytes(out)


@pytest.fixture
def undefined(tmp_path: Path) -> Path:
    """A bag as those of Humble and before: without definitions."""
    return forget_definitions(write_ros2(tmp_path / "bag", plugin="sqlite3"))


def forget_definitions(bag: Path) -> Path:
    (storage,) = bag.glob("*.db3")
    with sqlite3.connect(storage) as database:
        database.execute("DROP TABLE message_definitions")
        database.execute("UPDATE topics SET type_description_hash = ''")
    database.close()
    return bag


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The definitions of the bag's own types: a package with another folder's name, and a file without a package."""
    folder = tmp_path / "src" / "cloned" / "msg"
    folder.mkdir(parents=True)
    (folder.parent / "package.xml").write_text("<package><name>my_robot</name></package>")
    (folder / "Gear.msg").write_text(GEAR_TEXT.replace("std_msgs/Header", "Header").replace("my_robot/", ""))
    (tmp_path / "src" / "Tooth.msg").write_text("time when\nint16 size\n")
    return tmp_path / "src"


def test_topic_without_definition_stops_no_other(undefined: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "tables"
    assert main(["export", str(undefined), str(out), "--format", "csv"]) == 0
    assert {path.name for path in out.glob("*.csv")} == {
        "words.csv",
        "way.csv",
        "truth.csv",
        "tf_static.csv",
        "cam.csv",
    }
    message = "/gear: expected a definition of my_robot/msg/Gear, got none; --msgs DIR takes a folder of .msg files"
    assert message in capsys.readouterr().err
    assert main(["export", str(undefined), str(tmp_path / "none"), "--format", "csv", "--topics", "gear"]) == 1
    assert not (tmp_path / "none").exists()


def test_nothing_is_reported_of_topics_that_are_not_taken(undefined: Path, tmp_path: Path, capsys: Output) -> None:
    assert main(["convert", str(undefined), str(tmp_path / "out"), "--topics", "words"]) == 0
    assert "/gear" not in capsys.readouterr().err


def test_definitions_can_be_handed_over(undefined: Path, packages: Path, tmp_path: Path, capsys: Output) -> None:
    parameters = ["--msgs", str(packages)]
    assert main(["export", str(undefined), str(tmp_path / "tables"), "--format", "csv", *parameters]) == 0
    rows = (tmp_path / "tables" / "gear.csv").read_text().splitlines()
    assert len(rows) == COUNT + 1 and rows[3].split(",")[-1] == "2" and '"xx"' not in rows[2]
    assert main(["convert", str(undefined), str(tmp_path / "out"), *parameters]) == 0
    assert "no definition" not in capsys.readouterr().err
    with AnyReader([tmp_path / "out"]) as reader:
        (gear,) = (result for result in reader.connections if result.topic == "/gear")
        assert gear.digest == store_with_gears("ros2").hash_rihs01(GEAR)
    for wrong, message in ((tmp_path / "nowhere", "expected a folder"), (undefined, "expected .msg files in")):
        with pytest.raises(SystemExit):
            main(["check", str(undefined), "--msgs", str(wrong)])
        assert message in capsys.readouterr().err


def test_lists_that_are_too_long_for_columns_stay_in_one(tmp_path: Path, capsys: Output) -> None:
    bag, out = tmp_path / "bag", tmp_path / "out"
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for name, count in (("/long", 20_001), ("/short", 2)):
            message = store.types["std_msgs/msg/UInt8MultiArray"](
                store.types["std_msgs/msg/MultiArrayLayout"]([], 0), np.arange(count).astype(np.uint8)
            )
            connection = writer.add_connection(name, message.__msgtype__, typestore=store)
            writer.write(connection, START_NS, store.serialize_cdr(message, message.__msgtype__))
    assert main(["export", str(bag), str(out), "--format", "csv", "--lists", "all"]) == 0
    assert "/long: 20002 columns are more than the 20000" in capsys.readouterr().err
    assert "data.1" in (out / "short.csv").read_text() and "data.1" not in (out / "long.csv").read_text()


def test_transforms_are_exported_one_row(tmp_path: Path) -> None:
    bag, out = write_ros2(tmp_path / "bag"), tmp_path / "out"
    assert main(["export", str(bag), str(out), "--format", "csv", "--topics", "tf_static"]) == 0
    head, *rows = (out / "tf_static.csv").read_text().splitlines()
    assert head == "log_time_ns,stamp_ns,parent,child,x,y,z,qx,qy,qz,qw"
    assert rows == [
        f"{START_NS + row * STEP_NS},{START_NS + row * STEP_NS},base,child{row},{row}.0,0.0,0.0,0.0,0.0,0.0,1.0"
        for row in range(2)
    ]


def test_what_chunk_may_unpack_to_is_option(tmp_path: Path, capsys: Output) -> None:
    """A map that is the same all over packs to a thousandth: that is valid, and no bomb."""
    bag, size = tmp_path / "bag", 150 << 20
    data = bytes((0, 1, 0, 0)) + struct.pack("<III", 0, 0, size) + bytes(size)
    with BagWriter(bag, compression="zstd") as writer:
        number = writer.add_channel(channel_of_type("/map", "std_msgs/msg/UInt8MultiArray"))
        writer.write(messages_of_channel(number, np.array([START_NS]), MessageBlock.of_messages([data])))
    assert sum(file.stat().st_size for file in bag.iterdir()) < 1 << 20
    assert main(["check", str(bag)]) == 0
    assert main(["check", str(bag), "--set", "unpack_limit_mb=100"]) == 1
    assert "--set unpack_limit_mb=151 allows it" in capsys.readouterr().out


def latched_bag(path: Path) -> Path:
    """Three latched topics: one sent all the time, one at the begin alone, and static transforms."""
    types = get_typestore(Stores.ROS2_JAZZY)
    with BagWriter(path) as writer:
        for topic, times in (("/pose", range(10)), ("/map", [0]), ("/tf_static", [0, 1])):
            msgtype = "tf2_msgs/msg/TFMessage" if topic == "/tf_static" else "std_msgs/msg/UInt32"
            qos = Qos(durability="transient_local", depth=1)
            number = writer.add_channel(channel_of_type(topic, msgtype, qos))
            assert msgtype in types.types
            stamps = START_NS + np.array(times) * 10**9
            data = [bytes((0, 1, 0, 0)) + (0 if "tf" in topic else at).to_bytes(4, "little") for at in times]
            writer.write(messages_of_channel(number, stamps, MessageBlock.of_messages(data)))
    return path


def test_part_of_bag_has_no_old_messages_but_those_that_still_hold(tmp_path: Path, capsys: Output) -> None:
    bag, out = latched_bag(tmp_path / "bag"), tmp_path / "out"
    assert main(["convert", str(bag), str(out), "--start", "4.5", "--duration", "3"]) == 0
    by_name = {name: [(at - START_NS) / 1e9 for at, _ in messages] for name, messages in stored(out).items()}
    assert by_name == {"/pose": [5, 6, 7], "/map": [4.5], "/tf_static": [4.5, 4.5]}
    assert capsys.readouterr().err.splitlines() == [
        "/map: its last message before it is written at the start",
        "/tf_static: 2 messages from before the start are written at the start",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--topics", "/way", "/words"], {"/way", "/words"}),
        (["--topics", "/wa", "^/tr"], {"/way", "/truth"}),
        (["--topics", "w|tr", "--exclude-topics", "/words", "cam"], {"/way", "/truth"}),
        (["--exclude-topics", "/way", "/tf_static", "gear|words"], {"/truth", "/cam"}),
        (["--topics", "/way", "--remap", "/way:=/robot/path"], {"/robot/path"}),
    ],
)
def test_topics_are_chosen_by_names_and_expressions(options: list[str], expected: set[str], tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag")
    assert main(["convert", str(bag), str(tmp_path / "out"), *options]) == 0
    assert set(stored(tmp_path / "out")) == expected


def test_name_is_no_expression_where_topic_has_it(tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag")
    renamed = ["--remap", "truth:=way/other", "words:=way2"]
    assert main(["convert", str(bag), str(tmp_path / "ways"), *renamed]) == 0
    for word, expected in (("/way", {"/way"}), ("way", {"/way", "/way/other", "/way2"})):
        assert main(["convert", str(tmp_path / "ways"), str(tmp_path / word.strip("/")), "--topics", word]) == 0
        assert set(stored(tmp_path / word.strip("/"))) == expected
        shutil.rmtree(tmp_path / word.strip("/"))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("/wat:=/x", "--remap: there is no topic /wat; there is /way"),
        ("/way:=/my-robot", "--remap /way:=/my-robot: ROS 2 allows no such topic name"),
        ("/way:=/words", "--remap /way:=/words: /words has that name and another type, std_msgs/msg/String"),
        ("/way", "expected OLD:=NEW, got '/way'"),
    ],
)
def test_name_impossible_is_refused(word: str, message: str, tmp_path: Path, capsys: Output) -> None:
    bag = write_ros2(tmp_path / "bag")
    with pytest.raises(SystemExit):
        main(["convert", str(bag), str(tmp_path / "out"), "--remap", word])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("plugin", ["mcap", "sqlite3"])
def test_check_decodes_what_it_reads(plugin: str, tmp_path: Path, capsys: Output) -> None:
    bag, types = tmp_path / "bag", get_typestore(Stores.ROS2_JAZZY)
    with Writer(bag, version=9, storage_plugin=StoragePlugin[plugin.upper()]) as writer:
        connection = writer.add_connection("/words", "std_msgs/msg/String", typestore=types)
        whole = bytes(types.serialize_cdr(types.types["std_msgs/msg/String"]("some words"), "std_msgs/msg/String"))
        for row in range(10):
            writer.write(connection, START_NS + row, whole[:10] if row % 2 else whole)
    assert main(["check", str(bag)]) == 1
    out = capsys.readouterr().out
    assert out.count("damaged_message: bag: /words: the message logged at ") == 5
    assert "expected a whole std_msgs/msg/String, got 10 bytes" in out and f"{bag}: 5 defects" in out


def test_check_names_types_that_nothing_defines(undefined: Path, packages: Path, capsys: Output) -> None:
    assert main(["check", str(undefined)]) == 1
    what = "/gear: expected a definition of my_robot/msg/Gear, got none; --msgs DIR takes .msg files"
    assert f"missing_definition: {undefined.name}: {what}" in capsys.readouterr().out
    assert main(["check", str(undefined), "--msgs", str(packages)]) == 0


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize("name", ["some.mcap", "some.db3", "some.bag"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LFS, "a pointer of Git LFS, not the file itself: run `git lfs pull`"),
        (b"", "an empty file"),
        (b"\x1f\x8b\x08...", "a file packed by gzip"),
        (b"no bag at all", "a file that starts with b'no bag at all'"),
    ],
)
def test_file_that_is_no_bag_is_named(name: str, content: bytes, message: str, tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["convert", str(path), str(tmp_path / "out")]) == 1
    assert f"got {message}" in capsys.readouterr().err


@pytest.mark.parametrize(("plugin", "name"), [("mcap", "some.bag"), ("sqlite3", "some.mcap"), ("mcap", "some.data")])
def test_contents_decide_and_no_name(plugin: str, name: str, tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag", plugin=plugin)
    expected = stored(bag)
    (storage,) = (file for file in bag.iterdir() if file.name != "metadata.yaml")
    assert main(["convert", str(storage.rename(tmp_path / name)), str(tmp_path / "out")]) == 0
    assert stored(tmp_path / "out") == expected
    other = write_ros1_with_two_names(tmp_path / "robot.bag").rename(tmp_path / "robot.mcap")
    assert main(["convert", str(other), str(tmp_path / "other")]) == 0
    assert len(stored(tmp_path / "other")["/tf"]) == COUNT


def test_recording_without_messages_of_ros_reports_what_it_is(tmp_path: Path, capsys: Output) -> None:
    """MCAP holds whatever one likes, as JSON of a web page."""
    path = tmp_path / "page.mcap"
    with path.open("wb") as file:
        writer = McapWriter(file)
        writer.start()
        schema = writer.register_schema("Pose", "jsonschema", b"{}")
        channel = writer.register_channel("/pose", "json", schema)
        for row in range(3):
            writer.add_message(channel, START_NS + row, b"{}", START_NS + row)
        writer.finish()
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert (
        f"{path}: an MCAP file with 3 messages in json, which is none of ROS 2\n  no messages that can be read\n" in out
    )
    assert "1970" not in out
    assert main(["check", str(path)]) == 2
    assert main(["convert", str(path), str(tmp_path / "out")]) == 1
    message = "expected a bag with messages that can be read, got an MCAP file with 3 messages in json"
    assert message in capsys.readouterr().err


RANGE = "sensor_msgs/msg/Range"
OLDER_RANGE = """\
uint8 ULTRASOUND=0
uint8 INFRARED=1
std_msgs/Header header
uint8 radiation_type
float32 field_of_view
float32 min_range
float32 max_range
float32 range
"""


def older_bag(path: Path, definition: str, *, wrapped: bool = False) -> Path:
    """Five messages of Range as another distribution defines it, or of a type that holds one."""
    store = get_typestore(Stores.ROS2_JAZZY)
    store.fielddefs.pop(RANGE)
    store.register(get_types_from_msg(definition, RANGE))
    msgtype = "my_robot/msg/Near" if wrapped else RANGE
    if wrapped:
        store.register(get_types_from_msg("string name\nsensor_msgs/Range near\n", msgtype))
    types = store.types
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/near", msgtype, typestore=store)
        for row in range(5):
            header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](row, 0), "front")
            message = types[RANGE](header, 1, 0.5, 0.25, 8.0, row + 0.5)
            message = types[msgtype]("left", message) if wrapped else message
            data = bytes(store.serialize_cdr(message, msgtype))
            writer.write(connection, START_NS + row, data[:20] if row == 3 else data)
    return path


@pytest.mark.parametrize("wrapped", [False, True])
def test_messages_of_older_distribution_get_new_fields(wrapped: bool, tmp_path: Path, capsys: Output) -> None:
    bag = older_bag(tmp_path / "bag", OLDER_RANGE, wrapped=wrapped)
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    output = capsys.readouterr().err
    assert "is that of an older ROS 2; messages get Jazzy's new fields" in output and "1 damaged_message" in output
    with AnyReader([tmp_path / "out"]) as reader:
        (connection,) = reader.connections
        assert wrapped or connection.digest == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(RANGE)
        actual = [reader.deserialize(data, connection.msgtype) for _, _, data in reader.messages()]
    ranges = [message.near if wrapped else message for message in actual]
    assert [(message.range, message.variance) for message in ranges] == [(row + 0.5, 0.0) for row in (0, 1, 2, 4)]
    assert main(["check", str(bag)]) == 1
    assert f"{bag}: 1 defect\n" in capsys.readouterr().out


def test_messages_with_other_fields_stay_and_that_is_reported(tmp_path: Path, capsys: Output) -> None:
    bag = older_bag(tmp_path / "bag", OLDER_RANGE.replace("float32 field_of_view", "float64 field_of_view"))
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    assert "stays as it is: no subscriber of this ROS 2 can read it" in capsys.readouterr().err
    assert stored(tmp_path / "out") == stored(bag)


def test_log_of_ros_1_is_that_of_ros_2(tmp_path: Path) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    types, msgtype = store.types, "rosgraph_msgs/msg/Log"
    with Ros1Writer(tmp_path / "robot.bag") as writer:
        connection = writer.add_connection("/rosout", msgtype, typestore=store)
        for row, level in enumerate((1, 2, 4, 8, 16)):
            header = types["std_msgs/msg/Header"](row, types["builtin_interfaces/msg/Time"](row, 5), "")
            message = types[msgtype](header, level, "/node", f"text {row}", "a.cpp", "main", 7, ["/tf"])
            writer.write(connection, START_NS + row, store.serialize_ros1(message, msgtype))
    assert main(["convert", str(tmp_path / "robot.bag"), str(tmp_path / "out")]) == 0
    with AnyReader([tmp_path / "out"]) as reader:
        (connection,) = reader.connections
        assert connection.msgtype == "rcl_interfaces/msg/Log"
        actual = [reader.deserialize(data, connection.msgtype) for _, _, data in reader.messages()]
    assert [(one.level, one.msg, one.line, one.stamp.sec, one.stamp.nanosec) for one in actual] == [
        (level, f"text {row}", 7, row, 5) for row, level in enumerate((10, 20, 30, 40, 50))
    ]


def test_cut_message_of_ros_1_costs_itself_alone(tmp_path: Path, capsys: Output) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    with Ros1Writer(tmp_path / "robot.bag") as writer:
        connection = writer.add_connection("/words", "std_msgs/msg/String", typestore=store)
        whole = bytes(store.serialize_ros1(store.types["std_msgs/msg/String"]("some words"), "std_msgs/msg/String"))
        for row in range(10):
            writer.write(connection, START_NS + row, whole[:6] if row in (2, 5) else whole)
    assert main(["convert", str(tmp_path / "robot.bag"), str(tmp_path / "out")]) == 0
    assert [at - START_NS for at, _ in stored(tmp_path / "out")["/words"]] == [0, 1, 3, 4, 6, 7, 8, 9]
    assert "2 defects: 2 damaged_message" in capsys.readouterr().err


def test_service_events_are_exported(tmp_path: Path) -> None:
    """As introspection of services records them: their types are made of those of the service."""
    bag, msgtype = tmp_path / "bag", "my_robot/srv/Go_Event"
    text = "service_msgs/ServiceEventInfo info\nmy_robot/Go_Request[<=1] request\nmy_robot/Go_Response[<=1] response\n"
    split = "=" * 80
    parts = {
        "service_msgs/ServiceEventInfo": (
            "uint8 REQUEST_SENT=0\nuint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\n"
            "int64 sequence_number\n"
        ),
        "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
        "my_robot/Go_Request": "float64 speed\n",
        "my_robot/Go_Response": "bool success\n",
    }
    definition = text + "".join(f"{split}\nMSG: {name}\n{part}" for name, part in parts.items())
    with BagWriter(bag) as writer:
        channel = Channel(topic="/go/_service_event", msgtype=msgtype, msgdef=definition, type_hash="")
        number = writer.add_channel(channel)
        info = bytes([0, 0, 0, 0]) + struct.pack("<iI", 5, 7) + bytes(16) + bytes(4) + struct.pack("<q", 9)
        data = (
            bytes((0, 1, 0, 0)) + info + struct.pack("<I", 1) + bytes(4) + struct.pack("<d", 1.5) + struct.pack("<I", 0)
        )
        writer.write(messages_of_channel(number, np.array([START_NS]), MessageBlock.of_messages([data])))
    assert main(["check", str(bag)]) == 0
    assert main(["export", str(bag), str(tmp_path / "out"), "--format", "csv"]) == 0
    head, row = (tmp_path / "out" / "go__service_event.csv").read_text().splitlines()
    assert "info.sequence_number" in head and "1.5" in row


def test_several_bags_are_taken_as_one(tmp_path: Path, capsys: Output) -> None:
    whole, other = write_ros2(tmp_path / "whole"), write_ros1(tmp_path / "robot.bag")
    for name, options in (("early", ["--duration", "2"]), ("late", ["--start", "2.05", "--exclude-topics", "cam"])):
        assert main(["convert", str(whole), str(tmp_path / name), *options]) == 0
    parts = [str(tmp_path / "late"), str(tmp_path / "early")]
    assert main(["convert", *parts, str(tmp_path / "out")]) == 0
    expected, actual = stored(whole), stored(tmp_path / "out")
    assert {name: actual[name] for name in ("/words", "/gear", "/way")} == {
        name: expected[name] for name in ("/words", "/gear", "/way")
    }
    assert [at for at, _ in actual["/cam"]] == [at for at, _ in expected["/cam"]][:5]
    assert main(["convert", *parts, "-o", str(tmp_path / "again"), "--topics", "/way"]) == 0
    assert stored(tmp_path / "again") == {"/way": expected["/way"]}
    capsys.readouterr()
    assert main(["info", *parts, "--json"]) == 0
    counts = {stream["topic"]: stream["count"] for stream in json.loads(capsys.readouterr().out)["streams"]}
    assert (counts["/words"], counts["/cam"]) == (COUNT, 5)
    assert main(["convert", str(whole), str(other), "-o", str(tmp_path / "mixed")]) == 0
    assert len(stored(tmp_path / "mixed")["/words"]) == 2 * COUNT


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["BAG", "BAG", "OUT.bag"], "a bag of ROS 2 is a folder; names that end in .bag are for ROS 1"),
        (["BAG", "FOLDER", "OUT"], "several bags are taken as one, and this is none"),
        (["BAG", "BAG", "BAG", "--overwrite"], "name the new one by -o OUT"),
        (["BAG"], "the following arguments are required: OUT"),
    ],
)
def test_bags_that_cannot_be_one_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "folder").mkdir()
    bag = write_ros2(tmp_path / "bag")
    before = stored(bag)
    positions = {"BAG": str(bag), "FOLDER": str(tmp_path / "folder"), "OUT": str(tmp_path / "out")}
    with pytest.raises(SystemExit):
        main(["convert", *(positions.get(word, word.replace("OUT", positions["OUT"])) for word in arguments)])
    assert message in capsys.readouterr().err
    assert stored(bag) == before and not (tmp_path / "out").exists()


def test_rate_of_topic_is_its_messages_over_recording(tmp_path: Path, capsys: Output) -> None:
    """Ten messages in a burst are no topic of 1000 Hz; what comes all the time has the rate at which it does."""
    bag = tmp_path / "bag"
    with BagWriter(bag) as writer:
        for topic, step_ns, count in (("/burst", 10**6, 10), ("/steady", 10**8, 101)):
            number = writer.add_channel(channel_of_type(topic, "std_msgs/msg/UInt32"))
            data = MessageBlock.of_messages([bytes((0, 1, 0, 0, 1, 0, 0, 0))] * count)
            writer.write(messages_of_channel(number, START_NS + np.arange(count) * step_ns, data))
    assert main(["info", str(bag), "--json"]) == 0
    rates = {one["topic"]: one["rate_hz"] for one in json.loads(capsys.readouterr().out)["streams"]}
    assert rates == {"/burst": 1.0, "/steady": 10.0}


def test_poses_of_files_have_no_frames_to_name(tmp_path: Path, capsys: Output) -> None:
    for name in ("estimate", "truth"):
        lines = (f"{1700000000 + row} {row} 0 0 0 0 0 1" for row in range(20))
        (tmp_path / f"{name}.tum").write_text("\n".join(lines) + "\n")
    assert main(["evaluate", str(tmp_path / "estimate.tum"), str(tmp_path / "truth.tum")]) == 0
    out = capsys.readouterr().out
    assert "frames without names; alignment" in out and "?" not in out


def test_bags_without_definitions_are_read_as_distribution_that_they_are_of(tmp_path: Path, capsys: Output) -> None:
    """As of Humble and Galactic: the messages themselves tell, by where they end."""
    bag = tmp_path / "bag"
    with Writer(bag, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for distribution, topic in ((Stores.ROS2_HUMBLE, "/older"), (Stores.ROS2_JAZZY, "/newer")):
            store = get_typestore(distribution)
            types, connection = store.types, writer.add_connection(topic, RANGE, typestore=store)
            header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 0), "front")
            later = [0.125] if topic == "/newer" else []
            message = types[RANGE](header, 1, 0.5, 0.25, 8.0, 2.5, *later)
            for row in range(3):
                writer.write(connection, START_NS + row, store.serialize_cdr(message, RANGE))
    forget_definitions(bag)
    assert main(["check", str(bag)]) == 0
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    assert "/older: sensor_msgs/msg/Range is that of an older ROS 2" in capsys.readouterr().err
    with AnyReader([tmp_path / "out"]) as reader:
        by_name = {c.topic: reader.deserialize(data, RANGE).variance for c, _, data in reader.messages()}
    assert by_name == {"/older": 0.0, "/newer": 0.125}


def test_fields_that_no_layout_knows_are_no_issue(tmp_path: Path, capsys: Output) -> None:
    """Texts of wide characters pass through; that they are not gone through makes them no damage."""
    bag = tmp_path / "bag"
    with BagWriter(bag) as writer:
        channel = Channel(topic="/wide", msgtype="my_robot/msg/Wide", msgdef="wstring text\n", type_hash="")
        number = writer.add_channel(channel)
        data = bytes((0, 1, 0, 0)) + struct.pack("<I", 2) + "ab".encode("utf-16-le")
        writer.write(messages_of_channel(number, np.array([START_NS]), MessageBlock.of_messages([data])))
    assert main(["check", str(bag)]) == 0
