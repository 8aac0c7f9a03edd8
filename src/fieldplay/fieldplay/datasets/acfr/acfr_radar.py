"""The scanning radar: a cloud, an image of the spectra and a cloud of them, for each revolution of its mirror."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.core.errors import Defect, DefectLocation, Report, UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import RotatingScanner
from fieldplay.io.table import Table, Tables
from fieldplay.io.table_rows import COUNT, TimedRows, concatenate_rows
from fieldplay.messages.records import Clouds, Images, Pixels, Record
from fieldplay.streams.stream import Span, Stream

PAUSE_NS = NS_PER_S // 2  # a turn does not go on behind a pause as long as this
SOME = 0.1  # of the first block's rows
PER_SPAN = 16  # revolutions, two seconds
MAX_ROWS = 4096  # of one turn: a scanner that stands still must not make one of the whole table
RowsOf = Callable[[int], TimedRows]
Make = Callable[[NDArray[np.int64], tuple[str, ...], RowsOf], Record]
RANGES, SPECTRUM = "radar_ranges", "radar_spectrum"
POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("intensity", "<f4"), ("time", "<f4")])
FLOATS = "32FC1"
METRES_PER_UNIT = np.array([np.nan, 1e-3, 1e-2, 1.0, 1e3])  # by RangeUnitType: 0 is an error
BIN_TOLERANCE = 0.02  # of a bin's length, by which it may differ from the stated one
Floats = NDArray[np.float64]


# The turns of a scanner in a table with a row for each bearing: found while it is looked through, and as a stream.


@dataclass(frozen=True)
class Revolution:
    """One turn: where it begins, by block and by row among the usual ones, and when."""

    number: int  # counted from 0
    block: int
    row: int
    first_ns: int


class RevolutionFinder:
    """Takes the blocks of a table one after the other, and keeps where the turns begin.

    A turn ends where the bearing wraps. Where rows have lists, those of another length than is usual in the first block
    are reported, and belong to no turn: that is as long as most, or as is known where at least some are.
    """

    def __init__(self, scanner: RotatingScanner, file: str, report: Report) -> None:
        self.revolutions: list[Revolution] = []
        self.usual_count: int | None = None
        self._scanner = scanner
        self._file = file
        self._report = report
        self._blocks = 0
        self._rows = 0  # of the turn that is not ended
        self._last: tuple[float, int] | None = None

    def end_of(self, revolution: Revolution) -> tuple[int, int]:
        """Block and row behind the last of a turn."""
        if revolution.number + 1 == len(self.revolutions):
            return self._blocks, 0
        following = self.revolutions[revolution.number + 1]
        return following.block, following.row

    def add(self, rows: TimedRows) -> None:
        """The next block of the table, not empty."""
        if self.usual_count is None and rows.has(COUNT):
            self.usual_count = self._usual(rows[COUNT].astype(np.int64))
        usual = self.usual(rows)
        for row in np.flatnonzero(~usual).tolist():
            self._report_length(int(rows.line[row]), int(rows[COUNT][row]))
        self._find(rows.only(usual))
        self._blocks += 1

    def _usual(self, counts: NDArray[np.int64]) -> int:
        known = self._scanner.values
        if (counts == known).mean() >= SOME:
            return known
        return int(np.bincount(counts).argmax())

    def usual(self, rows: TimedRows) -> NDArray[np.bool_]:
        """Which rows (n,) of a block belong to turns."""
        if self.usual_count is None:
            return np.ones(len(rows), bool)
        chosen: NDArray[np.bool_] = rows[COUNT] == self.usual_count
        return chosen

    def _report_length(self, line: int, count: int) -> None:
        kind = "short_row" if count < (self.usual_count or 0) else "long_row"
        message = f"expected {self.usual_count} values as is usual in this file, got {count}; the line is left out"
        self._report(Defect(file=self._file, row=line, kind=kind, message=message))

    def _find(self, rows: TimedRows) -> None:
        if not len(rows):
            return
        starts = self._find_starts(rows)
        borders = [*starts.tolist(), len(rows)]
        self._split_long(rows, 0, borders[0])
        for start, end in pairwise(borders):
            self._start(rows, start)
            self._split_long(rows, start, end)

    def _find_starts(self, rows: TimedRows) -> NDArray[np.intp]:
        """The rows that begin a turn: the first of all, and those behind a wrap or a pause."""
        angle, full_turn = rows[self._scanner.column], self._scanner.turn
        is_first = self._last is None
        last_angle, last_ns = self._last or (angle[0], int(rows.stamp_ns[0]))
        step = np.abs(np.diff(angle, prepend=last_angle))
        # A bearing that goes on beyond a whole turn instead of wrapping ends its turns there.
        whole = np.trunc(angle / full_turn * (1 - 1e-9))
        before = np.trunc(np.concatenate([[last_angle], angle[:-1]]) / full_turn * (1 - 1e-9))
        pause_ns = np.diff(rows.stamp_ns, prepend=last_ns)
        starts = (step > full_turn / 2) | (whole != before) | (pause_ns > PAUSE_NS) | (pause_ns < 0)
        starts[0] |= is_first
        self._last = (float(angle[-1]), int(rows.stamp_ns[-1]))
        return np.flatnonzero(starts)

    def _start(self, rows: TimedRows, row: int) -> None:
        self.revolutions.append(Revolution(len(self.revolutions), self._blocks, row, int(rows.stamp_ns[row])))
        self._rows = 0

    def _split_long(self, rows: TimedRows, start: int, end: int) -> None:
        """Go on with a turn by some rows; one that does not end is cut."""
        while self._rows + end - start > MAX_ROWS:
            start += MAX_ROWS - self._rows
            self._start(rows, start)
        self._rows += end - start


class RevolutionStream:
    """The revolutions in a table, a few of them a record; their rows are read when they are asked for."""

    def __init__(self, tables: Tables, make: Make) -> None:
        self._make = make
        self._parts = [part for table in tables.tables for part in _parts_of(table)]
        self.spans = [
            Span(revolutions[0].first_ns, revolutions[-1].first_ns, len(revolutions)) for revolutions, _ in self._parts
        ]

    def load(self, index: int) -> Record:
        revolutions, table = self._parts[index]
        stamps = np.array([revolution.first_ns for revolution in revolutions], np.int64)
        texts = (f"the revolution at {revolution.first_ns / NS_PER_S:.6f} s" for revolution in revolutions)
        names = tuple(DefectLocation(table.name, text) for text in texts)
        return self._make(stamps, names, lambda row: rows_of_revolution(table, revolutions[row]))


def finder_of(table: Table) -> RevolutionFinder:
    """What found the revolutions of a table."""
    if not isinstance(table.watch, RevolutionFinder):
        raise TypeError(f"{table.name}: expected a table whose description has `turning`")
    return table.watch


def _parts_of(table: Table) -> list[tuple[list[Revolution], Table]]:
    revolutions = finder_of(table).revolutions
    parts = (revolutions[start : start + PER_SPAN] for start in range(0, len(revolutions), PER_SPAN))
    return [(sorted(part, key=lambda revolution: revolution.first_ns), table) for part in parts]


def rows_of_revolution(table: Table, revolution: Revolution) -> TimedRows:
    """The rows from a revolution's begin to the next one's, which may lie in another block."""
    finder = finder_of(table)
    (block, row), (last, until) = (revolution.block, revolution.row), finder.end_of(revolution)
    parts = []
    for index in range(block, last + (until > 0)):
        rows = table.rows(index)
        usual = np.flatnonzero(finder.usual(rows))
        parts.append(rows.only(usual[row if index == block else 0 : until if index == last else None]))
    return concatenate_rows(table.format.dialect, parts)


def sweep_watcher(archive: Archive, key: str, file: str) -> RevolutionFinder | None:
    """What finds the revolutions in a file of a kind, if the description says that it has some."""
    scanner = archive.spec.tables[key].rotating_scanner
    return None if scanner is None else RevolutionFinder(scanner, file, archive.defects)


@dataclass(frozen=True, kw_only=True)
class RangeEquation:
    """The calibrated constants: a sweep of so many Hz over the bins, the slope, and the range of bin 0."""

    sweep_hz: float
    hz_per_m: float
    offset_m: float

    def m_per_bin(self, bins: int) -> float:
        """Metres of a bin where a spectrum has so many."""
        return self.sweep_hz / (2 * bins) / self.hz_per_m

    def range_m(self, bin_number: ArrayLike, bins: int) -> Floats:
        """Ranges of bins, which are counted from 1 and may lie between two."""
        return np.asarray(bin_number, np.float64) * self.m_per_bin(bins) - self.offset_m


def equation_from(constants: Mapping[str, Any]) -> RangeEquation:
    """The equation by the description's numbers."""
    radar = constants["radar"]
    return RangeEquation(sweep_hz=radar["sweep_hz"], hz_per_m=radar["hz_per_m"], offset_m=radar["offset_m"])


def peak_bins(spectrum: Floats) -> Floats:
    """Where each row (n, k) is strongest (n,), in bins from 1: the top of the parabola through it and its neighbours.

    A peak in the first or the last bin has no two neighbours and stays where it is.
    """
    rows = np.arange(len(spectrum))
    top = spectrum.argmax(axis=1)
    inner = np.clip(top, 1, spectrum.shape[1] - 2)
    previous, at, following = (spectrum[rows, inner + step] for step in (-1, 0, 1))
    bend = previous - 2 * at + following
    inside = (inner == top) & (bend < 0)
    shift = np.where(inside, (previous - following) / np.where(inside, 2 * bend, 1.0), 0.0)
    bins: Floats = top + 1 + shift
    return bins


def metres(values: Floats, unit: Floats) -> Floats:
    """Ranges (n,) in metres by their RangeUnitType (n,), NaN where that is none."""
    known = np.where((unit >= 1) & (unit <= 4), unit, 0).astype(np.intp)
    result: Floats = values * METRES_PER_UNIT[known]
    return result


def open_radar(archive: Archive, tables: Mapping[str, Tables]) -> dict[str, Stream]:
    """The radar's streams, of the files that are there."""
    conversions = RadarConversions(
        equation=equation_from(archive.spec.constants),
        bins=archive.parameters["radar_bins"],
        sense=archive.parameters["radar_angle_sense"],
        farthest_m=_farthest_m(archive),
    )
    makers: dict[str, tuple[str, Make]] = {
        "radar_points": (RANGES, conversions.points),
        "radar_spectrum": (SPECTRUM, conversions.spectra),
        "radar_spectrum_points": (SPECTRUM, conversions.spectrum_points),
    }
    if SPECTRUM in tables:
        _report_strange_bins(archive, tables[SPECTRUM], conversions)
    return {name: RevolutionStream(tables[key], make) for name, (key, make) in makers.items() if key in tables}


def _farthest_m(archive: Archive) -> float:
    """The range up to which clouds have points, by the parameter."""
    farthest_m = archive.parameters["radar_max_range_m"]
    if farthest_m < 0:
        raise UsageError(f"parameter radar_max_range_m: expected metres, or 0 for no limit, got {farthest_m:g}")
    return float(farthest_m) or float(np.inf)


def _report_strange_bins(archive: Archive, tables: Tables, conversions: "RadarConversions") -> None:
    """A spectrum whose bins are not as long as the radar's was cut to fewer of them, or is of another radar."""
    stated = archive.spec.constants["radar"]["m_per_bin"]
    for table in tables.tables:
        count = finder_of(table).usual_count or 1
        m_per_bin = conversions.equation.m_per_bin(conversions.bins_of(count))
        if abs(m_per_bin / stated - 1) > BIN_TOLERANCE:
            expected = f"expected bins of {stated} m, as {round(m_per_bin * conversions.bins_of(count) / stated)} make"
            got = f"got {m_per_bin:.4f} m of {conversions.bins_of(count)}: were the lines cut?"
            message = f"{expected}, {got} --set radar_bins=512 counts with 512 whatever the lines have"
            archive.defects(Defect(file=table.name, kind="bin_length", stream="radar_spectrum", message=message))


@dataclass(frozen=True, kw_only=True)
class RadarConversions:
    """What becomes of a revolution's rows."""

    equation: RangeEquation
    bins: int  # 0 for as many as the rows have
    sense: int  # 1: angles about the radar's own z (down), -1: about the z of its frame here
    farthest_m: float = np.inf  # of points in clouds

    def bins_of(self, count: int) -> int:
        """How many bins the range equation counts with, where rows have so many."""
        return self.bins or count

    def points(self, stamp_ns: NDArray[np.int64], names: tuple[str, ...], rows_of: RowsOf) -> Clouds:
        """RadarRangeBearing: the strongest return of each bearing, within 0 m and the farthest range."""
        return Clouds(stamp_ns=stamp_ns, names=names, load=lambda row: self.cloud(rows_of(row)))

    def spectra(self, stamp_ns: NDArray[np.int64], names: tuple[str, ...], rows_of: RowsOf) -> Images:
        """RadarSpectrum as images of floats: a row for each bearing, a column for each bin."""
        return Images(
            stamp_ns=stamp_ns, names=names, load=lambda row: spectrum_image(rows_of(row)), packed=False, packable=False
        )

    def spectrum_points(self, stamp_ns: NDArray[np.int64], names: tuple[str, ...], rows_of: RowsOf) -> Clouds:
        """RadarSpectrum in space, the bins within 0 m and the farthest range."""
        return Clouds(stamp_ns=stamp_ns, names=names, load=lambda row: self.spectrum_cloud(rows_of(row)))

    def cloud(self, rows: TimedRows) -> NDArray[np.void]:
        """The points (n,) of a revolution in RadarRangeBearing."""
        range_m = metres(rows["range"], rows["unit"])
        near = (range_m >= 0) & (range_m <= self.farthest_m)  # NaN is not
        return self._points(
            rows["start_angle"][near], range_m[near], intensity=rows["reflectivity"][near], seconds=_seconds(rows)[near]
        )

    def spectrum_cloud(self, rows: TimedRows) -> NDArray[np.void]:
        """The points (n * kept bins,) of a revolution in RadarSpectrum."""
        spectrum = spectrum_of(rows)
        bearings, count = spectrum.shape
        range_m = self.equation.range_m(np.arange(1, count + 1), self.bins_of(count))
        near = (range_m >= 0) & (range_m <= self.farthest_m)
        count_near = int(near.sum())
        angle, seconds = np.radians(np.repeat(rows["angle_deg"], count_near)), np.repeat(_seconds(rows), count_near)
        intensity = spectrum[:, near].reshape(-1)
        return self._points(angle, np.tile(range_m[near], bearings), intensity=intensity, seconds=seconds)

    def _points(self, angle_rad: Floats, range_m: Floats, *, intensity: Floats, seconds: Floats) -> NDArray[np.void]:
        """Points (n,) in the radar's frame, forward left up."""
        points = np.empty(len(range_m), POINT)
        points["x"], points["y"] = range_m * np.cos(angle_rad), -self.sense * range_m * np.sin(angle_rad)
        points["z"], points["intensity"], points["time"] = 0.0, intensity, seconds
        return points


def spectrum_of(rows: TimedRows) -> Floats:
    """The spectra (n, bins) of rows that all have as many bins."""
    return rows.lists[:, : int(rows["count"].max(initial=0))]


def spectrum_image(rows: TimedRows) -> Pixels:
    """An image of floats, a row for each bearing."""
    data = np.ascontiguousarray(spectrum_of(rows), "<f4")
    height, width = data.shape
    return Pixels(height=height, width=width, encoding=FLOATS, step=4 * width, data=data.tobytes())


def _seconds(rows: TimedRows) -> Floats:
    """Times (n,) after the revolution's first, never below 0: rows may stand in a wrong order."""
    seconds: Floats = np.maximum(rows.stamp_ns - rows.stamp_ns[:1], 0) / NS_PER_S
    return seconds
