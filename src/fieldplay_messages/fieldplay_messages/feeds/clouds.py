"""Point clouds as messages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.cdr.layout import open_layout_of
from fieldplay_messages.errors import ArchiveError, Defect, Report
from fieldplay_messages.feeds.feed import Feed, Pieces, SingleMessages
from fieldplay_messages.records import Clouds
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Stream

CLOUD = "sensor_msgs/msg/PointCloud2"
# PointField's numbers of what NumPy calls these
DATATYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}


def feed_of_clouds(
    stream: Stream, spec: StreamSpec, topic: str, *, report: Report, rank: int, latched: bool = False
) -> Feed:
    """Clouds, each decoded when it is asked for; one that is damaged is reported, once, and left out."""
    reported: set[str] = set()

    def checked(record: Clouds, row: int) -> NDArray[np.void]:
        try:
            return record.load(row)
        except (ArchiveError, OSError) as error:
            name = record.names[row]
            if name not in reported:
                reported.add(name)
                report(Defect(file=name, kind="damaged_cloud", stream=spec.id, message=str(error)))
            raise ArchiveError(str(error)) from error

    def records(index: int) -> Clouds:
        record = stream.load(index)
        if not isinstance(record, Clouds):
            raise TypeError(f"stream {spec.id}: expected clouds, got {type(record).__name__}")
        return replace(record, load=lambda row: checked(record, row))

    def make(record: Clouds, row: int) -> Pieces | None:
        try:
            return cloud_message(record.load(row), int(record.stamp_ns[row]), spec.frame)
        except ArchiveError:
            return None

    return Feed(
        topic=topic,
        msgtype=CLOUD,
        spans=stream.spans,
        records=records,
        messages=lambda record: SingleMessages(lambda row: make(record, row)),
        frame=spec.frame,
        rank=rank,
        latched=latched,
        stream=spec.id,
    )


def cloud_message(points: NDArray[np.void], stamp_ns: int, frame: str) -> Pieces:
    """The pieces of a dense PointCloud2 with the fields of the points, packed as they are."""
    names = points.dtype.names or ()
    places: Mapping[str, Any] = points.dtype.fields or {}
    texts = {f"fields[{index}].name": name for index, name in enumerate(names)}
    before, after = open_layout_of(CLOUD, {"header.frame_id": frame, "fields": len(names), **texts}, "data")
    data, rows = before.rows(1)
    rows["header.stamp.sec"], rows["header.stamp.nanosec"] = divmod(stamp_ns, NS_PER_S)
    rows["height"], rows["width"], rows["point_step"] = 1, len(points), points.itemsize
    rows["row_step"] = points.nbytes
    for index, name in enumerate(names):
        kind, offset = places[name][:2]
        rows[f"fields[{index}].offset"], rows[f"fields[{index}].count"] = offset, 1
        rows[f"fields[{index}].datatype"] = DATATYPES[kind.str[1:]]
    tail, tail_rows = after.rows(1)
    tail_rows["is_dense"] = 1
    flat = points.view(np.uint8).data
    return (data.tobytes(), points.nbytes.to_bytes(4, "little"), flat, tail.tobytes())
