"""Signals of the launch process itself."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping


@contextlib.contextmanager
def handled(
    loop: asyncio.AbstractEventLoop, handlers: Mapping[signal.Signals, Callable[[signal.Signals], None]]
) -> Iterator[None]:
    """Call the handlers within the loop; outside of the main thread signals are left alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler, number)
        yield
    finally:
        for number, previous in before.items():
            loop.remove_signal_handler(number)
            if previous is not None:  # None: it was not set by Python, and cannot be restored
                signal.signal(number, previous)
