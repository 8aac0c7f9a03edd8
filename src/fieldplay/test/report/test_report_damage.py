"""Bags of which single bytes were changed: a page is made of them all the same."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.recording.bag_recording import BagRecording
from fieldplay.report.report_page import page_of
from fieldplay_testing.reference_messages import (
    START_NS,
    make,
    stamped_message,
    transform,
    transforms,
    write_bag,
)

SECOND = 10**9
FIELD = "sensor_msgs/msg/PointField"


def one_of_each(now: int, k: int) -> Iterator[tuple[str, Any]]:
    """A message for every panel."""
    yield (
        "/tf",
        transforms(transform(now, "odom", "base_link", (k, 0, 0)), transform(now, "base_link", "eye", (0, 0, 1))),
    )
    pose = {"pose__pose__position__x": k * 1.0, "pose__pose__orientation__w": 1.0}
    yield "/odom", stamped_message("nav_msgs/msg/Odometry", now, "odom", child_frame_id="base_link", **pose)
    poses = [
        stamped_message("geometry_msgs/msg/PoseStamped", now, "odom", pose__position__x=n * 1.0) for n in range(k + 1)
    ]
    yield "/path", stamped_message("nav_msgs/msg/Path", now, "odom", poses=poses)
    yield "/fix", stamped_message("sensor_msgs/msg/NavSatFix", now, "gps", latitude=45 + k / 1e5, longitude=7.0)
    image = {"height": 4, "width": 6, "encoding": "32FC1", "step": 24, "data": np.full(96, k, np.uint8)}
    yield "/eye/image_raw", stamped_message("sensor_msgs/msg/Image", now, "eye", **image)
    info = {"height": 4, "width": 6, "k": np.array([4.0, 0, 3, 0, 4, 2, 0, 0, 1]), "d": np.zeros(5)}
    yield (
        "/eye/camera_info",
        stamped_message("sensor_msgs/msg/CameraInfo", now, "eye", distortion_model="plumb_bob", **info),
    )
    fields = [make(FIELD, name=axis, offset=4 * n, datatype=7, count=1) for n, axis in enumerate("xyz")]
    points = np.random.default_rng(k).normal(size=(20, 3)).astype("<f4").view(np.uint8).reshape(-1)
    cloud = {"height": 1, "width": 20, "fields": fields, "point_step": 12, "row_step": 240, "data": points}
    yield "/points", stamped_message("sensor_msgs/msg/PointCloud2", now, "eye", **cloud)
    beams = {"angle_increment": 0.1, "range_max": 9.0, "ranges": np.ones(9, np.float32)}
    yield "/scan", stamped_message("sensor_msgs/msg/LaserScan", now, "eye", **beams)
    yield (
        "/joints",
        stamped_message("sensor_msgs/msg/JointState", now, "", name=["a", "b"], position=np.array([k, 2.0])),
    )
    yield "/imu", stamped_message("sensor_msgs/msg/Imu", now, "eye", orientation__w=1.0, angular_velocity__z=k * 1.0)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    messages = [
        (topic, START_NS + k * SECOND, message)
        for k in range(8)
        for topic, message in one_of_each(START_NS + k * SECOND, k)
    ]
    bag = write_bag(tmp_path_factory.mktemp("bag") / "bag", messages, plugin="sqlite3")
    return (bag / "bag.db3").read_bytes()


@pytest.mark.parametrize("seed", range(16))
def test_page_is_written_for_any_corrupted_bytes(seed: int, content: bytes, tmp_path: Path) -> None:
    changed, numbers = bytearray(content), random.Random(seed)
    for _ in range(numbers.choice([5, 50, 500])):
        offset = numbers.randrange(4096, len(changed))  # the first page holds what the database is
        changed[offset] = numbers.choice([0, 255, numbers.randrange(256)])
    (tmp_path / "bag.db3").write_bytes(changed)
    page = page_of(BagRecording(tmp_path / "bag.db3"), lambda fraction, count: None)
    assert page.endswith("</html>\n")
    assert '<section id="problems">' in page
