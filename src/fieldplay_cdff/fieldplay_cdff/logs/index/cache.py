"""The indexes of large logs, kept in a folder of the user's own: never beside a log, as archives are not written to.

They lie in $FIELDPLAY_CACHE, else in $XDG_CACHE_HOME/fieldplay, else in ~/.cache/fieldplay. One counts as long as its
log has the same size and time of change. That there is none, or none can be written, costs time and nothing else.
"""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.atomic_output import whole
from fieldplay.core.errors import UserError
from fieldplay_cdff.logs.index.file_index import (
    Blocks,
    FileIndex,
    LogColumn,
    StreamPart,
)

FORM = 6  # of what is kept; another one is not read
SMALLEST = 4 << 20  # bytes of a log whose index is kept
MOST = 500  # indexes are kept; then the oldest go
LISTS = ("samples", "logged")
COLUMN = ("count", "end", "step", "is_constant", "is_cut")
FAULTS = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)
FLAGS = (NotImplementedError, RuntimeError)  # of a damaged zip: a packing that is not known, or a password
HEADS = (MemoryError, OverflowError, SyntaxError, TokenError)  # of a damaged head of an array
UNREADABLE = (*FAULTS, *FLAGS, *HEADS)


def cache_folder() -> Path:
    """Where indexes are kept."""
    own = os.environ.get("FIELDPLAY_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~/.cache"))) / "fieldplay"


def kept_index(path: Path) -> FileIndex | None:
    """The index of a log as it is now; None if none is kept."""
    with (
        suppress(*UNREADABLE),
        index_place(path).open("rb") as file,
        np.load(file, allow_pickle=False) as data,
    ):
        arrays = {name: data[name] for name in data.files if name not in ("head", "sum")}
        head = json.loads(bytes(data["head"]).decode())
        is_whole = bytes(data["sum"]) == _sum(data["head"], arrays)
        if is_whole and head["key"] == state_of_log(path):
            return _index(head, arrays)
    return None


def keep_index(path: Path, index: FileIndex, state: Sequence[Any]) -> None:
    """Keep the index of a log, if it is worth it, there is a place, and the log is as it was when it was opened."""
    with suppress(OSError, UserError):
        if path.stat().st_size >= SMALLEST and state_of_log(path) == list(state):
            _write(index_place(path), state, index)
            _clear_away(cache_folder())


def index_place(path: Path) -> Path:
    """Where the index of a log is kept, if it is."""
    return cache_folder() / f"log-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]}.npz"


def state_of_log(path: Path) -> list[Any]:
    """What an index is kept by: one of a log in another state, or of another form, does not count."""
    try:
        status = path.stat()
    except OSError:
        return []
    return [FORM, str(path.resolve()), status.st_size, status.st_mtime_ns]


def _write(place: Path, state: Sequence[Any], index: FileIndex) -> None:
    """Put it there as a whole: another process may read it meanwhile."""
    arrays: dict[str, Any] = dict(_arrays(index))
    head = {
        "key": list(state),
        "settings": index.is_settings,
        "faults": index.faults,
        "parts": [_head(p) for p in index.parts],
    }
    text = np.frombuffer(json.dumps(head).encode(), np.uint8)
    own_sum = np.frombuffer(_sum(text, arrays), np.uint8)
    with whole(place) as path:
        np.savez(path, **{"head": text, "sum": own_sum, **arrays})


def _sum(head: NDArray[np.uint8], arrays: Mapping[str, Any]) -> bytes:
    """Of all that is kept: an index with another number in it would let a log say what it does not."""
    found = hashlib.sha256(head.tobytes())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.digest()


def _clear_away(folder: Path) -> None:
    """Leave the newest indexes only."""
    found = sorted(folder.glob("log-*.npz"), key=lambda place: place.stat().st_mtime_ns)
    for place in found[:-MOST]:
        place.unlink(missing_ok=True)


def _head(part: StreamPart) -> dict[str, Any]:
    columns = {name: [getattr(column, own) for own in COLUMN] for name, column in part.columns.items()}
    lists = {name: [getattr(part, name).count, getattr(part, name).stop] for name in LISTS}
    return {"stream": part.stream, "type": part.type, "has_meta": part.has_meta, "columns": columns, **lists}


def _arrays(index: FileIndex) -> Iterator[tuple[str, Any]]:
    for number, part in enumerate(index.parts):
        for name in LISTS:
            yield f"{number}_{name}", getattr(part, name).table
        for place, column in enumerate(part.columns.values()):
            yield f"{number}_column_{place}", column.begins


def _index(head: dict[str, Any], data: Mapping[str, Any]) -> FileIndex:
    parts = []
    for number, own in enumerate(head["parts"]):
        columns = {
            name: LogColumn(**dict(zip(COLUMN, values, strict=True)), begins=data[f"{number}_column_{place}"])
            for place, (name, values) in enumerate(own["columns"].items())
        }
        samples, logged = (
            Blocks(table=data[f"{number}_{name}"], count=own[name][0], stop=own[name][1]) for name in LISTS
        )
        plain = {name: own[name] for name in ("stream", "type", "has_meta")}
        parts.append(StreamPart(**plain, columns=columns, samples=samples, logged=logged))
    faults = tuple((str(kind), str(message)) for kind, message in head["faults"])
    return FileIndex(parts=tuple(parts), is_settings=bool(head["settings"]), faults=faults)
