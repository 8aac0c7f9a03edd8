"""Wait until the graph that a fresh node sees has stopped growing."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait, in seconds: at least, until there was no change for that long, and at most."""

    least_s: float = 0.0
    quiet_s: float = 0.4
    most_s: float = 6.5


# Of a participant that is up, Fast DDS tells in a tenth of a second or, when the first exchange missed (which is no
# rare thing), with its next heartbeat 3 s later. Who wants the first word of a topic can go by that; who wants all of
# the graph must wait for the heartbeat.
FIRST_FOUND = Patience()
ALL_FOUND = Patience(least_s=3.3)


def wait_until_settled(
    look: Callable[[], tuple[Hashable, bool]],
    step: Callable[[], None],
    *,
    patience: Patience,
    now_s: Callable[[], float] = time.monotonic,
) -> bool:
    """Call ``step`` (which takes a while) until what is seen is complete and has not changed for some time.

    Args:
        look: returns what is seen now, and whether it may be all there is.
        step: lets time pass.
        patience: the bounds.
        now_s: the clock, in seconds.

    Returns:
        Whether the graph settled; False when the longest wait ran out first.
    """
    start = changed = now_s()
    seen, complete = look()
    while now_s() - start < patience.most_s:
        quiet = now_s() - changed >= patience.quiet_s
        if complete and quiet and now_s() - start >= patience.least_s:
            return True
        step()
        before, (seen, complete) = seen, look()
        if seen != before:
            changed = now_s()
    return False
