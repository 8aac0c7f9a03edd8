"""What a player must publish, worked out beside it: the model hears of each call and each message, and judges."""

import math
from collections import Counter
from enum import Enum
from typing import Any

from campaigns.frame import WrongError
from campaigns.play_head import EARLY_NS, Head, Message, Rules, S, Step, UnclearError

LEAST_RATE, MOST_RATE = 1e-6, 1e6
STANDING = 0  # the feed of what stands before everything


class Moment(Enum):
    """When a call comes: while the player waits, between two things that it does, or while a message is being sent."""

    WAITING = "waiting"
    BETWEEN = "between"
    AMID = "amid"


def standing_at(position: int) -> bytes:
    """What stands when playing goes on from a place."""
    return b"static" if position < S // 2 else b"at %d" % (position // S)


class Model(Head):
    """Judges each call and each message; WrongError says what is not as it must be."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.published: Counter[int] = Counter()
        self.stands: list[bytes] = []  # what is to be sent of it; then what was
        self.standing = b""
        self.ended_at, self.told_end = -1, True
        self.furthest = 0  # that messages which leave together may be
        self.is_amid = False  # what is being sent when playing is stopped, together with others: they leave

    # --- what the player sends ---------------------------------------------------------------------------------

    def begin(self, now: int) -> None:
        """Playing begins with what stands."""
        self.stands = [standing_at(0)]
        self.allowed = self.opened = now
        self.begun = True

    def sent(self, now: int, feed: int, data: bytes, until: int) -> None:
        """A message was sent, which takes until then."""
        self.published[feed] += 1
        if self.stands:
            self._expect((feed, data), (STANDING, self.stands.pop()), "what stands")
            self.standing, self.free = data, until
            return
        self._expect(self.pending, None, "a jump that was not told before a message")
        if not self.steps:
            self.advance(now)
        index, ahead = self.ahead
        if ahead is None:
            raise WrongError(f"more than there is: {data!r} at {now}")
        text, _, delta = data.partition(b" ")
        self._expect((feed, text), (ahead.feed, ahead.text), "the next message")
        due = now if self.steps else self._judged_time(now)
        self._judge_delta(ahead, int(delta or 0), now, due)
        self.pass_by(index + 1)
        self.floor, self.free = ahead.stamp, until
        if self.steps:
            self.place, self.runs = ahead.stamp, False
            self.steps[-1].sent += 1
            self.steps[-1].since, self.steps[-1].went = until, False
            if self.steps[-1].sent > self.steps[-1].want:
                raise WrongError(f"more in a burst than was requested: {data!r} at {now}")

    def _judged_time(self, now: int) -> int:
        if not (self.may_run or self.is_amid):
            raise WrongError(f"sent while standing still: at {now}")
        due = self.due
        ahead = self.ahead[1]
        if self.is_amid and ahead is not None and ahead.stamp <= self.furthest:
            return due  # it leaves with what was being sent when the rate was changed
        soonest = max(due - EARLY_NS, self.free, self.ready) if self.runs else due
        if not soonest - 1 <= now <= max(due, self.free, self.ready) + 1:
            raise WrongError(f"sent at another time: {now}, due {due}, free {self.free}, read {self.ready}")
        return due

    def _judge_delta(self, message: Message, delta: int, now: int, due: int) -> None:
        is_restamped = message.feed in self.rules.restamped
        if self.rules.day is None or not is_restamped:
            self._expect(delta, self.shift if is_restamped else 0, "a time that was moved")
        if self.rules.day is None:
            return
        position, low, high = self.given
        if position != message.stamp:
            latest = min(due, now)
            low, high = max(low, latest - EARLY_NS) - 1, max(high, latest) + 1
        if is_restamped:
            parameters = message.stamp + delta - self.rules.day
            if not low <= parameters <= high:
                raise WrongError(f"another time of day: {parameters}, expected {low} to {high}")
            low = high = parameters
        self.given = (message.stamp, low, high)

    def ticked(self, now: int, stamp: int) -> None:
        """The clock told a time."""
        self._expect(self.pending, None, "a jump that was not told before the clock")
        self._expect(self.stands, [], "what stands, before the clock")
        if self.steps:
            ahead = self.ahead[1]
            self._expect(stamp, None if ahead is None else ahead.stamp + self.shift, "the clock of a step")
            return
        self.advance(now)
        if self.ended and now == self.ended_at:
            self._expect(stamp, self.place + self.shift, "the clock at the end")
            self.told_end = True
            return
        if not (self.runs and self.may_run):
            raise WrongError(f"the clock while standing still: {stamp} at {now}")
        self._expect(stamp, self.at(now) + self.shift, "the clock")
        late = max(self.next_tick, self.free, self.ready) + 1
        if not self.next_tick <= now <= late:
            raise WrongError(f"the clock at another time: {now}, due {self.next_tick} to {late}")
        is_late = self.next_tick + self.rules.tick <= now
        self.next_tick = (now if is_late else self.next_tick) + self.rules.tick

    def jumped(self, now: int, stamp: int) -> None:
        """The player told of a jump."""
        self._go_round(now)
        if self.pending is None:
            self._round(now)
        self._expect(stamp, self.pending, "a jump")
        self.pending = None
        self.stands = [text for text in [standing_at(self.place)] if text != self.standing]

    def _round(self, now: int) -> None:
        self.advance(now)
        if not self.rules.loop or self.ahead[1] is not None:
            raise WrongError(f"a jump that nobody asked for: at {now}")
        if not self.steps:
            self._judged_time(now)
        elif not self.steps[-1].goes_round or self.steps[-1].went:
            raise WrongError(f"a step went round: at {now}")
        self._begin_again(now)

    def _begin_again(self, now: int) -> None:
        rules = self.rules
        self.pass_by(self.ahead[0])
        if rules.goes_on:
            self.shift += rules.last + rules.gap - rules.first
        self.move_to(rules.first, now)
        self.pending = rules.first + self.shift

    # --- what is asked of it -----------------------------------------------------------------------------------

    def before(self, now: int, name: str, value: Any, moment: Moment) -> None:
        """A call begins."""
        self.is_amid = moment is Moment.AMID
        if moment is not Moment.AMID:
            self._go_round(now)
        self.furthest = self._free_at(now) + round(EARLY_NS * self.rate) + 1
        self.advance(now if moment is Moment.WAITING else now - 1)
        if moment is Moment.WAITING:
            self._nothing_lacks(now)
        if name == "play_next":
            self.steps.append(Step(1, now, goes_round=self.rules.loop))
        elif name == "burst":
            self.steps.append(Step(value or math.inf, now, goes_round=self.rules.loop and value > 0))
        if moment is not Moment.AMID:
            self._go_round(now)

    def _go_round(self, now: int) -> None:
        """A step that waits for a message has begun a further round, before anybody is told."""
        if not self.steps or not self.begun or not self.paused or self.stopped:
            return
        step = self.steps[-1]
        is_at_end = self.ahead[1] is None and self.ready <= now
        if is_at_end and step.goes_round and not step.went and step.sent < step.want:
            step.went = True
            self._begin_again(max(self.ready, step.since))

    def _nothing_lacks(self, now: int) -> None:
        if self.stopped or self.steps:
            return
        self._expect(self.stands, [], "what stands at the place of a jump")
        self._expect(self.pending, None, "a jump that was not told")
        self._expect(self.ended and self.rules.tick > 0 and not self.told_end, False, "no clock at the end")
        if not self.may_run:
            return
        if self.due + 1 < now and max(self.free, self.ready) + 1 < now:
            raise WrongError(f"it did not come: {self.ahead[1]} was due {self.due}, now {now}")
        if self.rules.tick and self.runs and max(self.next_tick, self.free, self.ready) + 1 < now:
            raise WrongError(f"the clock did not come: due {self.next_tick}, now {now}")

    def after(self, now: int, name: str, value: Any, answer: Any) -> None:
        """A call has been answered."""
        act = getattr(self, f"_{name}")
        expected = act(now, value) if name in ("seek", "set_rate") else act(now)
        self._expect(answer, expected, f"the answer of {name}")

    def _pause(self, now: int) -> None:
        self.place, self.runs, self.paused = self.at(now), False, True

    def _resume(self, now: int) -> None:
        if not self.runs and (self.paused or self.held):
            self.allowed = now
        self.paused = False

    def _release(self, now: int) -> None:
        if self.held:
            self.held, self.allowed = False, max(now, self.allowed)

    def _toggle_paused(self, now: int) -> None:
        (self._resume if self.paused else self._pause)(now)

    def _stop(self, now: int) -> None:
        self.stopped = True

    def _set_rate(self, now: int, rate: float) -> bool:
        if not LEAST_RATE <= rate <= MOST_RATE:
            return False
        if self.is_amid and self.rules.day is not None:
            raise UnclearError  # the times of what leaves with it are given by the rate before
        self.place, self.since, self.rate = self.at(now), now, rate
        return True

    def _seek(self, now: int, location: int) -> bool:
        if self.stopped or not 0 <= location <= self.rules.last:
            return False
        self.leave()
        self.move_to(location, now)
        self.pending = location + self.shift if self.begun else None
        return True

    def _play_next(self, now: int) -> bool:
        return self._stepped(now) == 1

    def _burst(self, now: int) -> int:
        return self._stepped(now)

    def _stepped(self, now: int) -> int:
        self._go_round(now)
        step = self.steps.pop()
        if self.begun and self.paused and not self.stopped and step.sent < step.want:
            self._expect(self.ahead[1], None, "the end of a burst")
        if not self.paused and not self.runs:
            self.allowed = max(self.allowed, now)
        return step.sent

    def _expect(self, got: Any, expected: Any, what: str) -> None:
        if got != expected:
            raise WrongError(f"{what}: expected {expected!r}, got {got!r}")

    # --- how it stands -----------------------------------------------------------------------------------------

    def judge_state(self, now: int, status: Any, place: int, moment: Moment) -> None:
        """What the player says of itself, with the place of its head."""
        if moment is Moment.AMID:
            self._adopt(place, now)
            return
        message = (status.rate, status.paused, status.state, place)
        self._expect(message, (self.rate, self.paused, self._state(), self.at(now)), "rate, paused, state, place")
        for feed, count in enumerate(status.published):
            self._expect((feed, count), (feed, self.published[feed]), "how many were sent")
        low, high = self.skipped[0], self.skipped[1] + self._defective_ahead()
        if not low <= sum(status.skipped) <= high:
            raise WrongError(f"how many are defective: expected {low} to {high}, got {status.skipped}")

    def _adopt(self, place: int, now: int) -> None:
        """While several messages leave together, the play head is where the last of them is."""
        if not self.at(now) <= place <= max(self.furthest, self.at(now)):
            raise WrongError(f"the place amid a message: expected {self.at(now)}, got {place}")
        if self.runs and self.since == now:
            self.place = place

    def _defective_ahead(self) -> int:
        ahead = self.ahead[0]
        return sum(not each.is_good for each in self.rules.messages[self.index : ahead])

    def _state(self) -> str:
        if self.stopped or self.ended:
            return "at the end"
        if self.held:
            return "waiting for subscribers"
        return "paused" if self.paused else "playing"

    def finish(self, now: int) -> None:
        """Playing has ended."""
        self.advance(now)
        if not self.stopped:
            raise WrongError("it ended though there was more")
