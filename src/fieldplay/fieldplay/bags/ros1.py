"""Bags of ROS 1, also those that are cut into parts or cut off: where each message lies, and chunks read at random."""

import bz2
import io
import os
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from rosbags.convert.converter import is_same_wireformat, migrate_bytes
from rosbags.interfaces import Connection, ConnectionExtRosbag1, MessageDefinitionFormat, Nodetype
from rosbags.interfaces.typing import RPath
from rosbags.rosbag1 import Reader, ReaderError
from rosbags.rosbag1.reader import Chunk, Header, IndexData, RecordType
from rosbags.serde import SerdeError
from rosbags.typesys.store import Typestore

from fieldplay.bags.bag_detection import PART, name_of_bag
from fieldplay.bags.bag_topics import (
    AS_USUAL,
    Bag,
    BagReading,
    IndexedTopic,
    kind_of_definition,
    mixed_types,
)
from fieldplay.bags.compression import LZ4, UNPACK_LIMIT, decompress_all, describe_file
from fieldplay.bags.qos import UNUSABLE, needed_types, store_of_kind
from fieldplay.bags.storage import (
    MessageOffsets,
    UnpackedBlocks,
    merge_offsets,
    offsets_by_time,
)
from fieldplay.core.errors import (
    ArchiveError,
    DamagedMessageError,
    Defect,
    Report,
    pluralize,
)
from fieldplay.messages.cdr_layout import (
    Fields,
    MessageKind,
    kind_of_type,
    typestore,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

RENAMED = {"tf/msg/tfMessage": "tf2_msgs/msg/TFMessage"}
HEADER = "std_msgs/msg/Header"
LOG, LOG_NOW = "rosgraph_msgs/msg/Log", "rcl_interfaces/msg/Log"
LOG_FIELDS = {"header", "level", "name", "msg", "file", "function", "line"}
LEVELS = {1: 10, 2: 20, 4: 30, 8: 40, 16: 50}  # debug to fatal
BROKEN = (SerdeError, *UNUSABLE, IndexError, UnicodeDecodeError, AttributeError)
BUFFER_SIZE = 1 << 16
MAGIC = b"#ROSBAG V2.0\n"
IS_MESSAGE = b"op=\x02"
# What rosbags raises for a file that is not as it should be
READ_ERRORS = (
    ReaderError,
    AssertionError,
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    OSError,
    struct.error,
    RuntimeError,
)
PACKED_BY = {bz2.decompress: "bz2", LZ4.decompress: "lz4"}
BROKEN_CHUNK = (EOFError, OSError, ValueError, RuntimeError)  # of a decompressor


# What a message type of ROS 1, or of an older ROS 2, is in ROS 2 Jazzy, and how its messages become that.
#
# `Header.seq` is dropped, all else kept; fields that came later are 0 or empty.


@dataclass(frozen=True, kw_only=True, eq=False)
class Ros1Conversion:
    """How messages of a topic become those of ROS 2; `is_filled` where these have fields that ROS 1 lacks."""

    kind: MessageKind
    convert: Callable[[bytes], memoryview]
    is_filled: bool = False

    def __call__(self, message: bytes) -> bytes:
        """A message in CDR; ArchiveError where it is none of the type."""
        try:
            return bytes(self.convert(message))
        except BROKEN as error:
            raise DamagedMessageError(
                f"expected a message of {self.kind.msgtype}, got {len(message)} bytes: {error}"
            ) from None


def conversion_of_kind(kind: MessageKind) -> Ros1Conversion:
    """To the type of ROS 2 that is called so, else to one as the bag defines it; ArchiveError where neither goes."""
    source, target = kind.msgtype, RENAMED.get(kind.msgtype, kind.msgtype)
    if source not in kind.definitions:
        raise ArchiveError(f"the bag holds no definition of {source} that can be read")
    if source == LOG and {name for name, _ in kind.definitions[source][1]} >= LOG_FIELDS:
        return Ros1Conversion(kind=kind_of_type(LOG_NOW), convert=partial(_log_message, store_of_kind(kind)))
    jazzy = typestore().fielddefs
    names = needed_types(source, kind.definitions)
    own = {name: kind.definitions[name] for name in names if name not in jazzy and name not in RENAMED}
    definitions = {**jazzy, **own}
    difference = _difference(source, target, kind.definitions, definitions)
    if difference:
        raise ArchiveError(f"ROS 2 has another {difference}")
    target_kind = MessageKind(msgtype=target, definitions=definitions, is_cdr=True)
    try:
        stores = store_of_kind(kind), store_of_kind(target_kind)
        return _migration(stores, source, target_kind) if kind.is_cdr else _conversion(stores, source, target_kind)
    except UNUSABLE as error:
        raise ArchiveError(f"{source} cannot be one of ROS 2: {error}") from None


def migration_of_kind(kind: MessageKind) -> Ros1Conversion | None:
    """To the layout of Jazzy, of a type that a bag of ROS 2 defines with fewer fields; None where that does not go.

    Also of a type of its own that holds such a type. What Jazzy does not know is left as it is.
    """
    jazzy = typestore().fielddefs
    names = needed_types(kind.msgtype, kind.definitions)
    is_older = any(name in jazzy and kind.definitions[name][1] != jazzy[name][1] for name in names)
    try:
        return conversion_of_kind(kind) if is_older else None
    except ArchiveError:
        return None


def _migration(stores: tuple[Typestore, Typestore], source: str, target_kind: MessageKind) -> Ros1Conversion:
    cache: dict[str, object] = {}
    convert = partial(migrate_bytes, *stores, source, target_kind.msgtype, cache, src_is2=True, dst_is2=True)
    return Ros1Conversion(kind=target_kind, convert=convert, is_filled=True)


def _log_message(store: Typestore, message: bytes) -> memoryview:
    """A message of rosgraph_msgs/Log of ROS 1 as rcl_interfaces/Log, whose levels are ten times as fine."""
    ros1_log: Any = store.deserialize_ros1(message, LOG)
    jazzy = typestore()
    time: Any = jazzy.types["builtin_interfaces/msg/Time"]
    log = jazzy.types[LOG_NOW](
        stamp=time(sec=ros1_log.header.stamp.sec, nanosec=ros1_log.header.stamp.nanosec),
        level=LEVELS.get(int(ros1_log.level), int(ros1_log.level)),
        **{name: getattr(ros1_log, name) for name in ("name", "msg", "file", "function", "line")},
    )
    return jazzy.serialize_cdr(log, LOG_NOW)


def _conversion(stores: tuple[Typestore, Typestore], source: str, target_kind: MessageKind) -> Ros1Conversion:
    target = target_kind.msgtype
    if is_same_wireformat(*stores, source, target):
        return Ros1Conversion(kind=target_kind, convert=partial(stores[1].ros1_to_cdr, typename=target))
    cache: dict[str, object] = {}
    convert = partial(migrate_bytes, *stores, source, target, cache, src_is2=False, dst_is2=True)
    return Ros1Conversion(kind=target_kind, convert=convert, is_filled=True)


def _difference(source: str, target: str, sources: Fields, targets: Fields) -> str:
    """The first type, this or one in it, some of whose fields ROS 2 lacks or has as something else; "" for none."""
    if target not in targets:
        return target
    if source not in sources:
        raise ArchiveError(f"the bag has no definition of {source}")
    there = {name.lower(): field for name, field in targets[target][1]}
    for name, field in sources[source][1]:
        if source == HEADER and name == "seq":
            continue
        other = there.get(name.lower())
        if other is None or field[0] != other[0]:
            return target
        inner, other_inner = _inner(field), _inner(other)
        if inner[0] == Nodetype.NAME == other_inner[0]:
            difference = _difference(inner[1], other_inner[1], sources, targets)
            if difference:
                return difference
        elif inner != other_inner or (field[0] == Nodetype.ARRAY and field != other):
            return target
    return ""


def _inner(field: Any) -> Any:
    return field[1][0] if field[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE) else field


class Parts:
    """Files one after the other as one, to be read at any place by several threads."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.name = name_of_bag(paths[0])
        self._files = ExitStack()
        try:
            self._numbers = [self._files.enter_context(path.open("rb")).fileno() for path in paths]
        except OSError as error:
            self._files.close()
            raise ArchiveError(f"{error.filename}: cannot be read: {error.strerror}") from None
        sizes = [os.fstat(number).st_size for number in self._numbers]
        self._starts = [0, *accumulate(sizes)][:-1]
        self.what = describe_file(paths[0])
        self.size = sum(sizes)

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes from an offset on, fewer at the end."""
        size = min(size, max(self.size - offset, 0))  # what a damaged bag claims is no reason to take memory
        data = b""
        while len(data) < size and offset < self.size:
            index = bisect_right(self._starts, offset) - 1
            part = os.pread(self._numbers[index], size - len(data), offset - self._starts[index])
            if not part:
                break
            data, offset = data + part, offset + len(part)
        return data

    def open(self, *_: object) -> io.BufferedReader:
        """A file to read and seek in, from the start of the first part to the end of the last."""
        return _PartsReader(_PartsFile(self), BUFFER_SIZE)

    def exists(self) -> bool:
        return True

    def close(self) -> None:
        self._files.close()


class _PartsReader(io.BufferedReader):
    """Takes memory for what there is, whatever is asked for."""

    raw: "_PartsFile"

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self.raw.size - self.tell(), 0)
        return super().read(left if size is None or size < 0 else min(size, left))


class _PartsFile(io.RawIOBase):
    def __init__(self, parts: Parts) -> None:
        self._parts, self.size = parts, parts.size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._parts.size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        data = self._parts.read_at(self._position, len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def parts_of_bag(path: Path) -> tuple[list[Path], list[str]]:
    """All parts of the bag of which a path is one, as far as they follow on another, and the names of missing ones."""
    own_match = PART.fullmatch(path.name)
    if not own_match:
        return [path], []
    others = ((PART.fullmatch(other.name), other) for other in path.parent.iterdir())
    parts = {int(match["number"]): other for match, other in others if match and match["bag"] == own_match["bag"]}
    width = len(own_match["number"])
    missing = [number for number in range(max(parts)) if number not in parts]
    names = [f"{own_match['bag']}.{number:0{width}}" for number in missing]
    if 0 not in parts:
        raise ArchiveError(f"{path}: expected {names[0]} next to it, the first part of the bag, got none")
    following = range(missing[0] if missing else len(parts))
    return [parts[number] for number in following], names


class Ros1Bag(Bag):
    """A bag of ROS 1. A bag is mostly written topic after topic, so each topic is read from chunks of its own.

    `layouts` lists the topics, once for each type that its publishers have: types that differ in name alone are one.
    `indexed` has the first type of each topic and reports the messages of the others.
    """

    def __init__(self, parts: Parts, report: Report, reading: BagReading = AS_USUAL) -> None:
        super().__init__(parts.name, report)
        self._reading = reading
        self.parts = parts
        try:
            self._index = index_of_bag(parts)
        except ArchiveError:
            parts.close()
            raise
        if self._index.issue:
            report(Defect(file=self.name, kind="unindexed_bag", message=self._index.issue))
        self._blocks = UnpackedBlocks(self._unpack_chunk)
        by_layout: dict[tuple[str, str, str], list[int]] = {}
        for number, connection in self._index.connections.items():
            if number in self._index.offsets and len(self._index.offsets[number].stamp_ns):  # as those of ROS 2
                msgtype = RENAMED.get(connection.msgtype, connection.msgtype)
                by_layout.setdefault((connection.topic, msgtype, connection.digest), []).append(number)
        self.layouts = [(topic, self._topic(numbers)) for (topic, *_), numbers in by_layout.items()]

    @cached_property
    def indexed(self) -> Mapping[str, IndexedTopic]:
        topics: dict[str, IndexedTopic] = {}
        for name, topic in self.layouts:
            if name in topics:
                self.report(mixed_types(self.name, name, topic, topics[name]))
            else:
                topics[name] = topic
        return topics

    @property
    def latched(self) -> set[str]:
        """The topics all of whose publishers kept their last message for those who came late."""
        latched: dict[str, bool] = {}
        for connection in self._index.connections.values():
            is_latched = isinstance(connection.ext, ConnectionExtRosbag1) and bool(connection.ext.latching)
            latched[connection.topic] = latched.get(connection.topic, True) and is_latched
        return {topic for topic, is_latched in latched.items() if is_latched}

    def _topic(self, numbers: list[int]) -> IndexedTopic:
        """Connections of a topic whose messages are laid out alike, with the type of the first."""
        first = self._index.connections[numbers[0]]
        parts = [self._index.offsets[number] for number in numbers]
        form = "ros1msg" if first.msgdef.format == MessageDefinitionFormat.MSG else ""
        message_files = self._reading.message_files
        kind = kind_of_definition(first.msgtype, first.msgdef.data, form, is_cdr=False, message_files=message_files)
        return IndexedTopic(kind, merge_offsets(parts))

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        chunk = self._blocks[block]
        for offset in offsets:
            start = offset + 4 + int.from_bytes(chunk[offset : offset + 4], "little")
            end = start + 4 + int.from_bytes(chunk[start : start + 4], "little")
            if end > len(chunk) or IS_MESSAGE not in chunk[offset:start]:
                raise ArchiveError(f"expected a message at byte {offset} of the chunk at byte {block}, got none")
            yield bytes(chunk[start + 4 : end])

    def report_damaged(self, block: int, message: str) -> None:
        self.report(Defect(file=self.name, kind="damaged_chunk", message=message, byte=block))

    def close(self) -> None:
        self.parts.close()

    def _unpack_chunk(self, offset: int) -> bytes:
        chunk = self._index.chunks[offset]
        compressed = self.parts.read_at(chunk.datapos, chunk.datasize)
        try:
            if len(compressed) == chunk.datasize:
                return _plain(chunk, compressed, self._reading.unpack_limit)
            why = f"expected {chunk.datasize} bytes, got {len(compressed)}"
        except (ArchiveError, *BROKEN_CHUNK) as error:
            why = str(error)
        raise ArchiveError(f"the chunk at byte {offset} cannot be unpacked: {why}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Ros1Index:
    """The connections of a bag with their messages, its chunks by their offset, and the bag's issue, if any."""

    connections: Mapping[int, Connection]
    offsets: Mapping[int, MessageOffsets]
    chunks: Mapping[int, Chunk]
    issue: str = ""


def index_of_bag(parts: Parts) -> Ros1Index:
    """The index of a bag; ArchiveError where it is none, or nothing in it can be read."""
    start = parts.read_at(0, len(MAGIC))
    if start != MAGIC:
        raise ArchiveError(f"{parts.name}: expected a bag of ROS 1 that starts with {MAGIC!r}, got {parts.what}")
    reader = Reader(cast(RPath, parts))
    try:
        reader.open()
    except READ_ERRORS as error:
        return _recover_index(parts, _why(error))
    try:
        connections = {connection.id: connection for connection in reader.connections}
        offsets = {number: _message_offsets(reader.indexes[number]) for number in connections}
        return Ros1Index(connections=connections, offsets=offsets, chunks=dict(reader.chunks))
    finally:
        reader.close()


def _why(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _message_offsets(index: list[IndexData]) -> MessageOffsets:
    columns = np.array(index, np.int64).reshape(-1, 3).T
    return offsets_by_time(*columns)


def _recover_index(parts: Parts, why: str) -> Ros1Index:
    """Rebuild the index of a bag that has none from the index data after each of its chunks."""
    reader = Reader(cast(RPath, parts))
    reader.bio = file = cast(BinaryIO, parts.open())
    chunks: dict[int, Chunk] = {}
    indexes: dict[int, list[IndexData]] = {}
    try:
        end = _walk(reader, parts.size, chunks, indexes)
        connections: dict[int, Connection] = {}
        for offset in sorted(chunks):
            if not indexes.keys() <= connections.keys():
                connections |= _connections_in(reader, file, chunks[offset])
    finally:
        file.close()
    known = {number: _message_offsets(indexes[number]) for number in connections if number in indexes}
    if not known:
        raise ArchiveError(f"{parts.name}: expected a bag with an index, got none ({why}), nor a complete chunk")
    read = f"{pluralize(len(chunks), 'whole chunk')} before byte {end} of {parts.size} read"
    got = f"one that is cut off, lacks a part or was not closed ({why})"
    issue = f"expected a bag with an index at its end, got {got}; {read}"
    return Ros1Index(connections=connections, offsets=known, chunks=chunks, issue=issue)


def _walk(reader: Reader, size: int, chunks: dict[int, Chunk], indexes: dict[int, list[IndexData]]) -> int:
    """Go from record to record; return the offset after the last complete one."""
    file = cast(BinaryIO, reader.bio)
    offset = len(MAGIC)
    index_data: dict[int, list[IndexData]]
    chunk_offset = -1
    while offset < size:
        file.seek(offset)
        try:
            kind = Header.read(file).get_uint8("op")
            data_size = int.from_bytes(file.read(4), "little")
            end = file.tell() + data_size
            if end > size:
                break
            if kind == RecordType.CHUNK:
                file.seek(offset)
                chunk_offset, chunks[offset] = offset, reader.read_chunk()
            elif kind == RecordType.IDXDATA:
                file.seek(offset)
                index_data = _Growing()
                reader.read_index_data(chunk_offset, index_data)
                for number, entries in index_data.items():
                    indexes.setdefault(number, []).extend(entries)
        except READ_ERRORS:
            break
        offset = end
    return offset


def _plain(chunk: Chunk, compressed: bytes, limit: int = UNPACK_LIMIT) -> bytes:
    """What a chunk holds, unpacked within limits, which rosbags has none of."""
    compression = PACKED_BY.get(chunk.decompressor, "")
    return decompress_all(compression, compressed, limit) if compression else chunk.decompressor(compressed)


class _Growing(dict[int, list[IndexData]]):
    def __missing__(self, number: int) -> list[IndexData]:
        self[number] = []
        return self[number]


def _connections_in(reader: Reader, file: BinaryIO, chunk: Chunk) -> Iterator[tuple[int, Connection]]:
    """The connections in a chunk; those of a damaged one are not known."""
    file.seek(chunk.datapos)
    try:
        content = _plain(chunk, file.read(chunk.datasize))
    except (ArchiveError, *BROKEN_CHUNK):
        return
    reader.bio = inner = io.BytesIO(content)
    while inner.tell() < len(content):
        offset = inner.tell()
        try:
            is_connection = Header.read(inner).get_uint8("op") == RecordType.CONNECTION
            inner.seek(offset)
            if is_connection:
                connection = reader.read_connection()
                yield connection.id, connection
            else:
                Header.read(inner)
                inner.seek(int.from_bytes(inner.read(4), "little"), 1)
        except READ_ERRORS:
            return
