"""From pieces of bytes to whole lines of text."""

from __future__ import annotations

import codecs
from collections.abc import Callable


class LineSplitter:
    """Passes whole lines on, and keeps what has no line end yet."""

    def __init__(self, write: Callable[[str], None], keep: Callable[[str], None] | None = None) -> None:
        """Pass each line, without its line end, to `write`, and all text as it comes to `keep`."""
        self._write = write
        self._keep = keep
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished: list[str] = []

    def feed(self, data: bytes) -> None:
        """Take a piece, which may end anywhere, even within a character."""
        self._take(self._decoder.decode(data))

    def flush(self) -> None:
        """Pass on what has no line end, as a line."""
        self._take(self._decoder.decode(b"", final=True))
        self._decoder.reset()
        if self._unfinished:
            self._write("".join(self._unfinished))
            self._unfinished = []

    def _take(self, text: str) -> None:
        if self._keep is not None and text:
            self._keep(text)
        *lines, rest = text.split("\n")
        for line in lines:
            self._write("".join((*self._unfinished, line)))
            self._unfinished = []
        if rest:
            self._unfinished.append(rest)
