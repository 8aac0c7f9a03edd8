"""Logging: the launch's own records, and what processes write."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import warnings
from collections.abc import Callable
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ._coverage import refusal

__all__ = ["LaunchConfig", "get_logger", "get_output_loggers", "launch_config", "reset"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "LaunchLogger handlers log_launch_config")

# Where the standard output and the standard error of a process go.
_OUTPUTS = {
    "screen": ({"screen"}, {"screen"}),
    "log": ({"log"}, {"log", "screen"}),
    "both": ({"log", "screen"}, {"log", "screen"}),
}


class _ScreenHandler(logging.Handler):
    """Writes to the standard output of the moment, so that redirecting it works at any time."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(text, style="{"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; characters that the stream cannot encode are replaced."""
        stream = sys.stdout
        text = self.format(record) + "\n"
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # A reader that has gone away must not end the launch; the log file still has the record.
        with contextlib.suppress(OSError, ValueError):
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()


class _LogFileHandler(logging.FileHandler):
    """Writes to a file that is created on the first record, and its directory with it."""

    def __init__(self, locate: Callable[[], str], text: str) -> None:
        super().__init__("unused", mode="a", encoding="utf-8", delay=True)
        self.__locate = locate
        self.setFormatter(logging.Formatter(text, style="{"))

    def _open(self) -> TextIOWrapper:
        self.baseFilename = self.__locate()
        return super()._open()


class LaunchConfig:
    """Level and log directory of all loggers of the launch."""

    def __init__(self) -> None:
        """Begin with the defaults; nothing is created on disk yet."""
        self._configured: set[logging.Logger] = set()
        self.reset()

    def reset(self) -> None:
        """Close the log files, unhook the handlers and return to the defaults."""
        for logger in self._configured:
            for handler in list(logger.handlers):
                logger.removeHandler(handler)
                handler.close()
        self._configured = set()
        self._log_dir: Path | None = None
        self._screen_handler = _ScreenHandler("[{levelname}] [{name}]: {msg}")
        self._raw_screen_handler = _ScreenHandler("{msg}")
        # Two handlers append to one file: each has its own format.
        self._file_handler = _LogFileHandler(self.get_log_file_path, "{created:.7f} [{levelname}] [{name}]: {msg}")
        self._raw_file_handler = _LogFileHandler(self.get_log_file_path, "{created:.7f} {msg}")

    @property
    def level(self) -> int:
        """The level below which nothing is logged."""
        return logging.getLogger().getEffectiveLevel()

    @level.setter
    def level(self, new_level: int | str) -> None:
        logging.getLogger().setLevel(new_level)

    @property
    def log_dir(self) -> str:
        """The log directory, created on the first request."""
        if self._log_dir is None:
            self._log_dir = _create_directory()
        return str(self._log_dir)

    def get_screen_handler(self) -> logging.Handler:
        """Return the handler that writes the launch's own records to the screen."""
        return self._screen_handler

    def get_log_file_path(self) -> str:
        """Return the path of the log file."""
        return os.path.join(self.log_dir, "launch.log")

    def _attach(self, name: str | None, handlers: list[logging.Handler]) -> logging.Logger:
        logger = logging.getLogger(name)
        if logger not in self._configured:
            self._configured.add(logger)
            logger.propagate = False
        for handler in handlers:
            if handler not in logger.handlers:
                logger.addHandler(handler)
        return logger


def _create_directory() -> Path:
    """Create a directory for this launch below $ROS_LOG_DIR, $ROS_HOME/log or ~/.ros/log, and link ``latest`` to it."""
    chosen = os.environ.get("ROS_LOG_DIR")
    if not chosen:
        chosen = os.path.join(os.environ.get("ROS_HOME") or os.path.join("~", ".ros"), "log")
    base = Path(os.path.normpath(os.path.expanduser(chosen)))
    while True:
        directory = base / f"{datetime.now():%Y-%m-%d-%H-%M-%S-%f}-{socket.gethostname()}-{os.getpid()}"
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    latest = base / "latest"
    try:
        if latest.is_symlink():
            latest.unlink()
        latest.symlink_to(directory, target_is_directory=True)
    except OSError as exc:  # something else is there, or another launch was quicker: the logs are not affected
        warnings.warn(f"cannot let '{latest}' point at the log directory: {exc}", stacklevel=2)
    return directory


launch_config = LaunchConfig()


def get_logger(name: str | None = None) -> logging.Logger:
    """Return the logger of that name, which writes to the screen and to launch.log."""
    return launch_config._attach(name, [launch_config._screen_handler, launch_config._file_handler])


def reset() -> None:
    """Return to the defaults, as in a process that has not logged anything yet."""
    launch_config.reset()


def get_output_loggers(process_name: str, output_config: str) -> tuple[logging.Logger, logging.Logger]:
    """Return the loggers for the standard output and the standard error of a process: screen, log or both."""
    if output_config not in _OUTPUTS:
        raise ValueError(
            f"'{output_config}' is not a valid output configuration of this stand-in for launch, "
            f"expected one of {', '.join(_OUTPUTS)}"
        )
    handlers = {"screen": launch_config._raw_screen_handler, "log": launch_config._raw_file_handler}
    stdout, stderr = (
        launch_config._attach(f"{process_name}-{stream}", [handlers[name] for name in sorted(destinations)])
        for stream, destinations in zip(("stdout", "stderr"), _OUTPUTS[output_config], strict=True)
    )
    return stdout, stderr
