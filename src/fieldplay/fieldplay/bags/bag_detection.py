"""Whether a path is a bag, by names and first bytes; what reads bags is loaded only for those that are."""

import os
import re
from pathlib import Path

from fieldplay.bags.compression import MCAP, ROS1, SQLITE, STORAGE_ENDINGS, kind_of_file
from fieldplay.bags.metadata import METADATA

STORAGES = (MCAP, SQLITE)
PART = re.compile(r"(?P<bag>.+\.bag)\.(?P<number>\d+)", re.IGNORECASE)  # of a bag of ROS 1 that is split


def is_bag(path: Path) -> bool:
    """Whether a path is to be read as a bag, damaged or not: a file by its name, a folder by what it holds."""
    return is_storage(path) or looks_like_bag(path) or is_ros1_bag(path)


def looks_like_bag(path: Path) -> bool:
    """Whether a path is a bag of ROS 2 by what it holds: others may call their files so, too."""
    if path.is_dir():
        return (path / METADATA).is_file() or any(map(holds_storage, _storages_in(path)))
    return holds_storage(path)


def _storages_in(folder: Path) -> list[Path]:
    """The storage files of a folder, which may have very many others."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(STORAGE_ENDINGS)]
    return [path for path in sorted(folder / name for name in names) if is_storage(path)]


def holds_storage(path: Path) -> bool:
    """Whether a file is a storage file of a bag of ROS 2 by what it holds."""
    return kind_of_file(path) in STORAGES


def is_storage(path: Path) -> bool:
    """Whether a file is called as a storage file of a bag of ROS 2."""
    plain = path.with_suffix("") if path.suffix == ".zstd" else path
    return plain.suffix in STORAGES and path.is_file()


def is_ros1_bag(path: Path) -> bool:
    """Whether a file is a bag of ROS 1 or a part of one: by its contents, or by its name if these are not decisive."""
    if not path.is_file():
        return False
    kind = kind_of_file(path)
    return kind == ROS1 or (not kind and Path(name_of_bag(path)).suffix.lower() == ROS1)


def name_of_bag(path: Path) -> str:
    """The name of the file of a bag of ROS 1, without the number where it is a part."""
    match = PART.fullmatch(path.name)
    return match["bag"] if match else path.name
