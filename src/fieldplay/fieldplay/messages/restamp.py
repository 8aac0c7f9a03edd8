"""Moves the times inside messages that are encoded already."""

import struct
from collections.abc import Callable
from functools import cache

import numpy as np
from rosbags.interfaces import Nodetype

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import CDR_LITTLE_ENDIAN, Fields, typestore
from fieldplay.messages.message_columns import Decoder

HEADER, TF = "std_msgs/msg/Header", "tf2_msgs/msg/TFMessage"
TIME = struct.Struct("<iI")
BODY = len(CDR_LITTLE_ENDIAN)  # alignment counts from here

Message = bytes | memoryview
Restamp = Callable[[Message, int], bytes]


def restamp_of_type(msgtype: str, definitions: Fields | None = None) -> Restamp | None:
    """What moves the times of such a message by some nanoseconds; None where the type holds no time of its own.

    Moved is `header.stamp` of a type that begins with a header, and of each transform of a TFMessage. Other times in
    a message, as TimeReference.time_ref, are data. A type without a definition is taken to hold none.
    """
    if msgtype == TF:
        return shift_transforms
    return shift_header if starts_with_header(msgtype, definitions) else None


def starts_with_header(msgtype: str, definitions: Fields | None = None) -> bool:
    """Whether the first member of a message type, of ROS 2 Jazzy or as defined, is a std_msgs/Header."""
    _, members = (typestore().fielddefs if definitions is None else definitions).get(msgtype, (None, []))
    return bool(members) and members[0][1] == (Nodetype.NAME, HEADER)


def shift_header(message: Message, delta_ns: int) -> bytes:
    """Shift the time in the message's first eight bytes."""
    return b"".join((message[:BODY], _shift_time(message, BODY, delta_ns), message[BODY + TIME.size :]))


def shift_transforms(message: Message, delta_ns: int) -> bytes:
    """Shift the times of all transforms of a TFMessage."""
    data = np.frombuffer(message, np.uint8)[None].copy()
    for _, layout in _transforms().groups(data):
        if isinstance(layout, ArchiveError):
            raise layout
        rows = layout.records(data)  # in the memory of the copy
        for index in range(int(str(layout.constants["transforms"]))):
            stamp = f"transforms[{index}].header.stamp"
            time_ns = rows[f"{stamp}.sec"].astype(np.int64) * NS_PER_S + rows[f"{stamp}.nanosec"] + delta_ns
            rows[f"{stamp}.sec"], rows[f"{stamp}.nanosec"] = np.divmod(time_ns, NS_PER_S)
    return bytes(data)


@cache
def _transforms() -> Decoder:
    return Decoder(TF, strict=False)


def _shift_time(message: Message, offset: int, delta_ns: int) -> bytes:
    seconds, nanoseconds = TIME.unpack_from(message, offset)
    return TIME.pack(*divmod(seconds * NS_PER_S + nanoseconds + delta_ns, NS_PER_S))
