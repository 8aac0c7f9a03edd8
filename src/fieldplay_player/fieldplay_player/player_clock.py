"""The play head: which time of the archive it is, and when a time of it will come."""

from collections.abc import Callable

Now = Callable[[], int]


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

    def run_from(self, position_ns: int) -> None:
        """Go on from a time of the archive."""
        self._anchor_ns, self._position_ns, self._runs = self._now(), position_ns, True

    def stop_at(self, position_ns: int) -> None:
        """Stand still at a time of the archive."""
        self._position_ns, self._runs = position_ns, False

    def set_rate(self, rate: float, position_ns: int) -> None:
        """Another rate (> 0), from a time of the archive on."""
        self._rate, self._anchor_ns, self._position_ns = rate, self._now(), position_ns
