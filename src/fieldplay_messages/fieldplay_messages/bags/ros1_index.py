"""Where each message of a ROS 1 bag lies: from its index, or from its chunks where the bag is cut off."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Connection
from rosbags.interfaces.typing import RPath
from rosbags.rosbag1 import Reader, ReaderError
from rosbags.rosbag1.reader import Chunk, Header, IndexData, RecordType

from fieldplay_messages.bags.bag_parts import Parts
from fieldplay_messages.errors import ArchiveError

MAGIC = b"#ROSBAG V2.0\n"
# What rosbags raises for a file that is not as it should be
FAULTS = (ReaderError, AssertionError, ValueError, KeyError, IndexError, EOFError, OSError, struct.error, RuntimeError)
BROKEN_CHUNK = (EOFError, OSError, ValueError, RuntimeError)  # of a decompressor


@dataclass(frozen=True, eq=False)
class Places:
    """The messages of one connection in the order of time: when (n,), in which chunk (n,) and where in it (n,)."""

    stamp_ns: NDArray[np.int64]
    chunk: NDArray[np.int64]
    offset: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ros1Index:
    """The connections of a bag with their messages, its chunks by their place, and what is wrong with it, if it is."""

    connections: Mapping[int, Connection]
    places: Mapping[int, Places]
    chunks: Mapping[int, Chunk]
    fault: str = ""


def index_of_bag(parts: Parts) -> Ros1Index:
    """The index of a bag; ArchiveError where it is none, or nothing in it can be read."""
    begin = parts.read_at(0, len(MAGIC))
    if begin != MAGIC:
        got = f"a file that begins with {begin!r}" if begin else "an empty file"
        raise ArchiveError(f"{parts.name}: expected a bag of ROS 1 that begins with {MAGIC!r}, got {got}")
    reader = Reader(cast(RPath, parts))
    try:
        reader.open()
    except FAULTS as error:
        return _recovered(parts, _why(error))
    try:
        connections = {connection.id: connection for connection in reader.connections}
        places = {number: _places(reader.indexes[number]) for number in connections}
        return Ros1Index(connections=connections, places=places, chunks=dict(reader.chunks))
    finally:
        reader.close()


def _why(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _places(index: list[IndexData]) -> Places:
    columns = np.array(index, np.int64).reshape(-1, 3).T
    return Places(*columns[:, np.argsort(columns[0], kind="stable")])


def _recovered(parts: Parts, why: str) -> Ros1Index:
    """The index of what is whole of a bag without one, made of what stands behind each of its chunks."""
    reader = Reader(cast(RPath, parts))
    reader.bio = file = cast(BinaryIO, parts.open())
    chunks: dict[int, Chunk] = {}
    indexes: dict[int, list[IndexData]] = {}
    try:
        end = _walk(reader, parts.size, chunks, indexes)
        connections: dict[int, Connection] = {}
        for place in sorted(chunks):
            if not indexes.keys() <= connections.keys():
                connections |= _connections_in(reader, file, chunks[place])
    finally:
        file.close()
    known = {number: _places(indexes[number]) for number in connections if number in indexes}
    if not known:
        raise ArchiveError(f"{parts.name}: expected a bag with an index, got none ({why}), nor a whole chunk")
    read = f"the {len(chunks)} whole chunks before byte {end} of {parts.size} are read"
    got = f"one that is cut off, lacks a part or was not closed ({why})"
    fault = f"expected a bag with an index at its end, got {got}; {read}"
    return Ros1Index(connections=connections, places=known, chunks=chunks, fault=fault)


def _walk(reader: Reader, size: int, chunks: dict[int, Chunk], indexes: dict[int, list[IndexData]]) -> int:
    """Go from record to record; the place behind the last one that is whole."""
    file = cast(BinaryIO, reader.bio)
    place = len(MAGIC)
    found: dict[int, list[IndexData]]
    chunk_place = -1
    while place < size:
        file.seek(place)
        try:
            kind = Header.read(file).get_uint8("op")
            data_size = int.from_bytes(file.read(4), "little")
            end = file.tell() + data_size
            if end > size:
                break
            if kind == RecordType.CHUNK:
                file.seek(place)
                chunk_place, chunks[place] = place, reader.read_chunk()
            elif kind == RecordType.IDXDATA:
                file.seek(place)
                found = _Growing()
                reader.read_index_data(chunk_place, found)
                for number, entries in found.items():
                    indexes.setdefault(number, []).extend(entries)
        except FAULTS:
            break
        place = end
    return place


class _Growing(dict[int, list[IndexData]]):
    def __missing__(self, number: int) -> list[IndexData]:
        self[number] = []
        return self[number]


def _connections_in(reader: Reader, file: BinaryIO, chunk: Chunk) -> Iterator[tuple[int, Connection]]:
    """The connections that a chunk tells of; those of a damaged one are not known."""
    file.seek(chunk.datapos)
    try:
        content = chunk.decompressor(file.read(chunk.datasize))
    except BROKEN_CHUNK:
        return
    reader.bio = inner = BytesIO(content)
    while inner.tell() < len(content):
        place = inner.tell()
        try:
            is_connection = Header.read(inner).get_uint8("op") == RecordType.CONNECTION
            inner.seek(place)
            if is_connection:
                connection = reader.read_connection()
                yield connection.id, connection
            else:
                Header.read(inner)
                inner.seek(int.from_bytes(inner.read(4), "little"), 1)
        except FAULTS:
            return
