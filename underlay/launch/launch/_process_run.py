"""The life of the process of one action: start, output, signals, end, and start again."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._child import Child, ChildSpec
from ._lines import LineSplitter
from .event import Event
from .event_handler import BaseEventHandler
from .event_handlers import OnShutdown
from .events import Shutdown, matches_action
from .events.process import (
    ProcessExited,
    ProcessStarted,
    ProcessStderr,
    ProcessStdout,
    ProcessTargetedEvent,
    ShutdownProcess,
    SignalProcess,
)
from .launch_context import LaunchContext
from .logging import get_logger
from .some_entities_type import SomeEntitiesType

if TYPE_CHECKING:
    from .actions.execute_local import ExecuteLocal


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the process is run; what was a substitution is performed."""

    shell: bool
    emulate_tty: bool
    log_cmd: bool
    sigterm_timeout: float
    sigkill_timeout: float
    respawn: bool
    respawn_delay: float
    respawn_max_retries: int
    required: bool


class _OnRequest(BaseEventHandler):
    """Passes on the events that ask something of one action's process."""

    def __init__(self, run: ProcessRun) -> None:
        super().__init__(
            matcher=lambda event: isinstance(event, ProcessTargetedEvent) and event.process_matcher(run.action)
        )
        self.__run = run

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        if isinstance(event, ShutdownProcess):
            self.__run.stop(send_sigint=True)
        elif isinstance(event, SignalProcess):
            self.__run.send_signal(event.signal_name)
        return None


class ProcessRun:
    """Runs a process in a task, until it has ended for good."""

    def __init__(
        self, action: ExecuteLocal, context: LaunchContext, settings: RunSettings, writers: dict[int, LineSplitter]
    ) -> None:
        """Begin at once, in the loop of the launch service."""
        assert action.process_details is not None
        loop = context._running_loop()
        self.action = action
        self.returncode: int | None = None
        self._context = context
        self._settings = settings
        self._writers = writers
        self._details: dict[str, Any] = action.process_details
        self._logger = get_logger(self._details["name"])
        self._child: Child | None = None
        self._escalation: asyncio.Task[None] | None = None
        self._stop: asyncio.Future[None] = loop.create_future()
        self._handlers = [_OnRequest(self), OnShutdown(on_shutdown=self._on_shutdown)]
        for handler in self._handlers:
            context.register_event_handler(handler)
        self.task: asyncio.Task[None] = loop.create_task(self._run())
        context.add_completion_future(self.task)

    async def _run(self) -> None:
        retries = 0
        try:
            while await self._run_once() and self._may_respawn(retries):
                retries += 1
                await asyncio.wait({self._stop}, timeout=self._settings.respawn_delay)
        finally:
            for handler in self._handlers:
                self._context.unregister_event_handler(handler)

    def _may_respawn(self, retries: int) -> bool:
        allowed = self._settings.respawn_max_retries
        wanted = self._settings.respawn and (allowed < 0 or retries < allowed)
        return wanted and not self._stop.done() and not self._context.is_shutdown

    async def _run_once(self) -> bool:
        """Run the process to its end; tell whether it ran at all."""
        if self._stop.done():
            return False
        child = await self._start()
        if child is None:
            return False
        self._child = child
        if self._stop.done():
            self._escalate(send_sigint=True)
        try:
            self.returncode = await child.wait()
        except asyncio.CancelledError:
            self.returncode = await child.end(self._settings.sigkill_timeout)
            raise
        finally:
            self._child = None
            if self._escalation is not None:
                self._escalation.cancel()
            for writer in self._writers.values():
                writer.flush()
        self._tell_end(self.returncode)
        return True

    async def _start(self) -> Child | None:
        details = self._details
        if self._settings.log_cmd:
            self._logger.info(
                f"process details: cmd='{_shown(details['cmd'])}', cwd='{details['cwd']}', "
                f"custom_env?={details['env'] is not None}"
            )
        spec = ChildSpec(
            cmd=details["cmd"],
            cwd=details["cwd"],
            env=details["env"],
            shell=self._settings.shell,
            emulate_tty=self._settings.emulate_tty,
            on_started=self._on_started,
            on_output=self._on_output,
        )
        try:
            return await Child.start(spec)
        except (OSError, ValueError) as exc:
            self._logger.error(f"exception occurred while executing process:\n{type(exc).__name__}: {exc}")
            if self._settings.required:
                self._context._required_process_failed = True
            return None

    def _on_started(self, pid: int) -> None:
        self._details["pid"] = pid
        self._logger.info(f"process started with pid [{pid}]")
        self._context.emit_event_sync(ProcessStarted(**self._details))

    def _on_output(self, fd: int, data: bytes) -> None:
        self._writers[fd].feed(data)
        event = ProcessStdout if fd == 1 else ProcessStderr
        self._context.emit_event_sync(event(text=data, **self._details))

    def _tell_end(self, returncode: int) -> None:
        pid = self._details["pid"]
        if returncode == 0:
            self._logger.info(f"process has finished cleanly [pid {pid}]")
        else:
            self._logger.error(
                f"process has died [pid {pid}, exit code {returncode}, cmd '{_shown(self._details['cmd'])}']."
            )
        self._context.emit_event_sync(ProcessExited(returncode=returncode, **self._details))

    def _on_shutdown(self, event: Shutdown, context: LaunchContext) -> None:
        # A terminal sends its Ctrl-C to the children as well: a second SIGINT would only disturb their cleaning up.
        self.stop(send_sigint=not event.due_to_sigint or context.noninteractive)

    def stop(self, *, send_sigint: bool) -> None:
        """Let the process end: by SIGINT, SIGTERM and SIGKILL in turn, each if the one before was of no avail."""
        if self._stop.done():
            return
        self._stop.set_result(None)
        if self._child is not None:
            self._escalate(send_sigint=send_sigint)

    def send_signal(self, name: str) -> None:
        """Send the signal of that name."""
        if self._child is None:
            self._logger.debug(f"signal '{name}' not sent to process[{self._details['name']}]: it does not run")
            return
        self._logger.info(f"sending signal '{name}' to process[{self._details['name']}]")
        self._child.send_signal(signal.Signals[name])

    def _escalate(self, *, send_sigint: bool) -> None:
        assert self._child is not None
        if send_sigint:
            self._request_signal(signal.SIGINT)
        self._escalation = self._context._running_loop().create_task(self._insist(self._child))

    async def _insist(self, child: Child) -> None:
        settings = self._settings
        for seconds, sent, following in (
            (settings.sigterm_timeout, signal.SIGINT, signal.SIGTERM),
            (settings.sigkill_timeout, signal.SIGTERM, signal.SIGKILL),
        ):
            if await child.exits_within(seconds):
                return
            self._logger.error(
                f"process[{self._details['name']}] failed to terminate '{seconds:g}' seconds after receiving "
                f"'{sent.name}', escalating to '{following.name}'"
            )
            self._request_signal(following)

    def _request_signal(self, number: signal.Signals) -> None:
        self._context.emit_event_sync(SignalProcess(signal_number=number, process_matcher=matches_action(self.action)))


def _shown(cmd: list[str]) -> str:
    return " ".join(part for part in cmd if part.strip())
