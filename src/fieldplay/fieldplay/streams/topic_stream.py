"""A feed is what becomes of a stream on one topic: spans of records, and their messages when they are asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.cdr_layout import Layout, layout_of
from fieldplay.messages.codec import encode, group_by_size, set_axes, set_stamp
from fieldplay.messages.records import Paths, Pose, Record
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.message_block import BytesLike, Chunks, MessageBlock
from fieldplay.streams.stream import Span, Stream

PATH = "nav_msgs/msg/Path"
COUNT_SIZE = 4
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


Encoded = tuple[MessageBlock, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class LazyBlock:
    """The messages of one span in the order of their times, encoded when some of its rows are asked for.

    `encode` gives the messages of some rows (ascending), and which of the rows (n,) they are: a defective row has no
    message. What `is_heavy` is read message by message and may be large, as images are.
    """

    encode: Callable[[NDArray[np.intp]], Encoded]
    is_heavy: bool = False

    @classmethod
    def of_rows(cls, data: NDArray[np.uint8]) -> "LazyBlock":
        """Messages of one size (n, size)."""

        def encode(rows: NDArray[np.intp]) -> Encoded:
            is_contiguous = len(rows) and rows[-1] - rows[0] == len(rows) - 1
            chosen = data[rows[0] : rows[-1] + 1] if is_contiguous else data[rows]
            return MessageBlock.of_rows(chosen), np.ones(len(rows), bool)

        return cls(encode)

    @classmethod
    def of_sizes(cls, parts: "Sequence[tuple[LazyBlock, NDArray[np.intp]]]") -> "LazyBlock":
        """Messages of several sizes: parts, and the rows (ascending) that each part has."""

        def encode(rows: NDArray[np.intp]) -> Encoded:
            blocks: list[tuple[MessageBlock, NDArray[np.intp]]] = []
            for messages, own in parts:
                index = np.minimum(np.searchsorted(own, rows), len(own) - 1)
                requested = np.flatnonzero(own[index] == rows)
                if len(requested):
                    blocks.append((messages.encode(index[requested])[0], requested))
            return MessageBlock.merged(blocks), np.ones(len(rows), bool)

        return cls(encode)

    @classmethod
    def one_by_one(cls, make: Callable[[int], Chunks | None], *, is_heavy: bool = True) -> "LazyBlock":
        """Messages that are made row by row; a row that gives none is defective."""

        def encode(rows: NDArray[np.intp]) -> Encoded:
            messages = [make(int(row)) for row in rows]
            block = MessageBlock.of_messages([chunks for chunks in messages if chunks is not None])
            return block, np.array([chunks is not None for chunks in messages], bool)

        return cls(encode, is_heavy)


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
    messages: Callable[[Any], LazyBlock]
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

    def load(self, index: int) -> tuple[NDArray[np.int64], LazyBlock]:
        """The times (n,) at which the messages of a span leave, and the messages."""
        record = self.records(index)
        return record.leaves_ns, self.messages(record)


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


def messages_of_record(record: Record, spec: StreamSpec) -> LazyBlock:
    """The messages of a record of numbers, of one size or of several."""
    if isinstance(record, Paths):
        return LazyBlock.one_by_one(path_messages(record, spec.frame).__getitem__, is_heavy=False)
    parts = group_by_size(record)
    if len(parts) <= 1:
        return LazyBlock.of_rows(encode(record, spec))
    return LazyBlock.of_sizes([(LazyBlock.of_rows(encode(record.only(rows), spec)), rows) for rows in parts])


def message_bytes(record: Record, spec: StreamSpec) -> list[bytes]:
    """The messages of a record of numbers, one by one."""
    if not len(record):
        return []
    if len(record) == 1 and not isinstance(record, Paths):
        return [encode(record, spec).tobytes()]
    block, _ = messages_of_record(record, spec).encode(np.arange(len(record)))
    return [bytes(message) for message in block.tolist()]
