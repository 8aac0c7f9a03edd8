"""Where the numbers of a serialized message lie, in ROS 1's form or in CDR, and columns of them from many messages.

Messages of one topic mostly have the same lengths of texts and lists: then the numbers of all of them are taken out by
NumPy at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype

from fieldplay_messages.errors import ArchiveError

NUMBERS = {
    "bool": "u1", "byte": "u1", "char": "u1", "uint8": "u1", "int8": "i1", "uint16": "<u2", "int16": "<i2",
    "uint32": "<u4", "int32": "<i4", "uint64": "<u8", "int64": "<i8", "float32": "<f4", "float64": "<f8",
}  # fmt: skip
CDR_HEADER = 4
LITTLE_ENDIAN = 1

Fields = Mapping[str, Any]  # as rosbags has them: constants and fields by message type


@dataclass(frozen=True, kw_only=True)
class MessageKind:
    """How the messages of a topic are laid out: the type's name, all definitions, and the serialization."""

    msgtype: str
    definitions: Fields
    is_cdr: bool


@dataclass
class MessageLayout:
    """The numbers of one message: (format, place) by path such as `header.stamp.sec`; its texts; all its lengths."""

    kind: MessageKind
    data: bytes
    place: int = 0
    numbers: dict[str, tuple[Any, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)  # by place

    def require(self, size: int) -> None:
        if self.place + size > len(self.data):
            got = f"{len(self.data)} bytes, which end before their last field"
            raise ArchiveError(f"expected a whole {self.kind.msgtype}, got {got}")

    def align(self, size: int) -> None:
        if self.kind.is_cdr:
            self.place += (CDR_HEADER - self.place) % size

    def length(self) -> int:
        self.align(4)
        self.require(4)
        found = int.from_bytes(self.data[self.place : self.place + 4], "little")
        self.lengths[self.place] = found
        self.place += 4
        return found

    def walk(self, path: str, msgtype: str) -> None:
        if msgtype not in self.kind.definitions:
            raise ArchiveError(f"expected a bag that defines {msgtype}, got none")
        for name, description in self.kind.definitions[msgtype][1]:
            self.member(f"{path}.{name}" if path else name, description)

    def member(self, path: str, description: Any) -> None:
        node, inner = description
        if node == Nodetype.NAME:
            self.walk(path, inner)
        elif node == Nodetype.BASE:
            self.base(path, inner[0])
        else:
            self.elements(path, inner[0], inner[1] if node == Nodetype.ARRAY else self.length())

    def base(self, path: str, kind: str, shape: tuple[int, ...] = ()) -> None:
        if kind == "string":
            size = self.length()
            self.require(size)
            self.texts[path] = self.data[self.place : self.place + size].rstrip(b"\0").decode("utf-8", "replace")
            self.place += size
            return
        item = np.dtype(NUMBERS[kind])
        size = item.itemsize * (shape[0] if shape else 1)
        if size:
            self.align(item.itemsize)
        self.require(size)
        self.numbers[path] = ((item, shape), self.place)
        self.place += size

    def elements(self, path: str, element: Any, count: int) -> None:
        node, inner = element
        if node == Nodetype.BASE and inner[0] != "string":
            self.base(path, inner[0], (count,))
            return
        self.require(count)  # a damaged length must not be counted to its end
        for index in range(count):
            self.member(f"{path}[{index}]", element)


def layout_of_message(data: bytes, kind: MessageKind) -> MessageLayout:
    """The layout of one message; ArchiveError where it is cut off or of another form."""
    layout = MessageLayout(kind, data)
    if kind.is_cdr:
        layout.require(CDR_HEADER)
        if data[1] != LITTLE_ENDIAN:
            raise ArchiveError(f"expected CDR with the lowest byte first, got a header of {data[:CDR_HEADER].hex()}")
        layout.place = CDR_HEADER
    layout.walk("", kind.msgtype)
    return layout


def number_of(layout: MessageLayout, path: str) -> Any:
    """A number of one message, or a list of them (n,)."""
    (item, shape), place = layout.numbers[path]
    found = np.frombuffer(layout.data[place : place + item.itemsize * (shape[0] if shape else 1)], item)
    return found if shape else found[0]


@dataclass(frozen=True, eq=False)
class Columns:
    """Numbers of many messages: columns (n,) or (n, k) by path, and which of the messages asked for they are."""

    values: Mapping[str, NDArray[Any]]
    rows: NDArray[np.intp]
    faults: tuple[tuple[int, str], ...]  # messages that are none of their kind, and why

    def only(self, kept: NDArray[np.bool_]) -> "Columns":
        """The messages of a mask (n,)."""
        return Columns({path: values[kept] for path, values in self.values.items()}, self.rows[kept], self.faults)

    def finite(self, paths: Sequence[str]) -> NDArray[np.bool_]:
        """Which of the messages (n,) have numbers at these paths that are neither NaN nor infinite."""
        good = np.ones(len(self.rows), bool)
        for path in paths:
            good &= np.isfinite(self[path].reshape(len(self.rows), -1)).all(axis=1)
        return good

    def with_zeros(self, path: str, wrong: NDArray[np.bool_]) -> "Columns":
        """The same with zeros at a path of some messages (n,)."""
        column = self.values[path].copy()
        column[wrong] = 0
        return Columns({**self.values, path: column}, self.rows, self.faults)

    def __getitem__(self, path: str) -> NDArray[np.float64]:
        return self.values[path].astype(float)

    def vectors(self, path: str, axes: str = "xyz") -> NDArray[np.float64]:
        """Members x, y, z as columns (n, 3)."""
        return np.stack([self[f"{path}.{axis}"] for axis in axes], axis=1)


def columns_of_messages(messages: Sequence[bytes], kind: MessageKind, paths: Sequence[str]) -> Columns:
    """Numbers of messages of one topic, in their order."""
    taken, rows, faults = [], [], []
    for members, layout in _groups(messages, kind):
        missing = [] if isinstance(layout, ArchiveError) else [path for path in paths if path not in layout.numbers]
        if isinstance(layout, ArchiveError) or missing:
            fault = f"expected {kind.msgtype} with {missing[0]}, got none" if missing else str(layout)
            faults += [(int(row), fault) for row in members]
            continue
        places = {path: layout.numbers[path] for path in paths}
        names, formats, offsets = list(places), [f for f, _ in places.values()], [place for _, place in places.values()]
        size = len(layout.data)
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
        taken.append(np.frombuffer(b"".join(messages[row] for row in members), dtype))
        rows.append(members)
    order = np.argsort(np.concatenate(rows)) if rows else np.zeros(0, np.intp)
    values = {path: np.concatenate([part[path] for part in taken])[order] if taken else _none() for path in paths}
    return Columns(values, np.concatenate(rows)[order] if rows else order, tuple(faults))


def _none() -> NDArray[np.float64]:
    return np.zeros(0)


def _groups(
    messages: Sequence[bytes], kind: MessageKind
) -> Iterator[tuple[NDArray[np.intp], MessageLayout | ArchiveError]]:
    """Messages whose texts and lists have the same lengths, group by group."""
    left: NDArray[np.intp] = np.arange(len(messages))
    sizes = np.array([len(message) for message in messages])
    while len(left):
        try:
            layout = layout_of_message(messages[left[0]], kind)
        except ArchiveError as error:
            yield left[:1], error
            left = left[1:]
            continue
        same = left[sizes[left] == sizes[left[0]]]
        data = np.frombuffer(b"".join(messages[row] for row in same), np.uint8).reshape(len(same), -1)
        for place, length in layout.lengths.items():
            data = data[(alike := (data[:, place : place + 4].copy().view("<u4")[:, 0] == length))]
            same = same[alike]
        yield same, layout
        left = np.setdiff1d(left, same, assume_unique=True)
