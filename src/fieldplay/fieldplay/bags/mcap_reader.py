"""MCAP files from their start to wherever they end: also those that a crash or a full disk has cut off."""

import os
import struct
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import (
    FILES_GAIN,
    LARGEST_GAIN,
    UNPACK_LIMIT,
    too_large_message,
)
from fieldplay.bags.mcap_records import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    HEAD,
    HEADER,
    INDEX_ENTRY,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    MESSAGE_INDEX,
    METADATA,
    SCHEMA,
    chunk_bytes,
    index_entries,
    records_in,
    text_at,
    texts_at,
)
from fieldplay.bags.storage import (
    CACHE_BYTES,
    BagMessage,
    BufferPool,
    MessageOffsets,
    StoredTopic,
    UnpackedBlocks,
    offsets_by_time,
)
from fieldplay.core.errors import ArchiveError, pluralize
from fieldplay.messages.message_batches import Topic, full_type

LARGEST_TIME_NS = (1 << 63) - 1
BROKEN = (ArchiveError, struct.error, UnicodeDecodeError)
USUAL = 1024  # bytes of a record, more than most small ones have
KEPT_BYTES = CACHE_BYTES // 4  # of a chunk: larger ones are read message by message where they are not compressed
OUTSIDE = 0  # the block of messages that lie in no chunk: the file itself


class _Record(NamedTuple):
    """A record of the file: what it is, where it begins, where its content does, and how long that is.

    `there` is less where the file ends early.
    """

    op: int
    offset: int
    start: int
    length: int
    there: int


class _Plain(NamedTuple):
    """Where records lie in the file as they are, and how many bytes of them."""

    start: int
    size: int


@dataclass
class _MessageIndex:
    """Places of messages by their channels, as they are found: the block, and entries (n,) of an index within it."""

    parts: dict[int, list[tuple[int, NDArray[np.void]]]] = field(default_factory=dict)

    def add(self, number: int, entries: NDArray[np.void], block: int) -> None:
        if len(entries):
            self.parts.setdefault(number, []).append((block, entries))

    def add_one(self, content: memoryview, block: int, offset: int) -> None:
        number, _, log_ns, _ = MESSAGE_HEAD.unpack_from(content)
        self.add(number, np.array([(log_ns, offset)], INDEX_ENTRY), block)

    def forget(self, block: int) -> None:
        """Remove the messages of a block."""
        remaining = {number: [part for part in parts if part[0] != block] for number, parts in self.parts.items()}
        self.parts = {number: parts for number, parts in remaining.items() if parts}

    def blocks(self, number: int) -> Iterator[int]:
        """The blocks that hold messages of a channel, each once."""
        return iter(dict.fromkeys(block for block, _ in self.parts[number]))

    def offsets(self, number: int) -> MessageOffsets:
        """The places of the messages of a channel; times and offsets that no int64 holds become the largest."""
        parts = self.parts[number]
        entries = np.concatenate([part for _, part in parts])
        blocks = np.repeat([block for block, _ in parts], [len(part) for _, part in parts])
        stamps, offsets = (np.minimum(entries[name], LARGEST_TIME_NS).astype(np.int64) for name in ("log", "offset"))
        return offsets_by_time(stamps, blocks.astype(np.int64), offsets)


class McapReader:
    """A bag's MCAP file that is read; see StorageReader."""

    def __init__(self, path: Path, unpack_limit: int = UNPACK_LIMIT) -> None:
        self.issues: list[str] = []
        self.topics: dict[int, StoredTopic] = {}
        self.position = 0
        self.information = ""
        self.is_cut = False
        self._limit = unpack_limit
        self._packed_size = self._unpacked_size = 0  # bytes of chunks, and what they were unpacked to
        self._schemas: dict[int, tuple[str, str, str]] = {}
        self._strangers: Counter[int] = Counter()  # messages of channels that are not known
        self._has_searched = False
        self._file = path.open("rb")
        self._size = os.fstat(self._file.fileno()).st_size
        self._blocks = UnpackedBlocks(self._unpack_chunk)
        self._buffers = BufferPool()
        self._checked: set[int] = set()  # chunks whose checksum was found right
        self._plain: dict[int, _Plain | None] = {OUTSIDE: _Plain(0, self._size)}

    def close(self) -> None:
        self._file.close()

    def messages(self) -> Iterator[BagMessage]:
        for record in self._records(until=(DATA_END, FOOTER)):
            try:
                if record.op == CHUNK:
                    yield from self._messages_of_chunk(record)
                elif record.op == MESSAGE:
                    message = self._message(memoryview(self._content(record)))
                    if message is not None:
                        yield message
                else:
                    self._read_definition(record.op, memoryview(self._content(record)))
            except BROKEN as error:
                self.issues.append(f"the record at byte {record.offset} is damaged: {error}")
        for number, count in self._strangers.items():
            self.issues.append(f"{pluralize(count, 'message')} of channel {number}, which was not introduced")

    def index(self) -> Mapping[int, MessageOffsets]:
        """By the indexes behind the chunks; a chunk without one, or the last one of a file that is cut, is unpacked."""
        index = _MessageIndex()
        chunk: _Record | None = None
        unindexed: dict[int, _Record] = {}
        for record in self._records(until=(FOOTER,)):
            if record.op == MESSAGE_INDEX and chunk is not None:
                self._take_index(index, chunk, record, unindexed)
            elif record.op == CHUNK:
                chunk = unindexed[record.offset] = record
            elif record.op in (SCHEMA, CHANNEL, MESSAGE, METADATA):
                self._take(index, record)
        if chunk is not None and self.is_cut:  # behind it some of its indexes may be missing
            unindexed[chunk.offset] = chunk
        for record in unindexed.values():
            self._index_chunk(index, record)
        self._introduce(index)
        return {number: index.offsets(number) for number in index.parts if number in self.topics}

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        return map(bytes, self.views(block, offsets))

    def views(self, block: int, offsets: Sequence[int]) -> Iterator[bytes | memoryview]:
        plain = self._plain_of(block)
        data = memoryview(b"" if plain is not None else self._blocks[block])
        for offset in offsets:
            try:
                message: bytes | memoryview | None
                message = self._read_at(offset, plain) if plain is not None else _message_at(offset, data)
            except struct.error:
                message = None
            if message is None:
                raise ArchiveError(f"expected a message at byte {offset} of the chunk at byte {block}, got none")
            yield message

    def _plain_of(self, block: int) -> _Plain | None:
        """The location of the records of a large block that is not compressed, which is checked at first use."""
        if block not in self._plain:
            try:
                _, length = HEAD.unpack(os.pread(self._file.fileno(), HEAD.size, block))
                if length <= KEPT_BYTES:  # as one that is compressed: kept while its messages are read
                    self._plain[block] = None
                    return None
                content = memoryview(os.pread(self._file.fileno(), min(length, self._size), block + HEAD.size))
                compression, offset = text_at(content, CHUNK_HEAD.size)
                if compression or len(content) < length:
                    self._plain[block] = None
                else:
                    size = len(chunk_bytes(content))
                    self._plain[block] = _Plain(block + HEAD.size + offset + 8, size)
            except BROKEN as error:
                raise ArchiveError(f"the chunk at byte {block} cannot be unpacked: {error}") from None
        return self._plain[block]

    def _read_at(self, offset: int, plain: _Plain) -> bytes | None:
        """The message at an offset; a large one is read by itself, so that it need not be copied."""
        if offset >= plain.size:
            return None
        start, end, head = plain.start + offset, plain.start + plain.size, HEAD.size + MESSAGE_HEAD.size
        data = os.pread(self._file.fileno(), min(USUAL, end - start), start)
        op, length = HEAD.unpack_from(data)
        if op != MESSAGE or length < MESSAGE_HEAD.size or HEAD.size + length > end - start:
            return None
        if HEAD.size + length <= len(data):
            return data[head : HEAD.size + length]
        message = os.pread(self._file.fileno(), HEAD.size + length - head, start + head)
        return message if len(message) == HEAD.size + length - head else None

    def _records(self, *, until: tuple[int, ...]) -> Generator[_Record, None, None]:
        """The records of the file as far as they are whole, of a chunk also where its end is missing."""
        file, offset = self._file, len(MAGIC)
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
            self.issues.append("expected an MCAP file, got other first bytes")
            return
        ended = False
        while not ended:
            self.position = offset
            file.seek(offset)
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                break
            op, length = HEAD.unpack(head)
            start = offset + HEAD.size
            there = min(length, self._size - start)
            ended = there == length and op in until
            if not ended and (there == length or op == CHUNK):
                yield _Record(op, offset, start, length, there)
            if there < length:
                break
            offset = start + length
        file.seek(-len(MAGIC), os.SEEK_END)
        self.is_cut = not ended or file.read() != MAGIC
        if self.is_cut:
            what = "complete records before that are read; other readers may refuse the file"
            self.issues.append(f"the file was cut off at byte {self._size}: {what}")

    def _content(self, record: _Record) -> bytes:
        if record.op not in (HEADER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, METADATA):
            return b""
        return os.pread(self._file.fileno(), record.there, record.start)

    def _chunk_bytes(self, record: _Record) -> bytes | memoryview:
        return self._plain_bytes(self._content(record), is_cut=record.there < record.length)

    def _plain_bytes(
        self, content: bytes | memoryview, *, is_cut: bool, is_checked: bool = False
    ) -> bytes | memoryview:
        """The records of a chunk, as long as all chunks together do not unpack to far more than they are."""
        if self._unpacked_size > FILES_GAIN * self._limit and self._unpacked_size > LARGEST_GAIN * self._packed_size:
            raise ArchiveError(too_large_message(self._limit))
        plain = chunk_bytes(memoryview(content), is_cut=is_cut, limit=self._limit, is_checked=is_checked)
        self._packed_size, self._unpacked_size = self._packed_size + len(content), self._unpacked_size + len(plain)
        return plain

    def _messages_of_chunk(self, record: _Record) -> Iterator[BagMessage]:
        try:
            for op, _, content in records_in(memoryview(self._chunk_bytes(record))):
                if op == MESSAGE:
                    message = self._message(content)
                    if message is not None:
                        yield message
                else:
                    self._read_definition(op, content)
        except BROKEN:
            if record.there == record.length:  # else the file's end is reported anyway
                raise

    def _message(self, content: memoryview) -> BagMessage | None:
        """A message, if its channel is known, be it from the file's end."""
        number, _, log_ns, _ = MESSAGE_HEAD.unpack_from(content)
        if number not in self.topics and not self._has_searched:
            self._search_channels()
        if number not in self.topics:
            self._strangers[number] += 1
            return None
        stored = self.topics[number]
        return BagMessage(
            stored.topic, min(log_ns, LARGEST_TIME_NS), content[MESSAGE_HEAD.size :], is_cdr=stored.is_cdr
        )

    def _search_channels(self) -> None:
        """Add channels that the file defines elsewhere, as in its summary."""
        self._has_searched = True
        known, issue_count, position, is_cut = self.topics, len(self.issues), self.position, self.is_cut
        self.topics = {}
        for record in self._records(until=(FOOTER,)):
            if record.op in (SCHEMA, CHANNEL):
                self._take(_MessageIndex(), record)
        self.topics |= known
        self.position, self.is_cut = position, is_cut
        del self.issues[issue_count:]

    def _read_definition(self, op: int, content: memoryview) -> None:
        """Take in a schema, a channel, or what the file says about itself."""
        if op == SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            name, offset = text_at(content, 2)
            form, offset = text_at(content, offset)
            definition, _ = text_at(content, offset)
            self._schemas[number] = name, form, definition
        elif op == METADATA:
            name, offset = text_at(content, 0)
            self.information = texts_at(content, offset).get("serialized_metadata", "") if name == "rosbag2" else ""
        elif op == CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            name, offset = text_at(content, 4)
            encoding, offset = text_at(content, offset)
            metadata = texts_at(content, offset)
            msgtype, form, definition = self._schemas.get(schema, ("", "", ""))
            self.topics[number] = StoredTopic(
                Topic(name, full_type(msgtype)),
                encoding == "cdr",
                definition,
                form,
                metadata.get("offered_qos_profiles", ""),
                metadata.get("topic_type_hash", ""),
                encoding,
            )

    def _take(self, index: _MessageIndex, record: _Record) -> None:
        """A record beside the chunks."""
        try:
            content = memoryview(self._content(record))
            if record.op == MESSAGE:
                index.add_one(content, OUTSIDE, record.offset)
            else:
                self._read_definition(record.op, content)
        except BROKEN as error:
            self.issues.append(f"the record at byte {record.offset} is damaged: {error}")

    def _take_index(self, index: _MessageIndex, chunk: _Record, record: _Record, unindexed: dict[int, _Record]) -> None:
        try:
            number, entries = index_entries(memoryview(self._content(record)))
        except (struct.error, ValueError) as error:
            self.issues.append(f"the record at byte {record.offset} is damaged: {error}")
            unindexed[chunk.offset] = chunk
            return
        unindexed.pop(chunk.offset, None)
        index.add(number, entries, chunk.offset)

    def _index_chunk(self, index: _MessageIndex, chunk: _Record) -> None:
        """Index a chunk by what is in it."""
        index.forget(chunk.offset)
        try:
            for op, offset, content in records_in(memoryview(self._chunk_bytes(chunk))):
                if op == MESSAGE:
                    index.add_one(content, chunk.offset, offset)
                else:
                    self._read_definition(op, content)
        except BROKEN as error:
            if chunk.there == chunk.length:
                self.issues.append(f"the record at byte {chunk.offset} is damaged: {error}")

    def _introduce(self, index: _MessageIndex) -> None:
        """Look for channels that only chunks define, as in a file without its summary."""
        for number in index.parts:
            for block in index.blocks(number):
                if number in self.topics:
                    break
                try:
                    for op, _, content in records_in(memoryview(self._blocks[block])):
                        self._read_definition(op, content)
                except BROKEN:
                    continue

    def _unpack_chunk(self, offset: int) -> bytes | memoryview:
        try:
            _, length = HEAD.unpack(os.pread(self._file.fileno(), HEAD.size, offset))
            length = min(length, self._size)
            buffer = memoryview(self._buffers.take(length))
            there = os.preadv(self._file.fileno(), [buffer[:length]], offset + HEAD.size)
            data = self._plain_bytes(
                buffer[:there].toreadonly(), is_cut=there < length, is_checked=offset in self._checked
            )
            self._checked.add(offset)
            return data
        except BROKEN as error:
            raise ArchiveError(f"the chunk at byte {offset} cannot be unpacked: {error}") from None


def _message_at(offset: int, data: memoryview) -> memoryview | None:
    """The message at an offset of a chunk, if one is there and complete."""
    op, length = HEAD.unpack_from(data, offset)
    content = data[offset + HEAD.size : offset + HEAD.size + length]
    if op != MESSAGE or len(content) < max(length, MESSAGE_HEAD.size):
        return None
    return content[MESSAGE_HEAD.size :]
