"""What lies beside a log that is given alone: the settings that belong to it, and further parts of its recording."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fieldplay_archive.files.containers import FolderFiles, ListedFiles
from fieldplay_archive.logs.log import LARGEST_SETTINGS, LOG, Log
from fieldplay_archive.logs.recording_names import VARIANT
from fieldplay_messages.errors import ArchiveError, Report

Note = Callable[[str], None]

SETTINGS = re.compile(r"(.*)_(tf|camera)", re.IGNORECASE)  # of a name without its end
NUMBER = re.compile(r"[_-]?\d+$")
PART = re.compile(r"(.+)_\d+")
KINDS = ("tf", "camera")


def settings_beside(path: Path, report: Report, note: Note) -> dict[str, Any]:
    """The settings by file that belong to a log: those that are called as it is, else the only ones of its folder."""
    names = [name for kind in KINDS for name in _chosen(path, kind, note)]
    if not names:
        return {}
    files = ListedFiles(path.parent, names)
    with Log(files, [name for name in names if _is_small(files, name)], report) as log:
        found = log.settings
    if found:
        note(f"settings that lie beside it are read too: {', '.join(found)}")
    return found


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


def _is_small(files: FolderFiles, name: str) -> bool:
    try:
        return files.size(name) <= LARGEST_SETTINGS
    except ArchiveError:
        return False
