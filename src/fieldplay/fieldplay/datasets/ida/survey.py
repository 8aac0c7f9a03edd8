"""One pass through all rows of *_eu.csv: what repeats, what is missing, which tool is held, and what shows units."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.gaps import ENOUGH_STEPS, GAP_NS, GAP_STEPS
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, Measurement, measure
from fieldplay.datasets.ida.ida_products import DistinctTables, are_new, have_equal_neighbours
from fieldplay.datasets.ida.motion_rows import FORCES
from fieldplay.datasets.ida.streams import JOINTS
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records

MOVED_RAD = 0.003  # some four counts of the coarsest encoder: less is no movement
STATES = ("tool", "grapple_phase")
SHOWN = 5  # notes on pairs of files
ELAPSED_S = 2.0  # by how much elapsed_time may differ from column 1 for no reason but its few digits
ENCODERS = tuple(f"enc{joint}" for joint in range(1, len(JOINTS) + 1))
POSES = ("enc", "pot", "enc_defl", "pot_defl")

Stamps = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pause:
    """A stretch without rows in a file: its ends, the line after it, and how far each joint is away after it."""

    file: str
    line: int
    first_ns: int
    last_ns: int
    moved_rad: tuple[float, ...]


@dataclass
class Survey:
    """What is found in the rows of an archive, block by block."""

    repeated: Counter[tuple[str, str]] = field(default_factory=Counter)  # rows, by the file and that which counts
    alike: dict[str, list[int]] = field(default_factory=dict)  # lines of rows that share a time, by their file
    states: dict[str, list[tuple[Stamps, Floats]]] = field(default_factory=lambda: {name: [] for name in STATES})
    pauses: list[Pause] = field(default_factory=list)
    sols: set[int] = field(default_factory=set)
    largest_heater: float = 0.0
    th_rad: tuple[float, float] = (np.inf, -np.inf)
    turns: int = 0
    missing: Counter[str] = field(default_factory=Counter)  # rows without a number, by their column
    columns: set[str] = field(default_factory=set)  # that hold a number anywhere
    _last: tuple[str, TimedRows] | None = None
    _step_ns: dict[str, float] = field(default_factory=dict)
    _late_files: set[str] = field(default_factory=set)


def survey(archive: Archive, tables: DistinctTables) -> Survey:
    """Go through all blocks, table by table; what contradicts itself is reported."""
    results = Survey()
    for index in range(len(tables.blocks)):
        rows, file = tables.all_rows(index), tables.table_of(index).name
        if not len(rows):
            continue
        _count_repeated(archive, tables, index, results=results)
        _find_pauses(results, file, rows)
        _check_units(results, rows)
        _check_elapsed(archive, file, rows, results=results)
        results._last = (file, rows.only(np.array([len(rows) - 1])))
        distinct = tables.rows(index)
        for name in STATES:
            _add_changes(results.states[name], distinct, name)
    _report_duplicate_times(archive, results)
    _report_losses(archive, tables, results)
    return results


def _count_repeated(archive: Archive, tables: DistinctTables, index: int, *, results: Survey) -> None:
    """Count the rows that repeat one before, and report those that say something else than one of another file."""
    rows, file = tables.all_rows(index), tables.table_of(index).name
    new = are_new(rows)
    if not new.all():
        results.repeated[file, file] += int((~new).sum())
    alike = have_equal_neighbours(rows.stamp_ns[new])
    results.alike.setdefault(file, []).extend(rows.line[new][alike].tolist())
    for other in tables.earlier(index):
        name, had = tables.table_of(other).name, tables.are_in(index, other)
        if had.any():
            results.repeated[file, name] += int(had.sum())
        if name == file:
            continue
        differ = tables.contradict(index, other)
        if differ.any():
            line = int(rows.line[np.argmax(differ)])
            message = (
                f"{int(differ.sum())} rows have the times of rows of {name} and other numbers; those of {name} count"
            )
            archive.defects(Defect(file=file, kind="conflicting_rows", row=line, message=message))


def _report_duplicate_times(archive: Archive, results: Survey) -> None:
    """Report the rows of a file that share a time and have other numbers."""
    for file, lines in results.alike.items():
        if lines:
            message = f"expected one row for each time, got {len(lines)} rows that share theirs with others, which have"
            message = f"{message} other numbers; all are kept"
            archive.defects(Defect(file=file, kind="conflicting_rows", row=lines[0], message=message))


def _find_pauses(results: Survey, file: str, rows: TimedRows) -> None:
    """The stretches without rows, within a file, that are longer than ten usual steps and half a second."""
    if results._last is not None and results._last[0] == file:
        previous = results._last[1]
        stamps = np.concatenate([previous.stamp_ns, rows.stamp_ns])
        angles = np.concatenate([previous.columns(*ENCODERS), rows.columns(*ENCODERS)])
        lines = np.concatenate([previous.line, rows.line])
    else:
        stamps, angles, lines = rows.stamp_ns, rows.columns(*ENCODERS), rows.line
    steps = np.diff(stamps)
    forward = steps[steps > 0]
    if len(forward) >= ENOUGH_STEPS or (file not in results._step_ns and len(forward)):
        results._step_ns[file] = float(np.median(forward))
    limit = max(GAP_STEPS * results._step_ns.get(file, np.inf), GAP_NS)
    for index in np.flatnonzero(steps > limit).tolist():
        moved_rad = np.nan_to_num(np.abs(angles[index + 1] - angles[index])).tolist()
        results.pauses.append(
            Pause(file, int(lines[index + 1]), int(stamps[index]), int(stamps[index + 1]), tuple(moved_rad))
        )


def _check_units(results: Survey, rows: TimedRows) -> None:
    """What the numbers show of their units: the heaters' current, and whether angles of approach jump by a turn."""
    numbers = rows.dialect.numbers
    has_number = np.flatnonzero(np.isfinite(rows.values).any(axis=0))
    results.columns |= {numbers[index] for index in has_number.tolist()}
    for index in has_number.tolist():
        missing = int(np.isnan(rows.values[:, index]).sum())
        if missing and numbers[index] not in FORCES:
            results.missing[numbers[index]] += missing
    results.largest_heater = max(results.largest_heater, float(np.nanmax(np.abs(rows["htr_cur"]), initial=0.0)))
    th = rows.columns(*(f"th_{kind}" for kind in POSES))
    if np.isfinite(th).any():
        low, high = results.th_rad
        results.th_rad = min(low, float(np.nanmin(th))), max(high, float(np.nanmax(th)))
        close = np.diff(rows.stamp_ns) < NS_PER_S
        results.turns += int(((np.abs(np.diff(th, axis=0)) > np.pi).any(axis=1) & close).sum())


def _check_elapsed(archive: Archive, file: str, rows: TimedRows, *, results: Survey) -> None:
    """Report a file whose elapsed_time does not advance as column 1 does, where it begins to."""
    known = np.flatnonzero(np.isfinite(rows["elapsed_hr"]))
    if not len(known) or file in results._late_files:
        return
    hours, seconds = rows["elapsed_hr"][known], rows.stamp_ns[known] / NS_PER_S
    finest_s = float(np.diff(np.unique(hours)).min(initial=np.inf)) * 3600
    difference = (hours - hours[0]) * 3600 - (seconds - seconds[0])
    wrong = np.flatnonzero(np.abs(difference) > max(ELAPSED_S, finest_s if np.isfinite(finest_s) else 0.0))
    if len(wrong):
        results._late_files.add(file)
        since = f"{seconds[wrong[0]] - seconds[0]:.1f} s after the first row"
        message = (
            f"elapsed_time: expected it to advance as column 1 does, got {difference[wrong[0]]:+.1f} s more {since}"
        )
        archive.defects(
            Defect(file=file, kind="elapsed_mismatch", row=int(rows.line[known[wrong[0]]]), message=message)
        )


def _add_changes(changes: list[tuple[Stamps, Floats]], rows: TimedRows, name: str) -> None:
    """The rows of a block where a state is another than in the row before, and the first."""
    rows = rows.only(np.flatnonzero(np.isfinite(rows[name])))
    changed = np.diff(rows[name], prepend=np.nan) != 0
    changes.append((rows.stamp_ns[changed], rows[name][changed]))


def state_record(results: Survey, name: str) -> records.Code:
    """A state where it changes, and first. Blocks may interleave: what changes is found over all of them."""
    parts = [(np.zeros(0, np.int64), np.zeros(0)), *results.states[name]]
    stamps, codes = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    order = np.argsort(stamps, kind="stable")
    stamps, codes = stamps[order], codes[order]
    fits = (codes >= 0) & (codes <= np.iinfo(np.uint8).max)
    stamps, codes = stamps[fits], codes[fits]
    changed = np.diff(codes, prepend=np.nan) != 0
    return records.Code(stamp_ns=stamps[changed], code=codes[changed].astype(np.uint8))


def _report_losses(archive: Archive, tables: DistinctTables, results: Survey) -> None:
    """Report the pauses in which the arm moved and of which no other file has rows; the others are usual."""
    resting = 0
    for pause in results.pauses:
        if max(pause.moved_rad) <= MOVED_RAD or _is_elsewhere(tables, pause):
            resting += 1
            continue
        joint = int(np.argmax(pause.moved_rad))
        remark = f"{JOINTS[joint]} is {pause.moved_rad[joint]:.4f} rad away after it"
        message = f"no row for {(pause.last_ns - pause.first_ns) / NS_PER_S:.3f} s before this one, though {remark}"
        archive.defects(Defect(file=pause.file, kind="gap", row=pause.line, message=message))
    if resting:
        archive.notes.append(f"pauses within files in which the arm rested, or that other files fill: {resting}")


def _is_elsewhere(tables: DistinctTables, pause: Pause) -> bool:
    """Whether another file has rows within a pause."""
    for index, block in enumerate(tables.blocks):
        if (
            block.first_ns < pause.last_ns
            and block.last_ns > pause.first_ns
            and tables.table_of(index).name != pause.file
        ):
            stamps = tables.all_rows(index).stamp_ns
            if ((stamps > pause.first_ns) & (stamps < pause.last_ns)).any():
                return True
    return False


def note_survey(archive: Archive, results: Survey) -> None:
    """Say what was found that is no fault."""
    repeated = list(results.repeated.items())
    for (file, other), count in repeated[:SHOWN]:
        description = "and the numbers of a row before in the same file" if file == other else f"of rows of {other}"
        archive.notes.append(f"{file}: {count} rows have the time {description}, counted once")
    for name, count in results.missing.items():
        measure(archive, Measurement(f"{name} has no number in {count} rows: marked as invalid there, or reported"))
    if len(repeated) > SHOWN:
        rest = sum(count for _, count in repeated[SHOWN:])
        archive.notes.append(f"likewise {rest} rows of {len(repeated) - SHOWN} more such pairs of files")
    if np.isfinite(results.th_rad).all():
        low, high = results.th_rad
        jumps = f"{results.turns} jumps by a turn" if results.turns else "it never jumps by a turn"
        measure(archive, Measurement(f"th lies between {low:.4f} and {high:.4f} rad; {jumps}"))
    if 0 < results.largest_heater < 1:
        text = f"htr_cur is never above {results.largest_heater:g}: A, it seems, rather than the mA of the label"
        measure(archive, Measurement(f"{text}; it is sent as archived"))
