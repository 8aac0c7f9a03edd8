"""The last messages, to be asked for by their times."""

from typing import Any

from rclpy.time import Time

from ._simple_filter import SimpleFilter
from ._stamps import stamp_of


class Cache(SimpleFilter):
    """Keeps the last ``cache_size`` messages of a filter, and passes them on."""

    def __init__(self, f: SimpleFilter | None = None, cache_size: int = 1, allow_headerless: bool = False) -> None:
        """Hear ``f``."""
        super().__init__()
        self.cache_size, self.allow_headerless = cache_size, allow_headerless
        self._messages: list[tuple[Time, Any]] = []
        if f is not None:
            self.connectInput(f)

    def connectInput(self, f: SimpleFilter) -> None:
        """Hear ``f``."""
        self.incoming_connection = f.registerCallback(self.add)

    def add(self, msg: Any) -> None:
        """Keep a message, the one that came first goes."""
        stamp = stamp_of(msg, allow_headerless=self.allow_headerless)
        if stamp is None:
            return
        self._messages = [*self._messages, (stamp, msg)][-self.cache_size :]
        self.signalMessage(msg)

    def getInterval(self, from_stamp: Time, to_stamp: Time) -> list[Any]:
        """Return the messages between two times, both included."""
        return [message for stamp, message in self._messages if from_stamp <= stamp <= to_stamp]

    def getElemAfterTime(self, stamp: Time) -> Any:
        """Return the oldest message at or after a time, or None."""
        return next((message for at, message in self._in_time() if at >= stamp), None)

    def getElemBeforeTime(self, stamp: Time) -> Any:
        """Return the newest message at or before a time, or None."""
        return next((message for at, message in reversed(self._in_time()) if at <= stamp), None)

    def getLatestTime(self) -> Time | None:
        """Return the time of the newest message, or None."""
        return self._in_time()[-1][0] if self._messages else None

    getLastestTime = getLatestTime

    def getOldestTime(self) -> Time | None:
        """Return the time of the oldest message, or None."""
        return self._in_time()[0][0] if self._messages else None

    def getLast(self) -> Any:
        """Return the newest message, or None."""
        return self._in_time()[-1][1] if self._messages else None

    def _in_time(self) -> list[tuple[Time, Any]]:
        return sorted(self._messages, key=lambda entry: entry[0].nanoseconds)
