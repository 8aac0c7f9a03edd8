"""The known datasets: finds their descriptions, detects the dataset of an archive, and opens it."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fieldplay.bags.bag_detection import is_bag, is_ros1_bag, looks_like_bag
from fieldplay.bags.compression import MB, MESSAGE_FILES, ROS1, STORAGE_ENDINGS, UNPACK_LIMIT, UNPACK_LIMIT_MB
from fieldplay.bags.metadata import read_information, topics_of_information
from fieldplay.core.errors import ArchiveError
from fieldplay.core.process_exit import keep_interrupt_handler
from fieldplay.core.resources import config_folders
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetParameter, DatasetSpec, spec_from_file
from fieldplay.io.containers import (
    Files,
    ListedFiles,
    is_packed,
    list_once,
    open_files,
    open_joined,
    unpack_hint,
)

DATASETS = "datasets"
GROUP = "fieldplay.datasets"  # of entry points: by the name of a dataset the package that holds <name>.yaml
BAG = DatasetSpec(
    name="bag",
    title="a bag",
    status="",
    reader="fieldplay.datasets.bag",
    namespace="",
    detect=(),
    plausible_years=(1970, 2262),
    streams=(),
    parameters={
        MESSAGE_FILES: DatasetParameter(
            default="", help="a folder of .msg files, of types that the bag does not define (also --msgs DIR)"
        ),
        UNPACK_LIMIT_MB: DatasetParameter(
            default=float(UNPACK_LIMIT // MB), help="how many MB a compressed chunk or message may unpack to"
        ),
    },
)  # what a bag is that is of no dataset
REASONS = 5  # why nothing can be read, at most
BAG_ENDINGS = (*STORAGE_ENDINGS, ROS1)


def open_dataset(
    path: Path, dataset: str | None = None, parameters: Mapping[str, Any] | None = None, *, allow_empty: bool = False
) -> Archive:
    """Open an archive of a dataset.

    Args:
        path: the folder or file.
        dataset: the name of the dataset; None to detect it by the files.
        parameters: parameters that differ from their defaults, by name.
        allow_empty: also open an archive without any readable stream, for its defects.

    Returns:
        The open archive; close it.

    Raises:
        ArchiveError: it is of no known dataset, or nothing in it can be read.
        UsageError: a parameter is unknown or has a value that it cannot have.
    """
    # Detection, each reader that is asked and the reader itself list the same files: list them once.
    with list_once():
        spec = spec_of_archive(path, dataset)
        archive: Archive = _load_reader(spec).open_archive(path, spec, parameters or {})
    if not archive.streams and not allow_empty:
        archive.close()
        reasons = [f"\n  {defect}" for defect in archive.defects.listed[:REASONS]]
        what = f"nothing of {spec.name} in it that can be read"
        if archive.bag is not None:
            what = f"expected a bag with messages that can be read, got {archive.bag.title} without any"
        raise ArchiveError(f"{path}: {what}{''.join(reasons)}")
    return archive


def open_bags(paths: Sequence[Path], parameters: Mapping[str, Any] | None = None) -> Archive:
    """Open several bags as one.

    Args:
        paths: the bags.
        parameters: parameters of bags that differ from their defaults, by name.

    Returns:
        The open archive; close it.

    Raises:
        ArchiveError: none of them has a message that can be read.
    """
    archive: Archive = _load_reader(BAG).open_archive(paths[0], BAG, parameters or {}, more=paths[1:])
    if not archive.streams:
        archive.close()
        raise ArchiveError(f"expected bags with messages that can be read, got none in {', '.join(map(str, paths))}")
    return archive


def spec_of_archive(path: Path, dataset: str | None = None) -> DatasetSpec:
    """Find the description of an archive.

    Args:
        path: the folder or file.
        dataset: the name of the dataset; None to detect it by the files.

    Returns:
        The description.

    Raises:
        ArchiveError: there is no such path or dataset, or no dataset fits.
    """
    if not path.exists():
        raise ArchiveError(f"{path}: there is no such folder or file")
    return spec_of_dataset(dataset) if dataset else detect_spec(path)


def spec_of_dataset(name: str) -> DatasetSpec:
    """Read the description of a dataset, or of bags.

    Args:
        name: of the dataset, or `bag`.

    Returns:
        The description.

    Raises:
        ArchiveError: there is none of this name.
    """
    files = dataset_files()
    if name == BAG.name:
        return BAG
    if name not in files:
        raise ArchiveError(f"there is no dataset '{name}'; fieldplay knows {', '.join(sorted(files)) or 'none'}")
    return spec_from_file(files[name])


def detect_spec(path: Path) -> DatasetSpec:
    """Detect the dataset with the most patterns that files match, if its reader recognises their contents.

    Some datasets have names that anybody may give to a file. Their readers have a function `recognises(path, files)`.

    Args:
        path: the folder or file.

    Returns:
        The description, that of bags where no dataset fits and it is a bag.

    Raises:
        ArchiveError: none fits, or several fit equally; the message says what is there.
    """
    specs = [spec_from_file(file) for file in dataset_files().values()]
    with _open_files(path) as files:
        scores = {spec.name: _score(spec, path, files) for spec in specs}
        best = max(scores.values(), default=0)
        best_specs = [spec for spec in specs if scores[spec.name] == best]
        if best == 0 and (joined := _spec_of_zips(path, specs)) is not None:
            return joined
        if best == 0 and is_bag(path):
            return BAG
        if best == 0:
            named = [spec.name for spec in specs if _name_score(spec, files)]
            raise ArchiveError(f"{path}: {_why_unknown(path, files.names, sorted(scores), named)}")
    if len(best_specs) > 1:
        raise ArchiveError(f"{path}: may be {' or '.join(spec.name for spec in best_specs)}; --dataset names one")
    return best_specs[0]


def _spec_of_zips(path: Path, specs: Sequence[DatasetSpec]) -> DatasetSpec | None:
    """The dataset of which the zips in a folder are, where these are one archive together."""
    able = [spec for spec in specs if spec.joins_zips]
    if not able or not path.is_dir():
        return None
    with open_joined(path, lambda defect: None) as files:
        return next((spec for spec in able if _name_score(spec, files)), None)


def is_plain_bag(path: Path) -> bool:
    """Check whether a path is opened as a bag: any of ROS 2, and those of ROS 1 that are of no dataset.

    Args:
        path: the folder or file.

    Returns:
        Whether it is.
    """
    return looks_like_bag(path) or (is_ros1_bag(path) and detect_spec(path) is BAG)


def truth_max_std_of(topic: str, spec: DatasetSpec | None = None) -> float:
    """Look up which truth poses a dataset does not believe.

    Args:
        topic: the full name of a topic.
        spec: the dataset of the recording, whose truth may be in any namespace; others' have to be in their own.

    Returns:
        The largest standard deviation in m that is believed; 0 for any, also where the topic is no dataset's truth.
    """
    truths = [stream.topic for stream in spec.streams if stream.id == spec.truth] if spec is not None else []
    if spec is not None and any(topic.endswith(f"/{truth}") for truth in truths):
        return spec.truth_max_std_m
    for spec in map(spec_from_file, dataset_files().values()):
        own = (stream.topic for stream in spec.streams if spec.truth and stream.id == spec.truth)
        if topic in (f"/{spec.namespace}/{name}" for name in own):
            return spec.truth_max_std_m
    return 0.0


def datasets_deriving(word: str) -> list[str]:
    """List the datasets that derive a topic.

    Args:
        word: its name or how that ends.

    Returns:
        Their names, sorted.
    """
    specs = map(spec_from_file, dataset_files().values())
    return sorted(
        spec.name
        for spec in specs
        for derived in spec.derived
        if f"/{spec.namespace}/{derived.topic}".endswith("/" + word.strip("/"))
    )


def _load_reader(spec: DatasetSpec) -> Any:
    """The module of the dataset's reader.

    Readers of tables parse with polars. It is imported here, as a thread that did so first could not restore the
    handler of SIGINT that polars replaces.
    """
    with keep_interrupt_handler():
        if spec.name != BAG.name:
            import polars  # noqa: F401
        return import_module(spec.reader)


def _score(spec: DatasetSpec, path: Path, files: Files) -> int:
    """How many of a dataset's patterns the files match; none if its reader does not recognise them."""
    score = 0 if _has_other_topics(path, spec.bag_topics) else _name_score(spec, files)
    recognises = getattr(_load_reader(spec), "recognises", None) if score else None
    return score if recognises is None or recognises(path, files) else 0


def _has_other_topics(path: Path, names: Collection[str]) -> bool:
    """Whether a bag has metadata, and these name none of some topics: then no reader need be loaded to look at it."""
    if not names or not path.is_dir():
        return False
    listed = topics_of_information(read_information(path)[0])
    return bool(listed) and not {topic.name.lstrip("/") for topic in listed} & set(names)


def _name_score(spec: DatasetSpec, files: Files) -> int:
    """How many of a dataset's patterns the names of the files match."""
    return sum(bool(files.matching(pattern)) for pattern in spec.detect)


def _why_unknown(path: Path, names: list[str], known: list[str], named: list[str]) -> str:
    if not names:
        return "the folder is empty" if path.is_dir() else "the zip is empty"
    bags = [name for name in names if name.endswith(BAG_ENDINGS)]
    if bags:
        shown = ", ".join(bags[:REASONS]) + (", ..." if len(bags) > REASONS else "")
        remedy = "give the path of one" if path.is_dir() else "unpack it, and give the path of one"
        return f"no dataset that fieldplay knows ({', '.join(known)}) fits, but it holds bags ({shown}): {remedy}"
    if named:
        called = f"some files are called as those of {' and '.join(named)}, but do not hold what those do"
        return f"no dataset that fieldplay knows ({', '.join(known)}) fits: {called}; --dataset {named[0]} shows why"
    hint = unpack_hint(path, names) or "--dataset names one"
    return f"no dataset that fieldplay knows ({', '.join(known)}) has files of such names; {hint}"


def _open_files(path: Path) -> Files:
    if path.is_file() and not is_packed(path):
        return ListedFiles(path.parent, [path.name])
    return open_files(path, lambda defect: None)


def dataset_files() -> dict[str, Path]:
    """List the descriptions of all datasets: in FIELDPLAY_DATASETS, installed, of the source, of other packages.

    Returns:
        Files by name; of one name the first counts.

    Raises:
        ArchiveError: an entry point names no package.
    """
    files: dict[str, Path] = {}
    installed = [folder / DATASETS for folder in config_folders()]
    own = installed[-1]
    for folder in (*_own_folders(), *installed):
        for path in sorted(folder.glob("*.yaml")):
            if not (path.is_symlink() and folder == own):  # a link is to a description that another package brings
                files.setdefault(path.stem, path)
    for entry in _dataset_entry_points():
        files.setdefault(entry.name, _description(entry))
    return files


@cache
def _dataset_entry_points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _description(entry: EntryPoint) -> Path:
    """The description that a package brings; without importing its reader."""
    spec = find_spec(entry.value)
    if spec is None or spec.origin is None:
        raise ArchiveError(f"the dataset {entry.name}: expected a package {entry.value}, which its entry point names")
    return Path(spec.origin).with_name(f"{entry.name}.yaml")


def robot_file(name: str) -> Path | None:
    """Find the model of a robot.

    Args:
        name: of the file, without `.urdf`.

    Returns:
        The file, or None.
    """
    files = (folder.parent / "urdf" / f"{name}.urdf" for folder in config_folders())
    return next((file for file in files if name and file.is_file()), None)


def _own_folders() -> Iterator[Path]:
    yield from map(Path, filter(None, os.environ.get("FIELDPLAY_DATASETS", "").split(os.pathsep)))
