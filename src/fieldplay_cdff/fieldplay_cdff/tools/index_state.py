"""The state of the indexes that are kept of logs, outside of the archives."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fieldplay.core.number_text import size_text
from fieldplay_cdff.logs import file_index as index_cache

SMALL, VALID, NONE, OUTDATED = "small", "valid", "none", "outdated"
MEANING = {
    SMALL: "read anew each time, as it is small",
    VALID: "index is valid",
    NONE: "no index",
    OUTDATED: "index is of another state of the log, and not used",
}


@dataclass(frozen=True, kw_only=True)
class IndexState:
    """A log, where its index lies if it has one, and whether that is of the log as it is now."""

    log: str
    bytes: int
    state: str
    index: str | None = None
    index_bytes: int | None = None
    samples: int | None = None


def state_of(path: Path) -> IndexState:
    """The state of one log's index."""
    size = path.stat().st_size
    index_file = index_cache.index_path(path)
    is_there = index_file.exists()
    cached = index_cache.cached_index(path)
    state = VALID if cached else OUTDATED if is_there else SMALL if size < index_cache.SMALLEST else NONE
    return IndexState(
        log=str(path),
        bytes=size,
        state=state,
        index=str(index_file) if is_there else None,
        index_bytes=index_file.stat().st_size if is_there else None,
        samples=sum(len(part) for part in cached.parts) if cached else None,
    )


def forget(paths: Sequence[Path]) -> int:
    """Take away the indexes of logs; how many there were."""
    paths_of_indexes = [index_file for path in paths if (index_file := index_cache.index_path(path)).exists()]
    for index_file in paths_of_indexes:
        index_file.unlink()
    return len(paths_of_indexes)


def as_json(states: Sequence[IndexState]) -> dict[str, Any]:
    """All as plain data."""
    return {"folder": str(index_cache.cache_folder()), "logs": [asdict(state) for state in states]}


def as_lines(states: Sequence[IndexState]) -> Iterator[str]:
    """All for people."""
    yield f"indexes are in {index_cache.cache_folder()}"
    for state in states:
        counts = f", {state.samples} samples, {size_text(state.index_bytes or 0)}" if state.samples is not None else ""
        why = _reason_without_index() if state.state == NONE else ""
        yield f"{state.log} ({size_text(state.bytes)}): {MEANING[state.state]}{counts}{why}"
        if state.index:
            yield f"  {state.index}"


def _reason_without_index() -> str:
    """Why none could be made, if that is plain."""
    folder = index_cache.cache_folder()
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    return "" if there.is_dir() and os.access(there, os.W_OK) else f": {there} cannot be written to"
