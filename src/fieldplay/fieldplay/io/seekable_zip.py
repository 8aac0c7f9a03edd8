"""Deflated data that can be sought in, and members of zips as files that are: points to start again from are kept."""

import bisect
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fieldplay.bags.compression import BOMB, LARGEST_GAIN, MUCH
from fieldplay.core.errors import ArchiveError

READ_SIZE = 1 << 16
FIRST_SPACING = 1 << 22  # of points, in plain bytes: some 15 ms of inflating; it doubles whenever there are too many
MOST_POINTS = 64  # each holds the decoder's window of some 40 kB
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
LOCAL_SIGNATURE = b"PK\x03\x04"


class InflateError(Exception):
    """Deflated data are damaged; all that stands before the fault was read."""


class _Point(NamedTuple):
    position: int
    source: int
    decoder: Any  # zlib names no type for it


class SeekableDeflate:
    """The plain bytes of deflated data that begin at a place of a file, up to their end or to their fault."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._start = file, start
        self._decoder: Any = zlib.decompressobj(-zlib.MAX_WBITS)
        self._fault = ""  # behind what the decoder has
        self._spacing = FIRST_SPACING
        self._points = [_Point(0, start, self._decoder.copy())]
        self.position = 0
        self.inflated = 0  # plain bytes made so far, those passed over while seeking too
        file.seek(start)

    @property
    def is_at_end(self) -> bool:
        """Whether all was read, and the data are not cut off."""
        return bool(self._decoder.eof)

    def behind(self, size: int) -> bytes:
        """Some bytes of the file behind the end, fewer where there are not so many."""
        found = bytes(self._decoder.unused_data[:size])
        return found + self._file.read(size - len(found))

    def seek(self, target: int) -> int:
        """Go to a place in the plain data, or to their end if that is nearer; where that is."""
        point = self._points[bisect.bisect_right(self._points, target, key=lambda point: point.position) - 1]
        if not point.position <= self.position <= target:
            self.position, self._decoder, self._fault = point.position, point.decoder.copy(), ""
            self._file.seek(point.source)
        while self.position < target and self.read(min(READ_SIZE, target - self.position)):
            pass
        return self.position

    def read(self, size: int) -> bytes:
        """The next bytes, `size` at most; none at the end, and where the data are cut off."""
        data, is_over = b"", False
        while size and not data and not is_over and not self._decoder.eof:
            source = self._decoder.unconsumed_tail
            if not source and not self._fault:
                source = self._file.read(READ_SIZE)
            is_over = not source
            data = self._decompressed(source, size)  # it may hold some although the source is at its end
        if size and not data and self._fault:
            raise InflateError(self._fault)
        self.position += len(data)
        self.inflated += len(data)
        if self.position > MUCH and self.position > LARGEST_GAIN * self._consumed:
            self._fault = BOMB
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)  # without what it has not consumed
        self._keep_point()
        return data

    @property
    def _consumed(self) -> int:
        """The packed bytes up to the position."""
        return self._file.tell() - self._start - len(self._decoder.unconsumed_tail)

    def _decompressed(self, source: bytes, size: int) -> bytes:
        """Plain bytes; before a fault, of so much of the source as is sound."""
        before = self._decoder.copy()
        try:
            return bytes(self._decoder.decompress(source, size))
        except zlib.error as error:
            self._fault = str(error)
        sound, unsound = 0, len(source)
        while unsound - sound > 1:
            middle = (sound + unsound) // 2
            sound, unsound = (middle, unsound) if _is_sound(before, source[:middle], size) else (sound, middle)
        self._decoder = before
        return bytes(before.decompress(source[:sound], size))

    def _keep_point(self) -> None:
        """What the decoder has not consumed is in its copy too."""
        if self._fault or self.position < self._points[-1].position + self._spacing:
            return
        if len(self._points) == MOST_POINTS:
            self._points, self._spacing = self._points[::2], 2 * self._spacing
        else:
            self._points.append(_Point(self.position, self._file.tell(), self._decoder.copy()))


class RunningSum:
    """The checksum of data that are read in order from their begin."""

    def __init__(self, add: Callable[[bytes, int], int], first: int) -> None:
        self._add = add
        self.value, self.count = first, 0

    def add(self, begin: int, data: bytes) -> None:
        """Some data by their place; what was left out before them, or is read again, does not count."""
        if begin == self.count:
            self.value, self.count = self._add(data, self.value), self.count + len(data)


def _is_sound(decoder: Any, source: bytes, size: int) -> bool:
    try:
        decoder.copy().decompress(source, size)
    except zlib.error:
        return False
    return True


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
        self._expected_sum, self._sum = member.CRC, RunningSum(zlib.crc32, 0)
        self._start = self._data_offset(member)
        self._position = 0
        self._deflated = (
            SeekableDeflate(self._file, self._start) if member.compress_type == zipfile.ZIP_DEFLATED else None
        )
        self._file.seek(self._start)

    @property
    def inflated(self) -> int:
        """Plain bytes made so far, those passed over while seeking too."""
        return 0 if self._deflated is None else self._deflated.inflated

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
        if self._deflated is not None:
            with self._told(self._deflated):
                self._position = self._deflated.seek(target)
        else:
            self._file.seek(self._start + target)
            self._position = target
        return target

    def readinto(self, buffer: Any, /) -> int:
        size = min(len(buffer), self._size - self._position)
        if self._position == self._size:
            self._check_sum()
        data = self._read(size)
        if size and not data:
            raise ArchiveError(f"'{self.name}' in the zip ends after {self._position} of {self._size} bytes")
        buffer[: len(data)] = data
        self._sum.add(self._position, data)
        self._position += len(data)
        return len(data)

    def _read(self, size: int) -> bytes:
        if self._deflated is None:
            return self._file.read(size)
        with self._told(self._deflated):
            return self._deflated.read(size)

    @contextmanager
    def _told(self, deflated: SeekableDeflate) -> Iterator[None]:
        try:
            yield
        except InflateError as error:
            message = f"'{self.name}' in the zip is damaged after {deflated.position} bytes: {error}"
            raise ArchiveError(message) from None

    def _check_sum(self) -> None:
        """Once read from end to end in order, the data must have the sum that the zip names.

        It is the read behind the end that says so: the data themselves have been handed out by then.
        """
        if self._sum.count == self._size and self._sum.value != self._expected_sum:
            raise ArchiveError(
                f"'{self.name}' in the zip is damaged, at or before byte {self._position}: its check sum is another"
            )
