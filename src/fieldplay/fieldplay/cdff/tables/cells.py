"""A sample as cells by dotted names, as timestamp.microseconds or pos.0; other lists are one cell of JSON."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fieldplay.cdff.plain_data import json_of
from fieldplay_messages.errors import UsageError

Cells = dict[str, Any]
MOST_TOLD = 20
VALUE = "value"  # the column of samples that are no maps


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
            more = f" and {len(lists) - MOST_TOLD} more" if len(lists) > MOST_TOLD else ""
            told = ", ".join(lists[:MOST_TOLD]) + more if lists else "none"
            raise UsageError(f"there is no list {', '.join(unknown)}; there are {told}")

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
            cells[path] = json_of(value)
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
