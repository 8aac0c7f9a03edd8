"""Trajectories in files: those of TUM, of KITTI, of EuRoC in csv, and the truth of our samples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay_fusion.evaluation.pose_topics import Way
from fieldplay_fusion.evaluation.trajectories import Stamps, trajectory_from_rows
from fieldplay_kinematics.transforms import Array, quaternion_from_rotation
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.stamps import NS_PER_S, ns_from_texts

ENDINGS = (".tum", ".txt", ".csv", ".kitti", ".dat")
TIMES_FILE = "times.txt"  # beside a file of KITTI, which has none
OURS = ("stamp_ns", "x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
TUM, KITTI, EUROC = 8, 12, 8  # columns; EuRoC's may have more
FORMS = "TUM (t x y z qx qy qz qw), KITTI (12 numbers), EuRoC (ns, x, y, z, qw, qx, qy, qz) or a sample's truth.csv"


def is_pose_file(word: str) -> bool:
    """Whether a word is a file of poses rather than a topic."""
    return Path(word).suffix.lower() in ENDINGS and Path(word).is_file()


def way_of_file(path: Path) -> Way:
    """All poses of a file; which form it has its columns tell."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{path}: cannot be read: {getattr(error, 'strerror', '') or 'it is no text'}") from None
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    heads = [line.lstrip("# ") for _, line in lines[:3]]
    lines = [(number, line) for number, line in lines if not line.lstrip().startswith("#")]
    is_ours = bool(lines) and lines[0][1].startswith(f"{OURS[0]},")
    names = lines.pop(0)[1].strip().split(",") if is_ours else []
    is_csv = bool(lines) and "," in lines[0][1]
    cells = _cells(path, lines, "," if is_csv else None)
    if is_ours:
        times, rows = _our_columns(path, names, cells)
    elif is_csv and cells.shape[1] >= EUROC:
        times, rows = _ns(path, cells[:, 0]), _numbers(path, lines, cells[:, [1, 2, 3, 5, 6, 7, 4]])
    elif cells.shape[1] == TUM:
        times, rows = _seconds(path, lines, cells[:, 0]), _numbers(path, lines, cells[:, 1:])
    elif cells.shape[1] == KITTI:
        times, rows = _kitti_times(path, len(cells)), _rows_of_matrices(_numbers(path, lines, cells))
    else:
        raise ArchiveError(f"{path}: expected {FORMS}, got {cells.shape[1]} columns{_told(heads)}")
    trajectory = trajectory_from_rows(times, rows[:, :3], rows[:, 3:])
    return Way(topic=str(path), parent="", child="", trajectory=trajectory)


def _told(heads: list[str]) -> str:
    return f" under '{heads[0][:60]}'" if heads and not heads[0][:1].isdecimal() else ""


def _cells(path: Path, lines: list[tuple[int, str]], delimiter: str | None) -> NDArray[np.str_]:
    """The texts of all rows (n, k)."""
    rows = [[cell.strip() for cell in line.split(delimiter)] for _, line in lines]
    if not rows:
        raise ArchiveError(f"{path}: no pose in it; expected {FORMS}")
    width = len(rows[0])
    for (number, _), row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise ArchiveError(f"{path}, row {number}: expected {width} columns as in the first, got {len(row)}")
    return np.array(rows)


def _numbers(path: Path, lines: list[tuple[int, str]], cells: NDArray[np.str_]) -> Array:
    try:
        return cells.astype(np.float64)
    except ValueError:
        for (number, _), row in zip(lines, cells, strict=True):
            for cell in row.tolist():
                try:
                    float(cell)
                except ValueError:
                    raise ArchiveError(f"{path}, row {number}: expected a number, got '{cell}'") from None
        raise


def _seconds(path: Path, lines: list[tuple[int, str]], texts: NDArray[np.str_]) -> Stamps:
    times, good = ns_from_texts(np.char.encode(texts, "utf-8"))
    if not good.all():
        row = int(np.argmin(good))
        raise ArchiveError(f"{path}, row {lines[row][0]}: expected seconds, got '{texts[row]}'")
    return times


def _ns(path: Path, texts: NDArray[np.str_]) -> Stamps:
    try:
        return texts.astype(np.int64)
    except (ValueError, OverflowError):
        raise ArchiveError(f"{path}: expected whole nanoseconds in the first column, as EuRoC has them") from None


def _our_columns(path: Path, names: list[str], cells: NDArray[np.str_]) -> tuple[Stamps, Array]:
    if not set(OURS) <= set(names) or len(names) != cells.shape[1]:
        raise ArchiveError(f"{path}: expected columns {', '.join(OURS)}, got {', '.join(names)}")
    places = [names.index(name) for name in OURS]
    lines = [(row, "") for row in range(len(cells))]
    return _ns(path, cells[:, places[0]]), _numbers(path, lines, cells[:, places[1:]])


def _kitti_times(path: Path, count: int) -> Stamps:
    """The times of the file beside it, where it has as many; else the rows are a second apart, from 0 on."""
    beside = path.with_name(TIMES_FILE)
    if beside.is_file():
        texts = np.array(beside.read_text("utf-8").split())
        if len(texts) != count:
            raise ArchiveError(f"{beside}: expected {count} times, as {path.name} has poses, got {len(texts)}")
        return _seconds(beside, [(row, "") for row in range(1, count + 1)], texts)
    return np.arange(count, dtype=np.int64) * NS_PER_S


def _rows_of_matrices(values: Array) -> Array:
    matrices = values.reshape(-1, 3, 4)
    return np.concatenate([matrices[:, :, 3], quaternion_from_rotation(matrices[:, :, :3])], axis=1)
