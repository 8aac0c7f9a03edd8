"""Tables that are written block by block: CSV, and Parquet by polars, which takes blocks from another thread."""

import queue
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

WAITING = 2  # blocks between the threads
LOOK_EVERY_S = 0.5


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
