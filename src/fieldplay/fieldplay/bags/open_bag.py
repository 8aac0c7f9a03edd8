"""Any bag: of ROS 2, or of ROS 1 as if it were one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fieldplay.bags.bag_reader import Ros2Bag, is_storage, looks_like_bag
from fieldplay.bags.bag_topics import AS_USUAL, BagReading
from fieldplay.bags.compression import MB
from fieldplay.bags.file_kinds import ROS1, kind_of_file
from fieldplay.bags.joined import JoinedBag
from fieldplay.bags.message_definitions import MessageFiles
from fieldplay.bags.ros1 import (
    Parts,
    Ros1Bag,
    name_of_bag,
    parts_of_bag,
)
from fieldplay.bags.ros1_adapter import Ros1AsRos2Bag
from fieldplay.core.errors import Defect, Report, UsageError

MESSAGE_FILES, UNPACK_LIMIT_MB = "msgs", "unpack_limit_mb"  # parameters of a bag
AnyBag = Ros2Bag | Ros1AsRos2Bag


def is_bag(path: Path) -> bool:
    """Whether a path is to be read as a bag, damaged or not: a file by its name, a folder by what it holds."""
    return is_storage(path) or looks_like_bag(path) or is_ros1_bag(path)


def is_ros1_bag(path: Path) -> bool:
    """Whether a file is a bag of ROS 1 or a part of one: by what it holds, or by its name where that tells nothing."""
    if not path.is_file():
        return False
    kind = kind_of_file(path)
    return kind == ROS1 or (not kind and Path(name_of_bag(path)).suffix.lower() == ROS1)


def open_bag(
    path: Path,
    report: Report,
    note: Callable[[str], None] = lambda text: None,
    reading: BagReading = AS_USUAL,
) -> AnyBag:
    """Open a bag; BagError or ArchiveError where it is none."""
    if is_ros1_bag(path):
        return Ros1AsRos2Bag(open_ros1_bag(path, report, reading), parts_of_bag(path)[0], note)
    return Ros2Bag(path, report, note, reading)


def open_joined_bag(
    paths: Sequence[Path],
    report: Report,
    note: Callable[[str], None] = lambda text: None,
    reading: BagReading = AS_USUAL,
) -> "AnyBag | JoinedBag":
    """Open one bag, or several as one; BagError or ArchiveError where one of them is none."""
    if len(paths) == 1:
        return open_bag(paths[0], report, note, reading)
    with ExitStack() as stack:
        bags = []
        for path in paths:
            bags.append(open_bag(path, report, note, reading))
            stack.callback(bags[-1].close)
        joined = JoinedBag(bags)
        stack.pop_all()
    return joined


def reading_of_parameters(values: Mapping[str, Any]) -> BagReading:
    """How a bag is read, by the parameters that a bag has as an archive."""
    folder, limit_mb = values[MESSAGE_FILES], values[UNPACK_LIMIT_MB]
    if not limit_mb > 0:
        raise UsageError(f"parameter {UNPACK_LIMIT_MB}: expected more than 0, got {limit_mb:g}")
    files = MessageFiles(Path(folder)) if folder else None
    return BagReading(message_files=files, unpack_limit=round(limit_mb * MB))


def open_ros1_bag(path: Path, report: Report, reading: BagReading = AS_USUAL) -> Ros1Bag:
    """Open a bag of ROS 1 as it is, all its parts if it is one of several."""
    parts, missing = parts_of_bag(path)
    for name in missing:
        message = f"expected this part of the bag, got none; what stands before it is read: {len(parts)} part(s)"
        report(Defect(file=name, kind="missing_part", message=message))
    return Ros1Bag(Parts(parts), report, reading)
