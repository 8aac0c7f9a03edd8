"""Open files of logs: a few are kept, and no two threads have the same one at a time."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from fieldplay_archive.files.containers import Files, last_part
from fieldplay_archive.logs.blocks import KeptBlocks
from fieldplay_archive.logs.inflated import Inflated
from fieldplay_messages.errors import ArchiveError

PACKED = ".zz"
MOST_KEPT = 24


def open_log_file(files: Files, name: str) -> BinaryIO:
    """A log's plain bytes, whether it is packed or not."""
    file = files.open(name)
    return cast(BinaryIO, Inflated(file, last_part(name)) if name.lower().endswith(PACKED) else file)


class Handles:
    """Files that were opened, by their name and who reads them: one who reads on and on finds his place again.

    To seek in packed files takes time, so each stream that lies in one has its own.
    """

    def __init__(self, files: Files) -> None:
        self.blocks = KeptBlocks()  # of samples of these files
        self._files = files
        self._kept: OrderedDict[tuple[str, Hashable], list[BinaryIO]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def read(self, name: str, begin: int, size: int, *, reader: Hashable) -> bytes:
        """Some bytes of a log; ArchiveError where it has not so many."""
        with self._taken(name, reader) as file:
            try:
                file.seek(begin)
                data = _all_of(file, size)
            except OSError as error:
                raise ArchiveError(f"{name}: cannot be read: {error}") from None
        if len(data) < size:
            raise ArchiveError(f"{name}: expected {size} bytes at byte {begin}, got {len(data)}: the file has changed")
        return data

    @contextmanager
    def _taken(self, name: str, reader: Hashable) -> Iterator[BinaryIO]:
        file = self._take((name, reader)) or open_log_file(self._files, name)
        try:
            yield file
        except (ArchiveError, OSError):
            file.close()
            raise
        self._put_back((name, reader), file)

    def _take(self, key: tuple[str, Hashable]) -> BinaryIO | None:
        with self._lock:
            kept = self._kept.get(key)
            if not kept:
                return None
            self._count -= 1
            return kept.pop()

    def _put_back(self, key: tuple[str, Hashable], file: BinaryIO) -> None:
        with self._lock:
            self._kept.setdefault(key, []).append(file)
            self._kept.move_to_end(key)
            self._count += 1
            while self._count > MOST_KEPT:
                oldest = next(iter(self._kept.values()))
                if oldest:
                    oldest.pop().close()
                    self._count -= 1
                else:
                    self._kept.popitem(last=False)

    def close(self) -> None:
        with self._lock:
            for files in self._kept.values():
                for file in files:
                    with suppress(OSError):
                        file.close()
            self._kept.clear()
            self._count = 0


def _all_of(file: BinaryIO, size: int) -> bytes:
    """So many bytes, or all up to the end; a raw file gives fewer at a time."""
    data = file.read(size)
    if len(data) == size or not data:
        return data
    parts, missing = [data], size - len(data)
    while missing and (more := file.read(missing)):
        parts.append(more)
        missing -= len(more)
    return b"".join(parts)
