"""How dense the messages of a topic are over time, where it pauses, and its rate while anything is recorded."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.buckets import drawn_width_ns
from fieldplay.report.recording import Recording
from fieldplay.report.stream_times import StreamTimes
from fieldplay_messages.gaps import GAP_NS, GAP_STEPS
from fieldplay_messages.pieces import clipped_intervals, length_within
from fieldplay_messages.stamps import NS_PER_S

DRAWN = 256  # of buckets
LEAST_PER_STEP = 8  # messages in a step of a density: fewer look like a comb
HIGH_SHARE = 0.9  # of the steps are not higher than what is drawn as the full height
NEARLY_FULL = 0.93

Array = NDArray[np.float64]


class Steps(NamedTuple):
    """A density in one piece of a recording: borders (n + 1,) in seconds, messages (n,) and the rate in each (n,)."""

    edges: Array
    counts: NDArray[np.int64]
    rates: Array


class Told(NamedTuple):
    """The numbers of a topic, gaps aside that the axes of time pass over; None where there is no such number."""

    rate_hz: float | None
    longest_gap_s: float | None
    pauses: int


def densities(recording: Recording, times: StreamTimes, most: int) -> list[tuple[Array, Array]]:
    """By piece the borders of steps (n + 1,) in seconds, and the rate in each (n,) as a share of the highest."""
    steps = _steps(recording, times, most)
    filled = [piece.rates[piece.counts > 0] for piece in steps]
    rates = np.sort(np.concatenate([np.zeros(0), *filled]))
    highest = float(rates[int(HIGH_SHARE * (len(rates) - 1))]) if len(rates) else 0.0
    return [(piece.edges, _shares(piece, highest)) for piece in steps]


def _shares(piece: Steps, highest: float) -> Array:
    # a step holds a message or two more or less by chance alone, which must not show
    chance = 1 + 2 / np.maximum(piece.counts, 1)
    shares: Array = np.clip(piece.rates * chance / highest, 0.0, 1.0) if highest > 0 else piece.rates
    return np.where(shares > NEARLY_FULL, 1.0, shares)


def _steps(recording: Recording, times: StreamTimes, most: int) -> list[Steps]:
    """Buckets of one width, as many in a step as all pieces allow."""
    pieces = clipped_intervals(recording.pieces_ns, times.first_ns or 0, times.last_ns or 0)
    width = drawn_width_ns(times.buckets, pieces, DRAWN)
    buckets = times.buckets.widened(width)
    places = [np.arange(begin // width, end // width + 1) for begin, end in pieces.tolist()]
    total = sum(map(len, places))
    group = int(max(np.ceil(total / most), np.ceil(LEAST_PER_STEP * len(buckets.count) / max(times.count, 1)), 1))
    found = []
    for (begin, end), place in zip(pieces.tolist(), places, strict=True):
        count = np.zeros(len(place) + -len(place) % group, np.int64)
        inside = (buckets.span_ns[:, 0] >= begin) & (buckets.span_ns[:, 0] <= end)
        count[buckets.place[inside] - place[0]] = buckets.count[inside]
        counts = count.reshape(-1, group).sum(axis=1)
        borders = np.clip((place[0] + np.arange(len(counts) + 1) * group) * width, begin, end)
        edges = recording.seconds(borders)
        lengths = np.diff(edges)
        found.append(Steps(edges, counts, np.divide(counts, lengths, out=np.zeros(len(lengths)), where=lengths > 0)))
    return found


def told_of(recording: Recording, times: StreamTimes) -> Told:
    """Its rate, its longest gap and how often it paused."""
    if len(recording.pieces_ns) < 2:
        longest_s = times.longest_gap_ns / NS_PER_S if times.count > 1 else None
        return Told(times.rate_hz, longest_s, times.gap_count)
    spans = times.buckets.span_ns
    piece = np.searchsorted(recording.pieces_ns[:, 0], spans[:, 0], side="right")
    firsts = np.flatnonzero(np.diff(piece, prepend=-1))
    length_s = (
        float((np.maximum.reduceat(spans[:, 1], firsts) - spans[firsts, 0]).sum()) / NS_PER_S if times.count else 0
    )
    rate_hz = (times.count - len(firsts)) / length_s if length_s > 0 else None
    pauses = pauses_of(recording, times)
    if times.stamps is not None:
        gaps = [_within(recording, *pair) for pair in np.stack([times.stamps[:-1], times.stamps[1:]], -1).tolist()]
    else:
        gaps = [times.longest_step_ns, *(_within(recording, *pause) for pause in pauses)]
    return Told(rate_hz, max(gaps) / NS_PER_S if rate_hz is not None else None, len(pauses))


def pauses_of(recording: Recording, times: StreamTimes) -> list[tuple[int, int]]:
    """When the longest pauses began and ended (ns), but for those that are a gap of the whole recording."""
    found = [(end - length, end) for end, length in times.gaps]
    if len(recording.pieces_ns) < 2:
        return found
    least = max(GAP_NS, GAP_STEPS * times.usual_ns)
    return [pause for pause in found if _within(recording, *pause) > least]


def _within(recording: Recording, begin: int, end: int) -> int:
    """How long anything was recorded between two moments."""
    return length_within(recording.pieces_ns, begin, end)
