"""Streams of logs as streams of an archive: rows in the order of time, in spans, and records that are made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldplay_archive.logs.depths import Points
from fieldplay_archive.logs.rows import Rows
from fieldplay_archive.logs.sample_rows import samples_of_rows
from fieldplay_archive.logs.streams import LogStream
from fieldplay_archive.logs.time_order import Stamps, TimedPart, Times
from fieldplay_messages.errors import Defect, Report
from fieldplay_messages.records import Clouds, Pictures, Pixels, Record
from fieldplay_messages.streams import Span

Convert = Callable[[Rows, Stamps], Record]

SPAN_BYTES, SPAN_ROWS = 1 << 20, 4096
HEAVY_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class Teller:
    """Reports the defects of one stream."""

    report: Report
    stream: str

    def __call__(self, file: str, kind: str, message: str) -> None:
        self.report(Defect(file=file, kind=kind, stream=self.stream, message=message))


class _Spans:
    """The spans of a stream, each of so many rows and bytes at most, if it is of several."""

    def __init__(self, log: LogStream, times: Times, *, rows: int, size: int = SPAN_BYTES) -> None:
        self._log, self._times = log, times
        self._stretches = times.stretches(rows=rows, size=size)
        self.spans: Sequence[Span] = [stretch.span for stretch in self._stretches]

    def _part(self, index: int) -> TimedPart:
        return self._times.part(self._stretches[index])

    def _order(self, part: TimedPart) -> Stamps | None:
        return part.leaves_ns if self._times.by_log else None


class NumberStream(_Spans):
    """Samples as records of numbers; one that cannot be converted is reported and left out."""

    def __init__(self, log: LogStream, times: Times, convert: Convert, tell: Teller) -> None:
        super().__init__(log, times, rows=SPAN_ROWS)
        self._convert, self._tell = convert, tell
        self._told: set[int] = set()

    def converted(self, change: Callable[[Convert], Convert]) -> "NumberStream":
        """The same samples, converted in another way."""
        return NumberStream(self._log, self._times, change(self._convert), self._tell)

    def load(self, index: int) -> Record:
        part = self._part(index)
        rows = samples_of_rows(self._log, part.row)
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


def _names(log: LogStream, part: TimedPart) -> tuple[str, ...]:
    return tuple(str(log.place(row)) for row in part.row.tolist())


class PictureStream(_Spans):
    """Samples as pictures, each made when it is asked for."""

    def __init__(
        self, log: LogStream, times: Times, picture: Callable[[Any], Pixels | bytes], *, packed: bool, packable: bool
    ) -> None:
        super().__init__(log, times, rows=HEAVY_ROWS)
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
        super().__init__(log, times, rows=HEAVY_ROWS)
        self._points = points

    def load(self, index: int) -> Clouds:
        part = self._part(index)

        def load(row: int) -> Points:
            return self._points(self._log.sample(int(part.row[row]), arrays=True), int(part.stamp_ns[row]))

        names = _names(self._log, part)
        return Clouds(stamp_ns=part.stamp_ns, order_ns=self._order(part), names=names, load=load)
