"""Samples of a flattened log as columns again: their numbers are read without any sample being put together."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.logs.column_forms import Bytes
from fieldplay_archive.logs.column_items import Items, Read, items_of
from fieldplay_archive.logs.column_values import VARIED, ColumnNumber, common_value
from fieldplay_archive.logs.field_names import plain_name
from fieldplay_archive.logs.file_index import Part
from fieldplay_archive.logs.flattened import samples_of_items, tree_of, with_elements
from fieldplay_archive.logs.rows import Rows, TreeRows, field
from fieldplay_archive.logs.template import Number


def rows_of_columns(part: Part, begin: int, end: int, read: Read) -> "ColumnRows":
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
        return Rows.has_parts(self, *names) if self.node(*names) is VARIED else super().has_parts(*names)


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
