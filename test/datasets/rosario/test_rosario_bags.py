"""The authors' bags of a Rosario sequence: the topics, frames and numbers of the raw folder, in whatever form."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support import tiny_rosario as tiny
from support.archive_messages import (
    Messages,
    messages_of,
    notes_of,
    xyz,
    xyzw,
)
from support.tiny_rosario import TinyRosario
from support.tiny_rosario_bag import (
    OLDER,
    RECTIFIED,
    TRANSFORMS,
    TinyBag,
)

START_NS = tiny.START * 10**9
SHORT = TinyBag(seconds=1, compression="lz4")
NUMBERS = Selection(topics="imu|gps|odom")
FRAMES = {"left": "left_camera", "right": "right_camera"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag without compression that no test changes."""
    path = tmp_path_factory.mktemp("bag") / "sequence01.bag"
    TinyBag(foreign=True).write(path)
    return path


@pytest.fixture(scope="module")
def messages(whole: Path) -> Messages:
    return messages_of(whole)


def bag_in(folder: Path, bag: TinyBag = SHORT, name: str = "sequence01.bag") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    bag.write(folder / name)
    return folder / name


def counts_of(messages: Messages) -> dict[str, int]:
    return {topic: len(result) for topic, result in messages.items()}


def same(one: Any, other: Any) -> bool:
    """Whether two messages of rosbags hold the same."""
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def assert_same(actual: Messages, expected: Messages) -> None:
    assert counts_of(actual) == counts_of(expected)
    for topic, rows in expected.items():
        for (stamp, one), (other_stamp, other) in zip(actual[topic], rows, strict=True):
            assert stamp == other_stamp
            assert same(one, other), topic


def test_bag_has_topics_of_dataset_and_no_wheels(messages: Messages) -> None:
    cameras = [f"stereo/{camera}/{topic}" for camera in FRAMES for topic in ("camera_info", "image_raw")]
    expected = {"/tf_static": 1, "imu/data_raw": 280, "gps/fix": 10, "gps/velocity": 10, "odom_archived": 20, "/tf": 20}
    assert counts_of(messages) == expected | dict.fromkeys(cameras, 30)


def test_bag_and_raw_folder_give_same(messages: Messages, tmp_path: Path) -> None:
    archive = TinyRosario(tmp_path / "sequence01")
    archive.write_all()
    raw = messages_of(archive.root, Selection(images="raw"))
    for topic in set(raw) & set(messages) - {"/tf_static"}:
        assert [stamp for stamp, _ in raw[topic]] == [stamp for stamp, _ in messages[topic]]
        assert [m.header.frame_id for _, m in raw[topic]] == [m.header.frame_id for _, m in messages[topic]]
    for (_, one), (_, other) in zip(raw["imu/data_raw"], messages["imu/data_raw"], strict=True):
        np.testing.assert_allclose(xyz(one.angular_velocity), xyz(other.angular_velocity), atol=1e-12)
        np.testing.assert_allclose(xyz(one.linear_acceleration), xyz(other.linear_acceleration), atol=1e-12)
        assert same(one.orientation_covariance, other.orientation_covariance)
    for (_, one), (_, other) in zip(raw["gps/fix"], messages["gps/fix"], strict=True):
        position, expected = [[m.latitude, m.longitude, m.altitude] for m in (one, other)]
        np.testing.assert_allclose(position, expected, atol=1e-8)
        assert one.status.status == other.status.status
    for camera in FRAMES:
        for (_, one), (_, other) in zip(
            raw[f"stereo/{camera}/image_raw"], messages[f"stereo/{camera}/image_raw"], strict=True
        ):
            assert same(one, other)
        info, expected = (actual[f"stereo/{camera}/camera_info"][0][1] for actual in (raw, messages))
        np.testing.assert_allclose(info.p, expected.p, atol=0.01)
        assert same(info.k, expected.k) and same(info.d, expected.d)
    assert xyz(raw["gps/velocity"][0][1].twist.linear) == pytest.approx(
        xyz(messages["gps/velocity"][0][1].twist.linear), abs=1e-5
    )


def test_images_have_frame_that_is_in_tree(messages: Messages) -> None:
    for camera, frame in FRAMES.items():
        for topic in ("image_raw", "camera_info"):
            assert {m.header.frame_id for _, m in messages[f"stereo/{camera}/{topic}"]} == {frame}


def test_repeated_transforms_are_one_message_with_our_names(messages: Messages) -> None:
    ((stamp, message),) = messages["/tf_static"]
    assert stamp == START_NS
    by_name = {(item.header.frame_id, item.child_frame_id): item.transform for item in message.transforms}
    assert len(by_name) == len(TRANSFORMS)
    for parent, child, translation, quaternion in TRANSFORMS:
        transform = by_name[parent, FRAMES.get(child, child)]
        np.testing.assert_allclose(xyz(transform.translation), translation, atol=1e-9)
        error = Rotation.from_quat(xyzw(transform.rotation)) * Rotation.from_quat(quaternion).inv()
        assert error.magnitude() < 1e-8


@pytest.mark.parametrize("twist", ["global", "body"])
def test_archived_odometry_s_twist_lies_in_base_link(tmp_path: Path, twist: str) -> None:
    path = bag_in(tmp_path, replace(SHORT, twist=twist))
    messages = messages_of(path, NUMBERS)["odom_archived"]
    for (x, y, heading, v, w), (_, message) in zip(tiny.POSES, messages, strict=False):
        assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_link")
        np.testing.assert_allclose(xyz(message.twist.twist.linear), [v, 0, 0], atol=1e-9)
        np.testing.assert_allclose(xyz(message.pose.pose.position), [x, y, 0], atol=1e-12)
        assert message.twist.twist.angular.z == w
        turned = Rotation.from_quat(xyzw(message.pose.pose.orientation)).as_euler("xyz")[2]
        assert turned == pytest.approx(heading, abs=1e-12)


def test_archived_odometry_positions_robot_and_has_path(whole: Path) -> None:
    messages = messages_of(whole, Selection(derived=True, topics="odom_archived|tf|path"))
    for (stamp, message), (other_stamp, odometry) in zip(messages["/tf"], messages["odom_archived"], strict=True):
        (transform,) = message.transforms
        assert stamp == other_stamp
        assert (transform.header.frame_id, transform.child_frame_id) == ("odom", "base_link")
        assert xyz(transform.transform.translation) == xyz(odometry.pose.pose.position)
    assert [path.header.frame_id for _, path in messages["path"]] == ["odom"]


def test_archived_odometry_can_be_kept_off_tf(whole: Path) -> None:
    messages = messages_of(whole, Selection(topics="odom_archived|tf", tf={"archived_tf": False}))
    assert "/tf" not in messages and len(messages["odom_archived"]) == 20


def test_how_twist_is_meant_can_be_reported(tmp_path: Path) -> None:
    path = bag_in(tmp_path)
    message = messages_of(path, NUMBERS, odom_twist="body")["odom_archived"][4][1]
    heading, v = tiny.POSES[4][2:4]
    np.testing.assert_allclose(xyz(message.twist.twist.linear), [v * np.cos(heading), v * np.sin(heading), 0])


def test_fix_has_archived_covariance_or_one_by_its_status(whole: Path) -> None:
    by_kind = messages_of(whole, NUMBERS)["gps/fix"][0][1]
    np.testing.assert_allclose(by_kind.position_covariance[[0, 4, 8]], np.array([1, 1, 4]) * (0.3 * 0.9) ** 2)
    archived = messages_of(whole, NUMBERS, fix_covariance="hdop")["gps/fix"][0][1]
    np.testing.assert_allclose(archived.position_covariance[[0, 4, 8]], [0.81, 0.81, 3.24])
    assert by_kind.position_covariance_type == archived.position_covariance_type == 1


@pytest.mark.parametrize("rectified", [RECTIFIED, OLDER], ids=["present", "older"])
def test_camera_info_of_both_generations_is_passed_on(tmp_path: Path, rectified: dict[str, Any]) -> None:
    path = bag_in(tmp_path, replace(SHORT, rectified=rectified))
    messages = messages_of(path, Selection(topics="camera_info"))
    for camera in FRAMES:
        info = messages[f"stereo/{camera}/camera_info"][3][1]
        shift = rectified["shift"] if camera == "right" else 0
        assert info.p.tolist() == [
            rectified["f"],
            0,
            rectified["cx"],
            shift,
            0,
            rectified["f"],
            rectified["cy"],
            0,
            0,
            0,
            1,
            0,
        ]
        assert info.r.tolist() == rectified[camera]
    right = messages["stereo/right/camera_info"][0][1]
    assert -right.p[3] / right.p[0] == pytest.approx(0.118718648, abs=1e-8)


def test_foreign_topics_are_ignored_with_note(whole: Path) -> None:
    expected = "topics that are not of the dataset, which are not read: /chatter (3)"
    assert expected in notes_of(whole)


@pytest.mark.parametrize("compression", ["", "bz2", "lz4"])
def test_compressed_chunks_give_same_in_order_of_time(tmp_path: Path, compression: str) -> None:
    messages = messages_of(bag_in(tmp_path, replace(SHORT, compression=compression, chunk_bytes=50_000)))
    assert_same(messages, messages_of(bag_in(tmp_path / "other")))
    for rows in messages.values():
        assert [stamp for stamp, _ in rows] == sorted(stamp for stamp, _ in rows)


@pytest.mark.parametrize("parameters", ["the folder", "the first part", "another part"])
def test_parts_of_bag_are_read_as_one(tmp_path: Path, parameters: str) -> None:
    path = bag_in(tmp_path)
    expected = messages_of(path)
    data = path.read_bytes()
    path.unlink()
    size = len(data) // 3 + 1
    for index in range(3):
        (tmp_path / f"sequence01.bag.{index:02d}").write_bytes(data[index * size : (index + 1) * size])
    names = {"the folder": ".", "the first part": "sequence01.bag.00", "another part": "sequence01.bag.02"}
    assert_same(messages_of(tmp_path / names[parameters]), expected)


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_bag_converted_to_ros_2_gives_same(tmp_path: Path, storage: str) -> None:
    path, target = bag_in(tmp_path), tmp_path / "converted" / "sequence01"
    target.parent.mkdir()
    command = [
        sys.executable,
        "-m",
        "rosbags.convert",
        "--src",
        str(path),
        "--dst",
        str(target),
        "--dst-storage",
        storage,
    ]
    subprocess.run(command, check=True, capture_output=True)
    expected = messages_of(path)
    for parameters in (target, target.parent):
        assert_same(messages_of(parameters), expected)
    (file,) = (file for file in target.iterdir() if file.suffix in (".mcap", ".db3"))
    assert_same(messages_of(file), expected)


def test_part_of_time_is_that_part_of_bag(whole: Path) -> None:
    messages = messages_of(whole, Selection(start_s=1.0, duration_s=0.5))
    assert [stamp for stamp, _ in messages["odom_archived"]] == [START_NS + 10**9 + k * 10**8 for k in range(6)]
    assert len(messages["stereo/left/image_raw"]) == 8
    image = messages["stereo/left/image_raw"][0][1]
    assert (image.data.reshape(376, 672, 3) == tiny.pixels("left", 15)).all()


def test_times_in_headers_count_where_bag_s_are_others(tmp_path: Path) -> None:
    path = bag_in(tmp_path, replace(SHORT, log_offset_ns=86_400 * 10**9))
    messages = messages_of(path)
    assert_same(messages, messages_of(bag_in(tmp_path / "other")))
    assert any("the times of /imu in the bag are not those in its headers" in note for note in notes_of(path))


def test_bag_without_cameras_and_transforms_takes_them_from_calibration_next_to_it(tmp_path: Path) -> None:
    left_out = ("/stereo/left/camera_info", "/stereo/right/camera_info", "tf_static")
    path = bag_in(tmp_path, replace(SHORT, without=left_out))
    TinyRosario(tmp_path / "sequence01").write_calibration()
    messages = messages_of(path, Selection(topics="camera_info"))
    np.testing.assert_allclose(messages["stereo/left/camera_info"][0][1].r, RECTIFIED["left"], atol=1e-9)
    ((_, message),) = messages["/tf_static"]
    positions = {item.child_frame_id: xyz(item.transform.translation) for item in message.transforms}
    assert set(positions) == {"imu", "gps", "left_camera", "right_camera"}
    np.testing.assert_allclose(positions["left_camera"], TRANSFORMS[1][2], atol=1e-8)


def test_ground_truth_next_to_bag_plays_with_it(tmp_path: Path) -> None:
    path = bag_in(tmp_path)
    TinyRosario(tmp_path / "sequence01", seconds=1).write_truth()
    assert len(messages_of(path, Selection(topics="truth"))["ground_truth/odom"]) == 5


def test_images_of_bag_can_be_packed_without_loss(tmp_path: Path) -> None:
    messages = messages_of(bag_in(tmp_path), Selection(images="compressed", topics="left"))
    packed = messages["stereo/left/image_raw/compressed"][4][1]
    assert packed.format == "png"
    assert (cv2.imdecode(packed.data, cv2.IMREAD_UNCHANGED) == tiny.pixels("left", 4)).all()


def test_whole_bag_has_no_defects(whole: Path) -> None:
    with open_dataset(whole) as archive:
        assert check(archive, Selection()) == []


def test_another_robot_s_bag_is_not_taken_for_one_of_this_dataset(tmp_path: Path) -> None:
    path = bag_in(tmp_path, replace(SHORT, without=("/gps/vel", "/gps/fix", "/odom", "tf_static")), "drive.bag")
    with open_dataset(path) as archive:
        assert archive.spec.name == "bag" and "/imu" in archive.streams
    shutil.copy(path, tmp_path / "sequence02.bag")
    with open_dataset(tmp_path / "sequence02.bag") as archive:
        assert list(archive.streams) == ["imu", "left", "right"]
