"""Finds out which dataset an archive is of, and opens it."""

import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldplay_archive.archive import Archive
from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.files import open_files
from fieldplay_archive.spec import DatasetSpec, dataset_files, spec_from_file


def open_dataset(path: Path, dataset: str | None = None, parameters: Mapping[str, Any] | None = None) -> Archive:
    """Open an archive: of the dataset named, or of the one that its files tell."""
    if not path.exists():
        raise ArchiveError(f"{path}: there is no such folder or file")
    spec = spec_of_dataset(dataset) if dataset else detected_spec(path)
    archive: Archive = import_module(spec.reader).open_archive(path, spec, parameters or {})
    return archive


def spec_of_dataset(name: str) -> DatasetSpec:
    """The description of a dataset by its name."""
    files = dataset_files()
    if name not in files:
        raise ArchiveError(f"there is no dataset '{name}'; fieldplay knows {', '.join(sorted(files)) or 'none'}")
    return spec_from_file(files[name])


def detected_spec(path: Path) -> DatasetSpec:
    """The dataset whose patterns the most files of an archive match."""
    names = [name.rpartition("/")[2] for name in _names(path)]
    specs = [spec_from_file(file) for file in dataset_files().values()]
    scores = {spec.name: sum(_matches(names, pattern) for pattern in spec.detect) for spec in specs}
    best = max(scores.values(), default=0)
    found = [spec for spec in specs if scores[spec.name] == best]
    if best == 0:
        raise ArchiveError(
            f"{path}: no dataset that fieldplay knows ({', '.join(sorted(scores))}) has files of such names; "
            "--dataset names one"
        )
    if len(found) > 1:
        raise ArchiveError(f"{path}: may be {' or '.join(spec.name for spec in found)}; --dataset names one")
    return found[0]


def _matches(names: list[str], pattern: str) -> bool:
    expression = re.compile(pattern, re.IGNORECASE)
    return any(expression.fullmatch(name) for name in names)


def _names(path: Path) -> list[str]:
    if path.is_file() and not zipfile.is_zipfile(path):
        return [path.name]
    with open_files(path, lambda defect: None) as files:
        return files.names
