"""Files that belong together by their names: forms and parts of one recording, and the settings beside a log."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.io.file_names import last_part
from fieldplay_cdff.logs.index.file_index import NO_TIME, Places
from fieldplay_cdff.logs.streams import LogStream

Note = Callable[[str], None]

LOG = re.compile(r".+\.msg(\.zz)?", re.IGNORECASE)
VARIANT = re.compile(r"(_InFuse)?\.msg(\.zz)?$", re.IGNORECASE)
NUMBERS = re.compile(r"[\d_-]+$")
SETTINGS = re.compile(r"(.*)_(tf|camera)", re.IGNORECASE)  # of a name without its end
NUMBER = re.compile(r"[_-]?\d+$")
PART = re.compile(r"(.+)_\d+")
KINDS = ("tf", "camera")


def recording_of(file: str) -> str:
    """The name of a file without what tells its form, nor the numbers of a part."""
    return NUMBERS.sub("", VARIANT.sub("", last_part(file)))


def notes_of_recordings(streams: Iterable[LogStream]) -> Iterator[str]:
    """Say where a stream goes on in a file of another recording, and how much time lies between."""
    for stream in streams:
        row = 0
        for (file, part), (other, _) in zip(stream.parts, stream.parts[1:], strict=False):
            row += len(part)
            if recording_of(file) != recording_of(other):
                gap = _gap(stream, row, row - len(part))
                text = f"{stream.name} lies in {file} and in {other}, by their names two recordings"
                yield f"{text}: played as one, {gap}"


def _gap(stream: LogStream, row: int, first: int) -> str:
    """The time between the part that begins at a row and that before it."""
    before = max((int(stream.logged_ns(*rows).max()) for rows in stream.ranges(first, row)), default=NO_TIME)
    behind = next((int(known[0]) for rows in stream.ranges(row) if len(known := _known(stream.logged_ns(*rows)))), None)
    if before == NO_TIME or behind is None:
        return "one after the other"
    gap_s = (behind - before) / NS_PER_S
    return f"the second {abs(gap_s):.3f} s {'after the end of' if gap_s >= 0 else 'before the end of'} the first"


def _known(times_ns: Places) -> Places:
    return np.asarray(times_ns[times_ns != NO_TIME], np.int64)


def settings_beside(path: Path, note: Note) -> list[str]:
    """The files of settings that belong to a log: those that are called as it is, else the only ones of its folder."""
    return [name for kind in KINDS for name in _chosen(path, kind, note)]


def note_other_parts(path: Path, note: Note) -> None:
    """Say that a log is one of several parts of a recording; the others are not read."""
    part = PART.fullmatch(_stem(path.name))
    if part is None:
        return
    stems = {_stem(name) for name in _names_beside(path)}
    others = [match for stem in stems if (match := PART.fullmatch(stem)) and match[1] == part[1]]
    if len(others) > 1:
        note(f"{path.name} is one of {len(others)} parts of {part[1]}: it alone is read, the folder has them all")


def _chosen(path: Path, kind: str, note: Note) -> list[str]:
    """The file of settings of a kind that belongs to a log, if any."""
    found: dict[str, list[str]] = {}
    for name in _names_beside(path):
        match = SETTINGS.fullmatch(_stem(name))
        if match and match[2].lower() == kind and name != path.name:
            found.setdefault(match[1], []).append(name)
    own = next((prefix for prefix in _prefixes(_stem(path.name)) if prefix in found), None)
    if own is None and len(found) == 1:
        (own,) = found
    if own is None and found:
        names = ", ".join(name for names in found.values() for name in names)
        note(f"{names}: by their names none is of {path.name}, so they are not read; give the folder to read all")
    return found[own][:1] if own is not None else []


def _prefixes(stem: str) -> Iterator[str]:
    """A name, then without its last number, and so on: x_20181202_000000001, x_20181202, x."""
    while stem:
        yield stem
        shorter = NUMBER.sub("", stem)
        stem = shorter if shorter != stem else ""


def _names_beside(path: Path) -> list[str]:
    """The logs and settings of a log's folder, itself among them; none where nobody may look."""
    try:
        return sorted(name for name in os.listdir(path.parent) if LOG.fullmatch(name))
    except OSError:
        return []


def _stem(name: str) -> str:
    return VARIANT.sub("", name)
