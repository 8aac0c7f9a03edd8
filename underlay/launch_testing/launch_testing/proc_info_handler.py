"""Which processes started and how they ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from launch import Action
from launch.events.process import ProcessExited, RunningProcessEvent


class ActiveProcInfoHandler:
    """The newest event, ProcessStarted or ProcessExited, of each process.

    Iterating yields these events in order of first appearance; `handler[action]` gives that of one process. The launch
    writes from one thread while tests read in another.
    """

    def __init__(self) -> None:
        """Start with nothing recorded, waiting for events."""
        self._changed = threading.Condition()
        self._events: dict[Any, RunningProcessEvent] = {}
        self._closed = False

    def append(self, process_info: RunningProcessEvent) -> None:
        """Record the event of a process."""
        with self._changed:
            self._events[process_info.action] = process_info
            self._changed.notify_all()

    def __iter__(self) -> Iterator[RunningProcessEvent]:
        with self._changed:
            return iter(list(self._events.values()))

    def __getitem__(self, action: Any) -> RunningProcessEvent:
        return self._events[action]

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


ProcInfoHandler = ActiveProcInfoHandler  # what tests after the shutdown are handed: it waits for nothing then


def process_name(action: Any) -> str:
    """Name of the process of an action, as launch numbers it."""
    if not isinstance(action, Action):
        raise TypeError(f"process must be the action that starts it for this launch_testing, not {action!r}")
    details = getattr(action, "process_details", None)
    return str(details["name"]) if details else "Unknown - process not launched yet"
