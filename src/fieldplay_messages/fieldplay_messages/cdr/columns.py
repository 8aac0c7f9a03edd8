"""Messages of one length as columns: where only their numbers differ, a NumPy view of the bytes is all it takes."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError

from fieldplay_messages.batches import Part
from fieldplay_messages.cdr.layout import Constant, Layout, layout_of, typestore
from fieldplay_messages.stamps import NS_PER_S

UNREADABLE = (SerdeError, ValueError, IndexError, KeyError, AssertionError, OverflowError, struct.error)
KEPT_LAYOUTS = 32
LONGEST_LIST = 512  # of messages in a message, such as transforms
ENDIANNESS = 1  # the byte of a message's head that tells it; the others carry nothing that is needed


@dataclass(frozen=True, eq=False)
class Columns:
    """Messages of one layout: log times (n,), their numbers by path as records (n,), and their texts by path."""

    stamp_ns: NDArray[np.int64]
    rows: NDArray[np.void]
    texts: Mapping[str, Constant]

    def numbers(self, *paths: str) -> NDArray[np.float64]:
        """Some of the numbers (n, paths)."""
        return np.stack([self.rows[path].astype(np.float64) for path in paths], axis=-1)

    def axes(self, path: str, axes: str = "xyz") -> NDArray[np.float64]:
        """The members of a vector or quaternion (n, axes)."""
        return self.numbers(*(f"{path}.{axis}" for axis in axes))

    def text(self, path: str) -> str:
        return str(self.texts.get(path, ""))

    def time_ns(self, path: str = "header.stamp") -> NDArray[np.int64]:
        """Times (n,) that stand in the messages; the log times where all are 0."""
        seconds = self.rows[f"{path}.sec"].astype(np.int64)
        found: NDArray[np.int64] = seconds * NS_PER_S + self.rows[f"{path}.nanosec"].astype(np.int64)
        return found if found.any() else self.stamp_ns


@dataclass(frozen=True, eq=False)
class _Known:
    """A layout that was met, and which of its bytes are the same in all its messages."""

    layout: Layout
    texts: Mapping[str, Constant]
    is_constant: NDArray[np.bool_]

    @property
    def size(self) -> int:
        return len(self.layout.template)

    def fits(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of the messages (n, size) have this layout; up to three bytes may follow, which some writers pad."""
        if not 0 <= data.shape[1] - self.size <= 3:
            return np.zeros(len(data), bool)
        same = data[:, : self.size][:, self.is_constant] == self.layout.template[self.is_constant]
        found: NDArray[np.bool_] = same.all(axis=1)
        return found

    def columns(self, stamp_ns: NDArray[np.int64], data: NDArray[np.uint8]) -> Columns:
        rows = np.ascontiguousarray(data[:, : self.size]).view(self.layout.dtype)[:, 0]
        return Columns(stamp_ns, rows, self.texts)


class Decoder:
    """Makes columns of the messages of a type; what cannot be read is left out and counted."""

    def __init__(self, msgtype: str) -> None:
        self._msgtype = msgtype
        self._known: list[_Known] = []
        self.failed = 0

    def columns(self, parts: Iterable[Part]) -> Iterator[Columns]:
        """The messages of some parts, layout by layout."""
        for part in parts:
            yield from self._columns_of(part)

    def _columns_of(self, part: Part) -> Iterator[Columns]:
        left: NDArray[np.intp] = np.arange(len(part.stamp_ns))
        for known in list(self._known):
            fits = known.fits(part.data[left])
            if fits.any():
                yield known.columns(part.stamp_ns[left[fits]], part.data[left[fits]])
                left = left[~fits]
            if not len(left):
                return
        while len(left):
            learned = self._learn(part.data[left[0]])
            if learned is None:
                self.failed += 1
                left = left[1:]
                continue
            known, rewritten = learned
            fits = known.fits(part.data[left])
            if fits[0]:
                yield known.columns(part.stamp_ns[left[fits]], part.data[left[fits]])
                left = left[~fits]
            else:  # of the other byte order, or with something in the gaps between its numbers
                yield known.columns(part.stamp_ns[left[:1]], rewritten)
                left = left[1:]

    def _learn(self, data: NDArray[np.uint8]) -> tuple[_Known, NDArray[np.uint8]] | None:
        """The layout of a message, and the message (1, size) as we would write it."""
        message = decoded(self._msgtype, data)
        if message is None:
            return None
        try:
            texts: dict[str, Constant] = {}
            _note_texts(texts, self._msgtype, message)
            layout = layout_of(self._msgtype, texts)
            rewritten = bytes(typestore().serialize_cdr(message, self._msgtype, little_endian=True))
        except UNREADABLE:
            return None
        known = _Known(layout, texts, _constant_bytes(layout))
        self._known = [known, *self._known[: KEPT_LAYOUTS - 1]]
        return known, np.frombuffer(rewritten, np.uint8)[None, :]


def decoded(msgtype: str, data: NDArray[np.uint8]) -> Any | None:
    """One message (size,) as an object, None where it cannot be read."""
    try:
        return typestore().deserialize_cdr(data.tobytes(), msgtype)
    except UNREADABLE:
        return None


def time_of_header(message: Any, log_ns: int) -> int:
    """The time in a message's header, or the log time where it is 0."""
    stamp = message.header.stamp
    return int(stamp.sec) * NS_PER_S + int(stamp.nanosec) or log_ns


def _constant_bytes(layout: Layout) -> NDArray[np.bool_]:
    """Bytes that are no numbers: texts, lengths and the gaps of alignment. Who fills the gaps is read another way."""
    constant = np.ones(len(layout.template), bool)
    constant[:4] = False
    constant[ENDIANNESS] = True
    for base, offset, *_ in (layout.dtype.fields or {}).values():
        constant[offset : offset + base.itemsize] = False
    return constant


def _note_texts(found: dict[str, Constant], msgtype: str, message: Any, *, path: str = "") -> None:
    """Note all texts of a message, and the lengths of its lists, by their paths."""
    for name, (node, inner) in typestore().fielddefs[msgtype][1]:
        value = getattr(message, name)
        place = f"{path}.{name}" if path else name
        if node == Nodetype.NAME:
            _note_texts(found, str(inner), value, path=place)
        elif node == Nodetype.BASE:
            if inner[0] == "string":
                found[place] = value
        else:
            _note_list(found, (node, inner[0]), value, path=place)


def _note_list(found: dict[str, Constant], kind: tuple[Nodetype, Any], values: Any, *, path: str) -> None:
    node, (element, inner) = kind
    if element == Nodetype.BASE and inner[0] == "string":
        found[path] = tuple(values)
        return
    if node == Nodetype.SEQUENCE:
        found[path] = len(values)
    if element == Nodetype.NAME:
        if len(values) > LONGEST_LIST:
            raise ValueError(f"{path}: {len(values)} elements are too many for columns")
        for index, value in enumerate(values):
            _note_texts(found, str(inner), value, path=f"{path}[{index}]")
