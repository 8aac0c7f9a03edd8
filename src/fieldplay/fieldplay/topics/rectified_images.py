"""Rectified images of a bag's cameras, by the CameraInfo beside them, as topics more than the bag has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fieldplay.bags.bag_stream import BagStream, Serialized, raw_messages
from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.geometry.extrinsics import Edge
from fieldplay.messages.record_decoder import record_of_message
from fieldplay.messages.records import CameraInfos, Images
from fieldplay.messages.rectification import IMAGE_RECT, Rectification
from fieldplay.streams.image_topics import (
    CAMERA_INFO,
    CAMERA_INFO_RECT,
    COMPRESSED,
    INFO,
    RAW,
    camera_info_message,
    camera_info_rows,
    compressed_message,
    image_message,
    png_of_pixels,
)
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.selection import Selection
from fieldplay.topics.static_tf import feed_of_static_frames, rectified_frame_edge

PACKED = "/compressed"
Change = Callable[[bytes, int], bytes]  # of a message, and when it was logged


@dataclass(frozen=True)
class BagCamera:
    """A camera of a bag: what rectifies its images, the frame of its CameraInfo, and where its topics are."""

    rectification: Rectification
    frame: str
    folder: str


def rectified_image_feeds(archive: Archive, selection: Selection, first_ns: int) -> Iterator[TopicStream]:
    """Feeds of the rectified images of all cameras, their CameraInfo and their frames.

    UsageError where no camera of the bag has images and a CameraInfo beside them.
    """
    edges: dict[str, Edge] = {}
    cameras = list(_unrectified_images(archive))
    if not cameras and not any(_name_of_image(name).startswith(IMAGE_RECT) for name in archive.streams):
        raise UsageError(f"--rectify: expected images with a camera_info, {archive.root} has none")
    seen = set()
    for name, stream, camera in cameras:
        topic = f"{camera.folder}/{IMAGE_RECT}{PACKED if stream.msgtype == COMPRESSED else ''}"
        yield _feed(archive, stream, topic, selection, change=partial(_rectify, camera, stream.msgtype), of=name)
        if camera.folder not in seen:
            seen.add(camera.folder)
            info = archive.streams[f"{camera.folder}/{CAMERA_INFO}"]
            if isinstance(info, BagStream):
                topic = f"{camera.folder}/{CAMERA_INFO_RECT}"
                yield _feed(archive, info, topic, selection, change=partial(_rectify_info, camera), of=name)
        edge = rectified_frame_edge(camera.rectification, camera.frame)
        if edge is not None:
            edges[edge.child] = edge
    if edges:
        yield feed_of_static_frames(list(edges.values()), first_ns, "", 0)


def _name_of_image(topic: str) -> str:
    """The last part of a topic, whether its images are packed or not."""
    return topic.removesuffix(PACKED).rpartition("/")[2]


def _unrectified_images(archive: Archive) -> Iterator[tuple[str, BagStream, BagCamera]]:
    """Image topics with a CameraInfo in the same namespace and without rectified images."""
    for name, stream in archive.streams.items():
        if not isinstance(stream, BagStream) or stream.msgtype not in (RAW, COMPRESSED):
            continue
        folder = name.removesuffix(PACKED).rpartition("/")[0]
        info = archive.streams.get(f"{folder}/{CAMERA_INFO}")
        rectified = (f"{folder}/{IMAGE_RECT}", f"{folder}/{IMAGE_RECT}{PACKED}")
        is_there = any(topic in archive.streams for topic in rectified) or _name_of_image(name).startswith(IMAGE_RECT)
        if is_there or not isinstance(info, BagStream) or info.msgtype != INFO:
            continue
        try:
            camera = _camera(info, folder)
        except ArchiveError as error:
            message = f"{folder}/{CAMERA_INFO}: {error}; its images are not rectified"
            archive.defects(Defect(file=archive.root.name, kind="uncalibrated_camera", stream=name, message=message))
            continue
        yield name, stream, camera


def _camera(info: BagStream, folder: str) -> BagCamera:
    """The camera by the first CameraInfo that can be read; a bag's camera is the same all along."""
    for index in range(len(info.spans)):
        rows = info.load(index)
        for row in range(len(rows)):
            data = np.frombuffer(rows.load(row), np.uint8)
            framed = record_of_message(INFO, data, int(rows.stamp_ns[row]))
            if framed is not None and isinstance(framed.record, CameraInfos):
                return BagCamera(Rectification(framed.record.camera), framed.frame, folder)
    raise ArchiveError("expected messages of a camera, none can be read")


def _feed(
    archive: Archive, stream: BagStream, topic: str, selection: Selection, *, change: Change, of: str
) -> TopicStream:
    """A topic more: the messages of one of the bag, changed one by one."""
    reported: set[str] = set()

    def records(index: int) -> Serialized:
        rows = stream.load(index)

        def load(row: int) -> bytes:
            data = rows.load(row)
            try:
                return change(data, int(rows.stamp_ns[row]))
            except ArchiveError as error:
                if not reported:
                    message = f"{of}: {error}; such images are left out of {topic}"
                    defect = Defect(file=archive.root.name, kind="damaged_picture", stream=of, message=message)
                    archive.defects(defect)
                reported.add(str(error))
                raise

        return Serialized(stamp_ns=rows.stamp_ns, msgtype=stream.msgtype, load=load, heavy=True)

    before = (selection.namespace or "").strip("/")
    name = f"/{before}{topic}" if before else topic
    return TopicStream(
        topic=name, msgtype=stream.msgtype, spans=stream.spans, records=records, messages=raw_messages,
        rank=1, stream=of,
    )  # fmt: skip


def _rectify(camera: BagCamera, msgtype: str, data: bytes, log_ns: int) -> bytes:
    framed = record_of_message(msgtype, np.frombuffer(data, np.uint8), log_ns)
    if framed is None or not isinstance(framed.record, Images):
        raise ArchiveError("expected an image, got a message that cannot be read")
    stamp_ns, frame = int(framed.record.stamp_ns[0]), camera.rectification.frame(framed.frame)
    pixels = camera.rectification.pixels(framed.record.load(0))
    if msgtype == RAW:
        return b"".join(bytes(chunk) for chunk in image_message(pixels, stamp_ns, frame))
    return b"".join(bytes(chunk) for chunk in compressed_message(png_of_pixels(pixels), stamp_ns, frame, "png"))


def _rectify_info(camera: BagCamera, data: bytes, log_ns: int) -> bytes:
    framed = record_of_message(INFO, np.frombuffer(data, np.uint8), log_ns)
    if framed is None:
        raise ArchiveError("expected a CameraInfo, got a message that cannot be read")
    rectification = camera.rectification
    layout = camera_info_rows(rectification.rectified, rectification.frame(framed.frame))
    return camera_info_message(layout, int(framed.record.stamp_ns[0]))
