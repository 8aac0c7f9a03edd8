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
    """Encode growing paths, which share the bytes of their common poses.

    Args:
        record: n rows.
        frame: of the messages.

    Returns:
        Each message in two chunks: up to its first pose, and the other poses.
    """
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
    """The messages of one span in time order, encoded when some of its rows are requested.

    Args:
        encode: makes messages of some rows (ascending), and says which of the rows (n,) they are: a defective row has
            no message.
        is_heavy: whether messages are made one by one and may be large, as images.
    """

    encode: Callable[[NDArray[np.intp]], Encoded]
    is_heavy: bool = False

    @classmethod
    def of_rows(cls, data: NDArray[np.uint8]) -> "LazyBlock":
        """Wrap encoded messages of one size.

        Args:
            data: bytes (n, size).

        Returns:
            The block.
        """

        def encode(rows: NDArray[np.intp]) -> Encoded:
            is_contiguous = len(rows) and rows[-1] - rows[0] == len(rows) - 1
            chosen = data[rows[0] : rows[-1] + 1] if is_contiguous else data[rows]
            return MessageBlock.of_rows(chosen), np.ones(len(rows), bool)

        return cls(encode)

    @classmethod
    def of_sizes(cls, parts: "Sequence[tuple[LazyBlock, NDArray[np.intp]]]") -> "LazyBlock":
        """Combine messages of several sizes.

        Args:
            parts: blocks, each with its rows of the result, ascending.

        Returns:
            The block.
        """

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
    def one_by_one(cls, make: Callable[[int], BytesLike | Chunks | None], *, is_heavy: bool = True) -> "LazyBlock":
        """Make messages row by row.

        Args:
            make: makes the chunks of a row's message; None of a defective row.
            is_heavy: whether they may be large.

        Returns:
            The block.
        """

        def encode(rows: NDArray[np.intp]) -> Encoded:
            messages = [make(row) for row in rows.tolist()]
            block = MessageBlock.of_messages([chunks for chunks in messages if chunks is not None])
            return block, np.array([chunks is not None for chunks in messages], bool)

        return cls(encode, is_heavy)


@dataclass(frozen=True, kw_only=True)
class TopicStream:
    """A topic: its rows, span by span, and the messages that they become.

    Use `records` for rows and `load` for messages. Rows that are read one by one, as images, are checked when they are
    read: a defective one is reported and raises ArchiveError.

    Args:
        topic: its full name.
        msgtype: the type of its messages.
        spans: the spans, in no particular order.
        records: loads the rows of a span.
        messages: makes the messages of a record.
        frame: of the messages.
        child_frame: of the messages.
        rank: at equal times the lower one is first, then the earlier topic stream.
        latched: kept for late subscribers (transient local).
        static: belongs to no time: it is published first, whatever the start.
        stream: the id of the stream that it is made of.
        is_carried: whether the last message of a latched topic before the start is published at the start.
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
        """Whether its last message before the start is published at the start."""
        return self.latched and self.is_carried

    def load(self, index: int) -> tuple[NDArray[np.int64], LazyBlock]:
        """Load a span.

        Args:
            index: of the span.

        Returns:
            The times (n,) at which its messages are published, and the messages, which are not encoded yet.
        """
        record = self.records(index)
        return record.leaves_ns, self.messages(record)


def numeric_topic_stream(
    stream: Stream, spec: StreamSpec, topic: str, *, rank: int, latched: bool = False, static: bool = False
) -> TopicStream:
    """Make a topic stream of records of numbers.

    Args:
        stream: of the records.
        spec: type and frames of the messages.
        topic: its full name.
        rank: see `TopicStream`.
        latched: kept for late subscribers.
        static: belongs to no time.

    Returns:
        The topic stream.
    """
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
    """Encode a record of numbers, when rows of it are requested where sizes differ.

    Args:
        record: n rows.
        spec: type and frames of the messages.

    Returns:
        The messages.
    """
    if isinstance(record, Paths):
        return LazyBlock.one_by_one(path_messages(record, spec.frame).__getitem__, is_heavy=False)
    parts = group_by_size(record)
    if len(parts) <= 1:
        return LazyBlock.of_rows(encode(record, spec))
    return LazyBlock.of_sizes([(LazyBlock.of_rows(encode(record.only(rows), spec)), rows) for rows in parts])


def message_bytes(record: Record, spec: StreamSpec) -> list[bytes]:
    """Encode a record of numbers at once; of a single row by the fast path.

    Args:
        record: n rows.
        spec: type and frames of the messages.

    Returns:
        n messages as CDR.
    """
    if not len(record):
        return []
    if len(record) == 1 and not isinstance(record, Paths):
        return [encode(record, spec).tobytes()]
    block, _ = messages_of_record(record, spec).encode(np.arange(len(record)))
    return [bytes(message) for message in block.tolist()]
