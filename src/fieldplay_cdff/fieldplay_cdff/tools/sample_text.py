"""One sample for people: its fields below each other, long lists by their length and range."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, Report, UsageError
from fieldplay.core.progress import Progress
from fieldplay.export.table_columns import (
    Lists,
    cells_of,
    columns_of,
    values_of,
)
from fieldplay.export.table_file import Block, TableSummary, write_table
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.tools.time_arguments import utc_text

LOG, SAMPLE = "log", "sample"
BLOCK_BYTES, BLOCK_ROWS = 2 << 20, 4096  # of a log, in a block
INDENT = "  "
FEW = 3  # items of a long list that are shown
LONGEST_TEXT = 400


# Streams of logs as tables: a row for each sample, in CSV or Parquet.


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
) -> TableSummary:
    """Write the table of a stream into a file whose name ends in .csv or .parquet."""
    return write_table(_Samples(stream, options), out, progress=progress, report=report)


def _samples(stream: LogStream, first: int, last: int, *, report: Report) -> list[Any]:
    """The samples; one that cannot be read is reported and has no fields."""
    try:
        return stream.samples(first, last)
    except ArchiveError as error:
        if last - first == 1:
            location = stream.sample_location(first)
            message = f"{error}; its row has a time alone"
            report(Defect.at(location, kind="unreadable_sample", message=message, stream=stream.name))
            return [{}]
    return [sample for row in range(first, last) for sample in _samples(stream, row, row + 1, report=report)]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The maximum depth of maps, and the maximum number of items of a list, in the output."""

    depth: int = 8
    items: int = 16


def row_of(stream: LogStream, *, index: int | None, time_ns: int | None) -> int:
    """The row of an index, negative ones from the end, or the sample nearest to a time; the first by default.

    Samples are compared by their own times where they have them, else by when they were logged.
    """
    if not len(stream):
        raise UsageError(f"{stream.name} has no samples")
    if time_ns is None:
        row = index or 0
        if not -len(stream) <= row < len(stream):
            raise UsageError(f"{stream.name} has no sample {row}; it has {len(stream)}")
        return row % len(stream)
    nearest = min(filter(None, (_nearest(stream, rows, time_ns) for rows in stream.ranges())), default=None)
    if nearest is None:
        raise UsageError(f"{stream.name} has no times; choose a sample by --index")
    return nearest[1]


def _nearest(stream: LogStream, rows: tuple[int, int], time_ns: int) -> tuple[int, int] | None:
    """Return the distance of the nearest sample from a time, and its row; None if none has a time."""
    own_ns = stream.own_ns(*rows)
    times = np.where(own_ns == NO_TIME, stream.logged_ns(*rows), own_ns)
    known = np.flatnonzero(times != NO_TIME)
    if not len(known):
        return None
    distances = np.abs(times[known] - time_ns)
    best = int(np.argmin(distances))
    return int(distances[best]), rows[0] + int(known[best])


def lines_of_sample(stream: LogStream, row: int, limits: Limits) -> Iterator[str]:
    """A sample with its metadata."""
    yield f"{stream.name}, sample {row} of {len(stream)}, {stream.type or stream.kind or 'type not known'}"
    for name, times in (("sampled", stream.own_ns), ("logged", stream.logged_ns)):
        if (time_ns := int(times(row, row + 1)[0])) != NO_TIME:
            yield f"{INDENT}{name} {utc_text(time_ns)}"
    try:
        yield from lines_of(stream.sample(row, arrays=True), limits)
    except ArchiveError as error:
        yield f"{INDENT}cannot be read: {error}"


def named_entries(settings: Any) -> dict[str, Any]:
    """The entries of a settings file; a transform is named by its two frames."""
    entries = settings if isinstance(settings, Mapping) else {}
    return {" -> ".join(map(str, key)) if isinstance(key, tuple) else str(key): own for key, own in entries.items()}


def lines_of(value: Any, limits: Limits, indent: str = INDENT) -> Iterator[str]:
    """A value, its fields in order."""
    if not isinstance(value, Mapping) or not value:
        yield f"{indent}{_short(value, limits)}"
        return
    width = max((len(str(key)) for key, inner in value.items() if not _is_deep(inner, limits)), default=0)
    for key, inner in value.items():
        if _is_deep(inner, limits):
            count = f" [{len(inner)}]" if isinstance(inner, list) else ""
            yield f"{indent}{key}{count}"
            yield from _inner_lines(inner, Limits(depth=limits.depth - 1, items=limits.items), indent + INDENT)
        else:
            yield f"{indent}{key!s:{width}}  {_short(inner, limits)}"


def _is_deep(value: Any, limits: Limits) -> bool:
    """Whether a value goes below its name: maps that are not empty, and lists of them."""
    if limits.depth <= 1:
        return False
    return (isinstance(value, Mapping) and bool(value)) or _is_list_of_maps(value)


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _inner_lines(value: Any, limits: Limits, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from lines_of(value, limits, indent)
        return
    for index, item in enumerate(value[: limits.items]):
        flat = isinstance(item, Mapping) and not any(isinstance(inner, Mapping | list) for inner in item.values())
        if flat:
            yield f"{indent}{index}: " + ", ".join(f"{key} {_short(inner, limits)}" for key, inner in item.items())
        else:
            yield f"{indent}{index}"
            yield from lines_of(item, limits, indent + INDENT)
    if len(value) > limits.items:
        yield f"{indent}and {len(value) - limits.items} more"


def _short(value: Any, limits: Limits) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return f"{len(value)} fields: {', '.join(map(str, value))}" if value else "{}"
    if isinstance(value, np.ndarray):
        return _short_array(value, limits)
    if isinstance(value, list | tuple):
        return _short_list(value, limits)
    if isinstance(value, bytes):
        return f"{len(value)} bytes: {value[: FEW * 4].hex(' ')}{' …' if len(value) > FEW * 4 else ''}"
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…")
    return repr(value)


def _short_list(values: Sequence[Any], limits: Limits) -> str:
    numbers = _numbers(values)
    if numbers is not None and numbers.size > 1 and (numbers.size > limits.items or _is_nothing(numbers)):
        return _short_array(numbers, limits)
    if len(values) <= limits.items:
        return f"[{', '.join(_short(value, limits) for value in values)}]"
    first = ", ".join(_short(value, limits) for value in values[:FEW])
    return f"{len(values)} items: {first}, …"


def _numbers(values: Sequence[Any]) -> "np.ndarray[Any, Any] | None":
    """A list of numbers, or of equally long lists of them, as an array; None for others."""
    try:
        numbers = np.asarray(values)
    except (ValueError, OverflowError):
        return None
    return numbers if numbers.dtype.kind in "iuf" else None


def _is_nothing(numbers: "np.ndarray[Any, Any]") -> bool:
    return numbers.dtype.kind == "f" and bool(np.isnan(numbers).all())


def _short_array(values: "np.ndarray[Any, Any]", limits: Limits) -> str:
    """Return how many numbers there are, their range, how many are NaN, and the first."""
    shape = " x ".join(map(str, values.shape))
    if values.dtype.kind not in "iuf":
        return f"{shape} items"
    if values.size > 1 and _is_nothing(values):
        return f"{shape} numbers, all nan"
    if values.size <= limits.items:
        return repr(values.tolist())
    finite = values[np.isfinite(values)]
    span = f" from {finite.min():g} to {finite.max():g}" if len(finite) else ""
    strange = values.size - finite.size
    note = f", {strange} of them nan or inf" if strange else ""
    first = ", ".join(repr(each) for each in values.ravel()[:FEW].tolist())
    return f"{shape} numbers{span}{note}: {first}, …"
