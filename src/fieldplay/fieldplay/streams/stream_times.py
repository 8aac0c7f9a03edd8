"""When the messages of a topic came: how many, how often, and where they paused; in bounded memory."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Buckets
from fieldplay.core.gaps import GAP_NS, GAP_STEPS, GapFinder, Intervals, length_within
from fieldplay.core.timestamps import NS_PER_S

MAX_GAPS = 200
MAX_BUCKETS = 2048
MAX_STAMPS = 96
TAKEN_IN = 256


class StreamTimes:
    """The times of one topic, batch by batch. What is added in small pieces counts once it is taken in."""

    def __init__(self) -> None:
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.longest_gap_ns = 0
        self.gaps: list[tuple[int, int]] = []  # when the pause ended, and how long it was; the longest of them
        self.gap_count = 0
        self.longest_step_ns = 0  # that is no pause
        self._in_gaps_ns = 0
        self.buckets = Buckets(limit=MAX_BUCKETS)
        self.few_stamps: list[int] = []
        self._gap_finder = GapFinder()
        self._waiting: list[NDArray[np.int64]] = []
        self._waiting_count = 0

    def add(self, stamp_ns: NDArray[np.int64]) -> None:
        """Further times (n,), in order; they are taken in some hundred at a time, which is quicker."""
        self._waiting.append(stamp_ns)
        self._waiting_count += len(stamp_ns)
        if self._waiting_count >= TAKEN_IN:
            self.flush_pending()

    def flush_pending(self) -> None:
        """Let all that was added count."""
        if not self._waiting_count:
            return
        stamp_ns = np.concatenate(self._waiting)
        self._waiting, self._waiting_count = [], 0
        steps = np.diff(stamp_ns, prepend=stamp_ns[:1] if self.last_ns is None else self.last_ns)
        self.longest_gap_ns = max(self.longest_gap_ns, int(steps.max()))
        first, last = int(stamp_ns[0]), int(stamp_ns[-1])
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        self.count += len(stamp_ns)
        self.buckets.add(stamp_ns)
        if len(self.few_stamps) < MAX_STAMPS:
            self.few_stamps += stamp_ns[: MAX_STAMPS - len(self.few_stamps)].tolist()
        self._note_gaps(stamp_ns, steps)

    @property
    def duration_s(self) -> float:
        return ((self.last_ns or 0) - (self.first_ns or 0)) / NS_PER_S

    @property
    def rate_hz(self) -> float | None:
        """The mean rate, where there is one."""
        return (self.count - 1) / self.duration_s if self.count > 1 and self.duration_s > 0 else None

    @property
    def usual_ns(self) -> float:
        """The mean step from message to message, pauses aside."""
        steps = max(self.count - 1 - self.gap_count, 1)
        return max((self.last_ns or 0) - (self.first_ns or 0) - self._in_gaps_ns, 0) / steps

    @property
    def stamps(self) -> NDArray[np.int64] | None:
        """All times, where they are few."""
        return np.array(self.few_stamps, np.int64) if self.count <= MAX_STAMPS else None

    def _note_gaps(self, stamp_ns: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        rows = self._gap_finder.gaps(stamp_ns)
        steps[[row for row, _ in rows]] = 0
        self.longest_step_ns = max(self.longest_step_ns, int(steps.max()))
        if rows:
            self.gap_count += len(rows)
            self._in_gaps_ns += sum(length for _, length in rows)
            gaps = [(int(stamp_ns[row]), length) for row, length in rows]
            self.gaps = sorted(self.gaps + gaps, key=lambda gap: -gap[1])[:MAX_GAPS]


class StreamNumbers(NamedTuple):
    """The numbers of a topic, gaps aside that the axes of time pass over; None where there is no such number."""

    rate_hz: float | None
    longest_gap_s: float | None
    pauses: int


def stream_numbers(times: StreamTimes, intervals_ns: Intervals) -> StreamNumbers:
    """The rate of a topic, its longest gap and how often it paused, in the intervals (k, 2) of a recording."""
    if len(intervals_ns) < 2:
        longest_s = times.longest_gap_ns / NS_PER_S if times.count > 1 else None
        return StreamNumbers(times.rate_hz, longest_s, times.gap_count)
    spans = times.buckets.span_ns
    firsts = np.flatnonzero(np.diff(np.searchsorted(intervals_ns[:, 0], spans[:, 0], side="right"), prepend=-1))
    ends = np.maximum.reduceat(spans[:, 1], firsts) if times.count else spans[:, 1]
    length_s = float((ends - spans[firsts, 0]).sum()) / NS_PER_S
    rate_hz = (times.count - len(firsts)) / length_s if length_s > 0 else None
    pauses = pauses_of(times, intervals_ns)
    if times.stamps is not None:
        gaps = [
            length_within(intervals_ns, *pair) for pair in np.stack([times.stamps[:-1], times.stamps[1:]], -1).tolist()
        ]
    else:
        gaps = [times.longest_step_ns, *(length_within(intervals_ns, *pause) for pause in pauses)]
    return StreamNumbers(rate_hz, max(gaps) / NS_PER_S if rate_hz is not None else None, len(pauses))


def pauses_of(times: StreamTimes, intervals_ns: Intervals) -> list[tuple[int, int]]:
    """The start and end (ns) of the longest pauses, but for those that are a gap of the complete recording."""
    pauses = [(end - length, end) for end, length in times.gaps]
    if len(intervals_ns) < 2:
        return pauses
    least = max(GAP_NS, GAP_STEPS * times.usual_ns)
    return [pause for pause in pauses if length_within(intervals_ns, *pause) > least]
