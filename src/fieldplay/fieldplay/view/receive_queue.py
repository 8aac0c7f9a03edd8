"""Live messages on their way to a viewer: no more than so many bytes wait, and what is dropped is counted."""

import threading
from collections import Counter, deque
from typing import NamedTuple

LARGE = 1 << 14  # from here on a message is one that may be dropped first, as pictures and clouds


class LiveMessage(NamedTuple):
    """A message as it came."""

    topic: str
    msgtype: str
    heard_ns: int
    data: bytes


class ReceiveQueue:
    """Filled by one thread, emptied by another. Large messages go first where there is no room, the oldest first."""

    def __init__(self, most_bytes: int) -> None:
        self.heard, self.dropped = Counter[str](), Counter[str]()
        self._most, self._bytes = most_bytes, 0
        self._large: deque[tuple[int, LiveMessage]] = deque()
        self._small: deque[tuple[int, LiveMessage]] = deque()
        self._changed = threading.Condition()
        self._number = 0

    def put(self, message: LiveMessage) -> None:
        """One more."""
        with self._changed:
            self.heard[message.topic] += 1
            self._number += 1
            (self._large if len(message.data) >= LARGE else self._small).append((self._number, message))
            self._bytes += len(message.data)
            while self._bytes > self._most and (self._large or self._small):
                _, gone = (self._large or self._small).popleft()
                self._bytes -= len(gone.data)
                self.dropped[gone.topic] += 1
            self._changed.notify()

    def take(self, patience_s: float) -> list[LiveMessage]:
        """All that wait, in the order in which they came; none where none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._large or self._small), patience_s)
            found = sorted((*self._large, *self._small), key=lambda numbered: numbered[0])
            self._large.clear()
            self._small.clear()
            self._bytes = 0
        return [message for _, message in found]

    def told(self) -> str:
        """What was dropped, in words; nothing where nothing was."""
        parts = [f"{count} of {self.heard[topic]} on {topic}" for topic, count in sorted(self.dropped.items())]
        return f"dropped, as the viewer was slower: {', '.join(parts)}" if parts else ""
