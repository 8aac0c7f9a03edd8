"""What a bag gives, whatever its form: topics, each in spans whose messages are read when they are asked for."""

import struct
import threading
import xml.etree.ElementTree as ElementTree
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore

from fieldplay.bags.compression import UNPACK_LIMIT
from fieldplay.bags.storage import MessageOffsets, StoredTopic
from fieldplay.core.errors import (
    ArchiveError,
    DamagedMessageError,
    Defect,
    Report,
    UsageError,
    pluralize,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import CDR_BIG_ENDIAN, MessageKind
from fieldplay.streams.stream import Span

SUFFIX, FOLDER, PACKAGE = ".msg", "msg", "package.xml"
STAMPS = {"<": struct.Struct("<II"), ">": struct.Struct(">II")}
STAMP_OFFSET = 4  # behind `seq` in ROS 1, behind CDR's header in ROS 2
MSG_FORMS, IDL_FORMS = {"ros1msg", "ros2msg"}, {"ros2idl", "omgidl"}
IDL_START = "=" * 80 + "\n"
ALL = slice(None)


# Message definitions that a user hands over for types that a bag does not define: .msg files of packages.


class MessageFiles:
    """The .msg files below a folder: of one package or several, as in a workspace, or without any package.

    The type of PACKAGE/msg/NAME.msg is PACKAGE/msg/NAME, where package.xml may have another name of the package. A file
    that lies elsewhere is of any package: it defines the type that the bag has by its name.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"--msgs: expected a folder of .msg files, got {folder}")
        self._by_type: dict[str, Path] = {}
        self._by_name: dict[str, Path] = {}
        for path in sorted(folder.rglob(f"*{SUFFIX}")):
            if path.parent.name == FOLDER:
                self._by_type.setdefault(f"{_package(path.parent.parent)}/{FOLDER}/{path.stem}", path)
            else:
                self._by_name.setdefault(path.stem, path)
        if not self._by_type and not self._by_name:
            raise UsageError(f"--msgs: expected .msg files in {folder}, got none")

    def definitions_of(self, msgtype: str) -> dict[str, Any]:
        """Return the fields of a type and of those in it, by their names, as far as files define them."""
        definitions: dict[str, Any] = {}
        waiting = [msgtype]
        while waiting:
            name = waiting.pop()
            path = self._by_type.get(name) or self._by_name.get(name.rpartition("/")[2])
            if path is None or name in definitions:
                continue
            try:
                definitions |= get_types_from_msg(path.read_text("utf-8"), name)
            except (TypesysError, OSError, UnicodeDecodeError) as error:
                raise UsageError(f"--msgs: {path}: expected a message definition: {error}") from None
            waiting += [inner for _, field in definitions[name][1] for inner in names_in(field)]
        return definitions


def _package(folder: Path) -> str:
    """The name of a package: what its package.xml says, else that of its folder."""
    try:
        name = ElementTree.parse(folder / PACKAGE).findtext("name")
    except (OSError, ElementTree.ParseError):
        name = None
    return (name or folder.resolve().name).strip()


def names_in(field: Any) -> Iterator[str]:
    """The message types that a field refers to."""
    kind, inner = field
    if kind == Nodetype.NAME:
        yield inner
    elif kind != Nodetype.BASE:
        yield from names_in(inner[0])


@dataclass(frozen=True, kw_only=True)
class BagReading:
    """How a bag is read: definitions of types that it lacks, and how many bytes a chunk or message may unpack to."""

    message_files: MessageFiles | None = None
    unpack_limit: int = UNPACK_LIMIT


AS_USUAL = BagReading()


class TopicReader(Protocol):
    """A topic's messages in the order of their times, span by span; safe to call from several threads."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> MessageKind: ...
    @property
    def spans(self) -> Sequence[Span]: ...

    def stamps(self, index: int) -> NDArray[np.int64]:
        """The times (n,) of the messages of a span."""

    def messages(self, index: int) -> list[bytes | None]:
        """The messages of a span, None where one cannot be read, which is reported."""

    def message(self, index: int, row: int) -> bytes:
        """One message of a span, or ArchiveError."""


@dataclass(frozen=True, eq=False)
class IndexedTopic:
    """A topic's type and the offsets of its messages; `stored` is the topic as a file describes it.

    `convert` makes messages of `kind` of what lies there, where that is of an older ROS 2.
    """

    kind: MessageKind
    offsets: MessageOffsets
    stored: StoredTopic | None = None
    convert: Callable[[bytes], bytes] | None = None


def mixed_types(file: str, name: str, topic: IndexedTopic, first: IndexedTopic) -> Defect:
    """Describe messages of a topic that are not read because an earlier publisher has another type."""
    count, msgtype, expected = len(topic.offsets.stamp_ns), topic.kind.msgtype, first.kind.msgtype
    got = f"{pluralize(count, 'message')} of {msgtype}" + (" with other fields" if msgtype == expected else "")
    return Defect(file=file, kind="mixed_types", message=f"{name}: expected {expected}, got {got}, which are left out")


class Bag(ABC):
    """An open bag of which it is known where each message lies. What is damaged is reported once."""

    title = "a bag of ROS 2"  # what it is, for people

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self.report = report
        self._damaged: set[int] = set()
        self._damaged_messages: set[Defect] = set()
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def indexed(self) -> Mapping[str, IndexedTopic]:
        """The topics that have messages, as the bag calls them."""

    @abstractmethod
    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        """Messages of a block, in the order of their places there; ArchiveError at the first that is damaged."""

    def read_topic(self, name: str, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        """The same of a topic, in the layout of its kind; DamagedMessageError at a message that is none of it."""
        convert = self.indexed[name].convert
        messages = self.read(block, offsets)
        return messages if convert is None else map(convert, messages)

    def view(self, name: str, block: int, offset: int) -> bytes | memoryview:
        """One message of a topic; where it can be had so, as a view of the chunk that it lies in."""
        (message,) = self.read_topic(name, block, [offset])
        return message

    def report_damaged_message(self, name: str, stamp_ns: int, error: ArchiveError) -> None:
        """Report a message that cannot be read, once."""
        seconds, rest = divmod(stamp_ns, NS_PER_S)
        message = f"{name}: the message logged at {seconds}.{rest:09d} s: {error}; it is left out"
        issue = Defect(file=self.name, kind="damaged_message", stream=name, message=message)
        with self._lock:
            is_new = issue not in self._damaged_messages
            self._damaged_messages.add(issue)
        if is_new:
            self.report(issue)

    @abstractmethod
    def report_damaged(self, block: int, message: str) -> None:
        """Report what is wrong with a block."""

    @abstractmethod
    def close(self) -> None: ...

    @property
    def profiles(self) -> Mapping[str, object]:
        """How topics were offered, as far as the metadata beside its files say it."""
        return {}

    @property
    def custom_data(self) -> Mapping[str, str]:
        """What its writer says of it: texts by their keys."""
        return {}

    @property
    def kinds(self) -> Mapping[str, MessageKind]:
        """The type of each topic."""
        return {name: topic.kind for name, topic in self.indexed.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        """The messages of each topic."""
        return {name: len(topic.offsets.stamp_ns) for name, topic in self.indexed.items()}

    def topic(self, name: str, rows_per_span: int) -> "BagTopic":
        """One topic, in spans of so many messages."""
        return BagTopic(self, name, rows_per_span)

    def is_newly_damaged(self, block: int) -> bool:
        """Whether a damaged block has not been reported before."""
        with self._lock:
            is_new = block not in self._damaged
            self._damaged.add(block)
        return is_new


class BagTopic:
    """One topic of a bag; see TopicReader."""

    def __init__(self, bag: Bag, name: str, rows_per_span: int) -> None:
        self.name = name
        self.kind = bag.indexed[name].kind
        self._bag = bag
        self._offsets = bag.indexed[name].offsets
        self._rows = rows_per_span

    @cached_property
    def spans(self) -> Sequence[Span]:
        return _spans(self._offsets.stamp_ns, self._rows)

    def stamps(self, index: int) -> NDArray[np.int64]:
        return self._offsets.stamp_ns[_part(index, self._rows)]

    def messages(self, index: int, chosen: slice = ALL) -> list[bytes | None]:
        """Of a span, or of some rows of it."""
        part = _part(index, self._rows)
        blocks, offsets = self._offsets.block[part][chosen], self._offsets.offset[part][chosen]
        stamp_ns = self._offsets.stamp_ns[part][chosen]
        messages: list[bytes | None] = [None] * len(blocks)
        order = np.argsort(blocks, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1) if len(blocks) else ():
            block = int(blocks[rows[0]])
            try:
                for row, message in self._read(block, rows.tolist(), offsets, stamp_ns):
                    messages[row] = message
            except ArchiveError as error:
                if self._bag.is_newly_damaged(block):
                    self._bag.report_damaged(block, f"{error}; its messages are left out")
        return messages

    def _read(
        self, block: int, rows: Sequence[int], offsets: NDArray[np.int64], stamp_ns: NDArray[np.int64]
    ) -> Iterator[tuple[int, bytes]]:
        """Messages of one block by their rows; one that is none of its type is reported, and the next ones read."""
        done = 0
        while done < len(rows):
            left = rows[done:]
            try:
                for row, message in zip(
                    left, self._bag.read_topic(self.name, block, offsets[left].tolist()), strict=True
                ):
                    yield row, message
                    done += 1
            except DamagedMessageError as error:
                self._bag.report_damaged_message(self.name, int(stamp_ns[rows[done]]), error)
                done += 1

    def message(self, index: int, row: int) -> bytes:
        at = index * self._rows + row
        block, offsets = int(self._offsets.block[at]), [int(self._offsets.offset[at])]
        (message,) = self._bag.read_topic(self.name, block, offsets)
        return message

    def view(self, index: int, row: int) -> bytes | memoryview:
        """The same, perhaps as a view of the chunk that it lies in."""
        at = index * self._rows + row
        return self._bag.view(self.name, int(self._offsets.block[at]), int(self._offsets.offset[at]))

    def block(self, index: int, row: int) -> int:
        """In which block of the bag a message lies."""
        return int(self._offsets.block[index * self._rows + row])


def _part(index: int, rows: int) -> slice:
    return slice(index * rows, (index + 1) * rows)


def _spans(stamp_ns: NDArray[np.int64], rows: int) -> Sequence[Span]:
    parts = (stamp_ns[start : start + rows] for start in range(0, len(stamp_ns), rows))
    return [Span(int(part[0]), int(part[-1]), len(part)) for part in parts]


class HeaderTimeTopic:
    """A topic whose messages are ordered and timed by their headers; see TopicReader.

    All of them are read once for that. Only times and indices are kept.
    """

    def __init__(self, base: TopicReader, rows_per_span: int) -> None:
        self.name, self.kind = base.name, base.kind
        self._base = base
        entries: list[tuple[int, int, int]] = []
        for index in range(len(base.spans)):
            for row, message in enumerate(base.messages(index)):
                if message is not None and len(message) >= 12:
                    entries.append((header_stamp_ns(message, base.kind), index, row))
        self._entries = np.array(sorted(entries), np.int64).reshape(-1, 3)
        self._rows = rows_per_span
        self.spans: Sequence[Span] = _spans(self._entries[:, 0], rows_per_span)

    def stamps(self, index: int) -> NDArray[np.int64]:
        return self._entries[_part(index, self._rows), 0]

    def messages(self, index: int) -> list[bytes | None]:
        entries = self._entries[_part(index, self._rows)]
        loaded = {span: self._base.messages(span) for span in np.unique(entries[:, 1]).tolist()}
        return [loaded[span][row] for _, span, row in entries.tolist()]

    def message(self, index: int, row: int) -> bytes:
        _, span, at = self._entries[index * self._rows + row].tolist()
        return self._base.message(span, at)


def topic_in_time(bag: Bag, name: str, rows_per_span: int, note: Callable[[str], None]) -> TopicReader:
    """A topic whose messages have headers, by the bag's times if the first and the last have the same in theirs."""
    topic = bag.topic(name, rows_per_span)
    if all(_agrees(topic, index, row) for index, row in _first_and_last(topic)):
        return topic
    note(f"{bag.name}: the times of {name} in the bag are not those in its headers, which count; all of it was read")
    return HeaderTimeTopic(topic, rows_per_span)


def _first_and_last(topic: TopicReader) -> list[tuple[int, int]]:
    last = len(topic.spans) - 1
    return [(0, 0), (last, -1)] if last >= 0 else []


def _agrees(topic: TopicReader, index: int, row: int) -> bool:
    """Whether a message has the bag's time in its header; one that cannot be read says nothing."""
    stamps = topic.stamps(index)
    if not len(stamps):
        return True
    row %= len(stamps)
    try:
        message = topic.message(index, row)
    except ArchiveError:
        return True
    return len(message) < 12 or header_stamp_ns(message, topic.kind) == stamps[row]


def header_stamp_ns(message: bytes, kind: MessageKind) -> int:
    """The time in the header with which a message begins."""
    order = ">" if kind.is_cdr and message[:2] == CDR_BIG_ENDIAN[:2] else "<"
    seconds, nanoseconds = STAMPS[order].unpack_from(message, STAMP_OFFSET)
    return int(seconds) * NS_PER_S + int(nanoseconds)


def with_ros_names(definitions: dict[str, Any]) -> dict[str, Any]:
    """Rename parts of services and actions as ROS does: package/srv/Name_Event."""

    def rename(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace("/srv/msg/", "/srv/").replace("/action/msg/", "/action/")
        return tuple(map(rename, part)) if isinstance(part, tuple) else part

    return {
        rename(name): (constants, [(member, rename(description)) for member, description in fields])
        for name, (constants, fields) in definitions.items()
    }


def kind_of_definition(
    msgtype: str, definition: str, form: str, *, is_cdr: bool, message_files: MessageFiles | None = None
) -> MessageKind:
    """A topic's type by its definition in the bag, else by files that the user gives, else by the distributions."""
    store = get_typestore(Stores.ROS2_JAZZY if is_cdr else Stores.ROS1_NOETIC)
    known: dict[str, Any] = dict(store.fielddefs)
    if message_files is not None and not definition:
        known |= message_files.definitions_of(msgtype)
    definitions = dict(known)
    if not definition.strip() and msgtype in known:  # an empty text has less than what is known
        return MessageKind(msgtype=msgtype, definitions=known, is_cdr=is_cdr)
    try:
        if form in MSG_FORMS:
            definitions |= with_ros_names(get_types_from_msg(definition, msgtype))
        elif form in IDL_FORMS:
            for part in definition.split(IDL_START)[1:] or [definition]:
                definitions |= get_types_from_idl(part.partition("\n")[2] if part.startswith("IDL: ") else part)
    except TypesysError:
        definitions = known
    return MessageKind(msgtype=msgtype, definitions=definitions, is_cdr=is_cdr)
