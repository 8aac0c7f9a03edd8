"""Events of processes."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._coverage import refusal
from .._entities import Event
from ..utilities import ensure_argument_type

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

    name = "launch.events.process.RunningProcessEvent"

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
        self.action = action
        self.process_name = name
        self.cmd = cmd
        self.cwd = cwd
        self.env = env
        self.pid = pid


class ProcessStarted(RunningProcessEvent):
    """A process was started."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """A process has ended, and all its output was read."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, *, returncode: int, **kwargs: Any) -> None:
        """Report an end with `returncode`, which is negative for a signal."""
        super().__init__(**kwargs)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """A process has written something."""

    name = "launch.events.process.ProcessIO"

    def __init__(self, *, text: bytes, fd: int, **kwargs: Any) -> None:
        """Report `text`, in pieces that need not be lines, on file descriptor `fd`."""
        super().__init__(**kwargs)
        self.text = text
        self.from_stdin, self.from_stdout, self.from_stderr = (fd == number for number in range(3))


class ProcessStdout(ProcessIO):
    """A process has written to its standard output."""

    name = "launch.events.process.ProcessStdout"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Report `text`."""
        super().__init__(text=text, fd=1, **kwargs)


class ProcessStderr(ProcessIO):
    """A process has written to its standard error."""

    name = "launch.events.process.ProcessStderr"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Report `text`."""
        super().__init__(text=text, fd=2, **kwargs)


class ProcessTargetedEvent(Event):
    """Something shall be done to the processes that a matcher accepts."""

    name = "launch.events.process.ProcessTargetedEvent"

    def __init__(self, *, process_matcher: Callable[[Any], bool]) -> None:
        """Ask it of the actions for which `process_matcher` is true."""
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """A process shall end: by SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """A signal shall be sent to a process."""

    name = "launch.events.process.SignalProcess"

    def __init__(self, *, signal_number: str | signals.Signals, process_matcher: Callable[[Any], bool]) -> None:
        """Send `signal_number`, a member of signal.Signals or the text 'SIGKILL'."""
        super().__init__(process_matcher=process_matcher)
        ensure_argument_type(signal_number, (str, signals.Signals), "signal_number", "SignalProcess")
        if isinstance(signal_number, str) and signal_number != "SIGKILL":
            raise ValueError(f"'{signal_number}' is no signal: use a member of signal.Signals, or the text 'SIGKILL'")
        self.signal = signal_number
        self.signal_name = signal_number if isinstance(signal_number, str) else signal_number.name
