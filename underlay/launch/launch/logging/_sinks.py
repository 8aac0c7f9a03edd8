"""Where log records go: the screen, and files below the log directory."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path


class ScreenHandler(logging.Handler):
    """Writes to the standard output of the moment, so that redirecting it works at any time."""

    def __init__(self, formatter: logging.Formatter) -> None:
        """Write records formatted by `formatter`."""
        super().__init__()
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; characters that the stream cannot encode are replaced."""
        stream = sys.stdout
        text = self.format(record) + "\n"
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # A reader that has gone away must not end the launch; the log file still has the record.
        with contextlib.suppress(OSError, ValueError):
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()


class LogFileHandler(logging.FileHandler):
    """Writes to a file that is created on the first record, and its directory with it."""

    def __init__(self, locate: Callable[[], Path], formatter: logging.Formatter) -> None:
        """Write to the file that `locate` names when it is needed."""
        super().__init__("unused", mode="a", encoding="utf-8", delay=True)
        self.__locate = locate
        self.setFormatter(formatter)

    def _open(self) -> TextIOWrapper:
        self.baseFilename = str(self.__locate())
        return super()._open()
