"""The bytes that we lay out ourselves are those that rclpy serializes, for every message type in use."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from fieldplay.messages.cdr_layout import layout_of, typestore
from fieldplay.messages.point_clouds import cloud_message

MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("sensor_msgs/msg/Imu", {"header.frame_id": "imu_link"}),
    ("sensor_msgs/msg/MagneticField", {"header.frame_id": "imu_link"}),
    ("sensor_msgs/msg/Temperature", {"header.frame_id": "imu"}),
    ("sensor_msgs/msg/FluidPressure", {"header.frame_id": "imu_link"}),
    ("sensor_msgs/msg/NavSatFix", {"header.frame_id": "origin"}),
    ("sensor_msgs/msg/TimeReference", {"source": "ins"}),
    ("sensor_msgs/msg/CameraInfo", {"header.frame_id": "main_cam", "distortion_model": "plumb_bob", "d": 5}),
    ("sensor_msgs/msg/JointState", {"name": ["drive_1", "steer_1"], "position": 2}),
    ("sensor_msgs/msg/JointState", {"name": ["drive_1"], "velocity": 1}),
    ("nav_msgs/msg/Odometry", {"header.frame_id": "map", "child_frame_id": "base_link"}),
    ("geometry_msgs/msg/TwistWithCovarianceStamped", {"header.frame_id": "map"}),
    ("geometry_msgs/msg/PoseWithCovarianceStamped", {"header.frame_id": "map"}),
    ("geometry_msgs/msg/PoseStamped", {"header.frame_id": "origin"}),
    ("geometry_msgs/msg/AccelStamped", {"header.frame_id": "imu_link"}),
    ("tf2_msgs/msg/TFMessage", {"transforms": 2, "transforms[0].header.frame_id": "base_link",
                                "transforms[0].child_frame_id": "lidar", "transforms[1].child_frame_id": "imu_link"}),
]  # fmt: skip


def message_class(msgtype: str) -> Any:
    package, _, name = msgtype.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def without_padding(raw: bytes, msgtype: str) -> bytes:
    """The same message with zeros where alignment leaves bytes unused: rclpy leaves there what memory held.

    It also reserves room for alignment at the end that is not needed, so its bytes are cut to ours before.
    """
    return bytes(typestore().serialize_cdr(typestore().deserialize_cdr(raw, msgtype), msgtype))


@pytest.mark.parametrize(("msgtype", "constants"), MESSAGES)
def test_rclpy_reads_bytes_and_writes_same(msgtype: str, constants: dict[str, Any]) -> None:
    data, rows = layout_of(msgtype, constants).rows(1)
    draw = np.random.default_rng(3)
    for name in rows.dtype.names:
        rows[name] = draw.integers(0, 2, rows[name].shape)
    raw = data[0].tobytes()
    message = deserialize_message(raw, message_class(msgtype))
    assert without_padding(serialize_message(message)[: len(raw)], msgtype) == raw


def test_rclpy_reads_clouds() -> None:
    points = np.zeros(3, np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2")]))
    points["z"], points["ring"] = [1, 2, 3], [4, 5, 6]
    raw = b"".join(cloud_message(points, 1656931512_123456789, "lidar"))
    message = deserialize_message(raw, message_class("sensor_msgs/msg/PointCloud2"))
    assert without_padding(serialize_message(message)[: len(raw)], "sensor_msgs/msg/PointCloud2") == raw
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1656931512, 123456789)
    assert bytes(message.data) == points.tobytes()
    assert [field.name for field in message.fields] == ["x", "y", "z", "ring"]
