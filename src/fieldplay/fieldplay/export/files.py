"""Images and clouds as files that are named by their times."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.export.table_file import file_names
from fieldplay.io.pcd import pcd_from_cloud
from fieldplay.io.ply import ply_from_cloud
from fieldplay.messages.image_pixels import SHAPES
from fieldplay.messages.records import (
    CameraInfos,
    Clouds,
    Images,
    Pixels,
    Record,
)
from fieldplay.streams.image_topics import (
    MOSAICS,
    PACKABLE,
    RED_FIRST,
    png_of_pixels,
)

TIMES = "times.csv"
KINDS = {b"\x89PNG": ".png", b"\xff\xd8": ".jpg", b"BM": ".bmp", b"II*\0": ".tiff", b"MM\0*": ".tiff"}
CLOUD_FILES = {".pcd": pcd_from_cloud, ".ply": ply_from_cloud}
IN_PNG = {*PACKABLE, *MOSAICS, *RED_FIRST}

MakeFile = Callable[[Record, int], tuple[bytes, str]]  # a row as a file, and how its name ends


def export_images(feeds: ExportedFeeds, folder: Path) -> Iterator[ExportedTopic]:
    """A folder for each topic: the very files that are in an archive or message, or lossless ones of its pixels."""
    return _export(feeds, folder, _image_file, kind="damaged_picture")


def export_clouds(feeds: ExportedFeeds, folder: Path, suffix: str) -> Iterator[ExportedTopic]:
    """A folder for each topic: .pcd or .ply files with all fields of the points."""
    return _export(feeds, folder, partial(_cloud_file, suffix=suffix), kind="damaged_cloud")


def _export(feeds: ExportedFeeds, folder: Path, make: MakeFile, *, kind: str) -> Iterator[ExportedTopic]:
    for name, topic in zip(file_names(list(feeds.feeds), ""), feeds.feeds, strict=True):
        topic_folder, count = folder / name, 0
        topic_folder.mkdir()
        with (topic_folder / TIMES).open("w", encoding="utf-8") as times:
            times.write("file,stamp_ns,log_time_ns\n")
            for record, row in feeds.rows(topic):
                try:
                    data, suffix = make(record, row)
                except (ArchiveError, OSError) as error:
                    feeds.report(topic, kind, error)
                    continue
                stamp_ns = int(record.stamp_ns[row])
                file = _free_name(topic_folder, stamp_ns, suffix)
                (topic_folder / file).write_bytes(data)
                times.write(f"{file},{stamp_ns},{int(record.leaves_ns[row])}\n")
                count += 1
        own = feeds.feeds[topic][0]
        yield ExportedTopic(topic=topic, type=own.msgtype, path=name, count=count, frame=own.frame)


def _free_name(topic_folder: Path, stamp_ns: int, suffix: str) -> str:
    """A time in nanoseconds; the second file of one time has a number behind it."""
    name, number = f"{stamp_ns}{suffix}", 1
    while (topic_folder / name).exists():
        number += 1
        name = f"{stamp_ns}_{number}{suffix}"
    return name


def _image_file(record: Record, row: int) -> tuple[bytes, str]:
    if not isinstance(record, Images) or isinstance(record, CameraInfos):
        raise ArchiveError(f"expected images, got {type(record).__name__}")
    image = record.load(row)
    if isinstance(image, Pixels):
        return (png_of_pixels(image), ".png") if image.encoding in IN_PNG else _other_pixels(image)
    known = (suffix for start, suffix in KINDS.items() if image.startswith(start))
    return image, next(known, ".bin")


def _other_pixels(pixels: Pixels) -> tuple[bytes, str]:
    """Numbers that are no colours: 8 and 16 bits of one channel in a PNG, others in a TIFF."""
    if pixels.encoding not in SHAPES or SHAPES[pixels.encoding][1] != 1:
        raise ArchiveError(f"expected pixels that a PNG or TIFF can hold, got {pixels.encoding}")
    kind = np.dtype(SHAPES[pixels.encoding][0]).newbyteorder(">" if pixels.is_bigendian else "<")
    used = pixels.width * kind.itemsize
    if pixels.step < used or len(pixels.data) != pixels.height * pixels.step:
        raise ArchiveError(f"expected {pixels.height} rows of {used} bytes, got {len(pixels.data)} bytes")
    rows = np.frombuffer(pixels.data, np.uint8).reshape(pixels.height, pixels.step)[:, :used]
    values = np.ascontiguousarray(rows).view(kind).astype(kind.newbyteorder("="))
    suffix = ".png" if kind.kind == "u" else ".tiff"
    return cv2.imencode(suffix, values)[1].tobytes(), suffix


def _cloud_file(record: Record, row: int, *, suffix: str) -> tuple[bytes, str]:
    if not isinstance(record, Clouds):
        raise ArchiveError(f"expected clouds, got {type(record).__name__}")
    return CLOUD_FILES[suffix](record.load(row)), suffix
