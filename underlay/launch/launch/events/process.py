"""Events of processes."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._coverage import refusal
from .._entities import Event

if TYPE_CHECKING:
    from ..actions import ExecuteProcess
else:
    __getattr__ = refusal(__name__, "ProcessStdin matches_executable matches_name matches_pid")

__all__ = [
    "ProcessExited",
    "ProcessIO",
    "ProcessStarted",
    "ProcessStderr",
    "ProcessStdout",
    "ProcessTargetedEvent",
    "RunningProcessEvent",
    "ShutdownProcess",
    "SignalProcess",
]


class RunningProcessEvent(Event):
    """Something happened to a process, or was written by it."""

    def __init__(
        self,
        *,
        action: ExecuteProcess,
        name: str,
        cmd: list[str],
        cwd: str | None,
        env: dict[str, str] | None,
        pid: int,
    ) -> None:
        """Describe the process that `action` runs; `name` has its number, as in ``talker-1``."""
        self.action, self.process_name = action, name
        self.cmd, self.cwd, self.env, self.pid = cmd, cwd, env, pid


class ProcessStarted(RunningProcessEvent):
    """A process was started."""


class ProcessExited(RunningProcessEvent):
    """A process has ended, and all its output was read."""

    def __init__(self, *, returncode: int, **kwargs: Any) -> None:
        """Report an end with `returncode`, which is negative for a signal."""
        super().__init__(**kwargs)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """A process has written something."""

    def __init__(self, *, text: bytes, fd: int, **kwargs: Any) -> None:
        """Report `text`, in pieces that need not be lines, on file descriptor `fd`."""
        super().__init__(**kwargs)
        self.text = text
        self.from_stdin, self.from_stdout, self.from_stderr = (fd == number for number in range(3))


class ProcessStdout(ProcessIO):
    """A process has written to its standard output."""

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Report `text`."""
        super().__init__(text=text, fd=1, **kwargs)


class ProcessStderr(ProcessIO):
    """A process has written to its standard error."""

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Report `text`."""
        super().__init__(text=text, fd=2, **kwargs)


class ProcessTargetedEvent(Event):
    """Something shall be done to the processes that a matcher accepts."""

    def __init__(self, *, process_matcher: Callable[[Any], bool]) -> None:
        """Ask it of the actions for which `process_matcher` is true."""
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """A process shall end: by SIGINT, then SIGTERM, then SIGKILL."""


class SignalProcess(ProcessTargetedEvent):
    """A signal shall be sent to a process."""

    def __init__(self, *, signal_number: str | signals.Signals, process_matcher: Callable[[Any], bool]) -> None:
        """Send `signal_number`, a member of signal.Signals or its name."""
        super().__init__(process_matcher=process_matcher)
        self.signal = signal_number
        self.signal_name = signal_number if isinstance(signal_number, str) else signal_number.name
