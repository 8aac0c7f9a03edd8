"""Which Rosario sequence it is and where it lies: its raw folder or its bag, its number, the files beside it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fieldplay.bags.ros1 import PART, name_of_bag
from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.rosario.nmea import BOM, LINE
from fieldplay.io.containers import Files, FolderFiles, ListedFiles
from fieldplay.io.file_names import last_part

PICTURE = re.compile(r"(left|right)_\d{9,10}\.\d+\.png", re.IGNORECASE)
LOG = re.compile(r"(imu|gps|odometry.*)\.(log|txt)", re.IGNORECASE)
BAG = re.compile(r".+\.bag(\.\d+)?", re.IGNORECASE)
STORAGE = (".mcap", ".db3")
METADATA = "metadata.yaml"
NUMBER = re.compile(r"seq(?:uence)?[_-]?0*([1-9]\d*)(?!\d)", re.IGNORECASE)
COMPANION_NUMBER = re.compile(r"[a-z_-]+0*([1-9]\d*)\D*", re.IGNORECASE)
TIME = rb"\d{9,10}\.\d+"
NUMBER_TEXT = rb"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?"
HEAD = 1 << 13  # bytes of a log that tell what it is
RAW_ODOMETRY = re.compile(TIME + rb"\s+\S+\s+[^,\s]*(?:,[^,]*){17}")
IMU_LINE = re.compile(TIME + rb"(?:\s+\S+)*(?:\s+" + NUMBER_TEXT + rb"){6}")
CLEAN_LINE = re.compile(TIME + rb"(?:[\s,]+" + NUMBER_TEXT + rb"){3}[\s,]+[+-]?1(?:\.0*)?")
NMEA_LINE = re.compile(LINE.replace("(?<", "(?P<").encode())
ODOMETRY = ("raw_odometry", "odometry")
TEXT = r".+\.(log|txt|csv|dat|asc)"
START_TOLERANCE_S = 120


@dataclass(frozen=True, kw_only=True)
class SequenceSource:
    """A sequence: the files of its raw folder, or the path of its bag; its name; the folder beside."""

    name: str
    beside: Path
    bag: Path | None = None


def source_of(root: Path, files: Files) -> SequenceSource:
    """The one sequence below a path; ArchiveError where there are several, or none."""
    root = root.resolve()
    if root.is_file() and (BAG.fullmatch(root.name) or root.suffix in STORAGE):
        return SequenceSource(name=name_of_bag(root), beside=root.parent, bag=root)
    bags, folders = bags_in(root, files), raw_folders(files)
    if len(bags) + len(folders) > 1:
        raise ArchiveError(f"{root}: {_several(root, folders, bags)}")
    if bags:
        (bag,) = bags
        return SequenceSource(name=name_of_bag(bag), beside=root.parent, bag=bag)
    name = last_part(folders[0]) if folders and folders[0] else root.stem if root.is_file() else root.name
    return SequenceSource(name=name, beside=root.parent)


def _several(root: Path, folders: Sequence[str], bags: Sequence[Path]) -> str:
    """Which sequences lie below a path, and how one of them is chosen."""
    found = [*(f"the raw files in {root / folder}" for folder in folders), *(f"the bag {bag}" for bag in bags)]
    cure = "give the path of one of them"
    if bags and "" in folders:
        cure = "give the bag's path, or take the bag out of the folder to have the raw files read"
    return f"expected one sequence, got {len(found)}: {', '.join(found)}; {cure}"


def bags_in(root: Path, files: Files) -> list[Path]:
    """The bags of a folder: those of ROS 1, of which parts are one, and folders of ROS 2."""
    if not isinstance(files, FolderFiles):
        return []
    found: dict[Path, Path] = {}
    for name in files.names:
        path = root / name
        if BAG.fullmatch(path.name):
            found.setdefault(path.parent / name_of_bag(path), path)
        elif path.name == METADATA and any(PurePosixPath(other).suffix in STORAGE for other in _beside(name, files)):
            found[path.parent] = path.parent
    return list(found.values())


def _beside(name: str, files: Files) -> Iterator[str]:
    folder = name.rpartition("/")[0]
    return (other for other in files.names if other.rpartition("/")[0] == folder)


def raw_folders(files: Files) -> list[str]:
    """The folders of raw sequences: those with logs, else those with pictures, which may lie one folder deeper."""
    logs = {
        name.rpartition("/")[0] for name in files.names if LOG.fullmatch(last_part(name)) and kind_of_log(files, name)
    }
    pictures = {name.rpartition("/")[0] for name in files.names if PICTURE.fullmatch(last_part(name))}
    zed = {folder.removesuffix("zed").rstrip("/") if last_part(folder) == "zed" else folder for folder in pictures}
    return sorted(logs or zed)


def kind_of_log(files: Files, name: str) -> str:
    """What a log is by its first lines: imu, nmea, raw_odometry, odometry, or nothing of these."""
    try:
        with files.open(name) as file:
            head = file.read(HEAD)
    except (ArchiveError, OSError):
        return ""
    lines = [line.strip() for line in head.removeprefix(BOM).splitlines()]
    kinds = {"nmea": NMEA_LINE, "raw_odometry": RAW_ODOMETRY, "imu": IMU_LINE, "odometry": CLEAN_LINE}
    return next((kind for kind, form in kinds.items() if any(form.fullmatch(line) for line in lines)), "")


def odometry_by_content(files: Files, known: Sequence[str]) -> list[str]:
    """The texts in the folders of raw sequences, but for those known, that hold odometry: its name is not public."""
    folders = set(raw_folders(files))
    names = [name for name in files.matching(TEXT) if name not in known and name.rpartition("/")[0] in folders]
    return [name for name in names if kind_of_log(files, name) in ODOMETRY]


def number_in(name: str, pattern: re.Pattern[str] = NUMBER) -> int | None:
    """The number of a sequence in a name."""
    found = pattern.search(name)
    return int(found[1]) if found else None


def sequence_at(sequences: Mapping[int, Any], first_ns: int) -> int | None:
    """The sequence that was recorded at a time."""
    late_s = {number: first_ns / NS_PER_S - known["start_s"] for number, known in sequences.items()}
    latest_s = {number: known["minutes"] * 60 + START_TOLERANCE_S for number, known in sequences.items()}
    near = [number for number in sequences if -START_TOLERANCE_S <= late_s[number] <= latest_s[number]]
    return min(near, key=lambda number: abs(late_s[number]), default=None)


@dataclass(frozen=True)
class Companion:
    """A file that belongs to a sequence, in its folder or beside it."""

    files: Files
    name: str


def companion(
    archive: Archive, source: SequenceSource, files: Files, *, pattern: str, number: int | None, what: str
) -> Companion | None:
    """The calibration or the ground truth: in the folder, else beside it; of the sequence's number, else the only one.

    One beside with another number than the sequence's belongs to another sequence.
    """
    expression = re.compile(pattern, re.IGNORECASE)
    outside = ListedFiles(source.beside, [name for name in _names_of(source.beside) if expression.fullmatch(name)])
    for place, names in ((files, files.matching(pattern)), (outside, outside.names)):
        is_beside = place is outside
        numbers = {name: number_in(last_part(name), COMPANION_NUMBER) for name in names}
        strange = [name for name in names if is_beside and number and numbers[name] not in (None, number)]
        fitting = [name for name in names if number and numbers[name] == number]
        chosen = fitting or [name for name in names if name not in strange]
        if len(chosen) == 1:
            archive.notes.append(f"{what}: {chosen[0]}{', beside the archive' if is_beside else ''}")
            return Companion(place, chosen[0])
        if chosen:
            archive.notes.append(f"{what}: none is read, as it is not clear which of {', '.join(chosen)} belongs to it")
            return None
        if strange:
            archive.notes.append(f"{', '.join(strange)} beside the archive: of another sequence, not read")
    return None


def _names_of(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []


def is_sequence_bag(path: Path) -> bool:
    """Whether a file is called as the dataset's bags are."""
    found = PART.fullmatch(path.name)
    name = found["bag"] if found else path.name
    return bool(re.fullmatch(r"sequence_?0*[1-6]\.bag", name, re.IGNORECASE))
