"""A file that zlib packed, to be read and sought in: points where reading may start again are kept as it is read."""

import bisect
import io
import zlib
from contextlib import suppress
from typing import Any, NamedTuple

from fieldplay_archive.errors import ArchiveError

READ_SIZE = 1 << 16
CHECKSUM = 4  # bytes at the end
MOST_POINTS = 64  # each holds the decoder's window of some 40 kB
FIRST_SPACING = 1 << 22  # plain bytes between points; it doubles whenever there are too many


class _Point(NamedTuple):
    position: int
    source: int
    decoder: Any  # zlib names no type for it


class Inflated(io.RawIOBase):
    """The plain bytes of a packed file; how many there are is known only at its end."""

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        super().__init__()
        self.name = name
        self._file = file
        self._decoder: Any = zlib.decompressobj()
        self._position = 0
        self._fault = ""
        self._spacing = FIRST_SPACING
        self._points = [_Point(0, 0, self._decoder.copy())]

    @property
    def source_place(self) -> int:
        """How far the packed file is read."""
        return self._file.tell()

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
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("the end is not known")
        point = self._points[bisect.bisect_right(self._points, offset, key=lambda point: point.position) - 1]
        if not point.position <= self._position <= offset:
            self._position, self._decoder = point.position, point.decoder.copy()
            self._file.seek(point.source)
        while self._position < offset and self._inflate(min(READ_SIZE, offset - self._position)):
            pass
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        data = self._inflate(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _inflate(self, size: int) -> bytes:
        data = b""
        while size and not data and not self._decoder.eof:
            source = self._decoder.unconsumed_tail or self._file.read(READ_SIZE)
            if not source:
                what = f"damaged: {self._fault}, behind" if self._fault else "cut off, it ends after"
                raise ArchiveError(f"{self.name}: {what} {self._position} plain bytes")
            before = self._decoder.copy()
            try:
                data = self._decoder.decompress(source, size)
            except zlib.error as error:
                self._fault = _why(error)
                if data := self._up_to_fault(before, source, size):
                    continue
                raise ArchiveError(f"{self.name}: damaged after {self._position} plain bytes: {self._fault}") from None
        self._position += len(data)
        self._keep_point()
        return data

    def _up_to_fault(self, before: Any, source: bytes, size: int) -> bytes:
        """Some of the bytes before a fault, from the decoder as it was; none where there are no more."""
        decoder = before.copy()
        with suppress(zlib.error):
            data = bytes(decoder.decompress(source[:-CHECKSUM], size))
            if data and not decoder.unconsumed_tail:
                self._decoder = decoder
                return data
        while size > 1:
            size //= 2
            decoder = before.copy()
            try:
                data = bytes(decoder.decompress(source, size))
            except zlib.error:
                continue
            if data:
                self._decoder = decoder
                return data
        return b""

    def _keep_point(self) -> None:
        """What the decoder has not consumed is in its copy too."""
        if self._position < self._points[-1].position + self._spacing:
            return
        if len(self._points) == MOST_POINTS:
            self._points, self._spacing = self._points[::2], 2 * self._spacing
            return
        self._points.append(_Point(self._position, self._file.tell(), self._decoder.copy()))


def _why(error: zlib.error) -> str:
    """What zlib says, in words where it is of its checksum."""
    is_checksum = "incorrect data check" in str(error)
    return "zlib's checksum at its end is another than that of the bytes" if is_checksum else str(error)
