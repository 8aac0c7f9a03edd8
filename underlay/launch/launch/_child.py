"""A child process: starting it, reading it to the end, signalling it, reaping it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

# How long to read on once a process has ended, while a process that it left behind holds its pipes.
_DRAIN_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class ChildSpec:
    """What to start, and whom to tell."""

    cmd: list[str]
    cwd: str | None
    env: dict[str, str] | None
    shell: bool
    emulate_tty: bool
    on_started: Callable[[int], None]
    on_output: Callable[[int, bytes], None]


class _Protocol(asyncio.SubprocessProtocol):
    def __init__(self, spec: ChildSpec) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._spec = spec
        self._open = {1, 2}

    def connection_made(self, transport: Any) -> None:
        self._spec.on_started(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._spec.on_output(fd, data)

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


class Child:
    """A running process with its output connected."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        """Own the process behind `transport`."""
        self._transport = transport
        self._protocol = protocol
        self._terminals: list[asyncio.BaseTransport] = []

    @classmethod
    async def start(cls, spec: ChildSpec) -> Child:
        """Start the process; OSError if that fails."""
        if not spec.emulate_tty:
            return await cls._spawn(spec, {1: subprocess.PIPE, 2: subprocess.PIPE})
        with contextlib.ExitStack() as slaves, contextlib.ExitStack() as masters:
            streams, terminals = {}, {}
            for fd in (1, 2):
                master, streams[fd] = pty.openpty()
                slaves.callback(os.close, streams[fd])
                terminals[fd] = masters.enter_context(os.fdopen(master, "rb", 0))
                _keep_line_ends(streams[fd])
            child = await cls._spawn(spec, streams)
            masters.pop_all()  # the transports own the terminals from here on
        try:
            await child._connect(terminals)
        except BaseException:
            child._transport.close()  # kills the process
            raise
        return child

    @classmethod
    async def _spawn(cls, spec: ChildSpec, streams: dict[int, int]) -> Child:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": streams[1],
            "stderr": streams[2],
            "cwd": spec.cwd,
            "env": spec.env,
        }
        if spec.shell:
            transport, protocol = await loop.subprocess_shell(lambda: _Protocol(spec), " ".join(spec.cmd), **options)
        else:
            transport, protocol = await loop.subprocess_exec(lambda: _Protocol(spec), *spec.cmd, **options)
        return cls(transport, protocol)

    async def _connect(self, terminals: dict[int, Any]) -> None:
        loop = asyncio.get_running_loop()
        for fd, terminal in terminals.items():
            transport, _ = await loop.connect_read_pipe(partial(_Terminal, fd, self._protocol), terminal)
            self._terminals.append(transport)

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
        """Wait for the end of the process for a limited time; tell whether it came."""
        await asyncio.wait({self._protocol.exited}, timeout=seconds)
        return self._protocol.exited.done()

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal; tell whether the process was still there."""
        if self._protocol.exited.done():
            return False
        try:
            # Not by the transport: some versions poll there, which steals the exit code from asyncio's watcher.
            os.kill(self._transport.get_pid(), number)
        except ProcessLookupError:
            return False
        return True

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


def _keep_line_ends(terminal: int) -> None:
    attributes = termios.tcgetattr(terminal)
    attributes[1] &= ~termios.ONLCR  # else the terminal makes "\r\n" of "\n"
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
