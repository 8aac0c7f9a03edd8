"""The records of the MCAP format, version 0, to bytes and from them. Numbers are little endian, times int ns."""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import UNPACK_LIMIT, decompress
from fieldplay.core.errors import ArchiveError

MAGIC = b"\x89MCAP0\r\n"

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = range(11, 16)

# What stands before the bytes of a message; `length` counts all that follows it in the record.
MESSAGE_PREFIX = np.dtype(
    [("op", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"), ("log", "<u8"), ("publish", "<u8")]
)
LENGTH_BEFORE_PAYLOAD = 22
HEAD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")
CHUNK_HEAD = struct.Struct("<QQQI")
INDEX_ENTRY = np.dtype([("log", "<u8"), ("offset", "<u8")])


@dataclass(frozen=True, kw_only=True)
class ChunkIndex:
    """A chunk in the file, as its ChunkIndex record describes it."""

    first_ns: int
    last_ns: int
    offset: int
    length: int
    index_offsets: Mapping[int, int]
    index_length: int
    compression: str
    compressed_size: int
    size: int


def record(op: int, *fields: bytes) -> bytes:
    content = b"".join(fields)
    return HEAD.pack(op, len(content)) + content


def text(value: str) -> bytes:
    return blob(value.encode())


def blob(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def texts(values: Mapping[str, str]) -> bytes:
    return blob(b"".join(text(key) + text(value) for key, value in values.items()))


def numbers(values: Mapping[int, int]) -> bytes:
    return blob(b"".join(struct.pack("<HQ", key, value) for key, value in values.items()))


def header(profile: str, library: str) -> bytes:
    return record(HEADER, text(profile), text(library))


def schema(number: int, name: str, encoding: str, definition: str) -> bytes:
    return record(SCHEMA, struct.pack("<H", number), text(name), text(encoding), text(definition))


def channel(number: int, schema_number: int, topic: str, metadata: Mapping[str, str]) -> bytes:
    return record(CHANNEL, struct.pack("<HH", number, schema_number), text(topic), text("cdr"), texts(metadata))


def chunk_head(span_ns: tuple[int, int], *, size: int, crc: int, compression: str, stored: int) -> bytes:
    """A chunk's record up to its `stored` bytes; size and crc are those before compression, crc 0 for none."""
    fields = struct.pack("<QQQI", *span_ns, size, crc) + text(compression) + struct.pack("<Q", stored)
    return struct.pack("<BQ", CHUNK, len(fields) + stored) + fields


def message_index(channel_number: int, entries: bytes) -> bytes:
    return record(MESSAGE_INDEX, struct.pack("<H", channel_number), blob(entries))


def chunk_index(chunk: ChunkIndex) -> bytes:
    return record(
        CHUNK_INDEX,
        struct.pack("<QQQQ", chunk.first_ns, chunk.last_ns, chunk.offset, chunk.length),
        numbers(chunk.index_offsets),
        struct.pack("<Q", chunk.index_length),
        text(chunk.compression),
        struct.pack("<QQ", chunk.compressed_size, chunk.size),
    )


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    return record(METADATA, text(name), texts(values))


def metadata_index(offset: int, length: int, name: str) -> bytes:
    return record(METADATA_INDEX, struct.pack("<QQ", offset, length), text(name))


def statistics(counts: Sequence[int], *, schemas: int, chunks: int, span_ns: tuple[int, int]) -> bytes:
    """Counts are those of channels 1, 2, ...; the files here have one metadata record and no attachments."""
    fields = struct.pack("<QHIIIIQQ", sum(counts), schemas, len(counts), 0, 1, chunks, *span_ns)
    return record(STATISTICS, fields, numbers(dict(enumerate(counts, start=1))))


def data_end() -> bytes:
    """The end of the data, whose checksum as a whole is not computed: each chunk has its own."""
    return record(DATA_END, struct.pack("<I", 0))


def summary_offset(op: int, start: int, length: int) -> bytes:
    return record(SUMMARY_OFFSET, struct.pack("<BQQ", op, start, length))


def footer_before_crc(summary_start: int, summary_offset_start: int) -> bytes:
    """The footer's record without its last field, the CRC of the summary and of these bytes."""
    return struct.pack("<BQQQ", FOOTER, 20, summary_start, summary_offset_start)


def text_at(content: memoryview, offset: int) -> tuple[str, int]:
    """A text and where it ends."""
    (length,) = struct.unpack_from("<I", content, offset)
    end = offset + 4 + length
    if end > len(content):
        raise ArchiveError("a text in it is longer than it")
    return bytes(content[offset + 4 : end]).decode(), end


def texts_at(content: memoryview, offset: int) -> dict[str, str]:
    """Texts by their names."""
    (length,) = struct.unpack_from("<I", content, offset)
    texts: dict[str, str] = {}
    offset, end = offset + 4, offset + 4 + length
    while offset < end:
        name, offset = text_at(content, offset)
        texts[name], offset = text_at(content, offset)
    return texts


def chunk_bytes(
    content: memoryview, *, is_cut: bool = False, limit: int = UNPACK_LIMIT, is_checked: bool = False
) -> bytes | memoryview:
    """The records in a chunk; of one that is cut, as many bytes as there are. The checksum is compared once."""
    *_, size, checksum = CHUNK_HEAD.unpack_from(content)
    compression, offset = text_at(content, CHUNK_HEAD.size)
    data = decompress(compression, content[offset + 8 :], size, limit)
    if is_cut:  # or its length is wrong, and all of it is there
        data = data[:size]
    if is_cut and len(data) < size:
        return data
    if len(data) != size:
        raise ArchiveError(f"expected {size} bytes in the chunk, got {len(data)}")
    if checksum and not is_checked and zlib.crc32(data) != checksum:
        raise ArchiveError("the checksum of its chunk does not fit")
    return data


def records_in(data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """The records in a chunk, as far as they are whole: what each is, where it begins, and its content."""
    offset = 0
    while offset + HEAD.size <= len(data):
        op, length = HEAD.unpack_from(data, offset)
        start = offset + HEAD.size
        if not op:  # of zeros a few bytes pack very many
            raise ArchiveError(f"expected a record at byte {offset} of its chunk, got zeros")
        if start + length > len(data):
            raise ArchiveError(f"expected {length} more bytes in its chunk, got {len(data) - start}")
        yield op, offset, data[start : start + length]
        offset = start + length


def index_entries(content: memoryview) -> tuple[int, NDArray[np.void]]:
    """Whose index it is, and the times and places of messages (n,) in their chunk."""
    number, size = struct.unpack_from("<HI", content)
    return number, np.frombuffer(content[6 : 6 + size - size % INDEX_ENTRY.itemsize], INDEX_ENTRY)
