"""What a dataset is, as its YAML says: the shape that every description of a dataset has."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fieldplay_archive.checked import build
from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.table_format import TableSpec

DATASETS = "datasets"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Something that the papers leave open: its default, what it may be, and what it means."""

    default: bool | int | float | str
    help: str
    choices: tuple[bool | int | float | str, ...] = ()

    def __post_init__(self) -> None:
        if self.choices and self.default not in self.choices:
            raise ValueError(f"the default {self.default!r} is not among the choices {list(self.choices)}")


@dataclass(frozen=True, kw_only=True)
class TableFiles:
    """The files of one table, by a regular expression of their name, and how it may be laid out."""

    files: str
    layouts: tuple[tuple[str, ...], ...]
    header: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional: bool = False

    def table_spec(self) -> TableSpec:
        return TableSpec(layouts=self.layouts, header=self.header)


@dataclass(frozen=True, kw_only=True)
class RowFiles:
    """Files that are one row each, as pictures and clouds, by a regular expression of their name."""

    files: str
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Intrinsics as published, in pixels; distortion as its model orders it."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion_model: str
    distortion: tuple[float, ...]
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Extrinsic:
    """A static transform in the numbers and the convention of its source: child in parent."""

    parent: str
    child: str
    convention: str
    translation: tuple[float, float, float]
    rotation: tuple[float, ...]
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class StreamSpec:
    """A stream: what the reader calls it, and where it goes. The order in the YAML is that at equal times."""

    id: str
    topic: str
    type: str
    frame: str = ""
    child_frame: str = ""
    camera: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A dataset: how its archive is recognised and read, and what becomes of it."""

    name: str
    title: str
    status: str
    reader: str
    namespace: str
    detect: tuple[str, ...]
    plausible_years: tuple[int, int]
    streams: tuple[StreamSpec, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    tables: Mapping[str, TableFiles] = field(default_factory=dict)
    rows: Mapping[str, RowFiles] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    extrinsics: tuple[Extrinsic, ...] = ()
    tree: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leftovers: Mapping[str, str] = field(default_factory=dict)


def spec_from_file(path: Path) -> DatasetSpec:
    """The description of a dataset; ArchiveError names the place of what is wrong in it."""
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ArchiveError(f"{path}: {error}") from None
    spec = build(DatasetSpec, data, str(path))
    if spec.name != path.stem:
        raise ArchiveError(f"{path}.name: expected '{path.stem}', as the file is called, got '{spec.name}'")
    return spec


def dataset_files() -> dict[str, Path]:
    """The descriptions of all datasets by name: the user's own, else those installed, else those of the source."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def _folders() -> Iterator[Path]:
    yield from map(Path, filter(None, os.environ.get("FIELDPLAY_DATASETS", "").split(os.pathsep)))
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix, "share", "fieldplay_bringup", "config", DATASETS)
    yield Path(__file__).resolve().parents[3] / "config" / DATASETS
