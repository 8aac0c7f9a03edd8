"""The columns of a table: their order, and what kind of value each holds, as far as samples have shown."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from fieldplay.cdff.plain_data import json_of
from fieldplay.cdff.tables.cells import Cells

BOOLEAN, COUNT, INTEGER, LARGE, NUMBER, TEXT = "boolean", "count", "integer", "large integer", "number", "text"
TYPES = {
    BOOLEAN: pl.Boolean, COUNT: pl.Int64, INTEGER: pl.Int64, LARGE: pl.UInt64, NUMBER: pl.Float64, TEXT: pl.String,
}  # fmt: skip
EXACT = 1 << 53  # whole numbers up to here are exact as floating point
LARGEST, LARGEST_UNSIGNED = (1 << 63) - 1, (1 << 64) - 1

Columns = dict[str, str]  # kinds by name, in the order of the table
Values = dict[str, Sequence[Any]]  # of some rows by the column's name; None where a row has none


def values_of(rows: Sequence[Cells]) -> Values:
    """The cells of some rows, column by column."""
    if not rows:
        return {}
    names = list(rows[0])
    if all(list(row) == names for row in rows):
        columns = dict(zip(names, zip(*(row.values() for row in rows), strict=True), strict=True))
        return {name: columns[name] for name in in_order(names)}
    names = in_order(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def columns_of(values: Values) -> Columns:
    """The columns that hold these values."""
    return {name: kind_of_values(own) for name, own in values.items()}


def in_order(names: Iterable[str]) -> list[str]:
    """Each name once, those below one field together, in the order of appearance; so pos.2 stands behind pos.1."""
    places: dict[str, tuple[int, ...]] = {}
    first: dict[str, int] = {}
    for name in names:
        if name not in places:
            parts = name.split(".")
            prefixes = [".".join(parts[: count + 1]) for count in range(len(parts))]
            places[name] = tuple(first.setdefault(prefix, len(first)) for prefix in prefixes)
    return sorted(places, key=places.__getitem__)


def kind_of_values(values: Sequence[Any]) -> str:
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
        return joined_kind(kind_of_values([value for value in values if type(value) is int]), NUMBER)
    return TEXT


def _kind_of_whole(low: int, high: int) -> str:
    if low >= -EXACT and high <= EXACT:
        return COUNT
    if low >= -LARGEST - 1 and high <= LARGEST:
        return INTEGER
    return LARGE if low >= 0 and high <= LARGEST_UNSIGNED else TEXT


def joined(columns: Columns, further: Columns) -> Columns:
    """Columns that hold what both do."""
    names = list(columns) if further.keys() <= columns.keys() else in_order([*columns, *further])
    return {name: joined_kind(columns.get(name), further.get(name)) for name in names}


def joined_kind(kind: str | None, other: str | None) -> str:
    """The kind that holds values of both exactly: of whole numbers that are too large for that, as texts."""
    if kind is None or other is None or kind == other:
        return kind or other or TEXT
    pair = {kind, other}
    return NUMBER if pair == {COUNT, NUMBER} else INTEGER if pair == {COUNT, INTEGER} else TEXT


def is_same_table(columns: Columns, others: Columns) -> bool:
    """Whether two tables have the same columns of the same types."""
    return list(columns) == list(others) and all(TYPES[columns[name]] == TYPES[others[name]] for name in columns)


def series_of(name: str, kind: str, values: Sequence[Any] | None, *, count: int) -> pl.Series:
    """A column of some rows; without values, a column of nothing."""
    if values is None:
        return pl.Series(name, [None] * count, dtype=TYPES[kind])
    if kind == TEXT:
        values = [value if value is None or isinstance(value, str) else json_of(value) for value in values]
    return pl.Series(name, values, dtype=TYPES[kind], strict=False)
