"""A process that does nothing but keep the launch alive."""

from __future__ import annotations

import sys

from launch.actions import ExecuteProcess

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
