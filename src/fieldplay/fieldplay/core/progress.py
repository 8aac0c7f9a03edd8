"""Progress of long tasks: the task reports it, and the command that started it shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[float, int], None]  # the share that is done, of 0 to 1, and a count of what is done

_opening: ContextVar[Progress | None] = ContextVar("opening", default=None)


def no_progress(fraction: float, count: int) -> None:
    """Ignore progress reports."""


@contextmanager
def track_opening(progress: Progress) -> Iterator[None]:
    """Report the progress of everything that is opened inside, with a count of megabytes."""
    token = _opening.set(progress)
    try:
        yield
    finally:
        _opening.reset(token)


def report_opening(fraction: float, megabytes: int) -> None:
    """Report progress to the current `track_opening`, if any."""
    progress = _opening.get()
    if progress is not None:
        progress(fraction, megabytes)
