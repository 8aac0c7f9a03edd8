"""Assertions on the order of what a process wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..util.proc_lookup import ProcessRef, resolveProcesses
from .assert_output import stream_text

if TYPE_CHECKING:
    from ..io_handler import IoHandler

_NEARBY_LINES = 2


class SequentialTextChecker:
    """A cursor over a text: each match has to lie behind the one before."""

    def __init__(self, output: Iterable[str]) -> None:
        """Join the pieces of the output."""
        self._text = "".join(output)
        self._cursor = 0

    def assertInText(self, msg: str) -> None:
        """Move behind the next occurrence of `msg`; a failure leaves the cursor where it was."""
        found = self._text.find(msg, self._cursor)
        if found < 0:
            raise AssertionError(f"{msg!r} not found in the rest of the output. Nearby:\n{self.get_nearby_lines()}")
        self._cursor = found + len(msg)

    def assertInStdout(self, msg: str) -> None:
        """Do as assertInText."""
        self.assertInText(msg)

    def get_nearby_lines(self) -> str:
        """Return the line the cursor is in, with two lines before it and two behind it."""
        # A cursor at the very end of a line stands for the next line, hence the character after it counts too.
        current = self._text.count("\n", 0, self._cursor + 1)
        lines = self._text.splitlines()
        return "\n".join(lines[max(current - _NEARBY_LINES, 0) : current + _NEARBY_LINES + 1])


@contextmanager
def assertSequentialStdout(
    proc_output: IoHandler, process: ProcessRef, cmd_args: Any = None
) -> Iterator[SequentialTextChecker]:
    """Enter a checker of the order in which one process wrote to stdout."""
    actions = resolveProcesses(proc_output, process=process, cmd_args=cmd_args)
    if len(actions) != 1:
        raise LookupError(f"the order of output is known within one process only, {len(actions)} processes match")
    yield SequentialTextChecker([stream_text(proc_output, actions[0], "stdout")])
