"""The files of an archive, in a folder or in a zip that is read in place."""

import io
import os
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

from fieldplay_archive.errors import ArchiveError, Defect, Report
from fieldplay_archive.zipped import READ_SIZE, SeekableMember


class Files(AbstractContextManager["Files"], ABC):
    """The files of an archive by their name: the path below its root, with forward slashes."""

    def __init__(self, names: list[str]) -> None:
        self.names = sorted(names)

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """A file, to read and seek in."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file; safe to call from several threads."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The length of a file in bytes."""

    def matching(self, pattern: str) -> list[str]:
        """The names, at any depth, whose last part matches a regular expression as a whole, regardless of case."""
        expression = re.compile(pattern, re.IGNORECASE)
        return [name for name in self.names if expression.fullmatch(name.rpartition("/")[2])]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is open."""


class FolderFiles(Files):
    """The files below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__(list(_names_below(root)))

    def open(self, name: str) -> BinaryIO:
        return (self.root / name).open("rb")

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def size(self, name: str) -> int:
        return (self.root / name).stat().st_size


def _names_below(root: Path) -> Iterator[str]:
    """Names of all files; folders behind links are entered, each once."""
    seen = set()
    for folder, folders, names in os.walk(root, followlinks=True):
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        prefix = Path(folder).relative_to(root).as_posix()
        yield from (name if prefix == "." else f"{prefix}/{name}" for name in names)


class ZipFiles(Files):
    """The members of a zip, read where they are."""

    def __init__(self, path: Path, report: Report) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ArchiveError(f"{path}: expected a zip archive: {error}") from None
        self.path = path
        super().__init__(list(self._safe_names(report)))

    def _safe_names(self, report: Report) -> Iterator[str]:
        for member in self._zip.infolist():
            if member.is_dir():
                continue
            if leaves_archive(member.filename):
                message = f"the member's path '{member.filename}' leaves the archive: refused"
                report(Defect(file=self.path.name, kind="unsafe_path", message=message))
            else:
                yield member.filename

    def open(self, name: str) -> BinaryIO:
        return io.BufferedReader(SeekableMember(self.path, self._zip.getinfo(name)), READ_SIZE)

    def read(self, name: str) -> bytes:
        return self._zip.read(name)

    def size(self, name: str) -> int:
        return self._zip.getinfo(name).file_size

    def close(self) -> None:
        self._zip.close()


def leaves_archive(name: str) -> bool:
    """Whether a member's path would lie outside the archive's root if it were unpacked."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", name))


def open_files(root: Path, report: Report) -> Files:
    """The files of a folder or of a zip."""
    if root.is_dir():
        return FolderFiles(root)
    if not root.exists():
        raise ArchiveError(f"{root}: there is no such folder or file")
    return ZipFiles(root, report)
