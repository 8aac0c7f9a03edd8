"""The directory of the log files of one launch."""

from __future__ import annotations

import os
import socket
import warnings
from datetime import datetime
from pathlib import Path


def base_directory() -> Path:
    """Return $ROS_LOG_DIR, else $ROS_HOME/log, else ~/.ros/log."""
    chosen = os.environ.get("ROS_LOG_DIR")
    if not chosen:
        chosen = os.path.join(os.environ.get("ROS_HOME") or os.path.join("~", ".ros"), "log")
    return Path(os.path.normpath(os.path.expanduser(chosen)))


def create_directory() -> Path:
    """Create a directory of its own for this launch, and let the link ``latest`` point at it."""
    while True:
        stamp = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
        directory = base_directory() / f"{stamp}-{socket.gethostname()}-{os.getpid()}"
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        _link_latest(directory)
        return directory


def _link_latest(directory: Path) -> None:
    latest = directory.parent / "latest"
    try:
        if latest.is_symlink():
            latest.unlink()
        latest.symlink_to(directory, target_is_directory=True)
    except OSError as exc:  # something else is there, or another launch was quicker: the logs are not affected
        warnings.warn(f"cannot let '{latest}' point at the log directory: {exc}", stacklevel=2)
