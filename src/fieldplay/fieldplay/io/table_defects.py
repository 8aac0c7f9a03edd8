"""What is wrong with the rows of a table, each with its line; and which of them are so wrong that they are none."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect, Report
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.io.row_cache import ParsedRows

Limits = Mapping[int, tuple[str, float, float]]  # by the place in rows.values: the column, its least and its largest
Mask = NDArray[np.bool_]


def limits_by_place(limits: Mapping[str, tuple[float, float]], numbers: Sequence[str]) -> Limits:
    """Limits by the names of columns as limits by their place among the numbers."""
    return {numbers.index(name): (name, *ends) for name, ends in limits.items() if name in numbers}


def fitting_limits(limits: Limits, some: ParsedRows) -> Limits:
    """The limits of columns that most of some rows keep: where most do not, the unit is another, and none is lost."""
    middles = {place: float(np.median(some.values[:, place])) for place in limits if len(some.values)}
    return {place: limits[place] for place, middle in middles.items() if limits[place][1] <= middle <= limits[place][2]}


class RowValidator:
    """Goes through the rows of one file, block by block, and reports what is wrong with its lines.

    Rows without a possible time, or beyond `limits`, do not count. Rows out of their `ranges`, in a wrong order or
    behind a gap do. Where rows may share a time, these are `repeated`, which is counted and no defect.
    """

    def __init__(
        self,
        file: str,
        report: Report,
        *,
        plausible_ns: tuple[int, int],
        ranges: Limits,
        has_usual_pauses: bool,
        may_repeat: bool,
    ) -> None:
        self.limits: Limits = {}
        self.repeated = 0
        self._file = file
        self._report = report
        self._plausible_ns = plausible_ns
        self._ranges = ranges
        self._gaps = GapFinder() if has_usual_pauses else None
        self._may_repeat = may_repeat
        self._previous_ns: int | None = None

    def counting(self, parsed: ParsedRows) -> ParsedRows:
        """The rows that count."""
        rows = parsed.only(self._possible(parsed))
        kept = np.ones(len(rows.stamp_ns), bool)
        for place, (_, least, largest) in self.limits.items():
            kept &= (rows.values[:, place] >= least) & (rows.values[:, place] <= largest)
        return rows.only(kept)

    def check_lines(self, parsed: ParsedRows, first_line: int) -> None:
        """Report the lines that are no rows, or whose rows do not count."""
        for bad in parsed.bad:
            self._tell(first_line + bad.line, bad.kind, bad.message)
        possible = self._possible(parsed)
        for row in np.flatnonzero(~possible):
            message = f"column time: expected one that this dataset can hold, got {_seconds(parsed.stamp_ns[row])}"
            self._tell(first_line + int(parsed.line[row]), "implausible_time", message)
        self._check_limits(parsed.only(possible), self.limits, first_line, kind="impossible_value", what="left out")

    def check_rows(self, rows: ParsedRows, first_line: int) -> None:
        """Report what is strange about the rows of a block that count, which are not none."""
        self._check_order(rows, first_line)
        for row, gap_ns in self._gaps.gaps(rows.stamp_ns) if self._gaps is not None else ():
            message = f"no row for {gap_ns / NS_PER_S:.3f} s before this one, at {_seconds(rows.stamp_ns[row])}"
            self._tell(first_line + int(rows.line[row]), "gap", message)
        self._check_limits(rows, self._ranges, first_line, kind="out_of_range", what="kept")

    def _possible(self, rows: ParsedRows) -> Mask:
        """Which rows (n,) have possible times: one that is not would stretch the archive over decades."""
        first, last = self._plausible_ns
        return (rows.stamp_ns >= first) & (rows.stamp_ns <= last)

    def _check_order(self, rows: ParsedRows, first_line: int) -> None:
        """Report the rows whose time is before that of the row before, or the same."""
        before_ns = rows.stamp_ns[0] - 1 if self._previous_ns is None else self._previous_ns
        self._previous_ns = int(rows.stamp_ns[-1])
        step = np.diff(rows.stamp_ns, prepend=before_ns)
        wrong = step < 0 if self._may_repeat else step <= 0
        self.repeated += int((step == 0).sum()) if self._may_repeat else 0
        for row in np.flatnonzero(wrong):
            kind, message = "duplicate_time", "the time is that of the row before"
            if step[row] < 0:
                kind, message = "backward_time", f"the time runs back by {-int(step[row]) / NS_PER_S:.9f} s"
            self._tell(first_line + int(rows.line[row]), kind, message)

    def _check_limits(self, rows: ParsedRows, limits: Limits, first_line: int, *, kind: str, what: str) -> None:
        """Report the rows with a number below its least or above its largest value, and what becomes of them."""
        for place, (name, least, largest) in limits.items():
            numbers = rows.values[:, place]
            for row in np.flatnonzero((numbers < least) | (numbers > largest)):
                message = f"column {name}: expected {least:g} to {largest:g}, got {numbers[row]:g}; the row is {what}"
                self._tell(first_line + int(rows.line[row]), kind, message)

    def _tell(self, line: int, kind: str, message: str) -> None:
        self._report(Defect(file=self._file, row=line, kind=kind, message=message))


def _seconds(stamp_ns: np.int64) -> str:
    """A time as exact decimal seconds."""
    seconds, ns = divmod(abs(int(stamp_ns)), NS_PER_S)
    return f"{'-' if stamp_ns < 0 else ''}{seconds}.{ns:09d}".rstrip("0").rstrip(".") + " s"
