"""Complete logs: the streams of a file, or of all files of a folder, and their samples in the order of time."""

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgpack
import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.progress import report_opening
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.io.containers import (
    Files,
    FolderFiles,
    ListedFiles,
    ZipFiles,
    starts_as_zip,
)
from fieldplay.io.file_names import last_part
from fieldplay_cdff.logs.file_index import (
    CHUNK,
    NO_TIME,
    FileIndex,
    Int64Array,
    cached_index,
    keep_index,
    state_of_log,
)
from fieldplay_cdff.logs.index_scan import index_of_log, issue_offset
from fieldplay_cdff.logs.log_files import InflatedFile, LogFiles, open_log_file
from fieldplay_cdff.logs.log_streams import FilePart, LogStream
from fieldplay_cdff.logs.msgpack_decode import DECODE_ERRORS, settings_from_bytes

Note = Callable[[str], None]
LOG = re.compile(r".+\.msg(\.zz)?", re.IGNORECASE)
VARIANT = re.compile(r"(_InFuse)?\.msg(\.zz)?$", re.IGNORECASE)
NUMBERS = re.compile(r"[\d_-]+$")
SETTINGS = re.compile(r"(.*)_(tf|camera)", re.IGNORECASE)  # of a name without its end
NUMBER = re.compile(r"[_-]?\d+$")
PART = re.compile(r"(.+)_\d+")
KINDS = ("tf", "camera")
LARGEST_SETTINGS = 16 << 20
HEAD = 1 << 12  # first bytes of a file, by which a log is recognised
BATCH = 64  # samples that are read at once where all are gone through,
BATCH_BYTES = 4 << 20  # if they have no more bytes


# Files that belong together by their names: forms and parts of one recording, and the settings next to a log.


def recording_of(file: str) -> str:
    """Return the name of a file without its suffixes and without the number of a part."""
    return NUMBERS.sub("", VARIANT.sub("", last_part(file)))


def notes_of_recordings(streams: Iterable[LogStream]) -> Iterator[str]:
    """Report where a stream continues in a file of another recording, and the time between them."""
    for stream in streams:
        row = 0
        for (file, part), (other, _) in zip(stream.parts, stream.parts[1:], strict=False):
            row += len(part)
            if recording_of(file) != recording_of(other):
                gap = _gap(stream, row, row - len(part))
                text = f"{stream.name} lies in {file} and in {other}, so by their names they are two recordings"
                yield f"{text}: played as one, {gap}"


def _gap(stream: LogStream, row: int, first: int) -> str:
    """The time between the part that starts at a row and the previous one."""
    before = max((int(stream.logged_ns(*rows).max()) for rows in stream.ranges(first, row)), default=NO_TIME)
    after = next(
        (int(known[0]) for rows in stream.ranges(row) if len(known := _known_times(stream.logged_ns(*rows)))), None
    )
    if before == NO_TIME or after is None:
        return "one after the other"
    gap_s = (after - before) / NS_PER_S
    return f"the second {abs(gap_s):.3f} s {'after the end of' if gap_s >= 0 else 'before the end of'} the first"


def _known_times(times_ns: Int64Array) -> Int64Array:
    return np.asarray(times_ns[times_ns != NO_TIME], np.int64)


def settings_files(path: Path, note: Note) -> list[str]:
    """Return the settings files of a log: those named like it, else the only ones of its folder."""
    return [name for kind in KINDS for name in _chosen(path, kind, note)]


def note_other_parts(path: Path, note: Note) -> None:
    """Report that a log is one of several parts of a recording; the others are not read."""
    part = PART.fullmatch(_stem(path.name))
    if part is None:
        return
    stems = {_stem(name) for name in _sibling_names(path)}
    others = [match for stem in stems if (match := PART.fullmatch(stem)) and match[1] == part[1]]
    if len(others) > 1:
        note(f"{path.name} is one of {len(others)} parts of {part[1]}: it alone is read, the folder has them all")


def _chosen(path: Path, kind: str, note: Note) -> list[str]:
    """The file of settings of a kind that belongs to a log, if any."""
    settings: dict[str, list[str]] = {}
    for name in _sibling_names(path):
        match = SETTINGS.fullmatch(_stem(name))
        if match and match[2].lower() == kind and name != path.name:
            settings.setdefault(match[1], []).append(name)
    own = next((prefix for prefix in _prefixes(_stem(path.name)) if prefix in settings), None)
    if own is None and len(settings) == 1:
        (own,) = settings
    if own is None and settings:
        names = ", ".join(name for names in settings.values() for name in names)
        note(f"{names}: by their names none is of {path.name}, so they are not read; give the folder to read all")
    return settings[own][:1] if own is not None else []


def _prefixes(stem: str) -> Iterator[str]:
    """A name, then without its last number, and so on: x_20181202_000000001, x_20181202, x."""
    while stem:
        yield stem
        shorter = NUMBER.sub("", stem)
        stem = shorter if shorter != stem else ""


def _sibling_names(path: Path) -> list[str]:
    """Return the logs and settings in a log's folder, itself among them; none where the folder cannot be read."""
    try:
        return sorted(name for name in os.listdir(path.parent) if LOG.fullmatch(name))
    except OSError:
        return []


def _stem(name: str) -> str:
    return VARIANT.sub("", name)


class Entry(NamedTuple):
    """A sample of a log: when it was logged, in which stream, of what type as the log has it."""

    time_ns: int
    stream: str
    type: str
    sample: Any

    @property
    def time_us(self) -> int:
        return self.time_ns // 1000


class Log(AbstractContextManager["Log"]):
    """The streams of some files by their name, and the files of settings among them.

    `notes` are remarks that are no issues, such as that two recordings are read as one.
    """

    def __init__(self, files: Files, names: Sequence[str], report: Report) -> None:
        self.files = files
        self.names = tuple(names)
        self.settings: dict[str, Any] = {}
        self._open_files = LogFiles(files)
        by_stream: dict[str, list[FilePart]] = {}
        for name, index in _indexes(files, names, report):
            if index.is_settings and not index.issues:
                self._read_settings(name, report)
            for kind, message in index.issues:
                report(Defect(file=name, kind=kind, message=message, byte=issue_offset(message)))
            for part in index.parts:
                by_stream.setdefault(part.stream, []).append(FilePart(name, part))
                _compare_lengths(name, part.stream, len(part), part.logged.count if part.has_meta else None, report)
        self.streams = {name: LogStream(name, parts, self._open_files) for name, parts in by_stream.items()}
        self.notes = list(notes_of_recordings(self.streams.values()))

    def _read_settings(self, name: str, report: Report) -> None:
        try:
            if self.files.size(name) > LARGEST_SETTINGS:
                raise ArchiveError(f"expected settings of {LARGEST_SETTINGS} bytes at most")
            with open_log_file(self.files, name) as file:
                self.settings[name] = settings_from_bytes(file.read(LARGEST_SETTINGS))
        except (ArchiveError, OSError) as error:
            report(Defect(file=name, kind="unreadable_settings", message=str(error)))

    def entries(
        self, names: Sequence[str] | None = None, *, first: int = 0, last: int | None = None, arrays: bool = False
    ) -> Iterator[Entry]:
        """Samples in the order in which they were logged, at equal times of the stream that is named first.

        Within a stream the order is that of the files. Of each the samples first <= index < last are taken.
        """
        chosen = list(self.streams) if names is None else list(names)
        unknown = [name for name in chosen if name not in self.streams]
        if unknown:
            there = ", ".join(self.streams) or "none"
            raise ArchiveError(f"there is no stream {', '.join(unknown)}; there are {there}")
        parts = [self._entries_of(self.streams[name], first, last, arrays=arrays) for name in chosen]
        return heapq.merge(*parts, key=lambda entry: entry.time_ns)

    def _entries_of(self, stream: LogStream, first: int, last: int | None, *, arrays: bool) -> Iterator[Entry]:
        end = len(stream) if last is None else last
        for start, stop in stream.batches(first, end, rows=BATCH, size=BATCH_BYTES):
            times = stream.logged_ns(start, stop).tolist()
            for time, sample in zip(times, stream.samples(start, stop, arrays=arrays), strict=True):
                yield Entry(time, stream.name, stream.type, sample)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._open_files.close()
        self.files.close()


def open_log(path: Path, report: Report) -> Log:
    """The logs of a file, a folder or a zip; ArchiveError where none is one."""
    files = files_of(path, report)
    log = Log(files, log_names(files), report)
    if not log.streams and not log.settings:
        log.close()
        raise ArchiveError(f"{path}: expected logs of MessagePack, got none that can be read")
    return log


def files_of(path: Path, report: Report) -> Files:
    """The files of a folder or a zip, or a single one."""
    if path.is_dir():
        return FolderFiles(path, report)
    if not path.exists():
        raise ArchiveError(f"{path}: there is no such folder or file")
    return ZipFiles(path, report) if starts_as_zip(path) else ListedFiles(path.parent, [path.name])


def log_names(files: Files, note: Callable[[str], None] = lambda text: None) -> list[str]:
    """The names of logs and settings, in order; of a log that is there before and after a conversion, one.

    That of the framework's own types counts before that of Rock's, and a plain one before a packed one.
    """
    groups: dict[str, list[str]] = {}
    for name in files.matching(LOG.pattern):
        groups.setdefault(VARIANT.sub("", name), []).append(name)
    chosen = []
    for variants in groups.values():
        best = min(variants, key=lambda name: (name.lower().endswith(".zz"), "_infuse" not in name.lower()))
        chosen.append(best)
        for other in variants:
            if other != best:
                note(f"{other}: the same log as {best} in another form, which is read instead")
    return sorted(chosen)


def add_settings_files(log: Log, path: Path, report: Report, note: Callable[[str], None]) -> None:
    """Add the settings files next to a single log as if they had been given with it."""
    names = settings_files(path, note)
    if not names:
        return
    files = ListedFiles(path.parent, names)
    with Log(files, [name for name in names if _is_small(files, name)], report) as other:
        log.settings |= other.settings
        if other.settings:
            note(f"settings next to it are read too: {', '.join(other.settings)}")


def _is_small(files: Files, name: str) -> bool:
    try:
        return files.size(name) <= LARGEST_SETTINGS
    except ArchiveError:
        return False


def is_log(files: Files, name: str) -> bool:
    """Whether a file is a log: a map whose first key is a text, or of settings two texts."""
    try:
        with open_log_file(files, name) as file:
            unpacker = msgpack.Unpacker(raw=False, max_array_len=64, max_map_len=64)
            unpacker.feed(file.read(HEAD))
        unpacker.read_map_header()
        key = unpacker.unpack()
    except (ArchiveError, OSError, *DECODE_ERRORS):
        return False
    if isinstance(key, list):
        return len(key) == 2 and all(isinstance(part, str) for part in key)
    return isinstance(key, str) and any(char in key for char in "./")


def _indexes(files: Files, names: Sequence[str], report: Report) -> Iterator[tuple[str, FileIndex]]:
    """The indexes of all files, those that were kept or made anew."""
    sizes = {name: _size(files, name) for name in names}
    total, done = max(sum(sizes.values()), 1), 0
    for name in names:
        path = files.root / name if isinstance(files, FolderFiles) else None
        index = cached_index(path) if path is not None else None
        if index is None:
            state = state_of_log(path) if path is not None else []
            index = _index(files, name, before=done, total=total)
            if path is not None and not any(kind == "unreadable_log" for kind, _ in index.issues):
                keep_index(path, index, state)
        done += sizes[name]
        report_opening(done / total, done >> 20)
        yield name, index


def _index(files: Files, name: str, *, before: int, total: int) -> FileIndex:
    try:
        with open_log_file(files, name) as file:

            def report_progress(offset: int) -> None:
                at = before + (file.source_position if isinstance(file, InflatedFile) else offset)
                report_opening(min(at / total, 1.0), at >> 20)

            index = index_of_log(file, report_progress)
            return _with_checksum(index, file) if index.issues and isinstance(file, InflatedFile) else index
    except (ArchiveError, OSError) as error:
        return FileIndex(issues=(("unreadable_log", str(error)),))


def _with_checksum(index: FileIndex, file: InflatedFile) -> FileIndex:
    """Add zlib's result for the rest of a packed log to its last issue, above all its checksum."""
    kind, message = index.issues[-1]
    try:
        while file.read(CHUNK):
            pass
    except (ArchiveError, OSError) as error:
        if str(error) not in message:
            return replace(index, issues=(*index.issues[:-1], (kind, f"{message}; {error}")))
    return index


def _size(files: Files, name: str) -> int:
    try:
        return files.size(name)
    except ArchiveError:
        return 0


def _compare_lengths(file: str, stream: str, count: int, logged: int | None, report: Report) -> None:
    if logged is not None and logged != count and count:
        message = f"{stream}: expected as many times as samples ({count}), got {logged}; those without have "
        report(Defect(file=file, kind="length_mismatch", message=message + "their own times alone, if any"))
