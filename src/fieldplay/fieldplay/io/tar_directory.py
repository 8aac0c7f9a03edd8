"""The members of a tar: of a plain one read where they are, of a packed one unpacked once into a file without a name.

A tar may be cut into parts (`name.tar.gz.00`, `.01`), which are read one after the other.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fieldplay.core.errors import ArchiveError
from fieldplay.io.file_names import NameTable
from fieldplay.io.seekable_zip import is_outside_archive
from fieldplay.io.spill_file import SpillFile

PART = re.compile(r"(?P<whole>.+\.(?:tar(?:\.[a-z0-9]{1,4})?|tgz|tbz2?|txz))\.(?P<number>\d{2,3})", re.IGNORECASE)
PACKED = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz"}  # how files begin that are packed
LONGEST = max(map(len, PACKED))
BLOCK = 512
MAGIC, MAGIC_AT = b"ustar", 257
CHUNK = 1 << 20
TAR_ERRORS = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)


class TarDirectory:
    """The members of a tar: their names, those that must not be used, and each by itself.

    `cut` says where a packed one breaks off, if it does: what lies before is there.
    """

    def __init__(self, path: Path) -> None:
        self._scratch: SpillFile | None = None
        self._file: IO[bytes] | None = None
        self._locations: dict[str, tuple[int, int]] = {}
        self.cut = ""
        parts = parts_of_tar(path)
        counts: Counter[str] = Counter()
        try:
            members = self._in_place(parts[0]) if len(parts) == 1 and not _is_packed(parts[0]) else self._unpack(parts)
            for name, location in members:
                counts[name] += 1
                self._locations[name] = location
        except BaseException:
            self.close()
            raise
        self.unsafe = [name for name in self._locations if is_outside_archive(name)]
        self.repeated = {name: count for name, count in counts.items() if count > 1}
        self.table = NameTable(sorted(self._locations.keys() - set(self.unsafe)))

    @property
    def unpacked_bytes(self) -> int:
        """How large the file without a name is; 0 of a tar that is read in place."""
        return 0 if self._scratch is None else self._scratch.size

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        if self._scratch is not None:
            self._scratch.close()

    def size(self, name: str) -> int:
        """The length of a member in bytes."""
        return self._locations[name][1]

    def read(self, name: str) -> bytes:
        """The content of a member; safe in several threads."""
        offset, size = self._locations[name]
        return self.read_at(offset, size)

    def read_at(self, offset: int, size: int) -> bytes:
        """So many bytes of the tar, or of what it was unpacked to, from a place on."""
        if self._scratch is not None:
            return self._scratch.read(offset, size)
        assert self._file is not None
        return os.pread(self._file.fileno(), size, offset)

    def open(self, name: str) -> "TarMember":
        """A member, to read and seek in."""
        return TarMember(self, *self._locations[name])

    def _in_place(self, path: Path) -> Iterator[tuple[str, tuple[int, int]]]:
        self._file = path.open("rb")
        length = os.fstat(self._file.fileno()).st_size
        with tarfile.open(fileobj=self._file, mode="r:") as tar:
            for member in self._members(tar):
                if member.offset_data + member.size > length:
                    self.cut = f"it ends within '{member.name}'"
                    return
                yield member.name, (member.offset_data, member.size)

    def _unpack(self, parts: list[Path]) -> Iterator[tuple[str, tuple[int, int]]]:
        self._scratch = SpillFile()
        with io.BufferedReader(_Joined(parts), CHUNK) as packed, tarfile.open(fileobj=packed, mode="r|*") as tar:
            for member in self._members(tar):
                source, offset = tar.extractfile(member), self._scratch.size
                assert source is not None
                try:
                    while data := source.read(CHUNK):
                        self._append(data)
                except TAR_ERRORS as error:
                    self.cut = f"it breaks off within '{member.name}': {error}"
                    return
                if self._scratch.size - offset != member.size:
                    self.cut = f"it ends within '{member.name}'"
                    return
                yield member.name, (offset, member.size)

    def _append(self, data: bytes) -> None:
        assert self._scratch is not None
        try:
            self._scratch.append(data)
        except OSError as error:
            raise ArchiveError(f"there is no room to unpack the tar ({error}); TMPDIR names another folder") from None

    def _members(self, tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        """The files, until the tar ends or breaks off."""
        while True:
            try:
                member = tar.next()
            except TAR_ERRORS as error:
                self.cut = f"it breaks off: {error}"
                return
            if member is None:
                return
            if member.isreg() and not member.issparse():
                member.name = member.name.removeprefix("./")
                yield member


class TarMember(io.RawIOBase):
    """A member, open on its own, so that members are read side by side."""

    def __init__(self, directory: TarDirectory, start: int, size: int) -> None:
        super().__init__()
        self._directory, self._start, self._size, self._position = directory, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        count = max(0, min(len(buffer), self._size - self._position))
        data = self._directory.read_at(self._start + self._position, count) if count else b""
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class _Joined(io.RawIOBase):
    """The bytes of several files, one after the other."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__()
        self._paths = list(paths)
        self._file: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        while True:
            if self._file is None:
                if not self._paths:
                    return 0
                self._file = self._paths.pop(0).open("rb")
            data = self._file.read(len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
            self._file.close()
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def parts_of_tar(path: Path) -> list[Path]:
    """The parts of a tar that is cut, from the first one up to where one is missing; else the file itself."""
    match = PART.fullmatch(path.name)
    if not match:
        return [path]
    digits = len(match["number"])
    parts: list[Path] = []
    while (part := path.with_name(f"{match['whole']}.{len(parts):0{digits}d}")).is_file():
        parts.append(part)
    return parts or [path]


def is_tar(path: Path) -> bool:
    """Whether a file is a tar, packed or not, or a part of one, by its contents."""
    first = parts_of_tar(path)[0]
    try:
        with first.open("rb") as file:
            start = file.read(LONGEST)
            file.seek(0)
            kind = next((kind for magic, kind in PACKED.items() if start.startswith(magic)), "")
            head = _head(file, kind)
    except TAR_ERRORS:
        return False
    return head[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


def _head(file: IO[bytes], kind: str) -> bytes:
    """The first block of what is packed in some way, or of what is not."""
    if kind == "gz":
        with gzip.GzipFile(fileobj=file) as unpacked:
            return unpacked.read(BLOCK)
    if kind == "bz2":
        with bz2.BZ2File(file) as unpacked_bz2:
            return unpacked_bz2.read(BLOCK)
    if kind == "xz":
        with lzma.LZMAFile(file) as unpacked_xz:
            return unpacked_xz.read(BLOCK)
    return file.read(BLOCK)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(LONGEST)
    return any(start.startswith(magic) for magic in PACKED)
