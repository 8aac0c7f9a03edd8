"""All topics in a table: how many messages, how often, how long they paused, and a strip of when they came."""

import numpy as np
from numpy.typing import NDArray

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
from fieldplay.report.figures import data_uri
from fieldplay.report.overview import Overview
from fieldplay.report.page import Html, Section, markup, render
from fieldplay.streams.stream_times import StreamTimes, pauses_of, stream_numbers

MIN_PER_STEP = 8  # messages in a step of a density: fewer look like a comb
HIGH_FRACTION = 0.9  # of the steps are not higher than what is drawn as the full height
NEARLY_FULL = 0.93
MAX_STEPS, MAX_DATES = 150, 5
HEIGHT, MIN_PAUSE = 16, 2  # pixels of a strip, and of a pause in it, so that a short one is seen
MESSAGES, PAUSE, BREAK = (178, 114, 0, 255), (30, 54, 179, 255), (150, 150, 150, 90)  # BGRA

Array = NDArray[np.float64]


def densities(overview: Overview, times: StreamTimes, axis: Axis) -> Array:
    """How dense the messages are in equal steps (n,) of an axis, as fractions of the highest."""
    steps = int(np.clip(times.count // MIN_PER_STEP, 1, MAX_STEPS))
    spans = axis.fractions(overview.seconds(times.buckets.span_ns.reshape(-1)))
    total = np.cumsum(times.buckets.count)
    reached = np.stack([total - times.buckets.count, total], axis=-1).reshape(-1)
    counts = np.diff(np.interp(np.linspace(0.0, 1.0, steps + 1), spans, reached))
    filled = np.sort(counts[counts > 0])
    highest = float(filled[int(HIGH_FRACTION * (len(filled) - 1))]) if len(filled) else 1.0
    # a step holds a message or two more or less by chance alone, which must not show
    fractions = np.clip(counts * (1 + 2 / np.maximum(counts, 1)) / highest, 0.0, 1.0)
    return np.where(fractions > NEARLY_FULL, 1.0, fractions)


def stream_sections(overview: Overview) -> list[Section]:
    """The table, over one axis of time."""
    if not overview.streams:
        return []
    axis = overview.time_axis(most=4, most_dates=MAX_DATES)
    rows, pauses = [], 0
    for topic, times in overview.streams.items():
        numbers = stream_numbers(times, overview.intervals_ns)
        pauses += numbers.pauses
        rows.append({
            "topic": topic, "count": count_text(times.count), "pauses": numbers.pauses,
            "rate": "–" if numbers.rate_hz is None else f"{number_text(numbers.rate_hz)} Hz",
            "gap": "–" if numbers.longest_gap_s is None else duration_text(numbers.longest_gap_s),
            "strip": strip_of(overview, times, axis, label=f"when {topic.name} came"),
        })  # fmt: skip
    ticks = [(round(100 * axis.fraction(value), 2), label) for value, label in axis.ticks if label]
    breaks = [(round(50 * sum(one.fractions), 2), one.label) for one in labelled_breaks(axis.breaks, most=MAX_DATES)]
    return [Section("streams", "Streams", render("streams", rows, ticks, breaks), _lead(overview, axis, pauses))]


def _lead(overview: Overview, axis: Axis, pauses: int) -> str:
    summary = f"{count_noun(pauses, 'pause')} in all." if pauses else "No topic pauses."
    lead = (
        "How dense the messages of each topic are, each relative to its own maximum. A pause is longer than ten "
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


def strip_of(overview: Overview, times: StreamTimes, axis: Axis, *, label: str) -> Html:
    """An image of when the messages of a topic came: as high as they are dense, single ones where they are few."""
    width = 4 * MAX_STEPS
    pixels, heights = np.zeros((HEIGHT, width, 4), np.uint8), np.zeros(width)
    if times.stamps is not None and times.count < MAX_STEPS:
        column = _columns(axis, overview.seconds(times.stamps), width - 1)
        heights[column] = heights[column + 1] = 1.0  # two pixels each, of which one shows on any screen
    else:
        fractions = densities(overview, times, axis)
        heights = fractions[np.arange(width) * len(fractions) // width]
    for each in axis.breaks:
        first, last = (int(fraction * width) for fraction in each.fractions)
        pixels[:, first : max(last, first + 1)] = BREAK
    filled = np.arange(HEIGHT)[::-1, None] < np.where(heights > 0, np.maximum(0.9 * HEIGHT * heights, 1), 0)
    pixels[filled] = MESSAGES
    for pause in pauses_of(times, overview.intervals_ns):
        first, last = _columns(axis, overview.seconds(np.array(pause)), width).tolist()
        pixels[HEIGHT * 6 // 10 :, first : max(last, first + MIN_PAUSE)] = PAUSE
    return render("image", markup(data_uri(pixels, "png")), width, HEIGHT, label)


def _columns(axis: Axis, seconds: Array, width: int) -> NDArray[np.intp]:
    """The pixels of a strip for times (n,)."""
    return np.clip(axis.fractions(seconds) * width, 0, width - 1).astype(np.intp)
