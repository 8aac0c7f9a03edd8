"""Where the play head must be, and when what is next is due.

Times are nanoseconds since playing was started, places of the play head nanoseconds since the archive's begin.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

EARLY_NS = 50_000  # so much earlier may a message leave, with others
LEAD_NS = 100_000_000  # where a gap is passed over, playing goes on so long before what follows
S = 1_000_000_000


class UnclearError(Exception):
    """Where the contract lets the player do one thing or the other: from here on nothing can be said."""


class Message(NamedTuple):
    """One of the archive; a defective one is never sent."""

    stamp: int
    feed: int
    is_good: bool
    text: bytes


class Rules(NamedTuple):
    """What is played, and how, as it was requested."""

    messages: Sequence[Message]
    first: int
    last: int
    gap: int  # between two rounds
    latched: int | None
    restamped: frozenset[int]  # feeds with times inside their messages
    reading: Sequence[int]  # how long each message takes to be read
    rate: float
    loop: bool
    goes_on: bool  # the times of further rounds do not begin again
    day: int | None  # messages have the time of day, which was this when the archive began, less its begin
    tick: int
    longest: int  # gap that is waited for, 0 is any
    paused: bool
    held: bool
    exits: bool


class Step:
    """A call that sends messages itself."""

    def __init__(self, want: float, now: int, *, goes_round: bool) -> None:
        self.want, self.since, self.goes_round, self.sent = want, now, goes_round, 0
        self.went = False  # round, since it sent something


class Head:
    """The play head: where it is, whether it goes on since when, and what is next."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.rate = rules.rate
        self._count = sum(each.stamp <= rules.last for each in rules.messages)
        self._read = [0, *accumulate(rules.reading)]
        self._good = [self._count] * (len(rules.messages) + 1)  # by its number, the next that can be sent
        for index in reversed(range(self._count)):
            self._good[index] = index if rules.messages[index].is_good else self._good[index + 1]
        self.runs = self.begun = self.stopped = self.ended = self.looked = False
        self.paused, self.held = rules.paused, rules.held
        self.since = self.allowed = self.free = 0  # when: it went on; it might; nothing is being sent any more
        self.next_tick = 0
        self.shift = 0
        self.pending: int | None = None  # a jump that must be told
        self.given: tuple[int | None, int, int] = (None, 0, 0)  # a place, and from when to when its messages are
        self.steps: list[Step] = []
        self.skipped = [0, 0]  # defective messages, at the least and at the most
        self.move_to(rules.first, 0)

    def move_to(self, position: int, now: int) -> None:
        """Stand at a place, with all before the next message to be read."""
        messages = self.rules.messages
        self.place = self.floor = position
        self.runs = self.ended = self.looked = False
        self.index = next((k for k, each in enumerate(messages) if each.stamp >= position), len(messages))
        self.opened, self.opened_index, self.allowed = now, self.index, now
        self.given = (None, *self.given[1:])

    @property
    def ahead(self) -> tuple[int, Message | None]:
        """The next message that can be sent and its number; None at the end."""
        index = self._good[self.index]
        return index, None if index == self._count else self.rules.messages[index]

    @property
    def ready(self) -> int:
        """When the next message, or the end, is read."""
        index, ahead = self.ahead
        return self.opened + self._read[index + (ahead is not None)] - self._read[self.opened_index]

    @property
    def may_run(self) -> bool:
        return self.begun and not (self.paused or self.held or self.stopped) and self.pending is None

    def at(self, now: int) -> int:
        """Where the play head is: it does not pass a message that has not left."""
        return min(self._free_at(now), self._limit())

    def _free_at(self, now: int) -> int:
        return self.place + round((now - self.since) * self.rate) if self.runs else self.place

    def _limit(self) -> int:
        ahead = self.ahead[1]
        if not self.runs:
            return self.place
        if not self.looked or (ahead is None and not self.rules.loop):
            return self.floor
        return ahead.stamp if ahead else self.rules.last + self.rules.gap

    @property
    def due(self) -> int:
        """When the next message, or the next round, is due; as soon as it may where time does not go on."""
        ahead = self.ahead[1]
        if not self.runs:
            return max(self.allowed, self.free, self.ready)
        return self.since + round(
            ((ahead.stamp if ahead else self.rules.last + self.rules.gap) - self.place) / self.rate
        )

    def advance(self, now: int) -> None:
        """Let time go on to now: the play head may go on, pass over a gap, come to the end."""
        if not self.may_run or self.steps:
            return
        look = max(self.free, self.ready, self.allowed)
        ahead = self.ahead[1]
        if look > now or (not self.runs and self.is_before_time):
            return
        if not self.runs:
            self.runs, self.since, self.next_tick, self.looked = True, look, look, False
            self.floor = max(self.floor, self.place)
        if self.looked:
            return
        if ahead is None and not self.rules.loop:
            self._end(look, now)
        else:
            self._look(look, ahead)

    def _end(self, look: int, now: int) -> None:
        """What has left early is waited for, and a tick that is due comes first."""
        over = self.since + round((self.floor - self.place) / self.rate)
        if over - EARLY_NS > look:
            if over - EARLY_NS <= now < over:
                raise UnclearError
            look = over
        if look > now or (self.rules.tick and self.next_tick <= look):
            return
        self.looked, self.runs, self.place = True, False, self.floor
        self.ended = self.paused = True
        self.ended_at, self.told_end = look, False
        self.stopped = self.rules.exits

    def _look(self, look: int, ahead: Message | None) -> None:
        """Pass over a gap, which may begin where the play head is, or where it is when all before has left in time."""
        head = self.at(look)
        self.looked = True
        if ahead is None or not self.rules.longest:
            return
        if ahead.stamp - self.floor <= self.rules.longest < ahead.stamp - head:
            raise UnclearError
        if ahead.stamp - head > self.rules.longest:
            self.place, self.since = ahead.stamp - min(LEAD_NS, self.rules.longest), look

    @property
    def is_before_time(self) -> bool:
        """Whether the next message is of what is kept for those who come late, and leaves before time goes on."""
        ahead = self.ahead[1]
        return ahead is not None and ahead.feed == self.rules.latched and ahead.stamp <= self.place

    def pass_by(self, index: int) -> None:
        """A message, or the end, has been reached: what is defective before it has been counted."""
        defective = sum(not each.is_good for each in self.rules.messages[self.index : index])
        self.skipped = [count + defective for count in self.skipped]
        self.index, self.looked = index, False

    def leave(self) -> None:
        """The play head jumps: what is defective right before it may have been counted."""
        ahead = self.ahead[0]
        self.skipped[1] += sum(not each.is_good for each in self.rules.messages[self.index : ahead])
