"""Logs as the command line names them: one, a folder of them, or several that are one recording."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    Report,
    UsageError,
)
from fieldplay.io.containers import (
    Files,
    FolderFiles,
    ListedFiles,
    starts_as_zip,
)
from fieldplay_cdff.descriptors.model import Description, InputFeed
from fieldplay_cdff.logs.log import Log, files_of, log_names
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.type_table import BITS

Note = Callable[[str], None]
PART = re.compile(r"[/.]")


@contextmanager
def open_logs(paths: Sequence[Path], report: Report, note: Note) -> Iterator[Log]:
    """Open all paths as one log; the parts of a stream are joined in the order of the files' names.

    Issues are reported; forms of a log in a folder that are ignored, as another is read, are noted.
    """
    received: list[Defect] = []

    def collect(issue: Defect) -> None:
        received.append(issue)
        report(issue)

    files = files_of(paths[0], collect) if len(paths) == 1 else _list_files(paths, collect, note)
    with Log(files, log_names(files, note) if len(paths) == 1 else files.names, collect) as log:
        if not log.streams and not log.settings:
            raise ArchiveError(f"{paths[0]}: expected logs of MessagePack, got {_reason_without_logs(log, received)}")
        for text in log.notes:
            note(text)
        yield log


def _reason_without_logs(log: Log, issues: Sequence[Defect]) -> str:
    """The reason why the input has no logs."""
    if not log.names:
        return str(issues[0]) if issues else "no file that is called .msg or .msg.zz"
    if not any(log.files.size(name) for name in log.names):
        return "an empty file" if len(log.names) == 1 else "empty files alone"
    if not issues:
        return "one without any stream" if len(log.names) == 1 else "some without any stream"
    more = f"; and {len(issues) - 1} more" if len(issues) > 1 else ""
    return f"none that can be read: {issues[0] if len(log.names) > 1 else issues[0].message}{more}"


def _list_files(paths: Sequence[Path], report: Report, note: Note) -> Files:
    """List the files of several paths by their path relative to the common folder."""
    files = [os.path.abspath(file) for path in paths for file in _files_of(path, report, note)]
    if not files:
        raise ArchiveError(f"{paths[0]} and others: expected logs of MessagePack, got folders without any")
    root = Path(os.path.commonpath([os.path.dirname(file) for file in files]))
    return ListedFiles(root, [Path(os.path.relpath(file, root)).as_posix() for file in dict.fromkeys(files)])


def _files_of(path: Path, report: Report, note: Note) -> list[Path]:
    if path.is_file() and starts_as_zip(path):
        raise UsageError(f"{path}: a zip is read alone; unpack it to join it with others")
    return [path / name for name in log_names(FolderFiles(path, report), note)] if path.is_dir() else [path]


def chosen_streams(log: Log, names: Sequence[str]) -> list[str]:
    """The requested streams, all if there are none; a leading / may be left out. UsageError for others names all.

    ArchiveError where there are none at all.
    """
    if not log.streams:
        raise ArchiveError(f"{', '.join(log.settings)}: settings alone, no log with samples")
    streams = [next((each for each in (name, f"/{name}") if each in log.streams), "") for name in names]
    unknown = [name for name, there in zip(names, streams, strict=True) if not there]
    if unknown:
        present = ", ".join(log.streams) or "none"
        raise UsageError(f"there is no stream {', '.join(unknown)}; there are {present}")
    return list(dict.fromkeys(streams)) if names else list(log.streams)


# The streams of a log that are inputs of a chain.


def feeds_of_log(log: Log, description: Description, arguments: Sequence[str]) -> dict[str, InputFeed]:
    """The streams by input, from texts as PORT=STREAM and from names: leftImage is fed by /unit/left/image.

    UsageError where a word fits no input or no stream. Where several streams are called as an input, none is taken.
    """
    named = dict(_split_feed(log, description, word) for word in arguments)
    for port in description.inputs:
        called = [name for name in log.streams if _letters(port.name) in _endings(name)]
        if len(called) == 1:
            named.setdefault(port.name, called[0])
    return {port: InputFeed(name, _type_of(log.streams[name])) for port, name in named.items()}


def _split_feed(log: Log, description: Description, word: str) -> tuple[str, str]:
    port, equals, stream = word.partition("=")
    if not (port and equals and stream):
        raise UsageError(f"--stream: expected PORT=STREAM, got '{word}'")
    inputs = [each.name for each in description.inputs]
    if port not in inputs:
        raise UsageError(f"--stream: {description.name} has no input {port}; it has {', '.join(inputs) or 'none'}")
    return port, chosen_streams(log, [stream])[0]


def _endings(name: str) -> Iterator[str]:
    """A name without its signs, then without its first part, and so on."""
    parts = PART.split(name)
    return (_letters("".join(parts[start:])) for start in range(len(parts)))


def _letters(name: str) -> str:
    return "".join(char for char in name if char.isalnum()).casefold()


def _type_of(stream: LogStream) -> str:
    """Return the type as in the log, for packed bits that of their content; "" if it is unknown."""
    if stream.packing is not None:
        return stream.packing.kind
    return "" if stream.kind == BITS else stream.type or stream.kind
