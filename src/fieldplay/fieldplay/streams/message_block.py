"""Batches of messages in the order of their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import BagError

LARGE_BYTES = 20_000  # of a message: for less it costs more to let Python's lock go and to get it back
BytesLike = bytes | bytearray | memoryview | NDArray[np.generic]


# The bytes of many messages, and how they get to their places in a buffer with as little Python as possible.


class Payloads(Protocol):
    """The bytes of n messages."""

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes of each message (n,)."""

    def copy_to(self, target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
        """Copy message i to target[offset[i] : offset[i] + size[i]]."""

    def part(self, start: int, stop: int) -> "Payloads":
        """The messages start <= i < stop, without a copy of their bytes."""


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


class RowPayloads:
    """Messages of one size: rows (n, size) of bytes."""

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        if rows.ndim != 2 or rows.dtype != np.uint8:
            raise BagError(f"rows of messages are uint8 of shape (n, size), got {rows.dtype} of shape {rows.shape}")
        self._rows = rows if rows.strides[1] == 1 else np.ascontiguousarray(rows)

    @property
    def size(self) -> NDArray[np.int64]:
        return np.full(len(self._rows), self._rows.shape[1], np.int64)

    def copy_to(self, target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
        scatter(self._rows, target, offset)

    def part(self, start: int, stop: int) -> "RowPayloads":
        return RowPayloads(self._rows[start:stop])


class PiecePayloads:
    """Messages of any size, each in one or more pieces that follow each other, as a picture's header and its pixels."""

    def __init__(self, messages: Sequence[BytesLike | Sequence[BytesLike]]) -> None:
        self._messages = [tuple(_flat(chunk) for chunk in _chunks(message)) for message in messages]
        self._size = np.array([sum(map(len, chunks)) for chunks in self._messages], np.int64)

    @property
    def size(self) -> NDArray[np.int64]:
        return self._size

    def copy_to(self, target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
        view = target.data
        for chunks, start in zip(self._messages, offset.tolist(), strict=True):
            for chunk in chunks:
                end = start + len(chunk)
                if len(chunk) < LARGE_BYTES:
                    view[start:end] = chunk
                else:
                    target[start:end] = np.frombuffer(chunk, np.uint8)  # other threads go on meanwhile
                start = end

    def whole(self) -> list[bytes | memoryview]:
        """The messages as they are, each copied only where it is in pieces; large ones in memory of their own."""
        return [_whole(chunks, size) for chunks, size in zip(self._messages, self._size.tolist(), strict=True)]

    def part(self, start: int, stop: int) -> "PiecePayloads":
        part = PiecePayloads(())
        part._messages = self._messages[start:stop]
        part._size = self._size[start:stop]
        return part


class MergedPayloads:
    """Several payloads in one order: message k of a source is message position[k] of the whole, position ascending."""

    def __init__(self, sources: Sequence[tuple[Payloads, NDArray[np.int64]]]) -> None:
        self._sources = sources
        self._size = np.zeros(sum(len(position) for _, position in sources), np.int64)
        for payloads, position in sources:
            self._size[position] = payloads.size

    @property
    def size(self) -> NDArray[np.int64]:
        return self._size

    def copy_to(self, target: NDArray[np.uint8], offset: NDArray[np.int64]) -> None:
        for payloads, position in self._sources:
            payloads.copy_to(target, offset[position])

    def part(self, start: int, stop: int) -> "MergedPayloads":
        parts: list[tuple[Payloads, NDArray[np.int64]]] = []
        for payloads, position in self._sources:
            low, high = np.searchsorted(position, (start, stop)).tolist()
            if low < high:
                parts.append((payloads.part(low, high), position[low:high] - start))
        return MergedPayloads(parts)


def _chunks(message: BytesLike | Sequence[BytesLike]) -> Sequence[BytesLike]:
    if isinstance(message, bytes | bytearray | memoryview | np.ndarray):
        return (message,)
    return message


def _whole(chunks: Sequence[memoryview], size: int) -> bytes | memoryview:
    if len(chunks) == 1 and isinstance(data := chunks[0].obj, bytes) and len(data) == size:
        return data
    if size < LARGE_BYTES:
        return b"".join(chunks)
    buffer, message = np.empty(size, np.uint8), PiecePayloads((chunks,))
    message.copy_to(buffer, np.zeros(1, np.int64))
    return buffer.data


def _flat(chunk: BytesLike) -> memoryview:
    if isinstance(chunk, np.ndarray):
        return np.ascontiguousarray(chunk).reshape(-1).view(np.uint8).data
    return memoryview(chunk).cast("B")


@dataclass(frozen=True, kw_only=True, eq=False)
class Messages:
    """n messages in the order of their times: whose they are, when, and their bytes.

    `channel` (n,) holds the numbers that BagWriter.add_channel gave, `stamp_ns` (n,) is not negative and does not
    decrease. A bag costs some 0.1 ms per batch however small, so batches hold thousands of small messages.
    """

    channel: NDArray[np.integer]
    stamp_ns: NDArray[np.int64]
    payloads: Payloads

    def __post_init__(self) -> None:
        if self.stamp_ns.dtype != np.int64 or self.channel.dtype.kind not in "iu":
            raise BagError(f"stamps are int64, channels integers, got {self.stamp_ns.dtype} and {self.channel.dtype}")
        shapes = (self.channel.shape, self.stamp_ns.shape, self.payloads.size.shape)
        if len(set(shapes)) != 1 or self.stamp_ns.ndim != 1:
            raise BagError(f"channels, stamps and payloads of a batch are equally many, got shapes {shapes}")
        if len(self) and self.stamp_ns[0] < 0:
            raise BagError(f"a bag holds no time before 1970, got {self.stamp_ns[0]} ns")
        if (self.stamp_ns[1:] < self.stamp_ns[:-1]).any():
            raise BagError("the messages of a batch are in the order of their times")

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes of each message (n,)."""
        return self.payloads.size

    def part(self, start: int, stop: int) -> "Messages":
        """The messages start <= i < stop."""
        if (start, stop) == (0, len(self)):
            return self
        return Messages(
            channel=self.channel[start:stop],
            stamp_ns=self.stamp_ns[start:stop],
            payloads=self.payloads.part(start, stop),
        )


def messages_of_channel(channel: int, stamp_ns: NDArray[np.int64], payloads: Payloads) -> Messages:
    """Messages that are all of one channel."""
    return Messages(channel=np.full(len(stamp_ns), channel), stamp_ns=stamp_ns, payloads=payloads)


def merge_messages(batches: Sequence[Messages]) -> Messages:
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
        [(batch.payloads, indices) for batch, indices in zip(batches, np.split(position, ends), strict=True)]
        if batches
        else []
    )
    return Messages(channel=channel[order], stamp_ns=stamp_ns[order], payloads=MergedPayloads(sources))
