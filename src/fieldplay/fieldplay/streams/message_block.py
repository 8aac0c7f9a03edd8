"""Encoded messages: those of one topic as a block, those of many topics merged in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import BagError

LARGE_BYTES = 20_000  # of a message: for less it costs more to let Python's lock go and to get it back
BytesLike = bytes | bytearray | memoryview | NDArray[np.generic]
Chunks = Sequence[BytesLike]  # bytes of one message that follow each other, as an image's header and its pixels
Positions = NDArray[np.integer]


def scatter(rows: NDArray[np.uint8], target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
    """Copy row i of rows (n, k) to target[offset[i] : offset[i] + k], for contiguous targets.

    numpy sees the target as one item of k bytes per address, overlapping, so that a row is one assignment.
    """
    width = rows.shape[1]
    if width == 0 or len(rows) == 0:
        return
    item = np.dtype((np.void, width))
    items: NDArray[np.void] = np.ndarray((len(target) - width + 1,), item, buffer=target, strides=(1,))
    items[offset] = rows.view(item)[:, 0]


class RawMessage(NamedTuple):
    """A message as it is stored and published.

    Args:
        topic: its full name.
        log_time_ns: when it is published or was logged, in ns since 1970; its header may have another time.
        data: the message as CDR, with the four bytes of the encapsulation header.
        type: its type, such as `sensor_msgs/msg/Imu`, where that is known.
    """

    topic: str
    log_time_ns: int
    data: bytes
    type: str = ""

    @property
    def stamp_ns(self) -> int:
        """The log time, by the name that times have in records; it is not the time in the message's header."""
        return self.log_time_ns


class MessageBlock:
    """The bytes of n messages: rows of one size, chunks of any size, or several of these in one order.

    Args:
        size: bytes of each message (n,).
        parts: rows or chunks, with their indices; use `of_rows`, `of_messages` and `merged`.
    """

    def __init__(self, size: NDArray[np.int64], parts: "Sequence[_Part]") -> None:
        self.size = size  # bytes of each message (n,)
        self._parts = parts

    def __len__(self) -> int:
        return len(self.size)

    @classmethod
    def of_rows(cls, rows: NDArray[np.uint8]) -> "MessageBlock":
        """Make a block of messages of one size.

        Args:
            rows: bytes (n, size), copied only where those of a row are not contiguous.

        Returns:
            The block.

        Raises:
            BagError: the rows have another shape or type.
        """
        if rows.ndim != 2 or rows.dtype != np.uint8:
            raise BagError(f"rows of messages are uint8 of shape (n, size), got {rows.dtype} of shape {rows.shape}")
        rows = rows if rows.strides[1] == 1 else np.ascontiguousarray(rows)
        return cls(np.full(len(rows), rows.shape[1], np.int64), [(None, rows)])

    @classmethod
    def of_messages(cls, messages: Sequence[BytesLike | Chunks]) -> "MessageBlock":
        """Make a block of messages of any size.

        Args:
            messages: each as bytes, or in chunks that follow each other; they are not copied.

        Returns:
            The block.
        """
        if all(type(message) is bytes for message in messages):
            return cls(np.fromiter(map(len, messages), np.int64, len(messages)), [(None, cast(list[bytes], messages))])
        chunks = [tuple(_flat(chunk) for chunk in _chunks(message)) for message in messages]
        return cls(np.array([sum(map(len, each)) for each in chunks], np.int64), [(None, chunks)])

    @classmethod
    def merged(cls, sources: "Sequence[tuple[MessageBlock, Positions]]") -> "MessageBlock":
        """Merge blocks in one order.

        Args:
            sources: blocks, each with the indices of its messages in the result, ascending.

        Returns:
            The block; no message is copied.
        """
        size = np.zeros(sum(len(positions) for _, positions in sources), np.int64)
        parts: list[_Part] = []
        for block, positions in sources:
            size[positions] = block.size
            parts += [(positions if own is None else positions[own], contents) for own, contents in block._parts]
        return cls(size, parts)

    def copy_to(self, target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
        """Copy all messages.

        Args:
            target: bytes to write to.
            offset: where each message starts (n,).
        """
        for positions, contents in self._parts:
            own = offset if positions is None else offset[positions]
            if isinstance(contents, np.ndarray):
                scatter(contents, target, own)
            else:
                _copy_chunks(contents, target, own)

    def part(self, start: int, stop: int) -> "MessageBlock":
        """Select consecutive messages, without a copy of their bytes.

        Args:
            start: the first index.
            stop: the index after the last one.

        Returns:
            The block.
        """
        parts: list[_Part] = []
        for positions, contents in self._parts:
            if positions is None:
                parts.append((None, contents[start:stop]))
                continue
            low, high = np.searchsorted(positions, (start, stop)).tolist()
            if low < high:
                parts.append((positions[low:high] - start, contents[low:high]))
        return MessageBlock(self.size[start:stop], parts)

    def tolist(self) -> Sequence[bytes | memoryview]:
        """List the messages.

        Returns:
            The bytes of each message; single chunks are not copied.
        """
        messages: list[bytes | memoryview] = [b""] * len(self)
        for positions, contents in self._parts:
            own = range(len(self)) if positions is None else positions.tolist()
            if isinstance(contents, np.ndarray):
                width, data = contents.shape[1], contents.tobytes()
                for index, start in zip(own, range(0, len(data), width), strict=True):
                    messages[index] = data[start : start + width]
            else:
                for index, chunks in zip(own, contents, strict=True):
                    messages[index] = chunks if isinstance(chunks, bytes) else _complete(chunks)
        return messages


# Where the messages of a part stand in the block, ascending, None for all of it; and their rows or chunks.
_Part = tuple[Positions | None, NDArray[np.uint8] | Sequence[bytes | tuple[memoryview, ...]]]


def _copy_chunks(
    messages: Sequence[bytes | tuple[memoryview, ...]], target: NDArray[np.uint8], offset: Positions
) -> None:
    view = target.data
    for chunks, start in zip(messages, offset.tolist(), strict=True):
        for chunk in (chunks,) if isinstance(chunks, bytes) else chunks:
            end = start + len(chunk)
            if len(chunk) < LARGE_BYTES:
                view[start:end] = chunk
            else:
                target[start:end] = np.frombuffer(chunk, np.uint8)  # other threads go on meanwhile
            start = end


def _chunks(message: BytesLike | Chunks) -> Chunks:
    if isinstance(message, bytes | bytearray | memoryview | np.ndarray):
        return (message,)
    return message


def _complete(chunks: Sequence[memoryview]) -> bytes | memoryview:
    """The bytes of a message; a large one that is in one chunk is not copied."""
    size = sum(map(len, chunks))
    if len(chunks) == 1 and isinstance(data := chunks[0].obj, bytes) and len(data) == size:
        return data
    if size < LARGE_BYTES:
        return b"".join(chunks)
    if len(chunks) == 1:
        return chunks[0]
    buffer = np.empty(size, np.uint8)
    _copy_chunks([tuple(chunks)], buffer, np.zeros(1, np.int64))
    return buffer.data


def _flat(chunk: BytesLike) -> memoryview:
    if type(chunk) is bytes:
        return memoryview(chunk)
    if isinstance(chunk, np.ndarray):
        return np.ascontiguousarray(chunk).reshape(-1).view(np.uint8).data
    return memoryview(chunk).cast("B")


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedBlock:
    """n messages in the order of their times: whose they are, when, and their bytes.

    `channel` (n,) holds the numbers that BagWriter.add_channel gave, `stamp_ns` (n,) is not negative and does not
    decrease. A bag costs some 0.1 ms per batch however small, so batches hold thousands of small messages.
    """

    channel: NDArray[np.integer]
    stamp_ns: NDArray[np.int64]
    block: MessageBlock

    def __post_init__(self) -> None:
        if self.stamp_ns.dtype != np.int64 or self.channel.dtype.kind not in "iu":
            raise BagError(f"stamps are int64, channels integers, got {self.stamp_ns.dtype} and {self.channel.dtype}")
        shapes = (self.channel.shape, self.stamp_ns.shape, self.block.size.shape)
        if len(set(shapes)) != 1 or self.stamp_ns.ndim != 1:
            raise BagError(f"channels, stamps and messages of a batch are equally many, got shapes {shapes}")
        if len(self) and self.stamp_ns[0] < 0:
            raise BagError(f"a bag holds no time before 1970, got {self.stamp_ns[0]} ns")
        if (self.stamp_ns[1:] < self.stamp_ns[:-1]).any():
            raise BagError("the messages of a batch are in the order of their times")

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes of each message (n,)."""
        return self.block.size

    def part(self, start: int, stop: int) -> "MergedBlock":
        """The messages start <= i < stop."""
        if (start, stop) == (0, len(self)):
            return self
        return MergedBlock(
            channel=self.channel[start:stop],
            stamp_ns=self.stamp_ns[start:stop],
            block=self.block.part(start, stop),
        )


def messages_of_channel(channel: int, stamp_ns: NDArray[np.int64], block: MessageBlock) -> MergedBlock:
    """Messages that are all of one channel."""
    return MergedBlock(channel=np.full(len(stamp_ns), channel), stamp_ns=stamp_ns, block=block)


def merge_messages(batches: Sequence[MergedBlock]) -> MergedBlock:
    """Merge batches by time; at equal times in the order of the batches."""
    if len(batches) == 1:
        return batches[0]
    stamp_ns = np.concatenate([np.zeros(0, np.int64), *(batch.stamp_ns for batch in batches)])
    channel = np.concatenate([np.zeros(0, np.int64), *(batch.channel for batch in batches)])
    order = np.argsort(stamp_ns, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    ends = np.cumsum([len(batch) for batch in batches])[:-1]
    sources = (
        [(batch.block, indices) for batch, indices in zip(batches, np.split(position, ends), strict=True)]
        if batches
        else []
    )
    return MergedBlock(channel=channel[order], stamp_ns=stamp_ns[order], block=MessageBlock.merged(sources))
