"""Files of an archive that are nowhere but in memory."""

import io
from collections.abc import Mapping

from fieldplay.core.errors import ArchiveError
from fieldplay.io.containers import Files


class MemoryFiles(Files):
    """Names and their bytes."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__(list(contents))
        self._contents = contents

    def open(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self.read(name)))

    def read(self, name: str) -> bytes:
        if name not in self._contents:
            raise ArchiveError("cannot be read: there is no such file")
        return self._contents[name]

    def size(self, name: str) -> int:
        return len(self.read(name))
