"""A smaller log out of a larger one: some streams, some samples. The bytes of samples are copied as they are.

Those of flattened logs, whose fields lie apart, are put together and packed anew.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME, Part
from fieldplay_archive.msgpack_logs.handles import open_log_file
from fieldplay_archive.msgpack_logs.log import Log
from fieldplay_archive.msgpack_logs.streams import SURELY_NS, LogStream
from fieldplay_player.cdff.times import begin_of, index_of_word, time_of_word

META = ".meta"
PACKED = ".zz"
BLOCK = 1 << 20  # bytes that are copied at once
ROWS = 64  # samples of flattened logs that are put together at once
MOST_ITEMS = (1 << 32) - 1  # of a list

Progress = Callable[[float, int], None]  # share and count
Rows = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Which samples are taken: indexes or times, the end not included; an empty word is no limit.

    Indexes count in each stream, times are those of logging.
    """

    start: str = ""
    end: str = ""


def rows_of_cut(log: Log, stream: LogStream, cut: Cut) -> Rows:
    """The rows (m,) of a stream that a cut takes, in their order."""
    is_in = np.ones(len(stream), bool)
    rows, begin = np.arange(len(stream)), begin_of(log)
    for word, is_start in ((cut.start, True), (cut.end, False)):
        if not word:
            continue
        index = index_of_word(word)
        values = rows if index is not None else stream.logged_ns
        limit = index if index is not None else time_of_word(word, begin)
        is_in &= values >= limit if is_start else values < limit
        if index is None:
            is_in &= stream.logged_ns != NO_TIME
    return np.flatnonzero(is_in)


def write_cut(log: Log, names: Sequence[str], rows: Sequence[Rows], *, out: Path, progress: Progress) -> None:
    """Write the rows of some streams into a log, packed by zlib if its name ends in .zz."""
    streams = [log.streams[name] for name in names]
    total = max(sum(int(stream.sizes()[own].sum()) for stream, own in zip(streams, rows, strict=True)), 1)
    done = 0
    with out.open("wb") as file:
        squeeze = zlib.compressobj() if out.name.lower().endswith(PACKED) else None
        for block in _log_blocks(log, streams, rows):
            file.write(squeeze.compress(block) if squeeze else block)
            done += len(block)
            progress(min(done / total, 1.0), done >> 20)
        if squeeze:
            file.write(squeeze.flush())


def _log_blocks(log: Log, streams: Sequence[LogStream], rows: Sequence[Rows]) -> Iterator[bytes]:
    packer = msgpack.Packer(unicode_errors="surrogateescape")
    yield packer.pack_map_header(2 * len(streams))
    for stream, own in zip(streams, rows, strict=True):
        if len(own) > MOST_ITEMS:
            raise ArchiveError(f"{stream.name}: a list of this format holds {MOST_ITEMS} samples at most")
        yield packer.pack(stream.name)
        yield packer.pack_array_header(len(own))
        yield from _samples(log, stream, own)
        yield packer.pack(stream.name + META)
        yield packer.pack({"timestamps": logged_in_file(stream)[own].tolist(), "type": stream.type})


def _samples(log: Log, stream: LogStream, rows: Rows) -> Iterator[bytes]:
    """The samples' bytes, those that lie together at once."""
    first = 0
    for file, part in stream.parts:
        own = rows[(rows >= first) & (rows < first + len(part))] - first
        if part.columns:
            yield from _packed_anew(stream, own + first)
        elif len(own):
            with open_log_file(log.files, file) as source:
                for begin, end in _runs(part, own):
                    yield from _copied(source, file, begin=begin, end=end)
        first += len(part)


def _runs(part: Part, rows: Rows) -> Iterator[tuple[int, int]]:
    """Begin and end of bytes that lie together; between samples there is nothing else."""
    breaks = np.flatnonzero(part.begins[rows[1:]] != part.ends[rows[:-1]])
    firsts, lasts = rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, len(rows) - 1]]
    yield from zip(part.begins[firsts].tolist(), part.ends[lasts].tolist(), strict=True)


def _copied(source: BinaryIO, file: str, *, begin: int, end: int) -> Iterator[bytes]:
    source.seek(begin)
    while begin < end:
        block = source.read(min(BLOCK, end - begin))
        if not block:
            raise ArchiveError(f"{file}: expected {end - begin} further bytes at byte {begin}: the file has changed")
        begin += len(block)
        yield block


def _packed_anew(stream: LogStream, rows: Rows) -> Iterator[bytes]:
    packer: Any = msgpack.Packer(unicode_errors="surrogateescape")
    for place in range(0, len(rows), ROWS):
        block = rows[place : place + ROWS]
        low = int(block[0])
        samples = stream.samples(low, int(block[-1]) + 1)
        yield b"".join(packer.pack(samples[row - low]) for row in block.tolist())


def logged_in_file(stream: LogStream) -> NDArray[np.int64]:
    """The logging times as the log has them, in its unit; 0 where a sample has none at all."""
    parts = [part.logged[: len(part)] for _, part in stream.parts]
    missing = [
        np.full(len(part) - len(own), NO_TIME, np.int64) for (_, part), own in zip(stream.parts, parts, strict=True)
    ]
    raw = np.concatenate([np.zeros(0, np.int64), *(each for pair in zip(parts, missing, strict=True) for each in pair)])
    known = raw[raw > 0]
    in_ns = float(np.median(known)) >= SURELY_NS if len(known) else stream.unit == "ns"
    derived = np.where(stream.logged_ns == NO_TIME, 0, stream.logged_ns) // (1 if in_ns else 1000)
    return np.where(raw == NO_TIME, derived, raw)
