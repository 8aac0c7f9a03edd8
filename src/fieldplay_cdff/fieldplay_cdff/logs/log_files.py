"""The files of logs: packed ones as plain bytes, and open ones, of which a few are kept."""

import io
import threading
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

from fieldplay.core.errors import ArchiveError
from fieldplay.io.containers import Files
from fieldplay.io.file_names import last_part
from fieldplay.io.seekable_zip import InflateError, RunningSum, SeekableDeflate
from fieldplay_cdff.logs.sample_times import BlockCache

PACKED = ".zz"
MAX_CACHED = 24  # open files
HEADER, CHECKSUM = 2, 4  # bytes of a packed file before and after its data
NEEDS_DICTIONARY = 0x20
OTHER_SUM = "zlib's checksum at its end is another than that of the bytes"


def open_log_file(files: Files, name: str) -> BinaryIO:
    """A log's plain bytes, whether it is packed or not."""
    file = files.open(name)
    return cast(BinaryIO, InflatedFile(file, last_part(name)) if name.lower().endswith(PACKED) else file)


class LogFiles:
    """Open files by their name and reader: a sequential reader continues at its own position.

    Seeking in packed files takes time, so each stream in one has its own.
    """

    def __init__(self, files: Files) -> None:
        self.blocks = BlockCache()  # of samples of these files
        self._files = files
        self._open_files: OrderedDict[tuple[str, Hashable], list[BinaryIO]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def read(self, name: str, start: int, size: int, *, reader: Hashable) -> bytes:
        """Some bytes of a log; ArchiveError where it has not so many."""
        with self._take_file(name, reader) as file:
            try:
                file.seek(start)
                data = _all_of(file, size)
            except OSError as error:
                raise ArchiveError(f"{name}: cannot be read: {error}") from None
        if len(data) < size:
            raise ArchiveError(f"{name}: expected {size} bytes at byte {start}, got {len(data)}: the file has changed")
        return data

    @contextmanager
    def _take_file(self, name: str, reader: Hashable) -> Iterator[BinaryIO]:
        try:
            file = self._take((name, reader)) or open_log_file(self._files, name)
        except ArchiveError as error:
            raise ArchiveError(f"{name}: {error}") from None
        try:
            yield file
        except (ArchiveError, OSError):
            file.close()
            raise
        self._put_back((name, reader), file)

    def _take(self, key: tuple[str, Hashable]) -> BinaryIO | None:
        with self._lock:
            file = self._open_files.get(key)
            if not file:
                return None
            self._count -= 1
            return file.pop()

    def _put_back(self, key: tuple[str, Hashable], file: BinaryIO) -> None:
        with self._lock:
            self._open_files.setdefault(key, []).append(file)
            self._open_files.move_to_end(key)
            self._count += 1
            while self._count > MAX_CACHED:
                oldest = next(iter(self._open_files.values()))
                if oldest:
                    oldest.pop().close()
                    self._count -= 1
                else:
                    self._open_files.popitem(last=False)

    def close(self) -> None:
        with self._lock:
            for files in self._open_files.values():
                for file in files:
                    with suppress(OSError):
                        file.close()
            self._open_files.clear()
            self._count = 0


def _all_of(file: BinaryIO, size: int) -> bytes:
    """So many bytes, or all up to the end; a raw file gives fewer at a time."""
    data = file.read(size)
    if len(data) == size or not data:
        return data
    parts, missing = [data], size - len(data)
    while missing and (more := file.read(missing)):
        parts.append(more)
        missing -= len(more)
    return b"".join(parts)


class InflatedFile(io.RawIOBase):
    """The plain bytes of a packed file; how many there are is known only at its end."""

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        super().__init__()
        self.name = name
        self._file = file
        self._header = file.read(HEADER)
        self._data = SeekableDeflate(file, HEADER)
        self._sum = RunningSum(zlib.adler32, 1)
        self._expected_sum: bytes | None = None

    @property
    def source_position(self) -> int:
        """Return the read position in the packed file, in bytes."""
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._data.position

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("the end is not known")
        try:
            return self._data.seek(offset)
        except InflateError as error:
            raise self._damage_error(str(error)) from None

    def readinto(self, buffer: Any, /) -> int:
        self._require_header()
        start = self._data.position
        try:
            data = self._data.read(len(buffer))
        except InflateError as error:
            raise self._damage_error(str(error)) from None
        if len(buffer) and not data:
            self._require_end()
        self._sum.add(start, data)
        buffer[: len(data)] = data
        return len(data)

    def _require_header(self) -> None:
        try:
            zlib.decompressobj().decompress(self._header)
        except zlib.error as error:
            raise self._damage_error(str(error)) from None
        if len(self._header) == HEADER and self._header[1] & NEEDS_DICTIONARY:
            raise self._damage_error("it needs a dictionary")

    def _require_end(self) -> None:
        """Raise ArchiveError if the data are incomplete, or have another checksum where they were read in order."""
        if self._expected_sum is None and self._data.is_at_end:
            self._expected_sum = self._data.trailing_bytes(CHECKSUM)
        expected = self._expected_sum or b""
        if len(expected) < CHECKSUM:
            raise ArchiveError(f"{self.name}: cut off, it ends after {self._data.position} plain bytes")
        if self._sum.count == self._data.position and self._sum.value != int.from_bytes(expected, "big"):
            raise self._damage_error(OTHER_SUM)

    def _damage_error(self, why: str) -> ArchiveError:
        return ArchiveError(f"{self.name}: damaged: {why}, behind {self._data.position} plain bytes")
