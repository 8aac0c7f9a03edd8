"""Streams of logs as tables: a row for each sample, in CSV or Parquet."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.progress import Progress
from fieldplay.export.table_columns import (
    Lists,
    cells_of,
    columns_of,
    values_of,
)
from fieldplay.export.table_file import Block, Written, write_table
from fieldplay_cdff.logs.streams import LogStream

LOG, SAMPLE = "log", "sample"
BLOCK_BYTES, BLOCK_ROWS = 2 << 20, 4096  # of a log, in a block


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which lists become columns, and which time is the first column: when logged, or the samples' own."""

    lists: Lists = field(default_factory=Lists)
    clock: str = LOG


@dataclass(frozen=True)
class _Samples:
    """A stream as the rows of a table."""

    stream: LogStream
    options: TableOptions

    @property
    def name(self) -> str:
        return self.stream.name

    @property
    def time_name(self) -> str:
        return f"{self.options.clock}_time_ns"

    @property
    def row_bytes(self) -> float:
        return self.stream.byte_count() / max(len(self.stream), 1)

    def blocks(self, progress: Progress, report: Report) -> Iterator[Block]:
        stream = self.stream
        times = stream.own_ns if self.options.clock == SAMPLE else stream.logged_ns
        for first, last in stream.batches(0, len(stream), rows=BLOCK_ROWS, size=BLOCK_BYTES):
            rows = [cells_of(sample, self.options.lists) for sample in _samples(stream, first, last, report=report)]
            values = values_of(rows)
            yield Block(times(first, last), values, columns_of(values))
            progress(last / max(len(stream), 1), last)


def export_stream(
    stream: LogStream, out: Path, options: TableOptions, *, progress: Progress, report: Report
) -> Written:
    """Write the table of a stream into a file whose name ends in .csv or .parquet."""
    return write_table(_Samples(stream, options), out, progress=progress, report=report)


def _samples(stream: LogStream, first: int, last: int, *, report: Report) -> list[Any]:
    """The samples; one that cannot be read is reported and has no fields."""
    try:
        return stream.samples(first, last)
    except ArchiveError as error:
        if last - first == 1:
            place = stream.place(first)
            message = f"{error}; its row has a time alone"
            report(Defect.at(place, kind="unreadable_sample", message=message, stream=stream.name))
            return [{}]
    return [sample for row in range(first, last) for sample in _samples(stream, row, row + 1, report=report)]
