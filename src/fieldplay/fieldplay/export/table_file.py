"""Rows as a table in a file, block by block.

The columns are those that are known beforehand, or of the first block. If a later row has another one, or a value that
does not fit, the rest is scanned for all columns, and the table is restarted: common tables are read once,
others twice.
"""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from fieldplay.core.errors import Defect, Report, UsageError
from fieldplay.core.progress import Progress, no_progress
from fieldplay.core.timestamps import NO_TIME
from fieldplay.export.table_columns import (
    TYPES,
    Columns,
    Values,
    is_same_table,
    merge_columns,
    series_of,
    to_json,
)

CSV, PARQUET = ".csv", ".parquet"
WAITING = 2  # blocks between the threads
LOOK_EVERY_S = 0.5
GROUP_BYTES, GROUP_ROWS = 4 << 20, 1 << 17  # of what is written, in a row group of Parquet
MAX_COLUMNS = 20_000


# Tables while they are written: CSV and Parquet.


class _StoppedError(Exception):
    """Raised in the reader of blocks when writing is aborted."""


class CsvWriter(AbstractContextManager["CsvWriter"]):
    """A CSV file with a line of names; a cell of nothing is empty, an empty text is "", a list is one cell of JSON."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._has_names = False

    def write(self, block: pl.DataFrame) -> None:
        """Some rows."""
        lists = [_as_json(block[name]) for name, kind in block.schema.items() if isinstance(kind, pl.List)]
        block.with_columns(lists).write_csv(self._file, include_header=not self._has_names)
        self._has_names = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _as_json(lists: pl.Series) -> pl.Series:
    """Lists as texts of JSON, with the shortest digits; what JSON has no number for is a text."""
    kind = lists.dtype
    if not isinstance(kind, pl.List) or kind.inner == pl.String:
        texts = [None if own is None else to_json(own.to_list()) for own in lists]
        return pl.Series(lists.name, texts, dtype=pl.String)
    item = pl.element()
    text = item.cast(pl.String)
    if kind.inner in (pl.Float32, pl.Float64):
        signed = pl.when(item > 0).then(pl.lit('"Infinity"')).otherwise(pl.lit('"-Infinity"'))
        strange = pl.when(item.is_nan()).then(pl.lit('"NaN"')).otherwise(signed)
        text = pl.when(item.is_finite()).then(text).otherwise(strange)
    cells = pl.col(lists.name).list.eval(text).list.join(", ")
    return lists.to_frame().select(pl.concat_str(pl.lit("["), cells, pl.lit("]")).alias(lists.name)).to_series()


class ParquetWriter(AbstractContextManager["ParquetWriter"]):
    """A Parquet file, compressed by zstd; `rows` are those of a row group, which is all that is held.

    `facts` are texts beside the table. Polars writes in a thread of its own, so that this one receives signals.
    """

    def __init__(self, path: Path, schema: Mapping[str, Any], rows: int, facts: Mapping[str, str]) -> None:
        self._blocks: queue.Queue[pl.DataFrame | None] = queue.Queue(WAITING)
        self._stopped = self._is_written = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._sink, args=(path, schema, rows, facts), daemon=True)
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

    def _sink(self, path: Path, schema: dict[str, Any], rows: int, facts: dict[str, str]) -> None:
        def blocks(*_: object) -> Iterator[pl.DataFrame]:
            while (block := self._blocks.get()) is not None:
                yield block
            if self._stopped:
                raise _StoppedError

        try:
            table = register_io_source(blocks, schema=schema)
            table.sink_parquet(path, row_group_size=rows, compression="zstd", metadata=dict(facts) or None)
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


class TableSummary(NamedTuple):
    """What a table holds, and whether its rows were read twice for it."""

    rows: int
    columns: Columns  # without the time
    time_name: str
    passes: int


class Block(NamedTuple):
    """Some rows: their times (n,), what each column has, and of which kinds the columns must be."""

    times_ns: NDArray[np.int64]
    values: Values
    columns: Columns


class Rows(Protocol):
    """What a table is made of; it can be gone through several times."""

    @property
    def name(self) -> str: ...

    @property
    def time_name(self) -> str:
        """The first column, of times in nanoseconds."""

    @property
    def row_bytes(self) -> float:
        """About how many bytes a row has where it comes from."""

    def blocks(self, progress: Progress, report: Report) -> Iterator[Block]:
        """The rows, some after the others; a row that cannot be read is reported and has a time alone."""


class TooManyColumnsError(UsageError):
    """A table that has too many columns."""


@dataclass
class _OtherColumnsError(Exception):
    """A block that the table cannot hold; with the columns as far as they are known."""

    columns: Columns = field(default_factory=dict)


def write_table(
    rows: Rows, out: Path, *, progress: Progress, report: Report, facts: Mapping[str, str] | None = None
) -> TableSummary:
    """Write rows into a file whose name ends in .csv or .parquet; `facts` are texts that Parquet keeps beside them."""
    first = next(rows.blocks(no_progress, _ignore), None)
    columns = first.columns if first else {}
    passes = 1
    while True:
        defects: list[Defect] = []
        try:
            count, time_name = _write(rows, out, columns, progress=progress, defects=defects, facts=facts or {})
        except _OtherColumnsError as error:
            columns, passes = error.columns, passes + 1
            out.unlink(missing_ok=True)  # so that nothing that still writes there can reach the new one
            for block in rows.blocks(progress, _ignore):
                columns = merge_columns(columns, block.columns)
            continue
        for defect in defects:
            report(defect)
        return TableSummary(count, columns, time_name, passes)


def _ignore(_: Defect) -> None:
    """Ignore a defect: the pass that writes reports it."""


def _write(
    rows: Rows, out: Path, columns: Columns, *, progress: Progress, defects: list[Defect], facts: Mapping[str, str]
) -> tuple[int, str]:
    if len(columns) > MAX_COLUMNS:
        raise TooManyColumnsError(
            f"{rows.name}: {len(columns)} columns are more than the {MAX_COLUMNS} that a table may have here: "
            "choose fewer --lists"
        )
    time_name = rows.time_name
    while time_name in columns:
        time_name += "_"
    schema = {time_name: pl.Int64, **{name: TYPES[kind] for name, kind in columns.items()}}
    group = max(1, min(GROUP_ROWS, int(GROUP_BYTES / max(rows.row_bytes, 1.0))))
    with CsvWriter(out) if out.suffix.lower() == CSV else ParquetWriter(out, schema, group, facts) as writer:
        known, count = columns, 0
        for block in rows.blocks(progress, defects.append):
            known = merge_columns(known, block.columns)
            if not is_same_table(known, columns):
                raise _OtherColumnsError(known)
            writer.write(_frame(block, time_name, columns))
            count += len(block.times_ns)
        if not count:
            writer.write(_frame(Block(np.zeros(0, np.int64), {}, {}), time_name, columns))
    return count, time_name


def _frame(block: Block, time_name: str, columns: Columns) -> pl.DataFrame:
    times = pl.Series(time_name, block.times_ns).set(pl.Series(block.times_ns == NO_TIME), None)
    count = len(block.times_ns)
    return pl.DataFrame(
        [times, *(series_of(name, kind, block.values.get(name), count=count) for name, kind in columns.items())]
    )


def file_names(names: Sequence[str], suffix: str) -> list[str]:
    """A file for each stream or topic, with _ in place of slashes; where two would have one name, with numbers."""
    files: dict[str, Any] = {}
    for name in names:
        plain = "".join(char if char.isalnum() or char in "._-" else "_" for char in name.strip("/")) or "stream"
        names_of_one = (f"{plain}{n}{suffix}" for n in ("", *(f"_{each}" for each in range(2, len(names) + 2))))
        files[next(each for each in names_of_one if each not in files)] = None
    return list(files)
