"""How far the opening of an archive is, for those who wait: a reader tells, and the command that opens it shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[float, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_opening(watcher: Watcher) -> Iterator[None]:
    """Within it, what is opened tells the watcher a share of 0 to 1 and a count of megabytes."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell_opening(share: float, megabytes: int) -> None:
    """Tell whoever watches how far it is."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(share, megabytes)
