"""Events that come from a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...event import Event

if TYPE_CHECKING:
    from ...actions.execute_local import ExecuteLocal


class RunningProcessEvent(Event):
    """Something happened to a process, or was written by it."""

    name = "launch.events.process.RunningProcessEvent"

    def __init__(
        self,
        *,
        action: ExecuteLocal,
        name: str,
        cmd: list[str],
        cwd: str | None,
        env: dict[str, str] | None,
        pid: int,
    ) -> None:
        """Tell of the process that `action` runs."""
        self.__action = action
        self.__name = name
        self.__cmd = cmd
        self.__cwd = cwd
        self.__env = env
        self.__pid = pid

    @property
    def action(self) -> ExecuteLocal:
        """The action that runs the process."""
        return self.__action

    @property
    def execute_process_action(self) -> ExecuteLocal:
        """The same, by its older name."""
        return self.__action

    @property
    def process_name(self) -> str:
        """The name of the process with its number, as in ``talker-1``."""
        return self.__name

    @property
    def cmd(self) -> list[str]:
        """The command line."""
        return self.__cmd

    @property
    def cwd(self) -> str | None:
        """The working directory, None for that of the launch."""
        return self.__cwd

    @property
    def env(self) -> dict[str, str] | None:
        """The environment."""
        return self.__env

    @property
    def pid(self) -> int:
        """The process id."""
        return self.__pid


class ProcessStarted(RunningProcessEvent):
    """A process was started."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """A process has ended, and all its output was read."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, *, returncode: int, **kwargs: Any) -> None:
        """Tell of an end with `returncode`, which is negative for a signal."""
        super().__init__(**kwargs)
        self.__returncode = returncode

    @property
    def returncode(self) -> int:
        """The exit code, or the negative number of the signal that ended the process."""
        return self.__returncode


class ProcessIO(RunningProcessEvent):
    """A process has written something."""

    name = "launch.events.process.ProcessIO"

    def __init__(self, *, text: bytes, fd: int, **kwargs: Any) -> None:
        """Tell of `text` on file descriptor `fd`."""
        super().__init__(**kwargs)
        self.__text = text
        self.__fd = fd

    @property
    def text(self) -> bytes:
        """What was written, in pieces that need not be lines."""
        return self.__text

    @property
    def from_stdin(self) -> bool:
        """Whether it is about the standard input: never so for what a process has written."""
        return self.__fd == 0

    @property
    def from_stdout(self) -> bool:
        """Whether it was written to the standard output."""
        return self.__fd == 1

    @property
    def from_stderr(self) -> bool:
        """Whether it was written to the standard error."""
        return self.__fd == 2


class ProcessStdout(ProcessIO):
    """A process has written to its standard output."""

    name = "launch.events.process.ProcessStdout"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Tell of `text`."""
        super().__init__(text=text, fd=1, **kwargs)


class ProcessStderr(ProcessIO):
    """A process has written to its standard error."""

    name = "launch.events.process.ProcessStderr"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        """Tell of `text`."""
        super().__init__(text=text, fd=2, **kwargs)
