from typing import Any

import numpy as np
import pytest

from fieldplay.messages.cdr_layout import layout_of, open_layout_of, typestore


def columns_by_name(rows: Any) -> dict[str, Any]:
    return {name: rows[name] for name in rows.dtype.names}


def random_messages(msgtype: str, constants: dict[str, Any], count: int = 3) -> tuple[Any, Any]:
    """Messages with random numbers in every place, as bytes and as records."""
    data, rows = layout_of(msgtype, constants).rows(count)
    draw = np.random.default_rng(7)
    for name in rows.dtype.names:
        values = draw.integers(0, 100, rows[name].shape)
        rows[name] = values if rows[name].dtype.kind != "u" or rows[name].dtype.itemsize > 1 else values % 2
    return data, rows


def follow(message: Any, path: str) -> Any:
    for step in path.replace("[", ".").replace("]", "").split("."):
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    return message


@pytest.mark.parametrize(
    ("msgtype", "constants"),
    [
        ("sensor_msgs/msg/Imu", {"header.frame_id": "imu_link"}),
        ("sensor_msgs/msg/Imu", {}),
        ("sensor_msgs/msg/MagneticField", {"header.frame_id": "m"}),
        ("sensor_msgs/msg/Temperature", {"header.frame_id": "imu_link_1"}),
        ("sensor_msgs/msg/NavSatFix", {"header.frame_id": "gps"}),
        ("sensor_msgs/msg/TimeReference", {"header.frame_id": "", "source": "device"}),
        ("nav_msgs/msg/Odometry", {"header.frame_id": "map", "child_frame_id": "base_link"}),
        ("geometry_msgs/msg/TwistWithCovarianceStamped", {"header.frame_id": "base"}),
        ("sensor_msgs/msg/JointState", {"name": ["a", "bcd", ""], "position": 3, "velocity": 0, "effort": 3}),
        ("sensor_msgs/msg/JointState", {"header.frame_id": "x", "name": ["a"], "velocity": 1}),
        ("sensor_msgs/msg/LaserScan", {"header.frame_id": "laser", "ranges": 5, "intensities": 3}),
        ("tf2_msgs/msg/TFMessage", {"transforms": 2, "transforms[0].header.frame_id": "odom",
                                    "transforms[0].child_frame_id": "base", "transforms[1].child_frame_id": "arm"}),
        ("geometry_msgs/msg/PoseArray", {"poses": 4, "header.frame_id": "base_link"}),
        ("sensor_msgs/msg/CameraInfo", {"header.frame_id": "cam", "distortion_model": "plumb_bob", "d": 5}),
        ("std_msgs/msg/String", {"data": "text"}),
    ],
)  # fmt: skip
def test_bytes_equal_those_of_rosbags(msgtype: str, constants: dict[str, Any]) -> None:
    data, rows = random_messages(msgtype, constants)
    for index in range(len(data)):
        message = typestore().deserialize_cdr(data[index].tobytes(), msgtype)
        assert bytes(typestore().serialize_cdr(message, msgtype)) == data[index].tobytes()
        for path, column in columns_by_name(rows).items():
            np.testing.assert_array_equal(follow(message, path), column[index], err_msg=path)
        for path, text in constants.items():
            if isinstance(text, str | list):
                assert follow(message, path) == text


def test_list_of_varying_length_is_between_two_layouts() -> None:
    msgtype = "sensor_msgs/msg/PointCloud2"
    constants = {"header.frame_id": "lidar", "fields": 2, "fields[0].name": "x", "fields[1].name": "intensity"}
    before, after = open_layout_of(msgtype, constants, "data")
    head, head_rows = before.rows(1)
    tail, tail_rows = after.rows(1)
    head_rows["fields[1].datatype"], head_rows["width"], tail_rows["is_dense"] = 7, 11, 1
    points = bytes(range(13))
    raw = head.tobytes() + len(points).to_bytes(4, "little") + points + tail.tobytes()
    message: Any = typestore().deserialize_cdr(raw, msgtype)
    assert bytes(typestore().serialize_cdr(message, msgtype)) == raw
    assert message.data.tobytes() == points
    assert (message.width, message.fields[1].name, message.fields[1].datatype, message.is_dense) == (
        11,
        "intensity",
        7,
        1,
    )


def test_constant_without_field_is_refused() -> None:
    with pytest.raises(KeyError, match=r"Imu has no text or list \['frame_id'\]"):
        layout_of("sensor_msgs/msg/Imu", {"frame_id": "imu"})
