"""`fieldplay export`: what is read back of the files is what the messages hold."""

import json
import math
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
from kiss_icp.datasets.kitti import KITTIOdometryDataset

from fieldplay.cli.main import main
from fieldplay.core.errors import ArchiveError
from fieldplay.export import files
from fieldplay.io.pcd import cloud_from_pcd, pcd_from_cloud
from fieldplay.io.ply import ply_from_cloud
from fieldplay.messages.point_clouds import rows_of_cloud
from fieldplay.messages.records import Pixels
from fieldplay_testing.tiny_sherpatt import write_archive
from support.bag_messages import messages_of_bag
from support.foreign_bags import write_ros1
from support.read_back import cells_of_message
from support.tiny_rosario import TinyRosario

Export = Callable[..., dict[str, dict[str, Any]]]
BYTES, TF = {"data"}, "tf2_msgs/msg/TFMessage"


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Exports into tmp_path / OUT; what topics.json tells, by topic."""

    def run(archive: Path, out: str, *arguments: str) -> dict[str, dict[str, Any]]:
        assert main(["export", str(archive), str(tmp_path / out), *arguments]) == 0
        return {each["topic"]: each for each in json.loads((tmp_path / out / "topics.json").read_text())}

    return run


@pytest.fixture(scope="module")
def sherpatt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("logs") / "sherpatt")


def transforms_of(log_ns: int, message: Any) -> list[dict[str, Any]]:
    """The rows that the transforms of a message become."""
    return [
        {
            "log_time_ns": log_ns,
            "stamp_ns": one.header.stamp.sec * 10**9 + one.header.stamp.nanosec,
            "parent": one.header.frame_id,
            "child": one.child_frame_id,
            **{axis: getattr(one.transform.translation, axis) for axis in "xyz"},
            **{f"q{axis}": getattr(one.transform.rotation, axis) for axis in "xyzw"},
        }
        for one in message.transforms
    ]


def is_same(result: Any, value: Any) -> bool:
    """Whether a cell is a field's value; texts stand in JSON for numbers that it has not."""
    if isinstance(value, list):
        return len(result) == len(value) and all(map(is_same, result, value))
    if isinstance(value, dict):
        return bool(result.keys() == value.keys()) and all(is_same(result[name], value[name]) for name in value)
    if isinstance(value, float) and not math.isfinite(value):
        return float(result) == value or (math.isnan(float(result)) and math.isnan(value))
    return bool(result == value or (isinstance(value, float) and np.float32(result) == np.float32(value)))


@pytest.mark.parametrize("name", ["ameds", "sherpatt", "ros1"])
def test_tables_hold_every_field_of_every_message(
    name: str, few_images: Path, sherpatt: Path, tmp_path: Path, export: Export
) -> None:
    derived = [] if name == "ros1" else ["--derived"]
    archive = {"ameds": few_images, "sherpatt": sherpatt}.get(name) or write_ros1(tmp_path / "bag.bag")
    assert main(["convert", str(archive), str(tmp_path / "bag"), *derived]) == 0
    expected = messages_of_bag(tmp_path / "bag")
    topics = export(archive, "out", "--format", "parquet", *derived)
    assert {topic for topic, output in topics.items() if "count" in output} == expected.keys()
    for topic, output in topics.items():
        rows = pl.read_parquet(tmp_path / "out" / output["path"]).to_dicts()
        if output["type"] == TF:
            assert rows == [row for log_ns, message in expected[topic] for row in transforms_of(log_ns, message)]
            assert output["count"] == len(rows)
            continue
        assert output.get("count", 0) == len(rows)
        without = BYTES if "note" in output else set()
        for row, (log_ns, message) in zip(rows, expected.get(topic, []), strict=True):
            cells = {field: value for field, value in cells_of_message(message) if field not in without}
            assert (row.pop("log_time_ns"), list(row)) == (log_ns, list(cells))
            for field, value in cells.items():
                is_json = isinstance(value, list) and isinstance(row[field], str)
                assert is_same(json.loads(row[field]) if is_json else row[field], value), (topic, field)


def test_csv_has_same_values_and_lists_become_columns(few_images: Path, tmp_path: Path, export: Export) -> None:
    for form in ("csv", "parquet"):
        arguments = ["--format", form, "--topics", "imu/data_raw|main_arm/joint", "--lists", "position,name"]
        topics = export(few_images, form, *arguments)
        assert list(topics) == ["/ameds/imu/data_raw", "/ameds/main_arm/joint_states"]
    units = topics["/ameds/imu/data_raw"]["units"]
    assert [units[name] for name in ("log_time_ns", "header.stamp", "angular_velocity.x")] == ["ns", "ns", "rad/s"]
    for message in topics.values():
        table = pl.read_parquet(tmp_path / "parquet" / message["path"])
        text = pl.read_csv(tmp_path / "csv" / message["path"].replace(".parquet", ".csv"))
        assert (text.columns, list(message["units"])) == (table.columns, table.columns)
        for name in table.columns:
            lists = isinstance(table.schema[name], pl.List)
            result = [json.loads(cell) for cell in text[name]] if lists else text[name].to_list()
            assert is_same([cell or "" for cell in result], [cell or "" for cell in table[name].to_list()])
    joints = pl.read_parquet(tmp_path / "parquet" / topics["/ameds/main_arm/joint_states"]["path"])
    assert joints["name.6"].to_list() == ["main_arm_joint_7"] * len(joints)
    assert topics["/ameds/main_arm/joint_states"]["units"]["position.6"] == "rad or m"
    facts = pl.read_parquet_metadata(tmp_path / "parquet" / topics["/ameds/imu/data_raw"]["path"])
    assert (facts["type"], json.loads(facts["units"])["linear_acceleration.z"]) == ("sensor_msgs/msg/Imu", "m/s2")


def test_tables_parsed_by_several_processes_give_same_files(tmp_path: Path, export: Export) -> None:
    rosario = TinyRosario(tmp_path / "sequence01", seconds=2)
    rosario.write_all()
    export(rosario.root, "1", "--format", "csv")
    arguments = ["export", str(rosario.root), str(tmp_path / "2"), "--format", "csv", "--jobs", "2"]
    subprocess.run(
        ["fieldplay", *arguments], check=True, capture_output=True
    )  # anew: only without threads it can divide
    alone = {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "2").iterdir()} == alone
    assert len(alone) > 5


def test_window_and_lists_of_messages(few_images: Path, tmp_path: Path, export: Export) -> None:
    arguments = ["--format", "csv", "--topics", "^/tf$|gnss/odom", "--lists", "transforms", "--start", "0.5"]
    topics = export(few_images, "out", *arguments, "--duration", "0.25")
    table = pl.read_csv(tmp_path / "out" / topics["/tf"]["path"])
    assert "transforms.0.transform.translation.x" in table.columns
    times = pl.read_csv(tmp_path / "out" / topics["/ameds/gnss/odom"]["path"])["log_time_ns"]
    assert 0 < times[-1] - times[0] <= 250_000_000


def test_images_are_files_of_archive_or_hold_same_pixels(
    few_images: Path, sherpatt: Path, tmp_path: Path, export: Export
) -> None:
    (output, *_) = export(few_images, "ameds", "--format", "images", "--topics", "main_cam/image").values()
    (root,) = few_images.iterdir()
    originals = sorted(path.read_bytes() for path in root.glob("MainCam_*.jpg"))
    folder = tmp_path / "ameds" / output["path"]
    assert sorted(path.read_bytes() for path in folder.glob("*.jpg")) == originals
    listed = pl.read_csv(folder / "times.csv")
    assert listed["file"].to_list() == [f"{stamp}.jpg" for stamp in listed["stamp_ns"]]
    assert main(["convert", str(sherpatt), str(tmp_path / "bag")]) == 0
    expected = messages_of_bag(tmp_path / "bag")
    topics = export(tmp_path / "bag", "sherpatt", "--format", "images")
    assert topics.keys() == {"/sherpatt/stereo/left/image_raw", "/sherpatt/stereo/right/image_raw"}
    for topic, output in topics.items():
        for _, message in expected[topic]:
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            actual = cv2.imread(str(tmp_path / "sherpatt" / output["path"] / f"{stamp}.png"), cv2.IMREAD_UNCHANGED)
            assert actual is not None
            assert actual.tobytes() == message.data.tobytes()


@pytest.mark.parametrize(("encoding", "kind", "suffix"), [("16UC1", "<u2", ".png"), ("32FC1", ">f4", ".tiff")])
def test_depths_keep_their_numbers(encoding: str, kind: str, suffix: str) -> None:
    values = np.arange(0, 60, 5).reshape(3, 4).astype(kind)
    pixels = Pixels(height=3, width=4, encoding=encoding, step=4 * values.itemsize, data=values.tobytes(),
                    is_bigendian=kind.startswith(">"))  # fmt: skip
    data, other_pixels = files._other_pixels(pixels)
    assert other_pixels == suffix
    read = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert (np.asarray(read) == values).all()


def test_clouds_have_all_their_fields(few_images: Path, tmp_path: Path, export: Export) -> None:
    assert main(["convert", str(few_images), str(tmp_path / "bag"), "--topics", "lidar"]) == 0
    ((topic, output),) = export(few_images, "out", "--format", "pcd").items()
    messages = messages_of_bag(tmp_path / "bag")[topic]
    assert len(messages) == output["count"] == 10
    for log_ns, message in messages:
        actual = cloud_from_pcd((tmp_path / "out" / output["path"] / f"{log_ns}.pcd").read_bytes())
        expected = rows_of_cloud(message)
        assert actual.dtype.names == expected.dtype.names
        assert all((actual[name] == expected[name]).all() for name in actual.dtype.names or ())


def test_ply_files_hold_every_number_of_clouds(few_images: Path, tmp_path: Path, export: Export) -> None:
    (message,) = export(few_images, "pcd", "--format", "pcd").values()
    assert export(few_images, "ply", "--format", "ply").popitem()[1]["count"] == message["count"] == 10
    for path in (tmp_path / "pcd" / message["path"]).glob("*.pcd"):
        expected = cloud_from_pcd(path.read_bytes())
        data = (tmp_path / "ply" / message["path"] / f"{path.stem}.ply").read_bytes()
        assert_ply(data, expected)


def assert_ply(data: bytes, expected: np.ndarray) -> None:
    """The file by its own header."""
    head, body = data.split(b"end_header\n", 1)
    first, *lines = head.decode().splitlines()
    assert (first, lines[:2]) == ("ply", ["format binary_little_endian 1.0", f"element vertex {len(expected)}"])
    sizes = {"double": "<f8", "float": "<f4", "int": "<i4", "ushort": "<u2", "uchar": "u1"}
    actual = np.frombuffer(body, [(name, sizes[kind]) for _, kind, name in map(str.split, lines[2:])])
    assert actual.dtype == expected.dtype
    assert actual.tobytes() == expected.tobytes()


def test_ply_file_has_property_for_each_number_and_refuses_what_it_cannot_hold() -> None:
    cloud = np.array([(1.5, [7, 8])], [("x", ">f8"), ("feature", "<u2", 2)])
    flat = np.array([(1.5, 7, 8)], [("x", "<f8"), ("feature_0", "<u2"), ("feature_1", "<u2")])
    assert_ply(ply_from_cloud(cloud), flat)
    with pytest.raises(ArchiveError, match=r"t: expected numbers that a PLY file can hold .*, got int64"):
        ply_from_cloud(np.zeros(2, [("x", "<f4"), ("t", "<i8")]))


def test_pcd_file_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(ArchiveError, match="numbers that a PCD file can hold"):
        pcd_from_cloud(np.zeros(2, [("x", "<f4"), ("name", "S3")]))


def test_kitti_folder_opens_in_kiss_icp(few_images: Path, tmp_path: Path, export: Export) -> None:
    assert main(["convert", str(few_images), str(tmp_path / "bag"), "--topics", "lidar"]) == 0
    ((topic, output),) = export(few_images, "out", "--format", "kitti").items()
    assert output["path"] == "sequences/00"
    assert output["note"] == "true poses of /ameds/gnss/odom"
    dataset = KITTIOdometryDataset(str(tmp_path / "out"), "0")
    messages = messages_of_bag(tmp_path / "bag")[topic]
    assert len(dataset) == len(dataset.gt_poses) == len(messages)
    stamps = [float(text) for text in (tmp_path / "out" / output["path"] / "times.txt").read_text().split()]
    assert dataset.get_frames_timestamps()[:, 0].tolist() == stamps == [log_ns / 1e9 for log_ns, _ in messages]
    for file, (_, message) in zip(dataset.scan_files, messages, strict=True):
        points, scan = rows_of_cloud(message), np.fromfile(file, np.float32).reshape(-1, 4)
        assert all((scan[:, index] == points[name]).all() for index, name in enumerate(["x", "y", "z", "intensity"]))
    points, times = dataset[3]
    assert points.shape == (len(rows_of_cloud(messages[3][1])), 3)
    assert not len(times)
    assert np.abs(dataset.gt_poses[0] - np.eye(4)).max() < 1e-9
    moved = dataset.apply_calibration(dataset.gt_poses)
    assert np.abs(moved - dataset.gt_poses).max() < 1e-9
    without = export(few_images, "without", "--format", "kitti", "--poses", "none")
    assert without[topic]["path"] == "sequences/11"


def test_trajectories_are_those_of_messages(few_images: Path, tmp_path: Path, export: Export) -> None:
    topics = export(few_images, "out", "--format", "tum", "--topics", "gnss/odom")
    assert main(["convert", str(few_images), str(tmp_path / "bag"), "--topics", "gnss/odom"]) == 0
    (messages,) = (own for topic, own in messages_of_bag(tmp_path / "bag").items() if topic in topics)
    lines = (tmp_path / "out" / topics["/ameds/gnss/odom"]["path"]).read_text().splitlines()
    assert [int(line.split()[0].replace(".", "")) for line in lines] == [log_ns for log_ns, _ in messages]
    for line, (_, message) in zip(lines, messages, strict=True):
        pose = message.pose.pose
        position = [getattr(pose.position, axis) for axis in "xyz"]
        turn = np.array([getattr(pose.orientation, axis) for axis in "xyzw"])
        values = np.array(line.split()[1:], float)
        assert np.abs(values[:3] - position).max() < 1e-8
        assert min(np.abs(values[3:] - turn).max(), np.abs(values[3:] + turn).max()) < 1e-8


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--format", "xlsx"], 2, "invalid choice"),
        (["--format", "tum", "--lists", "position"], 2, "--lists is for --format csv and parquet"),
        (["--format", "pcd", "--poses", "none"], 2, "--poses is for --format kitti"),
        (["--format", "csv", "--topics", "imu/data_raw", "--lists", "nope"], 2, "there is no list nope; there are"),
        (["--format", "pcd", "--topics", "imu"], 1, "no topic of point clouds that matches 'imu'"),
    ],
)
def test_what_cannot_be_leaves_nothing(
    arguments: list[str], code: int, message: str, few_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        result = main(["export", str(few_images), str(tmp_path / "out"), *arguments])
    except SystemExit as end:
        result = int(end.code or 0)
    assert (result, message in capsys.readouterr().err) == (code, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["csv", "parquet", "images"])
def test_interrupt_leaves_nothing(form: str, few_images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("fieldplay.export.table_file._frame", interrupted)
    monkeypatch.setattr("fieldplay.export.files._free_name", interrupted)
    assert main(["export", str(few_images), str(tmp_path / "out"), "--format", form]) == 130
    assert not list(tmp_path.iterdir())
