"""Time as playing knows it: the machine's, the play head's, and the times that messages carry when they leave."""

import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, get_native_id
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.player.options import Stamps

Now = Callable[[], int]

MAX_WAITED_S = 3600.0  # at once: threads cannot wait for a century, which is a second at the lowest rate
WAKING_NS = 80_000  # what it takes to go on after a wait, about: so much earlier it is woken, and spins

PR_SET_TIMERSLACK = 29
NICE = -10  # of the thread that publishes, which runs for a tenth of the time


class Time(Protocol):
    """The monotonic clock, the machine's time of day, and waiting: all of time that playing knows."""

    def now(self) -> int:
        """Monotonic nanoseconds."""

    def wall(self) -> int:
        """Nanoseconds since 1970."""

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        """Wait, with the lock held, for a notification, no longer than until a monotonic time; it may end before."""


class SystemTime:
    """The machine's time."""

    def now(self) -> int:
        return time.monotonic_ns()

    def wall(self) -> int:
        return time.time_ns()

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        if until_ns is None:
            changed.wait()
            return
        wait_s = max(until_ns - WAKING_NS - self.now(), 0) / NS_PER_S
        if not changed.wait(min(wait_s, MAX_WAITED_S)) and wait_s <= MAX_WAITED_S:
            while self.now() < until_ns:
                pass


def wake_exactly() -> None:
    """Let the system wake this thread when it asked to be, ahead of others where the user may ask for that.

    Else it comes up to 50 us later, with others to save power.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # a C library without it
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with suppress(OSError):  # no right to it
        os.setpriority(os.PRIO_PROCESS, get_native_id(), NICE)


class PlayerClock:
    """Archive time that runs at a rate against a monotonic clock in nanoseconds, from one anchor to the next.

    A deadline is computed from the anchor, never from the deadline before it, so that lateness does not add up.
    Pausing, seeking and changing the rate set a new anchor. It is not safe to use from several threads at once.
    """

    def __init__(self, now: Now, position_ns: int, rate: float = 1.0) -> None:
        self._now = now
        self._rate = rate
        self._anchor_ns = now()
        self._position_ns = position_ns
        self._runs = False

    @property
    def runs(self) -> bool:
        return self._runs

    @property
    def rate(self) -> float:
        return self._rate

    @property
    def position_ns(self) -> int:
        """The archive's time now."""
        if not self._runs:
            return self._position_ns
        return self._position_ns + round((self._now() - self._anchor_ns) * self._rate)

    def deadline_ns(self, stamp_ns: int) -> int:
        """When, on the monotonic clock, a time of the archive comes or came; of use only while the clock runs."""
        return self._anchor_ns + round((stamp_ns - self._position_ns) / self._rate)

    def deadlines_ns(self, stamp_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The deadlines (n,) of times (n,) of the archive."""
        return self._anchor_ns + np.rint((stamp_ns - self._position_ns) / self._rate).astype(np.int64)

    def position_at(self, time_ns: int) -> int:
        """The archive's time at a monotonic time, while the clock runs; no later than a deadline of that time."""
        return self._position_ns + int((time_ns - self._anchor_ns) * self._rate)

    def run_from(self, position_ns: int) -> None:
        """Go on from a time of the archive."""
        self._anchor_ns, self._position_ns, self._runs = self._now(), position_ns, True

    def stop_at(self, position_ns: int) -> None:
        """Stand still at a time of the archive."""
        self._position_ns, self._runs = position_ns, False

    def set_rate(self, rate: float, position_ns: int) -> None:
        """Another rate (> 0), from a time of the archive on."""
        self._rate, self._anchor_ns, self._position_ns = rate, self._now(), position_ns


class OutgoingStamps:
    """Says by how much the times inside a message are moved.

    They stay the archive's, apart from what further rounds add; or they become the time of day at which the message
    is due, the same for all messages of one time in the archive, and never going back.
    """

    def __init__(self, stamps: Stamps, system: Time) -> None:
        self._is_now = stamps == "now"
        self._time = system
        self._stamp_ns: int | None = None
        self.last_outgoing_ns = 0
        self.shift_ns = 0

    def deltas_ns(self, stamps_ns: Sequence[int], deadline_ns: Callable[[int], int]) -> list[int]:
        """What is added to the times inside messages of these times, which are due at monotonic times by their own."""
        if not self._is_now:
            return [self.shift_ns] * len(stamps_ns)
        return [self._outgoing_ns(stamp_ns, deadline_ns) - stamp_ns for stamp_ns in stamps_ns]

    def _outgoing_ns(self, stamp_ns: int, deadline_ns: Callable[[int], int]) -> int:
        if stamp_ns != self._stamp_ns:
            now = self._time.now()
            due_by_day_ns = self._time.wall() - now + deadline_ns(stamp_ns)
            self._stamp_ns, self.last_outgoing_ns = stamp_ns, max(self.last_outgoing_ns, due_by_day_ns)
        return self.last_outgoing_ns

    def rewind(self, outgoing_ns: int) -> None:
        """What was given stamps after this one has not left."""
        self._stamp_ns, self.last_outgoing_ns = None, outgoing_ns

    def forget(self) -> None:
        """The play head has jumped: what comes at the same time of the archive is not the same moment."""
        self._stamp_ns = None
