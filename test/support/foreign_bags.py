"""Bags as others write them, by rosbags: a custom type, static transforms of two publishers, pictures, texts."""

from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

START_NS = 1_700_000_000_000_000_000
STEP_NS = 50_000_000
COUNT = 100  # messages of a topic that sends at each step
GEAR = "my_robot/msg/Gear"
GEAR_TEXT = "std_msgs/Header header\nfloat64[] teeth\nstring who\nmy_robot/Tooth first\n"
TF, OLD_TF = "tf2_msgs/msg/TFMessage", "tf/msg/tfMessage"
TOOTH, FIXED = "my_robot/msg/Tooth", "sensor_msgs/msg/NavSatFix"
PICTURE_EVERY = 10
Messages = dict[str, list[tuple[int, bytes]]]


def store_with_gears(version: Literal["ros1", "ros2"]) -> Any:
    """The types of a distribution, and those of a robot of our own."""
    store = get_typestore(Stores.ROS2_HUMBLE if version == "ros2" else Stores.ROS1_NOETIC)
    if version == "ros1":
        store.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", OLD_TF))
    store.register(get_types_from_msg(GEAR_TEXT, GEAR) | get_types_from_msg("time when\nint16 size\n", TOOTH))
    return store


def sent(store: Any) -> list[tuple[str, int, Any]]:
    """What is in the bags: topic, time, message."""
    types, result = store.types, []
    first = {"seq": 7} if "seq" in types["std_msgs/msg/Header"].__dataclass_fields__ else {}
    for row in range(COUNT):
        time_ns = START_NS + row * STEP_NS
        stamp = types["builtin_interfaces/msg/Time"](*divmod(time_ns, 10**9))
        header = types["std_msgs/msg/Header"](**first, stamp=stamp, frame_id="base")
        result.append(("/words", time_ns, types["std_msgs/msg/String"](f"word {row}")))
        tooth = types[TOOTH](when=stamp, size=row)
        result.append(("/gear", time_ns, types[GEAR](header, np.arange(row, dtype=np.float64), "x" * row, tooth)))
        for topic in ("/way", "/truth"):
            pose = types["geometry_msgs/msg/Pose"](
                types["geometry_msgs/msg/Point"](0.1 * row, np.sin(0.1 * row), 0.0),
                types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
            )
            result.append((topic, time_ns, types["geometry_msgs/msg/PoseStamped"](header, pose)))
        if row < 2:
            turn = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
            position = types["geometry_msgs/msg/Transform"](types["geometry_msgs/msg/Vector3"](row, 0.0, 0.0), turn)
            link = types["geometry_msgs/msg/TransformStamped"](header, f"child{row}", position)
            result.append(("/tf_static", time_ns, types[TF if TF in types else OLD_TF]([link])))
        if row % PICTURE_EVERY == 0:
            pixels = np.full(20_000, row, np.uint8)
            result.append(("/cam", time_ns, types["sensor_msgs/msg/Image"](header, 100, 200, "mono8", 0, 200, pixels)))
    return result


def write_ros2(
    path: Path, *, plugin: str = "mcap", compression: str = "", best_effort: tuple[str, ...] = ("/gear",)
) -> Path:
    """A bag of ROS 2; compressed by "file" or by "message"."""
    store = store_with_gears("ros2")
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[plugin.upper()])
    if compression:
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connections: dict[str, Any] = {}
        for topic, time_ns, message in sent(store):
            msgtype = message.__msgtype__
            if topic not in connections:
                qos = [_qos(is_best_effort=topic in best_effort, is_latched=topic == "/tf_static")]
                connections[topic] = writer.add_connection(topic, msgtype, typestore=store, offered_qos_profiles=qos)
            writer.write(connections[topic], time_ns, store.serialize_cdr(message, msgtype))
    return path


def write_ros1(path: Path, *, chunk_bytes: int = 50_000) -> Path:
    """The same as a bag of ROS 1, and a topic whose type ROS 2 has with a field more, and one that it has otherwise."""
    store = store_with_gears("ros1")
    store.fielddefs.pop(FIXED)
    store.register(get_types_from_msg("std_msgs/Header header\nstring where\n", FIXED))
    with Writer1(path) as writer:
        writer.chunk_threshold = chunk_bytes
        connections: dict[str, Any] = {}
        for topic, time_ns, message in [*sent(store), *_of_ros1(store)]:
            msgtype = message.__msgtype__
            if topic not in connections:
                latched = {"latching": 1} if topic == "/tf_static" else {}
                name = topic.removeprefix("/") if topic == "/tf_static" else topic  # some writers leave it out
                connections[topic] = writer.add_connection(name, msgtype, typestore=store, **latched)
            writer.write(connections[topic], time_ns, store.serialize_ros1(message, msgtype))
    return path


def _of_ros1(store: Any) -> list[tuple[str, int, Any]]:
    types = store.types
    header = types["std_msgs/msg/Header"](7, types["builtin_interfaces/msg/Time"](*divmod(START_NS, 10**9)), "base")
    near = types["sensor_msgs/msg/Range"](header, 1, 0.5, 0.1, 9.0, 2.5)
    return [("/near", START_NS, near), ("/place", START_NS, types[FIXED](header, "here"))]


def _qos(*, is_best_effort: bool, is_latched: bool) -> Qos:
    never = QosTime(2147483647, 4294967295)
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=1 if is_latched else 7,
        reliability=QosReliability.BEST_EFFORT if is_best_effort else QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if is_latched else QosDurability.VOLATILE,
        deadline=never,
        lifespan=never,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False,
    )


def stored(path: Path) -> Messages:
    """All messages of a bag as another reader finds them."""
    by_name: Messages = defaultdict(list)
    with AnyReader([path]) as reader:
        for connection, time_ns, data in reader.messages():
            by_name[connection.topic].append((time_ns, bytes(data)))
    return dict(by_name)


def write_later(bag: Path, out: Path, later_ns: int, *, rate: float = 1.0) -> Path:
    """The same messages, logged so much later than their headers say, as where a simulation is recorded.

    `rate` is how fast the recorder's clock runs beside that of the headers.
    """
    with AnyReader([bag]) as reader, Writer(out, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {
            result.id: writer.add_connection(
                result.topic,
                result.msgtype,
                typestore=reader.typestore,
                offered_qos_profiles=result.ext.offered_qos_profiles,
            )
            for result in reader.connections
        }
        for result, time_ns, data in reader.messages():
            log_ns = reader.start_time + round((time_ns - reader.start_time) * rate) + later_ns
            writer.write(connections[result.id], log_ns, data)
    return out


def write_ros1_with_two_names(path: Path, *, other: str = OLD_TF) -> Path:
    """A topic /tf of ROS 1 with two publishers in turn, the second with another name of the type, or another type."""
    store = store_with_gears("ros1")
    store.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", TF))
    with Writer1(path) as writer:
        names = {"/one": TF, "/two": other}
        pair = [writer.add_connection("/tf", name, typestore=store, callerid=who) for who, name in names.items()]
        none = b"\0\0\0\0"
        for row in range(COUNT):
            writer.write(pair[row % 2], START_NS + row * STEP_NS, none)
    return path
