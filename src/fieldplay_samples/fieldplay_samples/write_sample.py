"""Samples: synthetic archives in the published layout of a dataset, with the truth beside them.

OUT is a folder, or `OUT.zip` with one folder inside. Beside it stand `OUT.truth.csv` (see truth.py) and
`OUT.sample.json`, how it was made: by it a sample that is there already, whole and as requested, is used again.
A dataset may have further truth of its own, `OUT.<name>.npz`.
"""

import fcntl
import glob
import importlib
import math
import os
import pkgutil
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from fieldplay_samples import writers
from fieldplay_samples.output_folder import (
    SampleError,
    SamplePaths,
    SampleRecord,
    SampleTruth,
    digest_of_path,
    files_of,
    is_intact,
    paths_of,
    record_at,
    refuse_foreign_files,
    refuse_foreign_sample,
    source_digest,
    write_arrays,
    write_record,
    write_truth,
)
from fieldplay_samples.writers.parallel import Progress

STORED = (".jpg", ".png", ".mp4")  # compressed as they are
MOMENT = (2022, 7, 4, 10, 0, 0)
READABLE = 0o644 << 16
FAST = 1
PARTIAL = ".{}.partial-"  # and the number of a process
Value = bool | int | float | str
SHORTEST_S, LONGEST_S = 2.0, 3600.0


def zip_folder(folder: Path, target: Path, *, inside: str) -> None:
    """Write all files below a folder into a zip, in a folder named `inside`."""
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name in files_of(folder):
            entry = zipfile.ZipInfo(f"{inside}/{name}", MOMENT)
            entry.external_attr = READABLE
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(STORED) else zipfile.ZIP_DEFLATED
            archive.writestr(entry, (folder / name).read_bytes(), compresslevel=FAST)


@dataclass(frozen=True)
class SampleOptions:
    """How a sample is made; `settings` are the dataset's, by name. `workers` (0: all processors) changes no byte."""

    seconds: float = 20.0
    seed: int = 1
    zip: bool = False
    settings: Mapping[str, Value] = field(default_factory=dict)
    workers: int = 0


@dataclass(frozen=True)
class SampleResult:
    """Where the archive and its truth are, and whether they were there already."""

    path: Path
    truth: Path
    reused: bool


class Writer(Protocol):
    """What each package in `writers` offers."""

    def settings(self) -> dict[str, Value]:
        """The dataset's own settings with their defaults."""
        ...

    def write_archive(self, folder: Path, options: SampleOptions, progress: Progress) -> SampleTruth:
        """Write the archive's files into an empty folder, by options whose settings are complete."""
        ...


def datasets() -> list[str]:
    """The names of the datasets of which there are samples."""
    return sorted(module.name for module in pkgutil.iter_modules(writers.__path__) if module.ispkg)


def settings_of(dataset: str) -> dict[str, Value]:
    """The settings that a dataset's samples have, with their defaults."""
    return _writer(dataset).settings()


def usual_seconds(dataset: str, settings: Mapping[str, Value]) -> float:
    """How long a sample with such settings is where nobody says it: a drive may have an end of its own."""
    writer = _writer(dataset)
    options = _complete(writer, dataset, SampleOptions(settings=settings))
    own: Callable[[Mapping[str, Value]], float | None] | None = getattr(writer, "usual_seconds", None)
    return (own(options.settings) if own else None) or options.seconds


def write_sample(
    dataset: str, out: Path, options: SampleOptions | None = None, *, progress: Progress | None = None
) -> SampleResult:
    """Write a sample to `out`, or find that it is there already; SampleError where that cannot be."""
    writer = _writer(dataset)
    options = _complete(writer, dataset, options or SampleOptions())
    paths = paths_of(Path(out), zipped=options.zip)
    _clear_away(paths.archive)
    record = record_at(paths)
    if record is not None and _is_as_requested(record, dataset, options) and is_intact(record, paths):
        return SampleResult(path=paths.archive, truth=paths.truth, reused=True)
    refuse_foreign_sample(record, paths)
    paths.archive.parent.mkdir(parents=True, exist_ok=True)
    with _scratch_folder(paths.archive) as scratch:
        content = scratch / "content"
        content.mkdir()
        try:
            truth = writer.write_archive(content, options, progress or _no_progress)
        except ModuleNotFoundError as error:  # as on processors for which there are no wheels of embreex
            library = (error.name or "").partition(".")[0]
            raise SampleError(f"a sample of {dataset} needs {library}: pip install {library}") from error
        refuse_foreign_files(record, paths, truth.arrays)
        write_truth(scratch / "truth", truth)
        (scratch / "beside").mkdir()
        write_arrays(scratch / "beside", truth)
        _take_over(scratch, paths, record, dataset=dataset, options=options)
    return SampleResult(path=paths.archive, truth=paths.truth, reused=False)


def _writer(dataset: str) -> Writer:
    if dataset not in datasets():
        raise SampleError(f"no sample of {dataset!r}: there are {', '.join(datasets())}")
    return cast(Writer, importlib.import_module(f"{writers.__name__}.{dataset}"))


def complete_options(dataset: str, options: SampleOptions) -> SampleOptions:
    """Return the options with all settings of a dataset, checked; SampleError names what is wrong."""
    return _complete(_writer(dataset), dataset, options)


def _complete(writer: Writer, dataset: str, options: SampleOptions) -> SampleOptions:
    """The options with all settings, each of its default's type."""
    if not (math.isfinite(options.seconds) and SHORTEST_S <= options.seconds <= LONGEST_S):
        raise SampleError(f"seconds: expected {SHORTEST_S:g} to {LONGEST_S:g}, got {options.seconds}")
    if options.seed < 0 or options.workers < 0:
        raise SampleError("seed and workers: expected no negative numbers")
    known = writer.settings()
    for name, value in options.settings.items():
        if name not in known:
            raise SampleError(f"{dataset} has no setting {name!r}: there are {', '.join(known)}")
        known[name] = _as_type_of(name, value, known[name])
    return replace(options, seconds=float(options.seconds), settings=known)


def _as_type_of(name: str, value: Value, default: Value) -> Value:
    """Convert a setting's value, typed or as text, to the type of its default."""
    text = str(value).strip()
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise SampleError(f"{name}: expected true or false, got {value!r}")
        return text.lower() == "true"
    if isinstance(default, str):
        return text
    try:
        number = float(text)
    except ValueError:
        raise SampleError(f"{name}: expected a number, got {value!r}") from None
    minimum = "a number from 0 on" if default == 0 else "a number above 0"
    if not (math.isfinite(number) and (number > 0 or number == default == 0)):
        raise SampleError(f"{name}: expected {minimum}, got {value!r}")
    if isinstance(default, int) and number != int(number):
        raise SampleError(f"{name}: expected a whole number, got {value!r}")
    return type(default)(number)


def _clear_away(archive: Path) -> None:
    """Remove what killed processes have left beside an archive."""
    for left in archive.parent.glob(f"{glob.escape(PARTIAL.format(archive.name))}*"):
        with suppress(FileNotFoundError), _lock(left) as is_ours:
            if is_ours:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _scratch_folder(archive: Path) -> Iterator[Path]:
    """Yield a locked folder `.<name>.partial-<pid>` on the same disk, removed in the end."""
    scratch = archive.with_name(PARTIAL.format(archive.name) + str(os.getpid()))
    try:
        scratch.mkdir()
    except FileExistsError:
        raise SampleError(f"{archive} is being written already") from None
    try:
        with _lock(scratch):
            yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; yield whether no other process holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    is_ours = False
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        yield is_ours
    finally:
        os.close(descriptor)


def _take_over(
    scratch: Path, paths: SamplePaths, before: SampleRecord | None, *, dataset: str, options: SampleOptions
) -> None:
    """Move what was made to its place, the archive last.

    The record is written before all that it lists: after an interruption the sample is made again.
    """
    content = scratch / "content"
    further = sorted((scratch / "beside").iterdir())
    if paths.archive.suffix == ".zip":
        content = scratch / "zip"
        zip_folder(scratch / "content", content, inside=paths.archive.stem)
    record = SampleRecord(
        dataset=dataset,
        options=_recorded_options(options),
        source=source_digest(),
        archive=paths.archive.name,
        archive_digest=digest_of_path(content),
        truth_digest=digest_of_path(scratch / "truth"),
        files=files_of(content),
        beside={path.stem: digest_of_path(path) for path in further},
    )
    write_record(scratch / "record", record)
    if paths.archive.exists():
        paths.archive.replace(scratch / "replaced")
    for name in set(before.beside if before is not None else ()) - set(record.beside):
        paths.truth_file(name).unlink(missing_ok=True)
    (scratch / "record").replace(paths.record)
    (scratch / "truth").replace(paths.truth)
    for path in further:
        path.replace(paths.truth_file(path.stem))
    content.replace(paths.archive)


def _is_as_requested(record: SampleRecord, dataset: str, options: SampleOptions) -> bool:
    return (record.dataset, record.options, record.source) == (dataset, _recorded_options(options), source_digest())


def _recorded_options(options: SampleOptions) -> dict[str, Any]:
    return {"seconds": options.seconds, "seed": options.seed, "settings": dict(options.settings)}


def _no_progress(done: int, total: int) -> None:
    """Nobody watches."""
