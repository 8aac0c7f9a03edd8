"""Inputs of a pipeline: validation of stamps, and pairing by stamp."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, NamedTuple

from fieldplay_cdff.pipeline.pipeline_graph import (
    EACH,
    HOLD,
    PAIR,
    InputPort,
)

JUMP_NS = 3600_000_000_000  # by which stamps may go on
WAITING = 16  # of a port, for what belongs to them
PERIODS = 20  # of which the median is the period
RECENT = 64  # sets that are remembered, so that one whose inputs arrive separately is refused once
UNPAIRED = "unpaired"  # the reason of a refusal
MAX_REPORTED = 100
MAX_REFUSED = 16  # sets without values that wait


class Arrival(NamedTuple):
    """Something that came, its stamp, and when it came (s, of this machine)."""

    stamp_ns: int
    value: Any
    at_s: float


class SyncedInputs(NamedTuple):
    """A set of inputs by port; its stamp, and the arrival time of its first input.

    Held inputs trigger nothing. `jumped` is true after a jump of the clock. A set that cannot be used has
    no values, and the reason in `refused`.
    """

    values: Mapping[str, Any]
    stamp_ns: int
    at_s: float
    is_held: bool = False
    jumped: bool = False
    refused: str = ""


class StampValidator:
    """Detects invalid stamps: those that do not increase, or jump, unless the next one agrees with the jump."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._suspect: int | None = None

    def issue(self, stamp_ns: int) -> str:
        """Return the issue of the next stamp; "" if there is none."""
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
    drop: Callable[[str, int], None]  # called with what is dropped
    waiting: dict[str, deque[Arrival]] = field(default_factory=dict)
    unequal: int = 0  # sets whose stamps differ
    _unpaired: list[Arrival] = field(default_factory=list)  # since the last sets

    @classmethod
    def of(cls, inputs: Mapping[str, InputPort], drop: Callable[[str, int], None]) -> "PairedInputs":
        """Of the ports that are paired, the first one's stamps count."""
        return cls([name for name, port in inputs.items() if port.policy == PAIR], drop)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop all that waits."""
        for port, waiting in self.waiting.items():
            self._drop(port, waiting)
        self._recent: deque[int] = deque(maxlen=RECENT)  # stamps of sets, refused ones among them
        self.waiting = {port: deque() for port in self.ports}
        self._last: int | None = None
        self._periods: deque[int] = deque(maxlen=PERIODS)

    def add(self, port: str, stamp_ns: int, value: Any) -> list[SyncedInputs]:
        """Add an input; return the sets that it completes."""
        own = self.waiting[port]
        own.append(Arrival(stamp_ns, value, time.monotonic()))
        if len(own) > WAITING:
            self._drop(port, [own.popleft()])
        if port == self.ports[0]:
            if self._last is not None:
                self._periods.append(stamp_ns - self._last)
            self._last = stamp_ns
        return self._with_refused(self._sets(is_end=False))

    def refuse(self, stamp_ns: int, reason: str) -> list[SyncedInputs]:
        """A set that cannot be used, unless it is refused already; what else of it comes finds no partner."""
        if self._is_recent(stamp_ns):
            return []
        self._recent.append(stamp_ns)
        return [SyncedInputs({}, stamp_ns, time.monotonic(), refused=reason)]

    def finish(self) -> list[SyncedInputs]:
        """Return the remaining complete sets at the end of the inputs; the rest is dropped."""
        sets = self._sets(is_end=True)
        for port, waiting in self.waiting.items():
            self._drop(port, waiting)
            waiting.clear()
        return self._with_refused(sets)

    def _with_refused(self, sets: list[SyncedInputs]) -> list[SyncedInputs]:
        """The sets, and in the order of time those that lack a part.

        Inputs more frequent than the first port belong to a complete set, and are no set of their own.
        """
        self._recent.extend(each.stamp_ns for each in sets)
        unpaired, self._unpaired = self._unpaired, []
        refused = [each for arrival in unpaired for each in self.refuse(arrival.stamp_ns, UNPAIRED)]
        return sorted(sets + refused, key=lambda each: each.stamp_ns) if refused else sets

    def _is_recent(self, stamp_ns: int) -> bool:
        within_ns = self._within_ns or 0
        return any(abs(stamp_ns - each) <= within_ns for each in self._recent)

    @property
    def _within_ns(self) -> int | None:
        return median_low(self._periods) // 2 if self._periods else None

    def _sets(self, *, is_end: bool) -> list[SyncedInputs]:
        sets = []
        first = self.waiting[self.ports[0]]
        while first:
            chosen = self._chosen(first[0], is_end=is_end)
            if chosen is None:
                break
            if len(chosen) == len(self.ports):
                sets.append(self._take_set(chosen))
            else:
                self._drop(self.ports[0], [first.popleft()])
        return sets

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

    def _take_set(self, chosen: Mapping[str, Arrival]) -> SyncedInputs:
        for port, arrival in chosen.items():
            waiting = self.waiting[port]
            while waiting[0].stamp_ns != arrival.stamp_ns:
                self._drop(port, [waiting.popleft()])
            waiting.popleft()
        stamp_ns = chosen[self.ports[0]].stamp_ns
        self.unequal += any(each.stamp_ns != stamp_ns for each in chosen.values())
        values = {port: arrival.value for port, arrival in chosen.items()}
        return SyncedInputs(values, stamp_ns, min(each.at_s for each in chosen.values()))

    def _drop(self, port: str, arrivals: Collection[Arrival]) -> None:
        if arrivals:
            self.drop(port, len(arrivals))
            self._unpaired += arrivals


class PipelineInputs:
    """Groups the inputs of a chain into sets: checks their stamps, and pairs them by stamp.

    `drop` is called with the port and number of unpaired inputs, `refuse` with invalid stamps.
    """

    def __init__(
        self,
        inputs: Mapping[str, InputPort],
        drop: Callable[[str, int], None],
        refuse: Callable[[str, str, int], None],
    ) -> None:
        self._ports, self._refuse = inputs, refuse
        self._paired = PairedInputs.of(inputs, drop)
        self._clocks = {name: StampValidator() for name in inputs}
        self._jumped_ns: int | None = None
        self._jumps = False

    @property
    def unequal(self) -> int:
        """Sets whose stamps differ."""
        return self._paired.unequal

    def add(self, port: str, stamp_ns: int, value: Any) -> list[SyncedInputs]:
        """Add an input; return the sets that it completes."""
        policy = self._ports[port].policy
        if policy == HOLD:
            return [SyncedInputs({port: value}, stamp_ns, time.monotonic(), is_held=True)]
        issue = self._clocks[port].issue(stamp_ns)
        if issue == JUMPED:
            self._jump(stamp_ns)
        elif issue:
            self._refuse(port, issue, stamp_ns)
            return []
        alone = [SyncedInputs({port: value}, stamp_ns, time.monotonic())]
        return self._report_sets(alone if policy == EACH else self._paired.add(port, stamp_ns, value))

    def refuse(self, port: str, stamp_ns: int, reason: str) -> list[SyncedInputs]:
        """Something came at a port that cannot be used: its set, refused, unless it is already."""
        if self._ports[port].policy == PAIR:
            return self._paired.refuse(stamp_ns, reason)
        is_held = self._ports[port].policy == HOLD
        return [] if is_held else [SyncedInputs({}, stamp_ns, time.monotonic(), refused=reason)]

    def finish(self) -> list[SyncedInputs]:
        """The sets that are complete at the end of the inputs."""
        return self._report_sets(self._paired.finish()) if self._paired.ports else []

    def _jump(self, stamp_ns: int) -> None:
        """Handle a jump of the clock at the first port that has it: drop waiting inputs."""
        if self._jumped_ns is None or abs(stamp_ns - self._jumped_ns) > JUMP_NS:
            self._jumped_ns, self._jumps = stamp_ns, True
            self._paired.clear()

    def _report_sets(self, sets: list[SyncedInputs]) -> list[SyncedInputs]:
        if sets and self._jumps:
            sets[0], self._jumps = sets[0]._replace(jumped=True), False
        return sets


# The queue of a pipeline on live topics: complete sets of inputs, of which the oldest are dropped.


class LiveQueue:
    """Sets of inputs in the order of their completion; `maximum` may wait, then the oldest set is dropped.

    A set is never older than that, and never split: slow inputs still get pairs. Held inputs do not
    count. Filled by one thread, emptied by another.
    """

    def __init__(self, inputs: Mapping[str, InputPort], maximum: int) -> None:
        self.received, self.dropped, self.skipped = Counter[str](), Counter[str](), Counter[str]()
        self.notes: deque[str] = deque(maxlen=MAX_REPORTED)  # stamps that cannot be
        self._most = max(1, maximum)
        self._inputs = PipelineInputs(inputs, self._drop, self._refuse)
        self._waiting: deque[SyncedInputs] = deque()
        self._changed = threading.Condition()

    def put(self, port: str, stamp_ns: int, value: Any) -> None:
        """One more at a port."""
        with self._changed:
            self.received[port] += 1
            for each in self._inputs.add(port, stamp_ns, value):
                self._waiting.append(each)
                self._make_room()
            self._changed.notify()

    def take(self, patience_s: float) -> SyncedInputs | None:
        """The oldest set; None where none comes in time."""
        with self._changed:
            there = self._changed.wait_for(lambda: bool(self._waiting), patience_s)
            return self._waiting.popleft() if there else None

    def _make_room(self) -> None:
        refused = [index for index, each in enumerate(self._waiting) if each.refused]
        if len(refused) > MAX_REFUSED:
            del self._waiting[refused[0]]
        indices = [index for index, each in enumerate(self._waiting) if not each.is_held and not each.refused]
        if len(indices) <= self._most:
            return
        oldest, following = indices[:2]
        if self._waiting[oldest].jumped:  # which is then true of the next
            self._waiting[following] = self._waiting[following]._replace(jumped=True)
        for port in self._waiting[oldest].values:
            self._drop(port, 1)
        del self._waiting[oldest]

    def _drop(self, port: str, count: int) -> None:
        self.dropped[port] += count

    def _refuse(self, port: str, issue: str, stamp_ns: int) -> None:
        self.skipped[port] += 1
        self.notes.append(f"{port}: {issue}")
