"""The bytes of a file that were read last, so that what was unpacked can be looked at again."""

from collections.abc import Callable
from typing import BinaryIO

from fieldplay.core.errors import ArchiveError

CHUNK = 1 << 20
LARGEST_ITEM = 64 << 20


class TooLargeError(ValueError):
    """An item that is larger than any that is read."""


class FileWindow:
    """A file that is read from its begin to its end; all since the mark is kept, LARGEST_ITEM bytes at most.

    One chunk is read ahead, so that the byte at a place can be seen before it is unpacked. `moved` is called with the
    place, a chunk at a time.
    """

    def __init__(self, file: BinaryIO, moved: Callable[[int], None]) -> None:
        self._file = file
        self._moved = moved
        self._mark = 0
        self._chunks: list[tuple[int, bytes]] = []
        self._kept = 0
        self._fault: ArchiveError | OSError | None = None
        self.end = 0
        self.given = 0  # up to where the unpacker has the bytes
        self._ahead = self._next()

    def _next(self) -> bytes:
        """A chunk; what goes wrong is told when its time has come."""
        try:
            data = self._file.read(CHUNK)
        except (ArchiveError, OSError) as error:
            self._fault, data = error, b""
        if data:
            self._chunks.append((self.end, data))
            self.end += len(data)
            self._kept += len(data)
            self._moved(self.end)
        return data

    def read(self, _: int) -> bytes:
        """The next bytes, as a MessagePack unpacker asks for them."""
        if self._kept > LARGEST_ITEM + 3 * CHUNK:
            raise TooLargeError(f"expected items of {LARGEST_ITEM} bytes at most, got one at byte {self._mark}")
        data = self._ahead
        if not data and self._fault is not None:
            raise self._fault
        self.given += len(data)
        self._ahead = self._next() if data else b""
        return data

    def mark(self, place: int) -> None:
        """What lies before is not needed any more."""
        self._mark = place
        while self._chunks and self._chunks[0][0] + len(self._chunks[0][1]) <= place:
            self._kept -= len(self._chunks.pop(0)[1])

    def bytes_between(self, begin: int, end: int) -> bytes:
        """Bytes since the mark, as far as they were read."""
        base, first = self._chunks[0] if self._chunks else (begin, b"")
        if end <= base + len(first):
            return first[begin - base : end - base]
        parts = (data[max(begin - at, 0) : max(end - at, 0)] for at, data in self._chunks)
        return b"".join(parts)
