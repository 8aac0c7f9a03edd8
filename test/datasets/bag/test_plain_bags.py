"""Bags of no dataset, as others write them: converted, cut, renamed, damaged; their bytes stay as they are."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader

import fieldplay
from fieldplay.cli.main import main
from support.foreign_bags import (
    COUNT,
    GEAR,
    PICTURE_EVERY,
    START_NS,
    STEP_NS,
    store_with_gears,
    stored,
    write_ros1,
    write_ros2,
)
from support.sampled import Sampled


@pytest.mark.parametrize(
    ("plugin", "compression", "storage"),
    [("mcap", "", "sqlite3"), ("sqlite3", "", "mcap"), ("sqlite3", "message", "mcap"), ("sqlite3", "file", "mcap")],
)
def test_bag_changes_its_storage_and_no_byte(plugin: str, compression: str, storage: str, tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag", plugin=plugin, compression=compression)
    assert main(["convert", str(bag), str(tmp_path / "out"), "--storage", storage]) == 0
    assert stored(tmp_path / "out") == stored(bag)
    with AnyReader([tmp_path / "out"]) as reader:
        by_name = {connection.topic: connection for connection in reader.connections}
        (gear,), (static,), (text,) = (
            by_name[name].ext.offered_qos_profiles for name in ("/gear", "/tf_static", "/words")
        )
        assert (gear.reliability.name, gear.depth, text.reliability.name) == ("BEST_EFFORT", 7, "RELIABLE")
        assert (static.durability.name, static.depth) == ("TRANSIENT_LOCAL", 2)  # one publisher for the two there were
        assert by_name["/gear"].digest == store_with_gears("ros2").hash_rihs01(GEAR)
        last = reader.deserialize(stored(bag)["/gear"][-1][1], GEAR)
        assert last.who == "x" * (COUNT - 1) and last.first.size == COUNT - 1


def test_bag_is_cut_and_renamed_and_keeps_its_static_transforms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, out = write_ros2(tmp_path / "bag"), tmp_path / "out"
    window = ["--start", "2", "--duration", "1.5"]
    assert main(["convert", str(bag), str(out), "--namespace", "mine", "--topics", "gear|tf_static", *window]) == 0
    first, last = START_NS + 2 * 10**9, START_NS + round(3.5 * 10**9)
    whole, result = stored(bag), stored(out)
    assert set(result) == {"/mine/gear", "/tf_static"}
    assert result["/mine/gear"] == [(at, data) for at, data in whole["/gear"] if first <= at <= last]
    assert result["/tf_static"] == [(first, data) for _, data in whole["/tf_static"]]
    assert f"{out}: 33 messages on 2 topics" in capsys.readouterr().out


def test_bag_without_metadata_that_is_cut_off_is_read_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_ros2(tmp_path / "bag")
    (bag / "metadata.yaml").unlink()
    (storage,) = bag.glob("*.mcap")
    whole = storage.read_bytes()
    storage.write_bytes(whole[: len(whole) // 2])
    assert main(["convert", str(storage), str(tmp_path / "out")]) == 0
    assert f"{storage.name}: the file was cut off" in capsys.readouterr().err
    result = stored(tmp_path / "out")
    assert 0 < len(result["/words"]) < COUNT
    assert result["/gear"][3][0] == START_NS + 3 * STEP_NS
    assert main(["convert", str(storage), str(tmp_path / "strict"), "--strict"]) == 1
    assert not (tmp_path / "strict").exists()


def test_parts_of_bag_are_one(tmp_path: Path) -> None:
    bag, parts = write_ros2(tmp_path / "bag"), tmp_path / "parts"
    parts.mkdir()
    for number, start in enumerate(("0", "2.5")):
        out = tmp_path / f"part{number}"
        assert (
            main(["convert", str(bag), str(out), "--start", start, "--duration", "2.45", "--topics", "words|cam"]) == 0
        )
        shutil.copy(next(out.glob("*.mcap")), parts / f"bag_{number}.mcap")
    assert main(["convert", str(parts), str(tmp_path / "out")]) == 0
    whole = stored(bag)
    assert stored(tmp_path / "out") == {name: whole[name] for name in ("/words", "/cam")}
    assert len(whole["/cam"]) == COUNT // PICTURE_EVERY


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--derived"], "--derived is computed of an archive of a dataset"),
        (["--frame-prefix", "x"], "--frame-prefix is for archives of a dataset"),
        (["--images", "raw"], "--images is for archives of a dataset"),
        (["--set", "a=1"], "bag has no parameter"),
        (["--start", "5"], "start: expected less than the 4.950 s of the bag, got 5 s"),
        (["--tf", "nav_tf"], "there are: none"),
    ],
)
def test_what_bag_cannot_do_is_reported(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_ros2(tmp_path / "bag")
    with pytest.raises(SystemExit):
        main(["convert", str(bag), str(tmp_path / "out"), *options])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_topic_that_is_not_there_is_reported_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_ros2(tmp_path / "bag")
    assert main(["convert", str(bag), str(tmp_path / "out"), "--topics", "lidar"]) == 1
    assert (
        "no topic matches 'lidar'; there are /cam, /gear, /tf_static, /truth, /way, /words" in capsys.readouterr().err
    )


def test_broken_bag_reports_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.mcap"
    path.write_bytes(b"no bag at all")
    assert main(["convert", str(path), str(tmp_path / "out")]) == 1
    message = "expected an MCAP or SQLite file of a bag, got a file that starts with b'no bag at all'"
    assert message in capsys.readouterr().err


def test_bag_of_ros_1_becomes_one_of_ros_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, out = write_ros1(tmp_path / "robot.bag"), tmp_path / "out"
    assert main(["convert", str(bag), str(out)]) == 0
    errors = capsys.readouterr().err
    assert "/place: 1 message of sensor_msgs/msg/NavSatFix left out: ROS 2 has another sensor_msgs/msg/N" in errors
    assert "/near: sensor_msgs/msg/Range has fields that ROS 1 lacks" in errors
    actual, expected = stored(out), stored(write_ros2(tmp_path / "bag"))
    assert {name: actual[name] for name in expected} == expected
    assert set(actual) - set(expected) == {"/near"}
    with AnyReader([out]) as reader:
        near = reader.deserialize(actual["/near"][0][1], "sensor_msgs/msg/Range")
        assert (near.header.frame_id, near.range, near.variance) == ("base", 2.5, 0.0)
        (static,) = (c.ext.offered_qos_profiles[0] for c in reader.connections if c.topic == "/tf_static")
        assert static.durability.name == "TRANSIENT_LOCAL"
        (gear,) = (connection for connection in reader.connections if connection.topic == "/gear")
        assert gear.digest == store_with_gears("ros2").hash_rihs01(GEAR)


def test_bag_of_ros_1_that_is_cut_off_gives_what_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_ros1(tmp_path / "robot.bag")
    whole = bag.read_bytes()
    bag.write_bytes(whole[: len(whole) * 2 // 3])
    assert main(["check", str(bag)]) == 1
    assert "unindexed_bag: robot.bag: expected a bag with an index at its end" in capsys.readouterr().out
    assert main(["info", str(bag)]) == 0
    assert f"{bag}: a bag of ROS 1" in capsys.readouterr().out
    assert main(["convert", str(bag), str(tmp_path / "out")]) == 0
    actual, expected = stored(tmp_path / "out"), stored(write_ros2(tmp_path / "bag"))
    assert 0 < len(actual["/words"]) < COUNT and actual["/words"] == expected["/words"][: len(actual["/words"])]


def test_what_is_called_bag_of_ros_1_and_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = tmp_path / "robot.bag"
    bag.write_bytes(b"no bag at all")
    for command in (["info"], ["check"], ["convert"]):
        assert main([*command, str(bag), *([str(tmp_path / "out")] if command == ["convert"] else [])]) in (1, 2)
        assert "robot.bag: expected a bag of ROS 1 that starts with" in "".join(capsys.readouterr())


@pytest.mark.parametrize("write", [write_ros1, write_ros2])
def test_python_reads_any_bag(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path / "robot.bag")
    with fieldplay.open(path) as data:
        assert data.topics["/gear"].count == COUNT and data.topics["/gear"].type == GEAR
        assert [edge.child for edge in data.tf_static] == ["child0", "child1"]
        shades = [int(pixels[0, 0, 0]) for _, pixels in data.images("cam", start=1.0, duration=1.0)]
        assert shades == [20, 30, 40]
        whole = [(message.stamp_ns, message.data) for message in data.messages("gear")]
        assert data.to_bag(tmp_path / "out", fieldplay.Selection(topics="gear", duration_s=1.0)).counts.tolist() == [21]
        assert stored(tmp_path / "out") == {"/gear": whole[:21]}
        assert [defect.kind for defect in data.check()] == (["unconvertible_type"] if write is write_ros1 else [])


@pytest.mark.parametrize("write", [write_ros1, write_ros2])
def test_page_and_evaluation_take_any_bag(
    write: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write(tmp_path / "robot.bag")
    assert main(["report", str(bag), str(tmp_path / "page.html")]) == 0
    assert "bag of ROS 1" in (tmp_path / "page.html").read_text() or write is write_ros2
    assert main(["evaluate", str(bag), "way", "truth", "--json"]) == 0
    out = capsys.readouterr().out
    result = json.loads(out[out.index("{") :])
    assert result["pairs"] == COUNT and result["truth"]["topic"] == "/truth"
    assert result["errors"][0]["rmse"] == pytest.approx(0.0, abs=1e-9)


def test_bag_of_dataset_can_be_had_as_plain_one(sampled_ameds: Sampled, tmp_path: Path) -> None:
    with fieldplay.open(sampled_ameds.bag) as data:
        data.to_bag(tmp_path / "out", fieldplay.Selection(topics="imu", start_s=1.0, duration_s=1.0))
        expected = [message.data for message in data.messages("imu/data", start=1.0, duration=1.0)]
    assert [data for _, data in stored(tmp_path / "out")["/ameds/imu/data"]] == expected
