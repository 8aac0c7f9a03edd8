"""Python looks for rings of garbage when it pleases, and keeps everything waiting for as long."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)  # playing leaves some hundred objects a second


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """What there is by now is never looked at again, and what comes so seldom that nothing is late for it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
