"""Samples of a flattened log: each field of all of them is a column, and they are put together again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fieldplay_archive.logs.column_items import Items, Read, items_of
from fieldplay_archive.logs.column_values import times_of_column
from fieldplay_archive.logs.field_names import plain_name
from fieldplay_archive.logs.file_index import NO_TIME, Part, Places
from fieldplay_archive.logs.rows import MISSING
from fieldplay_archive.logs.sample_time import TIMES

DEEPEST = 32
ELEMENTS = "elements"  # of vectors with names: what stands below is a list for each sample


def samples_of_columns(part: Part, begin: int, end: int, read: Read, *, arrays: bool) -> list[Any]:
    """The samples begin <= index < end; with `arrays`, lists of numbers that are long are NumPy arrays."""
    items = {path: items_of(column, begin, end, read, arrays=arrays) for path, column in part.columns.items()}
    return samples_of_items(items, end - begin)


def own_times(part: Part, begin: int, end: int, read: Read) -> Places:
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
