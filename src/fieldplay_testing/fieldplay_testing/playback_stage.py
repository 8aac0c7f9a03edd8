"""A playback in time that the test makes: waiting is a step of the clock, and what is asked for comes at its moment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Condition, Event, Thread
from typing import Any, ClassVar

from fieldplay.player.options import PlayOptions
from fieldplay.player.playback import TOGETHER_NS, Playback, Published, Schedule, Sink
from fieldplay.player.player_state import PlayPlan
from fieldplay.player.read_ahead import Data, MessageRun, QueuedMessage, ReadState

MS = 1_000_000
S = 1000 * MS
DAY = 1_700_000_000 * S
POLL_S = 0.001
ARCHIVE = 1_656_931_512 * S


@dataclass
class FakeTime:
    """Monotonic time begins at 0. A wait ends when its time has come, or earlier with the next act of the script."""

    script: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)
    ns: int = 0
    answers: list[Any] = field(default_factory=list)
    acting: Thread | None = None  # in which an act of the script takes place that came amid a schedule

    def now(self) -> int:
        return self.ns

    def wall(self) -> int:
        return DAY + self.ns

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        if self.acting is not None and self.acting.is_alive():
            changed.wait(POLL_S)
            return
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

    def ready(self, until_ns: int, maximum: int) -> MessageRun:
        further = takewhile(lambda each: each.stamp_ns <= until_ns and each.data is not None, self.messages[1:maximum])
        return MessageRun.of(self.messages[0], *further)

    def take(self, count: int) -> None:
        del self.messages[:count]

    def pace(self, rate: float) -> None:
        """Everything is read."""

    def close(self) -> None:
        self.messages.clear()


@dataclass
class ListSink(Sink):
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

    def clock(self, stamp_ns: int) -> None:
        self.clocks.append((self.time.ns, stamp_ns - ARCHIVE))
        self.order.append(stamp_ns - ARCHIVE)


@dataclass
class ScheduleSink(ListSink):
    """A sink that publishes at the given times by itself; the script's acts come in threads, as services do."""

    lead_ns = 150 * MS
    progress = 0
    interrupted: Event = field(default_factory=Event)

    def prepare(self) -> None:
        self.interrupted.clear()
        self.progress = 0

    def interrupt(self) -> None:
        self.interrupted.set()

    def publish_schedule(self, schedule: Schedule) -> Published:
        lag_ns = largest_ns = 0
        for feed, data, due_ns in zip(schedule.feeds.tolist(), schedule.data, schedule.due_ns.tolist(), strict=True):
            while not self.interrupted.is_set() and self.time.script and self.time.script[0][0] < due_ns:
                self._act(*self.time.script.pop(0))
            if self.interrupted.is_set():
                break
            if due_ns - self.time.ns > TOGETHER_NS:
                self.time.ns = due_ns
            lag_ns = max(self.time.ns - due_ns, 0)
            largest_ns = max(largest_ns, lag_ns)
            self.publish(feed, data)
            self.progress += 1
        return Published(self.progress, lag_ns, largest_ns)

    def _act(self, at_ns: int, act: Callable[[], Any]) -> None:
        self.time.ns = max(self.time.ns, at_ns)
        self.time.acting = thread = Thread(target=lambda: self.time.answers.append(act()))
        thread.start()
        while thread.is_alive() and not self.interrupted.is_set():
            thread.join(POLL_S)


class Stage:
    """A playback of messages at 0, 100, 200, 300, 400 ms called b"0" to b"4", and a static b"static" before them."""

    sink_type: ClassVar[type[ListSink]] = ListSink

    def __init__(
        self,
        *,
        messages: list[QueuedMessage] | None = None,
        static_tf_at: Callable[[int], list[QueuedMessage]] = lambda stamp_ns: [],
        latched: frozenset[int] = frozenset(),
        **options: Any,
    ) -> None:
        self.time = FakeTime()
        self.sink = self.sink_type(self.time)
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
