"""A stream as a table with a row for each sample, in blocks, so that memory does not grow with the log.

The columns are those of the first block. If a later sample has another one, or a value that does not fit, the rest is
gone through to find all columns, and the table is begun anew: common logs are read once, others twice.
"""

import queue
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from fieldplay.cdff.tables.columns import (
    TYPES,
    Columns,
    Lists,
    Values,
    cells_of,
    columns_of,
    is_same_table,
    joined,
    series_of,
    values_of,
)
from fieldplay_archive.logs.index.file_index import NO_TIME, Places
from fieldplay_archive.logs.streams import LogStream
from fieldplay_messages.errors import ArchiveError, Defect, Report, UsageError
from fieldplay_messages.progress import Progress, unwatched

CSV, PARQUET = ".csv", ".parquet"
LOG, SAMPLE = "log", "sample"
BLOCK_BYTES, BLOCK_ROWS = 2 << 20, 4096  # of a log, in a block
GROUP_BYTES, GROUP_ROWS = 4 << 20, 1 << 17  # of a log, in a row group of Parquet
MOST_COLUMNS = 20_000
WAITING = 2  # blocks between the threads
LOOK_EVERY_S = 0.5


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which lists become columns, and which time is the first column: when logged, or the samples' own."""

    lists: Lists = field(default_factory=Lists)
    clock: str = LOG


class Exported(NamedTuple):
    """What was written, and whether the log was read twice for it."""

    rows: int
    columns: int
    passes: int


class _Block(NamedTuple):
    first: int
    values: Values
    times_ns: Places


class _OtherColumnsError(Exception):
    """A block that the table cannot hold; with the columns as far as they are known."""

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self.columns = columns


class _StoppedError(Exception):
    """What the reader of blocks is told when the writing is given up."""


class CsvWriter(AbstractContextManager["CsvWriter"]):
    """A CSV file with a line of names; a cell of nothing is empty, an empty text is ""."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._has_names = False

    def write(self, block: pl.DataFrame) -> None:
        """Some rows."""
        block.write_csv(self._file, include_header=not self._has_names)
        self._has_names = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


class ParquetWriter(AbstractContextManager["ParquetWriter"]):
    """A Parquet file, compressed by zstd; `rows` are those of a row group, which is all that is held.

    Polars writes in a thread of its own, so that this one hears signals.
    """

    def __init__(self, path: Path, schema: dict[str, Any], rows: int) -> None:
        self._blocks: queue.Queue[pl.DataFrame | None] = queue.Queue(WAITING)
        self._stopped = self._is_written = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._sink, args=(path, schema, rows), daemon=True)
        self._thread.start()

    def write(self, block: pl.DataFrame) -> None:
        """Some rows, in order."""
        self._put(block)

    def _put(self, block: pl.DataFrame | None) -> None:
        while self._thread.is_alive():
            try:
                self._blocks.put(block, timeout=LOOK_EVERY_S)
            except queue.Full:
                continue
            return
        self._raise_error()

    def _sink(self, path: Path, schema: dict[str, Any], rows: int) -> None:
        def blocks(*_: object) -> Iterator[pl.DataFrame]:
            while (block := self._blocks.get()) is not None:
                yield block
            if self._stopped:
                raise _StoppedError

        try:
            register_io_source(blocks, schema=schema).sink_parquet(path, row_group_size=rows, compression="zstd")
            self._is_written = True
        except (pl.exceptions.PolarsError, OSError, _StoppedError) as error:
            self._error = error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = kind is not None
        try:
            self._put(None)
        finally:
            self._thread.join()
        if not self._stopped and not self._is_written:
            self._raise_error()

    def _raise_error(self) -> None:
        raise OSError(f"cannot write the table: {self._error or 'the writer has ended'}") from self._error


def export_stream(
    stream: LogStream, out: Path, options: TableOptions, *, progress: Progress, report: Report
) -> Exported:
    """Write the table into a file whose name ends in .csv or .parquet."""
    first = next(_blocks(stream, options), None)
    columns = columns_of(first.values) if first else {}
    try:
        _write(stream, out, options, columns=columns, progress=progress, report=report)
    except _OtherColumnsError as found:
        columns = found.columns
        for block in _blocks(stream, options, progress=progress):
            columns = joined(columns, columns_of(block.values))
        _write(stream, out, options, columns=columns, progress=progress, report=report)
        return Exported(len(stream), len(columns) + 1, 2)
    return Exported(len(stream), len(columns) + 1, 1)


def _write(
    stream: LogStream, out: Path, options: TableOptions, *, columns: Columns, progress: Progress, report: Report
) -> None:
    if len(columns) > MOST_COLUMNS:
        raise UsageError(
            f"{stream.name}: {len(columns)} columns are more than the {MOST_COLUMNS} that a table may have here: "
            "choose fewer --lists"
        )
    defects: list[Defect] = []
    time_name = _time_name(options, columns)
    types = {name: TYPES[kind] for name, kind in columns.items()}
    with _writer(stream, out, {time_name: pl.Int64, **types}) as writer:
        known, is_empty = columns, True
        for block in _blocks(stream, options, progress=progress, report=defects.append):
            known = joined(known, columns_of(block.values))
            if not is_same_table(known, columns):
                raise _OtherColumnsError(known)
            writer.write(_frame(block, time_name, columns))
            is_empty = False
        if is_empty:
            writer.write(_frame(_Block(0, {}, np.zeros(0, np.int64)), time_name, columns))
    for defect in defects:
        report(defect)


def _writer(stream: LogStream, out: Path, schema: dict[str, Any]) -> CsvWriter | ParquetWriter:
    if out.suffix.lower() == CSV:
        return CsvWriter(out)
    mean = stream.byte_count() / max(len(stream), 1)
    return ParquetWriter(out, schema, max(1, min(GROUP_ROWS, int(GROUP_BYTES / max(mean, 1.0)))))


def _time_name(options: TableOptions, columns: Columns) -> str:
    name = f"{options.clock}_time_ns"
    while name in columns:
        name += "_"
    return name


def _frame(block: _Block, time_name: str, columns: Columns) -> pl.DataFrame:
    times = pl.Series(time_name, block.times_ns).set(pl.Series(block.times_ns == NO_TIME), None)
    count = len(block.times_ns)
    return pl.DataFrame(
        [times, *(series_of(name, kind, block.values.get(name), count=count) for name, kind in columns.items())]
    )


def _blocks(
    stream: LogStream, options: TableOptions, *, progress: Progress = unwatched, report: Report = lambda _: None
) -> Iterator[_Block]:
    """The cells of some samples after the others."""
    times = stream.own_ns if options.clock == SAMPLE else stream.logged_ns
    for first, last in stream.batches(0, len(stream), rows=BLOCK_ROWS, size=BLOCK_BYTES):
        rows = [cells_of(sample, options.lists) for sample in _samples(stream, first, last, report=report)]
        yield _Block(first, values_of(rows), times(first, last))
        progress(last / max(len(stream), 1), last)


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
