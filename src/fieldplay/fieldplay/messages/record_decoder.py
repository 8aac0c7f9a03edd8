"""Records of messages: all of one layout at once, or one by one where they are large or all different."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages import records
from fieldplay.messages.codec import DIAGNOSTICS, JOINTS, MESSAGES, PATH, FramedRecord, JointLists, decode
from fieldplay.messages.image_pixels import DEPTH_HEADER
from fieldplay.messages.message_batches import Part
from fieldplay.messages.message_columns import (
    Decoder,
    decode_message,
    time_of_header,
)
from fieldplay.messages.point_clouds import CLOUD, rows_of_cloud

IMAGE, COMPRESSED, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo"


class Times(TypedDict):
    """The times (n,) of a record: those in its messages, and those at which they were logged."""

    stamp_ns: NDArray[np.int64]
    order_ns: NDArray[np.int64]


class RecordDecoder:
    """Decodes messages of one type into records; messages that cannot be read are skipped and counted in `failed`.

    Times are those of the headers, or of the log where a message has none; rows leave at the times of the log. Messages
    whose texts or lengths differ become records of their own.

    Args:
        msgtype: the type of the messages.
        strict: refuse joints with more or fewer numbers than names, by a ValueError.

    Raises:
        ValueError: messages of this type do not become records.
    """

    def __init__(self, msgtype: str, *, strict: bool = False) -> None:
        if msgtype not in MESSAGES and msgtype not in SINGLE:
            raise ValueError(f"expected a type of messages that become records, got {msgtype}")
        self._msgtype, self._strict = msgtype, strict
        self._decoder = Decoder(msgtype)
        self.failed = 0

    def records(self, parts: Iterable[Part]) -> Iterator[FramedRecord]:
        """Decode messages.

        Args:
            parts: messages of one length each, with their log times.

        Yields:
            Records, a layout at a time, so rows of different layouts are not in time order.
        """
        if self._msgtype not in MESSAGES:
            yield from self._one_by_one(parts)
            return
        for columns in self._decoder.columns(parts):
            if self._strict and self._msgtype == JOINTS:
                JointLists.check(columns)
            yield from decode(self._msgtype, columns)
        self.failed = self._decoder.failed

    def _one_by_one(self, parts: Iterable[Part]) -> Iterator[FramedRecord]:
        """Message by message, since their lengths may all differ."""
        for part in parts:
            for log_ns, data in zip(part.stamp_ns.tolist(), part.data, strict=True):
                record = record_of_message(self._msgtype, data, log_ns)
                self.failed += record is None
                if record is not None:
                    yield record


def record_of_message(msgtype: str, data: NDArray[np.uint8], log_ns: int) -> FramedRecord | None:
    """Decode one message of a type that is read singly, as images and clouds.

    Args:
        msgtype: a key of SINGLE.
        data: the CDR bytes (size,).
        log_ns: the log time in ns.

    Returns:
        A record of one row; None where the message cannot be read.
    """
    message = decode_message(msgtype, data)
    if message is None:
        return None
    times = Times(stamp_ns=np.array([time_of_header(message, log_ns)]), order_ns=np.array([log_ns]))
    return FramedRecord(SINGLE[msgtype](message, times), str(message.header.frame_id), "")


def camera_of_info(message: Any) -> CameraModel:
    """Convert a decoded sensor_msgs/CameraInfo.

    Args:
        message: with the members k, d, r, p, width, height and distortion_model.

    Returns:
        The camera, with whatever numbers the message has.
    """
    return CameraModel(
        width=int(message.width),
        height=int(message.height),
        fx=float(message.k[0]),
        fy=float(message.k[4]),
        cx=float(message.k[2]),
        cy=float(message.k[5]),
        distortion_model=str(message.distortion_model),
        distortion=tuple(map(float, message.d)),
        rectification=tuple(map(float, message.r)),
        projection=tuple(map(float, message.p)),
    )


def _cloud(message: Any, times: Times) -> records.Record:
    return records.Clouds(**times, names=("",), load=lambda _: rows_of_cloud(message))


def _image(message: Any, times: Times) -> records.Record:
    pixels = records.Pixels(
        height=int(message.height),
        width=int(message.width),
        encoding=str(message.encoding),
        step=int(message.step),
        data=message.data,
        is_bigendian=bool(message.is_bigendian),
    )
    return records.Images(**times, names=("",), load=lambda _: pixels, packed=False)


def _compressed_image(message: Any, times: Times) -> records.Record:
    start = DEPTH_HEADER if "compressedDepth" in str(message.format) else 0
    return records.Images(**times, names=("",), load=lambda _: bytes(memoryview(message.data)[start:]))


def _info(message: Any, times: Times) -> records.Record:
    return records.CameraInfos(**times, names=("",), load=lambda _: b"", camera=camera_of_info(message))


def _path(message: Any, times: Times) -> records.Record:
    stamps = [pose.header.stamp.sec * NS_PER_S + pose.header.stamp.nanosec for pose in message.poses]
    poses = [(pose.pose.position, pose.pose.orientation) for pose in message.poses]
    path = records.Pose(
        stamp_ns=np.array(stamps, np.int64),
        position_m=np.array([[at.x, at.y, at.z] for at, _ in poses], np.float64).reshape(-1, 3),
        orientation_xyzw=np.array([[q.x, q.y, q.z, q.w] for _, q in poses], np.float64).reshape(-1, 4),
    )
    return records.Paths(**times, paths=(path,), path_index=np.zeros(1, np.int64), count=np.array([len(path)]))


def _diagnostics(message: Any, times: Times) -> records.Record:
    states = tuple(
        records.State(one.name, int(one.level), one.message, tuple((pair.key, pair.value) for pair in one.values))
        for one in message.status
    )
    return records.Diagnostics(**times, states=(states,), state_index=np.zeros(1, np.int64))


SINGLE: Mapping[str, Callable[[Any, Times], records.Record]] = {
    CLOUD: _cloud,
    IMAGE: _image,
    COMPRESSED: _compressed_image,
    INFO: _info,
    PATH: _path,
    DIAGNOSTICS: _diagnostics,
}
