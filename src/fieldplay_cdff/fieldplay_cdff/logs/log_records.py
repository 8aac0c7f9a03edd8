"""Streams of logs as streams of an archive: rows in the order of time, in spans, and records that are made of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.records import (
    Clouds,
    Images,
    Pixels,
    Record,
)
from fieldplay.streams.stream import Span
from fieldplay_cdff.logs.log_images import Points
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.log_times import (
    LeavingRows,
    RowTimes,
    Stamps,
    StreamDefects,
)
from fieldplay_cdff.logs.msgpack_decode import TemplateMatch
from fieldplay_cdff.logs.sample_rows import SampleRows, TemplateRows

Convert = Callable[[SampleRows, Stamps], Record]

SPAN_BYTES, SPAN_ROWS = 1 << 20, 4096
HEAVY_ROWS = 64
FEWEST_ALIKE = 8  # rows one behind the other, in the mean, for which it pays to look whether they are alike
NEAR, NEAR_ALIKE = 4, 64  # rows between two that are read with them

Indices = NDArray[np.intp]


class _Spans:
    """The spans of a stream, each of so many rows and bytes at most, if it is of several."""

    def __init__(self, log: LogStream, times: RowTimes, *, rows: int, size: int = SPAN_BYTES) -> None:
        self._log, self._times = log, times
        self._row_spans = times.spans(rows=rows, size=size)
        self.spans: Sequence[Span] = [span.span for span in self._row_spans]

    def _part(self, index: int) -> LeavingRows:
        return self._times.part(self._row_spans[index])

    def _order(self, part: LeavingRows) -> Stamps | None:
        return part.log_times_ns if self._times.by_log else None


class RecordStream(_Spans):
    """Samples as records of numbers; one that cannot be converted is reported and left out."""

    def __init__(self, log: LogStream, times: RowTimes, convert: Convert, report: StreamDefects) -> None:
        super().__init__(log, times, rows=SPAN_ROWS)
        self._convert, self._report = convert, report
        self._reported: set[int] = set()

    def with_conversion(self, change: Callable[[Convert], Convert]) -> "RecordStream":
        """Return the same samples with another conversion."""
        return RecordStream(self._log, self._times, change(self._convert), self._report)

    def load(self, index: int) -> Record:
        part = self._part(index)
        rows = samples_of_rows(self._log, part.row)
        with np.errstate(invalid="ignore"):
            record = replace(self._convert(rows, part.stamp_ns), order_ns=self._order(part))
        for note in rows.notes:
            self._report.warn(f"{self._log.name}: {note}")
        if not rows.issues:
            return record
        if index not in self._reported:
            self._reported.add(index)
            for row, issue in sorted(rows.issues.items()):
                self._report(self._log.sample_location(int(part.row[row])), "damaged_sample", issue)
        return record.only(rows.good)


def _names(log: LogStream, part: LeavingRows) -> tuple[str, ...]:
    return tuple(log.sample_location(row) for row in part.row.tolist())


class ImageStream(_Spans):
    """Samples as pictures, each made when it is asked for."""

    def __init__(
        self, log: LogStream, times: RowTimes, image: Callable[[Any], Pixels | bytes], *, packed: bool, packable: bool
    ) -> None:
        super().__init__(log, times, rows=HEAVY_ROWS)
        self._image, self._packed, self._packable = image, packed, packable

    def load(self, index: int) -> Images:
        part = self._part(index)
        return Images(
            stamp_ns=part.stamp_ns,
            names=_names(self._log, part),
            load=lambda row: self._image(self._log.sample(int(part.row[row]), arrays=True)),
            packed=self._packed,
            packable=self._packable,
            order_ns=self._order(part),
        )


class CloudStream(_Spans):
    """Samples as clouds of points, each made when it is asked for; `points` is told its stamp as well."""

    def __init__(self, log: LogStream, times: RowTimes, points: Callable[[Any, int], Points]) -> None:
        super().__init__(log, times, rows=HEAVY_ROWS)
        self._points = points

    def load(self, index: int) -> Clouds:
        part = self._part(index)

        def load(row: int) -> Points:
            return self._points(self._log.sample(int(part.row[row]), arrays=True), int(part.stamp_ns[row]))

        names = _names(self._log, part)
        return Clouds(stamp_ns=part.stamp_ns, order_ns=self._order(part), names=names, load=load)


def samples_of_rows(log: LogStream, rows: Indices) -> SampleRows:
    """The samples of rows (n,); those that are alike but for their numbers are not unpacked."""
    start, end = int(rows.min()), int(rows.max()) + 1
    is_run = end - start == len(rows) and bool((np.diff(rows) == 1).all())
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    with suppress(ArchiveError):
        if is_run and (columns := log.columns(start, end)) is not None:
            return columns
        if is_run and (alike := log.alike(start, end)) is not None:
            return TemplateRows(alike)
        if not is_run and (alike := _alike(log, ascending)) is not None:
            return TemplateRows(alike._replace(rows=alike.rows[_inverse(order)]))
    samples = [sample for near in _groups(ascending, NEAR) for sample in _samples(log, near)]
    return SampleRows([samples[index] for index in _inverse(order).tolist()])


def _alike(log: LogStream, rows: Indices) -> TemplateMatch | None:
    """Samples of ascending rows that are all alike, and mostly near each other; else None."""
    groups = _groups(rows, NEAR_ALIKE)
    if len(rows) < FEWEST_ALIKE * len(groups):
        return None
    parts = []
    for near in groups:
        alike = log.alike(int(near[0]), int(near[-1]) + 1)
        if alike is None:
            return None
        parts.append(alike._replace(rows=alike.rows[near - near[0]]))
    template = parts[0].template
    if any(template.fitting(part.rows) < len(part.rows) for part in parts[1:]):
        return None
    return TemplateMatch(template, np.concatenate([part.rows for part in parts]))


def _samples(log: LogStream, rows: Indices) -> list[Any]:
    """Samples of ascending rows; in the place of one that cannot be read its error."""
    start = int(rows[0])
    try:
        samples = log.samples(start, int(rows[-1]) + 1, arrays=True)
    except ArchiveError:
        return [_sample_or_error(log, row) for row in rows.tolist()]
    return [samples[row - start] for row in rows.tolist()]


def _sample_or_error(log: LogStream, row: int) -> Any:
    try:
        return log.sample(row, arrays=True)
    except ArchiveError as error:
        return error


def _groups(rows: Indices, distance: int) -> list[Indices]:
    """Ascending rows that lie near each other."""
    return np.split(rows, np.flatnonzero(np.diff(rows) > distance) + 1)


def _inverse(order: Indices) -> Indices:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse
