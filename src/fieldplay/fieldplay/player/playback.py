"""Plays messages at their times: runs, pauses, steps, seeks, begins again, ends."""

from collections.abc import Callable, Sequence
from threading import Condition
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.player.options import PlayOptions, is_rate
from fieldplay.player.player_state import LagWatch, PlayPlan, Status
from fieldplay.player.player_time import (
    OutgoingStamps,
    PlayerClock,
    SystemTime,
    Time,
)
from fieldplay.player.read_ahead import Data, MessageRun, QueuedMessage, ReadState
from fieldplay.streams.message_block import LARGE_BYTES

WAITING = "waiting for subscribers"
TOGETHER_NS = 50_000  # what is due within this time leaves at once
MAX_TOGETHER = 64  # so many messages at most leave together: a pause waits for them
MAX_SCHEDULED = 1024  # so many messages at most are handed to a sink that publishes them at their times
LEAD_NS = 100_000_000  # so long before a message the play head goes on, where it passes over a gap


# What the playing thread does next, where it comes from and where it goes.


class Schedule(NamedTuple):
    """Messages (n,) for a sink that publishes each at its time by itself.

    Args:
        feeds: the feed of each (n,).
        data: its bytes.
        due_ns: when it is due (n,), on the monotonic clock; not descending.
    """

    feeds: NDArray[np.int32]
    data: Sequence[Data]
    due_ns: NDArray[np.int64]


class Published(NamedTuple):
    """How many messages of a schedule have left, and how late the last one and the latest one, in ns."""

    number: int
    lag_ns: int
    largest_lag_ns: int


class Sink:
    """Where the messages go. It must not call the playback.

    A sink with a `lead_ns` above 0 gets messages so long before they are due, as a schedule; others get each when it
    is due.
    """

    lead_ns = 0
    progress = 0  # how many messages of the schedule have left

    def publish(self, feed: int, data: Data) -> None:
        """Send a message of a feed."""
        raise NotImplementedError

    def prepare(self) -> None:
        """A schedule comes next: forget interruptions of before, and its progress."""

    def publish_schedule(self, schedule: Schedule) -> Published:
        """Send each message at its time, until interrupted."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Let a schedule that is being published end now; called by another thread."""

    def clock(self, stamp_ns: int) -> None:
        """Send the time of the play head."""

    def jump(self, stamp_ns: int) -> None:
        """Announce that the play head has jumped to a time: what follows is not continuous with what came before."""

    def cancel(self) -> None:
        """Wait for no subscriber any more: playing ends."""


class Reader(Protocol):
    """Gives messages in order, from some time on; see ReadAhead."""

    def peek(self) -> QueuedMessage | ReadState: ...
    def ready(self, until_ns: int, most: int) -> MessageRun: ...
    def take(self, count: int) -> None: ...
    def pace(self, rate: float) -> None: ...
    def close(self) -> None: ...


class Tick(NamedTuple):
    """A message of /clock."""

    stamp_ns: int


class Publish(NamedTuple):
    """Messages to publish together, the shifts of their stamps, and the lag of the first and the last."""

    messages: Sequence[QueuedMessage]
    deltas_ns: Sequence[int]
    first_lag_ns: int = 0
    last_lag_ns: int = 0


class Jump(NamedTuple):
    """The play head has jumped, and what stands at the new place."""

    stamp_ns: int
    static_messages: Sequence[QueuedMessage]


class PublishSchedule(NamedTuple):
    """Messages to hand over ahead of their times, the shifts of their stamps, and the outgoing stamp before them."""

    run: MessageRun
    deltas_ns: Sequence[int]
    due_ns: NDArray[np.int64]
    previous_ns: int


Action = Publish | PublishSchedule | Tick | Jump


class Playback:
    """`run` plays in the thread that calls it; everything else may be called from any thread, at any time.

    When a call that stops or moves the play head has returned, nothing leaves any more that was due before it.
    `changed` guards the readers too. `report` is called when playing falls behind.
    """

    def __init__(
        self,
        plan: PlayPlan,
        open_reader: Callable[[int], Reader],
        sink: Sink,
        options: PlayOptions,
        *,
        changed: Condition,
        report: Callable[[str], None] = lambda text: None,
        system: Time | None = None,
    ) -> None:
        self._plan, self._open_reader, self._sink, self._options = plan, open_reader, sink, options
        self._changed, self._report, self._time = changed, report, system or SystemTime()
        self._clock = PlayerClock(self._time.now, plan.first_ns, options.rate)
        self._stamps = OutgoingStamps(options.stamps, self._time)
        self._watch = LagWatch()
        self._tick_ns = round(NS_PER_S / options.clock_hz) if options.clock_hz else 0
        self._longest_ns = round((options.skip_gaps_s or 0.0) * NS_PER_S)
        self._next_tick_ns = self._lag_ns = 0
        self._paused, self._held = options.paused, options.waits
        self._stopped = self._ended = False
        self._busy = True  # something is being sent; requests before playing has started wait, too
        self._requests = 0  # how often something was requested that changes what is due, and when
        self._bound_ns = plan.first_ns  # the play head does not pass a message that has not left
        self._scheduled: NDArray[np.int64] | None = None  # the times of what the sink publishes by itself just now
        self._settling = 0  # how many threads wait until nothing is being sent
        self._published = [0] * len(plan.restamps)
        self._skipped = [0] * len(plan.restamps)
        self._reader: Reader | None = None
        self._jump: Jump | None = None  # that was not announced yet
        self._published_static = {message.feed: message.data for message in plan.static_messages}

    # --- the playing thread ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Play to the end, or until stop."""
        static_messages = self._plan.static_messages
        try:
            with self._changed:
                self._move_to(self._plan.first_ns)
                self._jump = None
            self._act(Publish(static_messages, [0] * len(static_messages)))
            while (action := self._next()) is not None:
                self._act(action)
        finally:
            with self._changed:
                self._stopped, self._busy = True, False
                if self._reader is not None:
                    self._reader.close()
                self._changed.notify_all()

    def _next(self) -> Action | None:
        """Wait for what is to be done next; None at the end."""
        with self._changed:
            while not self._stopped:
                action = self._due()
                if action is not None:
                    self._busy = True
                    return action
        return None

    def _due(self) -> Action | None:
        """What is due now; else wait once."""
        if self._jump is not None and not self._busy:
            return self._take_jump()
        stands = self._paused or self._held or self._busy or self._settling  # busy: another thread sends a step
        ahead = ReadState.WAITING if stands else self._next_ready()
        if ahead is ReadState.WAITING:
            self._time.wait(self._changed, None)
            return None
        now, head_ns = self._time.now(), self._position_ns
        self._bound_ns = self._play_head_limit(ahead)
        if self._is_latched(ahead):
            return self._before_time(now)
        if not self._clock.runs:  # only now, with the first message at hand, does time go on
            self._clock.run_from(self._position_ns)
            self._next_tick_ns = now
        if self._longest_ns and isinstance(ahead, QueuedMessage) and ahead.stamp_ns - head_ns > self._longest_ns:
            self._clock.run_from(ahead.stamp_ns - min(LEAD_NS, self._longest_ns))
        if self._tick_ns and self._next_tick_ns <= now:
            late = self._next_tick_ns + self._tick_ns <= now
            self._next_tick_ns = (now if late else self._next_tick_ns) + self._tick_ns
            return self._tick()
        due_ns = self._clock.deadline_ns(self._bound_ns)
        if self._sink.lead_ns and isinstance(ahead, QueuedMessage):
            return self._schedule_or_wait(ahead, now, due_ns)
        if due_ns - now <= TOGETHER_NS:
            return (
                self._take_due(self._due_messages(ahead, now), now)
                if isinstance(ahead, QueuedMessage)
                else self._finish_round()
            )
        if isinstance(ahead, QueuedMessage) and not (self._tick_ns and self._next_tick_ns <= due_ns):
            return self._wait_for_due(ahead, due_ns)
        self._time.wait(self._changed, min(due_ns, self._next_tick_ns) if self._tick_ns else due_ns)
        return None

    def _wait_for_due(self, ahead: QueuedMessage, due_ns: int) -> Publish | None:
        """What is due at a time, put together before it comes; None where something else was requested meanwhile."""
        requested, messages = self._requests, self._due_messages(ahead, due_ns)
        self._time.wait(self._changed, due_ns)
        now = self._time.now()
        if self._requests != requested or now < due_ns:  # woken for something else: less is due now
            return None
        return self._take_due(messages, now)

    def _schedule_or_wait(self, ahead: QueuedMessage, now: int, due_ns: int) -> PublishSchedule | None:
        """What is due within the sink's lead; else wait until something is, or for the next message of /clock."""
        until_ns = now + self._sink.lead_ns
        if self._tick_ns:
            until_ns = min(until_ns, self._next_tick_ns - 1)
        if due_ns > until_ns:
            is_tick_first = self._tick_ns and self._next_tick_ns <= due_ns
            wake_ns = self._next_tick_ns if is_tick_first else due_ns - self._sink.lead_ns // 2
            self._time.wait(self._changed, wake_ns)
            return None
        run = self._ready(ahead, until_ns, MAX_SCHEDULED)
        all_due_ns = self._clock.deadlines_ns(run.stamp_ns)
        run = run.part(0, _length_up_to_pause(all_due_ns, until_ns))
        self._scheduled = run.stamp_ns
        self._sink.prepare()
        previous_ns = self._stamps.last_outgoing_ns
        deltas_ns = self._stamps.deltas_ns(run.stamp_ns.tolist(), self._clock.deadline_ns)
        return PublishSchedule(run, deltas_ns, all_due_ns[: len(run)], previous_ns)

    def _is_latched(self, ahead: QueuedMessage | ReadState) -> bool:
        """Whether a message is of what stands already where the play head is about to go on."""
        if self._clock.runs or not isinstance(ahead, QueuedMessage):
            return False
        return ahead.feed in self._plan.latched and ahead.stamp_ns <= self._position_ns

    def _before_time(self, now: int) -> Publish:
        """It leaves before time goes on, or what is due then would wait behind a map."""
        assert self._reader is not None
        messages = list(self._reader.ready(self._position_ns, 1))
        self._reader.take(1)
        return Publish(messages, self._stamps.deltas_ns([messages[0].stamp_ns], lambda _: now))

    def _due_messages(self, ahead: QueuedMessage, time_ns: int) -> Sequence[QueuedMessage]:
        """What is due at a time, one message at least: a lock and a wait for each would make those behind it late."""
        run = self._ready(ahead, time_ns, MAX_TOGETHER)
        large = np.flatnonzero(run.sizes >= LARGE_BYTES)  # a pause waits for it
        return list(run.part(0, int(large[0]) + 1) if len(large) else run)

    def _ready(self, ahead: QueuedMessage, time_ns: int, most: int) -> MessageRun:
        """What is due at a time and has been read."""
        assert self._reader is not None
        until_ns = self._clock.position_at(time_ns + TOGETHER_NS)
        if self._longest_ns:
            until_ns = min(until_ns, ahead.stamp_ns + self._longest_ns)
        return self._reader.ready(until_ns, most)

    def _take_due(self, messages: Sequence[QueuedMessage], now: int) -> Publish:
        assert self._reader is not None
        self._reader.take(len(messages))
        self._bound_ns = messages[-1].stamp_ns
        lags = [max(now - self._clock.deadline_ns(message.stamp_ns), 0) for message in (messages[0], messages[-1])]
        stamps_ns = [message.stamp_ns for message in messages]
        deltas_ns = self._stamps.deltas_ns(stamps_ns, lambda stamp_ns: min(self._clock.deadline_ns(stamp_ns), now))
        return Publish(messages, deltas_ns, *lags)

    def _next_ready(self) -> QueuedMessage | ReadState:
        """The next message that is one; those without data are counted."""
        assert self._reader is not None
        while isinstance(ahead := self._reader.peek(), QueuedMessage) and ahead.data is None:
            self._reader.take(1)
            self._skipped[ahead.feed] += 1
        return ahead

    def _take_jump(self) -> Jump | None:
        jump, self._jump = self._jump, None
        return jump

    def _play_head_limit(self, ahead: QueuedMessage | ReadState) -> int:
        """How far the play head may go: to the next message; a round is over with its last, or a gap later."""
        if isinstance(ahead, QueuedMessage):
            return ahead.stamp_ns
        return self._plan.last_ns + self._plan.gap_ns if self._options.loop else self._bound_ns

    def _finish_round(self) -> Tick | None:
        if self._options.loop:
            self._restart()
            return None
        self._clock.stop_at(self._bound_ns)  # the last message may have left a little early
        self._ended = self._paused = True
        self._stopped = self._options.on_end == "exit"
        return self._tick() if self._tick_ns else None

    def _restart(self) -> None:
        plan = self._plan
        if self._options.loop_stamps == "continue":
            self._stamps.shift_ns += plan.last_ns + plan.gap_ns - plan.first_ns
        self._move_to(plan.first_ns, plan.static_tf_at(plan.first_ns))

    def _move_to(self, position_ns: int, static_messages: Sequence[QueuedMessage] | None = None) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = self._open_reader(position_ns)
        self._reader.pace(self._clock.rate)
        self._bound_ns = position_ns
        self._clock.stop_at(position_ns)
        self._stamps.forget()
        self._ended = False
        self._jump = Jump(position_ns + self._stamps.shift_ns, static_messages or ())
        self._notify()

    def _tick(self) -> Tick:
        return Tick(self._position_ns + self._stamps.shift_ns)

    def _act(self, *actions: Action) -> None:
        """Send, without the lock: a slow subscriber may make it take long."""
        try:
            for action in actions:
                if isinstance(action, Tick):
                    self._sink.clock(action.stamp_ns)
                elif isinstance(action, Jump):
                    self._publish_jump(action)
                elif isinstance(action, PublishSchedule):
                    self._send_schedule(action)
                else:
                    self._send(action)
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _publish_jump(self, jump: Jump) -> None:
        """Of what stands only what is different at the new place is sent again."""
        self._sink.jump(jump.stamp_ns)
        for message in jump.static_messages:
            if self._published_static.get(message.feed) != message.data:
                self._published_static[message.feed] = message.data
                self._send(Publish([message], [0]))

    def _send(self, out: Publish) -> None:
        publish, published = self._sink.publish, self._published
        self._lag_ns = out.last_lag_ns
        for message, delta_ns in zip(out.messages, out.deltas_ns, strict=True):
            if message.data is not None:
                publish(message.feed, self._restamped(message, delta_ns))
                published[message.feed] += 1
        self._report_lag(out.first_lag_ns)

    def _send_schedule(self, out: PublishSchedule) -> None:
        """Have the sink publish; what it has not when it is interrupted stays with the reader."""
        run, deltas_ns = out.run, out.deltas_ns
        data = list(map(self._restamped, run, deltas_ns)) if any(deltas_ns) else cast(Sequence[Data], run.data)
        number, lag_ns, largest_lag_ns = self._sink.publish_schedule(Schedule(run.feeds, data, out.due_ns))
        for feed, count in enumerate(np.bincount(run.feeds[:number]).tolist()):
            self._published[feed] += count
        with self._changed:
            assert self._reader is not None
            self._reader.take(number)
            self._bound_ns = int(run.stamp_ns[min(number, len(run) - 1)])
            self._scheduled = None
            if number < len(run):
                self._stamps.rewind(run[number - 1].stamp_ns + deltas_ns[number - 1] if number else out.previous_ns)
        if number:
            self._lag_ns = lag_ns
            self._report_lag(largest_lag_ns)

    def _restamped(self, message: QueuedMessage, delta_ns: int) -> Data:
        assert message.data is not None
        restamp = self._plan.restamps[message.feed] if delta_ns else None
        return restamp(message.data, delta_ns) if restamp else message.data

    def _report_lag(self, lag_ns: int) -> None:
        line = self._watch.update(lag_ns, self._time.now())
        if line:
            self._report(line)

    # --- what may be asked for ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """The state of playback."""
        with self._changed:
            return Status(
                position_ns=self._position_ns,
                rate=self._clock.rate,
                state=self._state(),
                paused=self._paused,
                lag_ns=self._lag_ns,
                published=tuple(self._published),
                skipped=tuple(self._skipped),
            )

    def release(self) -> None:
        """The subscribers are there: begin."""
        with self._changed:
            self._held = False
            self._notify()

    def pause(self) -> None:
        """Pause."""
        with self._changed:
            self._settle()
            self._clock.stop_at(self._position_ns)
            self._paused = True
            self._notify()

    def resume(self) -> None:
        """Resume."""
        with self._changed:
            self._paused = False
            self._notify()

    def toggle_paused(self) -> None:
        """Pause or resume."""
        with self._changed:
            if self._paused:
                self.resume()
            else:
                self.pause()

    def set_rate(self, rate: float) -> bool:
        """Change the rate; False where it is out of range."""
        if not is_rate(rate):
            return False
        with self._changed:
            if self._scheduled is not None:  # with deadlines by the rate before
                self._settle()
            self._clock.set_rate(rate, self._position_ns)
            if self._reader is not None:
                self._reader.pace(rate)
            self._notify()
        return True

    def seek(self, stamp_ns: int) -> bool:
        """Move the play head to a time of the archive; False where it has none, or playing is over."""
        if not self._plan.archive_ns <= stamp_ns <= self._plan.last_ns:
            return False
        static_messages = self._plan.static_tf_at(stamp_ns)  # without the lock: it may have to read
        with self._changed:
            self._settle()
            if self._stopped:
                return False
            self._move_to(stamp_ns, static_messages)
        return True

    def play_next(self) -> bool:
        """Send the next message while paused; False where not paused, or at the end."""
        return self._step(goes_round=self._options.loop)

    def burst(self, count: int) -> int:
        """Send the next messages at once while paused, 0 for all to the end of the round; how many it were."""
        sent = 0
        while (count == 0 or sent < count) and self._step(goes_round=self._options.loop and count > 0):
            sent += 1
        return sent

    def stop(self) -> None:
        """End playing."""
        with self._changed:
            self._stopped = True
            self._sink.cancel()
            self._sink.interrupt()
            self._notify()

    def _step(self, *, goes_round: bool) -> bool:
        with self._changed:
            self._settle()
            message = self._wait_for_message(goes_round)
            if message is None:
                return False
            self._bound_ns = message.stamp_ns
            self._clock.stop_at(message.stamp_ns)
            assert self._reader is not None
            self._reader.take(1)
            now = self._time.now()
            out = Publish([message], self._stamps.deltas_ns([message.stamp_ns], lambda _: now))
            tick = self._tick() if self._tick_ns else None
            steps: list[Action | None] = [self._take_jump(), tick, out]
            self._busy = True
        self._act(*(step for step in steps if step is not None))
        return True

    def _wait_for_message(self, goes_round: bool) -> QueuedMessage | None:
        """The next message, as long as playing is paused; None at the end."""
        while self._paused and not self._stopped and self._reader is not None:
            ahead = self._next_ready()
            if isinstance(ahead, QueuedMessage):
                return ahead
            if ahead is ReadState.END and not goes_round:
                return None
            if ahead is ReadState.END:
                goes_round = False
                self._restart()
            else:
                self._time.wait(self._changed, None)
        return None

    def _notify(self) -> None:
        """Wake who waits: what was to be next may not be."""
        self._requests += 1
        self._changed.notify_all()

    def _settle(self) -> None:
        """Wait until what is being sent has left; of a schedule, until it has been interrupted."""
        self._settling += 1
        self._sink.interrupt()
        while self._busy:
            self._changed.wait()
        self._settling -= 1
        self._notify()

    @property
    def _position_ns(self) -> int:
        bound_ns = self._bound_ns
        if self._scheduled is not None:
            bound_ns = int(self._scheduled[min(self._sink.progress, len(self._scheduled) - 1)])
        return min(self._clock.position_ns, bound_ns)

    def _state(self) -> str:
        if self._stopped or self._ended:
            return "at the end"
        if self._held:
            return WAITING
        return "paused" if self._paused else "playing"


def _length_up_to_pause(due_ns: NDArray[np.int64], until_ns: int) -> int:
    """How many of the messages (n,) go together: up to the longest pause in the later half of their times.

    The next ones are prepared within it.
    """
    pauses_ns = np.diff(due_ns, append=max(until_ns, int(due_ns[-1])))
    half = int(np.searchsorted(due_ns, (due_ns[0] + due_ns[-1]) // 2))
    return half + int(np.argmax(pauses_ns[half:])) + 1
