"""Compressed parts of bags: chunks, messages and whole files, by zstd, lz4 or bz2."""

import bz2
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal

from fieldplay.core.errors import ArchiveError

MCAP, SQLITE, ROS1 = ".mcap", ".db3", ".bag"  # as their files are usually called
BEGINS = {b"\x89MCAP": MCAP, b"SQLite format 3\0": SQLITE, b"#ROSBAG V2.0": ROS1}
LONGEST_BEGIN = 64
SHOWN = 16
OTHERS = {  # in words, by how they begin
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself: run `git lfs pull` where it was cloned",
    b"#ROSBAG V1": "a bag of ROS 1 in format 1, which `rosbag fix` or `rosbag migrate` of ROS 1 brings up to date",
    b"PK": "a zip archive",
    b"\x1f\x8b": "a file packed by gzip",
    b"<!DOCTYPE": "a page of a website",
    b"<html": "a page of a website",
}
WORDS = {MCAP: "an MCAP file", SQLITE: "a database of SQLite", ROS1: "a bag of ROS 1"}


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


Compression = Literal["none", "zstd"]
LZ4: Any = import_module("lz4.frame")  # which has no types
ZSTD_LEVEL = 1  # several times as fast as the default level and hardly larger for numbers
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # begins no message in CDR
COPIED = MB = 1 << 20
LARGEST_GAIN, MUCH = 500, 1 << 26  # what unpacks to so many times its size, and to so many bytes, is meant ill
UNPACK_LIMIT = 1 << 31  # bytes that a chunk or a message of a bag may unpack to: it is held in memory as a whole
FILES_GAIN = 4  # a file, or all chunks of one, may unpack to so many times that limit
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


def decompressed(compression: str, stored: memoryview, size: int, limit: int = UNPACK_LIMIT) -> bytes | memoryview:
    """The bytes before compression, at most `size` of them, or as many as can be made of what is there."""
    if compression == "":
        return stored
    if size > limit:
        raise ArchiveError(f"expected at most {limit} bytes unpacked, got {size}: {_hint(size)}")
    return _made(compression, stored, size)[0]


def wholly_decompressed(compression: str, stored: bytes | memoryview, limit: int = UNPACK_LIMIT) -> bytes:
    """The bytes before compression, all of them."""
    made, is_whole = _made(compression, stored, limit)
    if not is_whole:
        too_large = f"it unpacks to more than {limit} bytes: {_hint(2 * limit)}"
        raise ArchiveError(f"{compression}: {too_large if len(made) >= limit else 'it ends early'}")
    return made


def decompressed_message(data: bytes | memoryview, limit: int = UNPACK_LIMIT) -> bytes:
    """A message that was compressed on its own."""
    return wholly_decompressed("zstd", data, limit)


def _hint(size: int) -> str:
    """What allows so many bytes."""
    return f"--set unpack_limit_mb={-(-size // MB)} allows it"


def refused_in_all(limit: int) -> str:
    """What is said of a file all of which unpacks to too much."""
    return f"its data unpack to more than {limit * FILES_GAIN} bytes: {_hint(2 * limit)}; what follows is not read"


def _made(compression: str, stored: bytes | memoryview, most: int) -> tuple[bytes, bool]:
    """At most so many bytes, and whether these are all."""
    if compression not in DECODERS:
        raise ArchiveError(f"expected a compression that is known, got '{compression}'")
    decoder = DECODERS[compression]()
    try:
        return bytes(decoder.decompress(stored, max_length=most)), bool(decoder.eof)
    except FAULTS as error:
        raise ArchiveError(f"{compression}: {error}") from None


def first_unpacked(file: BinaryIO, size: int) -> bytes:
    """The first bytes of a file compressed by zstd; fewer where it ends early."""
    try:
        return bytes(zstd.ZstdDecompressor().decompress(file.read(1 << 17), max_length=size))
    except FAULTS:
        return b""


def decompress_file(path: Path, target: Path, limit: int = UNPACK_LIMIT) -> str:
    """Unpack a file as far as it goes; what is wrong with it, if something is."""
    left = max(FILES_GAIN * limit, LARGEST_GAIN * path.stat().st_size)
    try:
        with zstd.open(path, "rb") as packed, target.open("wb") as unpacked:
            while data := packed.read(COPIED):
                left -= len(data)
                if left < 0:
                    return refused_in_all(limit)
                unpacked.write(data)
    except (zstd.ZstdError, EOFError) as error:
        return f"its compression ends early: {error}"
    return ""


# What a file is by its first bytes: names may mislead, as of a download or a pointer of Git LFS.


def kind_of_file(path: Path) -> str:
    """Return the usual ending of a file by what it holds, compressed by zstd or not; "" where it is no storage."""
    start = _begin(path)
    if start.startswith(ZSTD_MAGIC):
        with path.open("rb") as file:
            start = first_unpacked(file, LONGEST_BEGIN)
    return next((kind for magic, kind in BEGINS.items() if start.startswith(magic)), "")


def is_zstd(path: Path) -> bool:
    """Whether a file is compressed as a whole."""
    return _begin(path).startswith(ZSTD_MAGIC)


def what_file_is(path: Path) -> str:
    """Return what a file is, in words, by what it holds."""
    start = _begin(path)
    if not start:
        return "an empty file"
    kind = kind_of_file(path)
    if kind:
        return WORDS[kind]
    return next(
        (words for magic, words in OTHERS.items() if start.startswith(magic)),
        f"a file that begins with {start[:SHOWN]!r}",
    )


def _begin(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(LONGEST_BEGIN)
