"""Helpers for test descriptions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from launch._coverage import refusal
from launch.actions import ExecuteProcess

__all__ = ["KeepAliveProc"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "NO_CMD_ARGS NoMatchingProcessException resolveProcesses")

# SIGINT must end it with exit code 0. That holds once the interpreter is up, which -I and -S hasten.
_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
while True:
    signal.pause()
"""


def KeepAliveProc() -> ExecuteProcess:
    """Make an action that idles until the launch shuts down.

    A launch ends by itself when its last process ends. Where all processes under test end on their own, this one
    keeps the launch running while the tests look at them.
    """
    return ExecuteProcess(cmd=[sys.executable, "-I", "-S", "-c", _SCRIPT])
