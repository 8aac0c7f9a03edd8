"""What the items of a column have in common: all of it but their numbers, which are arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_archive.logs.column_forms import Bytes
from fieldplay_archive.logs.column_items import Items, Read, items_of
from fieldplay_archive.logs.file_index import NO_TIME, Column, Places
from fieldplay_archive.logs.packed_numbers import FIRST_NEGATIVE, LARGEST_SMALL
from fieldplay_archive.logs.template import Number, column, template_of
from fieldplay_archive.logs.unpacking import plain_from_bytes

AT_ONCE = 1 << 16  # times


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


def times_of_column(own: Column, begin: int, end: int, read: Read) -> Places:
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
