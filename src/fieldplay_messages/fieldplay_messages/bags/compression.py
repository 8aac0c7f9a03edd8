"""Compressed parts of bags: chunks, messages and whole files, by zstd or lz4."""

import sys
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
COPIED = 1 << 20


def compressed(data: memoryview, compression: Compression) -> tuple[bytes | memoryview, str]:
    """What to store, and the name of its compression: none where it would not make it smaller."""
    if compression == "zstd":
        packed = zstd.compress(data, ZSTD_LEVEL)
        if len(packed) < len(data):
            return packed, "zstd"
    return data, ""


def decompressed(compression: str, stored: memoryview, size: int) -> bytes | memoryview:
    """The bytes before compression, at most `size` of them, or as many as can be made of what is there."""
    try:
        if compression == "":
            return stored
        if compression == "zstd":
            made: bytes = zstd.ZstdDecompressor().decompress(stored, max_length=size)
            return made
        if compression == "lz4":
            made = LZ4.LZ4FrameDecompressor().decompress(stored, max_length=size)
            return made
    except (zstd.ZstdError, RuntimeError, EOFError) as error:
        raise ArchiveError(f"{compression}: {error}") from None
    raise ArchiveError(f"expected a compression that is known, got '{compression}'")


def decompressed_message(data: bytes | memoryview) -> bytes:
    """A message that was compressed on its own."""
    try:
        return zstd.decompress(bytes(data))
    except (zstd.ZstdError, EOFError) as error:
        raise ArchiveError(f"zstd: {error}") from None


def decompress_file(path: Path, target: Path) -> str:
    """Unpack a file as far as it goes; what is wrong with it, if something is."""
    try:
        with zstd.open(path, "rb") as packed, target.open("wb") as unpacked:
            while data := packed.read(COPIED):
                unpacked.write(data)
    except (zstd.ZstdError, EOFError) as error:
        return f"its compression ends early: {error}"
    return ""
