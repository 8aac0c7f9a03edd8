"""Logging: the launch's own records, and what processes write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .._coverage import refusal
from .config import LaunchConfig, launch_config
from .output import get_output_loggers

__all__ = ["LaunchConfig", "get_logger", "get_output_loggers", "launch_config", "log_launch_config", "reset"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("LaunchLogger", "handlers"))


def get_logger(name: str | None = None) -> logging.Logger:
    """Return the logger of that name, which writes to the screen and to launch.log."""
    logger = logging.getLogger(name)
    launch_config._attach(logger, [launch_config.get_screen_handler(), launch_config.get_log_file_handler()])
    return logger


def log_launch_config(*, logger: logging.Logger) -> None:
    """Log what a user should know of the logging."""
    logger.info(f"All log files can be found below {launch_config.log_dir}")
    logger.info(f"Default logging verbosity is set to {logging.getLevelName(launch_config.level)}")


def reset() -> None:
    """Return to the defaults, as in a process that has not logged anything yet."""
    launch_config.reset()
