"""Tables while they are written: CSV and Parquet."""

import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from fieldplay.export.plain_data import json_of

CSV, PARQUET = ".csv", ".parquet"
WAITING = 2  # blocks between the threads
LOOK_EVERY_S = 0.5


class _StoppedError(Exception):
    """What the reader of blocks is told when the writing is given up."""


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
    """Lists as texts of JSON, with the shortest digits that tell each number; what JSON has no number for is a text."""
    kind = lists.dtype
    if not isinstance(kind, pl.List) or kind.inner == pl.String:
        texts = [None if own is None else json_of(own.to_list()) for own in lists]
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

    `facts` are texts beside the table. Polars writes in a thread of its own, so that this one hears signals.
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
