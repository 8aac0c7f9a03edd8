"""Processes that a test launches itself, into the running launch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteProcess
from launch.events import IncludeLaunchDescription
from launch.events.process import ProcessExited, ShutdownProcess

from ..asserts.assert_output import OutputFilter, Stream, stream_text
from ..io_handler import ActiveIoHandler
from ..proc_info_handler import ActiveProcInfoHandler
from .text import remove_ansi_escape_sequences


class ProcessProxy:
    """One process, as seen through proc_info and proc_output."""

    def __init__(
        self,
        process_action: ExecuteProcess,
        proc_info: ActiveProcInfoHandler,
        proc_output: ActiveIoHandler,
        *,
        output_filter: OutputFilter | None = None,
    ) -> None:
        """Look at the process of `process_action`, at its output through `output_filter`."""
        self._action = process_action
        self._proc_info = proc_info
        self._proc_output = proc_output
        self._output_filter = output_filter

    def wait_for_shutdown(self, timeout: float | None = None) -> bool:
        """Wait, without bound unless given, and return whether the process has ended."""
        with self._proc_info.proc_event:
            return self._proc_info.proc_event.wait_for(lambda: self.terminated, timeout)

    @property
    def target_process_action(self) -> ExecuteProcess:
        """The action of the process."""
        return self._action

    @property
    def stdout(self) -> str:
        """What the process wrote to stdout."""
        return self._text("stdout")

    @property
    def stderr(self) -> str:
        """What the process wrote to stderr."""
        return self._text("stderr")

    @property
    def running(self) -> bool:
        """Whether the process has started and not ended."""
        return self._action in self._proc_info.processes() and not self.terminated

    @property
    def terminated(self) -> bool:
        """Whether the process has ended."""
        return self._action in self._proc_info.processes() and isinstance(self._proc_info[self._action], ProcessExited)

    @property
    def exit_code(self) -> int | None:
        """The exit code, None as long as there is none."""
        if self._action not in self._proc_info.processes():
            return None
        return getattr(self._proc_info[self._action], "returncode", None)

    def _text(self, stream: Stream) -> str:
        text = remove_ansi_escape_sequences(stream_text(self._proc_output, self._action, stream))
        return text if self._output_filter is None else self._output_filter(text)


@contextmanager
def launch_process(
    launch_service: LaunchService,
    process_action: ExecuteProcess,
    proc_info: ActiveProcInfoHandler,
    proc_output: ActiveIoHandler,
    *,
    output_filter: OutputFilter | None = None,
) -> Iterator[ProcessProxy]:
    """Start a process in a running launch; at the end of the block it is shut down and waited for."""
    proxy = ProcessProxy(process_action, proc_info, proc_output, output_filter=output_filter)
    launch_service.emit_event(IncludeLaunchDescription(LaunchDescription([process_action])))
    try:
        yield proxy
    finally:
        with proc_info.proc_event:  # what has not started yet cannot be told to end
            proc_info.proc_event.wait_for(lambda: proxy.running or proxy.terminated, timeout=10)
        if proxy.running:
            launch_service.emit_event(ShutdownProcess(process_matcher=lambda action: action is process_action))
            proc_info.assertWaitForShutdown(process_action, timeout=30)
