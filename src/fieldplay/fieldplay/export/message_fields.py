"""The fields of a message type in the order of its definition, with their units, and their values in many messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype

from fieldplay.core.resources import config_folders
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.export.table_columns import (
    BOOLEAN,
    INTEGER,
    LARGE,
    LIST,
    NUMBER,
    SINGLE,
    TEXT,
)
from fieldplay.messages.cdr_layout import NUMBERS, Layout, MessageKind

UNITS = "units.yaml"
TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
BYTES = ("uint8", "byte", "char", "octet")
KINDS = {"bool": BOOLEAN, "uint64": LARGE, "float32": SINGLE, "float64": NUMBER, "string": TEXT}

Units = Mapping[str, Mapping[str, str]]  # by type and field


@cache
def known_units() -> Units:
    """The units of `config/units.yaml`."""
    file = next(folder / UNITS for folder in config_folders() if (folder / UNITS).is_file())
    found: Units = yaml.safe_load(file.read_text("utf-8"))
    return found


@dataclass(frozen=True, kw_only=True)
class MessageField:
    """A field of a message: what `description` says of it, as rosbags has it, is a number, a text, a time or a list.

    `path` is as layouts have it, `name` the one of a column: transforms[0].child_frame_id and transforms.0....
    """

    path: str
    description: Any
    unit: str = ""

    @property
    def name(self) -> str:
        return self.path.replace("[", ".").replace("]", "")

    @property
    def is_time(self) -> bool:
        return bool(self.description[0] == Nodetype.NAME)

    @property
    def is_list(self) -> bool:
        return self.description[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE)

    @property
    def element(self) -> Any:
        """Of a list, what each of its items is."""
        return self.description[1][0]

    @property
    def is_bytes(self) -> bool:
        """Whether it is a list of any length of bytes."""
        return self.description[0] == Nodetype.SEQUENCE and _base(self.element) in BYTES

    @property
    def holds_messages(self) -> bool:
        return self.is_list and self.element[0] == Nodetype.NAME

    @property
    def kind(self) -> str:
        """The kind of column that holds it; messages are JSON."""
        if self.is_time:
            return INTEGER
        if not self.is_list:
            return KINDS.get(_base(self.description), INTEGER)
        return TEXT if self.holds_messages else LIST + KINDS.get(_base(self.element), INTEGER)


def _base(description: Any) -> str:
    """The name of a plain type; "" of others."""
    return str(description[1][0]) if description[0] == Nodetype.BASE else ""


def fields_of_kind(kind: MessageKind, own_units: Mapping[str, str]) -> list[MessageField]:
    """The fields of a message; a list is one. `own_units` are those of a topic, by the field's first name."""
    found = list(_fields(kind, kind.msgtype, "", unit=""))
    own = ((field, own_units.get(field.path.partition(".")[0])) for field in found)
    return [field if unit is None else MessageField(**{**vars(field), "unit": unit}) for field, unit in own]


def _fields(kind: MessageKind, msgtype: str, before: str, *, unit: str) -> Iterator[MessageField]:
    units = known_units().get(msgtype, {})
    for name, description in kind.definitions[msgtype][1]:
        yield from _of_member(kind, f"{before}{name}", description, unit=units.get(name, unit))


def _of_member(kind: MessageKind, path: str, description: Any, *, unit: str) -> Iterator[MessageField]:
    node, inner = description
    if node == Nodetype.NAME and inner not in TIMES:
        yield from _fields(kind, inner, f"{path}.", unit=unit)
        return
    is_number = node != Nodetype.NAME and _base(description if node == Nodetype.BASE else inner[0]) in NUMBERS
    told = "ns" if node == Nodetype.NAME else unit if is_number else ""
    yield MessageField(path=path, description=description, unit=told)


def item_fields(kind: MessageKind, field: MessageField, index: int) -> list[MessageField]:
    """The fields of one item of a list."""
    return list(_of_member(kind, f"{field.path}[{index}]", field.element, unit=field.unit))


@dataclass(frozen=True, eq=False)
class MessageGroup:
    """n messages of one layout: their numbers as records (n,)."""

    kind: MessageKind
    layout: Layout
    rows: NDArray[np.void]

    def length(self, field: MessageField) -> int:
        """How many items a list has."""
        if field.description[0] == Nodetype.ARRAY:
            return int(field.description[1][1])
        constant = self.layout.constants[field.path]
        return constant if isinstance(constant, int) else len(constant)

    def values(self, field: MessageField) -> NDArray[Any] | list[Any]:
        """A time or number of each message (n,), a list of them (n, k); texts, lists of texts, and of messages."""
        if field.is_time:
            seconds = self.rows[f"{field.path}.sec"].astype(np.int64)
            return seconds * NS_PER_S + self.rows[f"{field.path}.nanosec"].astype(np.int64)
        if field.holds_messages:
            return self._messages(field)
        outer, _, index = field.path.rpartition("[")
        if not field.is_list and index.endswith("]") and field.path not in self.layout.constants:
            return self._item(outer, int(index[:-1]))
        if field.path in self.layout.constants:
            constant = self.layout.constants[field.path]
            if isinstance(constant, int):  # a list of numbers
                return self._numbers(field, field.element) if constant else np.zeros((len(self.rows), 0))
            return [constant if isinstance(constant, str) else list(constant)] * len(self.rows)
        if field.kind == LIST + TEXT:
            return [[self.layout.text(f"{field.path}[{at}]") for at in range(self.length(field))]] * len(self.rows)
        return self._numbers(field, field.element if field.is_list else field.description)

    def _item(self, path: str, index: int) -> NDArray[Any] | list[Any]:
        """A number or a text of a list."""
        texts = self.layout.constants.get(path)
        if isinstance(texts, int) or texts is None:
            return np.asarray(self.rows[path][:, index])
        return [texts[index]] * len(self.rows)

    def _numbers(self, field: MessageField, description: Any) -> NDArray[Any]:
        column = self.rows[field.path]
        return column.astype(bool) if _base(description) == "bool" else column

    def _messages(self, field: MessageField) -> list[Any]:
        """Of each message the list of those within it, as plain data."""
        items = [self._items(field, index) for index in range(self.length(field))]
        return [list(row) for row in zip(*items, strict=True)] if items else [[]] * len(self.rows)

    def _items(self, field: MessageField, index: int) -> list[Any]:
        """Of each message one of those within it."""
        fields = item_fields(self.kind, field, index)
        columns = [_plain_values(self.values(each)) for each in fields]
        if fields[0].path.endswith("]"):  # a list of times
            return columns[0]
        names = [each.path.removeprefix(f"{field.path}[{index}].").split(".") for each in fields]
        return [_nested(names, row) for row in zip(*columns, strict=True)]


def _plain_values(values: NDArray[Any] | list[Any]) -> list[Any]:
    """As Python has them; numbers of 32 bits with the digits that tell them."""
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind == "f" and values.dtype.itemsize < np.dtype(float).itemsize:
        values = values.astype("U").astype(float)
    plain: list[Any] = values.tolist()
    return plain


def _nested(names: Sequence[Sequence[str]], values: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (*outer, last), value in zip(names, values, strict=True):
        place = found
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    return found
