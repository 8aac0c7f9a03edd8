"""A member of a zip as a file that seeks in milliseconds, by what is kept while the deflated data are read."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fieldplay_archive.files.inflation import InflateError, Inflating, RunningSum
from fieldplay_messages.errors import ArchiveError

READ_SIZE = 1 << 16
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
LOCAL_SIGNATURE = b"PK\x03\x04"


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
        self._deflated = Inflating(self._file, self._start) if member.compress_type == zipfile.ZIP_DEFLATED else None
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
    def _told(self, deflated: Inflating) -> Iterator[None]:
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
