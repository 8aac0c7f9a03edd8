"""How far a long piece of work is, for those who wait: who works tells, and the command that started it shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[float, int], None]  # the share that is done, of 0 to 1, and a count of what is done

_opening: ContextVar[Progress | None] = ContextVar("opening", default=None)


def no_progress(fraction: float, count: int) -> None:
    """The progress of work for which nobody waits."""


@contextmanager
def track_opening(progress: Progress) -> Iterator[None]:
    """Within it, what is opened tells how far it is, with a count of megabytes."""
    token = _opening.set(progress)
    try:
        yield
    finally:
        _opening.reset(token)


def report_opening(fraction: float, megabytes: int) -> None:
    """Tell whoever watches how far it is."""
    progress = _opening.get()
    if progress is not None:
        progress(fraction, megabytes)
