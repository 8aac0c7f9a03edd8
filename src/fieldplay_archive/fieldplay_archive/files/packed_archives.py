"""Archives that are packed in a way that is not read in place: what to do with them first."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

TAR = re.compile(r".+\.(tar(\.[a-z0-9]{1,4})?|tgz|tbz2?|txz)", re.IGNORECASE)
PART = re.compile(r"(?P<whole>.+)\.\d{2,3}", re.IGNORECASE)
OTHERS = re.compile(r".+\.(7z|rar)", re.IGNORECASE)
ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without
SHOWN = 8  # bytes of what is no zip
ZIP = re.compile(r".+\.zip", re.IGNORECASE)


def how_to_unpack(path: Path, names: Sequence[str]) -> str:
    """What to do where a path holds nothing but packed files, by the names in it; nothing said where it holds none."""
    for name in names:
        place = shlex.quote(str(path / name if path.is_dir() else path))
        part = PART.fullmatch(name)
        if part and TAR.fullmatch(part["whole"]):
            whole = str(path / name if path.is_dir() else path).removesuffix(name[len(part["whole"]) :])
            return f"join its parts and unpack them first: cat {shlex.quote(whole)}.* | tar x{_filter(part['whole'])}"
        if TAR.fullmatch(name):
            return f"a tar is not read in place, unpack it first: tar xf {place}"
        if OTHERS.fullmatch(name):
            return f"it is not read in place, unpack it first: {place}"
        if ZIP.fullmatch(name) and path.is_dir():
            return f"give the zip in it itself: {place}"
        if ZIP.fullmatch(name):
            zipped = f"a zip in a zip is not read in place, unpack it first: unzip {shlex.quote(str(path))}"
            return _why_no_zip(path) or zipped
    return ""


def _filter(name: str) -> str:
    """The letter by which tar is told how something is packed that comes through a pipe."""
    letters = {"gz": "z", "tgz": "z", "bz2": "j", "tbz": "j", "tbz2": "j", "xz": "J", "txz": "J"}
    return letters.get(name.lower().rpartition(".")[2], "")


def _why_no_zip(path: Path) -> str:
    """What a file that is called a zip is instead; nothing said of one that begins as zips do."""
    with path.open("rb") as file:
        begin = file.read(SHOWN)
    got = f"it begins with {begin!r}" if begin else "it is empty"
    return "" if begin.startswith(ZIPPED) else f"it is called a zip and is none, {got}: load it once more, or rename it"
