"""What a file is by its first bytes: names may mislead, as of a download or a pointer of Git LFS."""

from pathlib import Path

from fieldplay.bags.compression import ZSTD_MAGIC, first_unpacked

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


def kind_of_file(path: Path) -> str:
    """Return the usual ending of a file by what it holds, compressed by zstd or not; "" where it is no storage."""
    begin = _begin(path)
    if begin.startswith(ZSTD_MAGIC):
        with path.open("rb") as file:
            begin = first_unpacked(file, LONGEST_BEGIN)
    return next((kind for magic, kind in BEGINS.items() if begin.startswith(magic)), "")


def is_zstd(path: Path) -> bool:
    """Whether a file is compressed as a whole."""
    return _begin(path).startswith(ZSTD_MAGIC)


def what_file_is(path: Path) -> str:
    """Return what a file is, in words, by what it holds."""
    begin = _begin(path)
    if not begin:
        return "an empty file"
    kind = kind_of_file(path)
    if kind:
        return WORDS[kind]
    return next(
        (words for magic, words in OTHERS.items() if begin.startswith(magic)),
        f"a file that begins with {begin[:SHOWN]!r}",
    )


def _begin(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(LONGEST_BEGIN)
