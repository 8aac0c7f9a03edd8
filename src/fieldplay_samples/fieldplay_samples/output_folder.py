"""Where a sample goes, and whether it may: nothing is ever written over that is not a sample of ours."""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.motion.rotations import Floats, quaternion_from_rotation
from fieldplay_samples.writers.text_tables import TextColumn, columns, write_table

MAKER = "fieldplay_samples"
CHUNK_BYTES = 1 << 20
POSE = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw", "vx_m_s", "vy_m_s", "vz_m_s")
REMEDY = "remove it or choose another path"


# What stands beside a sample to know it again: how it was made, from what source, and digests of what was written.


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
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir())


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
            while chunk := stream.read(CHUNK_BYTES):
                total.update(chunk)
    return total.hexdigest()


class SampleError(ValueError):
    """A sample that cannot be made as requested: no such dataset, an option that cannot be, a place that is taken."""


# The truth behind a sample: where the robot was, next to the archive and never in it.


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleTruth:
    """Poses map_T_base (n, 4, 4) and velocities (n, 3) in the map's axes (east north up) at stamps (n,) in ns.

    `others` are more columns (n,), with their units in their names. `arrays` are more files of truth by name, each of
    arrays by name that have stamps of their own.
    """

    stamp_ns: NDArray[np.int64]
    map_T_base: Floats
    velocity_m_s: Floats
    others: Mapping[str, Floats] = field(default_factory=dict)
    arrays: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)


def write_truth(path: Path, truth: SampleTruth) -> None:
    """Write the truth as a table with a row of names: stamp_ns, position, quaternion x y z w, velocity, the others."""
    position, rotation = truth.map_T_base[:, :3, 3], truth.map_T_base[:, :3, :3]
    pose = np.hstack([position, quaternion_from_rotation(rotation), truth.velocity_m_s])
    stamps = TextColumn(name="stamp_ns", values=truth.stamp_ns)
    others = [TextColumn(name=name, values=values, decimals=9) for name, values in truth.others.items()]
    write_table(path, [stamps, *columns(POSE, pose, 9), *others])


def write_arrays(folder: Path, truth: SampleTruth) -> None:
    """Write further files of truth into a folder, each as `<name>.npz`."""
    for name, arrays in truth.arrays.items():
        with zipfile.ZipFile(folder / f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for key, values in arrays.items():
                with archive.open(f"{key}.npy", "w") as stream:
                    np.save(stream, values)


@dataclass(frozen=True)
class SamplePaths:
    """The paths of an archive, its truth and its record."""

    archive: Path
    truth: Path
    record: Path

    def truth_file(self, name: str) -> Path:
        """A further file of truth, as `OUT.<name>.npz`."""
        return self.truth.with_name(f"{self.truth.name.removesuffix('.truth.csv')}.{name}.npz")


def paths_of(out: Path, *, zipped: bool) -> SamplePaths:
    """Return the paths of a sample at `out`, as a zip if requested or by its name."""
    name = out.name.removesuffix(".zip")
    if not name or name == "..":
        raise SampleError(f"{out}: expected a path that ends in a name")
    archive = out.with_name(f"{name}.zip" if zipped or out.suffix == ".zip" else name)
    return SamplePaths(
        archive=archive, truth=out.with_name(f"{name}.truth.csv"), record=out.with_name(f"{name}.sample.json")
    )


def record_at(paths: SamplePaths) -> SampleRecord | None:
    """The record of the sample that should be there; None if there is none, or it is another's."""
    record = read_record(paths.record)
    return record if record is not None and record.archive == paths.archive.name else None


def is_intact(record: SampleRecord, paths: SamplePaths) -> bool:
    """Whether archive and truth are as they were written."""
    if not (paths.archive.exists() and paths.truth.is_file()):
        return False
    if any(not paths.truth_file(name).is_file() for name in record.beside):
        return False
    if any(digest_of_path(paths.truth_file(name)) != digest for name, digest in record.beside.items()):
        return False
    digests = digest_of_path(paths.archive), digest_of_path(paths.truth)
    return digests == (record.archive_digest, record.truth_digest)


def refuse_foreign_sample(record: SampleRecord | None, paths: SamplePaths) -> None:
    """SampleError unless the places are free, or hold a sample of ours, be it damaged, with no other's file in it."""
    if record is None:
        _refuse_existing(paths)
        return
    archive = paths.archive
    if archive.is_symlink() or (archive.exists() and archive.is_dir() != bool(record.files)):
        raise SampleError(f"{archive} is no longer the sample that was written: {REMEDY}")
    others = sorted(set(files_of(archive)) - set(record.files))
    if others:
        raise SampleError(f"{archive} holds {others[0]}, which is not the sample's: {REMEDY}")


def refuse_foreign_files(record: SampleRecord | None, paths: SamplePaths, names: Iterable[str]) -> None:
    """Raise SampleError unless the truth files are missing, or belong to the present sample."""
    known = record.beside if record is not None else {}
    for path in (paths.truth_file(name) for name in names if name not in known):
        if path.exists() or path.is_symlink():
            raise SampleError(f"{path} is there already and not a sample made here: {REMEDY}")


def _refuse_existing(paths: SamplePaths) -> None:
    other = read_record(paths.record)
    if other is not None:
        raise SampleError(f"{paths.truth} belongs to {other.archive}: remove both or choose another path")
    for path in (paths.archive, paths.truth, paths.record):
        if path.exists() or path.is_symlink():
            raise SampleError(f"{path} is there already and not a sample made here: {REMEDY}")
