"""Messages as columns: where only their numbers differ, a NumPy view of their bytes is all it takes."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import (
    Constant,
    Layout,
    MessageKind,
    kind_of_type,
    layout_of_message,
    typestore,
)
from fieldplay.messages.message_batches import Part

UNREADABLE = (SerdeError, ValueError, IndexError, KeyError, AssertionError, OverflowError, struct.error)
CACHED_LAYOUTS = 32


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

    def list(self, path: str) -> NDArray[np.float64]:
        """The numbers (n, k) of a list, which may be empty."""
        has_any = path in (self.rows.dtype.names or ())
        return self.rows[path].astype(np.float64) if has_any else np.zeros((len(self.rows), 0))

    def length(self, path: str) -> int:
        """The length of a list."""
        constant = self.texts[path]
        return constant if isinstance(constant, int) else len(constant)

    def text(self, path: str) -> str:
        """A text; empty where the messages have none at this path."""
        return str(self.texts.get(path, ""))

    def names(self, path: str) -> tuple[str, ...]:
        """A list of texts."""
        texts = self.texts[path]
        return () if isinstance(texts, str | int) else tuple(texts)

    def time_ns(self, path: str = "header.stamp") -> NDArray[np.int64]:
        """Times (n,) that stand in the messages; the log times where all are 0."""
        field_ns = self.field_ns(path)
        return field_ns if field_ns.any() else self.stamp_ns

    def field_ns(self, path: str) -> NDArray[np.int64]:
        """A field of type Time as nanoseconds (n,); in int64 from the start, as its seconds are an int32."""
        field_ns: NDArray[np.int64] = self.rows[f"{path}.sec"].astype(np.int64) * NS_PER_S
        field_ns += self.rows[f"{path}.nanosec"]
        return field_ns


class Decoder:
    """Makes columns of the messages of a type; what cannot be read is left out and counted.

    Layouts that were met are known again, so that few messages are walked through. `strict` is as in reading a layout.
    """

    def __init__(self, kind: str | MessageKind, *, strict: bool = True) -> None:
        self.kind = kind if isinstance(kind, MessageKind) else kind_of_type(kind)
        self._strict = strict
        self._known: list[Layout] = []
        self.failed = 0

    def columns(self, parts: Iterable[Part]) -> Iterator[Columns]:
        """The messages of some parts, layout by layout."""
        for part in parts:
            for rows, layout in self.groups(part.data):
                if isinstance(layout, ArchiveError):
                    self.failed += len(rows)
                else:
                    yield Columns(part.stamp_ns[rows], layout.records(_rows(part.data, rows)), layout.constants)

    def groups(self, data: NDArray[np.uint8]) -> Iterator[tuple[NDArray[np.intp], Layout | ArchiveError]]:
        """Messages (n, size) by their layout: which they are; one that has none comes alone, with what is wrong."""
        left: NDArray[np.intp] = np.arange(len(data))
        for layout in self._known:
            fits = layout.fits(_rows(data, left))
            if fits.any():
                yield left[fits], layout
                left = left[~fits]
            if not len(left):
                return
        while len(left):
            try:
                layout = layout_of_message(data[left[0]].tobytes(), self.kind, strict=self._strict)
            except ArchiveError as error:
                yield left[:1], error
                left = left[1:]
                continue
            self._known = [layout, *self._known[: CACHED_LAYOUTS - 1]]
            fits = layout.fits(_rows(data, left))
            yield left[fits], layout
            left = left[~fits]


def _rows(data: NDArray[np.uint8], rows: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Some rows in their order, without a copy where they are all."""
    return data if len(rows) == len(data) else data[rows]


@dataclass(frozen=True, eq=False)
class FieldNumbers:
    """Numbers of many messages: columns (n,) or (n, k) by path, and which of the messages asked for they are."""

    values: Mapping[str, NDArray[Any]]
    rows: NDArray[np.intp]
    issues: tuple[tuple[int, str], ...]  # messages that are none of their kind, and why

    def only(self, keep_mask: NDArray[np.bool_]) -> "FieldNumbers":
        """The messages of a mask (n,)."""
        values = {path: values[keep_mask] for path, values in self.values.items()}
        return FieldNumbers(values, self.rows[keep_mask], self.issues)

    def finite(self, paths: Sequence[str]) -> NDArray[np.bool_]:
        """Which of the messages (n,) have numbers at these paths that are neither NaN nor infinite."""
        good = np.ones(len(self.rows), bool)
        for path in paths:
            good &= np.isfinite(self[path].reshape(len(self.rows), -1)).all(axis=1)
        return good

    def with_zeros(self, path: str, wrong: NDArray[np.bool_]) -> "FieldNumbers":
        """The same with zeros at a path of some messages (n,)."""
        column = self.values[path].copy()
        column[wrong] = 0
        return FieldNumbers({**self.values, path: column}, self.rows, self.issues)

    def __getitem__(self, path: str) -> NDArray[np.float64]:
        return self.values[path].astype(float)

    def vectors(self, path: str, axes: str = "xyz") -> NDArray[np.float64]:
        """Members x, y, z as columns (n, 3)."""
        return np.stack([self[f"{path}.{axis}"] for axis in axes], axis=1)


def numbers_of_messages(messages: Sequence[bytes], decoder: Decoder, paths: Sequence[str]) -> FieldNumbers:
    """Numbers of messages of one topic, of whatever lengths, in their order."""
    taken: list[tuple[NDArray[np.intp], NDArray[np.void]]] = []
    issues: list[tuple[int, str]] = []
    sizes = np.array([len(message) for message in messages], np.intp)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        joined = b"".join(messages[row] for row in members.tolist())
        data = np.frombuffer(joined, np.uint8).reshape(len(members), int(size))
        for rows, layout in decoder.groups(data):
            issue = str(layout) if isinstance(layout, ArchiveError) else _missing_field(layout, decoder, paths)
            if isinstance(layout, ArchiveError) or issue:
                issues += [(int(row), issue) for row in members[rows]]
            else:
                taken.append((members[rows], layout.records(_rows(data, rows))))
    rows = np.concatenate([np.zeros(0, np.intp), *(members for members, _ in taken)])
    order = np.argsort(rows)
    values = {path: np.concatenate([part[path] for _, part in taken])[order] if taken else _none() for path in paths}
    return FieldNumbers(values, rows[order], tuple(sorted(issues)))


def _none() -> NDArray[np.float64]:
    return np.zeros(0)


def _missing_field(layout: Layout, decoder: Decoder, paths: Sequence[str]) -> str:
    """Describe the first number that the messages do not have; empty where they have all."""
    missing = next((path for path in paths if path not in (layout.dtype.fields or {})), "")
    return f"expected {decoder.kind.msgtype} with {missing}, got none" if missing else ""


def decode_message(msgtype: str, data: NDArray[np.uint8]) -> Any | None:
    """One message (size,) as an object of rosbags, None where it cannot be read.

    This is for whoever draws single messages of many kinds: images, clouds, paths, states.
    """
    try:
        return typestore().deserialize_cdr(data.tobytes(), msgtype)
    except UNREADABLE:
        return None


def time_of_header(message: Any, log_ns: int) -> int:
    """The time in a message's header, or the log time where it is 0."""
    stamp = message.header.stamp
    return int(stamp.sec) * NS_PER_S + int(stamp.nanosec) or log_ns
