"""Compressed parts of bags: chunks, messages and whole files, by zstd, lz4 or bz2."""

import bz2
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal

from fieldplay.core.errors import ArchiveError

MCAP, SQLITE, ROS1 = ".mcap", ".db3", ".bag"  # as their files are usually called
MAGICS = {b"\x89MCAP": MCAP, b"SQLite format 3\0": SQLITE, b"#ROSBAG V2.0": ROS1}
LONGEST_MAGIC = 64
STORAGE_ENDINGS = (MCAP, f"{MCAP}.zstd", SQLITE, f"{SQLITE}.zstd")  # of the files of bags of ROS 2
MESSAGE_FILES, UNPACK_LIMIT_MB = "msgs", "unpack_limit_mb"  # parameters of a bag
SHOWN = 16
OTHERS = {  # in words, by how they begin
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself: run `git lfs pull` where it was cloned",
    b"#ROSBAG V1": "a bag of ROS 1 in format 1, which `rosbag fix` or `rosbag migrate` of ROS 1 brings up to date",
    b"PK": "a zip archive",
    b"\x1f\x8b": "a file packed by gzip",
    b"<!DOCTYPE": "a page of a website",
    b"<html": "a page of a website",
}
KIND_NAMES = {MCAP: "an MCAP file", SQLITE: "a database of SQLite", ROS1: "a bag of ROS 1"}


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


Compression = Literal["none", "zstd"]
LZ4: Any = import_module("lz4.frame")  # which has no types
ZSTD_LEVEL = 1  # several times as fast as the default level and hardly larger for numbers
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # begins no message in CDR
COPIED = MB = 1 << 20
LARGEST_GAIN, MUCH = 500, 1 << 26  # what unpacks to so many times its size, and to so many bytes, is malicious
UNPACK_LIMIT = 1 << 31  # bytes that a chunk or a message of a bag may unpack to: it is held in memory as a whole
FILES_GAIN = 4  # a file, or all chunks of one, may unpack to so many times that limit
TOO_LARGE = "its data unpack to more than {} times their size: what follows is not read"
BOMB = TOO_LARGE.format(LARGEST_GAIN)
DECODERS: Mapping[str, Callable[[], Any]] = {
    "zstd": zstd.ZstdDecompressor,
    "lz4": LZ4.LZ4FrameDecompressor,
    "bz2": bz2.BZ2Decompressor,
}
DECOMPRESS_ERRORS = (zstd.ZstdError, RuntimeError, EOFError, OSError, ValueError)


def compress(data: memoryview, compression: Compression) -> tuple[bytes | memoryview, str]:
    """Compress data; return it as it is, with an empty compression name, where that would not make it smaller."""
    if compression == "zstd":
        compressed = zstd.compress(data, ZSTD_LEVEL)
        if len(compressed) < len(data):
            return compressed, "zstd"
    return data, ""


def decompress(compression: str, stored: memoryview, size: int, limit: int = UNPACK_LIMIT) -> bytes | memoryview:
    """Decompress at most `size` bytes, or as many as the stored bytes give."""
    if compression == "":
        return stored
    if size > limit:
        raise ArchiveError(f"expected at most {limit} bytes unpacked, got {size}: {_hint(size)}")
    return _decompress(compression, stored, size)[0]


def decompress_all(compression: str, stored: bytes | memoryview, limit: int = UNPACK_LIMIT) -> bytes:
    """Decompress all bytes; ArchiveError where there are more than `limit` or the end is missing."""
    data, is_complete = _decompress(compression, stored, limit)
    if not is_complete:
        too_large = f"it unpacks to more than {limit} bytes: {_hint(2 * limit)}"
        raise ArchiveError(f"{compression}: {too_large if len(data) >= limit else 'it ends early'}")
    return data


def decompress_message(data: bytes | memoryview, limit: int = UNPACK_LIMIT) -> bytes:
    """Decompress a message that was compressed on its own."""
    return decompress_all("zstd", data, limit)


def _hint(size: int) -> str:
    """The option that allows so many bytes."""
    return f"--set unpack_limit_mb={-(-size // MB)} allows it"


def too_large_message(limit: int) -> str:
    """The message for a file that unpacks to too many bytes."""
    return f"its data unpack to more than {limit * FILES_GAIN} bytes: {_hint(2 * limit)}; what follows is not read"


def _decompress(compression: str, stored: bytes | memoryview, max_size: int) -> tuple[bytes, bool]:
    """Decompress at most so many bytes, and return whether these are all."""
    if compression not in DECODERS:
        raise ArchiveError(f"expected a compression that is known, got '{compression}'")
    decoder = DECODERS[compression]()
    try:
        return bytes(decoder.decompress(stored, max_length=max_size)), bool(decoder.eof)
    except DECOMPRESS_ERRORS as error:
        raise ArchiveError(f"{compression}: {error}") from None


def decompress_head(file: BinaryIO, size: int) -> bytes:
    """The first bytes of a file compressed by zstd; fewer where it ends early."""
    try:
        return bytes(zstd.ZstdDecompressor().decompress(file.read(1 << 17), max_length=size))
    except DECOMPRESS_ERRORS:
        return b""


def decompress_file(path: Path, target: Path, limit: int = UNPACK_LIMIT) -> str:
    """Decompress a file as far as possible; return its issue, or an empty text."""
    left = max(FILES_GAIN * limit, LARGEST_GAIN * path.stat().st_size)
    try:
        with zstd.open(path, "rb") as compressed, target.open("wb") as unpacked:
            while data := compressed.read(COPIED):
                left -= len(data)
                if left < 0:
                    return too_large_message(limit)
                unpacked.write(data)
    except (zstd.ZstdError, EOFError) as error:
        return f"its compression ends early: {error}"
    return ""


# What a file is by its first bytes: names may mislead, as of a download or a pointer of Git LFS.


def kind_of_file(path: Path) -> str:
    """Return the usual ending of a file by what it holds, compressed by zstd or not; "" where it is no storage."""
    start = _first_bytes(path)
    if start.startswith(ZSTD_MAGIC):
        with path.open("rb") as file:
            start = decompress_head(file, LONGEST_MAGIC)
    return next((kind for magic, kind in MAGICS.items() if start.startswith(magic)), "")


def is_zstd(path: Path) -> bool:
    """Whether a file is compressed as a whole."""
    return _first_bytes(path).startswith(ZSTD_MAGIC)


def describe_file(path: Path) -> str:
    """Describe what a file is, by its content."""
    start = _first_bytes(path)
    if not start:
        return "an empty file"
    kind = kind_of_file(path)
    if kind:
        return KIND_NAMES[kind]
    return next(
        (text for magic, text in OTHERS.items() if start.startswith(magic)),
        f"a file that starts with {start[:SHOWN]!r}",
    )


def _first_bytes(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(LONGEST_MAGIC)
