"""Stand-in for upstream's message_filters: subscribers, a cache, and messages that belong together by their times."""

from typing import NoReturn

from ._cache import Cache
from ._simple_filter import SimpleFilter, Subscriber
from ._synchronizers import ApproximateTimeSynchronizer, TimeSynchronizer

__all__ = ["ApproximateTimeSynchronizer", "Cache", "SimpleFilter", "Subscriber", "TimeSynchronizer"]

_LEFT_OUT = frozenset({"Chain", "InputAligner", "LatestTimeSynchronizer", "TimeSequencer"})


def __getattr__(name: str) -> NoReturn:
    if name in _LEFT_OUT:
        # Not an AttributeError: "from message_filters import ..." would replace its message.
        raise ImportError(f"message_filters.{name} is not covered by this stand-in for upstream's message_filters")
    raise AttributeError(f"module 'message_filters' (a stand-in for upstream's) has no attribute {name!r}")
