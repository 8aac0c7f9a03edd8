"""Where the numbers of a message lie in its bytes: one walk through the definition of its type, to write and to read.

Messages whose texts and lengths of lists are the same have one size and one layout: then a column of numbers goes to
its place in all of them, or is taken from there, in one step of NumPy.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from fieldplay.core.errors import ArchiveError

CDR_LITTLE_ENDIAN = bytes((0, 1, 0, 0))  # stands before every message; alignment counts from behind it
CDR_BIG_ENDIAN = bytes((0, 0, 0, 0))
NUMBERS = {
    "bool": "u1", "byte": "u1", "char": "u1", "octet": "u1", "uint8": "u1", "int8": "i1", "uint16": "u2",
    "int16": "i2", "uint32": "u4", "int32": "i4", "uint64": "u8", "int64": "i8", "float32": "f4", "float64": "f8",
}  # fmt: skip
LONGEST_LIST = 512  # of messages in a message, such as transforms, where columns are wanted

Constant = str | Sequence[str] | int
Fields = Mapping[str, Any]  # as rosbags has them: constants and fields by message type
FieldFormat = tuple[Any, int]  # the format of a number or a list of them, and its offset


@cache
def typestore() -> Typestore:
    """The message definitions of ROS 2 Jazzy."""
    return get_typestore(Stores.ROS2_JAZZY)


@dataclass(frozen=True, kw_only=True)
class MessageKind:
    """How the messages of a topic are laid out: the type's name, all definitions, and the serialization."""

    msgtype: str
    definitions: Fields
    is_cdr: bool


@cache
def kind_of_type(msgtype: str) -> MessageKind:
    """The kind of a type as ROS 2 Jazzy defines it, in CDR."""
    return MessageKind(msgtype=msgtype, definitions=typestore().fielddefs, is_cdr=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The bytes that all messages share, and the places (offset, format, shape) of the numbers, by path.

    A path is written as in Python: `header.stamp.sec`, `transforms[0].transform.translation.x`. `constants` are the
    texts, lists of texts, and lengths of other lists, `stretches` the begins and ends of their bytes. Of a layout that
    was found in a message, the template is that message.
    """

    template: NDArray[np.uint8]
    dtype: np.dtype[np.void]
    constants: Mapping[str, Constant] = field(default_factory=dict)
    spans: Sequence[tuple[int, int]] = ()

    def __len__(self) -> int:
        return self.dtype.itemsize

    def rows(self, count: int) -> tuple[NDArray[np.uint8], NDArray[np.void]]:
        """New messages: their bytes (count, size), and the same memory as records whose fields are the paths."""
        data = np.empty((count, len(self)), np.uint8)
        data[:] = self.template
        return data, data.view(self.dtype)[:, 0]

    def records(self, data: NDArray[np.uint8]) -> NDArray[np.void]:
        """The numbers (n,) of messages (n, size or more) of this layout, in their memory where it can be."""
        return np.ascontiguousarray(data[:, : len(self)]).view(self.dtype)[:, 0]

    @cached_property
    def shared(self) -> NDArray[np.intp]:
        """Where the bytes of texts and lengths stand."""
        return np.concatenate([np.zeros(0, np.intp), *(np.arange(*span) for span in self.spans)])

    @cached_property
    def _shared_bytes(self) -> NDArray[np.uint8]:
        return self.template[self.shared]

    def fits(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of the messages (n, size of the template) have the texts and lengths of this layout."""
        if data.shape[1] != len(self.template):
            return np.zeros(len(data), bool)
        is_equal: NDArray[np.bool_] = (data[:, self.shared] == self._shared_bytes).all(axis=1)
        return is_equal

    @property
    def paths(self) -> tuple[str, ...]:
        """The numbers and the lists of them, also those that are empty."""
        empty = (path for path, constant in self.constants.items() if constant == 0)
        return (*(self.dtype.names or ()), *empty)

    def number(self, path: str) -> Any:
        """A number of the template, or a list of them (n,)."""
        if self.constants.get(path) == 0:
            return np.zeros(0)
        return self.records(self.template[None])[0][path]

    def text(self, path: str) -> str:
        """A text of the template."""
        return str(self.constants.get(path, ""))


@dataclass
class _Walk(ABC):
    """Goes through the members of a message in the order of their bytes; writing and reading differ in the bytes."""

    kind: MessageKind
    order: str = "<"
    offset: int = 0
    formats: dict[str, FieldFormat] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    shared: list[tuple[int, int]] = field(default_factory=list)

    @abstractmethod
    def skip(self, size: int) -> None:
        """Pass some bytes."""

    @abstractmethod
    def length(self, path: str) -> int:
        """The length of a list, which stands here."""

    @abstractmethod
    def text(self, path: str, index: int | None = None) -> str:
        """A text, or one of a list, which stands here."""

    @abstractmethod
    def check_list(self, path: str, count: int) -> None:
        """Refuse a list of messages that cannot be so long."""

    def align(self, size: int) -> None:
        if self.kind.is_cdr:
            self.skip((len(CDR_LITTLE_ENDIAN) - self.offset) % size)

    def message(self, path: str, msgtype: str) -> None:
        if msgtype not in self.kind.definitions:
            raise ArchiveError(f"expected a bag that defines {msgtype}, got none")
        for name, description in self.kind.definitions[msgtype][1]:
            self.member(f"{path}.{name}" if path else name, description)

    def member(self, path: str, description: Any) -> None:
        node, inner = description
        if node == Nodetype.NAME:
            self.message(path, inner)
        elif _is_text(description):
            self.constants[path] = self.text(path)
        elif node == Nodetype.BASE:
            self.number(path, inner[0])
        elif node == Nodetype.ARRAY:
            self.elements(path, *inner)
        else:
            self.sequence(path, inner[0])

    def number(self, path: str, kind: str, shape: tuple[int, ...] = ()) -> None:
        if kind not in NUMBERS:
            raise ArchiveError(f"{path}: expected a number or a text, got a {kind}")
        item = np.dtype(self.order + NUMBERS[kind])
        self.align(item.itemsize)
        self.formats[path] = ((item, shape), self.offset)
        self.skip(item.itemsize * (shape[0] if shape else 1))

    def elements(self, path: str, element: Any, count: int) -> None:
        node, inner = element
        if node == Nodetype.BASE and not _is_text(element):
            self.number(path, inner[0], (count,))
            return
        self.check_list(path, count)
        for index in range(count):
            self.member(f"{path}[{index}]", element)

    def sequence(self, path: str, element: Any) -> None:
        count = self.length(path)
        if _is_text(element):
            self.constants[path] = tuple(self.text(path, index) for index in range(count))
            return
        self.constants[path] = count
        if count:
            self.elements(path, element, count)


def _is_text(description: Any) -> bool:
    node, inner = description
    return bool(node == Nodetype.BASE and inner[0] == "string")


@dataclass
class _Writing(_Walk):
    """Makes the bytes of a message whose texts and lengths are given."""

    known: Mapping[str, Constant] = field(default_factory=dict)
    open_field: str | None = None
    data: bytearray = field(default_factory=lambda: bytearray(CDR_LITTLE_ENDIAN))
    used: set[str] = field(default_factory=set)
    before: Layout | None = None

    def skip(self, size: int) -> None:
        self.put(bytes(size))

    def put(self, data: bytes) -> None:
        self.data += data
        self.offset += len(data)

    def member(self, path: str, description: Any) -> None:
        if path != self.open_field:
            super().member(path, description)
            return
        self.align(4)
        self.before = self.layout()
        self.data, self.formats, self.shared, self.offset = bytearray(), {}, [], 0

    def constant(self, path: str, default: Constant) -> Constant:
        self.used.add(path)
        return self.known.get(path, default)

    def length(self, path: str) -> int:
        value = self.constant(path, 0)
        self.put_length(value if isinstance(value, int) else len(self.texts(path)))
        return value if isinstance(value, int) else len(self.texts(path))

    def texts(self, path: str) -> Sequence[str]:
        value = self.constant(path, ())
        return [value] if isinstance(value, str) else [] if isinstance(value, int) else value

    def text(self, path: str, index: int | None = None) -> str:
        value = str(self.constant(path, "")) if index is None else self.texts(path)[index]
        encoded = value.encode() + b"\0"
        self.put_length(len(encoded))
        self.put(encoded)
        return value

    def sequence(self, path: str, element: Any) -> None:
        value = self.known.get(path, 0)
        if not _is_text(element) and not isinstance(value, int):
            raise TypeError(f"{path}: expected a length, got {value!r}")
        super().sequence(path, element)

    def check_list(self, path: str, count: int) -> None:
        pass  # whoever writes knows

    def put_length(self, count: int) -> None:
        self.align(4)
        self.put(count.to_bytes(4, "little"))

    def layout(self) -> Layout:
        return _layout(bytes(self.data), self, len(self.data))


@dataclass
class _Reading(_Walk):
    """Finds texts and lengths in the bytes of a message, which may be damaged.

    What is `strict` takes only what columns are made of: texts in UTF-8 with a zero behind, no list of messages that
    is too long, and nothing behind the message but what fills it up to four bytes.
    """

    data: bytes | memoryview = b""
    strict: bool = True

    def whole(self, size: int) -> None:
        if self.offset + size > len(self.data):
            got = f"{len(self.data)} bytes, which end before their last field"
            raise ArchiveError(f"expected a whole {self.kind.msgtype}, got {got}")

    def skip(self, size: int) -> None:
        self.whole(size)
        self.offset += size

    def take(self, size: int) -> bytes:
        self.whole(size)
        chunk = bytes(self.data[self.offset : self.offset + size])
        self.shared.append((self.offset, self.offset + size))
        self.offset += size
        return chunk

    def length(self, path: str) -> int:
        self.align(4)
        return int.from_bytes(self.take(4), "little" if self.order == "<" else "big")

    def text(self, path: str, index: int | None = None) -> str:
        encoded = self.take(self.length(path))
        if not self.strict:
            return encoded.rstrip(b"\0").decode("utf-8", "replace")
        if self.kind.is_cdr and encoded[-1:] != b"\0":
            raise ArchiveError(f"{path}: expected a text with a zero behind it, got none")
        try:
            return (encoded[:-1] if self.kind.is_cdr else encoded).decode()
        except UnicodeDecodeError as error:
            raise ArchiveError(f"{path}: expected a text in UTF-8: {error}") from None

    def check_list(self, path: str, count: int) -> None:
        self.whole(count)  # a damaged length must not be counted to its end
        if self.strict and count > LONGEST_LIST:
            raise ArchiveError(f"{path}: {count} elements are too many for columns")

    def start(self) -> None:
        if not self.kind.is_cdr:
            return
        head = self.take(2)
        if head not in (CDR_LITTLE_ENDIAN[:2], CDR_BIG_ENDIAN[:2]):
            raise ArchiveError(f"expected CDR, got a header of {bytes(self.data[:4]).hex()}")
        self.order = "<" if head[1] else ">"
        self.skip(2)

    def end(self) -> None:
        remaining = len(self.data) - self.offset
        if self.strict and remaining > 3:
            raise ArchiveError(f"expected a {self.kind.msgtype} of {self.offset} bytes, got {remaining} more")


def layout_of(msgtype: str, constants: Mapping[str, Constant]) -> Layout:
    """The layout of a message to be written; constants give its texts and the lengths of its lists, by path.

    A text that is not named is empty, a list that is not named has length 0.
    """
    return _closed_layout(msgtype, _key(constants))


def open_layout_of(msgtype: str, constants: Mapping[str, Constant], open_field: str) -> tuple[Layout, Layout]:
    """The layouts of what stands before and after a list of bytes whose length differs from message to message.

    The length itself belongs to neither: it is four bytes between the first layout and the bytes of the list.
    What stands after it must not need alignment.
    """
    return _open_layout(msgtype, _key(constants), open_field)


def layout_of_message(data: bytes | memoryview, kind: MessageKind, *, strict: bool = False) -> Layout:
    """The layout that a message has; ArchiveError where it is cut off or of another form."""
    walk = _Reading(kind, data=data, strict=strict)
    walk.start()
    walk.message("", kind.msgtype)
    walk.end()
    return _layout(data, walk, walk.offset)


def _key(constants: Mapping[str, Constant]) -> tuple[tuple[str, Constant], ...]:
    return tuple((path, value if isinstance(value, str | int) else tuple(value)) for path, value in constants.items())


@lru_cache(maxsize=512)
def _closed_layout(msgtype: str, constants: tuple[tuple[str, Constant], ...]) -> Layout:
    return _write_layout(msgtype, dict(constants), None).layout()


@lru_cache(maxsize=512)
def _open_layout(msgtype: str, constants: tuple[tuple[str, Constant], ...], open_field: str) -> tuple[Layout, Layout]:
    walk = _write_layout(msgtype, dict(constants), open_field)
    if any(np.dtype(entry[0]).base.itemsize > 1 for entry in walk.formats.values()):
        raise TypeError(f"{msgtype}: what stands after {open_field} depends on its length")
    if walk.before is None:
        raise KeyError(f"{msgtype} has no list {open_field}")
    return walk.before, walk.layout()


def _write_layout(msgtype: str, constants: Mapping[str, Constant], open_field: str | None) -> _Writing:
    walk = _Writing(kind_of_type(msgtype), offset=len(CDR_LITTLE_ENDIAN), known=constants, open_field=open_field)
    walk.message("", msgtype)
    unknown = set(constants) - walk.used
    if unknown:
        raise KeyError(f"{msgtype} has no text or list {sorted(unknown)}")
    return walk


def _layout(data: bytes | memoryview, walk: _Walk, size: int) -> Layout:
    dtype = np.dtype(
        {
            "names": list(walk.formats),
            "formats": [entry[0] for entry in walk.formats.values()],
            "offsets": [entry[1] for entry in walk.formats.values()],
            "itemsize": size,
        }
    )
    constants, spans = dict(walk.constants), tuple(walk.shared)
    return Layout(template=np.frombuffer(data, np.uint8), dtype=dtype, constants=constants, spans=spans)
