"""The lasers of the Argo: lines of ranges become scans, and the lines of four successive starts become one.

A line's angles are clockwise from above, 0 ahead; a LaserScan's are counter-clockwise, so that its ranges are the
line's from behind. What the columns hold stands in docs/datasets/acfr.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr.report_sets import LASERS
from fieldplay.datasets.archive import Archive
from fieldplay.io.table import (
    GroupStream,
    Tables,
    TableStream,
    starts_of_rising,
)
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records
from fieldplay.streams.stream import Span, Stream

MM, CM, M, KM = 1, 2, 3, 4
METRES = np.array([np.nan, 1e-3, 1e-2, 1.0, 1e3])  # of each unit; 0 is an error
UNITS = {"mm": MM, "cm": CM, "m": M}
STEPS = 4  # lines of a whole scan: each begins a quarter of a degree behind the one before
DEGREE = np.radians(1.0)
TOLERANCE = 1e-6  # of a unit: 8180 cm are 81.8 m
ROUGHLY = 0.05  # by how much of a degree a step may differ from one degree
MISSED = 2  # lines that may be late by before a line belongs to the next scan

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines:
    """Ranges as a file has them: line i's range j < count[i] lies at start + j step, clockwise; behind it NaN.

    The first beam was so long before the stamp.
    """

    stamp_ns: Integers
    first_beam_s: Floats
    start_rad: Floats
    step_rad: Floats
    count: Integers
    ranges_m: Floats
    range_max_m: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class LaserConversions:
    """How the lines of one archive are meant: its parameters and the dataset's constants."""

    parameters: Mapping[str, Any]
    constants: Mapping[str, Any]

    @property
    def turn_s(self) -> float:
        """The time of one turn of the mirror, which gives one line."""
        return float(self.constants["laser_turn_s"])

    def scans(self, rows: TimedRows) -> records.LaserScans:
        """A scan of each line."""
        return self.scans_of(self.lines(rows))

    def lines(self, rows: TimedRows) -> Lines:
        """The lines in metres: what is beyond the range is infinite, what is no range is NaN."""
        unit = self._units(rows)
        ranges_m = rows.lists * METRES[unit][:, None]
        near = (unit == MM)[:, None]
        limits = np.where(near, self.constants["laser_limits_m"]["mm"], self.constants["laser_limits_m"]["cm"])
        ranges_m[~(ranges_m > 0)] = np.nan
        is_far = ranges_m >= limits[:, 1:] - TOLERANCE
        if self.parameters["range_codes"] == "sick":
            codes = np.where(near, 1e-3, 1e-2) * np.array(self.constants["laser_invalid_codes"])
            invalid = (np.abs(ranges_m[:, :, None] - codes[:, None, :]) < TOLERANCE).any(axis=2) & is_far
            ranges_m[invalid] = np.nan
            is_far &= ~invalid
        ranges_m[is_far] = np.inf
        step, count = rows["angle_increment"], rows["count"].astype(np.int64)
        revolutions = revolutions_of(step) - 1 + np.minimum(np.abs(step) * (count - 1) / (2 * np.pi), 1)
        return Lines(
            stamp_ns=rows.stamp_ns, first_beam_s=revolutions * self.turn_s, start_rad=rows["start_angle"],
            step_rad=step, count=count, ranges_m=ranges_m, range_max_m=limits[:, 0],
        )  # fmt: skip

    def _units(self, rows: TimedRows) -> Integers:
        requested = self.parameters["range_unit"]
        unit = rows["unit"] if requested == "line" else np.full(len(rows), float(UNITS[requested]))
        known = np.isin(unit, (MM, CM, M, KM))
        return np.where(known, unit, 0).astype(np.int64)

    def scans_of(self, lines: Lines) -> records.LaserScans:
        """The lines counter-clockwise."""
        step, last = lines.step_rad, lines.start_rad + (lines.count - 1) * lines.step_rad
        revolutions = revolutions_of(step)
        sense = 1.0 if self.parameters["beam_sense"] == "counter_clockwise" else -1.0
        beam_s = np.where(revolutions == 1, sense * np.abs(step) / (2 * np.pi) * self.turn_s, 0.0)
        stamp_ns = lines.stamp_ns
        if self.parameters["laser_stamps"] == "first_beam":
            early_s = np.where(beam_s < 0, 0.0, lines.first_beam_s)
            stamp_ns = stamp_ns - np.rint(early_s * NS_PER_S).astype(np.int64)
        scans = records.LaserScans(
            stamp_ns=stamp_ns,
            angle_min_rad=np.where(step >= 0, -last, -lines.start_rad),
            angle_increment_rad=np.abs(step),
            ranges_m=_counter_clockwise(lines),
            count=lines.count,
            range_min_m=np.zeros(len(step)),
            range_max_m=lines.range_max_m,
            scan_time_s=revolutions * self.turn_s,
            time_increment_s=beam_s,
        )
        return scans if (np.diff(stamp_ns) >= 0).all() else scans.only(np.argsort(stamp_ns, kind="stable"))


def revolutions_of(step_rad: Floats) -> Floats:
    """How many turns of the mirror, 1 to 4, give lines of such steps (n,): each gives steps of one degree."""
    revolutions: Floats = np.clip(np.rint(DEGREE / np.where(step_rad == 0, DEGREE, np.abs(step_rad))), 1, STEPS)
    return revolutions


def _counter_clockwise(lines: Lines) -> Floats:
    """Ranges (n, k) in counter-clockwise order, reversed where the line is clockwise."""
    beam = np.arange(lines.ranges_m.shape[1])
    count = lines.count[:, None]
    index = np.where((lines.step_rad >= 0)[:, None], count - 1 - beam, beam)
    ranges_m = np.take_along_axis(lines.ranges_m, np.clip(index, 0, None), axis=1)
    ranges_m[beam >= count] = np.nan
    return ranges_m


def quarters(rows: TimedRows) -> tuple[Integers, Integers]:
    """Of each line (n,) the whole degree below its start, and by how many quarters it begins behind it."""
    start = np.rint(np.degrees(rows["start_angle"]) * STEPS).astype(np.int64)
    whole, quarter = np.divmod(start, STEPS)
    return whole, quarter


def has_degrees(rows: TimedRows) -> NDArray[np.bool_]:
    """Which lines (n,) have steps of one degree, as those have of which four make a scan."""
    result: NDArray[np.bool_] = np.abs(np.degrees(rows["angle_increment"]) - 1) < ROUGHLY
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class Merging:
    """Scans of 0.25 degrees of the lines of one laser, whose usual step in time is known."""

    laser: LaserConversions
    line_ns: int

    def starts(self, rows: TimedRows) -> NDArray[np.bool_]:
        """Which lines begin a scan: the quarters do not rise, or too much time is gone; a lost line changes nothing."""
        whole, quarter = quarters(rows)
        starts = starts_of_rising(rows.stamp_ns, quarter, self.line_ns * (np.diff(quarter) + MISSED))
        plain = has_degrees(rows)
        starts[1:] |= (np.diff(whole) != 0) | ~plain[1:] | ~plain[:-1]
        return starts

    def scans(self, rows: TimedRows, group: Integers) -> records.LaserScans:
        """A scan of each group (of each line its number from 0), at the time of its first line."""
        lines, plain, (_, quarter) = self.laser.lines(rows), has_degrees(rows), quarters(rows)
        firsts = np.flatnonzero(np.diff(group, prepend=-1))
        if not len(firsts):
            return self.laser.scans_of(lines)
        spread = np.where(plain, STEPS, 1)
        quarter = np.where(plain, quarter, 0)
        degrees = lines.count - (quarter == 0)
        width = np.maximum.reduceat(spread * degrees + 1, firsts)
        ranges_m = np.full((len(firsts), int(width.max())), np.nan)
        line, beam = np.nonzero(np.arange(lines.ranges_m.shape[1]) < lines.count[:, None])
        ranges_m[group[line], spread[line] * beam + quarter[line]] = lines.ranges_m[line, beam]
        step = lines.step_rad[firsts] / spread[firsts]
        merged = Lines(
            stamp_ns=lines.stamp_ns[firsts], first_beam_s=lines.first_beam_s[firsts],
            start_rad=lines.start_rad[firsts] - quarter[firsts] * step, step_rad=step, count=width,
            ranges_m=ranges_m, range_max_m=np.maximum.reduceat(lines.range_max_m, firsts),
        )  # fmt: skip
        return self.laser.scans_of(merged)


@dataclass(frozen=True, eq=False)
class EarlierStream:
    """A stream whose rows may lie before the times of its tables by so much."""

    stream: Stream
    by_ns: int

    @property
    def spans(self) -> list[Span]:
        return [replace(span, first_ns=span.first_ns - self.by_ns) for span in self.stream.spans]

    def load(self, index: int) -> records.Record:
        return self.stream.load(index)


def with_chosen_units(archive: Archive) -> None:
    """Accept lines without a unit where the parameter chooses one."""
    if archive.parameters["range_unit"] == "line":
        return
    tables = dict(archive.spec.tables)
    for key in LASERS:
        tagged_lines = tables[key].tagged_lines
        if tagged_lines is not None:
            tables[key] = replace(tables[key], tagged_lines=replace(tagged_lines, choices={}))
    archive.spec = replace(archive.spec, tables=tables)


def open_lasers(archive: Archive, tables: Mapping[str, Tables]) -> dict[str, Stream]:
    """The scans of each laser, and the merged ones if they are wanted."""
    laser = LaserConversions(parameters=archive.parameters, constants=archive.spec.constants)
    far = [key for key in LASERS if key in tables and np.isinf(laser.lines(tables[key].rows(0)).ranges_m).any()]
    if far:
        archive.notes.append(f"{', '.join(far)}: ranges from 81.8 m or 8.18 m on are device codes, published as inf")
    streams: dict[str, Stream] = {}
    for key in LASERS:
        if key in tables:
            streams[f"{key}_scan"] = TableStream(tables[key], laser.scans)
            if archive.parameters["merge_scans"]:
                streams[f"{key}_scan_full"] = _merged_stream(tables[key], laser)
    if archive.parameters["laser_stamps"] == "first_beam":
        by_ns = round(STEPS * laser.turn_s * NS_PER_S)
        return {key: EarlierStream(stream, by_ns) for key, stream in streams.items()}
    return streams


def _merged_stream(tables: Tables, laser: LaserConversions) -> Stream:
    steps = np.diff(tables.rows(0).stamp_ns)
    usual_ns = np.median(steps[steps > 0]) if (steps > 0).any() else laser.turn_s * NS_PER_S
    merging = Merging(laser=laser, line_ns=int(usual_ns))
    return GroupStream(tables, choose=lambda rows: rows, starts=merging.starts, convert=merging.scans)
