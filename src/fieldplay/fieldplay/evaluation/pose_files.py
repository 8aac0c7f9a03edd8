"""Trajectories in files: those of TUM, of KITTI, of EuRoC in csv, and the truth of our samples."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import NS_PER_S, ns_from_texts
from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.trajectories.pose_topics import TopicTrajectory
from fieldplay.trajectories.trajectory import Stamps, is_valid_rotation, trajectory_from_rows

ENDINGS = (".tum", ".txt", ".csv", ".kitti", ".dat")
TIMES_FILE = "times.txt"  # beside a file of KITTI, which has none
OURS = ("stamp_ns", "x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
NS_DIGITS = 15  # before the point: some programs write nanoseconds into TUM's files
COMMENT = "#"

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """The rows of a file (n, k) as texts, the number of the line of each, and names of columns, if there are any."""

    path: Path
    rows: NDArray[np.str_]
    lines: Sequence[int]
    names: Sequence[str]
    has_commas: bool
    times: Path | None

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    @cached_property
    def starts_with_integer(self) -> bool:
        """Whether the first number is a whole one."""
        return str(self.rows[0, 0]).lstrip("+-").isdecimal()

    def numbers(self, columns: Sequence[int] | slice) -> Array:
        """Columns (n, m) as numbers."""
        cells = self.rows[:, columns]
        try:
            return cells.astype(np.float64)
        except ValueError:
            for row, texts in enumerate(cells.tolist()):
                for text in texts:
                    if not _is_number(text):
                        raise self.error(row, f"expected a number, got '{text}'") from None
            raise

    def seconds(self) -> Stamps:
        """The first column as times: seconds, or nanoseconds where there are too many digits for these."""
        wholes = np.char.partition(self.rows[:, 0], ".")[:, 0]
        are_long = [len(text) >= NS_DIGITS for text in wholes.tolist()]
        if 2 * sum(are_long) <= len(are_long):
            return self._seconds(self.rows[:, 0])
        if not all(are_long):
            row = are_long.index(False)
            raise self.error(row, f"expected nanoseconds as in most rows, got '{self.rows[row, 0]}'")
        return self.whole_ns(wholes)

    def whole_ns(self, texts: NDArray[np.str_]) -> Stamps:
        """Texts (n,) as nanoseconds."""
        try:
            return texts.astype(np.int64)
        except (ValueError, OverflowError):
            row = next(row for row, text in enumerate(texts.tolist()) if not _is_whole(text))
            raise self.error(row, f"expected whole nanoseconds, got '{texts[row]}'") from None

    def _seconds(self, texts: NDArray[np.str_]) -> Stamps:
        stamp_ns, good = ns_from_texts(np.char.encode(texts, "utf-8"))
        if not good.all():
            row = int(np.argmin(good))
            raise self.error(row, f"expected seconds, got '{texts[row]}'")
        return stamp_ns

    def paired_times(self, report: Report) -> Stamps:
        """The times of another file, of which there must be as many; without one the rows are a second apart."""
        path = self.times or self.path.with_name(TIMES_FILE)
        if not path.is_file():
            report(f"{self.path}: no {TIMES_FILE} next to it, so its poses are taken as 1 s apart, starting at 0 s")
            return np.arange(len(self.rows), dtype=np.int64) * NS_PER_S
        other = _table_of(path)
        if len(other.rows) != len(self.rows):
            raise ArchiveError(
                f"{path}: expected {len(self.rows)} times, as {self.path.name} has poses, got {len(other.rows)}"
            )
        return other.seconds()

    def error(self, row: int, message: str) -> ArchiveError:
        return ArchiveError(f"{self.path}, row {self.lines[row]}: {message}")


@dataclass(frozen=True, kw_only=True)
class _Form:
    """A form of files: what a row of it is, whether a file is one, its times and its x y z qx qy qz qw (n, 7)."""

    text: str
    fits: Callable[[_Table], bool]
    times: Callable[[_Table, Report], Stamps]
    poses: Callable[[_Table], Array]


def _poses_of_matrices(table: _Table) -> Array:
    matrices = table.numbers(slice(None)).reshape(-1, 3, 4)
    bad = ~np.isfinite(matrices.reshape(-1, 12)).all(axis=1)
    matrices[bad, :, :3], matrices[bad, :, 3] = np.eye(3), np.nan
    return np.concatenate([matrices[:, :, 3], quaternion_from_rotation(matrices[:, :, :3])], axis=1)


def _our_columns(table: _Table) -> list[int]:
    if not set(OURS) <= set(table.names) or len(table.names) != table.width:
        names = ", ".join(table.names) or "no names"
        raise ArchiveError(f"{table.path}: expected columns {', '.join(OURS)}, got {names}")
    return [table.names.index(name) for name in OURS]


FORMS: Mapping[str, _Form] = {
    "truth": _Form(
        text="a sample's truth.csv",
        fits=lambda table: bool(table.names) and table.names[0] == OURS[0],
        times=lambda table, _: table.whole_ns(table.rows[:, _our_columns(table)[0]]),
        poses=lambda table: table.numbers(_our_columns(table)[1:]),
    ),
    "euroc": _Form(
        text="EuRoC (ns, x, y, z, qw, qx, qy, qz)",
        fits=lambda table: table.has_commas and table.width >= 8 and table.starts_with_integer,
        times=lambda table, _: table.whole_ns(table.rows[:, 0]),
        poses=lambda table: table.numbers([1, 2, 3, 5, 6, 7, 4]),
    ),
    "tum": _Form(
        text="TUM (t x y z qx qy qz qw)",
        fits=lambda table: table.width == 8,
        times=lambda table, _: table.seconds(),
        poses=lambda table: table.numbers(slice(1, 8)),
    ),
    "kitti": _Form(
        text="KITTI (12 numbers)",
        fits=lambda table: table.width == 12,
        times=lambda table, report: table.paired_times(report),
        poses=_poses_of_matrices,
    ),
}
WIDTHS = {"truth": 8, "euroc": 8, "tum": 8, "kitti": 12}  # columns at least
FORM_TEXTS = ", ".join(form.text for form in FORMS.values())


@dataclass(frozen=True, kw_only=True)
class PoseForms:
    """What is known of files beside what they hold: the form of each by its path, or of all, and KITTI's times."""

    of_all: str = ""
    by_path: Mapping[str, str] = field(default_factory=dict)
    times: Path | None = None

    def form_of(self, path: Path) -> str:
        """The name of a form; empty to detect it."""
        return self.by_path.get(str(path), self.of_all)


def parse_pose_forms(texts: Sequence[str], times: Path | None = None) -> PoseForms:
    """Parse FORM (for all files) or FILE=FORM."""
    by_path: dict[str, str] = {}
    for text in texts:
        path, _, form = text.rpartition("=")
        if form not in FORMS:
            raise UsageError(f"--form: expected {', '.join(FORMS)} or FILE=FORM, got '{text}'")
        by_path[path] = form
    return PoseForms(of_all=by_path.pop("", ""), by_path=by_path, times=times)


def is_pose_file(word: str) -> bool:
    """Whether a word is a file of poses rather than a topic."""
    return Path(word).suffix.lower() in ENDINGS and Path(word).is_file()


def load_pose_file(
    path: Path, forms: PoseForms | None = None, *, report: Report = lambda text: None
) -> TopicTrajectory:
    """All poses of a file; `report` receives a line about rows without a pose."""
    forms = forms or PoseForms()
    table = _table_of(path, forms.times)
    form = _form_of(table, forms.form_of(path))
    times, rows = form.times(table, report), form.poses(table)
    trajectory = trajectory_from_rows(times, rows[:, :3], rows[:, 3:])
    if not len(trajectory):
        raise table.error(0, f"expected numbers, got '{' '.join(table.rows[0].tolist())[:60]}': no row holds a pose")
    for line in _rejected_rows(table, times, rows, are_turned=trajectory.has_orientation):
        report(line)
    return TopicTrajectory(topic=str(path), parent="", child="", trajectory=trajectory)


def _rejected_rows(table: _Table, times: Stamps, rows: Array, *, are_turned: bool) -> Iterator[str]:
    """Describe rows without a pose, or without the rotation that others have, and rows of duplicate time."""
    is_pose = np.isfinite(rows).all(axis=1)
    if are_turned:
        is_pose &= is_valid_rotation(rows[:, 3:])
    bad = np.flatnonzero(~is_pose)
    if len(bad):
        verb = "is" if len(bad) == 1 else "are"
        yield f"{table.path}, row {table.lines[int(bad[0])]}: no pose; {len(bad)} of {len(times)} rows {verb} left out"
    good = np.flatnonzero(is_pose)
    again = np.setdiff1d(np.arange(len(good)), np.unique(times[good], return_index=True)[1])
    if len(again):
        line = table.lines[int(good[again[0]])]
        yield f"{table.path}, row {line}: its time is that of another row; of {len(again)} such the first alone counts"


def _form_of(table: _Table, name: str) -> _Form:
    if name:
        if table.width < WIDTHS[name]:
            raise table.error(0, f"expected {FORMS[name].text}, got {table.width} columns")
        return FORMS[name]
    form = next((form for form in FORMS.values() if form.fits(table)), None)
    if form is None:
        under = f" under '{','.join(table.names)[:60]}'" if table.names else ""
        raise ArchiveError(f"{table.path}: expected {FORM_TEXTS}, got {table.width} columns{under}")
    return form


def _table_of(path: Path, times: Path | None = None) -> _Table:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{path}: cannot be read: {getattr(error, 'strerror', '') or 'it is no text'}") from None
    newline = "\n" if "\n" in text else "\r"
    lines = [(number, line) for number, line in enumerate(text.split(newline), start=1) if line.strip()]
    lines = [(number, line) for number, line in lines if not line.lstrip().startswith(COMMENT)]
    for number, line in lines:
        if "\0" in line:  # which NumPy takes for the end of a text
            raise ArchiveError(f"{path}, row {number}: expected text, got a zero byte")
    has_commas = 2 * sum("," in line for _, line in lines) > len(lines)
    delimiter = "," if has_commas else None
    numbered = [(number, [cell.strip() for cell in line.split(delimiter)]) for number, line in lines]
    names = numbered.pop(0)[1] if numbered and not any(map(_is_number, numbered[0][1])) else []
    if not numbered:
        raise ArchiveError(f"{path}: no pose in it; expected {FORM_TEXTS}")
    width = Counter(len(cells) for _, cells in numbered).most_common(1)[0][0]
    for number, cells in numbered:
        if len(cells) != width:
            raise ArchiveError(f"{path}, row {number}: expected {width} columns as in most rows, got {len(cells)}")
    rows = np.array([cells for _, cells in numbered])
    numbers = [number for number, _ in numbered]
    return _Table(path=path, rows=rows, lines=numbers, names=names, has_commas=has_commas, times=times)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_whole(text: str) -> bool:
    try:
        np.array([text]).astype(np.int64)
    except (ValueError, OverflowError):
        return False
    return True
