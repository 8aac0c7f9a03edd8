"""A tiny sample of Rosario, as folder and as bag: the files, the topics, their order, and the same bytes each time."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml
from rosbags.rosbag1 import Reader

from fieldplay_samples.write_sample import SampleOptions, SampleResult, write_sample
from fieldplay_samples.writers.rosario.authors_bag import ROS

START_S = 1514557578
TINY: dict[str, Any] = {"image_rate_hz": 1.0, "image_shrink": 24}
Message = tuple[str, int, Any]


def tiny(path: Path, workers: int = 1, **settings: Any) -> SampleResult:
    options = SampleOptions(seconds=2.0, seed=3, settings={**TINY, **settings}, workers=workers)
    return write_sample("rosario", path, options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("sample") / "raw").path


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("sample") / "bag", bag=True).path / "sequence04.bag"


@pytest.fixture(scope="module")
def messages(bag: Path) -> list[Message]:
    """Topic, time and message of the bag, by time."""
    with Reader(bag) as reader:
        return [
            (link.topic, stamp, ROS.types.deserialize_ros1(raw, link.msgtype)) for link, stamp, raw in reader.messages()
        ]


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def of_topic(messages: list[Message], topic: str) -> list[Any]:
    return [message for name, _, message in messages if name == topic]


def test_sequence_has_exactly_the_published_files(folder: Path) -> None:
    pairs = [f"zed/{side}_{START_S + second}.020000.png" for side in ("left", "right") for second in (0, 1)]
    logs = ["gps.log", "imu.log", "odometry_raw.log", "sequence04_gt.txt"]
    assert sorted(digests(folder)) == sorted(["calibration04.yaml", *logs, *pairs])


def test_images_have_published_size_and_three_channels(folder: Path) -> None:
    for path in (folder / "zed").iterdir():
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        assert image is not None and image.shape == (376, 672, 3)


def test_lines_have_tokens_of_author_programs(folder: Path) -> None:
    rows = {
        name: [line.split(" ") for line in (folder / name).read_text().splitlines()]
        for name in ("imu.log", "gps.log", "odometry_raw.log")
    }
    assert {name: len(lines) for name, lines in rows.items()} == {"imu.log": 280, "gps.log": 20, "odometry_raw.log": 20}
    assert {len(row) for row in rows["imu.log"]} == {9}
    assert all(label.endswith(":") and text[:4] in ("$GPG", "$GPR") for _, label, text in rows["gps.log"])
    fields = [row[2].split(",") for row in rows["odometry_raw.log"]]
    assert {len(lines) for lines in fields} == {18}
    assert {lines[17][1:] for lines in fields} == {")"}
    assert all(len(row[0].partition(".")[2]) == 6 for lines in rows.values() for row in lines)


def test_calibration_has_keys_of_author_programs(folder: Path) -> None:
    calibration = yaml.safe_load((folder / "calibration04.yaml").read_text())
    assert sorted(calibration) == ["cam0", "cam1", "gps", "imu", "odom"]
    assert calibration["imu"]["rotation_imu_baselink"] == [0.784171987, 0.000788065, 0.620542634, -0.000716013]
    assert calibration["cam1"]["resolution"] == [672, 376]


def test_ground_truth_starts_at_zero_and_goes_forward(folder: Path) -> None:
    rows = np.loadtxt(folder / "sequence04_gt.txt")
    assert rows.shape == (10, 8)
    np.testing.assert_array_equal(rows[0, 1:], [0, 0, 0, 0, 0, 0, 1])
    farthest = rows[np.abs(rows[:, 1]).argmax()]
    assert farthest[1] > 0.2
    assert abs(farthest[2]) < 0.2 * farthest[1]


def test_same_options_give_same_bytes(folder: Path, bag: Path, tmp_path: Path) -> None:
    assert digests(tiny(tmp_path / "raw", workers=2).path) == digests(folder)
    assert digests(tiny(tmp_path / "bag", bag=True).path) == digests(bag.parent)


def test_bag_has_author_topics(bag: Path, messages: list[Message]) -> None:
    assert [path.name for path in bag.parent.iterdir()] == ["sequence04.bag"]
    cameras = {f"/stereo/{side}/{kind}": 2 for side in ("left", "right") for kind in ("image_raw", "camera_info")}
    rest = {"/imu": 280, "/gps/fix": 10, "/gps/vel": 10, "/odom": 20, "tf_static": 20}
    assert Counter(topic for topic, _, _ in messages) == {**cameras, **rest}


def test_streams_are_consecutive_in_bag(tmp_path: Path) -> None:
    plain = tiny(tmp_path / "bag", bag=True, bag_compression="none").path / "sequence04.bag"
    data = plain.read_bytes()
    markers = {
        side: f"/stereo/{side}".encode() + (376).to_bytes(4, "little") for side in ("left", "right")
    }  # of headers
    with Reader(plain) as reader:
        topics = [link.topic for link in sorted(reader.connections, key=lambda link: link.id)]
    cameras = [f"/stereo/{side}/{kind}" for side in ("left", "right") for kind in ("image_raw", "camera_info")]
    assert topics == ["/imu", *cameras, "/gps/fix", "/gps/vel", "/odom", "tf_static"]
    assert data.count(markers["left"]) == data.count(markers["right"]) == 2
    assert data.rfind(markers["left"]) < data.find(markers["right"])


def test_frames_of_bag_are_those_of_authors(messages: list[Message]) -> None:
    frames = {topic: message.header.frame_id for topic, _, message in messages if hasattr(message, "header")}
    assert frames == {
        "/imu": "imu",
        "/stereo/left/image_raw": "/stereo/left",
        "/stereo/right/image_raw": "/stereo/right",
        "/stereo/left/camera_info": "left",
        "/stereo/right/camera_info": "right",
        "/gps/fix": "gps",
        "/gps/vel": "gps",
        "/odom": "odom",
    }
    links = [(one.header.frame_id, one.child_frame_id) for one in of_topic(messages, "tf_static")[-1].transforms]
    assert links == [("base_link", "imu"), ("imu", "left"), ("imu", "right"), ("base_link", "gps")]


def test_bag_and_logs_agree(folder: Path, messages: list[Message]) -> None:
    logged = np.array([line.split()[3:] for line in (folder / "imu.log").read_text().splitlines()], float)
    offsets = yaml.safe_load((folder / "calibration04.yaml").read_text())["imu"]
    force = (logged[:, 3:] - offsets["acc_offset"]) * 9.80665e-3
    rates = np.radians(logged[:, :3] - offsets["gyro_offset"])
    own = of_topic(messages, "/imu")
    accelerations = [[getattr(one.linear_acceleration, axis) for axis in "xyz"] for one in own]
    angular_rates = [[getattr(one.angular_velocity, axis) for axis in "xyz"] for one in own]
    np.testing.assert_allclose(accelerations, force, atol=1e-9)
    np.testing.assert_allclose(angular_rates, rates, atol=1e-9)
    left = cv2.imread(str(folder / "zed" / f"left_{START_S}.020000.png"))
    image = of_topic(messages, "/stereo/left/image_raw")[0]
    np.testing.assert_array_equal(image.data.reshape(376, 672, 3), left)


def test_twist_of_bag_lies_in_odom(messages: list[Message]) -> None:
    own = of_topic(messages, "/odom")
    heading = np.array([2 * np.arctan2(one.pose.pose.orientation.z, one.pose.pose.orientation.w) for one in own])
    x, y = (np.array([getattr(one.twist.twist.linear, axis) for one in own]) for axis in "xy")
    assert np.abs(heading).max() > 1e-3
    np.testing.assert_allclose(y, x * np.tan(heading), atol=1e-12)
    step = np.diff([one.pose.pose.position.x for one in own])
    np.testing.assert_allclose(step, 0.1 * x[:-1], atol=1e-12)
