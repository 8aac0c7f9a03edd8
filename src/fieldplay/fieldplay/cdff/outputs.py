"""Files and folders that appear when they are complete, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fieldplay_messages.errors import ArchiveError


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """A path beside OUT to write to, which takes its place at the end; the name's end is that of OUT."""
    partial = _beside(out)
    try:
        yield partial
        os.replace(partial, out)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        _tell_of(out, error)
        raise


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder beside OUT to write into, which gets its name at the end."""
    partial = _beside(out)
    try:
        partial.mkdir()
        yield partial
        os.rename(partial, out)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        _tell_of(out, error)
        raise


def _beside(out: Path) -> Path:
    return out.with_name(f".partial-{os.getpid()}-{out.name}")


def _tell_of(out: Path, error: BaseException) -> None:
    """ArchiveError that names OUT where its partial file could not be written; a disk that is full names no file."""
    named = getattr(error, "filename", None)
    if isinstance(error, OSError) and (named is None or str(named).startswith(str(_beside(out)))):
        told = error.strerror or str(error).replace(str(_beside(out)), str(out))
        raise ArchiveError(f"{out}: cannot be written: {told}") from error
