"""The files of an archive, in a folder or in a zip that is read in place."""

import io
import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType

from fieldplay_archive.files.packed_archives import how_to_unpack
from fieldplay_archive.files.zip_members import READ_SIZE, SeekableMember
from fieldplay_messages.errors import ArchiveError, Defect, Report

# What zipfile raises for members and archives that it cannot read; RuntimeError is an encrypted member.
ZIP_FAULTS = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OSError, struct.error, zlib.error, lzma.LZMAError)
ZIP_START = b"PK\x03\x04"


class Files(AbstractContextManager["Files"], ABC):
    """The files of an archive by their name: the path below its root, with forward slashes."""

    def __init__(self, names: list[str]) -> None:
        self.names = sorted(names)

    @abstractmethod
    def open(self, name: str) -> io.BufferedReader:
        """A file, to read and seek in; ArchiveError if it cannot be opened."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file, or ArchiveError; safe to call from several threads."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The length of a file in bytes."""

    def matching(self, pattern: str, folder: str = "") -> list[str]:
        """The names, at any depth, whose last part matches a regular expression as a whole, regardless of case.

        With `folder`, those that lie, at any depth, in a folder whose name matches this one.
        """
        expression = re.compile(pattern, re.IGNORECASE)
        names = [name for name in self.names if expression.fullmatch(last_part(name))]
        if not folder:
            return names
        inside = re.compile(folder, re.IGNORECASE)
        return [name for name in names if any(inside.fullmatch(part) for part in folders_of(name))]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is open."""


def folders_of(name: str) -> list[str]:
    """The names of the folders that a file lies in, the outermost first."""
    return name.replace("\\", "/").split("/")[:-1]


def last_part(name: str) -> str:
    """A file's own name; some zips have backslashes between the parts."""
    return name.replace("\\", "/").rpartition("/")[2]


class FolderFiles(Files):
    """The files below a folder."""

    def __init__(self, root: Path, report: Report) -> None:
        self.root = root
        super().__init__(list(_names_below(root, report)))

    def open(self, name: str) -> io.BufferedReader:
        with _told():
            self._require_file(name)
            return (self.root / name).open("rb")

    def read(self, name: str) -> bytes:
        with _told():
            self._require_file(name)
            return (self.root / name).read_bytes()

    def size(self, name: str) -> int:
        with _told():
            return (self.root / name).stat().st_size

    def _require_file(self, name: str) -> None:
        """Opening a named pipe would wait for ever."""
        if not stat.S_ISREG((self.root / name).stat().st_mode):
            raise ArchiveError("cannot be read: expected a file, got a pipe, a socket or a device")


class ListedFiles(FolderFiles):
    """Certain files of a folder, and none below it."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.root = root
        Files.__init__(self, names)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"cannot be read: {error.strerror}") from None


def _names_below(root: Path, report: Report) -> Iterator[str]:
    """Names of all files; folders behind links are entered, each once."""
    seen = set()
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(root / folder)
            entries = list(os.scandir(root / folder))
        except OSError as error:
            message = f"the folder cannot be read: {error.strerror}"
            report(Defect(file=folder or root.name, kind="unreadable_folder", message=message))
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir():
                pending.append(name)
            else:
                yield name


class ZipFiles(Files):
    """The members of a zip, read where they are."""

    def __init__(self, path: Path, report: Report) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except ZIP_FAULTS as error:
            cut = "; the zip is cut off or damaged" if begins_as_zip(path) else ""
            hint = how_to_unpack(path, [path.name]) if not cut else ""
            raise ArchiveError(f"{path}: expected a zip archive: {error}{cut}{hint and '; ' + hint}") from None
        self.path = path
        counts = Counter(self._safe_names(report))
        for name, count in counts.items():
            if count > 1:
                message = f"the zip has {count} members of this name: the last counts"
                report(Defect(file=name, kind="duplicate_member", message=message))
        super().__init__(list(counts))

    def _safe_names(self, report: Report) -> Iterator[str]:
        for member in self._zip.infolist():
            if member.is_dir():
                continue
            if leaves_archive(member.filename):
                message = f"the member's path '{member.filename}' leaves the archive: refused"
                report(Defect(file=self.path.name, kind="unsafe_path", message=message))
            else:
                yield member.filename

    def open(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(SeekableMember(self.path, self._zip.getinfo(name)), READ_SIZE)

    def read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except ZIP_FAULTS as error:
            raise ArchiveError(f"cannot be read from the zip: {error}") from None

    def size(self, name: str) -> int:
        return self._zip.getinfo(name).file_size

    def close(self) -> None:
        self._zip.close()


def leaves_archive(name: str) -> bool:
    """Whether a member's path would lie outside the archive's root if it were unpacked."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", name))


def begins_as_zip(path: Path) -> bool:
    """Whether a file begins as zips do, though it may be cut off."""
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP_START)) == ZIP_START
    except OSError:
        return False


def open_files(root: Path, report: Report) -> Files:
    """The files of a folder or of a zip."""
    if root.is_dir():
        return FolderFiles(root, report)
    if not root.exists():
        raise ArchiveError(f"{root}: there is no such folder or file")
    return ZipFiles(root, report)
