"""Deflated data that can be sought in, and members of zips as files that are: points to start again from are kept."""

import bisect
import io
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from fieldplay.bags.compression import BOMB, LARGEST_GAIN, MUCH
from fieldplay.core.errors import ArchiveError
from fieldplay.io.file_names import NameTable

END = struct.Struct("<4s4H2IH")
END_SIGNATURE = b"PK\x05\x06"
LONG_END = struct.Struct("<4sQ2H2I4Q")
LONG_END_SIGNATURE = b"PK\x06\x06"
LOCATOR = struct.Struct("<4sIQI")
LOCATOR_SIGNATURE = b"PK\x06\x07"
LONGEST_COMMENT = (1 << 16) - 1
RECORD_SIZE = 46
RECORD_SIGNATURE = b"PK\x01\x02"
LENGTHS = struct.Struct("<4s4xH18x3H")  # of a record: signature, flags; lengths of name, extra field and comment
OFFSET_AT = slice(42, 46)  # of a record: where the member's own head lies
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
UTF_8 = 0x800
READ_SIZE = 1 << 16
FIRST_SPACING = 1 << 22  # of points, in plain bytes: some 15 ms of inflating; it doubles whenever there are too many
MOST_POINTS = 64  # each holds the decoder's window of some 40 kB
LOCAL_SIGNATURE = b"PK\x03\x04"


# The directory of a zip, gone through at once; a member is handed to `zipfile` alone, when it is asked for.
#
# `zipfile` makes an object of each member as soon as a zip is opened, which takes seconds for 200,000 images.


class ZipDirectory:
    """The members of a zip: their names, those that must not be used, and each by itself."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._size = os.fstat(self._file.fileno()).st_size
        try:
            self._records, self._before = self._directory()
            names, ends = self._members()
        except BaseException:
            self.close()
            raise
        self._bounds = {
            name: bounds for name, bounds in zip(names, pairwise([0, *ends]), strict=True) if name[-1:] != "/"
        }
        self.unsafe = [name for name in self._bounds if is_outside_archive(name)]
        self.table = NameTable(sorted(self._bounds.keys() - set(self.unsafe)))
        self.repeated: dict[str, int] = {}
        if len(set(names)) < len(names):
            counts = Counter(names)
            self.repeated = {name: counts[name] for name in self._bounds if counts[name] > 1}

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def member(self, name: str) -> zipfile.ZipInfo:
        """What the directory says of a member; the last counts where several have the name."""
        record = self._record(name)
        with closing(zipfile.ZipFile(io.BytesIO(_zip_of(b"", record)))) as alone:
            (member,) = alone.infolist()
        member.header_offset += self._before
        if not 0 <= member.header_offset < self._size:
            raise zipfile.BadZipFile(f"expected the member at byte {member.header_offset}, which the file has not")
        return member

    def read(self, name: str) -> bytes:
        """The content of a member; what zipfile raises where it is damaged. Safe in several threads."""
        member = self.member(name)
        if member.file_size > MUCH and member.file_size > LARGEST_GAIN * member.compress_size:
            raise zipfile.BadZipFile(BOMB)
        head = self._read(member.header_offset, LOCAL_HEADER.size)
        lengths = LOCAL_HEADER.unpack(head)[-2:] if len(head) == LOCAL_HEADER.size else ()
        compressed = self._read(member.header_offset, LOCAL_HEADER.size + sum(lengths) + member.compress_size)
        record = bytearray(self._record(name))
        # that of a long offset stays in the extra field, where nobody asks for it then
        record[OFFSET_AT] = bytes(4)
        with closing(zipfile.ZipFile(io.BytesIO(_zip_of(compressed, bytes(record))))) as alone:
            return alone.read(alone.infolist()[0])

    def _record(self, name: str) -> bytes:
        start, end = self._bounds[name]
        return self._records[start:end]

    def _read(self, start: int, size: int) -> bytes:
        """Read at an offset of the file, without moving in it, and no more than it can have."""
        return os.pread(self._file.fileno(), min(size, self._size), start)

    def _members(self) -> tuple[list[str], list[int]]:
        """The names of all records, and where each ends; folders are among them."""
        records, position = self._records, 0
        names, ends = [], []
        while position < len(records):
            if len(records) < position + RECORD_SIZE:
                raise zipfile.BadZipFile("Truncated central directory")
            signature, flags, name_length, extra, comment = LENGTHS.unpack_from(records, position)
            if signature != RECORD_SIGNATURE:
                raise zipfile.BadZipFile("Bad magic number for central directory")
            name_at = position + RECORD_SIZE
            name = records[name_at : name_at + name_length].decode("utf-8" if flags & UTF_8 else "cp437")
            names.append(name.partition("\0")[0] if "\0" in name else name)
            position = name_at + name_length + extra + comment
            ends.append(position)
        return names, ends

    def _directory(self) -> tuple[bytes, int]:
        """The bytes of all records, and how many bytes stand before the zip in its file."""
        end, length, offset = self._end(self._size)
        before = end - length - offset
        if length > end:  # `before` is less than 0 where bytes are missing: the members behind these are there
            raise zipfile.BadZipFile("Bad offset for central directory")
        records = self._read(end - length, length)
        return records, before

    def _end(self, size: int) -> tuple[int, int, int]:
        """The directory's end, its length, and the offset that the zip gives for its start."""
        tail_at = max(0, size - END.size - LONGEST_COMMENT)
        tail = self._read(tail_at, size - tail_at)
        index = tail.rfind(END_SIGNATURE)
        if index < 0 or len(tail) < index + END.size:
            raise zipfile.BadZipFile("File is not a zip file")
        *_, length, offset, _ = END.unpack_from(tail, index)
        end = tail_at + index
        long_at = end - LOCATOR.size - LONG_END.size
        if long_at >= 0:
            long, locator = LONG_END.size, self._read(end - LOCATOR.size, LOCATOR.size)
            long_end = self._read(long_at, long)
            if locator.startswith(LOCATOR_SIGNATURE) and long_end.startswith(LONG_END_SIGNATURE):
                *_, length, offset = LONG_END.unpack(long_end)
                end = long_at
        return end, length, offset


def _zip_of(compressed: bytes, record: bytes) -> bytes:
    """A zip of one member."""
    return compressed + record + END.pack(END_SIGNATURE, 0, 0, 1, 1, len(record), len(compressed), 0)


def is_outside_archive(name: str) -> bool:
    """Whether a member would be unpacked to a path outside the archive's root."""
    if ".." not in name and not name.startswith(("/", "\\")) and name[1:2] != ":":
        return False  # which is said at once of each of very many members
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", name))


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
        self._issue = ""  # behind what the decoder has
        self._spacing = FIRST_SPACING
        self._points = [_Point(0, start, self._decoder.copy())]
        self.position = 0
        self.inflated = 0  # plain bytes made so far, those passed over while seeking too
        file.seek(start)

    @property
    def is_at_end(self) -> bool:
        """Whether all was read, and the data are not cut off."""
        return bool(self._decoder.eof)

    def trailing_bytes(self, size: int) -> bytes:
        """The first bytes of the file after the end of the data, fewer where there are not so many."""
        data = bytes(self._decoder.unused_data[:size])
        return data + self._file.read(size - len(data))

    def seek(self, target: int) -> int:
        """Go to a place in the plain data, or to their end if that is nearer; where that is."""
        point = self._points[bisect.bisect_right(self._points, target, key=lambda point: point.position) - 1]
        if not point.position <= self.position <= target:
            self.position, self._decoder, self._issue = point.position, point.decoder.copy(), ""
            self._file.seek(point.source)
        while self.position < target and self.read(min(READ_SIZE, target - self.position)):
            pass
        return self.position

    def read(self, size: int) -> bytes:
        """The next bytes, `size` at most; none at the end, and where the data are cut off."""
        data, is_over = b"", False
        while size and not data and not is_over and not self._decoder.eof:
            source = self._decoder.unconsumed_tail
            if not source and not self._issue:
                source = self._file.read(READ_SIZE)
            is_over = not source
            data = self._decompress(source, size)  # it may hold some although the source is at its end
        if size and not data and self._issue:
            raise InflateError(self._issue)
        self.position += len(data)
        self.inflated += len(data)
        if self.position > MUCH and self.position > LARGEST_GAIN * self._consumed:
            self._issue = BOMB
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)  # without what it has not consumed
        self._keep_point()
        return data

    @property
    def _consumed(self) -> int:
        """The packed bytes up to the position."""
        return self._file.tell() - self._start - len(self._decoder.unconsumed_tail)

    def _decompress(self, source: bytes, size: int) -> bytes:
        """Decompress a source; of a damaged one, as much as is sound."""
        before = self._decoder.copy()
        try:
            return bytes(self._decoder.decompress(source, size))
        except zlib.error as error:
            self._issue = str(error)
        sound, unsound = 0, len(source)
        while unsound - sound > 1:
            middle = (sound + unsound) // 2
            sound, unsound = (middle, unsound) if _is_sound(before, source[:middle], size) else (sound, middle)
        self._decoder = before
        return bytes(before.decompress(source[:sound], size))

    def _keep_point(self) -> None:
        """What the decoder has not consumed is in its copy too."""
        if self._issue or self.position < self._points[-1].position + self._spacing:
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

    def add(self, start: int, data: bytes) -> None:
        """Some data by their place; what was left out before them, or is read again, does not count."""
        if start == self.count:
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
            with self._inflate_errors(self._deflated):
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
        with self._inflate_errors(self._deflated):
            return self._deflated.read(size)

    @contextmanager
    def _inflate_errors(self, deflated: SeekableDeflate) -> Iterator[None]:
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
