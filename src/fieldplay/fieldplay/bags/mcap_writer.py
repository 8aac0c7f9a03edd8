"""Bags in MCAP files, profile ros2, as rosbag2's plugin of that name reads them."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags import mcap_records as records
from fieldplay.bags.compression import Compression, compress
from fieldplay.bags.mcap_records import (
    INDEX_ENTRY,
    LENGTH_BEFORE_PAYLOAD,
    MESSAGE,
    MESSAGE_PREFIX,
    ChunkIndex,
    message_index,
)
from fieldplay.bags.metadata import information_text, qos_text
from fieldplay.bags.storage import Channel, Contents
from fieldplay.streams.message_block import MergedBlock, scatter

CHUNK_SIZE = 4 << 20

# Chunks have checksums, but not those that are stored as they are and hold a message of this size: for images the
# checksum would take as long as all the rest of writing. rosbag2 itself computes none.
LARGE = 64 << 10


@dataclass(frozen=True)
class Runs:
    """Messages ordered by channel: `order` (n,), and each channel's stretch of it, `starts` and `ends`."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]


def runs_by_channel(channel: NDArray[np.uint16]) -> Runs:
    """Group n > 0 messages by channel; within a channel they keep their order."""
    order = np.argsort(channel, kind="stable")
    changes = np.flatnonzero(np.diff(channel[order])) + 1
    return Runs(order, np.concatenate(([0], changes)), np.concatenate((changes, [len(channel)])))


def count_up(channel: NDArray[np.uint16], counts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The sequence number of each message (n,) of n > 0 in its channel; counts, by channel, go up with it."""
    runs = runs_by_channel(channel)
    number = np.empty(len(channel), np.uint32)
    lengths = runs.ends - runs.starts
    ordered = channel[runs.order]
    number[runs.order] = np.arange(len(channel)) - np.repeat(runs.starts, lengths) + counts[ordered]
    counts[ordered[runs.starts]] += lengths.astype(np.uint32)
    return number


def record_sizes(messages: MergedBlock) -> NDArray[np.int64]:
    """Bytes of each message's record (n,)."""
    return messages.size + MESSAGE_PREFIX.itemsize


class Chunk:
    """Message records, one behind the other in one buffer, and what their index needs."""

    def __init__(self, room: int) -> None:
        self._buffer = np.empty(room, np.uint8)
        self.clear()

    def clear(self) -> None:
        self.used = 0
        self.largest = 0
        self._channels: list[NDArray[np.uint16]] = []
        self._entries: list[NDArray[np.void]] = []

    def append(self, messages: MergedBlock, sequence: NDArray[np.uint32]) -> None:
        """Lay out n > 0 messages; only the first of a chunk makes the buffer grow where it has no room."""
        size = messages.size
        ends = np.cumsum(size + MESSAGE_PREFIX.itemsize) + self.used
        starts = ends - size - MESSAGE_PREFIX.itemsize
        if ends[-1] > len(self._buffer):
            self._grow(int(ends[-1]))
        channel = messages.channel.astype(np.uint16)
        prefix = np.empty(len(messages), MESSAGE_PREFIX)
        prefix["op"] = MESSAGE
        prefix["length"] = size + LENGTH_BEFORE_PAYLOAD
        prefix["channel"] = channel
        prefix["sequence"] = sequence
        prefix["log"] = prefix["publish"] = messages.stamp_ns
        scatter(prefix.view(np.uint8).reshape(len(messages), -1), self._buffer, starts)
        messages.block.copy_to(self._buffer, starts + MESSAGE_PREFIX.itemsize)
        self._remember(channel, messages.stamp_ns, starts)
        self.used = int(ends[-1])
        self.largest = max(self.largest, int(size.max()))

    @property
    def data(self) -> memoryview:
        """The records, until the chunk is cleared."""
        return self._buffer[: self.used].data

    @property
    def span_ns(self) -> tuple[int, int]:
        """The times of the first and the last message."""
        return min(int(e["log"][0]) for e in self._entries), max(int(e["log"][-1]) for e in self._entries)

    def index_records(self) -> Iterator[tuple[int, bytes]]:
        """For each channel its number and its record of times and places in the chunk."""
        channel = np.concatenate(self._channels)
        runs = runs_by_channel(channel)
        entries = np.concatenate(self._entries)[runs.order]
        for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
            number = int(channel[runs.order[start]])
            yield number, message_index(number, entries[start:end].tobytes())

    def _grow(self, room: int) -> None:
        grown = np.empty(room, np.uint8)
        grown[: self.used] = self._buffer[: self.used]
        self._buffer = grown

    def _remember(self, channel: NDArray[np.uint16], stamp_ns: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        entries = np.empty(len(channel), INDEX_ENTRY)
        entries["log"] = stamp_ns
        entries["offset"] = starts
        self._channels.append(channel)
        self._entries.append(entries)


class McapWriter:
    """A bag's MCAP file while it is written.

    Messages go into chunks of `chunk_size` bytes; one that is larger has a chunk to itself.
    """

    name = "mcap"

    def __init__(self, file: BinaryIO, *, compression: Compression = "none", chunk_size: int = CHUNK_SIZE) -> None:
        self._file = file
        self._compression = compression
        self._chunk_size = chunk_size
        self._chunk = Chunk(chunk_size)
        self._chunk_indexes: list[ChunkIndex] = []
        self._schemas: dict[str, bytes] = {}
        self._channels: list[bytes] = []
        self._sequence: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self._position = 0
        self._write(records.MAGIC + records.header("ros2", "fieldplay"))

    @classmethod
    def create(cls, path: Path, *, compression: Compression, chunk_size: int) -> "McapWriter":
        return cls(path.open("xb"), compression=compression, chunk_size=chunk_size)

    def add_channel(self, channel: Channel) -> None:
        """Make the next channel known, ahead of the chunks that hold its messages."""
        if channel.msgtype not in self._schemas:
            number = len(self._schemas) + 1
            self._schemas[channel.msgtype] = records.schema(number, channel.msgtype, "ros2msg", channel.msgdef)
            self._write(self._schemas[channel.msgtype])
        metadata = {"offered_qos_profiles": qos_text(channel.qos), "topic_type_hash": channel.type_hash}
        schema_number = list(self._schemas).index(channel.msgtype) + 1
        self._channels.append(records.channel(len(self._channels) + 1, schema_number, channel.topic, metadata))
        self._sequence = np.append(self._sequence, np.uint32(0))
        self._write(self._channels[-1])

    def write(self, messages: MergedBlock) -> None:
        """Lay out n > 0 messages of known channels."""
        sequence = count_up(messages.channel.astype(np.uint16), self._sequence)
        ends = np.cumsum(record_sizes(messages))
        start = 0
        while start < len(messages):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + self._chunk_size - self._chunk.used, side="right"))
            if stop <= start and self._chunk.used:
                self._flush()
                continue
            stop = max(stop, start + 1)
            self._chunk.append(messages.part(start, stop), sequence[start:stop])
            start = stop

    @property
    def position(self) -> int:
        """Bytes of the file, without those of the chunk that is being filled."""
        return self._position

    def write_chunk(self, messages: MergedBlock) -> tuple[int, list[int]]:
        """Put n > 0 messages of known channels into a chunk of their own, and that into the file at once.

        Where the chunk begins in the file, and each message in it. What fails leaves `position` behind the last chunk.
        """
        if self._chunk.used:
            self._flush()
        start = self._position
        ends = np.cumsum(record_sizes(messages))
        try:
            self._chunk.append(messages, count_up(messages.channel.astype(np.uint16), self._sequence))
            self._flush()
            self._file.flush()
        except BaseException:
            self._position = start
            raise
        return start, (ends - record_sizes(messages)).tolist()

    def finish(self, contents: Contents, file_name: str) -> None:
        """Write what is left, then the summary by which readers find everything, and close the file."""
        if self._chunk.used:
            self._flush()
        text = information_text(contents, storage=self.name, file=file_name)
        metadata = records.metadata("rosbag2", {"serialized_metadata": text})
        metadata_index = records.metadata_index(self._position, len(metadata), "rosbag2")
        self._write(metadata, records.data_end())
        self._write_summary(contents, metadata_index)
        self._file.close()

    def close(self) -> None:
        """Let go of a file that is not to be finished; OSError where even that fails."""
        self._file.close()

    def _flush(self) -> None:
        data = self._chunk.data
        stored, compression = compress(data, self._compression)
        crc = zlib.crc32(data) if compression or self._chunk.largest < LARGE else 0
        offset, span_ns = self._position, self._chunk.span_ns
        head = records.chunk_head(span_ns, size=len(data), crc=crc, compression=compression, stored=len(stored))
        self._write(head, stored)
        end = self._position
        index_offsets = {}
        for number, index in self._chunk.index_records():
            index_offsets[number] = self._position
            self._write(index)
        self._chunk_indexes.append(
            ChunkIndex(
                first_ns=span_ns[0],
                last_ns=span_ns[1],
                offset=offset,
                length=end - offset,
                index_offsets=index_offsets,
                index_length=self._position - end,
                compression=compression,
                compressed_size=len(stored),
                size=len(data),
            )
        )
        self._chunk.clear()

    def _write_summary(self, contents: Contents, metadata_index: bytes) -> None:
        counts = contents.counts.tolist()
        span_ns = (contents.first_ns, contents.last_ns) if contents.message_count else (0, 0)
        statistics = records.statistics(
            counts, schemas=len(self._schemas), chunks=len(self._chunk_indexes), span_ns=span_ns
        )
        groups = {
            records.SCHEMA: b"".join(self._schemas.values()),
            records.CHANNEL: b"".join(self._channels),
            records.STATISTICS: statistics,
            records.METADATA_INDEX: metadata_index,
            records.CHUNK_INDEX: b"".join(map(records.chunk_index, self._chunk_indexes)),
        }
        start = position = self._position
        offsets = []
        for op, group in groups.items():
            if group:
                offsets.append(records.summary_offset(op, position, len(group)))
            position += len(group)
        summary = b"".join((*groups.values(), *offsets, records.footer_before_crc(start, position)))
        self._write(summary, zlib.crc32(summary).to_bytes(4, "little"), records.MAGIC)

    def _write(self, *parts: bytes | memoryview) -> None:
        for part in parts:
            self._file.write(part)
            self._position += len(part)
