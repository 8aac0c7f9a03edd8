"""The directory of a zip, gone through at once; a member is handed to `zipfile` alone, when it is asked for.

`zipfile` makes an object of each member as soon as a zip is opened, which takes seconds for 200,000 pictures.
"""

import io
import os
import re
import struct
import zipfile
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path, PurePosixPath

from fieldplay.bags.compression import BOMB, LARGEST_GAIN, MUCH
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
        self._places = {
            name: place for name, place in zip(names, pairwise([0, *ends]), strict=True) if name[-1:] != "/"
        }
        self.unsafe = [name for name in self._places if leaves_archive(name)]
        self.table = NameTable(sorted(self._places.keys() - set(self.unsafe)))
        self.repeated: dict[str, int] = {}
        if len(set(names)) < len(names):
            counts = Counter(names)
            self.repeated = {name: counts[name] for name in self._places if counts[name] > 1}

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
        packed = self._read(member.header_offset, LOCAL_HEADER.size + sum(lengths) + member.compress_size)
        record = bytearray(self._record(name))
        # that of a long offset stays in the extra field, where nobody asks for it then
        record[OFFSET_AT] = bytes(4)
        with closing(zipfile.ZipFile(io.BytesIO(_zip_of(packed, bytes(record))))) as alone:
            return alone.read(alone.infolist()[0])

    def _record(self, name: str) -> bytes:
        begin, end = self._places[name]
        return self._records[begin:end]

    def _read(self, begin: int, size: int) -> bytes:
        """Of a place of the file, without moving in it, and no more than it can have."""
        return os.pread(self._file.fileno(), min(size, self._size), begin)

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
        place, length, offset = self._end(self._size)
        before = place - length - offset
        if length > place:  # `before` is less than 0 where bytes are missing: the members behind these are there
            raise zipfile.BadZipFile("Bad offset for central directory")
        records = self._read(place - length, length)
        return records, before

    def _end(self, size: int) -> tuple[int, int, int]:
        """Where the directory ends, its length, and where it begins by the zip's own words."""
        tail_at = max(0, size - END.size - LONGEST_COMMENT)
        tail = self._read(tail_at, size - tail_at)
        found = tail.rfind(END_SIGNATURE)
        if found < 0 or len(tail) < found + END.size:
            raise zipfile.BadZipFile("File is not a zip file")
        *_, length, offset, _ = END.unpack_from(tail, found)
        place = tail_at + found
        long_at = place - LOCATOR.size - LONG_END.size
        if long_at >= 0:
            long, locator = LONG_END.size, self._read(place - LOCATOR.size, LOCATOR.size)
            long_end = self._read(long_at, long)
            if locator.startswith(LOCATOR_SIGNATURE) and long_end.startswith(LONG_END_SIGNATURE):
                *_, length, offset = LONG_END.unpack(long_end)
                place = long_at
        return place, length, offset


def _zip_of(packed: bytes, record: bytes) -> bytes:
    """A zip of one member."""
    return packed + record + END.pack(END_SIGNATURE, 0, 0, 1, 1, len(record), len(packed), 0)


def leaves_archive(name: str) -> bool:
    """Whether a member's path would lie outside the archive's root if it were unpacked."""
    if ".." not in name and not name.startswith(("/", "\\")) and name[1:2] != ":":
        return False  # which is said at once of each of very many members
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", name))
