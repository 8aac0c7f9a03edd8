"""Which processes started and how they ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from launch.events.process import ProcessExited, RunningProcessEvent

from .util import NoMatchingProcessException, ProcessRef, process_name, resolveProcesses


class ProcInfoHandler:
    """The newest event, ProcessStarted or ProcessExited, of each process.

    Iterating yields these events in order of first appearance; `handler[process]`, by action or full process name,
    gives that of one process. The launch writes from one thread while tests read in another.
    """

    def __init__(self) -> None:
        """Start with nothing recorded."""
        self._changed = threading.Condition()
        self._events: dict[Any, RunningProcessEvent] = {}

    def append(self, process_info: RunningProcessEvent) -> None:
        """Record the event of a process."""
        with self._changed:
            self._events[process_info.action] = process_info
            self._changed.notify_all()

    def __iter__(self) -> Iterator[RunningProcessEvent]:
        with self._changed:
            return iter(list(self._events.values()))

    def processes(self) -> list[Any]:
        """List the actions of the recorded processes."""
        with self._changed:
            return list(self._events)

    def process_names(self) -> list[str]:
        """List the names of the recorded processes."""
        return [event.process_name for event in self]

    def __getitem__(self, key: Any) -> RunningProcessEvent:
        if not isinstance(key, str):
            return self._events[key]
        for event in self:
            if event.process_name == key:
                return event
        raise KeyError(key)


class ActiveProcInfoHandler(ProcInfoHandler):
    """The events of processes that still run."""

    def __init__(self) -> None:
        """Start with nothing recorded, waiting for events."""
        super().__init__()
        self._closed = False

    @property
    def proc_event(self) -> threading.Condition:
        """The condition that is notified of new events."""
        return self._changed

    def close(self) -> None:
        """Say that nothing will follow, which ends all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def assertWaitForStartup(self, process: ProcessRef, cmd_args: Any = None, *, timeout: float | None = 10) -> None:
        """Assert that one process starts, or has started, within `timeout` seconds."""
        self._assert_wait(process, cmd_args, timeout=timeout, until=lambda _: True, what="start")

    def assertWaitForShutdown(self, process: ProcessRef, cmd_args: Any = None, *, timeout: float | None = 10) -> None:
        """Assert that one process ends, or has ended, within `timeout` seconds."""
        self._assert_wait(
            process, cmd_args, timeout=timeout, until=lambda event: isinstance(event, ProcessExited), what="finish"
        )

    def _assert_wait(
        self,
        process: ProcessRef,
        cmd_args: Any,
        *,
        timeout: float | None,
        until: Callable[[RunningProcessEvent], bool],
        what: str,
    ) -> None:
        def happened() -> bool:
            try:
                actions = resolveProcesses(self, process=process, cmd_args=cmd_args)
            except NoMatchingProcessException:
                return False
            if len(actions) != 1:
                raise LookupError(f"waiting is for one process only, {process!r} matches {len(actions)}")
            return until(self[actions[0]])

        with self._changed:
            self._changed.wait_for(lambda: happened() or self._closed, timeout)
            if not happened():
                name = process if isinstance(process, str) or process is None else process_name(process)
                reason = "the launch has ended" if self._closed else f"waited {timeout} s"
                raise AssertionError(f"Timed out waiting for process {name!r} to {what}: {reason}")
