"""A bag in one file or cut into several: the parts are read as one, where they are."""

import io
import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from fieldplay_messages.errors import ArchiveError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PART = re.compile(r"(?P<bag>.+\.bag)\.(?P<number>\d+)", re.IGNORECASE)
BUFFER_SIZE = 1 << 16


class Parts:
    """Files one after the other as one, to be read at any place by several threads."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.name = name_of_bag(paths[0])
        self._files = ExitStack()
        try:
            self._numbers = [self._files.enter_context(path.open("rb")).fileno() for path in paths]
        except OSError as error:
            self._files.close()
            raise ArchiveError(f"{error.filename}: cannot be read: {error.strerror}") from None
        sizes = [os.fstat(number).st_size for number in self._numbers]
        self._begins = [0, *accumulate(sizes)][:-1]
        self.size = sum(sizes)

    def read_at(self, place: int, size: int) -> bytes:
        """The bytes from a place on, fewer at the end."""
        found = b""
        while len(found) < size and place < self.size:
            index = bisect_right(self._begins, place) - 1
            part = os.pread(self._numbers[index], size - len(found), place - self._begins[index])
            if not part:
                break
            found, place = found + part, place + len(part)
        return found

    def open(self, *_: object) -> io.BufferedReader:
        """A file to read and seek in, from the beginning of the first part to the end of the last."""
        return io.BufferedReader(_Raw(self), BUFFER_SIZE)

    def exists(self) -> bool:
        return True

    def close(self) -> None:
        self._files.close()


class _Raw(io.RawIOBase):
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._parts.size}[whence]
        self._place = start + offset
        return self._place

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        data = self._parts.read_at(self._place, len(view))
        view[: len(data)] = data
        self._place += len(data)
        return len(data)


def name_of_bag(path: Path) -> str:
    """The name of a bag's file, without the number where it is a part."""
    found = PART.fullmatch(path.name)
    return found["bag"] if found else path.name


def parts_of_bag(path: Path) -> tuple[list[Path], list[str]]:
    """All parts of the bag of which a path is one, as far as they follow on another, and the names of missing ones."""
    found = PART.fullmatch(path.name)
    if not found:
        return [path], []
    others = ((PART.fullmatch(other.name), other) for other in path.parent.iterdir())
    parts = {int(match["number"]): other for match, other in others if match and match["bag"] == found["bag"]}
    width = len(found["number"])
    missing = [number for number in range(max(parts)) if number not in parts]
    names = [f"{found['bag']}.{number:0{width}}" for number in missing]
    if 0 not in parts:
        raise ArchiveError(f"{path}: expected {names[0]} beside it, the bag's beginning, got none")
    following = range(missing[0] if missing else len(parts))
    return [parts[number] for number in following], names
