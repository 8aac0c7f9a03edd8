"""A member of a zip as a file that seeks in milliseconds, by access points kept while the deflated data are read."""

import bisect
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from fieldplay_archive.errors import ArchiveError

READ_SIZE = 1 << 16
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
LOCAL_SIGNATURE = b"PK\x03\x04"
SPACING = 1 << 22  # of access points, in plain bytes: some 15 ms of inflating
MAX_ACCESS_POINTS = 64  # each holds the decoder's window of some 40 kB


class AccessPoint(NamedTuple):
    """Where reading may start again: the place in the plain data, that in the zip, and the decoder's state there."""

    position: int
    source: int
    decoder: Any  # zlib names no type for it


class SeekableMember(io.RawIOBase):
    """A stored or deflated member, open on its own, so that members are read side by side."""

    def __init__(self, path: Path, member: zipfile.ZipInfo) -> None:
        super().__init__()
        self._file = path.open("rb")  # first of all: whatever is refused below, close() finds it
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"{path}: '{member.filename}' is neither stored nor deflated")
        if member.flag_bits & 1:
            raise ArchiveError(f"{path}: '{member.filename}' is encrypted")
        self.name = member.filename
        self._size = member.file_size
        self._expected_sum, self._sum, self._summed = member.CRC, 0, 0
        self._spacing = max(SPACING, member.file_size // MAX_ACCESS_POINTS)
        self._start = self._data_offset(member)
        self._deflated = member.compress_type == zipfile.ZIP_DEFLATED
        self._position = 0
        self.inflated = 0  # plain bytes made so far, those passed over while seeking too
        self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        self._file.seek(self._start)
        self._points = [AccessPoint(0, self._start, self._decoder.copy())]

    def _data_offset(self, member: zipfile.ZipInfo) -> int:
        self._file.seek(member.header_offset)
        header = self._file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or not header.startswith(LOCAL_SIGNATURE):
            raise ArchiveError(f"'{member.filename}': the zip has no member at its place")
        *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
        return int(member.header_offset + LOCAL_HEADER.size + name_length + extra_length)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        target = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        target = min(max(target, 0), self._size)
        if self._deflated:
            self._seek_deflated(target)
        else:
            self._file.seek(self._start + target)
            self._position = target
        return target

    def _seek_deflated(self, target: int) -> None:
        index = bisect.bisect_right(self._points, target, key=lambda point: point.position) - 1
        point = self._points[index]
        if not point.position <= self._position <= target:
            self._position, self._decoder = point.position, point.decoder.copy()
            self._file.seek(point.source)
        while self._position < target and self._inflate(min(READ_SIZE, target - self._position)):
            pass

    def readinto(self, buffer: Any, /) -> int:
        size = min(len(buffer), self._size - self._position)
        if self._position == self._size:
            self._check_sum()
        if self._deflated:
            data = self._inflate(size)
        else:
            data = self._file.read(size)
            self._position += len(data)
        if size and not data:
            raise ArchiveError(f"'{self.name}' in the zip ends after {self._position} of {self._size} bytes")
        buffer[: len(data)] = data
        self._add_to_sum(data)
        return len(data)

    def _add_to_sum(self, data: bytes) -> None:
        if self._position - len(data) == self._summed:
            self._sum, self._summed = zlib.crc32(data, self._sum), self._position

    def _check_sum(self) -> None:
        """Once read from end to end in order, the data must have the sum that the zip names.

        It is the read behind the end that says so: the data themselves have been handed out by then.
        """
        if self._summed == self._size and self._sum != self._expected_sum:
            raise ArchiveError(
                f"'{self.name}' in the zip is damaged, at or before byte {self._position}: its check sum is another"
            )

    def _inflate(self, size: int) -> bytes:
        data = b""
        while size and not data:
            source = self._decoder.unconsumed_tail or self._file.read(READ_SIZE)
            if not source or self._decoder.eof:
                break
            data = self._decompressed(source, size)
        self._position += len(data)
        self.inflated += len(data)
        if self._position >= self._points[-1].position + self._spacing:
            self._points.append(AccessPoint(self._position, self._file.tell(), self._decoder.copy()))
        return data

    def _decompressed(self, source: bytes, size: int) -> bytes:
        """Up to `size` bytes of plain data, before a damaged place as many as there are."""
        while True:
            before = self._decoder.copy()
            try:
                return bytes(self._decoder.decompress(source, size))
            except zlib.error as error:
                self._decoder = before
                if size == 1:
                    raise ArchiveError(
                        f"'{self.name}' in the zip is damaged after {self._position} bytes: {error}"
                    ) from None
                size //= 2
