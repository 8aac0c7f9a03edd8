"""What the launched processes wrote."""

from __future__ import annotations

import threading
from typing import Any, Literal, TypeAlias

from launch import Action
from launch.events.process import ProcessIO

from .proc_info_handler import process_name

Stream: TypeAlias = Literal["stdout", "stderr"]

_SHOWN_CHARACTERS = 2000


class ActiveIoHandler:
    """The recorded output of processes.

    `handler[process]`, by action or full process name, gives the pieces of one process in order of arrival. The launch
    writes from one thread while tests read in another.
    """

    def __init__(self) -> None:
        """Start with nothing recorded, waiting for output."""
        self._changed = threading.Condition()
        self._by_name: dict[str, list[ProcessIO]] = {}
        self._closed = False

    def track(self, process_name: str) -> None:
        """Know a process before, or even without, its first output."""
        with self._changed:
            self._by_name.setdefault(process_name, [])

    def append(self, process_io: ProcessIO) -> None:
        """Record a piece of output."""
        with self._changed:
            self._by_name.setdefault(process_io.process_name, []).append(process_io)
            self._changed.notify_all()

    def process_names(self) -> list[str]:
        """List the names of the processes known."""
        with self._changed:
            return list(self._by_name)

    def __getitem__(self, key: Any) -> list[ProcessIO]:
        name = key if isinstance(key, str) else process_name(key)
        with self._changed:
            return list(self._by_name[name])

    def last_words(self, name: str, stream: Stream) -> str:
        """Return the end of what the process of that name wrote to a stream."""
        return self._text(name, stream)[-_SHOWN_CHARACTERS:].rstrip()

    def _text(self, name: str, stream: Stream) -> str:
        """Join the pieces; a character cut in two by a read is whole again."""
        pieces = self._by_name.get(name, ())
        chunks = (piece.text for piece in pieces if (piece.from_stdout if stream == "stdout" else piece.from_stderr))
        return b"".join(chunks).decode(errors="replace")

    def close(self) -> None:
        """Say that nothing will follow, which ends all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def assertWaitFor(
        self,
        expected_output: str,
        process: Action | None = None,
        *,
        timeout: float | None = 10,
        stream: Stream = "stderr",
    ) -> None:
        """Assert that the process of an action, or any process, writes a text to a stream within `timeout` seconds."""
        if stream not in ("stdout", "stderr"):
            raise ValueError(f"stream must be 'stdout' or 'stderr', not {stream!r}")

        def names() -> list[str]:
            return list(self._by_name) if process is None else [process_name(process)]

        def came() -> bool:
            return any(expected_output in self._text(name, stream) for name in names())

        with self._changed:
            if self._changed.wait_for(lambda: came() or self._closed, timeout) and came():
                return
            reason = "the launch has ended" if self._closed else f"{timeout} s are over"
            lines = [f"Waiting for output timed out: no {expected_output!r} in {stream}; {reason}"]
            for name in names():
                lines += [f"--- {stream} of {name} ---", self.last_words(name, stream) or "(nothing)"]
        raise AssertionError("\n".join(lines))
