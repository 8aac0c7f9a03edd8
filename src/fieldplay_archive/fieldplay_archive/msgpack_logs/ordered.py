"""Streams of logs as streams of an archive: rows in the order of time, in spans, and records that are made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.errors import ArchiveError, Defect, Report
from fieldplay_archive.msgpack_logs.depths import Points
from fieldplay_archive.msgpack_logs.file_index import NO_TIME
from fieldplay_archive.msgpack_logs.rows import AlikeRows, Rows
from fieldplay_archive.msgpack_logs.streams import LogStream
from fieldplay_archive.records import Clouds, Pictures, Pixels, Record
from fieldplay_archive.streams import Span

Stamps = NDArray[np.int64]
Convert = Callable[[Rows, Stamps], Record]

SPAN_BYTES, SPAN_ROWS = 1 << 20, 1024
HEAVY_ROWS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Times:
    """The rows (n,) of a stream that play, in the order in which they leave; their stamps, and when they leave.

    Where these are all rows as they stand, `row` is None.
    """

    row: NDArray[np.intp] | None
    stamp_ns: Stamps
    leaves_ns: Stamps

    @property
    def by_log(self) -> bool:
        """Whether some leave at another time than their stamp."""
        return self.stamp_ns is not self.leaves_ns and bool((self.stamp_ns != self.leaves_ns).any())

    def rows(self, begin: int, end: int) -> NDArray[np.intp]:
        """Some of the rows."""
        return np.arange(begin, end) if self.row is None else self.row[begin:end]


@dataclass(frozen=True, kw_only=True)
class Teller:
    """Reports the defects of one stream."""

    report: Report
    stream: str

    def __call__(self, file: str, kind: str, message: str) -> None:
        self.report(Defect(file=file, kind=kind, stream=self.stream, message=message))


def times_of(log: LogStream, *, by_log: bool, plausible_ns: tuple[int, int], tell: Teller) -> Times:
    """The times of a stream: a sample's own where it has one, else that of the log; those without any are reported."""
    timeless = log.own_ns == NO_TIME
    stamp_ns = np.where(timeless, log.logged_ns, log.own_ns) if bool(timeless.any()) else log.own_ns
    leaves_ns = log.logged_ns if by_log else stamp_ns
    good = (stamp_ns >= plausible_ns[0]) & (stamp_ns <= plausible_ns[1])
    good &= (leaves_ns >= plausible_ns[0]) & (leaves_ns <= plausible_ns[1])
    if bool(good.all()) and bool((leaves_ns[1:] >= leaves_ns[:-1]).all()):
        return Times(row=None, stamp_ns=stamp_ns, leaves_ns=leaves_ns)
    lost = np.flatnonzero(~good)
    if len(lost):
        first = int(lost[0])
        got = "none" if stamp_ns[first] == NO_TIME else f"{int(stamp_ns[first])} ns"
        where = f"{len(lost)} of {len(log)} samples have none such, the first: {log.place(first)}, {got}"
        tell(log.parts[0].file, "no_time", f"{log.name}: expected a time of this century; {where}")
    row = np.flatnonzero(good)
    row = row[np.argsort(leaves_ns[row], kind="stable")]
    stamps = stamp_ns[row]
    return Times(row=row, stamp_ns=stamps, leaves_ns=leaves_ns[row] if by_log else stamps)


class _Part(NamedTuple):
    row: NDArray[np.intp]
    stamp_ns: Stamps
    leaves_ns: Stamps


class _Spans:
    """The spans of a stream, each so many rows."""

    def __init__(self, log: LogStream, times: Times, rows: int) -> None:
        self._log, self._times, self._rows = log, times, max(rows, 1)
        self._by_log = times.by_log
        leaves = times.leaves_ns
        parts = (leaves[i : i + self._rows] for i in range(0, len(leaves), self._rows))
        self.spans: Sequence[Span] = [Span(int(part[0]), int(part[-1]), len(part)) for part in parts]

    def _part(self, index: int) -> _Part:
        begin, times = index * self._rows, self._times
        end = min(begin + self._rows, len(times.stamp_ns))
        return _Part(times.rows(begin, end), times.stamp_ns[begin:end], times.leaves_ns[begin:end])

    def _order(self, part: _Part) -> Stamps | None:
        return part.leaves_ns if self._by_log else None


class NumberStream(_Spans):
    """Samples as records of numbers; one that cannot be converted is reported and left out."""

    def __init__(self, log: LogStream, times: Times, convert: Convert, tell: Teller) -> None:
        mean = int(log.sizes().mean()) if len(log) else 1
        super().__init__(log, times, min(SPAN_BYTES // max(mean, 1), SPAN_ROWS))
        self._convert, self._tell = convert, tell
        self._told: set[int] = set()

    def converted(self, change: Callable[[Convert], Convert]) -> "NumberStream":
        """The same samples, converted in another way."""
        return NumberStream(self._log, self._times, change(self._convert), self._tell)

    def load(self, index: int) -> Record:
        part = self._part(index)
        rows = _rows(self._log, part.row)
        with np.errstate(invalid="ignore"):
            record = replace(self._convert(rows, part.stamp_ns), order_ns=self._order(part))
        if not rows.faults:
            return record
        if index not in self._told:
            self._told.add(index)
            for row, fault in sorted(rows.faults.items()):
                place = self._log.place(int(part.row[row]))
                self._tell(place.file, "damaged_sample", f"{place.what}: {fault}")
        return record.only(rows.good)


def _rows(log: LogStream, rows: NDArray[np.intp]) -> Rows:
    """The samples of some rows; those that are alike but for their numbers are not unpacked."""
    begin, end = int(rows[0]), int(rows[-1]) + 1
    try:
        alike = log.alike(begin, end) if end - begin == len(rows) and bool((np.diff(rows) == 1).all()) else None
    except ArchiveError:
        alike = None
    return AlikeRows(alike) if alike is not None else Rows(_samples(log, rows))


def _samples(log: LogStream, rows: NDArray[np.intp]) -> list[Any]:
    """The samples of some rows, runs of neighbours at once; a text says why one cannot be read."""
    found: list[Any] = []
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    for run in np.split(rows, cuts):
        begin, end = int(run[0]), int(run[-1]) + 1
        try:
            found += log.samples(begin, end, arrays=True)
        except ArchiveError:
            found += [_sample_or_none(log, row) for row in range(begin, end)]
    return found


def _sample_or_none(log: LogStream, row: int) -> Any:
    try:
        return log.sample(row, arrays=True)
    except ArchiveError:
        return None


def _names(log: LogStream, part: _Part) -> tuple[str, ...]:
    return tuple(str(log.place(row)) for row in part.row.tolist())


class PictureStream(_Spans):
    """Samples as pictures, each made when it is asked for."""

    def __init__(
        self, log: LogStream, times: Times, picture: Callable[[Any], Pixels | bytes], *, packed: bool, packable: bool
    ) -> None:
        super().__init__(log, times, HEAVY_ROWS)
        self._picture, self._packed, self._packable = picture, packed, packable

    def load(self, index: int) -> Pictures:
        part = self._part(index)
        return Pictures(
            stamp_ns=part.stamp_ns,
            names=_names(self._log, part),
            load=lambda row: self._picture(self._log.sample(int(part.row[row]), arrays=True)),
            packed=self._packed,
            packable=self._packable,
            order_ns=self._order(part),
        )


class CloudStream(_Spans):
    """Samples as clouds of points, each made when it is asked for; `points` is told its stamp as well."""

    def __init__(self, log: LogStream, times: Times, points: Callable[[Any, int], Points]) -> None:
        super().__init__(log, times, HEAVY_ROWS)
        self._points = points

    def load(self, index: int) -> Clouds:
        part = self._part(index)

        def load(row: int) -> Points:
            return self._points(self._log.sample(int(part.row[row]), arrays=True), int(part.stamp_ns[row]))

        names = _names(self._log, part)
        return Clouds(stamp_ns=part.stamp_ns, order_ns=self._order(part), names=names, load=load)
