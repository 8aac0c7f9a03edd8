"""Bags in MCAP files, profile ros2, as rosbag2's plugin of that name reads them."""

import sys
import zlib
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.bags import mcap_records as records
from fieldplay_messages.bags.channels import Channel
from fieldplay_messages.bags.contents import Contents
from fieldplay_messages.bags.mcap_chunk import Chunk, count_up, record_sizes
from fieldplay_messages.bags.mcap_records import ChunkPlace
from fieldplay_messages.bags.metadata import information_text, qos_text
from fieldplay_messages.feeds.messages import Messages

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compression = Literal["none", "zstd"]

CHUNK_SIZE = 4 << 20
ZSTD_LEVEL = 1  # several times as fast as the default level and hardly larger for numbers

# Chunks have checksums, but not those that are stored as they are and hold a message of this size: for pictures the
# checksum would take as long as all the rest of writing. rosbag2 itself computes none.
LARGE = 64 << 10


class McapStorage:
    """A bag's MCAP file while it is written.

    Messages go into chunks of `chunk_size` bytes; one that is larger has a chunk to itself.
    """

    name = "mcap"

    def __init__(self, file: BinaryIO, *, compression: Compression = "none", chunk_size: int = CHUNK_SIZE) -> None:
        self._file = file
        self._compression = compression
        self._chunk_size = chunk_size
        self._chunk = Chunk(chunk_size)
        self._places: list[ChunkPlace] = []
        self._schemas: dict[str, bytes] = {}
        self._channels: list[bytes] = []
        self._sequence: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self._position = 0
        self._write(records.MAGIC + records.header("ros2", "fieldplay"))

    @classmethod
    def create(cls, path: Path, *, compression: Compression, chunk_size: int) -> "McapStorage":
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

    def write(self, messages: Messages) -> None:
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
        stored, compression = self._compressed(data)
        crc = zlib.crc32(data) if compression or self._chunk.largest < LARGE else 0
        offset, span_ns = self._position, self._chunk.span_ns
        head = records.chunk_head(span_ns, size=len(data), crc=crc, compression=compression, stored=len(stored))
        self._write(head, stored)
        end = self._position
        index_offsets = {}
        for number, index in self._chunk.index_records():
            index_offsets[number] = self._position
            self._write(index)
        self._places.append(
            ChunkPlace(
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

    def _compressed(self, data: memoryview) -> tuple[bytes | memoryview, str]:
        """What to store of a chunk, and the name of its compression: none where it would not make the chunk smaller."""
        if self._compression == "zstd":
            compressed = zstd.compress(data, ZSTD_LEVEL)
            if len(compressed) < len(data):
                return compressed, "zstd"
        return data, ""

    def _write_summary(self, contents: Contents, metadata_index: bytes) -> None:
        counts = contents.counts.tolist()
        span_ns = (contents.first_ns, contents.last_ns) if contents.message_count else (0, 0)
        statistics = records.statistics(counts, schemas=len(self._schemas), chunks=len(self._places), span_ns=span_ns)
        groups = {
            records.SCHEMA: b"".join(self._schemas.values()),
            records.CHANNEL: b"".join(self._channels),
            records.STATISTICS: statistics,
            records.METADATA_INDEX: metadata_index,
            records.CHUNK_INDEX: b"".join(map(records.chunk_index, self._places)),
        }
        start = position = self._position
        offsets = []
        for op, group in groups.items():
            if group:
                offsets.append(records.summary_offset(op, position, len(group)))
            position += len(group)
        summary = b"".join((*groups.values(), *offsets, records.footer_before_crc(start, position)))
        self._write(summary, zlib.crc32(summary).to_bytes(4, "little"), records.MAGIC)

    def _write(self, *pieces: bytes | memoryview) -> None:
        for piece in pieces:
            self._file.write(piece)
            self._position += len(piece)
