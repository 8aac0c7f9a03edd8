"""Zips: what Python's own zipfile reads of one arrives both at once and in parts, and nothing that it did not hold."""

import atexit
import io
import random
import shutil
import tempfile
import zipfile
from functools import partial
from pathlib import Path

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import BYTES, changed, with_length
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.io.containers import ZIP_ERRORS, Files, ZipFiles

MEMORY = Path("/dev/shm")
MEMBERS = {
    "GnssPose.csv": b"1656931512.5,1,2,3\n" * 9,
    "folder/Kamera \u00e4.jpg": bytes(range(200)),
    "folder/empty.txt": b"",
    "a.log": b"line\n" * 100,
    "../b.log": b"outside",
}
FORMS = ("deflated", "stored", "streamed", "long")
DIRECTORY = b"PK\1\2"
PART = 100  # bytes


def _zip(form: str) -> bytes:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise io.UnsupportedOperation

    file = Stream() if form == "streamed" else io.BytesIO()
    method = zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, content in MEMBERS.items():
            with packed.open(name, "w", force_zip64=form == "long") as member:
                member.write(content)
        packed.comment = b"a comment" if form == "long" else b""
    return file.getvalue()


class Zips(Inputs):
    """See above."""

    suffix = "zip"

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="campaign-", dir=MEMORY if MEMORY.is_dir() else None)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._path = Path(folder) / "a.zip"
        self._files = [_zip(form) for form in FORMS]
        self._contents = {*MEMBERS.values()}

    def mutated(self, draw: random.Random) -> bytes:
        data = draw.choice(self._files)
        if draw.random() < 0.5:
            return changed(draw, data, BYTES)
        start = data.index(DIRECTORY)  # what is said of the members, behind them
        return data[:start] + changed(draw, data[start:], (*BYTES, *(with_length,) * 10))

    def look(self, data: bytes) -> Found:
        self._path.write_bytes(data)
        defects: list[Defect] = []
        results: dict[str, bytes | str] = {}
        plain = _plain(data)
        try:
            with ZipFiles(self._path, defects.append) as files:
                for name in files.names:
                    results[name] = self._content(files, name, plain.get(name))
        except ArchiveError as error:
            if plain:
                raise WrongError(f"refused though zipfile reads it: {error}; {list(plain)}") from error
            raise
        text = " ".join(defect.message for defect in defects)
        lost = [name for name in plain if name not in results and f"'{name}'" not in text and not name.endswith("/")]
        if lost:
            raise WrongError(f"members that zipfile reads are missing: {lost}")
        is_whole = not defects and all(isinstance(each, bytes) for each in results.values())
        return Found("read" if is_whole else "told", (tuple(results.items()), tuple(map(str, defects))))

    def _content(self, files: Files, name: str, plain: bytes | None) -> bytes | str:
        messages = []
        for read in (files.read, partial(_read_in_parts, files)):
            try:
                content = read(name)
            except (ArchiveError, OSError) as error:
                messages.append(str(error))
                if plain is not None:
                    raise WrongError(f"a member that zipfile reads is refused: {name}: {error}") from error
                continue
            if content not in self._contents and content != plain:
                raise WrongError(f"a member holds what the zip does not: {name}: {content[:50]!r}")
        return "; ".join(messages) or content


def _read_in_parts(files: Files, name: str) -> bytes:
    """A member as tables are read."""
    with files.open(name) as file:
        return b"".join(iter(lambda: file.read1(PART), b""))


def _plain(data: bytes) -> dict[str, bytes]:
    """What Python's own reads, of members that are as long as is said of them."""
    results: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for name in packed.namelist():
                try:
                    content = packed.read(name)
                    results.pop(name, None)
                    if len(content) == packed.getinfo(name).file_size:
                        results[name] = content
                except (*ZIP_ERRORS, NotImplementedError):
                    results.pop(name, None)
    except ZIP_ERRORS:
        return {}
    return results
