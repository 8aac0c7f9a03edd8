"""What the playing thread does next, whence it has it and where it goes."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fieldplay.player.message_source import Data, DueMessage, Run
from fieldplay.player.read_ahead import ReadState


class Sink(Protocol):
    """Where the messages go. It must not call the playback."""

    def publish(self, feed: int, data: Data) -> None:
        """Send a message of a feed."""

    def clock(self, stamp_ns: int) -> None:
        """Send the time of the play head."""

    def jump(self, stamp_ns: int) -> None:
        """Tell that the play head has jumped to a time: what follows does not go on from what came before."""


class Reader(Protocol):
    """Gives messages in order, from some time on; see ReadAhead."""

    def peek(self) -> DueMessage | ReadState: ...
    def ready(self, until_ns: int, most: int) -> Sequence[DueMessage]: ...
    def take(self, count: int) -> None: ...
    def pace(self, rate: float) -> None: ...
    def close(self) -> None: ...


class Tick(NamedTuple):
    """A message of /clock."""

    stamp_ns: int


class Out(NamedTuple):
    """Messages that leave together, what the times in each are moved by, and how late the first and the last are."""

    messages: Sequence[DueMessage]
    deltas_ns: Sequence[int]
    first_lag_ns: int = 0
    last_lag_ns: int = 0


class Jump(NamedTuple):
    """The play head has jumped, and what stands at the new place."""

    stamp_ns: int
    standing: Run


Action = Out | Tick | Jump
