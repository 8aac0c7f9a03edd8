"""What the launched processes wrote."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from launch.events.process import ProcessIO

from .asserts import ExpectedOutput, Stream, assertInStream, shown
from .util import NoMatchingProcessException, ProcessRef, process_name


class IoHandler:
    """The recorded output of processes.

    Iterating yields the pieces of output in order of arrival; `handler[process]`, by action or full process name,
    gives those of one process. The launch writes from one thread while tests read in another.
    """

    def __init__(self) -> None:
        """Start with nothing recorded."""
        self._changed = threading.Condition()
        self._pieces: list[ProcessIO] = []
        self._by_name: dict[str, list[ProcessIO]] = {}

    def track(self, process_name: str) -> None:
        """Know a process before, or even without, its first output."""
        with self._changed:
            self._by_name.setdefault(process_name, [])

    def append(self, process_io: ProcessIO) -> None:
        """Record a piece of output."""
        with self._changed:
            self._pieces.append(process_io)
            self._by_name.setdefault(process_io.process_name, []).append(process_io)
            self._changed.notify_all()

    def __iter__(self) -> Iterator[ProcessIO]:
        with self._changed:
            return iter(list(self._pieces))

    def processes(self) -> list[Any]:
        """List the actions whose processes wrote something."""
        with self._changed:
            return list(dict.fromkeys(piece.action for piece in self._pieces))

    def process_names(self) -> list[str]:
        """List the names of the processes known."""
        with self._changed:
            return list(self._by_name)

    def __getitem__(self, key: Any) -> list[ProcessIO]:
        name = key if isinstance(key, str) else process_name(key)
        with self._changed:
            return list(self._by_name[name])


class ActiveIoHandler(IoHandler):
    """The recorded output of processes that still run."""

    def __init__(self) -> None:
        """Start with nothing recorded, waiting for output."""
        super().__init__()
        self._closed = False

    @property
    def io_event(self) -> threading.Condition:
        """The condition that is notified of new output."""
        return self._changed

    def close(self) -> None:
        """Say that nothing will follow, which ends all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def waitFor(
        self,
        expected_output: ExpectedOutput,
        process: ProcessRef = None,
        cmd_args: Any = None,
        *,
        timeout: float | None = 10,
        **kwargs: Any,
    ) -> bool:
        """Wait up to `timeout` seconds and return whether the output came; arguments as of asserts.assertInStream."""
        check = functools.partial(assertInStream, self, expected_output, process, cmd_args, **kwargs)
        return self._failure_after(timeout, check) is None

    def assertWaitFor(
        self,
        expected_output: ExpectedOutput,
        process: ProcessRef = None,
        cmd_args: Any = None,
        *,
        timeout: float | None = 10,
        stream: Stream = "stderr",
        **kwargs: Any,
    ) -> None:
        """Assert that output comes within `timeout` seconds; arguments as of asserts.assertInStream."""
        check = functools.partial(assertInStream, self, expected_output, process, cmd_args, stream=stream, **kwargs)
        failure = self._failure_after(timeout, check)
        if failure is not None:
            reason = "the launch has ended" if self._closed else f"{timeout} s are over"
            expected = shown(expected_output)
            raise AssertionError(f"Waiting for output timed out: no {expected} in {stream}; {reason}\n{failure}")

    def _failure_after(self, timeout: float | None, check: Callable[[], None]) -> Exception | None:
        """Wait until a check passes; return why it does not, None if it does."""
        failure: Exception | None = None

        def is_over() -> bool:
            nonlocal failure
            try:
                check()
            except (AssertionError, NoMatchingProcessException) as error:
                failure = error
                return self._closed
            failure = None
            return True

        with self._changed:
            self._changed.wait_for(is_over, timeout)
            return failure
