"""Compressed parts of bags: chunks, messages and whole files, by zstd, lz4 or bz2."""

import bz2
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from fieldplay_messages.errors import ArchiveError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compression = Literal["none", "zstd"]

LZ4: Any = import_module("lz4.frame")  # which has no types
ZSTD_LEVEL = 1  # several times as fast as the default level and hardly larger for numbers
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # begins no message in CDR
COPIED = 1 << 20
LARGEST_GAIN, MUCH = 500, 1 << 26  # what unpacks to so many times its size, and to so many bytes, is meant ill
HELD_GAIN, MUCH_HELD = 10, 1 << 27  # the same of what must be held in memory as a whole, as chunks
TOLD = "its data unpack to more than {} times their size: what follows is not read"
BOMB = TOLD.format(LARGEST_GAIN)
DECODERS: Mapping[str, Callable[[], Any]] = {
    "zstd": zstd.ZstdDecompressor,
    "lz4": LZ4.LZ4FrameDecompressor,
    "bz2": bz2.BZ2Decompressor,
}
FAULTS = (zstd.ZstdError, RuntimeError, EOFError, OSError, ValueError)


def compressed(data: memoryview, compression: Compression) -> tuple[bytes | memoryview, str]:
    """What to store, and the name of its compression: none where it would not make it smaller."""
    if compression == "zstd":
        packed = zstd.compress(data, ZSTD_LEVEL)
        if len(packed) < len(data):
            return packed, "zstd"
    return data, ""


def decompressed(compression: str, stored: memoryview, size: int) -> bytes | memoryview:
    """The bytes before compression, at most `size` of them, or as many as can be made of what is there."""
    if compression == "":
        return stored
    if size > _most_held(len(stored)):
        raise ArchiveError(f"expected at most {HELD_GAIN} times its {len(stored)} bytes unpacked, got {size}")
    return _made(compression, stored, size)[0]


def wholly_decompressed(compression: str, stored: bytes | memoryview) -> bytes:
    """The bytes before compression, all of them."""
    most = _most_held(len(stored))
    made, is_whole = _made(compression, stored, most)
    if not is_whole:
        raise ArchiveError(f"{compression}: {TOLD.format(HELD_GAIN) if len(made) >= most else 'it ends early'}")
    return made


def decompressed_message(data: bytes | memoryview) -> bytes:
    """A message that was compressed on its own."""
    return wholly_decompressed("zstd", data)


def _made(compression: str, stored: bytes | memoryview, most: int) -> tuple[bytes, bool]:
    """At most so many bytes, and whether these are all."""
    if compression not in DECODERS:
        raise ArchiveError(f"expected a compression that is known, got '{compression}'")
    decoder = DECODERS[compression]()
    try:
        return bytes(decoder.decompress(stored, max_length=most)), bool(decoder.eof)
    except FAULTS as error:
        raise ArchiveError(f"{compression}: {error}") from None


def _most_held(packed: int) -> int:
    """The most that so many bytes may stand for: what is meant ill takes neither memory nor time."""
    return max(MUCH_HELD, HELD_GAIN * packed)


def decompress_file(path: Path, target: Path) -> str:
    """Unpack a file as far as it goes; what is wrong with it, if something is."""
    left = max(MUCH, LARGEST_GAIN * path.stat().st_size)
    try:
        with zstd.open(path, "rb") as packed, target.open("wb") as unpacked:
            while data := packed.read(COPIED):
                left -= len(data)
                if left < 0:
                    return BOMB
                unpacked.write(data)
    except (zstd.ZstdError, EOFError) as error:
        return f"its compression ends early: {error}"
    return ""
