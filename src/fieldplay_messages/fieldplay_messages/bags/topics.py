"""What a bag gives, whatever its form: topics, each in spans whose messages are read when they are asked for."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore

from fieldplay_messages.cdr.layout import CDR_BIG_ENDIAN, MessageKind
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Span

STAMPS = {"<": struct.Struct("<II"), ">": struct.Struct(">II")}
STAMP_PLACE = 4  # behind `seq` in ROS 1, behind CDR's header in ROS 2
IDL_BEGIN = "=" * 80 + "\n"


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


class Bag(Protocol):
    """An open bag. `kinds` has the type of each topic, the topics as the bag calls them; `counts` its messages."""

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> Mapping[str, MessageKind]: ...
    @property
    def counts(self) -> Mapping[str, int]: ...
    def topic(self, name: str, rows_per_span: int) -> TopicReader: ...
    def close(self) -> None: ...


def header_stamp_ns(message: bytes, kind: MessageKind) -> int:
    """The time in the header with which a message begins."""
    order = ">" if kind.is_cdr and message[:2] == CDR_BIG_ENDIAN[:2] else "<"
    seconds, nanoseconds = STAMPS[order].unpack_from(message, STAMP_PLACE)
    return int(seconds) * NS_PER_S + int(nanoseconds)


def kind_of_connection(connection: Connection, *, is_cdr: bool) -> MessageKind:
    """A topic's type by the definitions in the bag, else by those of the distributions."""
    store = get_typestore(Stores.ROS2_JAZZY if is_cdr else Stores.ROS1_NOETIC)
    definitions: dict[str, Any] = dict(store.fielddefs)
    data, form = connection.msgdef.data, connection.msgdef.format
    try:
        if form == MessageDefinitionFormat.MSG:
            definitions |= get_types_from_msg(data, connection.msgtype)
        elif form == MessageDefinitionFormat.IDL:
            for part in data.split(IDL_BEGIN)[1:] or [data]:
                definitions |= get_types_from_idl(part.partition("\n")[2] if part.startswith("IDL: ") else part)
    except TypesysError:
        definitions = dict(store.fielddefs)
    return MessageKind(msgtype=connection.msgtype, definitions=definitions, is_cdr=is_cdr)
