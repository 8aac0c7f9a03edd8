"""What waits before a pipeline on live topics: whole sets of inputs, the oldest of which go."""

import threading
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from fieldplay_cdff.pipeline.graph import InputPort
from fieldplay_cdff.pipeline.inputs import PipelineInputs, SyncedInputs

MOST_TOLD = 100
MOST_REFUSED = 16  # sets without values that wait


class LiveQueue:
    """Sets of inputs in the order in which they are whole; `most` may wait, then the oldest goes, with all of it.

    What waits is never older than that, and a set is never torn: what is slow still gets pairs. What is held does not
    count. Filled by one thread, emptied by another.
    """

    def __init__(self, inputs: Mapping[str, InputPort], most: int) -> None:
        self.heard, self.dropped, self.skipped = Counter[str](), Counter[str](), Counter[str]()
        self.told: deque[str] = deque(maxlen=MOST_TOLD)  # stamps that cannot be
        self._most = max(1, most)
        self._inputs = PipelineInputs(inputs, self._drop, self._refuse)
        self._waiting: deque[SyncedInputs] = deque()
        self._changed = threading.Condition()

    def put(self, port: str, stamp_ns: int, value: Any) -> None:
        """One more at a port."""
        with self._changed:
            self.heard[port] += 1
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
        refused = [place for place, each in enumerate(self._waiting) if each.refused]
        if len(refused) > MOST_REFUSED:
            del self._waiting[refused[0]]
        places = [place for place, each in enumerate(self._waiting) if not each.is_held and not each.refused]
        if len(places) <= self._most:
            return
        oldest, following = places[:2]
        if self._waiting[oldest].jumped:  # which is then true of the next
            self._waiting[following] = self._waiting[following]._replace(jumped=True)
        for port in self._waiting[oldest].values:
            self._drop(port, 1)
        del self._waiting[oldest]

    def _drop(self, port: str, count: int) -> None:
        self.dropped[port] += count

    def _refuse(self, port: str, fault: str, stamp_ns: int) -> None:
        self.skipped[port] += 1
        self.told.append(f"{port}: {fault}")
