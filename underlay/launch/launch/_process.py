"""The life of the process of one action: start, output, signals, end, and start again."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ._entities import BaseEventHandler, Event, SomeEntitiesType
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
from .logging import get_logger

if TYPE_CHECKING:
    from .actions import ExecuteProcess
    from .launch_context import LaunchContext

# How long to read on once a process has ended, while a process that it left behind holds its pipes.
_DRAIN_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the process is run; what was a substitution is performed."""

    shell: bool
    emulate_tty: bool
    sigterm_timeout: float
    sigkill_timeout: float
    respawn: bool
    respawn_delay: float
    respawn_max_retries: int
    required: bool


class LineSplitter:
    """Passes whole lines on, and keeps what has no line end yet."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """Pass each line, without its line end, to `write`."""
        self._write = write
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished: list[str] = []

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Take a piece, which may end anywhere, even within a character."""
        *lines, rest = self._decoder.decode(data, final).split("\n")
        for line in lines:
            self._write("".join((*self._unfinished, line)))
            self._unfinished = []
        if rest:
            self._unfinished.append(rest)

    def flush(self) -> None:
        """Pass on what has no line end, as a line."""
        self.feed(b"", final=True)
        self._decoder.reset()
        if self._unfinished:
            self._write("".join(self._unfinished))
            self._unfinished = []


class _Protocol(asyncio.SubprocessProtocol):
    def __init__(self, on_started: Callable[[int], None], on_output: Callable[[int, bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._on_started = on_started
        self._on_output = on_output
        self._open = {1, 2}

    def connection_made(self, transport: Any) -> None:
        self._on_started(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


class _Terminal(asyncio.Protocol):
    def __init__(self, fd: int, protocol: _Protocol) -> None:
        self._fd = fd
        self._protocol = protocol

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.pipe_connection_lost(self._fd, None)


class _Child:
    """A running process: read to the end, signalled, reaped."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self._terminals: list[asyncio.BaseTransport] = []

    @classmethod
    async def start(cls, make: Callable[[], _Protocol], details: dict[str, Any], settings: RunSettings) -> _Child:
        """Start the process; OSError if that fails."""
        if not settings.emulate_tty:
            return await cls._spawn(make, details, shell=settings.shell, streams=[subprocess.PIPE] * 2)
        with contextlib.ExitStack() as slaves, contextlib.ExitStack() as masters:
            streams, terminals = [], []
            for _ in range(2):
                master, slave = pty.openpty()
                slaves.callback(os.close, slave)
                terminals.append(masters.enter_context(os.fdopen(master, "rb", 0)))
                streams.append(slave)
                attributes = termios.tcgetattr(slave)
                attributes[1] &= ~termios.ONLCR  # else the terminal makes "\r\n" of "\n"
                termios.tcsetattr(slave, termios.TCSANOW, attributes)
            child = await cls._spawn(make, details, shell=settings.shell, streams=streams)
            masters.pop_all()  # the transports own the terminals from here on
        try:
            loop = asyncio.get_running_loop()
            for fd, terminal in enumerate(terminals, 1):
                transport, _ = await loop.connect_read_pipe(partial(_Terminal, fd, child._protocol), terminal)
                child._terminals.append(transport)
        except BaseException:
            child._transport.close()  # kills the process
            raise
        return child

    @classmethod
    async def _spawn(
        cls, make: Callable[[], _Protocol], details: dict[str, Any], *, shell: bool, streams: list[int]
    ) -> _Child:
        loop, cmd = asyncio.get_running_loop(), details["cmd"]
        options: dict[str, Any] = {"stdout": streams[0], "stderr": streams[1]}
        options.update(stdin=subprocess.PIPE, cwd=details["cwd"], env=details["env"])
        if shell:
            return cls(*await loop.subprocess_shell(make, " ".join(cmd), **options))
        return cls(*await loop.subprocess_exec(make, *cmd, **options))

    async def wait(self) -> int:
        """Wait for the end of the process and of its output; return the exit code, negative for a signal."""
        await asyncio.wait({self._protocol.exited})
        await asyncio.wait({self._protocol.drained}, timeout=_DRAIN_SECONDS)
        self._transport.close()
        for terminal in self._terminals:
            terminal.close()
        returncode = self._transport.get_returncode()
        assert returncode is not None
        return returncode

    async def exits_within(self, seconds: float) -> bool:
        """Wait for the end of the process for a limited time; report whether it came."""
        await asyncio.wait({self._protocol.exited}, timeout=seconds)
        return self._protocol.exited.done()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process is still there."""
        if not self._protocol.exited.done():
            # Not by the transport: some versions poll there, which steals the exit code from asyncio's watcher.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._transport.get_pid(), number)

    async def end(self, seconds: float) -> int:
        """End the process by SIGTERM, or by SIGKILL if it still runs after the given time or when cancelled."""
        self.send_signal(signal.SIGTERM)
        try:
            ended = await self.exits_within(seconds)
        except asyncio.CancelledError:
            ended = False
        if not ended:
            self.send_signal(signal.SIGKILL)
        return await self.wait()


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
        self, action: ExecuteProcess, context: LaunchContext, settings: RunSettings, writers: dict[int, LineSplitter]
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
        self._child: _Child | None = None
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
        requested = self._settings.respawn and (allowed < 0 or retries < allowed)
        return requested and not self._stop.done() and not self._context.is_shutdown

    async def _run_once(self) -> bool:
        """Run the process to its end; report whether it ran at all."""
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
        self._report_end(self.returncode)
        return True

    async def _start(self) -> _Child | None:
        try:
            return await _Child.start(
                lambda: _Protocol(self._on_started, self._on_output), self._details, self._settings
            )
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

    def _report_end(self, returncode: int) -> None:
        pid = self._details["pid"]
        if returncode == 0:
            self._logger.info(f"process has finished cleanly [pid {pid}]")
        else:
            cmd = " ".join(part for part in self._details["cmd"] if part.strip())
            self._logger.error(f"process has died [pid {pid}, exit code {returncode}, cmd '{cmd}'].")
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

    async def _insist(self, child: _Child) -> None:
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
