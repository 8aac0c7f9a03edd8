"""A playback in time that the test makes: waiting is a step of the clock, and what is asked for comes at its moment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Condition
from typing import Any

from fieldplay.player.options import PlayOptions
from fieldplay.player.playback import Playback
from fieldplay.player.player_state import PlayPlan
from fieldplay.player.read_ahead import Data, QueuedMessage, ReadState

MS = 1_000_000
S = 1000 * MS
DAY = 1_700_000_000 * S
ARCHIVE = 1_656_931_512 * S


@dataclass
class FakeTime:
    """Monotonic time begins at 0. A wait ends when its time has come, or earlier with the next act of the script."""

    script: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)
    ns: int = 0
    answers: list[Any] = field(default_factory=list)

    def now(self) -> int:
        return self.ns

    def wall(self) -> int:
        return DAY + self.ns

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        if self.script and (until_ns is None or self.script[0][0] <= until_ns):
            at_ns, act = self.script.pop(0)
            self.ns = max(self.ns, at_ns)
            self.answers.append(act())
            return
        assert until_ns is not None, "it waits for what never comes"
        self.ns = max(self.ns, until_ns)


class ListReader:
    def __init__(self, messages: list[QueuedMessage]) -> None:
        self.messages = list(messages)

    def peek(self) -> QueuedMessage | ReadState:
        return self.messages[0] if self.messages else ReadState.END

    def ready(self, until_ns: int, maximum: int) -> list[QueuedMessage]:
        further = takewhile(lambda each: each.stamp_ns <= until_ns and each.data is not None, self.messages[1:maximum])
        return [self.messages[0], *further]

    def take(self, count: int) -> None:
        del self.messages[:count]

    def pace(self, rate: float) -> None:
        """Everything is read."""

    def close(self) -> None:
        self.messages.clear()


@dataclass
class ListSink:
    """What left, and when; sending some of it may take long."""

    time: FakeTime
    slow: dict[bytes, int] = field(default_factory=dict)
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    clocks: list[tuple[int, int]] = field(default_factory=list)
    order: list[object] = field(default_factory=list)

    def publish(self, feed: int, data: Data) -> None:
        data = bytes(data)
        self.sent.append((self.time.ns, data))
        self.order.append(data)
        self.time.ns += self.slow.get(data, 0)

    def jump(self, stamp_ns: int) -> None:
        self.order.append(("jump", (stamp_ns - ARCHIVE) // MS))

    def cancel(self) -> None:
        """Nothing is waited for."""

    def clock(self, stamp_ns: int) -> None:
        self.clocks.append((self.time.ns, stamp_ns - ARCHIVE))
        self.order.append(stamp_ns - ARCHIVE)


class Stage:
    """A playback of messages at 0, 100, 200, 300, 400 ms called b"0" to b"4", and a static b"static" before them."""

    def __init__(
        self,
        *,
        messages: list[QueuedMessage] | None = None,
        static_tf_at: Callable[[int], list[QueuedMessage]] = lambda stamp_ns: [],
        latched: frozenset[int] = frozenset(),
        **options: Any,
    ) -> None:
        self.time = FakeTime()
        self.sink = ListSink(self.time)
        self.reports: list[str] = []
        self.messages = messages or [QueuedMessage(1, ARCHIVE + k * 100 * MS, b"%d" % k) for k in range(5)]
        program = PlayPlan(
            static_messages=[QueuedMessage(0, ARCHIVE, b"static")],
            restamps=[None, lambda data, delta: b"%s%+d" % (data, delta)],
            archive_ns=ARCHIVE,
            first_ns=ARCHIVE,
            last_ns=max(message.stamp_ns for message in self.messages),
            gap_ns=100 * MS,
            static_tf_at=static_tf_at,
            latched=latched,
        )
        self.playback = Playback(
            program,
            lambda first: ListReader([message for message in self.messages if message.stamp_ns >= first]),
            self.sink,
            PlayOptions(**options),
            changed=Condition(),
            report=self.reports.append,
            system=self.time,
        )

    def at(self, ms: int, act: Callable[..., Any], *arguments: Any) -> None:
        self.time.script.append((ms * MS, lambda: act(*arguments)))

    def run(self) -> list[tuple[int, bytes]]:
        self.playback.run()
        return [(ns // MS, data) for ns, data in self.sink.sent]
