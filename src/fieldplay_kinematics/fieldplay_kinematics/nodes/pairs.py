"""Messages of two topics that have one time belong together, whichever comes first."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fieldplay_kinematics.nodes.messages import ns_of

KEPT = 500  # messages that wait for their like


class Pairs:
    """Calls `both` with the first and the second message of each time."""

    def __init__(self, both: Callable[[Any, Any], None]) -> None:
        self._both = both
        self._waiting: tuple[OrderedDict[int, Any], OrderedDict[int, Any]] = (OrderedDict(), OrderedDict())

    def first(self, message: Any) -> None:
        """A message of the first topic."""
        self._take(0, message)

    def second(self, message: Any) -> None:
        """A message of the second topic."""
        self._take(1, message)

    def forget(self) -> None:
        """No message that waits belongs to what comes now."""
        for waiting in self._waiting:
            waiting.clear()

    def _take(self, side: int, message: Any) -> None:
        stamp_ns = ns_of(message.header.stamp)
        other = self._waiting[1 - side].pop(stamp_ns, None)
        if other is not None:
            self._both(*((message, other) if side == 0 else (other, message)))
            return
        self._waiting[side][stamp_ns] = message
        if len(self._waiting[side]) > KEPT:
            self._waiting[side].popitem(last=False)
