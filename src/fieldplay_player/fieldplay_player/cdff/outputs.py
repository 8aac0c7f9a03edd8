"""Files and folders that appear when they are complete, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """A path beside OUT to write to, which takes its place at the end; the name's end is that of OUT."""
    partial = out.with_name(f".partial-{os.getpid()}-{out.name}")
    try:
        yield partial
        os.replace(partial, out)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder beside OUT to write into, which gets its name at the end."""
    partial = out.with_name(f".partial-{os.getpid()}-{out.name}")
    try:
        partial.mkdir()
        yield partial
        os.rename(partial, out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
