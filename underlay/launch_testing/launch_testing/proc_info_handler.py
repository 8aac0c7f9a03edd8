"""Which processes started and how they ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from launch import Action
from launch.events.process import ProcessExited, RunningProcessEvent


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

    def close(self) -> None:
        """Say that nothing will follow, which ends all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def assertWaitForStartup(self, process: Action, *, timeout: float | None = 10) -> None:
        """Assert that the process of an action starts, or has started, within `timeout` seconds."""
        self._assert_wait(process, RunningProcessEvent, timeout=timeout, what="start")

    def assertWaitForShutdown(self, process: Action, *, timeout: float | None = 10) -> None:
        """Assert that the process of an action ends, or has ended, within `timeout` seconds."""
        self._assert_wait(process, ProcessExited, timeout=timeout, what="finish")

    def _assert_wait(
        self, process: Action, event: type[RunningProcessEvent], *, timeout: float | None, what: str
    ) -> None:
        name = process_name(process)

        def happened() -> bool:
            return isinstance(self._events.get(process), event)

        with self._changed:
            self._changed.wait_for(lambda: happened() or self._closed, timeout)
            if not happened():
                reason = "the launch has ended" if self._closed else f"waited {timeout} s"
                raise AssertionError(f"Timed out waiting for process {name!r} to {what}: {reason}")


def process_name(action: Any) -> str:
    """Name of the process of an action, as launch numbers it."""
    if not isinstance(action, Action):
        raise TypeError(f"process must be the action that starts it for this launch_testing, not {action!r}")
    details = getattr(action, "process_details", None)
    return str(details["name"]) if details else "Unknown - process not launched yet"
