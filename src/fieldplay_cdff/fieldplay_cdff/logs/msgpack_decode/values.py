"""Items of MessagePack as plain Python data, or with NumPy arrays where long lists of numbers are."""

from functools import lru_cache
from typing import Any

import msgpack

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.msgpack_decode.number_lists import (
    is_map,
    list_header,
    numbers_at,
    vectors_at,
)

FEW = 256  # items of a list that msgpack itself unpacks as quickly
SMALL = 2048  # bytes of a sample that it does
DEEPEST = 64
# What msgpack raises for bytes that are none of its format, are cut off or nested too deep
FAULTS = (ValueError, TypeError, OverflowError, msgpack.exceptions.UnpackException)
UNKNOWN_TEXT = "replace"  # how bytes of a text that are no UTF-8 are shown


def plain_from_bytes(data: bytes) -> Any:
    """What the bytes hold as dicts, lists, numbers and texts; ArchiveError where they are no whole item of the format.

    No list is made for more items than there are bytes.
    """
    try:
        return msgpack.unpackb(data, raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=True)
    except FAULTS as error:
        raise ArchiveError(f"expected an item of MessagePack, got {why(error)}") from None


def settings_from_bytes(data: bytes) -> Any:
    """The same of a file of settings, whose maps may have lists for keys: these are tuples, as all lists are."""
    try:
        return msgpack.unpackb(
            data, raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=False, use_list=False
        )  # fmt: skip
    except FAULTS as error:
        raise ArchiveError(f"expected settings in MessagePack, got {why(error)}") from None


def arrays_from_bytes(data: bytes) -> Any:
    """The same as plain_from_bytes, but long lists of numbers, and of vectors (n, k), are NumPy arrays.

    A vector of Rock's, a map whose only entry is a list, counts as that list.
    """
    if len(data) < SMALL:
        return plain_from_bytes(data)
    unpacker = msgpack.Unpacker(
        raw=False, unicode_errors=UNKNOWN_TEXT, strict_map_key=True, max_buffer_size=max(len(data), 1)
    )
    try:
        unpacker.feed(data)
        return _item(unpacker, data, DEEPEST)
    except (*FAULTS, IndexError) as error:
        raise ArchiveError(f"expected an item of MessagePack, got {why(error)}") from None


def _item(unpacker: Any, data: bytes, depth: int) -> Any:
    place = unpacker.tell()
    if is_map(data[place]):
        if not depth:
            raise ValueError("maps within maps without end")
        return {_key(unpacker): _item(unpacker, data, depth - 1) for _ in range(unpacker.read_map_header())}
    header = list_header(data, place)
    if header is None or header.length < FEW:
        return unpacker.unpack()
    found = numbers_at(data, header) or vectors_at(data, header)
    if found is None:
        return unpacker.unpack()
    unpacker.read_bytes(found.end - place)
    return found.numbers


def _key(unpacker: Any) -> str:
    key = unpacker.unpack()
    if not isinstance(key, str):
        raise ValueError(f"{type(key).__name__} where a name should be")
    return key


def why(error: BaseException) -> str:
    """What is wrong, in words."""
    if isinstance(error, msgpack.exceptions.OutOfData | IndexError):
        return "one that is cut off"
    if isinstance(error, TypeError) or "map key" in str(error):
        return "another thing than a text where a name should be"
    if isinstance(error, msgpack.exceptions.StackError):
        return "one that is nested too deep"
    if isinstance(error, msgpack.exceptions.FormatError):
        return "a byte that no item begins with"
    if isinstance(error, msgpack.exceptions.BufferFull):
        return "a text or bytes of an impossible length"
    return str(error) or type(error).__name__


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """A name of a field or type without what spellings differ in: capitals, underscores, hyphens."""
    return name.replace("_", "").replace("-", "").lower()
