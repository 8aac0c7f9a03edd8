"""Where the numbers of a message lie in its CDR bytes, when its texts and lengths are the same in every message.

Then all messages have one size, and a column of numbers goes to its place in all of them in one step of NumPy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

CDR_LITTLE_ENDIAN = bytes((0, 1, 0, 0))  # stands before every message; alignment counts from behind it
NUMBERS = {
    "bool": "u1", "byte": "u1", "char": "u1", "uint8": "u1", "int8": "i1", "uint16": "<u2", "int16": "<i2",
    "uint32": "<u4", "int32": "<i4", "uint64": "<u8", "int64": "<i8", "float32": "<f4", "float64": "<f8",
}  # fmt: skip

Constant = str | Sequence[str] | int


@cache
def typestore() -> Typestore:
    """The message definitions of ROS 2 Jazzy."""
    return get_typestore(Stores.ROS2_JAZZY)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The bytes that all messages share, and the places (offset, format, shape) of the numbers, by path.

    A path is written as in Python: `header.stamp.sec`, `transforms[0].transform.translation.x`.
    """

    template: NDArray[np.uint8]
    dtype: np.dtype[np.void]

    def rows(self, count: int) -> tuple[NDArray[np.uint8], NDArray[np.void]]:
        """New messages: their bytes (count, size), and the same memory as records whose fields are the paths."""
        data = np.empty((count, len(self.template)), np.uint8)
        data[:] = self.template
        return data, data.view(self.dtype)[:, 0]


@dataclass
class _Walk:
    """The state of laying out one message."""

    constants: Mapping[str, Constant]
    open_field: str | None = None
    data: bytearray = field(default_factory=lambda: bytearray(CDR_LITTLE_ENDIAN))
    places: dict[str, tuple[Any, int]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    parts: list[tuple[bytes, dict[str, tuple[Any, int]]]] = field(default_factory=list)

    def align(self, size: int) -> None:
        self.data.extend(bytes(-(len(self.data) - len(CDR_LITTLE_ENDIAN)) % size))

    def constant(self, path: str, default: Constant) -> Constant:
        self.used.add(path)
        return self.constants.get(path, default)

    def number(self, path: str, kind: str, shape: tuple[int, ...] = ()) -> None:
        base = np.dtype(NUMBERS[kind])
        self.align(base.itemsize)
        self.places[path] = ((base, shape), len(self.data))
        self.data.extend(bytes(base.itemsize * int(np.prod(shape, dtype=int))))

    def length(self, count: int) -> None:
        self.align(4)
        self.data.extend(count.to_bytes(4, "little"))

    def text(self, value: str) -> None:
        encoded = value.encode() + b"\0"
        self.length(len(encoded))
        self.data.extend(encoded)

    def message(self, path: str, msgtype: str) -> None:
        for name, description in typestore().fielddefs[msgtype][1]:
            self.member(f"{path}.{name}" if path else name, description)

    def member(self, path: str, description: Any) -> None:
        node, inner = description
        if path == self.open_field:
            self.align(4)
            self.parts.append((bytes(self.data), dict(self.places)))
            self.data, self.places = bytearray(), {}
        elif node == Nodetype.NAME:
            self.message(path, inner)
        elif node == Nodetype.BASE:
            self.base(path, inner[0])
        elif node == Nodetype.ARRAY:
            self.elements(path, *inner)
        else:
            self.sequence(path, inner[0])

    def base(self, path: str, kind: str) -> None:
        if kind == "string":
            self.text(str(self.constant(path, "")))
        else:
            self.number(path, kind)

    def elements(self, path: str, element: Any, count: int) -> None:
        node, inner = element
        if node == Nodetype.BASE and inner[0] != "string":
            self.number(path, inner[0], (count,))
        else:
            for index in range(count):
                self.member(f"{path}[{index}]", element)

    def sequence(self, path: str, element: Any) -> None:
        node, inner = element
        value = self.constant(path, 0)
        if node == Nodetype.BASE and inner[0] == "string":
            texts = [] if value == 0 else list(value) if not isinstance(value, int | str) else [str(value)]
            self.length(len(texts))
            for text in texts:
                self.text(text)
        elif isinstance(value, int):
            self.length(value)
            if value:
                self.elements(path, element, value)
        else:
            raise TypeError(f"{path}: expected a length, got {value!r}")


def layout_of(msgtype: str, constants: Mapping[str, Constant]) -> Layout:
    """The layout of a message; constants give its texts, lists of texts, and the lengths of its other lists, by path.

    A text that is not named is empty, a list that is not named has length 0.
    """
    return _closed_layout(msgtype, _key(constants))


def open_layout_of(msgtype: str, constants: Mapping[str, Constant], open_field: str) -> tuple[Layout, Layout]:
    """The layouts of what stands before and after a list of bytes whose length differs from message to message.

    The length itself belongs to neither: it is four bytes between the first layout and the bytes of the list.
    What stands after it must not need alignment.
    """
    return _open_layout(msgtype, _key(constants), open_field)


def _key(constants: Mapping[str, Constant]) -> tuple[tuple[str, Constant], ...]:
    return tuple((path, value if isinstance(value, str | int) else tuple(value)) for path, value in constants.items())


@lru_cache(maxsize=512)
def _closed_layout(msgtype: str, constants: tuple[tuple[str, Constant], ...]) -> Layout:
    walk = _walked(msgtype, dict(constants), None)
    return _layout(bytes(walk.data), walk.places)


@lru_cache(maxsize=512)
def _open_layout(msgtype: str, constants: tuple[tuple[str, Constant], ...], open_field: str) -> tuple[Layout, Layout]:
    walk = _walked(msgtype, dict(constants), open_field)
    (before,) = walk.parts
    if any(np.dtype(place[0]).base.itemsize > 1 for place in walk.places.values()):
        raise TypeError(f"{msgtype}: what stands after {open_field} depends on its length")
    return _layout(*before), _layout(bytes(walk.data), walk.places)


def _walked(msgtype: str, constants: Mapping[str, Constant], open_field: str | None) -> _Walk:
    walk = _Walk(constants, open_field)
    walk.message("", msgtype)
    unknown = set(constants) - walk.used
    if unknown:
        raise KeyError(f"{msgtype} has no text or list {sorted(unknown)}")
    return walk


def _layout(data: bytes, places: Mapping[str, tuple[Any, int]]) -> Layout:
    dtype = np.dtype(
        {
            "names": list(places),
            "formats": [place[0] for place in places.values()],
            "offsets": [place[1] for place in places.values()],
            "itemsize": len(data),
        }
    )
    return Layout(template=np.frombuffer(data, np.uint8), dtype=dtype)
