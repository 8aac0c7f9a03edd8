"""A file without a name for what memory has no room for: it is gone with the process, however that ends."""

import os
import shutil
import tempfile
import weakref

FOLDERS = ("/var/tmp",)  # before the usual folder for temporary files, which may be memory


class SpillFile:
    """Bytes that are added at the end and read from anywhere, by several threads; OSError where there is no room.

    It takes no more than a share of the room that is free when it is made.
    """

    def __init__(self, fraction: float = 0.5) -> None:
        folder = spill_folder()
        with tempfile.TemporaryFile(prefix="fieldplay-", dir=folder) as file:
            self._descriptor = os.dup(file.fileno())
        self.close = weakref.finalize(self, os.close, self._descriptor)
        self.size = 0
        self._room = int(fraction * shutil.disk_usage(folder).free)

    def append(self, data: bytes) -> int:
        """Append bytes and return their offset."""
        offset, rest = self.size, memoryview(data)
        if offset + len(data) > self._room:
            raise OSError(f"{len(data)} bytes more than {offset} are more than there is room for")
        while rest:
            rest = rest[os.pwrite(self._descriptor, rest, offset + len(data) - len(rest)) :]
        self.size += len(data)
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """Read so many bytes from an offset on."""
        return os.pread(self._descriptor, size, offset)


def spill_folder() -> str:
    """Where large temporary files go: as TMPDIR says, else to a disk."""
    if "TMPDIR" in os.environ:
        return tempfile.gettempdir()
    return next((folder for folder in FOLDERS if os.access(folder, os.W_OK)), tempfile.gettempdir())
