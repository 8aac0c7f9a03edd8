"""MCAP files from their beginning to wherever they end: also those that a crash or a full disk has cut off."""

import os
import struct
import sys
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fieldplay_messages.bags.mcap_records import CHANNEL, CHUNK, DATA_END, FOOTER, HEADER, MAGIC, MESSAGE, SCHEMA
from fieldplay_messages.batches import Topic

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LZ4: Any = import_module("lz4.frame")  # which has no types
HEAD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")
CHUNK_HEAD = struct.Struct("<QQQI")
LARGEST_RECORD = 1 << 32
LARGEST_TIME_NS = (1 << 63) - 1


class McapError(Exception):
    """What keeps the rest of a file, or a chunk of it, from being read."""


class StoredMessage(NamedTuple):
    """A message as it lies in a storage file; cdr is whether its bytes are CDR."""

    topic: Topic
    stamp_ns: int
    data: bytes | memoryview
    is_cdr: bool


@dataclass
class McapFile:
    """Reads a file record by record; what is damaged is told in `faults` with its place."""

    path: Path
    faults: list[str] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    position: int = 0
    _schemas: dict[int, str] = field(default_factory=dict)
    _channels: dict[int, tuple[Topic, bool]] = field(default_factory=dict)

    def messages(self) -> Iterator[StoredMessage]:
        """All messages that can be read, in the order of the file."""
        with self.path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                self.faults.append("expected an MCAP file, got other first bytes")
                return
            ended = yield from self._records(file)
            file.seek(-len(MAGIC), os.SEEK_END)
            if not ended or file.read() != MAGIC:
                self.faults.append(f"the file was cut off, after byte {self.position}: other readers may refuse it")

    def _records(self, file: BinaryIO) -> Generator[StoredMessage, None, bool]:
        """The records of a file, and whether its data came to an end as they should."""
        size = self.path.stat().st_size
        while True:
            self.position = file.tell()
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                return False
            kind, length = HEAD.unpack(head)
            if length > size - file.tell():
                if kind == CHUNK:
                    yield from self._cut_chunk(file.read())
                return False
            if kind in (DATA_END, FOOTER):
                return True
            if kind in (HEADER, SCHEMA, CHANNEL, MESSAGE, CHUNK):
                yield from self._contents(kind, memoryview(file.read(length)))
            else:
                file.seek(length, 1)

    def _contents(self, kind: int, content: memoryview) -> Iterator[StoredMessage]:
        try:
            if kind == CHUNK:
                yield from self._inner(memoryview(_chunk_bytes(content)))
            else:
                yield from self._record(kind, content)
        except (McapError, struct.error, UnicodeDecodeError) as error:
            self.faults.append(f"the record at byte {self.position} is damaged: {error}")

    def _inner(self, records: memoryview) -> Iterator[StoredMessage]:
        """The records of a chunk, as far as they are whole."""
        place = 0
        while place + HEAD.size <= len(records):
            kind, length = HEAD.unpack_from(records, place)
            begin = place + HEAD.size
            if begin + length > len(records):
                raise McapError(f"expected {length} more bytes in its chunk, got {len(records) - begin}")
            yield from self._record(kind, records[begin : begin + length])
            place = begin + length

    def _record(self, kind: int, content: memoryview) -> Iterator[StoredMessage]:
        if kind == MESSAGE:
            number, _, log_ns, _ = MESSAGE_HEAD.unpack_from(content)
            topic, is_cdr = self._channel(number)
            yield StoredMessage(topic, min(log_ns, LARGEST_TIME_NS), content[MESSAGE_HEAD.size :], is_cdr)
        elif kind == SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            self._schemas[number], _ = _text(content, 2)
        elif kind == CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            name, place = _text(content, 4)
            encoding, _ = _text(content, place)
            topic = Topic(name, self._schemas.get(schema, ""))
            self._channels[number] = (topic, encoding == "cdr")
            if topic not in self.topics:
                self.topics.append(topic)

    def _channel(self, number: int) -> tuple[Topic, bool]:
        if number not in self._channels:
            raise McapError(f"a message is of channel {number}, which was not introduced")
        return self._channels[number]

    def _cut_chunk(self, content: bytes) -> Iterator[StoredMessage]:
        """What a chunk holds of which the end is missing."""
        try:
            yield from self._inner(memoryview(_chunk_bytes(memoryview(content), is_cut=True)))
        except (McapError, struct.error, UnicodeDecodeError):
            return  # the file's end is told anyway


def _chunk_bytes(content: memoryview, *, is_cut: bool = False) -> bytes:
    """The records in a chunk; of one that is cut, as many bytes as there are."""
    *_, size, checksum = CHUNK_HEAD.unpack_from(content)
    compression, place = _text(content, CHUNK_HEAD.size)
    stored = content[place + 8 :]
    if size > LARGEST_RECORD:
        raise McapError(f"expected a chunk of a usual size, got one of {size} bytes")
    data = _decompressed(compression, stored, size)
    if is_cut:
        return data
    if len(data) != size:
        raise McapError(f"expected {size} bytes in the chunk, got {len(data)}")
    if checksum and zlib.crc32(data) != checksum:
        raise McapError("the checksum of its chunk does not fit")
    return data


def _decompressed(compression: str, stored: memoryview, size: int) -> bytes:
    """The bytes before compression, at most `size` of them, or as many as can be made of what is there."""
    try:
        if compression == "":
            return bytes(stored)
        if compression == "zstd":
            made: bytes = zstd.ZstdDecompressor().decompress(bytes(stored), max_length=size)
            return made
        if compression == "lz4":
            made = LZ4.LZ4FrameDecompressor().decompress(bytes(stored), max_length=size)
            return made
    except (zstd.ZstdError, RuntimeError, EOFError) as error:
        raise McapError(f"{compression}: {error}") from None
    raise McapError(f"expected a compression that is known, got '{compression}'")


def _text(content: memoryview, place: int) -> tuple[str, int]:
    """A text and where it ends."""
    (length,) = struct.unpack_from("<I", content, place)
    end = place + 4 + length
    if end > len(content):
        raise McapError("a text in it is longer than it")
    return bytes(content[place + 4 : end]).decode(), end
