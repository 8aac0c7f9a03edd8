"""The bag of a satellite: pictures with their cameras, where it is, and the tree of the two cameras."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from fieldplay_samples.motion.frames import Floats, floats, quaternion_from_rotation
from fieldplay_samples.writers.satellite.scenario import SatelliteScenario, camera_matrix
from fieldplay_samples.writers.tables import NS_PER_S

Message = tuple[str, int, Any]  # topic, stamp in ns, message
NAMESPACE, LEFT, RIGHT, BODY = "satellite", "left_camera", "right_camera", "satellite"
VERSION: Final = 9
EXACT, UNKNOWN = (np.diag([variance] * 6).reshape(-1) for variance in (1e-6, 1e6))
FOREVER = QosTime(0x7FFFFFFF, 0xFFFFFFFF)
LATCHED = Qos(
    QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
    FOREVER, FOREVER, QosLiveliness.AUTOMATIC, FOREVER, False,
)  # fmt: skip


def write_bag(path: Path, scenario: SatelliteScenario, pictures: Path) -> None:
    """Write the pictures of a folder and what belongs to them, in the order of time."""
    connections: dict[str, Any] = {}
    with Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, stamp_ns, message in _messages(scenario, pictures):
            kind = message.__msgtype__
            if topic not in connections:
                offered = (LATCHED,) if topic in ("/tf_static", f"/{NAMESPACE}/init") else ()
                connections[topic] = writer.add_connection(
                    topic, kind, typestore=_types(), offered_qos_profiles=offered
                )
            writer.write(connections[topic], stamp_ns, bytes(_types().serialize_cdr(message, kind)))


def _messages(scenario: SatelliteScenario, pictures: Path) -> Iterator[Message]:
    camera = scenario.numbers["camera"]
    shape = camera["height"], camera["width"]
    turns = quaternion_from_rotation(scenario.camera_T_body[:, :3, :3])
    for number, stamp in enumerate(scenario.stamp_ns.tolist()):
        place = scenario.camera_T_body[number, :3, 3]
        if number == 0:
            shift = _make("geometry_msgs/Vector3", float(camera["baseline_m"]), 0.0, 0.0)
            edge = _make("geometry_msgs/Transform", shift, _quaternion([0, 0, 0, 1]))
            link = _make("geometry_msgs/TransformStamped", _header(stamp, LEFT), RIGHT, edge)
            yield "/tf_static", stamp, _make("tf2_msgs/TFMessage", [link])
            yield f"/{NAMESPACE}/init", stamp, _odometry(stamp, place, turns[0])
        yield f"/{NAMESPACE}/ground_truth", stamp, _odometry(stamp, place, turns[number])
        for side, frame in (("left", LEFT), ("right", RIGHT)):
            data = np.frombuffer((pictures / f"{side}_{number}.npy").read_bytes(), np.uint8).reshape(shape)
            yield f"/{NAMESPACE}/{side}/camera_info", stamp, _camera_info(stamp, frame, camera, side)
            yield f"/{NAMESPACE}/{side}/image_raw", stamp, _image(stamp, frame, data)


@lru_cache(maxsize=1)
def _types() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


def _make(name: str, *values: Any) -> Any:
    """A message, or a part of one, of the type `package/name` from its fields in order."""
    package, _, short = name.partition("/")
    return _types().types[f"{package}/msg/{short}"](*values)


def _header(stamp_ns: int, frame: str) -> Any:
    return _make("std_msgs/Header", _make("builtin_interfaces/Time", *divmod(stamp_ns, NS_PER_S)), frame)


def _quaternion(values: ArrayLike) -> Any:
    return _make("geometry_msgs/Quaternion", *floats(values).tolist())


def _odometry(stamp_ns: int, place_m: Floats, xyzw: Floats) -> Any:
    """The satellite in the left camera; how fast it goes is not told."""
    pose = _make("geometry_msgs/Pose", _make("geometry_msgs/Point", *place_m.tolist()), _quaternion(xyzw))
    zero = _make("geometry_msgs/Vector3", 0.0, 0.0, 0.0)
    return _make(
        "nav_msgs/Odometry",
        _header(stamp_ns, LEFT),
        BODY,
        _make("geometry_msgs/PoseWithCovariance", pose, EXACT),
        _make("geometry_msgs/TwistWithCovariance", _make("geometry_msgs/Twist", zero, zero), UNKNOWN),
    )


def _image(stamp_ns: int, frame: str, picture: NDArray[np.uint8]) -> Any:
    height, width = picture.shape
    return _make("sensor_msgs/Image", _header(stamp_ns, frame), height, width, "mono8", 0, width, picture.reshape(-1))


def _camera_info(stamp_ns: int, frame: str, camera: dict[str, Any], side: str) -> Any:
    matrix = camera_matrix(camera)
    projection = np.hstack([matrix, np.zeros((3, 1))])
    projection[0, 3] = -camera["baseline_m"] * matrix[0, 0] if side == "right" else 0.0
    roi = _make("sensor_msgs/RegionOfInterest", 0, 0, 0, 0, False)
    values = (floats(camera["distortion"]), matrix.reshape(-1), np.eye(3).reshape(-1), projection.reshape(-1))
    head = _header(stamp_ns, frame)
    return _make("sensor_msgs/CameraInfo", head, camera["height"], camera["width"], "plumb_bob", *values, 0, 0, roi)
