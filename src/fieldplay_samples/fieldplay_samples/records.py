"""What stands beside a sample to know it again: how it was made, from what source, and digests of what was written."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

MAKER = "fieldplay_samples"
PIECE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SampleRecord:
    """A sample's record: dataset and options, digests of this package's source and of the sample, its files' names.

    `beside` has the digests of further files of truth beside the archive, by their names.
    """

    dataset: str
    options: dict[str, Any]
    source: str
    archive: str
    archive_digest: str
    truth_digest: str
    files: list[str]
    beside: dict[str, str] = field(default_factory=dict)
    made_by: str = MAKER


def read_record(path: Path) -> SampleRecord | None:
    """The record in a file; None if there is none that is ours."""
    try:
        values = json.loads(path.read_text("utf-8"))
        record = SampleRecord(**values)
    except (OSError, ValueError, TypeError):
        return None
    return record if record.made_by == MAKER else None


def write_record(path: Path, record: SampleRecord) -> None:
    """Write a record as JSON."""
    path.write_text(json.dumps(asdict(record), indent=2) + "\n", "utf-8")


def files_of(path: Path) -> list[str]:
    """The names of all files below a folder, relative to it and sorted; of a file, none."""
    if not path.is_dir():
        return []
    return sorted(found.relative_to(path).as_posix() for found in path.rglob("*") if not found.is_dir())


def digest_of_path(path: Path) -> str:
    """The digest of a file's bytes, or of the names and bytes of all files below a folder."""
    names = files_of(path)
    return _digest((name, path / name) for name in names) if path.is_dir() else _digest([("", path)])


@lru_cache(maxsize=1)
def source_digest() -> str:
    """The digest of this package's own code and data: a sample of other code is another sample."""
    root = Path(__file__).parent
    paths = sorted(path for pattern in ("*.py", "*.yaml") for path in root.rglob(pattern))
    return _digest((path.relative_to(root).as_posix(), path) for path in paths)


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    total = hashlib.blake2b(digest_size=20)
    for name, path in files:
        total.update(f"{name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while piece := stream.read(PIECE):
                total.update(piece)
    return total.hexdigest()
