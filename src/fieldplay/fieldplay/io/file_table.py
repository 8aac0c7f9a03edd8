"""A table of which each row is a file of its own: a line of numbers, whose time is known from elsewhere."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.io.containers import Files
from fieldplay.io.table_rows import TIME, Dialect, RowCache, TimedRows, short_text
from fieldplay.io.time_list import TimeList
from fieldplay.streams.stream import Span

FILES_AT_ONCE = 512
LONGEST_ROW = 1 << 16  # bytes of a file; larger ones are no single row


class _Block(NamedTuple):
    """Files that are read together: which of the table's, and their rows in the cache, if there was room."""

    files: slice
    cache_index: int | None


class FileTable:
    """Text files of one row of numbers each, read once; their rows are kept block by block.

    A file that is no such row is reported once, and has no row.

    Args:
        files: where the files are; they must stay open, as rows without room in the cache are read again.
        names: of the files.
        stamp_ns: their times (n,) in ns since 1970, in any order.
        columns: the names of the numbers in a file, in their order; those that begin with `_` are not kept.
        stream: what the description calls the kind, for reports.
        report: called with each defect.
        cache: keeps the rows.
    """

    def __init__(
        self,
        files: Files,
        names: Sequence[str],
        stamp_ns: NDArray[np.int64],
        columns: Sequence[str],
        *,
        stream: str,
        report: Report,
        cache: RowCache,
    ) -> None:
        order = np.argsort(stamp_ns, kind="stable")
        self.names = [names[index] for index in order.tolist()]
        self.dialect = Dialect((TIME, *columns), " ")
        self.spans: list[Span] = []
        self._columns = tuple(columns)
        self._stamp_ns, self._files, self._stream, self._cache = stamp_ns[order], files, stream, cache
        self._blocks: list[_Block] = []
        for start in range(0, len(self.names), FILES_AT_ONCE):
            part = slice(start, start + FILES_AT_ONCE)
            rows = self._read(part, report)
            if len(rows):
                self._blocks.append(_Block(part, cache.add(rows)))
                self.spans.append(Span(int(rows.stamp_ns[0]), int(rows.stamp_ns[-1]), len(rows)))

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(span.count for span in self.spans)

    def rows(self, index: int) -> TimedRows:
        """Read the rows of a block; safe to call from several threads.

        Args:
            index: of the block in `spans`.

        Returns:
            The rows in time order; the line of each is 1.
        """
        block = self._blocks[index]
        if block.cache_index is None:
            return self._read(block.files, lambda defect: None)
        return self._cache.rows(block.cache_index)

    def file(self, index: int) -> str:
        """Name the first file of a block.

        Args:
            index: of the block in `spans`.

        Returns:
            The name of the file.
        """
        name: str = self.names[self._blocks[index].files.start]
        return name

    def _read(self, part: slice, report: Report) -> TimedRows:
        rows, indices = [], []
        for index, name in enumerate(self.names[part]):
            try:
                rows.append(_numbers(self._files, name, self._columns))
                indices.append(index)
            except _RowError as error:
                report(Defect(file=name, row=1, kind=error.kind, stream=self._stream, message=str(error)))
            except (ArchiveError, OSError) as error:
                report(Defect(file=name, kind="damaged_file", stream=self._stream, message=str(error)))
        used = [index for index, name in enumerate(self._columns) if name in self.dialect.numbers]
        values = np.array(rows, np.float64).reshape(len(rows), len(self._columns))[:, used]
        return TimedRows(
            dialect=self.dialect,
            stamp_ns=self._stamp_ns[part][indices],
            clock_ns=np.zeros((len(rows), 0), np.int64),
            values=values,
            line=np.ones(len(rows), np.int64),
        )


class _RowError(Exception):
    """A file that is not one row of the expected numbers."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def rows_with_times(
    data: bytes, times: TimeList, columns: Sequence[str], *, name: str, stream: str, report: Report
) -> TimedRows:
    """Parse a text whose lines are rows of numbers at the times that another file lists, line by line.

    Args:
        data: the content of the file.
        times: the list.
        columns: the names of the numbers in a line, in their order.
        name: of the file, for reports.
        stream: what the description calls the kind, for reports.
        report: called with each line that is no row, and where the two have different numbers of lines.

    Returns:
        The rows in time order.
    """
    texts = [(line, text) for line, text in enumerate(data.splitlines(), start=1) if text.strip()]
    rows, stamps, lines = [], [], []
    for index, (line, text) in enumerate(texts):
        try:
            numbers = _row_of_text(text, columns)
        except _RowError as error:
            report(Defect(file=name, row=line, kind=error.kind, stream=stream, message=str(error)))
            continue
        if index < len(times) and times.is_time[index]:
            rows.append(numbers)
            stamps.append(int(times.stamp_ns[index]))
            lines.append(line)
    if len(texts) != len(times):
        message = f"expected a line for each of {len(times)} times, got {len(texts)}"
        row = texts[len(times)][0] if len(texts) > len(times) else len(texts)
        report(Defect(file=name, row=row, kind="count_mismatch", stream=stream, message=message))
    parsed = TimedRows(
        dialect=Dialect((TIME, *columns), " "),
        stamp_ns=np.array(stamps, np.int64),
        clock_ns=np.zeros((len(rows), 0), np.int64),
        values=np.array(rows, np.float64).reshape(len(rows), len(columns)),
        line=np.array(lines, np.int64),
    )
    return parsed.in_time_order()


def _numbers(files: Files, name: str, columns: Sequence[str]) -> list[float]:
    """The numbers of a file; _RowError where it is no such row."""
    if files.size(name) > LONGEST_ROW:
        raise _RowError("long_row", f"expected a row of {len(columns)} numbers, got {files.size(name)} bytes")
    return _row_of_text(files.read(name), columns)


def _row_of_text(data: bytes, columns: Sequence[str]) -> list[float]:
    fields = data.replace(b",", b" ").split()
    if not fields:
        raise _RowError("empty_file", f"expected a row of {len(columns)} numbers, got an empty file")
    if len(fields) != len(columns):
        kind = "short_row" if len(fields) < len(columns) else "long_row"
        raise _RowError(kind, f"expected {len(columns)} columns, got {len(fields)}: '{short_text(data)}'")
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        numbers = [_number(field) for field in fields]
    for column, number, field in zip(columns, numbers, fields, strict=True):
        if not np.isfinite(number) and not column.startswith("_"):
            kind = "not_finite" if _is_number(field) else "not_a_number"
            raise _RowError(kind, f"column {column}: expected a number, got '{short_text(field)}'")
    return numbers


def _number(text: bytes) -> float:
    return float(text) if _is_number(text) else float("nan")


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
