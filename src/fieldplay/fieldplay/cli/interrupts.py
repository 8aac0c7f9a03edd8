"""SIGINT and SIGTERM as an exception: at once, or where the work can stop without leaving anything behind."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)

Handler = Callable[[int, FrameType | None], None]


class Interrupted(BaseException):
    """The user, or the system, wants an end; like KeyboardInterrupt it is no Exception that a library may catch."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def interrupts_at_once() -> Iterator[None]:
    """A signal raises Interrupted wherever it comes; a second one does not disturb what cleans up after the first."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    with _handled(interrupt):
        yield


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """A signal waits until the work calls what it is given here, which raises Interrupted then."""
    heard: list[int] = []

    def stop_if_wanted() -> None:
        if heard:
            raise Interrupted(heard[0])

    with _handled(lambda number, frame: heard.append(number)):
        yield stop_if_wanted


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # which alone hears signals
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
