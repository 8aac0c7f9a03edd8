"""The index of a log after one pass over it: where its samples are, and when they were taken.

Samples and times are recorded block by block, so that the index stays small however many there are.
"""

import hashlib
import json
import os
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.atomic_output import atomic_output
from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.core.timestamps import NO_TIME as NO_TIME

CHUNK = 1 << 20
LARGEST_ITEM = 64 << 20
Int64Array = NDArray[np.int64]
Table = NDArray[np.void]
PER_BLOCK = 256  # items of a column between two stored offsets,
LARGE_ITEM = 4096  # except for items of so many bytes: then each
SURELY_NS = 10**17  # larger numbers are nanoseconds, as in logs converted from ROS bags; else microseconds
# The state of a block: its first item and the start of that; the bytes of each item, 0 where they differ; how many
# have a time, and how many of these are in nanoseconds; minimum and maximum, NO_TIME where there is none; whether
# the times are in order.
FIELDS = ("row", "begin", "size", "known", "surely_ns", "low", "high", "is_ordered")
BLOCK = np.dtype([(name, np.int64) for name in FIELDS])
BLOCK_ROWS, BLOCK_BYTES = 4096, 1 << 18
LARGE = 1 << 16  # bytes of an item that is a block of its own
MAX_WAITING = 1 << 15  # items that are grouped into blocks at once
LATEST = np.iinfo(np.int64).max
FORM = 6  # version of the stored index; another one is not read
SMALLEST = 4 << 20  # bytes of a log whose index is kept
MAX_INDEXES = 500  # indexes are kept; then the oldest go
LISTS = ("samples", "logged")
COLUMN = ("count", "end", "step", "is_constant", "is_cut")
READ_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)
FLAGS = (NotImplementedError, RuntimeError)  # of a damaged zip: a packing that is not known, or a password
HEADS = (MemoryError, OverflowError, SyntaxError, TokenError)  # of a damaged head of an array
UNREADABLE = (*READ_ERRORS, *FLAGS, *HEADS)


# The bytes of a file that were read last, so that items can be unpacked again.


class TooLargeError(ValueError):
    """An item that is larger than any that is read."""


class FileWindow:
    """A file that is read from start to end; all bytes since the mark are kept, LARGEST_ITEM bytes at most.

    One chunk is read ahead, so that the byte at an offset can be seen before it is unpacked. `moved` is called with the
    offset, a chunk at a time.
    """

    def __init__(self, file: BinaryIO, moved: Callable[[int], None]) -> None:
        self._file = file
        self._moved = moved
        self._mark = 0
        self._chunks: list[tuple[int, bytes]] = []
        self._buffered_bytes = 0
        self._error: ArchiveError | OSError | None = None
        self.end = 0
        self.available = 0  # up to where the unpacker has the bytes
        self._ahead = self._next()

    def _next(self) -> bytes:
        """Read a chunk; an error is kept and raised when the reader reaches it."""
        try:
            data = self._file.read(CHUNK)
        except (ArchiveError, OSError) as error:
            self._error, data = error, b""
        if data:
            self._chunks.append((self.end, data))
            self.end += len(data)
            self._buffered_bytes += len(data)
            self._moved(self.end)
        return data

    def read(self, _: int) -> bytes:
        """The next bytes, as a MessagePack unpacker asks for them."""
        if self._buffered_bytes > LARGEST_ITEM + 3 * CHUNK:
            raise TooLargeError(f"expected items of {LARGEST_ITEM} bytes at most, got one at byte {self._mark}")
        data = self._ahead
        if not data and self._error is not None:
            raise self._error
        self.available += len(data)
        self._ahead = self._next() if data else b""
        return data

    def mark(self, offset: int) -> None:
        """Release the bytes before an offset."""
        self._mark = offset
        while self._chunks and self._chunks[0][0] + len(self._chunks[0][1]) <= offset:
            self._buffered_bytes -= len(self._chunks.pop(0)[1])

    def bytes_between(self, start: int, end: int) -> bytes:
        """Bytes since the mark, as far as they were read."""
        base, first = self._chunks[0] if self._chunks else (start, b"")
        if end <= base + len(first):
            return first[start - base : end - base]
        parts = (data[max(start - at, 0) : max(end - at, 0)] for at, data in self._chunks)
        return b"".join(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogColumn:
    """One field of all samples of a flattened log: where every `step`-th item starts, and where the last ends.

    Of names that are written once `is_constant`: then the one item is the value for all samples. If the log has a
    issue in it, it `is_cut`: the samples from there on lack this field.
    """

    count: int
    begins: Int64Array
    end: int
    step: int = PER_BLOCK
    is_constant: bool = False
    is_cut: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks:
    """Contiguous items with times, up to the byte `stop`, in blocks; see BLOCK."""

    table: Table = field(default_factory=lambda: np.zeros(0, BLOCK))
    count: int = 0
    stop: int = 0

    @property
    def rows(self) -> Int64Array:
        """The first item of each block, and the number of all (b + 1,)."""
        return np.append(self.table["row"], self.count)

    @property
    def offsets(self) -> Int64Array:
        """Offsets of the blocks, and where the last one stops (b + 1,)."""
        return np.append(self.table["begin"], self.stop)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamPart:
    """A stream in one log: its samples with their own times, or the columns of a flattened log, and when logged.

    `logged` has as many as the `.meta` has. Without a type the log was cut off before it.
    """

    stream: str
    type: str = ""
    samples: Blocks = field(default_factory=Blocks)
    logged: Blocks = field(default_factory=Blocks)
    columns: Mapping[str, LogColumn] = field(default_factory=dict)
    has_meta: bool = False

    def __len__(self) -> int:
        columns = [column for column in self.columns.values() if not column.is_constant]
        counts = [column.count for column in columns if not column.is_cut] or [column.count for column in columns]
        return min(counts) if counts else self.samples.count


@dataclass(frozen=True, eq=False, kw_only=True)
class FileIndex:
    """The streams of a log; or, of a file of settings, that it is one. `faults` are kinds and messages."""

    parts: tuple[StreamPart, ...] = ()
    is_settings: bool = False
    issues: tuple[tuple[str, str], ...] = ()


class GrowingBlocks:
    """Items with their start offsets and times, grouped into blocks as they arrive; the last can be taken back."""

    def __init__(self) -> None:
        self._starts, self._times = array("q"), array("q")  # of those that are in no block yet
        self._tables: list[Table] = []
        self._settled = 0
        self.stop = 0

    def __len__(self) -> int:
        return self._settled + len(self._starts)

    def add(self, start: int, time: int, stop: int) -> None:
        """One that ends at the byte `stop`."""
        self._starts.append(start)
        self._times.append(time)
        self.stop = stop
        if len(self._starts) >= MAX_WAITING:
            self._settle()

    def extend(self, starts: Int64Array, times: Int64Array, stop: int) -> None:
        """Several (n,), the last of which ends at the byte `stop`."""
        self._starts.frombytes(starts.astype(np.int64).tobytes())
        self._times.frombytes(times.astype(np.int64).tobytes())
        self.stop = stop
        if len(self._starts) >= MAX_WAITING:
            self._settle()

    def take_back(self) -> int:
        """Take away the last; where it began."""
        self._times.pop()
        self.stop = self._starts.pop()
        return self.stop

    def blocks(self) -> Blocks:
        """All that is there."""
        rest = blocks_of(array_of(self._starts), array_of(self._times), stop=self.stop, first_row=self._settled)
        return Blocks(table=np.concatenate([*self._tables, rest]), count=len(self), stop=self.stop)

    def _settle(self) -> None:
        """Group all into blocks, except for items that the last block may still grow by."""
        starts, times = array_of(self._starts), array_of(self._times)
        table = blocks_of(starts, times, stop=self.stop, first_row=self._settled)
        settled = int(table["row"][-1]) - self._settled
        self._tables.append(table[:-1])
        self._settled += settled
        del self._starts[:settled], self._times[:settled]


def blocks_of(starts: Int64Array, times: Int64Array, *, stop: int = 0, first_row: int = 0) -> Table:
    """Blocks of items (n,): the borders are at fixed rows and bytes, and on both sides of large items."""
    if not len(starts):
        return np.zeros(0, BLOCK)
    rows = first_row + np.arange(len(starts))
    sizes = np.diff(starts, append=stop)
    is_first = rows % BLOCK_ROWS == 0
    is_first[1:] |= starts[1:] // BLOCK_BYTES != starts[:-1] // BLOCK_BYTES
    is_first |= sizes >= LARGE
    is_first[1:] |= sizes[:-1] >= LARGE
    is_first[0] = True
    firsts = np.flatnonzero(is_first)
    has_time = times > 0
    falls = np.zeros(len(times), bool)
    falls[1:] = times[1:] < times[:-1]
    falls[firsts] = False
    smallest, largest = np.minimum.reduceat(sizes, firsts), np.maximum.reduceat(sizes, firsts)
    known = np.add.reduceat(has_time, firsts, dtype=np.int64)
    low = np.minimum.reduceat(np.where(has_time, times, LATEST), firsts)
    table = np.zeros(len(firsts), BLOCK)
    table["row"], table["begin"] = rows[firsts], starts[firsts]
    table["size"] = np.where(smallest == largest, smallest, 0)
    table["known"], table["surely_ns"] = known, np.add.reduceat(times >= SURELY_NS, firsts, dtype=np.int64)
    table["low"] = np.where(known > 0, low, NO_TIME)
    table["high"] = np.maximum.reduceat(np.where(has_time, times, NO_TIME), firsts)
    table["is_ordered"] = ~np.logical_or.reduceat(falls, firsts)
    return table


@dataclass
class GrowingPart:
    """The entries of a stream in one map."""

    type: str = ""
    samples: GrowingBlocks = field(default_factory=GrowingBlocks)
    logged: GrowingBlocks = field(default_factory=GrowingBlocks)
    columns: dict[str, LogColumn] = field(default_factory=dict)
    has_meta: bool = False

    def part(self, stream: str) -> StreamPart:
        return StreamPart(
            stream=stream,
            type=self.type,
            samples=self.samples.blocks(),
            logged=self.logged.blocks(),
            columns=self.columns,
            has_meta=self.has_meta,
        )


def array_of(values: "array[int]") -> Int64Array:
    """The numbers (n,) of a growing array."""
    return np.frombuffer(values, np.int64).copy() if len(values) else np.zeros(0, np.int64)


# The indexes of large logs, kept in a folder of the user: never next to a log, as archives are not written to.
#
# They lie in $FIELDPLAY_CACHE, else in $XDG_CACHE_HOME/fieldplay, else in ~/.cache/fieldplay. One counts as long as
# its log has the same size and time of change. That there is none, or none can be written, costs time and nothing
# else.


def cache_folder() -> Path:
    """Return the folder of the indexes."""
    own = os.environ.get("FIELDPLAY_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~/.cache"))) / "fieldplay"


def cached_index(path: Path) -> FileIndex | None:
    """Return the index of a log as it is now; None if none is cached."""
    with (
        suppress(*UNREADABLE),
        index_path(path).open("rb") as file,
        np.load(file, allow_pickle=False) as data,
    ):
        arrays = {name: data[name] for name in data.files if name not in ("head", "sum")}
        head = json.loads(bytes(data["head"]).decode())
        is_complete = bytes(data["sum"]) == _sum(data["head"], arrays)
        if is_complete and head["key"] == state_of_log(path):
            return _index(head, arrays)
    return None


def keep_index(path: Path, index: FileIndex, state: Sequence[Any]) -> None:
    """Store the index of a log, if it is large enough, there is a folder, and the log is unchanged."""
    with suppress(OSError, UserError):
        if path.stat().st_size >= SMALLEST and state_of_log(path) == list(state):
            _write(index_path(path), state, index)
            _clear_away(cache_folder())


def index_path(path: Path) -> Path:
    """Return the path of the cached index of a log."""
    return cache_folder() / f"log-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]}.npz"


def state_of_log(path: Path) -> list[Any]:
    """What an index is kept by: one of a log in another state, or of another form, does not count."""
    try:
        status = path.stat()
    except OSError:
        return []
    return [FORM, str(path.resolve()), status.st_size, status.st_mtime_ns]


def _write(target: Path, state: Sequence[Any], index: FileIndex) -> None:
    """Write it atomically: another process may read it meanwhile."""
    arrays: dict[str, Any] = dict(_arrays(index))
    head = {
        "key": list(state),
        "settings": index.is_settings,
        "faults": index.issues,
        "parts": [_head(p) for p in index.parts],
    }
    text = np.frombuffer(json.dumps(head).encode(), np.uint8)
    own_sum = np.frombuffer(_sum(text, arrays), np.uint8)
    with atomic_output(target) as path:
        np.savez(path, **{"head": text, "sum": own_sum, **arrays})


def _sum(head: NDArray[np.uint8], arrays: Mapping[str, Any]) -> bytes:
    """Return a checksum of all stored values: an index with another value would return wrong data of a log."""
    digest = hashlib.sha256(head.tobytes())
    for name, numbers in sorted(arrays.items()):
        digest.update(f"{name} {numbers.dtype} {numbers.shape}".encode())
        digest.update(numbers.tobytes())
    return digest.digest()


def _clear_away(folder: Path) -> None:
    """Remove all but the newest indexes."""
    files = sorted(folder.glob("log-*.npz"), key=lambda path: path.stat().st_mtime_ns)
    for path in files[:-MAX_INDEXES]:
        path.unlink(missing_ok=True)


def _head(part: StreamPart) -> dict[str, Any]:
    columns = {name: [getattr(column, own) for own in COLUMN] for name, column in part.columns.items()}
    lists = {name: [getattr(part, name).count, getattr(part, name).stop] for name in LISTS}
    return {"stream": part.stream, "type": part.type, "has_meta": part.has_meta, "columns": columns, **lists}


def _arrays(index: FileIndex) -> Iterator[tuple[str, Any]]:
    for number, part in enumerate(index.parts):
        for name in LISTS:
            yield f"{number}_{name}", getattr(part, name).table
        for position, column in enumerate(part.columns.values()):
            yield f"{number}_column_{position}", column.begins


def _index(head: dict[str, Any], data: Mapping[str, Any]) -> FileIndex:
    parts = []
    for number, own in enumerate(head["parts"]):
        columns = {
            name: LogColumn(**dict(zip(COLUMN, values, strict=True)), begins=data[f"{number}_column_{position}"])
            for position, (name, values) in enumerate(own["columns"].items())
        }
        samples, logged = (
            Blocks(table=data[f"{number}_{name}"], count=own[name][0], stop=own[name][1]) for name in LISTS
        )
        plain = {name: own[name] for name in ("stream", "type", "has_meta")}
        parts.append(StreamPart(**plain, columns=columns, samples=samples, logged=logged))
    issues = tuple((str(kind), str(message)) for kind, message in head["faults"])
    return FileIndex(parts=tuple(parts), is_settings=bool(head["settings"]), issues=issues)
