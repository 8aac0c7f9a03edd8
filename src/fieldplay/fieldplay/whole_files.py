"""Files that appear when they are complete, or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from fieldplay_messages.errors import BagError


def write_whole(out: Path, data: bytes) -> None:
    """Put a file in its place, and the folders that it needs; where that fails nothing is left of either."""
    made = [folder for folder in out.parents if not folder.exists()]
    partial = out.with_name(f".{out.name}.partial-{os.getpid()}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        os.replace(partial, out)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        if isinstance(error, OSError):
            raise BagError(f"cannot write {out}: {error.strerror or error}") from error
        raise
