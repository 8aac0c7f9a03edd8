"""Lasers and cameras of a dataset by the names that people use for them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldplay.bags.bag_stream import Serialized
from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.records import CameraInfos
from fieldplay.messages.rectification import camera_of_images
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.image_topics import COMPRESSED, RAW
from fieldplay.streams.stream import Stream

SCAN = "sensor_msgs/msg/LaserScan"
NONE = "none"
SUFFIX = "/compressed"
TRIED = 8  # messages, where the first ones are damaged


@dataclass(frozen=True, eq=False)
class Sensor:
    """A stream of an archive with its description."""

    spec: StreamSpec
    stream: Stream


def laser_of_name(archive: Archive, name: str) -> Sensor:
    """The stream of scans or clouds of that name."""
    spec = laser_stream(archive.spec, name, _ids_with_rows(archive))
    return Sensor(spec, archive.streams[spec.id])


def camera_of_name(archive: Archive, name: str) -> tuple[Sensor, CameraModel]:
    """The stream of images of that name, and the numbers of its camera."""
    spec = camera_stream(archive.spec, name, _ids_with_rows(archive))
    return Sensor(spec, archive.streams[spec.id]), archive.spec.cameras[spec.camera]


def laser_stream(spec: DatasetSpec, name: str, there: Collection[str]) -> StreamSpec:
    """The description of the scans or clouds of that name among the streams that are there, by their ids."""
    known = [stream for stream in spec.streams if stream.type in (SCAN, CLOUD)]
    return _find_stream(spec, "laser", name, known=known, there=there)


def camera_stream(spec: DatasetSpec, name: str, there: Collection[str]) -> StreamSpec:
    """The same of images that a camera with known numbers took."""
    known = [stream for stream in spec.streams if stream.type in (RAW, COMPRESSED) and stream.camera in spec.cameras]
    return _find_stream(spec, "camera", name, known=known, there=there)


def _ids_with_rows(archive: Archive) -> set[str]:
    return {name for name, stream in archive.streams.items() if stream.spans}


def _find_stream(
    spec: DatasetSpec, kind: str, name: str, *, known: Sequence[StreamSpec], there: Collection[str]
) -> StreamSpec:
    """Find the first stream by its full name, else by a short one."""
    requested = name.strip("/").removeprefix(f"{spec.namespace}/")
    able = [stream for stream in known if stream.id in there]
    for names in (_full_names, _short_names):
        for stream in able:
            if requested in names(stream):
                return stream
    missing = [stream for stream in known if requested in (*_full_names(stream), *_short_names(stream))]
    what = f"there is nothing of {missing[0].topic}" if missing else f"there is no {kind} '{name}'"
    raise UsageError(f"{what}; there {'is' if len(able) == 1 else 'are'} {_list_topics(able)}")


def _full_names(spec: StreamSpec) -> tuple[str, ...]:
    return spec.topic, spec.id


def _short_names(spec: StreamSpec) -> tuple[str, ...]:
    """What stands before the last part of the topic, its last part, and the frame."""
    before, _, _ = spec.topic.rpartition("/")
    return before, before.rpartition("/")[2], spec.frame


def _list_topics(specs: Sequence[StreamSpec]) -> str:
    """List topics with their short names; the first of several keeps a shared short name."""
    texts: dict[str, str] = {}
    for spec in specs:
        short = spec.topic.rpartition("/")[0]
        texts.setdefault(short, f"{short} ({spec.topic})" if short else spec.topic)
        if spec.topic not in texts[short]:
            texts[spec.topic] = spec.topic
    return ", ".join(texts.values()) or NONE


# Lasers and cameras of a bag, by what their messages say: the frames, and the cameras by their CameraInfo.


def spec_with_sensors(archive: Archive) -> DatasetSpec:
    """The description of a bag with frames of its lasers and cameras, and the numbers of those that are calibrated."""
    cameras: dict[str, CameraModel] = {}
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


def _camera(streams: Mapping[str, Stream], topic: str) -> CameraModel | None:
    """By the CameraInfo beside a topic of images, if that is one of a calibrated camera."""
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
    return next((framed for row in rows for framed in record.framed_records(rows[row : row + 1])), None)
