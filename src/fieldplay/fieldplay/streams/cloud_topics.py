"""Point clouds as messages."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.messages.point_clouds import CLOUD, cloud_message
from fieldplay.messages.records import Clouds
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.message_block import Chunks
from fieldplay.streams.stream import Stream
from fieldplay.streams.topic_stream import LazyBlock, TopicStream


def cloud_topic_stream(
    stream: Stream, spec: StreamSpec, topic: str, *, report: Report, rank: int, latched: bool = False
) -> TopicStream:
    """Clouds, each decoded on request; a damaged one is reported once and left out."""
    reported: set[str] = set()

    def load_or_report(record: Clouds, row: int) -> NDArray[np.void]:
        try:
            return record.load(row)
        except (ArchiveError, OSError) as error:
            name = record.names[row]
            if name not in reported:
                reported.add(name)
                report(Defect.at(name, kind="damaged_cloud", stream=spec.id, message=str(error)))
            raise ArchiveError(str(error)) from error

    def records(index: int) -> Clouds:
        record = stream.load(index)
        if not isinstance(record, Clouds):
            raise TypeError(f"stream {spec.id}: expected clouds, got {type(record).__name__}")
        return replace(record, load=lambda row: load_or_report(record, row))

    def make(record: Clouds, row: int) -> Chunks | None:
        try:
            return cloud_message(record.load(row), int(record.stamp_ns[row]), spec.frame)
        except ArchiveError:
            return None

    return TopicStream(
        topic=topic,
        msgtype=CLOUD,
        spans=stream.spans,
        records=records,
        messages=lambda record: LazyBlock.one_by_one(lambda row: make(record, row)),
        frame=spec.frame,
        rank=rank,
        latched=latched,
        stream=spec.id,
    )
