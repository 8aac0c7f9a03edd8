"""A file that zlib packed, to be read and sought in; its checksum is compared once it was read from end to end."""

import io
import zlib
from typing import Any

from fieldplay_archive.files.inflation import InflateError, Inflating, RunningSum
from fieldplay_messages.errors import ArchiveError

HEADER, CHECKSUM = 2, 4  # bytes
NEEDS_DICTIONARY = 0x20
OTHER_SUM = "zlib's checksum at its end is another than that of the bytes"


class Inflated(io.RawIOBase):
    """The plain bytes of a packed file; how many there are is known only at its end."""

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        super().__init__()
        self.name = name
        self._file = file
        self._header = file.read(HEADER)
        self._data = Inflating(file, HEADER)
        self._sum = RunningSum(zlib.adler32, 1)
        self._expected_sum: bytes | None = None

    @property
    def source_place(self) -> int:
        """How far the packed file is read."""
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
            raise self._damaged(str(error)) from None

    def readinto(self, buffer: Any, /) -> int:
        self._require_header()
        begin = self._data.position
        try:
            data = self._data.read(len(buffer))
        except InflateError as error:
            raise self._damaged(str(error)) from None
        if len(buffer) and not data:
            self._require_end()
        self._sum.add(begin, data)
        buffer[: len(data)] = data
        return len(data)

    def _require_header(self) -> None:
        try:
            zlib.decompressobj().decompress(self._header)
        except zlib.error as error:
            raise self._damaged(str(error)) from None
        if len(self._header) == HEADER and self._header[1] & NEEDS_DICTIONARY:
            raise self._damaged("it needs a dictionary")

    def _require_end(self) -> None:
        """The data are whole, and have their checksum if they were read in order."""
        if self._expected_sum is None and self._data.is_at_end:
            self._expected_sum = self._data.behind(CHECKSUM)
        expected = self._expected_sum or b""
        if len(expected) < CHECKSUM:
            raise ArchiveError(f"{self.name}: cut off, it ends after {self._data.position} plain bytes")
        if self._sum.count == self._data.position and self._sum.value != int.from_bytes(expected, "big"):
            raise self._damaged(OTHER_SUM)

    def _damaged(self, why: str) -> ArchiveError:
        return ArchiveError(f"{self.name}: damaged: {why}, behind {self._data.position} plain bytes")
