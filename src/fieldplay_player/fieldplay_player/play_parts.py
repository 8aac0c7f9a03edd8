"""What playing is made of: time, where the messages come from and go to, what is played, and how it stands."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Protocol

from fieldplay_messages.cdr.restamp import Restamp
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_player.read_ahead import Gap
from fieldplay_player.reading import Message, Run


class Time(Protocol):
    """The monotonic clock, the machine's time of day, and waiting: all of time that playing knows."""

    def now(self) -> int:
        """Monotonic nanoseconds."""

    def wall(self) -> int:
        """Nanoseconds since 1970."""

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        """Wait, with the lock held, for a notification, no longer than until a monotonic time."""


class SystemTime:
    """The machine's time."""

    def now(self) -> int:
        return time.monotonic_ns()

    def wall(self) -> int:
        return time.time_ns()

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        changed.wait(None if until_ns is None else max(until_ns - self.now(), 0) / NS_PER_S)


class Sink(Protocol):
    """Where the messages go. It must not call the playback."""

    def publish(self, feed: int, data: bytes) -> None:
        """Send a message of a feed."""

    def clock(self, stamp_ns: int) -> None:
        """Send the time of the play head."""


class Reader(Protocol):
    """Gives messages in order, from some time on; see ReadAhead."""

    def peek(self) -> Message | Gap: ...
    def pop(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is played: `standing` before everything and once, then from first_ns to last_ns, then perhaps again.

    `gap_ns` lies between the last message of a round and the first of the next. A seek may go back to archive_ns.
    `restamps` by feed move the times inside its messages, None where there are none.
    """

    standing: Run
    restamps: Sequence[Restamp | None]
    archive_ns: int
    first_ns: int
    last_ns: int
    gap_ns: int


@dataclass(frozen=True, kw_only=True)
class Status:
    """How playing stands: the play head in the archive's time, how late the last message left, counts by feed."""

    position_ns: int
    rate: float
    state: str
    paused: bool
    lag_ns: int
    published: tuple[int, ...]
    skipped: tuple[int, ...]
