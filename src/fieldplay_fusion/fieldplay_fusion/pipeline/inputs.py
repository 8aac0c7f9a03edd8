"""What comes from outside: stamps that can be, and what belongs together by its stamps."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, NamedTuple

from fieldplay_fusion.pipeline.graph import EACH, HOLD, PAIR, InputPort

JUMP_NS = 3600_000_000_000  # by which stamps may go on
WAITING = 16  # of a port, for what belongs to them
PERIODS = 20  # of which the middle one is the period


class Arrival(NamedTuple):
    """Something that came, its stamp, and when it came (s, of this machine)."""

    stamp_ns: int
    value: Any
    at_s: float


class Together(NamedTuple):
    """What belongs together, by port; its stamp, and when the first of it came.

    What is held triggers nothing. `jumped` tells that time is another than before it.
    """

    values: Mapping[str, Any]
    stamp_ns: int
    at_s: float
    is_held: bool = False
    jumped: bool = False


class StampClock:
    """Tells stamps that cannot be: those that do not go on, or jump, unless the next one agrees with the jump."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._suspect: int | None = None

    def fault(self, stamp_ns: int) -> str:
        """What is wrong with the next stamp; "" where nothing is."""
        last, suspect = self._last, self._suspect
        if last is None or 0 < stamp_ns - last <= JUMP_NS:
            self._last, self._suspect = stamp_ns, None
            return ""
        if suspect is not None and 0 < stamp_ns - suspect <= JUMP_NS:
            self._last, self._suspect = stamp_ns, None
            return JUMPED
        self._suspect = stamp_ns
        if stamp_ns == last:
            return f"stamp {stamp_ns} repeats"
        word = "goes back" if stamp_ns < last else "jumps"
        return f"stamp {stamp_ns} {word} by {abs(stamp_ns - last) / 1e9:.3f} s"


JUMPED = "a jump that the next stamp agrees with"


@dataclass
class PairedInputs:
    """Waits until what belongs together is there: equal stamps, or nearest within half a period of the first port."""

    ports: list[str]
    drop: Callable[[str, int], None]  # is told of what is dropped
    waiting: dict[str, deque[Arrival]] = field(default_factory=dict)
    unequal: int = 0  # sets whose stamps differ

    @classmethod
    def of(cls, inputs: Mapping[str, InputPort], drop: Callable[[str, int], None]) -> "PairedInputs":
        """Of the ports that are paired, the first one's stamps count."""
        return cls([name for name, port in inputs.items() if port.policy == PAIR], drop)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop all that waits."""
        for port, waiting in self.waiting.items():
            self._drop(port, len(waiting))
        self.waiting = {port: deque() for port in self.ports}
        self._last: int | None = None
        self._periods: deque[int] = deque(maxlen=PERIODS)

    def add(self, port: str, stamp_ns: int, value: Any) -> list[Together]:
        """What belongs together, now that this is there."""
        own = self.waiting[port]
        own.append(Arrival(stamp_ns, value, time.monotonic()))
        if len(own) > WAITING:
            own.popleft()
            self._drop(port)
        if port == self.ports[0]:
            if self._last is not None:
                self._periods.append(stamp_ns - self._last)
            self._last = stamp_ns
        return self._sets(is_end=False)

    def finish(self) -> list[Together]:
        """What belongs together, now that nothing more comes; the rest is dropped."""
        found = self._sets(is_end=True)
        for port, waiting in self.waiting.items():
            self._drop(port, len(waiting))
            waiting.clear()
        return found

    @property
    def _within_ns(self) -> int | None:
        return median_low(self._periods) // 2 if self._periods else None

    def _sets(self, *, is_end: bool) -> list[Together]:
        found = []
        first = self.waiting[self.ports[0]]
        while first:
            chosen = self._chosen(first[0], is_end=is_end)
            if chosen is None:
                break
            if len(chosen) == len(self.ports):
                found.append(self._taken(chosen))
            else:
                first.popleft()
                self._drop(self.ports[0])
        return found

    def _chosen(self, pivot: Arrival, *, is_end: bool) -> dict[str, Arrival] | None:
        """What belongs to an arrival at the first port; incomplete where something never will; None: not known yet."""
        chosen = {self.ports[0]: pivot}
        for port in self.ports[1:]:
            waiting = self.waiting[port]
            nearest = min(waiting, key=lambda each: abs(each.stamp_ns - pivot.stamp_ns), default=None)
            if nearest is not None and nearest.stamp_ns == pivot.stamp_ns:
                chosen[port] = nearest
                continue
            is_late = bool(waiting) and waiting[-1].stamp_ns >= pivot.stamp_ns
            if not is_end and (not is_late or self._within_ns is None):
                return None
            within = self._within_ns or 0
            if nearest is not None and abs(nearest.stamp_ns - pivot.stamp_ns) <= within:
                chosen[port] = nearest
        return chosen

    def _taken(self, chosen: Mapping[str, Arrival]) -> Together:
        for port, arrival in chosen.items():
            waiting = self.waiting[port]
            while waiting[0].stamp_ns != arrival.stamp_ns:
                waiting.popleft()
                self._drop(port)
            waiting.popleft()
        stamp_ns = chosen[self.ports[0]].stamp_ns
        self.unequal += any(each.stamp_ns != stamp_ns for each in chosen.values())
        values = {port: arrival.value for port, arrival in chosen.items()}
        return Together(values, stamp_ns, min(each.at_s for each in chosen.values()))

    def _drop(self, port: str, count: int = 1) -> None:
        if count:
            self.drop(port, count)


class PipelineInputs:
    """Makes sets of what comes at the ports of a chain: stamps that can be, and what belongs together by them.

    `drop` is told of what nothing belongs to, by port and how many, `refuse` of stamps that cannot be.
    """

    def __init__(
        self,
        inputs: Mapping[str, InputPort],
        drop: Callable[[str, int], None],
        refuse: Callable[[str, str, int], None],
    ) -> None:
        self._ports, self._refuse = inputs, refuse
        self._paired = PairedInputs.of(inputs, drop)
        self._clocks = {name: StampClock() for name in inputs}
        self._jumped_ns: int | None = None
        self._jumps = False

    @property
    def unequal(self) -> int:
        """Sets whose stamps differ."""
        return self._paired.unequal

    def add(self, port: str, stamp_ns: int, value: Any) -> list[Together]:
        """The sets that are whole now that this is there."""
        policy = self._ports[port].policy
        if policy == HOLD:
            return [Together({port: value}, stamp_ns, time.monotonic(), is_held=True)]
        fault = self._clocks[port].fault(stamp_ns)
        if fault == JUMPED:
            self._jump(stamp_ns)
        elif fault:
            self._refuse(port, fault, stamp_ns)
            return []
        alone = [Together({port: value}, stamp_ns, time.monotonic())]
        return self._told(alone if policy == EACH else self._paired.add(port, stamp_ns, value))

    def finish(self) -> list[Together]:
        """The sets that are whole now that nothing more comes."""
        return self._told(self._paired.finish()) if self._paired.ports else []

    def _jump(self, stamp_ns: int) -> None:
        """Time is another now, at the first port that says so: what waits is over."""
        if self._jumped_ns is None or abs(stamp_ns - self._jumped_ns) > JUMP_NS:
            self._jumped_ns, self._jumps = stamp_ns, True
            self._paired.clear()

    def _told(self, sets: list[Together]) -> list[Together]:
        if sets and self._jumps:
            sets[0], self._jumps = sets[0]._replace(jumped=True), False
        return sets
