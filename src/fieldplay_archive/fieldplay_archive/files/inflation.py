"""Deflated data that can be sought in: points where inflating may start again are kept while the data are read."""

import bisect
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

READ_SIZE = 1 << 16
FIRST_SPACING = 1 << 22  # of points, in plain bytes: some 15 ms of inflating; it doubles whenever there are too many
MOST_POINTS = 64  # each holds the decoder's window of some 40 kB


class InflateError(Exception):
    """Deflated data are damaged; all that stands before the fault was read."""


class _Point(NamedTuple):
    position: int
    source: int
    decoder: Any  # zlib names no type for it


class Inflating:
    """The plain bytes of deflated data that begin at a place of a file, up to their end or to their fault."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file = file
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
        self._keep_point()
        return data

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
