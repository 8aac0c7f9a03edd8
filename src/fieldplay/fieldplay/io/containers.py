"""The files of an archive, in a folder, in a zip that is read in place, or in a tar; how to unpack what is none."""

import io
import lzma
import os
import re
import shlex
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.io.file_names import NameTable, last_part
from fieldplay.io.seekable_zip import READ_SIZE, SeekableMember, ZipDirectory
from fieldplay.io.tar_directory import TAR_ERRORS, TarDirectory, is_tar

TAR = re.compile(r".+\.(tar(\.[a-z0-9]{1,4})?|tgz|tbz2?|txz)", re.IGNORECASE)
PART = re.compile(r"(?P<whole>.+)\.\d{2,3}", re.IGNORECASE)
OTHERS = re.compile(r".+\.(7z|rar)", re.IGNORECASE)
ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without
SHOWN = 8  # bytes of what is no zip
ZIP = re.compile(r".+\.zip", re.IGNORECASE)
PACKED_NAME = re.compile(rf"{ZIP.pattern}|{TAR.pattern}", re.IGNORECASE)
# What zipfile raises for members and archives that it cannot read; RuntimeError is an encrypted member.
ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OSError, struct.error, zlib.error, lzma.LZMAError)
ZIP_START = b"PK\x03\x04"


def unpack_hint(path: Path, names: Sequence[str]) -> str:
    """What to do where a path holds nothing but packed files, by the names in it; nothing said where it holds none."""
    for name in names:
        quoted_path = shlex.quote(str(path / name if path.is_dir() else path))
        part = PART.fullmatch(name)
        if TAR.fullmatch(part["whole"] if part else name):
            return f"give the tar in it itself: {quoted_path}" if path.is_dir() else _why_no_tar(path)
        if OTHERS.fullmatch(name):
            return f"it is not read in place, unpack it first: {quoted_path}"
        if ZIP.fullmatch(name) and path.is_dir():
            return f"give the zip in it itself: {quoted_path}"
        if ZIP.fullmatch(name):
            zipped = f"a zip in a zip is not read in place, unpack it first: unzip {shlex.quote(str(path))}"
            return _why_no_zip(path) or zipped
    return ""


def _why_no_tar(path: Path) -> str:
    """What a file that is called a tar is instead; nothing said of one that is a tar."""
    with path.open("rb") as file:
        start = file.read(SHOWN)
    got = f"it starts with {start!r}" if start else "it is empty"
    return "" if is_tar(path) else f"it is called a tar and is none, {got}: load it once more, or its first part"


def _why_no_zip(path: Path) -> str:
    """What a file that is called a zip is instead; nothing said of one that begins as zips do."""
    with path.open("rb") as file:
        start = file.read(SHOWN)
    got = f"it starts with {start!r}" if start else "it is empty"
    return "" if start.startswith(ZIPPED) else f"it is called a zip and is none, {got}: load it once more, or rename it"


class Files(AbstractContextManager["Files"], ABC):
    """The files of an archive by name: the path below its root, with forward slashes.

    Args:
        names: the names, or a table of them.

    Attributes:
        names: all names, sorted.
    """

    def __init__(self, names: list[str] | NameTable) -> None:
        self.table = names if isinstance(names, NameTable) else NameTable(sorted(names))
        self.names = self.table.names

    @abstractmethod
    def open(self, name: str) -> io.BufferedReader:
        """Open a file to read and seek in it.

        Args:
            name: of the file.

        Returns:
            The file, seekable within a zip or tar too; close it.

        Raises:
            ArchiveError: it cannot be opened.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read a whole file; safe to call from several threads.

        Args:
            name: of the file.

        Returns:
            Its content.

        Raises:
            ArchiveError: it is missing or damaged.
        """

    @abstractmethod
    def size(self, name: str) -> int:
        """Look up the length of a file.

        Args:
            name: of the file.

        Returns:
            Its length in bytes, uncompressed.
        """

    def matching(self, pattern: str, folder: str = "") -> list[str]:
        """Find files by the last part of their names.

        Args:
            pattern: a regular expression, which has to match the whole last part, regardless of case.
            folder: another one, of the name of a folder that the files are in at any depth; empty for all.

        Returns:
            The names, sorted.
        """
        return self.table.matching(pattern, folder)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what is open."""


@dataclass(frozen=True)
class _Listed:
    """What has been listed: the names below folders, and open zips that are not in use."""

    folders: dict[Path, NameTable] = field(default_factory=dict)
    zips: dict[Path, ZipDirectory] = field(default_factory=dict)
    tars: dict[Path, TarDirectory] = field(default_factory=dict)


_listed: ContextVar[_Listed | None] = ContextVar("listed", default=None)


@contextmanager
def list_once() -> Iterator[None]:
    """List each folder or zip only once inside, though several ask for its files one after the other.

    A folder with issues is listed each time, so that each caller gets the reports.
    """
    listed = _Listed()
    token = _listed.set(listed)
    try:
        yield
    finally:
        _listed.reset(token)
        for zipped in listed.zips.values():
            zipped.close()
        for tar in listed.tars.values():
            tar.close()


class FolderFiles(Files):
    """The files below a folder."""

    def __init__(self, root: Path, report: Report) -> None:
        self.root = root
        listed = _listed.get()
        if listed is not None and root in listed.folders:
            super().__init__(listed.folders[root])
            return
        issues: list[Defect] = []
        super().__init__(list(_names_below(root, issues.append)))
        for issue in issues:
            report(issue)
        if listed is not None and not issues:
            listed.folders[root] = self.table

    def open(self, name: str) -> io.BufferedReader:
        with _read_errors():
            self._require_file(name)
            return (self.root / name).open("rb")

    def read(self, name: str) -> bytes:
        with _read_errors():
            self._require_file(name)
            return (self.root / name).read_bytes()

    def size(self, name: str) -> int:
        with _read_errors():
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


class FilesBelow(Files):
    """The files below a folder of other Files, under the same names; the opener of those closes them.

    Args:
        files: the others.
        folder: the folder, without a slash at its end; empty for all.
    """

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        super().__init__([name for name in files.names if not folder or name.startswith(f"{folder}/")])

    def open(self, name: str) -> io.BufferedReader:
        return self._files.open(name)

    def read(self, name: str) -> bytes:
        return self._files.read(name)

    def size(self, name: str) -> int:
        return self._files.size(name)


@contextmanager
def _read_errors() -> Iterator[None]:
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
        above = f"{folder}/" if folder else ""
        yield from [above + entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        for entry in (entry for entry in entries if not entry.is_file(follow_symlinks=False)):
            if os.path.isdir(entry.path):
                pending.append(above + entry.name)
            else:
                yield above + entry.name


class ZipFiles(Files):
    """The members of a zip, read where they are."""

    def __init__(self, path: Path, report: Report) -> None:
        listed = _listed.get()
        known = listed.zips.pop(path, None) if listed is not None else None
        try:
            self._zip = known or ZipDirectory(path)
        except ZIP_ERRORS as error:
            cut = "; the zip is cut off or damaged" if starts_as_zip(path) else ""
            hint = unpack_hint(path, [path.name]) if not cut else ""
            raise ArchiveError(f"{path}: expected a zip archive: {error}{cut}{hint and '; ' + hint}") from None
        self.path = path
        for name in self._zip.unsafe:
            message = f"the member's path '{name}' leaves the archive: refused"
            report(Defect(file=path.name, kind="unsafe_path", message=message))
        for name, count in self._zip.repeated.items():
            message = f"the zip has {count} members of this name: the last counts"
            report(Defect(file=name, kind="duplicate_member", message=message))
        super().__init__(self._zip.table)

    def open(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(SeekableMember(self.path, self._member(name)), READ_SIZE)

    def read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except ZIP_ERRORS as error:
            raise ArchiveError(f"cannot be read from the zip: {error}") from None

    def size(self, name: str) -> int:
        return self._member(name).file_size

    def _member(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.member(name)
        except ZIP_ERRORS as error:
            raise ArchiveError(f"'{name}' in the zip cannot be read: {error}") from None

    def close(self) -> None:
        listed = _listed.get()
        if listed is None or self.path in listed.zips:
            self._zip.close()
        else:  # whoever asks for it next goes on with it
            listed.zips[self.path] = self._zip


class TarFiles(Files):
    """The members of a tar, those of a packed one unpacked once."""

    def __init__(self, path: Path, report: Report) -> None:
        listed = _listed.get()
        known = listed.tars.pop(path, None) if listed is not None else None
        try:
            self._tar = known or TarDirectory(path)
        except TAR_ERRORS as error:
            raise ArchiveError(f"{path}: expected a tar archive: {error}") from None
        self.path = path
        for name in self._tar.unsafe:
            message = f"the member's path '{name}' leaves the archive: refused"
            report(Defect(file=path.name, kind="unsafe_path", message=message))
        for name, count in self._tar.repeated.items():
            message = f"the tar has {count} members of this name: the last counts"
            report(Defect(file=name, kind="duplicate_member", message=message))
        if self._tar.cut:
            message = f"{self._tar.cut}; the files before it are read"
            report(Defect(file=path.name, kind="damaged_file", message=message))
        super().__init__(self._tar.table)

    def open(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(self._tar.open(name), READ_SIZE)

    def read(self, name: str) -> bytes:
        return self._tar.read(name)

    def size(self, name: str) -> int:
        return self._tar.size(name)

    def close(self) -> None:
        listed = _listed.get()
        if listed is None or self.path in listed.tars:
            self._tar.close()
        else:  # whoever asks for it next goes on with it
            listed.tars[self.path] = self._tar


class JoinedFiles(Files):
    """A folder's files, and those in the zips and tars that lie in it, each below the name of its own.

    One whose files lie in the folder unpacked, too, is left out: `twice` names these.
    """

    def __init__(self, root: Path, report: Report) -> None:
        self._folder = FolderFiles(root, report)
        self._inner: dict[str, Files] = {}
        self.twice: list[str] = []
        packed = [name for name in self._folder.matching(PACKED_NAME.pattern) if is_packed(root / name)]
        there = {_folder_and_name(name) for name in self._folder.names} if packed else set()
        try:
            for name in packed:
                self._add(name, root / name, there, report)
        except BaseException:
            self.close()
            raise
        if not self._inner:
            super().__init__(self._folder.table)
            return
        inside = (f"{zipped}/{name}" for zipped, files in self._inner.items() for name in files.names)
        super().__init__([*(name for name in self._folder.names if name not in self._inner), *inside])

    def _add(self, name: str, path: Path, there: set[tuple[str, str]], report: Report) -> None:
        try:
            files = open_files(path, report)
        except ArchiveError as error:
            report(Defect(file=name, kind="unreadable_file", message=str(error)))
            return
        if any(_folder_and_name(member) in there for member in files.names):
            self.twice.append(name)
            files.close()
        else:
            self._inner[name] = files

    def open(self, name: str) -> io.BufferedReader:
        files, own = self._split_name(name)
        return files.open(own)

    def read(self, name: str) -> bytes:
        files, own = self._split_name(name)
        return files.read(own)

    def size(self, name: str) -> int:
        files, own = self._split_name(name)
        return files.size(own)

    def _split_name(self, name: str) -> tuple[Files, str]:
        """The files that a name belongs to, and the name in them."""
        slash = 0
        while (slash := name.find("/", slash + 1)) > 0:
            if name[:slash] in self._inner:
                return self._inner[name[:slash]], name[slash + 1 :]
        return self._folder, name

    def close(self) -> None:
        for files in (self._folder, *self._inner.values()):
            files.close()


def _folder_and_name(name: str) -> tuple[str, str]:
    """The name of the folder that a file lies in, and its own."""
    folder, _, own = name.replace("\\", "/").rpartition("/")
    return last_part(folder), own


def open_joined(root: Path, report: Report) -> Files:
    """The files of a folder with those of the zips in it, as several downloads of one dataset; else those of a path."""
    return JoinedFiles(root, report) if root.is_dir() else open_files(root, report)


def is_packed(path: Path) -> bool:
    """Whether a path is a zip or a tar: files that hold others."""
    return path.is_file() and (zipfile.is_zipfile(path) or starts_as_zip(path) or is_tar(path))


def starts_as_zip(path: Path) -> bool:
    """Whether a file starts as a zip, though it may be cut off."""
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP_START)) == ZIP_START
    except OSError:
        return False


def read_companion(
    files: Files, pattern: str, paths: Sequence[Path], report: Report, *, folder: str = ""
) -> tuple[str, bytes] | None:
    """Read a file that belongs to an archive, such as its calibration, in it or next to it.

    Args:
        files: those of the archive.
        pattern: a regular expression of its name.
        paths: where else it may be, in their order: the path of the file, or of a zip that may have it.
        report: called with each that cannot be read; the next one is then taken.
        folder: a regular expression of a folder that it is in, within the archive.

    Returns:
        The name of the first that is there, with its content; None where none is.
    """
    for location, name in _companions(files, pattern, paths, folder):
        try:
            return name, location.read(name)
        except (ArchiveError, OSError) as error:
            report(Defect(file=name, kind="damaged_file", message=str(error)))
    return None


def _companions(files: Files, pattern: str, paths: Sequence[Path], folder: str) -> Iterator[tuple[Files, str]]:
    """The files that match in an archive, then those next to it; others are open while one of theirs is looked at."""
    yield from ((files, name) for name in files.matching(pattern, folder))
    for path in filter(Path.is_file, paths):
        beside = ListedFiles(path.parent, [path.name])
        yield from ((beside, name) for name in beside.matching(pattern))
        if is_packed(path):
            with suppress(ArchiveError), open_files(path, lambda defect: None) as others:
                yield from ((others, name) for name in others.matching(pattern, folder))


def open_files(root: Path, report: Report) -> Files:
    """List the files of a folder, a zip or a tar, which is read in place.

    Args:
        root: the folder or file.
        report: called with a defect for each damaged member.

    Returns:
        The files; close them.

    Raises:
        ArchiveError: it does not exist, or is none of these.
    """
    if root.is_dir():
        return FolderFiles(root, report)
    if not root.exists():
        raise ArchiveError(f"{root}: there is no such folder or file")
    return TarFiles(root, report) if is_tar(root) else ZipFiles(root, report)
