"""All topics: a time line of when their messages came, and a table of how many, how often and how long they paused."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import drawing_width_ns
from fieldplay.core.gaps import GAP_NS, GAP_STEPS, clip_intervals, length_within
from fieldplay.core.number_text import (
    Axis,
    count_noun,
    count_text,
    duration_text,
    gap_text,
    grid_step_s,
    labelled_breaks,
    number_text,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.report.figures import data_uri
from fieldplay.report.overview import Overview, StreamTimes
from fieldplay.report.page import Html, Section, markup, piece

DRAWN = 256  # of buckets
MIN_PER_STEP = 8  # messages in a step of a density: fewer look like a comb
HIGH_FRACTION = 0.9  # of the steps are not higher than what is drawn as the full height
NEARLY_FULL = 0.93
MAX_STEPS, SPARK_STEPS, MAX_DATES = 240, 48, 9
HEIGHT, MIN_PAUSE = 16, 2  # pixels of a strip, and of a pause in it, so that a short one is seen
MESSAGES, PAUSE, BREAK = (178, 114, 0, 255), (30, 54, 179, 255), (150, 150, 150, 90)  # BGRA

Array = NDArray[np.float64]


class Steps(NamedTuple):
    """A density in one segment of a recording: edges (n + 1,) in seconds, messages (n,) and the rate in each (n,)."""

    edges: Array
    counts: NDArray[np.int64]
    rates: Array


class StreamNumbers(NamedTuple):
    """The numbers of a topic, gaps aside that the axes of time pass over; None where there is no such number."""

    rate_hz: float | None
    longest_gap_s: float | None
    pauses: int


def densities(overview: Overview, times: StreamTimes, most: int) -> list[tuple[Array, Array]]:
    """By segment the edges of steps (n + 1,) in seconds, and the rate in each (n,) as a fraction of the highest."""
    steps = _steps(overview, times, most)
    rates = np.sort(np.concatenate([np.zeros(0), *(part.rates[part.counts > 0] for part in steps)]))
    highest = float(rates[int(HIGH_FRACTION * (len(rates) - 1))]) if len(rates) else 0.0
    return [(part.edges, _relative_density(part, highest)) for part in steps]


def _relative_density(steps: Steps, highest: float) -> Array:
    # a step holds a message or two more or less by chance alone, which must not show
    chance = 1 + 2 / np.maximum(steps.counts, 1)
    fractions: Array = np.clip(steps.rates * chance / highest, 0.0, 1.0) if highest > 0 else steps.rates
    return np.where(fractions > NEARLY_FULL, 1.0, fractions)


def _steps(overview: Overview, times: StreamTimes, most: int) -> list[Steps]:
    """Buckets of one width, as many in a step as all segments allow."""
    intervals = clip_intervals(overview.intervals_ns, times.first_ns or 0, times.last_ns or 0)
    width = drawing_width_ns(times.buckets, intervals, DRAWN)
    buckets = times.buckets.widen(width)
    bucket_numbers = [np.arange(start // width, end // width + 1) for start, end in intervals.tolist()]
    total = sum(map(len, bucket_numbers))
    group = int(max(np.ceil(total / most), np.ceil(MIN_PER_STEP * len(buckets.count) / max(times.count, 1)), 1))
    steps = []
    for (start, end), numbers in zip(intervals.tolist(), bucket_numbers, strict=True):
        count = np.zeros(len(numbers) + -len(numbers) % group, np.int64)
        inside = (buckets.span_ns[:, 0] >= start) & (buckets.span_ns[:, 0] <= end)
        count[buckets.number[inside] - numbers[0]] = buckets.count[inside]
        counts = count.reshape(-1, group).sum(axis=1)
        edges = overview.seconds(np.clip((numbers[0] + np.arange(len(counts) + 1) * group) * width, start, end))
        lengths = np.diff(edges)
        steps.append(Steps(edges, counts, np.divide(counts, lengths, out=np.zeros(len(lengths)), where=lengths > 0)))
    return steps


def stream_numbers(overview: Overview, times: StreamTimes) -> StreamNumbers:
    """Its rate, its longest gap and how often it paused."""
    if len(overview.intervals_ns) < 2:
        longest_s = times.longest_gap_ns / NS_PER_S if times.count > 1 else None
        return StreamNumbers(times.rate_hz, longest_s, times.gap_count)
    spans = times.buckets.span_ns
    firsts = np.flatnonzero(
        np.diff(np.searchsorted(overview.intervals_ns[:, 0], spans[:, 0], side="right"), prepend=-1)
    )
    ends = np.maximum.reduceat(spans[:, 1], firsts) if times.count else spans[:, 1]
    length_s = float((ends - spans[firsts, 0]).sum()) / NS_PER_S
    rate_hz = (times.count - len(firsts)) / length_s if length_s > 0 else None
    pauses = pauses_of(overview, times)
    if times.stamps is not None:
        gaps = [_within(overview, *pair) for pair in np.stack([times.stamps[:-1], times.stamps[1:]], -1).tolist()]
    else:
        gaps = [times.longest_step_ns, *(_within(overview, *pause) for pause in pauses)]
    return StreamNumbers(rate_hz, max(gaps) / NS_PER_S if rate_hz is not None else None, len(pauses))


def pauses_of(overview: Overview, times: StreamTimes) -> list[tuple[int, int]]:
    """The start and end (ns) of the longest pauses, but for those that are a gap of the complete recording."""
    pauses = [(end - length, end) for end, length in times.gaps]
    if len(overview.intervals_ns) < 2:
        return pauses
    least = max(GAP_NS, GAP_STEPS * times.usual_ns)
    return [pause for pause in pauses if _within(overview, *pause) > least]


def _within(overview: Overview, start: int, end: int) -> int:
    """How long anything was recorded between two moments."""
    return length_within(overview.intervals_ns, start, end)


def stream_sections(overview: Overview) -> list[Section]:
    """The time line and the table."""
    if not overview.streams:
        return []
    axis, spark_axis = overview.time_axis(most=5, most_dates=MAX_DATES), overview.time_axis()
    tracks, rows = [], []
    for topic, times in overview.streams.items():
        numbers = stream_numbers(overview, times)
        tracks.append((topic.name, strip_of(overview, times, axis, steps=MAX_STEPS, label=f"when {topic.name} came")))
        rows.append({
            "topic": topic, "count": count_text(times.count), "pauses": numbers.pauses,
            "rate": "–" if numbers.rate_hz is None else f"{number_text(numbers.rate_hz)} Hz",
            "gap": "–" if numbers.longest_gap_s is None else duration_text(numbers.longest_gap_s),
            "strip": strip_of(overview, times, spark_axis, steps=SPARK_STEPS) if times.count else "",
        })  # fmt: skip
    ticks = [(round(100 * axis.fraction(value), 2), label) for value, label in axis.ticks if label]
    breaks = [(round(50 * sum(one.fractions), 2), one.label) for one in labelled_breaks(axis.breaks, most=MAX_DATES)]
    return [
        Section("timeline", "Time line", piece("timeline", tracks, ticks, breaks), _lead(overview, axis)),
        Section("streams", "Streams", piece("streams", rows)),
    ]


def _lead(overview: Overview, axis: Axis) -> str:
    gaps = sum(stream_numbers(overview, times).pauses for times in overview.streams.values())
    summary = f"{count_noun(gaps, 'pause')} in all." if gaps else "No topic pauses."
    lead = (
        "How dense the messages of each topic are, each beside its own highest density. A pause is longer than ten "
        f"usual steps and half a second. {summary}"
    )
    if not axis.breaks:
        return lead
    longest = gap_text(max(each.end - each.start for each in axis.breaks))
    step = gap_text(grid_step_s(overview.seconds(overview.intervals_ns)))
    return (
        f"{lead} All axes of time pass over {count_noun(len(axis.breaks), 'stretch')} without messages, of up to "
        f"{longest}: a strip with the length stands for each, or the longest of many. Lines are {step} apart."
    )


def strip_of(overview: Overview, times: StreamTimes, axis: Axis, *, steps: int, label: str = "") -> Html:
    """An image of when the messages of a topic came: as high as they are dense, single ones where they are few."""
    width = 4 * steps
    pixels = np.zeros((HEIGHT, width, 4), np.uint8)
    heights = np.zeros(width)
    if times.stamps is not None and times.count < steps:
        heights[_columns(axis, overview.seconds(times.stamps), width)] = 0.98
    else:
        for edges, fractions in densities(overview, times, steps):
            middle = _columns(axis, edges, width)
            heights[middle[0] : middle[-1] + 1] = np.repeat(
                np.append(fractions, fractions[-1]), np.diff(middle, append=middle[-1] + 1)
            )
    filled = np.arange(HEIGHT)[::-1, None] < np.where(heights > 0, np.maximum(0.9 * HEIGHT * heights, 1), 0)
    pixels[filled] = MESSAGES
    for pause in pauses_of(overview, times):
        first, last = _columns(axis, overview.seconds(np.array(pause)), width).tolist()
        pixels[HEIGHT * 6 // 10 :, first : max(last, first + MIN_PAUSE)] = PAUSE
    for each in axis.breaks:
        first, last = (int(fraction * width) for fraction in each.fractions)
        pixels[:, first : max(last, first + 1)] = BREAK
    return piece("image", markup(data_uri(pixels, "png")), width, HEIGHT, label)


def _columns(axis: Axis, seconds: Array, width: int) -> NDArray[np.intp]:
    """The pixels of a strip for times (n,)."""
    return np.clip(axis.fractions(seconds) * width, 0, width - 1).astype(np.intp)
