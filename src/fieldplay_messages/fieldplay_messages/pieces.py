"""The pieces of a recording that have messages, between gaps in which there is none of any topic."""

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.gaps import GAP_STEPS
from fieldplay_messages.stamps import NS_PER_S

LEAST_GAP_NS = 60 * NS_PER_S  # where nothing else is said of gaps
LEAST_OF_WHOLE = 0.2  # of the time from first to last, in gaps; where less is, none is passed over
LEAST_OF_RECORDED = 0.01  # shorter gaps, by the time without gaps, do not show on an axis

Intervals = NDArray[np.int64]


def pieces_of_intervals(intervals: Intervals, *, skip_gaps_ns: int, usual_ns: float) -> Intervals:
    """The pieces (k, 2), first to last time, between the gaps that an axis of time passes over.

    Intervals (n, 2) are where the topics have messages, in any order. Gaps longer than `skip_gaps_ns` are passed over;
    where that is 0, those longer than a minute and ten usual steps, if they make up a fifth of the whole or more.
    """
    longest_ns = skip_gaps_ns or max(LEAST_GAP_NS, GAP_STEPS * usual_ns)
    pieces = joined_intervals(intervals, longest_ns)
    if len(pieces) < 2:
        return pieces
    whole = float(pieces[-1, 1] - pieces[0, 0])
    in_gaps = float((pieces[1:, 0] - pieces[:-1, 1]).astype(np.float64).sum())
    if not skip_gaps_ns and in_gaps < LEAST_OF_WHOLE * whole:
        return joined_intervals(pieces, whole)
    return joined_intervals(pieces, max(longest_ns, LEAST_OF_RECORDED * (whole - in_gaps)))


def joined_intervals(intervals: Intervals, longest_ns: float) -> Intervals:
    """Intervals (n, 2) in order (k, 2), those in one that overlap or are not farther apart than that."""
    if not len(intervals):
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    cuts = np.flatnonzero(ordered[1:, 0] - ends[:-1] > longest_ns)
    return np.stack([ordered[np.append(0, cuts + 1), 0], ends[np.append(cuts, len(ends) - 1)]], axis=-1)


def clipped_intervals(intervals: Intervals, first: int, last: int) -> Intervals:
    """What of the intervals (n, 2) lies between two times."""
    within = np.clip(intervals, first, last)
    return within[(intervals[:, 0] <= last) & (intervals[:, 1] >= first)]


def length_within(intervals: Intervals, first: int, last: int) -> int:
    """How much of the time between two moments lies in the intervals."""
    within = clipped_intervals(intervals, first, last)
    return int((within[:, 1] - within[:, 0]).sum())
