"""Samples of a flattened log: assembled from its columns, or read as columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.file_index import (
    LARGEST_ITEM,
    NO_TIME,
    Int64Array,
    LogColumn,
    StreamPart,
)
from fieldplay_cdff.logs.msgpack_decode import (
    DECODE_ERRORS,
    FIRST_NEGATIVE,
    LARGEST,
    LARGEST_SMALL,
    UNKNOWN_TEXT,
    Bytes,
    Number,
    arrays_from_bytes,
    column,
    form_of,
    plain_from_bytes,
    plain_name,
    template_of,
    why,
)
from fieldplay_cdff.logs.sample_rows import (
    MISSING,
    SampleRows,
    TreeRows,
    field,
)
from fieldplay_cdff.logs.sample_times import TIMES

Read = Callable[[int, int], bytes]  # start and size
Unpack = Callable[[bytes], Any]  # one item
MAX_BYTES = 8 << 20  # that are read at once
READ_SIZE = 1 << 20
DEEPEST = 32
ELEMENTS = "elements"  # of vectors with names: the values below it are a list for each sample
AT_ONCE = 1 << 16  # times


# Some items of a column: as rows of bytes where all of them are of one form, and as plain data.


@dataclass(frozen=True, eq=False, kw_only=True)
class Items:
    """The items of a column, `count` of them before its first issue if it has one: `values` unpacks them.

    Where all are of one form, `rows` (count, size) are their bytes.
    """

    count: int
    values: Callable[[], list[Any]]
    rows: Bytes | None = None


class _ItemExtent(NamedTuple):
    """The bytes in which `requested` items lie, `before` others in front of them, `total` in all.

    Where the offsets of all are known, `cuts` are those, and the end of the last.
    """

    start: int
    stop: int
    before: int
    requested: int
    total: int
    cuts: list[int] | None


def items_of(column: LogColumn, start: int, end: int, read: Read, *, arrays: bool = False) -> Items:
    """The items begin <= index < end; with `arrays`, long lists of numbers are arrays where the offsets are known."""
    if column.is_constant:
        offset = int(column.begins[0])
        data = read(offset, column.end - offset)
        rows = np.broadcast_to(np.frombuffer(data, np.uint8), (end - start, len(data)))
        return Items(count=len(rows), rows=rows, values=lambda: [plain_from_bytes(data)] * len(rows))
    end = min(end, column.count)
    if start >= end:
        return Items(count=0, values=list)
    extent, unpack = _extent_of(column, start, end), arrays_from_bytes if arrays else plain_from_bytes
    if extent.stop - extent.start > MAX_BYTES:
        return Items(count=end - start, values=partial(_one_by_one, extent, read, unpack))
    return _items(read(extent.start, extent.stop - extent.start), extent, unpack)


def _extent_of(column: LogColumn, start: int, end: int) -> _ItemExtent:
    low, high = start // column.step, (end - 1) // column.step + 1
    offsets = column.begins[low : high + 1].tolist() + ([column.end] if high >= len(column.begins) else [])
    first = low * column.step
    total = min(column.count, high * column.step) - first
    cuts = offsets if column.step == 1 else None
    return _ItemExtent(offsets[0], offsets[-1], start - first, end - start, total, cuts)


def _items(data: bytes, extent: _ItemExtent, unpack: Unpack) -> Items:
    all_rows = _rows(data, extent.total)
    rows = None if all_rows is None else all_rows[extent.before : extent.before + extent.requested]
    if extent.cuts is not None:
        cuts = [cut - extent.start for cut in extent.cuts]
        return Items(count=extent.requested, rows=rows, values=lambda: [unpack(data[a:b]) for a, b in pairwise(cuts)])
    packed, before = (data, extent.before) if rows is None else (rows.tobytes(), 0)
    return Items(count=extent.requested, rows=rows, values=lambda: _unpack_items(packed, before, extent.requested))


def _rows(data: bytes, count: int) -> Bytes | None:
    """The bytes (count, size) of items that are all of one form; None if they are not."""
    size = len(data) // count
    form = form_of(data[:size]) if size * count == len(data) and size <= LARGEST else None
    if form is None:
        return None
    rows = np.frombuffer(data, np.uint8).reshape(count, size)
    return rows if form.fitting(rows) == count else None


def _unpack_items(data: bytes, before: int, count: int) -> list[Any]:
    """Unpack so many consecutive items, without those before them."""
    unpacker = msgpack.Unpacker(raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=max(len(data), 1))
    try:
        unpacker.feed(data)
        for _ in range(before):
            unpacker.skip()
        return [unpacker.unpack() for _ in range(count)]
    except DECODE_ERRORS as error:
        raise ArchiveError(f"expected {count} items of a column, got {why(error)}") from None


def _one_by_one(extent: _ItemExtent, read: Read, unpack: Unpack) -> list[Any]:
    """Items each read for itself, as they lie in too many bytes."""
    cuts = extent.cuts or _scan_cuts(extent, read)
    return [unpack(read(start, stop - start)) for start, stop in pairwise(cuts)]


def _scan_cuts(extent: _ItemExtent, read: Read) -> list[int]:
    """Find where items start, and where the last one stops: large items after small ones have no stored offsets."""
    unpacker = msgpack.Unpacker(_Bytes(extent, read), read_size=READ_SIZE, max_buffer_size=LARGEST_ITEM)
    try:
        for _ in range(extent.before):
            unpacker.skip()
        cuts = [extent.start + unpacker.tell()]
        for _ in range(extent.requested):
            unpacker.skip()
            cuts.append(extent.start + unpacker.tell())
        return cuts
    except DECODE_ERRORS as error:
        raise ArchiveError(f"expected {extent.total} items of a column, got {why(error)}") from None


class _Bytes:
    """An extent's bytes as a file, for msgpack."""

    def __init__(self, extent: _ItemExtent, read: Read) -> None:
        self._offset, self._stop, self._read = extent.start, extent.stop, read

    def read(self, size: int) -> bytes:
        start, self._offset = self._offset, min(self._offset + size, self._stop)
        return self._read(start, self._offset - start) if self._offset > start else b""


def samples_of_columns(part: StreamPart, start: int, end: int, read: Read, *, arrays: bool) -> list[Any]:
    """The samples begin <= index < end; with `arrays`, lists of numbers that are long are NumPy arrays."""
    items = {path: items_of(column, start, end, read, arrays=arrays) for path, column in part.columns.items()}
    return samples_of_items(items, end - start)


def own_times(part: StreamPart, start: int, end: int, read: Read) -> Int64Array:
    """The own times (n,) of the samples begin <= index < end, NO_TIME if they have none."""
    column = next((column for path, column in part.columns.items() if is_time_column(path)), None)
    if column is None:
        return np.full(end - start, NO_TIME, np.int64)
    return times_of_column(column, start, end, read)


def is_time_column(path: str) -> bool:
    """Whether a column holds the samples' own times."""
    outer, _, inner = path.rpartition("/")
    return plain_name(inner) == "microseconds" and plain_name(outer.rpartition("/")[2]) in TIMES


def samples_of_items(items: Mapping[str, Items], count: int) -> list[Any]:
    """The samples as they were before flattening; a sample after the issue of a column lacks its field."""
    samples = _maps(tree_of({path: column for path, column in items.items() if column.count}), count)
    is_complete = all(column.count in (0, count) for column in items.values())
    return samples if is_complete else [_without_missing(sample) for sample in samples]


def tree_of(items: Mapping[str, Items]) -> dict[str, Any]:
    """The values of paths as nested maps; where a path is the prefix of others, these count."""
    tree: dict[str, Any] = {}
    for path, values in items.items():
        *outer, name = path.split("/", DEEPEST)
        inner = tree
        for part in outer:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner.setdefault(name, values)
    return tree


def with_elements(name: str, fields: dict[str, Any]) -> Any:
    """A map in a sample: the fields of a list of elements become a list of maps again, as long as the shortest."""
    if name != ELEMENTS:
        return fields
    known = {own: values for own, values in fields.items() if values is not MISSING}
    if not all(isinstance(values, list) for values in known.values()):
        return fields
    return [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=False)]


def _maps(tree: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """A map for each sample."""
    columns = [_values(name, inner, count) for name, inner in tree.items()]
    rows = zip(*columns, strict=True) if columns else [()] * count
    return [dict(zip(tree, row, strict=True)) for row in rows]


def _values(name: str, inner: dict[str, Any] | Items, count: int) -> list[Any]:
    if isinstance(inner, dict):
        return [with_elements(name, fields) for fields in _maps(inner, count)]
    return [*inner.values(), *[MISSING] * (count - inner.count)]


def _without_missing(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_missing(inner) if isinstance(inner, dict) else inner
        for name, inner in fields.items()
        if inner is not MISSING
    }


class Varied:
    """Marks items that differ in more than their numbers."""


VARIED = Varied()


@dataclass(frozen=True, eq=False)
class ColumnNumber(Number):
    """A number of all items of a column, by the offset of its bytes in their rows (n, size)."""

    rows: Bytes


def common_value(items: Items) -> Any:
    """The value of all items, with ColumnNumber where it holds numbers; VARIED where they differ in other ways."""
    rows = items.rows
    if rows is None or not len(rows):
        return VARIED
    first = rows[0].tobytes()
    template = template_of(first)
    if template is not None and template.fitting(rows) == len(rows):
        return _with_rows(template.tree, rows)
    if rows.shape[1] == 1 and bool(((rows <= LARGEST_SMALL) | (rows >= FIRST_NEGATIVE)).all()):
        return ColumnNumber(0, "i1", rows)
    return VARIED if bool((rows != rows[0]).any()) else plain_from_bytes(first)


def _with_rows(value: Any, rows: Bytes) -> Any:
    if isinstance(value, Number):
        return ColumnNumber(value.offset, value.kind, rows)
    if isinstance(value, list):
        return [_with_rows(inner, rows) for inner in value]
    return {name: _with_rows(inner, rows) for name, inner in value.items()} if isinstance(value, dict) else value


def times_of_column(own: LogColumn, start: int, end: int, read: Read) -> Int64Array:
    """Times (n,) in a column, NO_TIME for invalid ones."""
    times = np.full(end - start, NO_TIME, np.int64)
    for low in range(start, end, AT_ONCE):
        chunks = _times(items_of(own, low, min(low + AT_ONCE, end), read))
        times[low - start : low - start + len(chunks)] = chunks
    return times


def _times(items: Items) -> Int64Array:
    value = common_value(items)
    if isinstance(value, ColumnNumber) and np.dtype(value.kind).kind in "iu":
        times = column(value.rows, value).astype(np.int64)  # negative beyond its range
        return np.where(times > 0, times, NO_TIME)
    values = [item if type(item) is int and 0 < item < 1 << 63 else NO_TIME for item in items.values()]
    return np.array(values, np.int64)


def rows_of_columns(part: StreamPart, start: int, end: int, read: Read) -> "ColumnRows":
    """The samples begin <= index < end."""
    items = {path: items_of(column, start, end, read, arrays=True) for path, column in part.columns.items()}
    return ColumnRows(
        {path: items_of_path for path, items_of_path in items.items() if items_of_path.count}, end - start
    )


class ColumnRows(TreeRows):
    """Samples by the items of their columns; where those of one differ in more than numbers, they are unpacked."""

    def __init__(self, items: Mapping[str, Items], count: int) -> None:
        self._items = items
        self._count = count
        self._varied: list[tuple[str, ...]] = []
        super().__init__(_Samples(items, count), self._common(tree_of(items)))

    def _common(self, tree: Mapping[str, Any], *outer: str) -> dict[str, Any]:
        common = {}
        for name, inner in tree.items():
            path = (*outer, plain_name(name))
            if isinstance(inner, dict):
                common[name] = with_elements(name, self._common(inner, *path))
                continue
            common[name] = common_value(inner) if inner.count == self._count else VARIED
            if common[name] is VARIED:
                self._varied.append(path)
        return common

    def bytes_of(self, number: Number) -> Bytes:
        assert isinstance(number, ColumnNumber)
        return number.rows

    def node(self, *names: str, default: Any = None) -> Any:
        requested = [tuple(name.split(".")) for name in names]
        is_within = any(parts[: len(path)] == path for parts in requested for path in self._varied)
        return VARIED if is_within else super().node(*names, default=default)

    def _fields(self, *names: str, default: Any = None) -> list[Any]:
        """Assembled from the columns that such a field may be in."""
        firsts = {name.partition(".")[0] for name in names}
        items = {path: column for path, column in self._items.items() if plain_name(path.partition("/")[0]) in firsts}
        return [field(sample, *names, default=default) for sample in samples_of_items(items, self._count)]

    def has_parts(self, *names: str) -> NDArray[np.bool_]:
        return SampleRows.has_parts(self, *names) if self.node(*names) is VARIED else super().has_parts(*names)


class _Samples(Sequence[Any]):
    """All samples, each assembled on demand."""

    def __init__(self, items: Mapping[str, Items], count: int) -> None:
        self._items, self._count = items, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        return self._all[row]

    @cached_property
    def _all(self) -> list[Any]:
        return samples_of_items(self._items, self._count)
