"""Times inside encoded messages, moved, and read back by rosbags."""

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.messages.restamp import restamp_of_type, starts_with_header

STORE = get_typestore(Stores.ROS2_JAZZY)
STAMP_NS = 1_656_931_512_999_999_999


def time_of(ns: int) -> object:
    return STORE.types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)


def header(ns: int, frame: str) -> object:
    return STORE.types["std_msgs/msg/Header"](stamp=time_of(ns), frame_id=frame)


def temperature(ns: int) -> bytes:
    message = STORE.types["sensor_msgs/msg/Temperature"](header=header(ns, "imu"), temperature=21.5, variance=0.25)
    return bytes(STORE.serialize_cdr(message, "sensor_msgs/msg/Temperature"))


def transforms(*edges: tuple[int, str, str]) -> bytes:
    vector, quaternion = STORE.types["geometry_msgs/msg/Vector3"], STORE.types["geometry_msgs/msg/Quaternion"]
    transform = STORE.types["geometry_msgs/msg/Transform"](
        translation=vector(x=1.0, y=2.0, z=3.0), rotation=quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
    )
    stamped = [
        STORE.types["geometry_msgs/msg/TransformStamped"](
            header=header(ns, parent), child_frame_id=child, transform=transform
        )
        for ns, parent, child in edges
    ]
    return bytes(
        STORE.serialize_cdr(STORE.types["tf2_msgs/msg/TFMessage"](transforms=stamped), "tf2_msgs/msg/TFMessage")
    )


@pytest.mark.parametrize("delta_ns", [1, -1, 10**9, -(10**18), 123_456_789_012])
def test_shift_changes_header_stamp_only(delta_ns: int) -> None:
    restamp = restamp_of_type("sensor_msgs/msg/Temperature")
    assert restamp is not None
    assert restamp(temperature(STAMP_NS), delta_ns) == temperature(STAMP_NS + delta_ns)


@pytest.mark.parametrize(
    "names", [("a", "b"), ("odom", "base_link"), ("frame", "x"), ("abcdefg", "abcdefgh"), ("", "")]
)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_transform_is_shifted_for_any_name_length(names: tuple[str, str], count: int) -> None:
    restamp = restamp_of_type("tf2_msgs/msg/TFMessage")
    assert restamp is not None
    edges = [(STAMP_NS + index, names[0] + "z" * index, names[1]) for index in range(count)]
    moved = [(ns + 7_000_000_001, parent, child) for ns, parent, child in edges]
    assert restamp(transforms(*edges), 7_000_000_001) == transforms(*moved)


def test_types_without_header_are_not_restamped() -> None:
    assert restamp_of_type("std_msgs/msg/UInt8") is None
    assert restamp_of_type("std_msgs/msg/String") is None
    assert restamp_of_type("std_msgs/msg/Empty") is None


def test_types_starting_with_header_follow_their_definitions() -> None:
    for name, (_, members) in STORE.fielddefs.items():
        first = members[0][0] if members else ""
        kind = STORE.types[name]
        assert starts_with_header(name) == (first == "header" and "Header" in str(kind.__annotations__["header"])), name


def test_large_message_keeps_its_data() -> None:
    kind = STORE.types["sensor_msgs/msg/Image"]
    pixels = np.arange(300_000, dtype=np.uint8)
    parts = {"height": 1, "width": 100_000, "encoding": "bgr8", "is_bigendian": 0, "step": 300_000, "data": pixels}
    message, later = (
        bytes(STORE.serialize_cdr(kind(header=header(ns, "cam"), **parts), "sensor_msgs/msg/Image"))
        for ns in (STAMP_NS, STAMP_NS + 2)
    )
    restamp = restamp_of_type("sensor_msgs/msg/Image")
    assert restamp is not None
    assert restamp(message, 2) == later
