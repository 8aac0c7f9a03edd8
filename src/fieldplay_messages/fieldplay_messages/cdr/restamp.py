"""Moves the times inside messages that are encoded already."""

import struct
from collections.abc import Callable
from functools import cache

from rosbags.interfaces import Nodetype

from fieldplay_messages.cdr.layout import CDR_LITTLE_ENDIAN, typestore
from fieldplay_messages.stamps import NS_PER_S

HEADER, TF = "std_msgs/msg/Header", "tf2_msgs/msg/TFMessage"
TIME = struct.Struct("<iI")
LENGTH = struct.Struct("<I")
BODY = len(CDR_LITTLE_ENDIAN)  # alignment counts from here
TRANSFORM_SIZE = 7 * 8

Restamp = Callable[[bytes, int], bytes]


def restamp_of_type(msgtype: str) -> Restamp | None:
    """What moves the times of such a message by some nanoseconds; None where the type holds no time of its own.

    Moved is `header.stamp` of a type that begins with a header, and of each transform of a TFMessage. Other times in
    a message, as TimeReference.time_ref, are data.
    """
    if msgtype == TF:
        return moved_transforms
    return moved_header if begins_with_header(msgtype) else None


@cache
def begins_with_header(msgtype: str) -> bool:
    """Whether the first member of a message type is a std_msgs/Header."""
    members = typestore().fielddefs[msgtype][1]
    return bool(members) and members[0][1] == (Nodetype.NAME, HEADER)


def moved_header(message: bytes, delta_ns: int) -> bytes:
    """The message with another time in its first eight bytes."""
    return b"".join((message[:BODY], _moved(message, BODY, delta_ns), message[BODY + TIME.size :]))


def moved_transforms(message: bytes, delta_ns: int) -> bytes:
    """A TFMessage with the times of all its transforms moved."""
    moved = bytearray(message)
    (count,) = LENGTH.unpack_from(message, BODY)
    place = BODY + LENGTH.size
    for _ in range(count):
        place = _aligned(place, 4)
        moved[place : place + TIME.size] = _moved(message, place, delta_ns)
        place = _behind_text(message, _behind_text(message, place + TIME.size))
        place = _aligned(place, 8) + TRANSFORM_SIZE
    return bytes(moved)


def _moved(message: bytes, place: int, delta_ns: int) -> bytes:
    seconds, nanoseconds = TIME.unpack_from(message, place)
    return TIME.pack(*divmod(seconds * NS_PER_S + nanoseconds + delta_ns, NS_PER_S))


def _behind_text(message: bytes, place: int) -> int:
    place = _aligned(place, 4)
    (length,) = LENGTH.unpack_from(message, place)
    return place + LENGTH.size + int(length)


def _aligned(place: int, size: int) -> int:
    return place + (BODY - place) % size
