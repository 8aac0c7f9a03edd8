"""Where streams pause for much longer than they usually do, and the pieces of a recording between such gaps."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S

GAP_STEPS = 10  # a gap is longer than so many usual steps,
GAP_NS = NS_PER_S // 2  # and than this
ENOUGH_STEPS = 20  # determine what is usual; fewer leave the earlier estimate
LEAST_GAP_NS = 60 * NS_PER_S  # where nothing else is said of gaps
LEAST_OF_WHOLE = 0.2  # of the time from first to last, in gaps; where less is, none is passed over
LEAST_OF_RECORDED = 0.01  # shorter gaps, by the time without gaps, do not show on an axis

Intervals = NDArray[np.int64]


class GapFinder:
    """Finds the gaps of one stream from its times part by part: no stream is held as a whole.

    What step is usual is estimated anew for each part, as the median of its steps; a part of few rows, such as the
    last of a file, is measured by the estimate of the one before.
    """

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._usual_ns: float | None = None

    def gaps(self, stamp_ns: NDArray[np.int64]) -> list[tuple[int, int]]:
        """The rows of a part (n,) that come after a gap, and how long each gap is in nanoseconds."""
        if not len(stamp_ns):
            return []
        before = stamp_ns[0] if self._last_ns is None else self._last_ns
        steps = np.diff(stamp_ns, prepend=before)
        self._last_ns = int(stamp_ns[-1])
        forward = steps[steps > 0]
        if len(forward) >= ENOUGH_STEPS or (self._usual_ns is None and len(forward)):
            self._usual_ns = float(np.median(forward))
        if self._usual_ns is None:
            return []
        limit = max(GAP_STEPS * self._usual_ns, GAP_NS)
        return [(int(row), int(steps[row])) for row in np.flatnonzero(steps > limit)]


def split_at_gaps(intervals: Intervals, *, skip_gaps_ns: int, usual_ns: float) -> Intervals:
    """The spans (k, 2), first to last time, between the gaps that a time axis leaves out.

    Intervals (n, 2) are where the topics have messages, in any order. Gaps longer than `skip_gaps_ns` are passed over;
    where that is 0, those longer than a minute and ten usual steps, if they make up a fifth of the whole or more.
    """
    longest_ns = skip_gaps_ns or max(LEAST_GAP_NS, GAP_STEPS * usual_ns)
    spans = merge_intervals(intervals, longest_ns)
    if len(spans) < 2:
        return spans
    duration_ns = float(spans[-1, 1] - spans[0, 0])
    in_gaps = float((spans[1:, 0] - spans[:-1, 1]).astype(np.float64).sum())
    if not skip_gaps_ns and in_gaps < LEAST_OF_WHOLE * duration_ns:
        return merge_intervals(spans, duration_ns)
    return merge_intervals(spans, max(longest_ns, LEAST_OF_RECORDED * (duration_ns - in_gaps)))


def merge_intervals(intervals: Intervals, longest_ns: float) -> Intervals:
    """Sort intervals (n, 2) and merge those that overlap or whose gap is not longer than `longest_ns`: (k, 2)."""
    if not len(intervals):
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    cuts = np.flatnonzero(ordered[1:, 0] - ends[:-1] > longest_ns)
    return np.stack([ordered[np.append(0, cuts + 1), 0], ends[np.append(cuts, len(ends) - 1)]], axis=-1)


def clip_intervals(intervals: Intervals, first: int, last: int) -> Intervals:
    """Clip intervals (n, 2) to two times and drop those outside."""
    within = np.clip(intervals, first, last)
    return within[(intervals[:, 0] <= last) & (intervals[:, 1] >= first)]


def length_within(intervals: Intervals, first: int, last: int) -> int:
    """How much of the time between two moments lies in the intervals."""
    within = clip_intervals(intervals, first, last)
    return int((within[:, 1] - within[:, 0]).sum())
