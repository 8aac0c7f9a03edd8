"""A smaller log out of a larger one: some streams, some samples. The bytes of samples are copied as they are.

Those of flattened logs, whose fields are not contiguous, are assembled and packed anew.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.progress import Progress
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log
from fieldplay_cdff.logs.log_files import open_log_file
from fieldplay_cdff.logs.log_streams import NANOSECONDS, LogStream
from fieldplay_cdff.tools.time_arguments import index_of_word, start_of_log, time_of_word

META = ".meta"
PACKED = ".zz"
BLOCK = 1 << 20  # bytes that are copied at once
ROWS = 64  # samples of flattened logs that are assembled at once
MAX_ITEMS = (1 << 32) - 1  # of a list


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The selection of samples: indexes or times, the end excluded; an empty text is no limit.

    Indexes count in each stream, times are those of logging.
    """

    start: str = ""
    end: str = ""


@dataclass(frozen=True)
class ChosenRows:
    """The selected rows of a stream: runs of them, each its first and the one after its last."""

    runs: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return sum(end - start for start, end in self.runs)


def rows_of_cut(log: Log, stream: LogStream, cut: Cut) -> ChosenRows:
    """The rows of a stream that a cut takes, in their order."""
    limits = [(word, is_start) for word, is_start in ((cut.start, True), (cut.end, False)) if word]
    start = start_of_log(log) if any(index_of_word(word) is None for word, _ in limits) else 0
    ranges: list[tuple[int, int]] = []
    for rows in stream.ranges():
        is_in = np.ones(rows[1] - rows[0], bool)
        for word, is_start in limits:
            is_in &= _is_in(stream, rows, word, is_start=is_start, start_ns=start)
        borders = rows[0] + np.flatnonzero(np.diff(is_in, prepend=False, append=False))
        for first, last in borders.reshape(-1, 2).tolist():
            if ranges and ranges[-1][1] == first:
                first = ranges.pop()[0]
            ranges.append((first, last))
    return ChosenRows(tuple(ranges))


def _is_in(stream: LogStream, rows: tuple[int, int], word: str, *, is_start: bool, start_ns: int) -> NDArray[np.bool_]:
    """Whether each of some rows lies on the right side of a limit."""
    index = index_of_word(word)
    values = np.arange(*rows) if index is not None else stream.logged_ns(*rows)
    limit = index if index is not None else time_of_word(word, start_ns)
    is_in = values >= limit if is_start else values < limit
    return np.asarray(is_in if index is not None else is_in & (values != NO_TIME), bool)


def write_cut(log: Log, names: Sequence[str], rows: Sequence[ChosenRows], *, out: Path, progress: Progress) -> None:
    """Write the rows of some streams into a log, packed by zlib if its name ends in .zz."""
    streams = [log.streams[name] for name in names]
    runs = ((stream, run) for stream, selected in zip(streams, rows, strict=True) for run in selected.runs)
    total = max(sum(stream.byte_count(*run) for stream, run in runs), 1)
    done = 0
    with out.open("wb") as file:
        squeeze = zlib.compressobj() if out.name.lower().endswith(PACKED) else None
        for block in _log_blocks(log, streams, rows):
            file.write(squeeze.compress(block) if squeeze else block)
            done += len(block)
            progress(min(done / total, 1.0), done >> 20)
        if squeeze:
            file.write(squeeze.flush())


def _log_blocks(log: Log, streams: Sequence[LogStream], rows: Sequence[ChosenRows]) -> Iterator[bytes]:
    packer = msgpack.Packer(unicode_errors="surrogateescape")
    yield packer.pack_map_header(2 * len(streams))
    for stream, selected in zip(streams, rows, strict=True):
        if len(selected) > MAX_ITEMS:
            raise ArchiveError(f"{stream.name}: a list of this format holds {MAX_ITEMS} samples at most")
        yield packer.pack(stream.name)
        yield packer.pack_array_header(len(selected))
        yield from _samples(log, stream, selected)
        yield packer.pack(stream.name + META)
        yield packer.pack_map_header(2) + packer.pack("timestamps") + packer.pack_array_header(len(selected))
        for part in (part for run in selected.runs for part in stream.ranges(*run)):
            yield b"".join(map(packer.pack, logged_in_file(stream, *part).tolist()))
        yield packer.pack("type") + packer.pack(stream.type)


def _samples(log: Log, stream: LogStream, rows: ChosenRows) -> Iterator[bytes]:
    """The samples' bytes, those that lie together at once."""
    extents = (extent for run in rows.runs for extent in stream.extents(*run))
    for file, group in groupby(extents, key=lambda extent: extent.file):
        with open_log_file(log.files, file) as source:
            for extent in group:
                if extent.where is None:
                    yield from _repack(stream, extent.start, extent.end)
                else:
                    yield from _copy_bytes(source, file, start=extent.where[0], end=extent.where[1])


def _copy_bytes(source: BinaryIO, file: str, *, start: int, end: int) -> Iterator[bytes]:
    source.seek(start)
    while start < end:
        block = source.read(min(BLOCK, end - start))
        if not block:
            raise ArchiveError(f"{file}: expected {end - start} further bytes at byte {start}: the file has changed")
        start += len(block)
        yield block


def _repack(stream: LogStream, start: int, end: int) -> Iterator[bytes]:
    packer: Any = msgpack.Packer(unicode_errors="surrogateescape")
    for first in range(start, end, ROWS):
        yield b"".join(map(packer.pack, stream.samples(first, min(first + ROWS, end))))


def logged_in_file(stream: LogStream, start: int, end: int) -> NDArray[np.int64]:
    """Logging times (n,) of rows in the log's unit; 0 where a sample has none at all."""
    raw, logged = stream.logged_raw(start, end), stream.logged_ns(start, end)
    in_ns = (stream.logged_unit or stream.unit) == NANOSECONDS
    return np.where(raw == NO_TIME, np.where(logged == NO_TIME, 0, logged) // (1 if in_ns else 1000), raw)
