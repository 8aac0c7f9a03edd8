"""What the commands write: lines, and how far a long piece of work is.

That is a bar on a terminal, a plain line now and then elsewhere.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from fieldplay.core.errors import escape_control_chars

KEPT = "\n\t"  # of the signs that steer a terminal
BAR_WIDTH = 30
BAR_EVERY_S = 0.1
LINE_EVERY_S = 10.0


def print_line(text: str) -> None:
    """A line of output."""
    sys.stdout.write(escape_control_chars(text, kept=KEPT) + "\n")


def tell(text: str) -> None:
    """A line beside the output; if nobody can read it the work still goes on."""
    with suppress(OSError):
        sys.stderr.write(escape_control_chars(text, kept=KEPT) + "\n")


def note(text: str) -> None:
    """What the program says of itself, beside the output."""
    tell(f"fieldplay: {text}")


class ProgressBar:
    """Shows the share that is done, the rate and the time left. Call it as often as there is news."""

    def __init__(self, title: str, unit: str, out: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._title, self._unit, self._out, self._now = title, unit, out, now
        self._on_terminal = out.isatty()
        self._begin = now()
        self._every = BAR_EVERY_S if self._on_terminal else LINE_EVERY_S
        self._next = self._begin + (0 if self._on_terminal else self._every)

    def __call__(self, share: float, count: int) -> None:
        """A share of 0 to 1 and a count of units are done."""
        if self._now() >= self._next:
            self._show(share, count)
            self._next = self._now() + self._every

    def finish(self) -> None:
        """Take the bar away."""
        if self._on_terminal:
            self._write("\r\x1b[K")

    def _show(self, share: float, count: int) -> None:
        spent = self._now() - self._begin
        rate = count / spent if spent > 0 else 0.0
        left = f"{spent * (1 - share) / share:.0f} s left" if share > 0 else "time left unknown"
        text = f"{self._title} {share:4.0%}  {count} {self._unit}, {rate:,.0f}/s, {left}"
        if self._on_terminal:
            full = round(share * BAR_WIDTH)
            self._write(f"\r\x1b[K[{'#' * full}{'.' * (BAR_WIDTH - full)}] {text}")
        else:
            self._write(text + "\n")

    def _write(self, text: str) -> None:
        """What nobody reads must not end the work."""
        with suppress(OSError):
            self._out.write(text)
            self._out.flush()


@contextmanager
def progress_bar(title: str, unit: str) -> Iterator[ProgressBar]:
    """A progress bar beside the output that is gone afterwards, whatever happens."""
    bar = ProgressBar(title, unit, sys.stderr)
    try:
        yield bar
    finally:
        bar.finish()
