"""What the commands write: lines, and how far a long piece of work is.

That is a bar on a terminal, a plain line now and then elsewhere.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

from fieldplay.core.errors import escape_control_chars

SIGNALS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], None]
ALLOWED_CONTROL_CHARS = "\n\t"  # of the control characters
BAR_WIDTH = 30
BAR_EVERY_S = 0.1
LINE_EVERY_S = 10.0


# SIGINT and SIGTERM as an exception: at once, or where the work can stop without leaving anything behind.


class Interrupted(BaseException):
    """The user, or the system, wants an end; like KeyboardInterrupt it is no Exception that a library may catch."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def immediate_interrupts() -> Iterator[None]:
    """A signal raises Interrupted wherever it comes; a second one does not disturb what cleans up after the first."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    with _signals_handled_by(interrupt):
        yield


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """A signal waits until the work calls what it is given here, which raises Interrupted then."""
    received: list[int] = []

    def stop_if_requested() -> None:
        if received:
            raise Interrupted(received[0])

    with _signals_handled_by(lambda number, frame: received.append(number)):
        yield stop_if_requested


@contextmanager
def _signals_handled_by(handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # which alone receives signals
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def print_line(text: str) -> None:
    """A line of output."""
    sys.stdout.write(escape_control_chars(text, allowed=ALLOWED_CONTROL_CHARS) + "\n")


def print_message(text: str) -> None:
    """Write a line to standard error; failures to write are ignored."""
    with suppress(OSError):
        sys.stderr.write(escape_control_chars(text, allowed=ALLOWED_CONTROL_CHARS) + "\n")


def note(text: str) -> None:
    """What the program says of itself, beside the output."""
    print_message(f"fieldplay: {text}")


class ProgressBar:
    """Shows the share that is done, the rate and the time left. Call it as often as there is news."""

    def __init__(self, title: str, unit: str, out: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._title, self._unit, self._out, self._now = title, unit, out, now
        self._on_terminal = out.isatty()
        self._begin = now()
        self._every = BAR_EVERY_S if self._on_terminal else LINE_EVERY_S
        self._next = self._begin + (0 if self._on_terminal else self._every)

    def __call__(self, fraction: float, count: int) -> None:
        """A share of 0 to 1 and a count of units are done."""
        if self._now() >= self._next:
            self._show(fraction, count)
            self._next = self._now() + self._every

    def finish(self) -> None:
        """Take the bar away."""
        if self._on_terminal:
            self._write("\r\x1b[K")

    def _show(self, fraction: float, count: int) -> None:
        spent = self._now() - self._begin
        rate = count / spent if spent > 0 else 0.0
        left = f"{spent * (1 - fraction) / fraction:.0f} s left" if fraction > 0 else "time left unknown"
        text = f"{self._title} {fraction:4.0%}  {count} {self._unit}, {rate:,.0f}/s, {left}"
        if self._on_terminal:
            full = round(fraction * BAR_WIDTH)
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
