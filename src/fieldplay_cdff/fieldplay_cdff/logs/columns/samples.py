"""Samples of a flattened log: put together again out of their columns, or read as the columns that they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_cdff.logs.columns.items import Items, Read, items_of
from fieldplay_cdff.logs.index.file_index import (
    NO_TIME,
    LogColumn,
    Places,
    StreamPart,
)
from fieldplay_cdff.logs.index.times import TIMES
from fieldplay_cdff.logs.msgpack_decode.layouts import (
    Bytes,
    Number,
    column,
    template_of,
)
from fieldplay_cdff.logs.msgpack_decode.number_lists import FIRST_NEGATIVE, LARGEST_SMALL
from fieldplay_cdff.logs.msgpack_decode.values import plain_from_bytes, plain_name
from fieldplay_cdff.logs.types.rows import (
    MISSING,
    SampleRows,
    TreeRows,
    field,
)

DEEPEST = 32
ELEMENTS = "elements"  # of vectors with names: what stands below is a list for each sample
AT_ONCE = 1 << 16  # times


def samples_of_columns(part: StreamPart, begin: int, end: int, read: Read, *, arrays: bool) -> list[Any]:
    """The samples begin <= index < end; with `arrays`, lists of numbers that are long are NumPy arrays."""
    items = {path: items_of(column, begin, end, read, arrays=arrays) for path, column in part.columns.items()}
    return samples_of_items(items, end - begin)


def own_times(part: StreamPart, begin: int, end: int, read: Read) -> Places:
    """The own times (n,) of the samples begin <= index < end, NO_TIME where there are none."""
    column = next((column for path, column in part.columns.items() if is_time_column(path)), None)
    if column is None:
        return np.full(end - begin, NO_TIME, np.int64)
    return times_of_column(column, begin, end, read)


def is_time_column(path: str) -> bool:
    """Whether a column holds the samples' own times."""
    outer, _, inner = path.rpartition("/")
    return plain_name(inner) == "microseconds" and plain_name(outer.rpartition("/")[2]) in TIMES


def samples_of_items(items: Mapping[str, Items], count: int) -> list[Any]:
    """So many samples as they were before they were flattened; one behind the fault of a column lacks its field."""
    samples = _maps(tree_of({path: own for path, own in items.items() if own.count}), count)
    is_whole = all(own.count in (0, count) for own in items.values())
    return samples if is_whole else [_without_missing(sample) for sample in samples]


def tree_of(items: Mapping[str, Items]) -> dict[str, Any]:
    """What belongs to paths as maps within maps; where a path is the begin of others, these count."""
    tree: dict[str, Any] = {}
    for path, own in items.items():
        *outer, name = path.split("/", DEEPEST)
        inner = tree
        for part in outer:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner.setdefault(name, own)
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
    """Stands for items that differ in more than their numbers."""


VARIED = Varied()


@dataclass(frozen=True, eq=False)
class ColumnNumber(Number):
    """A number of all items of a column, by the place of its bytes in their rows (n, size)."""

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
        return ColumnNumber(value.place, value.kind, rows)
    if isinstance(value, list):
        return [_with_rows(inner, rows) for inner in value]
    return {name: _with_rows(inner, rows) for name, inner in value.items()} if isinstance(value, dict) else value


def times_of_column(own: LogColumn, begin: int, end: int, read: Read) -> Places:
    """Times (n,) in a column, NO_TIME for what is none."""
    times = np.full(end - begin, NO_TIME, np.int64)
    for low in range(begin, end, AT_ONCE):
        found = _times(items_of(own, low, min(low + AT_ONCE, end), read))
        times[low - begin : low - begin + len(found)] = found
    return times


def _times(items: Items) -> Places:
    value = common_value(items)
    if isinstance(value, ColumnNumber) and np.dtype(value.kind).kind in "iu":
        times = column(value.rows, value).astype(np.int64)  # negative beyond its range
        return np.where(times > 0, times, NO_TIME)
    found = [item if type(item) is int and 0 < item < 1 << 63 else NO_TIME for item in items.values()]
    return np.array(found, np.int64)


def rows_of_columns(part: StreamPart, begin: int, end: int, read: Read) -> "ColumnRows":
    """The samples begin <= index < end."""
    items = {path: items_of(column, begin, end, read, arrays=True) for path, column in part.columns.items()}
    return ColumnRows({path: own for path, own in items.items() if own.count}, end - begin)


class ColumnRows(TreeRows):
    """Samples by the items of their columns; where those of one differ in more than numbers, they are unpacked."""

    def __init__(self, items: Mapping[str, Items], count: int) -> None:
        self._items = items
        self._count = count
        self._varied: list[tuple[str, ...]] = []
        super().__init__(_Samples(items, count), self._common(tree_of(items)))

    def _common(self, tree: Mapping[str, Any], *outer: str) -> dict[str, Any]:
        found = {}
        for name, inner in tree.items():
            path = (*outer, plain_name(name))
            if isinstance(inner, dict):
                found[name] = with_elements(name, self._common(inner, *path))
                continue
            found[name] = common_value(inner) if inner.count == self._count else VARIED
            if found[name] is VARIED:
                self._varied.append(path)
        return found

    def bytes_of(self, number: Number) -> Bytes:
        assert isinstance(number, ColumnNumber)
        return number.rows

    def node(self, *names: str, default: Any = None) -> Any:
        wanted = [tuple(name.split(".")) for name in names]
        is_within = any(parts[: len(path)] == path for parts in wanted for path in self._varied)
        return VARIED if is_within else super().node(*names, default=default)

    def _fields(self, *names: str, default: Any = None) -> list[Any]:
        """Put together from the columns that such a field may lie in."""
        firsts = {name.partition(".")[0] for name in names}
        items = {path: own for path, own in self._items.items() if plain_name(path.partition("/")[0]) in firsts}
        return [field(sample, *names, default=default) for sample in samples_of_items(items, self._count)]

    def has_parts(self, *names: str) -> NDArray[np.bool_]:
        return SampleRows.has_parts(self, *names) if self.node(*names) is VARIED else super().has_parts(*names)


class _Samples(Sequence[Any]):
    """All samples, put together when one is asked for."""

    def __init__(self, items: Mapping[str, Items], count: int) -> None:
        self._items, self._count = items, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        return self._all[row]

    @cached_property
    def _all(self) -> list[Any]:
        return samples_of_items(self._items, self._count)
