"""A sample as cells by dotted names, as timestamp.microseconds or pos.0, and the columns that hold them.

Other lists are one cell of JSON.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError

ENCODER = json.JSONEncoder(ensure_ascii=False)
STRANGE = re.compile("NaN|-?Infinity")  # which JSON itself has not
Cells = dict[str, Any]
MAX_LISTED = 20
VALUE = "value"  # the column of samples that are no maps
BOOLEAN, COUNT, INTEGER, LARGE, NUMBER, TEXT = "boolean", "count", "integer", "large integer", "number", "text"
SINGLE, LIST = "number of 32 bits", "list of "  # of messages alone; a list of one of the kinds
PLAIN: dict[str, Any] = {
    BOOLEAN: pl.Boolean, COUNT: pl.Int64, INTEGER: pl.Int64, LARGE: pl.UInt64, NUMBER: pl.Float64, TEXT: pl.String,
    SINGLE: pl.Float32,
}  # fmt: skip
TYPES: dict[str, Any] = {**PLAIN, **{LIST + kind: pl.List(inner) for kind, inner in PLAIN.items()}}
EXACT = 1 << 53  # whole numbers up to here are exact as floating point
LARGEST, LARGEST_UNSIGNED = (1 << 63) - 1, (1 << 64) - 1
Columns = dict[str, str]  # kinds by name, in the order of the table
# Of some rows by the column's name; None where a row has none. Lists of one length may be an array (n, k).
Values = Mapping[str, Sequence[Any] | NDArray[Any]]


# Samples as plain data for JSON: what JSON has no number for becomes a text, bytes become hexadecimal digits.


def to_plain(value: Any) -> Any:
    """The value with "NaN", "Infinity" and "-Infinity" in the place of such numbers, as protobuf's JSON has them."""
    if isinstance(value, float):
        return (
            value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        )
    if isinstance(value, dict):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    return value.hex() if isinstance(value, bytes) else value if isinstance(value, int | str | None) else str(value)


def to_json(value: Any) -> str:
    """The value as a line of JSON."""
    try:
        text = ENCODER.encode(value)
    except TypeError:
        return ENCODER.encode(to_plain(value))
    if "N" not in text and "I" not in text:
        return text
    if '"' in text:  # a text may have these words too
        return ENCODER.encode(to_plain(value))
    return STRANGE.sub(r'"\g<0>"', text)


@dataclass(frozen=True)
class Lists:
    """Which lists get a column for each item: all, or those whose name or whole dotted path is given."""

    names: Collection[str] = ()
    is_all: bool = False
    _known: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)
    _items: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)

    def expands(self, path: str) -> bool:
        """Whether the list at a path gets columns."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self.is_all or path in self.names or _name(path) in self.names
        return known

    def require_known(self) -> None:
        """UsageError, once samples were gone through, if names were given that none of their lists has.

        What is within a list without columns is not known.
        """
        there = {name for path in self._known for name in (path, _name(path))}
        unknown = sorted(
            name for name in self.names if name not in there and not any(name.startswith(f"{path}.") for path in there)
        )
        if unknown:
            lists = list(dict.fromkeys(_name(path) for path in self._known))
            more = f" and {len(lists) - MAX_LISTED} more" if len(lists) > MAX_LISTED else ""
            text = ", ".join(lists[:MAX_LISTED]) + more if lists else "none"
            raise UsageError(f"there is no list {', '.join(unknown)}; there are {text}")

    def item_paths(self, path: str, count: int) -> list[str]:
        """The names of a list's items, so many or more."""
        names = self._items.setdefault(path, [])
        if len(names) < count:
            names += [f"{path}.{index}" for index in range(len(names), count)]
        return names


def lists_of_word(word: str) -> Lists:
    """all, none, or names with commas between them."""
    if word in ("all", "none"):
        return Lists(is_all=word == "all")
    return Lists(names=frozenset(name.strip() for name in word.split(",") if name.strip()))


def cells_of(sample: Any, lists: Lists) -> Cells:
    """The cells of a sample, in its order; what is nothing (nil) has none."""
    cells: Cells = {}
    if isinstance(sample, dict):
        _add_map(cells, "", sample, lists=lists)
    else:
        _add(cells, VALUE, sample, lists=lists)
    return cells


def _add_map(cells: Cells, prefix: str, values: dict[str, Any], *, lists: Lists) -> None:
    for key, value in values.items():
        kind = type(value)
        if kind is float or kind is int or kind is str or kind is bool:
            cells[f"{prefix}{key}"] = value
        else:
            _add(cells, f"{prefix}{key}", value, lists=lists)


def _add(cells: Cells, path: str, value: Any, *, lists: Lists) -> None:
    if isinstance(value, dict):
        _add_map(cells, f"{path}.", value, lists=lists)
    elif isinstance(value, list):
        if lists.expands(path):
            for name, item in zip(lists.item_paths(path, len(value)), value, strict=False):
                if type(item) is float:
                    cells[name] = item
                else:
                    _add(cells, name, item, lists=lists)
        else:
            cells[path] = to_json(value)
    elif isinstance(value, bytes):
        cells[path] = value.hex()
    elif value is not None:
        cells[path] = value


def _name(path: str) -> str:
    """The field's own name; an item of a list within one has that of the outer list."""
    parts = path.split(".")
    while len(parts) > 1 and parts[-1].isdigit():
        parts.pop()
    return parts[-1]


def values_of(rows: Sequence[Cells]) -> Values:
    """The cells of some rows, column by column."""
    if not rows:
        return {}
    names = list(rows[0])
    if all(list(row) == names for row in rows):
        columns = dict(zip(names, zip(*(row.values() for row in rows), strict=True), strict=True))
        return {name: columns[name] for name in ordered_names(names)}
    names = ordered_names(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def columns_of(values: Values) -> Columns:
    """The columns that hold these values."""
    return {name: kind_of_values(own) for name, own in values.items()}


def ordered_names(names: Iterable[str]) -> list[str]:
    """Each name once, those below one field together, in the order of appearance; so pos.2 stands behind pos.1."""
    order: dict[str, tuple[int, ...]] = {}
    first: dict[str, int] = {}
    for name in names:
        if name not in order:
            parts = name.split(".")
            prefixes = [".".join(parts[: count + 1]) for count in range(len(parts))]
            order[name] = tuple(first.setdefault(prefix, len(first)) for prefix in prefixes)
    return sorted(order, key=order.__getitem__)


def kind_of_values(values: Sequence[Any] | NDArray[Any]) -> str:
    """The narrowest kind that holds all values exactly."""
    types = set(map(type, values)) - {type(None)}
    if types == {bool}:
        return BOOLEAN
    if types == {float}:
        return NUMBER
    if types == {int}:
        whole = [value for value in values if value is not None]
        return _kind_of_whole(min(whole), max(whole))
    if types == {int, float}:
        return common_kind(kind_of_values([value for value in values if type(value) is int]), NUMBER)
    return TEXT


def _kind_of_whole(low: int, high: int) -> str:
    if low >= -EXACT and high <= EXACT:
        return COUNT
    if low >= -LARGEST - 1 and high <= LARGEST:
        return INTEGER
    return LARGE if low >= 0 and high <= LARGEST_UNSIGNED else TEXT


def merge_columns(columns: Columns, further: Columns) -> Columns:
    """Merge columns, so that they hold the values of both."""
    names = list(columns) if further.keys() <= columns.keys() else ordered_names([*columns, *further])
    return {name: common_kind(columns.get(name), further.get(name)) for name in names}


def common_kind(kind: str | None, other: str | None) -> str:
    """The kind that holds values of both exactly: of whole numbers that are too large for that, as texts."""
    if kind is None or other is None or kind == other:
        return kind or other or TEXT
    pair = {kind, other}
    return NUMBER if pair == {COUNT, NUMBER} else INTEGER if pair == {COUNT, INTEGER} else TEXT


def is_same_table(columns: Columns, others: Columns) -> bool:
    """Whether two tables have the same columns of the same types."""
    return list(columns) == list(others) and all(TYPES[columns[name]] == TYPES[others[name]] for name in columns)


def series_of(name: str, kind: str, values: Sequence[Any] | NDArray[Any] | None, *, count: int) -> pl.Series:
    """A column of some rows; without values, a column of nothing."""
    if values is None:
        return pl.Series(name, [None] * count, dtype=TYPES[kind])
    if isinstance(values, np.ndarray):
        return _series_of_array(name, TYPES[kind], values)
    if kind == TEXT:
        values = [value if value is None or isinstance(value, str) else to_json(value) for value in values]
    return pl.Series(name, values, dtype=TYPES[kind], strict=False)


def _series_of_array(name: str, kind: Any, values: NDArray[Any]) -> pl.Series:
    """A column of numbers (n,), or of lists of one length (n, k)."""
    if values.ndim == 2 and not values.shape[1]:
        return pl.Series(name, [[]] * len(values), dtype=kind)
    series: pl.Series = pl.Series(name, np.ascontiguousarray(values, values.dtype.newbyteorder("="))).cast(kind)
    return series
