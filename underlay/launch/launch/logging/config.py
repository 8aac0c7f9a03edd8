"""The logging configuration of the process."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Literal

from ._directory import create_directory
from ._sinks import LogFileHandler, ScreenHandler

_STYLES: dict[str, Literal["%", "{", "$"]] = {"%": "%", "{": "{", "$": "$"}
_SCREEN_FORMATS = {
    "default": "[{levelname}] [{name}]: {msg}",
    "default_with_timestamp": "{created:.7f} [{levelname}] [{name}]: {msg}",
}
_LOG_FORMATS = {"default": "{created:.7f} [{levelname}] [{name}]: {msg}"}


def _formatter(chosen: str, style: str | None, aliases: dict[str, str], override: str) -> logging.Formatter:
    forced = os.environ.get(override)
    if forced:
        return logging.Formatter(forced.encode("latin1").decode("unicode_escape"), style="{")
    if chosen in aliases:
        if style is not None:
            raise ValueError(f"no style can be set for the format alias '{chosen}'")
        return logging.Formatter(aliases[chosen], style="{")
    if style not in (None, *_STYLES):
        raise ValueError(f"'{style}' is no format style, expected one of {', '.join(_STYLES)}")
    return logging.Formatter(chosen, style=_STYLES[style or "{"])


class LaunchConfig:
    """Level, formats and log directory of all loggers of the launch."""

    # Refuses the attributes of upstream's that are not covered.
    __slots__ = (
        "_configured",
        "_file_handlers",
        "_log_dir",
        "_log_formatter",
        "_raw_screen_handler",
        "_screen_formatter",
        "_screen_handler",
    )

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
        self._file_handlers: dict[str, LogFileHandler] = {}
        self._screen_formatter = _formatter("default", None, _SCREEN_FORMATS, "OVERRIDE_LAUNCH_SCREEN_FORMAT")
        self._log_formatter = _formatter("default", None, _LOG_FORMATS, "OVERRIDE_LAUNCH_LOG_FORMAT")
        self._screen_handler = ScreenHandler(self._screen_formatter)
        self._raw_screen_handler = ScreenHandler(logging.Formatter("{msg}", style="{"))

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
            self._log_dir = create_directory()
        return str(self._log_dir)

    @log_dir.setter
    def log_dir(self, new_log_dir: str | os.PathLike[str] | None) -> None:
        if new_log_dir is not None and not Path(new_log_dir).is_dir():
            raise ValueError(f"{new_log_dir} is not a directory")
        self._log_dir = None if new_log_dir is None else Path(new_log_dir)

    def set_screen_format(self, screen_format: str, *, screen_style: str | None = None) -> None:
        """Format what goes to the screen: 'default', 'default_with_timestamp', or a format of logging.Formatter."""
        self._screen_formatter = _formatter(
            screen_format, screen_style, _SCREEN_FORMATS, "OVERRIDE_LAUNCH_SCREEN_FORMAT"
        )
        self._screen_handler.setFormatter(self._screen_formatter)

    def set_log_format(self, log_format: str, *, log_style: str | None = None) -> None:
        """Format what goes to the log file: 'default', or a format of logging.Formatter."""
        self._log_formatter = _formatter(log_format, log_style, _LOG_FORMATS, "OVERRIDE_LAUNCH_LOG_FORMAT")
        self.get_log_file_handler().setFormatter(self._log_formatter)

    def get_screen_handler(self) -> ScreenHandler:
        """Return the handler that writes the launch's own records to the screen."""
        return self._screen_handler

    def get_log_file_path(self, file_name: str = "launch.log") -> str:
        """Return the path of a log file."""
        return os.path.join(self.log_dir, file_name)

    def get_log_file_handler(self, file_name: str = "launch.log") -> LogFileHandler:
        """Return the handler that writes the launch's own records to a log file."""
        return self._file_handler(file_name, file_name, self._log_formatter)

    def _file_handler(self, key: str, file_name: str, formatter: logging.Formatter) -> LogFileHandler:
        # Several handlers may append to one file: each has its own format.
        if key not in self._file_handlers:
            self._file_handlers[key] = LogFileHandler(lambda: Path(self.get_log_file_path(file_name)), formatter)
        return self._file_handlers[key]

    def _attach(self, logger: logging.Logger, handlers: list[logging.Handler]) -> None:
        if logger not in self._configured:
            self._configured.add(logger)
            logger.propagate = False
        for handler in handlers:
            if handler not in logger.handlers:
                logger.addHandler(handler)


launch_config = LaunchConfig()
