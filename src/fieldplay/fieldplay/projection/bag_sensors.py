"""Lasers and cameras of a bag, by what their messages say: the frames, and the cameras by their CameraInfo."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fieldplay.bags.serialized_stream import Serialized
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.record_decoder import FramedRecord
from fieldplay.messages.records import CameraInfos
from fieldplay.messages.rectification import camera_of_images
from fieldplay.messages.stream_spec import Camera, StreamSpec
from fieldplay.projection.sensors import SCAN
from fieldplay.streams.image_topics import COMPRESSED, RAW
from fieldplay.streams.stream import Stream

SUFFIX = "/compressed"
TRIED = 8  # messages, where the first ones are damaged


def spec_with_sensors(archive: Archive) -> DatasetSpec:
    """The description of a bag with frames of its lasers and cameras, and the numbers of those that are calibrated."""
    cameras: dict[str, Camera] = {}
    streams: list[StreamSpec] = []
    for stream in archive.spec.streams:
        if stream.type in (SCAN, CLOUD, RAW, COMPRESSED):
            first = _first(archive.streams[stream.id])
            topic = stream.topic.strip("/").removesuffix(SUFFIX if stream.type == COMPRESSED else "")
            camera = _camera(archive.streams, f"/{topic}") if stream.type in (RAW, COMPRESSED) else None
            if camera is not None:
                cameras[stream.id] = camera
            frame = first.frame.lstrip("/") if first else ""
            stream = replace(stream, topic=topic, frame=frame, camera=stream.id if camera else "")
        streams.append(stream)
    return replace(archive.spec, streams=tuple(streams), cameras=cameras)


def _camera(streams: Mapping[str, Stream], topic: str) -> Camera | None:
    """By the CameraInfo beside a topic of pictures, if that is one of a calibrated camera."""
    info = f"{topic.rpartition('/')[0]}/camera_info"
    first = _first(streams[info]) if info in streams else None
    record = first.record if first else None
    is_known = isinstance(record, CameraInfos) and record.camera.fx > 0
    return camera_of_images(topic, record.camera) if is_known and isinstance(record, CameraInfos) else None


def _first(stream: Stream) -> FramedRecord | None:
    """The first message that can be read."""
    record = stream.load(0) if stream.spans else None
    if not isinstance(record, Serialized):
        return None
    rows = np.arange(min(len(record), TRIED))
    return next((found for row in rows for found in record.framed(rows[row : row + 1])), None)
