"""Images as messages: passed on as they are, or decoded; with the CameraInfo that belongs to each."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from threading import Lock
from typing import Literal

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.cdr_layout import Layout, layout_of, open_layout_of
from fieldplay.messages.image_headers import whole_image
from fieldplay.messages.image_pixels import decode_image
from fieldplay.messages.records import CameraInfos, Images, Pixels
from fieldplay.messages.rectification import IMAGE_RECT, Rectification
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.message_block import Chunks
from fieldplay.streams.stream import Span, Stream
from fieldplay.streams.topic_stream import (
    LazyBlock,
    TopicStream,
)

RAW, COMPRESSED, INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo"
CACHED_IMAGES = 12  # images that several topics share, as the archive holds them
CACHED_RECTIFIED = 3  # which are larger
PACKABLE = {"mono8": 1, "bgr8": 3, "bgra8": 4, "mono16": 1}  # channels, as OpenCV writes them
RED_FIRST = {"rgb8": 3, "rgba8": 4}  # it writes blue first
MOSAICS = {f"bayer_{kind}8": 1 for kind in ("rggb", "bggr", "gbrg", "grbg")}  # with a PNG the kind must be stated

CAMERA_INFO, CAMERA_INFO_RECT = "camera_info", "camera_info_rect"

ImageTransport = Literal["raw", "compressed", "both"]


@dataclass(frozen=True)
class _Shared:
    """The images of one stream, each read and checked once for all topics that publish it."""

    report: Report
    stream: str
    camera: CameraModel | None
    cache: OrderedDict[tuple[int, str], bytes | Pixels | ArchiveError] = field(default_factory=OrderedDict)
    reported: set[str] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)
    most: int = CACHED_IMAGES

    def load(self, record: Images, row: int) -> bytes | Pixels:
        """An image's file, or its pixels; ArchiveError where it is defective, which is reported once."""
        key = (int(record.stamp_ns[row]), record.names[row])
        with self.lock:
            if key not in self.cache:
                self.cache[key] = self._read(record, row)
                if len(self.cache) > self.most:
                    self.cache.popitem(last=False)
            data = self.cache[key]
        if isinstance(data, ArchiveError):
            raise ArchiveError(*data.args)
        return data

    def _read(self, record: Images, row: int) -> bytes | Pixels | ArchiveError:
        try:
            data = record.load(row)
            self._compare_size(_size_of(data), record.names[row])
        except (ArchiveError, OSError) as error:
            self.refuse(record.names[row], str(error))
            return ArchiveError(str(error))
        return data

    def _compare_size(self, size: tuple[int, int], name: str) -> None:
        """An image of another size plays, but the camera's numbers are not for it."""
        camera = self.camera
        if camera is not None and size != (camera.width, camera.height):
            expected, got = f"{camera.width} x {camera.height}", f"{size[0]} x {size[1]}"
            message = f"expected {expected} pixels, for which its CameraInfo is, got {got}; it is kept"
            self.report(Defect.at(name, kind="picture_size", stream=self.stream, message=message))

    def refuse(self, name: str, issue: str) -> None:
        """Report an image, once."""
        if name not in self.reported:
            self.reported.add(name)
            self.report(Defect.at(name, kind="damaged_picture", stream=self.stream, message=issue))


Make = Callable[[_Shared, Images, int, str], Chunks | None]  # a message of a row, in a frame


def _size_of(image: bytes | Pixels) -> tuple[int, int]:
    """Width and height of an image; ArchiveError where it is not whole."""
    if not isinstance(image, Pixels):
        header = whole_image(image)
        return header.width, header.height
    if image.height < 1 or image.width < 1:
        raise ArchiveError(f"expected an image of at least 1 x 1 pixels, got {image.width} x {image.height}")
    if len(image.data) != image.height * image.step:
        expected = f"{image.height} rows of {image.step} bytes"
        raise ArchiveError(f"expected {expected}, got {len(image.data)} bytes")
    return image.width, image.height


def natural_images(stream: Stream) -> ImageTransport:
    """How images are sent where nobody says: as the archive holds them."""
    record = stream.load(0) if len(stream.spans) else None
    return "raw" if isinstance(record, Images) and not record.packed else "compressed"


def images_of(stream: Stream, requested: ImageTransport | None) -> ImageTransport:
    """How images are sent: as wanted, as the archive holds them, or in the one way that there is."""
    record = stream.load(0) if len(stream.spans) else None
    if isinstance(record, Images) and not record.packable:
        return "raw"
    return requested or natural_images(stream)


def image_topic_streams(
    stream: Stream,
    spec: StreamSpec,
    topic: str,
    *,
    camera: CameraModel | None,
    images: ImageTransport,
    report: Report,
    ranks: tuple[int, int],
    rectify: bool = False,
) -> list[TopicStream]:
    """The topics of a stream of images: its CameraInfo if there is a camera, compressed and raw as wanted.

    With `rectify` the same again of rectified images, where there is a camera: `image_rect` and `camera_info_rect`
    beside the topic, in a frame of their own where the rectification rotates them.
    """
    shared = _Shared(report, spec.id, camera)
    topics = _ImageTopics(stream.spans, spec.id, images, ranks, shared)
    namespace = topic.rpartition("/")[0]

    def records(index: int) -> Images:
        record = stream.load(index)
        if not isinstance(record, Images):
            raise TypeError(f"stream {spec.id}: expected images, got {type(record).__name__}")
        return replace(record, load=lambda row: shared.load(record, row))

    feeds = topics.feeds(topic, f"{namespace}/{CAMERA_INFO}", records, camera=camera, frame=spec.frame)
    if camera is None or not rectify:
        return feeds
    rectification = Rectification(camera)
    of_rectified = replace(shared, camera=None, cache=OrderedDict(), lock=Lock(), most=CACHED_RECTIFIED)

    def rectified_records(index: int) -> Images:
        record = records(index)
        if not rectification.is_needed:
            return record
        rectified_images = replace(record, load=lambda row: rectification.pixels(record.load(row)), packed=False)
        return replace(rectified_images, load=lambda row: of_rectified.load(rectified_images, row))

    topics, frame = replace(topics, shared=of_rectified), rectification.frame(spec.frame)
    names = f"{namespace}/{IMAGE_RECT}", f"{namespace}/{CAMERA_INFO_RECT}"
    return [*feeds, *topics.feeds(*names, rectified_records, camera=rectification.rectified, frame=frame)]


@dataclass(frozen=True)
class _ImageTopics:
    """Feeds of images on a topic, with CameraInfo on another."""

    spans: Sequence[Span]
    stream: str
    images: ImageTransport
    ranks: tuple[int, int]
    shared: _Shared

    def feeds(
        self, topic: str, info: str, records: Callable[[int], Images], *, camera: CameraModel | None, frame: str
    ) -> list[TopicStream]:
        """CameraInfo first, then compressed and raw images as wanted."""
        of_info, of_images = self.ranks
        streams = []
        if camera is not None:
            make = partial(_info, camera_info_rows(camera, frame))
            feed = self._feed(info, INFO, records, make=make, frame=frame, rank=of_info)
            streams.append(replace(feed, records=lambda index: _infos(records(index), camera)))
        if self.images in ("compressed", "both"):
            name = f"{topic}/compressed"
            streams.append(self._feed(name, COMPRESSED, records, make=_compressed_image, frame=frame, rank=of_images))
        if self.images in ("raw", "both"):
            streams.append(self._feed(topic, RAW, records, make=_raw, frame=frame, rank=of_images))
        return streams

    def _feed(
        self, topic: str, msgtype: str, records: Callable[[int], Images], *, make: Make, frame: str, rank: int
    ) -> TopicStream:
        def messages(record: Images) -> LazyBlock:
            return LazyBlock.one_by_one(lambda row: make(self.shared, record, row, frame))

        topic_stream = TopicStream(topic=topic, msgtype=msgtype, spans=self.spans, records=records, messages=messages)
        return replace(topic_stream, frame=frame, rank=rank, stream=self.stream)


def _infos(images: Images, camera: CameraModel) -> CameraInfos:
    return CameraInfos(**{column.name: getattr(images, column.name) for column in fields(images)}, camera=camera)


def camera_info_rows(camera: CameraModel, frame: str) -> Layout:
    """CameraInfo of a camera as published; the stamp is left open."""
    texts = {"header.frame_id": frame, "distortion_model": camera.distortion_model}
    layout = layout_of(INFO, {**texts, "d": len(camera.distortion)})
    data, rows = layout.rows(1)
    rows["width"], rows["height"], rows["d"] = camera.width, camera.height, camera.distortion
    rows["k"], rows["r"] = camera.matrix.reshape(-1), camera.rotation.reshape(-1)
    rows["p"] = camera.projection or camera.projection_matrix.reshape(-1)
    return Layout(template=data[0], dtype=layout.dtype)


def camera_info_message(layout: Layout, stamp_ns: int) -> bytes:
    """A CameraInfo of a camera (`camera_info_rows`) with a stamp."""
    data, rows = layout.rows(1)
    rows["header.stamp.sec"], rows["header.stamp.nanosec"] = divmod(stamp_ns, NS_PER_S)
    return data.tobytes()


def _data(record: Images, row: int) -> bytes | Pixels | None:
    """An image's file, or its pixels; None where it is defective."""
    try:
        return record.load(row)
    except ArchiveError:
        return None


def _info(layout: Layout, shared: _Shared, record: Images, row: int, _: str) -> Chunks | None:
    if _data(record, row) is None:
        return None
    return (camera_info_message(layout, int(record.stamp_ns[row])),)


def _compressed_image(shared: _Shared, record: Images, row: int, frame: str) -> Chunks | None:
    data = _data(record, row)
    encoding = data.encoding if isinstance(data, Pixels) else ""
    if isinstance(data, Pixels):
        data = _encode_png(shared, data, record.names[row])
    if data is None:
        return None
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    if encoding in MOSAICS:
        kind = f"{encoding}; png compressed "  # as image_transport writes it, whose reader takes the kind from here
    return compressed_message(data, int(record.stamp_ns[row]), frame, kind)


def compressed_message(data: bytes, stamp_ns: int, frame: str, kind: str) -> tuple[bytes, bytes, bytes]:
    """A sensor_msgs/CompressedImage of a file's bytes, in pieces; `kind` is its format."""
    return _head(COMPRESSED, stamp_ns, {"header.frame_id": frame, "format": kind}), _length(data), data


def _encode_png(shared: _Shared, pixels: Pixels, name: str) -> bytes | None:
    """Encode pixels as PNG, without loss; report those that PNG cannot hold."""
    try:
        return png_of_pixels(pixels)
    except ArchiveError as error:
        shared.refuse(name, str(error))
        return None


def png_of_pixels(pixels: Pixels) -> bytes:
    """Pixels as a PNG, without loss; ArchiveError where no PNG holds them."""
    bits = 16 if pixels.encoding.endswith("16") else 8
    channels = {**PACKABLE, **MOSAICS, **RED_FIRST}.get(pixels.encoding, 0)
    row = pixels.width * channels * bits // 8
    if not row or pixels.step < row:
        known = ", ".join(PACKABLE)
        got = f"{pixels.encoding} in rows of {pixels.step} bytes"
        raise ArchiveError(f"expected pixels that a PNG can hold ({known}), got {got}")
    rows = np.frombuffer(pixels.data, np.uint8).reshape(pixels.height, pixels.step)[:, :row]
    kind = np.dtype(np.uint8 if bits == 8 else ">u2" if pixels.is_bigendian else "<u2")
    image = np.ascontiguousarray(rows).view(kind).reshape(pixels.height, pixels.width, channels)
    if pixels.encoding in RED_FIRST:
        image = image[..., [2, 1, 0, 3][:channels]]
    import cv2

    return cv2.imencode(".png", image.astype(kind.newbyteorder("=")))[1].tobytes()


def _raw(shared: _Shared, record: Images, row: int, frame: str) -> Chunks | None:
    data = _data(record, row)
    if data is None:
        return None
    if isinstance(data, Pixels):
        return image_message(data, int(record.stamp_ns[row]), frame)
    pixels = decode_image(data)
    if pixels is None:
        shared.refuse(record.names[row], "expected an image, got what does not decode as one")
        return None
    encoding = {1: "mono", 3: "bgr", 4: "bgra"}[1 if pixels.ndim == 2 else pixels.shape[2]] + str(8 * pixels.itemsize)
    sizes = {"height": pixels.shape[0], "width": pixels.shape[1], "step": pixels.strides[0]}
    head = _head(RAW, int(record.stamp_ns[row]), {"header.frame_id": frame, "encoding": encoding}, sizes)
    flat = np.ascontiguousarray(pixels).reshape(-1).view(np.uint8).data
    return (head, _length(flat), flat)


def image_message(pixels: Pixels, stamp_ns: int, frame: str) -> tuple[bytes, bytes, bytes]:
    """A sensor_msgs/Image of pixels as they are, in pieces."""
    numbers = {name: getattr(pixels, name) for name in ("height", "width", "step", "is_bigendian")}
    head = _head(RAW, stamp_ns, {"header.frame_id": frame, "encoding": pixels.encoding}, numbers)
    return head, _length(pixels.data), pixels.data


def _head(msgtype: str, stamp_ns: int, texts: dict[str, str], numbers: dict[str, int] | None = None) -> bytes:
    """What stands before the length of the list `data`."""
    layout, _ = open_layout_of(msgtype, texts, "data")
    data, rows = layout.rows(1)
    rows["header.stamp.sec"], rows["header.stamp.nanosec"] = divmod(stamp_ns, NS_PER_S)
    for name, value in (numbers or {}).items():
        rows[name] = value
    return data.tobytes()


def _length(data: bytes | memoryview) -> bytes:
    return len(data).to_bytes(4, "little")
