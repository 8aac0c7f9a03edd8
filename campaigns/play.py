"""Random calls of a player's services at random moments, in time that is made here, against a model of what must come.

An input is a description of a case: what is played, how, and the calls. Reading may be late, and sending slow, so that
calls come amid them.
"""

import json
import random
import sys
import threading
from threading import Condition
from typing import Any

from campaigns.frame import Found, Inputs
from campaigns.play_head import Message, Rules, S, UnclearError
from campaigns.play_model import Model, Moment, standing_at
from fieldplay.player.options import PlayOptions
from fieldplay.player.playback import Playback, Sink
from fieldplay.player.player_state import PlayPlan
from fieldplay.player.read_ahead import Data, MessageRun, QueuedMessage, ReadState

MS = 1_000_000
MOST_EVENTS = 3000  # a loop of microseconds has no end
ARCHIVE = 1_656_931_512 * S
DAY = 1_700_000_000 * S
AMID = ("resume", "set_rate", "stop", "release")  # calls that do not wait until a message has left
STEPS = ("play_next", "burst")
LATCHED = 2
RESTAMPED = (1, LATCHED)
RATES = (1.0, 1.0, 0.5, 2.0, 3.7, 0.01, 100.0, 0.0, -1.0, 1e6, 1e-6)
ODD_RATES = (1e300, 5e-324, 1e-12, 1e12, float("inf"), float("nan"))
WEIGHTS = {
    "pause": 5, "resume": 6, "toggle_paused": 2, "set_rate": 4, "seek": 5, "play_next": 4, "burst": 3, "release": 1,
    "stop": 0.2, "status": 2,
}  # fmt: skip


class CaseTime:
    """Time that goes on by waiting: to the next call, to what is read, or to what is waited for."""

    def __init__(self, stage: "Stage") -> None:
        self.stage, self.ns = stage, 0

    def now(self) -> int:
        return self.ns

    def wall(self) -> int:
        return DAY + self.ns

    def wait(self, changed: Condition, until_ns: int | None) -> None:
        if until_ns is not None and (until_ns - self.ns) / S > threading.TIMEOUT_MAX:
            raise OverflowError("no thread can wait for so long")
        calls, read_ns = self.stage.calls, self.stage.reader.awaited_ns()
        times = [ns for ns in (until_ns, read_ns) if ns is not None]
        if calls and all(calls[0][0] <= ns for ns in times) and calls[0][0] != read_ns:
            self.stage.call()
            return
        assert times, "it waits for what never comes"
        self.ns = max(self.ns, min(times))
        if read_ns is not None and self.ns >= read_ns:
            self.stage.reader.is_awaited = False  # who waits is told once


class CaseLock(Condition):
    """Lets the calls whose time has come in between two things that the player does."""

    def __init__(self, stage: "Stage") -> None:
        super().__init__()
        self.stage = stage

    def __enter__(self) -> bool:
        self.stage.call_between()
        return super().__enter__()


class CaseReader:
    """Gives the messages from some time on, each when it has been read."""

    def __init__(self, stage: "Stage", position: int) -> None:
        rules = stage.rules
        self.time = stage.time
        self.queue: list[tuple[int, QueuedMessage]] = []
        self.end_ns = stage.time.ns
        for message, reading in zip(rules.messages, rules.reading, strict=True):
            if position <= message.stamp <= rules.last:
                self.end_ns += reading
                data = message.text if message.is_good else None
                self.queue.append((self.end_ns, QueuedMessage(message.feed, ARCHIVE + message.stamp, data)))
        self.is_awaited = False

    def peek(self) -> QueuedMessage | ReadState:
        self.is_awaited = bool(self.queue) and self.queue[0][0] > self.time.ns
        if self.is_awaited:
            return ReadState.WAITING
        return self.queue[0][1] if self.queue else ReadState.END

    def awaited_ns(self) -> int | None:
        return self.queue[0][0] if self.is_awaited and self.queue else None

    def ready(self, until_ns: int, most: int) -> MessageRun:
        result = [self.queue[0][1]]
        for ready_ns, message in self.queue[1:most]:
            if ready_ns > self.time.ns or message.stamp_ns > until_ns or message.data is None:
                break
            result.append(message)
        return MessageRun.of(*result)

    def take(self, count: int) -> None:
        del self.queue[:count]

    def pace(self, rate: float) -> None:
        """All is read at its time."""

    def close(self) -> None:
        self.queue.clear()


class Stage(Sink):
    """A playback whose time, reading and topics are made here; it is the sink, and calls."""

    def __init__(self, case: dict[str, Any]) -> None:
        options, messages = PlayOptions(**case["options"]), case["messages"]
        texts = [Message(stamp, feed, good, b"%d" % n) for n, (stamp, feed, good) in enumerate(messages)]
        self.rules = rules_of(case, options, texts)
        self.calls = [tuple(call) for call in case["calls"]]
        self.slow = case["slow"]
        self.trace: list[object] = []
        self.time = CaseTime(self)
        self.model = Model(self.rules)
        self.reader = CaseReader(self, self.rules.last + 1)
        self.is_calling, self.is_busy = False, True
        self.playback = Playback(
            self._program(),
            self._open,
            self,
            options,
            changed=CaseLock(self),
            system=self.time,
            report=lambda text: None,
        )

    def _program(self) -> PlayPlan:
        rules = self.rules

        def restamp(data: Data, delta_ns: int) -> bytes:
            return b"%b %d" % (bytes(data), delta_ns)

        return PlayPlan(
            static_messages=[QueuedMessage(0, ARCHIVE, standing_at(0))],
            restamps=[restamp if feed in rules.restamped else None for feed in range(4)],
            archive_ns=ARCHIVE,
            first_ns=ARCHIVE + rules.first,
            last_ns=ARCHIVE + rules.last,
            gap_ns=rules.gap,
            static_tf_at=lambda ns: [QueuedMessage(0, ARCHIVE, standing_at(ns - ARCHIVE))],
            latched=frozenset() if rules.latched is None else frozenset({rules.latched}),
        )

    def _open(self, stamp_ns: int) -> CaseReader:
        self.reader = CaseReader(self, stamp_ns - ARCHIVE)
        return self.reader

    def run(self) -> None:
        """Call what is called before playing begins, and play to the end."""
        while self.calls and self.calls[0][0] < 0:
            self.call()
        self.model.begin(self.time.ns)
        self.playback.run()
        self.model.finish(self.time.ns)

    def call_between(self) -> None:
        """Make the calls whose time has come, where the player does nothing."""
        if self.is_calling or sys.exc_info()[0]:  # or all is over
            return
        if self.is_busy:  # this is the end of it
            self.is_busy = False
            return
        while self.calls and self.calls[0][0] <= self.time.ns:
            self.call(Moment.BETWEEN)

    def call(self, moment: Moment = Moment.WAITING) -> None:
        """Make the next call."""
        before, self.is_calling = self.is_calling, True
        try:
            self._make(moment, *self.calls.pop(0))
        finally:
            self.is_calling = before

    def _make(self, moment: Moment, at_ns: int, name: str, value: Any) -> None:
        self.time.ns = max(self.time.ns, at_ns)
        if name in STEPS and self.model.steps:
            return  # two at a time: which of them sends what is not told
        if moment is Moment.BETWEEN and self.playback.status().paused and not self.model.paused:
            self.model.advance(self.time.ns)  # it has come to it in this moment
        self.model.before(self.time.ns, name, value, moment)
        if name != "status":
            answer = getattr(self.playback, name)(*self._arguments(name, value))
            self.trace.append((self.time.ns, name, repr(value), answer))
            self.model.after(self.time.ns, name, value, answer)
        status = self.playback.status()
        self.model.judge_state(self.time.ns, status, status.position_ns - ARCHIVE, moment)

    def _arguments(self, name: str, value: Any) -> list[Any]:
        return [ARCHIVE + value if name == "seek" else value] if name in ("seek", "set_rate", "burst") else []

    # --- what the playback sends to ----------------------------------------------------------------------------

    def publish(self, feed: int, data: Data) -> None:
        data = bytes(data)
        text = data.partition(b" ")[0]
        until = self.time.ns + (self.slow.get(text.decode(), 0) if feed else 0)
        self._hear((self.time.ns, feed, data))
        self.model.sent(self.time.ns, feed, data, until)
        while self.calls and until > self.time.ns and self.calls[0][0] <= until and self.calls[0][1] in AMID:
            self.call(Moment.AMID)
        self.time.ns = until

    def _hear(self, what: object) -> None:
        self.trace.append(what)
        self.is_busy = not self.is_calling
        if len(self.trace) > MOST_EVENTS:
            raise UnclearError

    def cancel(self) -> None:
        """Nothing is waited for."""

    def clock(self, stamp_ns: int) -> None:
        self._hear((self.time.ns, "clock", stamp_ns))
        self.model.ticked(self.time.ns, stamp_ns - ARCHIVE)

    def jump(self, stamp_ns: int) -> None:
        self._hear((self.time.ns, "jump", stamp_ns))
        self.model.jumped(self.time.ns, stamp_ns - ARCHIVE)


def rules_of(case: dict[str, Any], options: PlayOptions, messages: list[Message]) -> Rules:
    """What the model is told of a case."""
    return Rules(
        messages=messages,
        first=case["first"],
        last=case["last"],
        gap=case["gap"],
        latched=LATCHED,
        restamped=frozenset(RESTAMPED),
        reading=case["reading"],
        rate=options.rate,
        loop=options.loop,
        goes_on=options.loop_stamps == "continue",
        day=DAY - ARCHIVE if options.stamps == "now" else None,
        tick=round(S / options.clock_hz) if options.clock_hz else 0,
        longest=round((options.skip_gaps_s or 0) * S),
        paused=options.paused,
        held=options.waits,
        exits=options.on_end == "exit",
    )


class Plays(Inputs):
    """Cases of playing."""

    suffix = "json"

    def mutated(self, draw: random.Random) -> bytes:
        stamps = _stamps(draw)
        count = len(stamps)
        first = draw.choice([0, 0, draw.choice(stamps), draw.randrange(stamps[-1] + 1)])
        last = draw.choice([stamps[-1], stamps[-1], max(draw.randrange(stamps[-1] + 1), first)])
        few = draw.choice([0.0, 0.0, 0.1, 0.4])
        case = {
            "options": _options(draw),
            "messages": [
                (stamp, draw.choice([1, 1, 1, LATCHED, 3]), draw.random() >= draw.choice([0, 0.2])) for stamp in stamps
            ],
            "first": first,
            "last": last,
            "gap": draw.choice([10 * MS, 100 * MS, S]),
            "reading": [draw.randrange(300 * MS) if draw.random() < few else 0 for _ in stamps],
            "slow": {str(k): draw.randrange(300 * MS) for k in range(count) if draw.random() < few},
            "calls": _calls(draw, stamps, last),
        }
        return json.dumps(case).encode()

    def look(self, data: bytes) -> Found:
        stage = Stage(json.loads(data))
        try:
            stage.run()
        except UnclearError:
            return Found("unclear", tuple(stage.trace))
        return Found("played", tuple(stage.trace))


def _stamps(draw: random.Random) -> list[int]:
    """Times of an archive that begins at 0."""
    stamps = [0]
    for _ in range(draw.randrange(1, 25)):
        step = draw.choice([0, 1, 30_000, 70_000, 10 * MS, 100 * MS, 100 * MS, 333_333_333, 3 * S])
        stamps.append(stamps[-1] + draw.choice([step, step, draw.randrange(step + 1)]))
    return stamps


def _options(draw: random.Random) -> dict[str, Any]:
    return {
        "rate": draw.choice(RATES[:7]),
        "loop": draw.random() < 0.4,
        "loop_stamps": draw.choice(["restart", "continue"]),
        "paused": draw.random() < 0.3,
        "clock_hz": draw.choice([0.0, 0.0, 10.0, 37.0]),
        "skip_gaps_s": draw.choice([None, None, 2.0, 0.123456789, 0.05]),
        "stamps": draw.choice(["archive", "archive", "now"]),
        "on_end": draw.choice(["exit", "pause", "pause"]),
        "wait_for_subscribers": draw.choice([0, 0, 0, 1]),
    }


def _calls(draw: random.Random, stamps: list[int], last: int) -> list[tuple[int, str, Any]]:
    """Calls at random times, often at that of a message; the last puts an end to it."""
    at = draw.choice([-3, 0, 0])
    calls: list[tuple[int, str, Any]] = []
    pace = draw.choice([20 * MS, 100 * MS, 500 * MS])
    for _ in range(draw.randrange(1, 60)):
        (name,) = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))
        name = name if at >= 0 else draw.choice(AMID)  # the others wait until playing has begun
        calls.append((at, name, _value(draw, name, stamps, last)))
        if at < 0:
            at += 1
        else:
            at = draw.choice([at, at + draw.randrange(pace), draw.choice([at, *(s for s in stamps if s >= at)][:3])])
    return [*calls, (at + draw.randrange(5 * S), "stop", None)]


def _value(draw: random.Random, name: str, stamps: list[int], last: int) -> Any:
    if name == "set_rate":
        return draw.choice(RATES if draw.random() < 0.9 else ODD_RATES)
    if name == "seek":
        near = draw.choice(stamps) + draw.choice([0, 0, -1, 1])
        return draw.choice([near, near, draw.randrange(last + 1), last, last + 1, -1, 0])
    if name == "burst":
        return draw.choice([0, 1, 2, 3, 7, 1000])
    return None
