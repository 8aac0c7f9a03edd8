"""A feed is what becomes of a stream on one topic: spans of records, and their messages when they are asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.cdr_layout import Layout, layout_of
from fieldplay.messages.codec import encode, group_by_size, set_axes, set_stamp
from fieldplay.messages.records import Paths, Pose, Record
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.message_block import (
    BytesLike,
    MergedPayloads,
    Payloads,
    PiecePayloads,
    RowPayloads,
)
from fieldplay.streams.stream import Span, Stream

PATH = "nav_msgs/msg/Path"
COUNT_SIZE = 4
Chunks = Sequence[BytesLike]
DERIVED = "derived"  # the stream of what is computed


# Paths that grow, as messages: each holds the poses so far, and those that differ by a pose share their bytes.


def path_messages(record: Paths, frame: str) -> list[Sequence[BytesLike]]:
    """Each in two pieces: what ends with the first pose, since the count stands before that, and the other poses."""
    others = [_others(frame, path) for path in record.paths]
    flat, width = [rows.reshape(-1).data for rows in others], _width(frame)
    fronts, indices, counts = _fronts(frame, record), record.path_index.tolist(), record.count.tolist()
    return [
        (front.tobytes(), flat[index][: (count - 1) * width])
        for front, index, count in zip(fronts, indices, counts, strict=True)
    ]


@cache
def _layout(frame: str, poses: int) -> Layout:
    frames = {f"poses[{index}].header.frame_id": frame for index in range(poses)}
    return layout_of(PATH, {"header.frame_id": frame, "poses": poses, **frames})


def _width(frame: str) -> int:
    """The bytes of a pose behind another. All but the first have one alignment, as a pose ends with a float64."""
    return len(_layout(frame, 2).template) - len(_layout(frame, 1).template)


def _fronts(frame: str, record: Paths) -> NDArray[np.uint8]:
    """The messages (n, size) up to their first pose."""
    layout = _layout(frame, 1)
    data, rows = layout.rows(len(record))
    set_stamp(rows, "header.stamp", record.stamp_ns)
    for index, path in enumerate(record.paths):
        is_own = record.path_index == index
        part = rows[is_own]
        _set_poses(part, 0, path.only(np.zeros(len(part), np.intp)))
        rows[is_own] = part
    assert layout.dtype.fields is not None
    end = layout.dtype.fields["poses[0].header.stamp.sec"][1]  # the count stands right before it
    data[:, end - COUNT_SIZE : end] = record.count.astype("<u4").view(np.uint8).reshape(-1, COUNT_SIZE)
    return data


def _others(frame: str, path: Pose) -> NDArray[np.uint8]:
    """All poses (k - 1, size) but the first."""
    data, rows = _layout(frame, 2).rows(len(path) - 1)
    _set_poses(rows, 1, path.only(np.arange(1, len(path))))
    return np.ascontiguousarray(data[:, len(_layout(frame, 1).template) :])


def _set_poses(rows: NDArray[np.void], index: int, pose: Pose) -> None:
    path = f"poses[{index}]"
    set_stamp(rows, f"{path}.header.stamp", pose.stamp_ns)
    set_axes(rows, f"{path}.pose.position", pose.position_m)
    set_axes(rows, f"{path}.pose.orientation", pose.orientation_xyzw, "xyzw")


class SpanMessages(Protocol):
    """The messages of one span, in the order of their times."""

    @property
    def heavy(self) -> bool:
        """Whether each message is read on its own and may be large, as pictures are."""

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        """The bytes of some rows, and which of the rows (n,) they are: a defective row has no message."""


@dataclass(frozen=True, kw_only=True)
class TopicStream:
    """A topic: its rows, span by span, and the messages that they become; `frame` and `child_frame` are theirs.

    Who wants rows asks `records`, who wants messages `load`. Rows that are read one by one, as pictures, are checked
    when they are: a defective one is reported and raises ArchiveError.

    Among feeds the lower rank goes first at equal times, then the earlier feed. What is latched is kept for those who
    come late, and its last message before a begin counts there too, unless `is_carried` is False. What is standing
    besides belongs to no time: it goes before everything, wherever one begins.
    """

    topic: str
    msgtype: str
    spans: Sequence[Span]
    records: Callable[[int], Record]
    messages: Callable[[Any], SpanMessages]
    frame: str = ""
    child_frame: str = ""
    rank: int = 0
    latched: bool = False
    static: bool = False
    stream: str = ""
    is_carried: bool = True

    @property
    def carries(self) -> bool:
        """Whether its last message before a begin comes at that begin."""
        return self.latched and self.is_carried

    def load(self, index: int) -> tuple[NDArray[np.int64], SpanMessages]:
        """The times (n,) at which the messages of a span leave, and the messages."""
        record = self.records(index)
        return record.leaves_ns, self.messages(record)


@dataclass(frozen=True, eq=False)
class RowMessages:
    """SpanMessages of one size (n, size), encoded together."""

    data: NDArray[np.uint8]
    heavy: bool = False

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        contiguous = len(rows) and rows[-1] - rows[0] == len(rows) - 1
        data = self.data[rows[0] : rows[-1] + 1] if contiguous else self.data[rows]
        return RowPayloads(data), np.ones(len(rows), bool)


@dataclass(frozen=True, eq=False)
class SizedMessages:
    """SpanMessages of several sizes: parts of one size each, and the rows (ascending) that each part has."""

    parts: Sequence[tuple[RowMessages, NDArray[np.intp]]]
    heavy: bool = False

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        parts: list[tuple[Payloads, NDArray[np.int64]]] = []
        for messages, own in self.parts:
            position = np.minimum(np.searchsorted(own, rows), len(own) - 1)
            requested = np.flatnonzero(own[position] == rows)
            if len(requested):
                parts.append((messages.payloads(position[requested])[0], requested))
        return MergedPayloads(parts), np.ones(len(rows), bool)


@dataclass(frozen=True, eq=False)
class SingleMessages:
    """SpanMessages that are made one by one; a row that gives none is defective."""

    make: Callable[[int], Chunks | None]
    heavy: bool = True

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        messages = [self.make(int(row)) for row in rows]
        return PiecePayloads([chunks for chunks in messages if chunks is not None]), np.array(
            [chunks is not None for chunks in messages], bool
        )


def numeric_topic_stream(
    stream: Stream, spec: StreamSpec, topic: str, *, rank: int, latched: bool = False, static: bool = False
) -> TopicStream:
    """Records of numbers, a span at a time."""
    return TopicStream(
        topic=topic,
        msgtype=spec.type,
        spans=stream.spans,
        records=stream.load,
        messages=partial(messages_of_record, spec=spec),
        frame=spec.frame,
        child_frame=spec.child_frame,
        rank=rank,
        latched=latched,
        static=static,
        stream=spec.id,
    )


def messages_of_record(record: Record, spec: StreamSpec) -> SpanMessages:
    """The messages of a record of numbers, of one size or of several."""
    if isinstance(record, Paths):
        return SingleMessages(path_messages(record, spec.frame).__getitem__, heavy=False)
    parts = group_by_size(record)
    if len(parts) <= 1:
        return RowMessages(encode(record, spec))
    return SizedMessages([(RowMessages(encode(record.only(rows), spec)), rows) for rows in parts])


def message_bytes(record: Record, spec: StreamSpec) -> list[bytes]:
    """The messages of a record of numbers, one by one."""
    if not len(record):
        return []
    if len(record) == 1 and not isinstance(record, Paths):
        return [encode(record, spec).tobytes()]
    payloads, _ = messages_of_record(record, spec).payloads(np.arange(len(record)))
    ends = np.cumsum(payloads.size)
    data = np.empty(int(ends[-1]), np.uint8)
    payloads.copy_to(data, ends - payloads.size)
    return [part.tobytes() for part in np.split(data, ends[:-1])]
