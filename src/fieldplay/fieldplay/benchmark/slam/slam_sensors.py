"""Which topics of an archive feed a method, and their placeholders for its configuration.

Extrinsics are those of tf_static, intrinsics those of the CameraInfo. The words are `lidar.topic`, `imu.frame`,
`leftImage.fx`, `lidar_T_imu.matrix` and so on, with the names of the method's needs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from fieldplay.benchmark.slam.methods import Method, Need
from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.spec import ImuNoise
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.record_decoder import record_of_message
from fieldplay.messages.records import CameraInfos
from fieldplay.messages.rectification import IMAGE_RECT, Rectification, camera_of_images
from fieldplay.recording.input_topics import camera_info_topic, find_topic, topic_of_input
from fieldplay.recording.recording import COMPRESSED, Recording, TopicInfo
from fieldplay.streams.image_topics import CAMERA_INFO_RECT

CLOUD = "sensor_msgs/msg/PointCloud2"
ROUND = 9  # digits after the point
FOLDER_KEYS = ("work", "bag")  # reported when it runs


class UnfitError(UserError):
    """A method needs what an archive has not."""


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """What feeds a need: the topic as the method's bag has it, its frame, how often; of cameras their CameraInfo."""

    topic: str
    frame: str
    rate_hz: float
    info: str = ""
    camera: CameraModel | None = None
    camera_frame: str = ""  # of rectified images, if theirs is another: that of the camera
    rotation: Array | None = None  # (3, 3), and its rotation to that of the images
    is_made: bool = False  # rectified here, rather than by whoever made the archive
    noise: ImuNoise | None = None


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of topics besides the archive's contents: as requested, and as its dataset says."""

    requested: Mapping[str, str]
    described: Mapping[str, tuple[str, ...]]
    dataset: str = ""  # empty for a bag
    noise: ImuNoise | None = None  # of its IMU


def sensors_of(data: Recording, method: Method, known: Known) -> dict[str, Sensor]:
    """What feeds each need; UnfitError says why nothing can."""
    sensors = {}
    for name, need in method.needs.items():
        try:
            sensors[name] = _sensor(data, need, _topic(data, name, need, known), known)
        except UserError as error:
            raise UnfitError(f"{method.name} does not fit: {error}") from None
    return sensors


def _topic(data: Recording, name: str, need: Need, known: Known) -> TopicInfo:
    if name in known.requested:
        topic = data.topic(known.requested[name], suffix=COMPRESSED)
    elif name in known.described:
        there = [info for each in known.described[name] if (info := find_topic(data, each)) is not None]
        if not there:
            raise ArchiveError(f"expected {name} on {' or '.join(known.described[name])}, this archive has none")
        topic = there[0]
    elif known.dataset:
        raise ArchiveError(f"it needs {name} ({' or '.join(need.types)}), and {known.dataset} has none")
    else:
        topic = topic_of_input(data, name, need.types)
    if topic.type not in need.types:
        raise ArchiveError(f"{name}: expected {' or '.join(need.types)}, but {topic.name} is {topic.type}")
    return topic


def _sensor(data: Recording, need: Need, topic: TopicInfo, known: Known) -> Sensor:
    rate_hz = _rate(topic)
    if topic.count < 2 or rate_hz < need.least_hz:
        raise ArchiveError(
            f"{topic.name}: expected {need.least_hz:g} Hz or more, got {rate_hz:.3g} Hz ({topic.count} messages)"
        )
    if need.fields:
        _require_fields(data, topic, need)
    name = topic.name.removesuffix(COMPRESSED) if need.raw else topic.name
    info, camera = _camera(data, topic) if need.camera else ("", None)
    frame = topic.frame or _frame(data, topic)
    sensor = Sensor(topic=name, frame=frame, rate_hz=rate_hz, info=info, camera=camera, noise=known.noise or need.noise)
    is_rectified = sensor.topic.removesuffix(COMPRESSED).rpartition("/")[2].startswith(IMAGE_RECT)
    return _rectify(sensor) if need.rectified and not is_rectified else sensor


def _rectify(sensor: Sensor) -> Sensor:
    """The sensor of the rectified images, which the bag of the method has too."""
    assert sensor.camera is not None
    rectification, folder = Rectification(sensor.camera), sensor.info.rpartition("/")[0]
    packed = COMPRESSED if sensor.topic.endswith(COMPRESSED) else ""
    rectified = replace(
        sensor, topic=f"{folder}/{IMAGE_RECT}{packed}", info=f"{folder}/{CAMERA_INFO_RECT}",
        camera=rectification.rectified, is_made=True,
    )  # fmt: skip
    if not rectification.is_rotated:
        return rectified
    return replace(
        rectified, frame=rectification.frame(sensor.frame), camera_frame=sensor.frame, rotation=rectification.rotation
    )


def add_rectified_frames(frames: Frames, sensors: Mapping[str, Sensor]) -> None:
    """Add the frames of rectified images below those of their cameras, as the bag of the method has them."""
    for sensor in sensors.values():
        if sensor.rotation is not None and sensor.frame not in frames.parents:
            pose = np.concatenate([np.zeros(3), quaternion_from_rotation(sensor.rotation.T)])[None]
            stamp_ns = np.zeros(1, np.int64)
            frames.add(sensor.camera_frame, sensor.frame, is_static=True, stamp_ns=stamp_ns, values=pose)


def _rate(topic: TopicInfo) -> float:
    if topic.first_ns is None or topic.last_ns is None or topic.last_ns <= topic.first_ns:
        return 0.0
    return (topic.count - 1) * NS_PER_S / (topic.last_ns - topic.first_ns)


def _require_fields(data: Recording, topic: TopicInfo, need: Need) -> None:
    """The points of the first cloud have what the method wants of each."""
    first = next(data.clouds(topic.name), None)
    if first is None:
        raise ArchiveError(f"{topic.name}: expected clouds, and none can be read")
    there = first[1].dtype.names or ()
    for choice in need.fields:
        if not set(choice.split("|")) & set(there):
            requested = choice.replace("|", " or ")
            raise ArchiveError(f"{topic.name}: expected points with {requested}, got {', '.join(there)}")


def _frame(data: Recording, topic: TopicInfo) -> str:
    """The frame of the first message, if the topic has none."""
    framed = _first(data, topic.name)
    return "" if framed is None else framed.frame


def _first(data: Recording, topic: str) -> FramedRecord | None:
    """The first message of a topic."""
    message = next(iter(data.messages(topic)), None)
    if message is None:
        return None
    return record_of_message(message.type, np.frombuffer(message.data, np.uint8), message.stamp_ns)


def _camera(data: Recording, topic: TopicInfo) -> tuple[str, CameraModel]:
    info = camera_info_topic(data, topic)
    if not info:
        raise ArchiveError(f"{topic.name}: expected a CameraInfo with it, got none")
    framed = _first(data, info)
    if framed is None or not isinstance(framed.record, CameraInfos):
        raise ArchiveError(f"{info}: no message of it can be read")
    return info, camera_of_images(topic.name, framed.record.camera)


def template_values(method: Method, sensors: Mapping[str, Sensor], frames: Frames) -> dict[str, str]:
    """Values of the placeholders of a method, except those of its folder; UnfitError where one is missing."""
    there = dict(_sensor_values(sensors))
    add_rectified_frames(frames, sensors)
    for word in method.placeholders:
        pair, _, part = word.partition(".")
        one, joined, other = pair.partition("_T_")
        if joined and {one, other} <= set(sensors) and part in FORMATS:
            there[word] = FORMATS[part](_static_transform(method, frames, sensors[one].frame, sensors[other].frame))
        elif word not in {*there, *FOLDER_KEYS}:
            known = ", ".join(sorted({*there, *FOLDER_KEYS}))
            raise ArchiveError(f"{method.name}: there is no word {{{word}}}; there are {known}, and A_T_B.matrix")
    return there


def _static_transform(method: Method, frames: Frames, one: str, other: str) -> Array:
    """one_T_other (4, 4) by static transforms."""
    if one == other:
        return np.eye(4)
    transform = frames.transform(one, other, np.zeros(1, np.int64)) if frames.are_fixed(one, other) else None
    if transform is None:
        raise UnfitError(f"{method.name} does not fit: tf_static does not join {one} and {other}")
    return np.asarray(transform[0][0], np.float64)


def _sensor_values(sensors: Mapping[str, Sensor]) -> Iterator[tuple[str, str]]:
    for name, sensor in sensors.items():
        yield f"{name}.topic", sensor.topic
        yield f"{name}.frame", sensor.frame
        yield f"{name}.rate_hz", f"{sensor.rate_hz:.6g}"
        yield f"{name}.info_topic", sensor.info
        if sensor.noise is not None:
            for part in fields(sensor.noise):
                yield f"{name}.{part.name}", f"{getattr(sensor.noise, part.name):.6g}"
        if sensor.camera is not None:
            for each in ("width", "height", "fx", "fy", "cx", "cy", "distortion_model"):
                yield f"{name}.{each}", f"{getattr(sensor.camera, each)}"
            yield f"{name}.distortion", _numbers(np.array((*sensor.camera.distortion, 0.0, 0.0, 0.0, 0.0)[:4]))
            yield f"{name}.baseline_m", f"{sensor.camera.baseline_m:.9g}"


def _numbers(values: Array) -> str:
    return "[" + ", ".join(f"{value:.9g}" for value in np.round(values, ROUND).tolist()) + "]"


FORMATS: Mapping[str, Callable[[Array], str]] = {
    "matrix": lambda transform: "[" + ", ".join(_numbers(row) for row in transform) + "]",
    "row_major": lambda transform: _numbers(transform.ravel()),
    "xyz": lambda transform: _numbers(transform[:3, 3]),
    "xyzw_xyz": lambda transform: _numbers(
        np.concatenate([quaternion_from_rotation(transform[:3, :3]), transform[:3, 3]])
    ),
}


def frames_of(data: Recording) -> Frames:
    """The tree of the transforms that do not move."""
    frames = Frames()
    for parent, child, transform in data.tf_static:
        values = np.concatenate([transform[:3, 3], quaternion_from_rotation(transform[:3, :3])])[None]
        frames.add(parent, child, is_static=True, stamp_ns=np.zeros(1, np.int64), values=values)
    return frames
