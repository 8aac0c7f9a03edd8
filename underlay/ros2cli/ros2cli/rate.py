"""How often messages come, from their times of arrival."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_BETWEEN_REPORTS_NS = 1_000_000_000


def spread(values_s: Collection[float]) -> str:
    """Return least, most, standard deviation and number of at least one value, in words."""
    mean = sum(values_s) / len(values_s)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values_s) / len(values_s))
    least, most = min(values_s), max(values_s)
    return f"min: {least:.3f}s max: {most:.3f}s std dev: {deviation:.5f}s window: {len(values_s)}"


@dataclass(frozen=True)
class RateReport:
    """The rate over a window of intervals between messages, all in SI units."""

    rate_hz: float
    min_s: float
    max_s: float
    std_dev_s: float
    window: int

    @classmethod
    def over(cls, intervals_ns: Sequence[int]) -> RateReport:
        """Return the report over at least one interval."""
        count = len(intervals_ns)
        mean = sum(intervals_ns) / count
        deviation = math.sqrt(sum((interval - mean) ** 2 for interval in intervals_ns) / count)
        rate = 1e9 / mean if mean > 0 else 0.0
        return cls(rate, min(intervals_ns) * 1e-9, max(intervals_ns) * 1e-9, deviation * 1e-9, count)

    def __str__(self) -> str:
        """Return the text that is written once a second."""
        return (
            f"average rate: {self.rate_hz:.3f}\n"
            f"\tmin: {self.min_s:.3f}s max: {self.max_s:.3f}s std dev: {self.std_dev_s:.5f}s window: {self.window}\n"
        )


class RateWindow:
    """The last ``size`` intervals, and a report of them once a second."""

    def __init__(self, size: int) -> None:
        """Start empty."""
        self._intervals_ns: deque[int] = deque(maxlen=size)
        self._last_ns: int | None = None
        self._reported_ns: int | None = None

    def arrived(self, now_ns: int) -> None:
        """Take note of a message; a time before the last one starts everything anew."""
        if self._last_ns is not None and now_ns >= self._last_ns:
            self._intervals_ns.append(now_ns - self._last_ns)
        else:
            self._intervals_ns.clear()
            self._reported_ns = None
        self._last_ns = now_ns

    def report(self) -> RateReport | None:
        """Return a report if there is something to report and the one before is a second old."""
        if self._last_ns is None or not self._intervals_ns:
            return None
        if self._reported_ns is None:
            self._reported_ns = self._last_ns
            return None
        if self._last_ns < self._reported_ns + _BETWEEN_REPORTS_NS:
            return None
        self._reported_ns = self._last_ns
        return RateReport.over(self._intervals_ns)
