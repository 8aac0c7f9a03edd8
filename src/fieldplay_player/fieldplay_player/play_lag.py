"""Says when playing falls behind and when it has caught up, not more often than is good."""

from fieldplay_messages.stamps import NS_PER_S

BEHIND_NS = 100_000_000
CAUGHT_UP_NS = 20_000_000
SILENCE_NS = 5 * NS_PER_S


class LagWatch:
    """Hears how late each message left, and gives a line when there is something to say."""

    def __init__(self) -> None:
        self._said = False
        self._worst_ns = 0
        self._silent_until_ns: int | None = None

    def hear(self, lag_ns: int, now_ns: int) -> str | None:
        """What to say at a monotonic time, if anything."""
        if lag_ns >= BEHIND_NS:
            return self._behind(lag_ns, now_ns)
        if lag_ns >= CAUGHT_UP_NS:
            return None
        worst_ns, self._worst_ns = self._worst_ns, 0
        if not self._said:
            return None
        self._said = False
        return f"has caught up; it was up to {worst_ns / NS_PER_S:.2f} s behind"

    def _behind(self, lag_ns: int, now_ns: int) -> str | None:
        self._worst_ns = max(self._worst_ns, lag_ns)
        if self._silent_until_ns is not None and now_ns < self._silent_until_ns:
            return None
        self._said, self._silent_until_ns = True, now_ns + SILENCE_NS
        return f"is behind by {lag_ns / NS_PER_S:.2f} s; nothing is dropped, messages leave late"
