"""All topics: a time line of when their messages came, and a table of how many, how often and how long they paused."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import (
    GAP_NS,
    GAP_STEPS,
    clip_intervals,
    length_within,
)
from fieldplay.core.number_text import (
    Axis,
    count_noun,
    count_text,
    duration_text,
    number_text,
)
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.message_batches import Topic
from fieldplay.report.html.charts import UNITS, break_labels, break_marks, gap_text, grid_step_s, x_labels
from fieldplay.report.html.html_page import (
    Html,
    Section,
    element,
    join_html,
    path_text,
)
from fieldplay.report.panels.overview_panel import Overview, StreamTimes, drawing_width_ns

DRAWN = 256  # of buckets
MIN_PER_STEP = 8  # messages in a step of a density: fewer look like a comb
HIGH_FRACTION = 0.9  # of the steps are not higher than what is drawn as the full height
NEARLY_FULL = 0.93

Array = NDArray[np.float64]

HEIGHT = 100
MAX_STEPS, SPARK_STEPS = 240, 48
MAX_DATES = 9
MIN_PAUSE = 3  # units of width, so that a short gap is seen


class Steps(NamedTuple):
    """A density in one piece of a recording: borders (n + 1,) in seconds, messages (n,) and the rate in each (n,)."""

    edges: Array
    counts: NDArray[np.int64]
    rates: Array


class StreamNumbers(NamedTuple):
    """The numbers of a topic, gaps aside that the axes of time pass over; None where there is no such number."""

    rate_hz: float | None
    longest_gap_s: float | None
    pauses: int


def densities(overview: Overview, times: StreamTimes, most: int) -> list[tuple[Array, Array]]:
    """By piece the borders of steps (n + 1,) in seconds, and the rate in each (n,) as a share of the highest."""
    steps = _steps(overview, times, most)
    filled = [part.rates[part.counts > 0] for part in steps]
    rates = np.sort(np.concatenate([np.zeros(0), *filled]))
    highest = float(rates[int(HIGH_FRACTION * (len(rates) - 1))]) if len(rates) else 0.0
    return [(part.edges, _relative_density(part, highest)) for part in steps]


def _relative_density(steps: Steps, highest: float) -> Array:
    # a step holds a message or two more or less by chance alone, which must not show
    chance = 1 + 2 / np.maximum(steps.counts, 1)
    fractions: Array = np.clip(steps.rates * chance / highest, 0.0, 1.0) if highest > 0 else steps.rates
    return np.where(fractions > NEARLY_FULL, 1.0, fractions)


def _steps(overview: Overview, times: StreamTimes, most: int) -> list[Steps]:
    """Buckets of one width, as many in a step as all pieces allow."""
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
        borders = np.clip((numbers[0] + np.arange(len(counts) + 1) * group) * width, start, end)
        edges = overview.seconds(borders)
        lengths = np.diff(edges)
        steps.append(Steps(edges, counts, np.divide(counts, lengths, out=np.zeros(len(lengths)), where=lengths > 0)))
    return steps


def stream_numbers(overview: Overview, times: StreamTimes) -> StreamNumbers:
    """Its rate, its longest gap and how often it paused."""
    if len(overview.intervals_ns) < 2:
        longest_s = times.longest_gap_ns / NS_PER_S if times.count > 1 else None
        return StreamNumbers(times.rate_hz, longest_s, times.gap_count)
    spans = times.buckets.span_ns
    interval = np.searchsorted(overview.intervals_ns[:, 0], spans[:, 0], side="right")
    firsts = np.flatnonzero(np.diff(interval, prepend=-1))
    length_s = (
        float((np.maximum.reduceat(spans[:, 1], firsts) - spans[firsts, 0]).sum()) / NS_PER_S if times.count else 0
    )
    rate_hz = (times.count - len(firsts)) / length_s if length_s > 0 else None
    pauses = pauses_of(overview, times)
    if times.stamps is not None:
        gaps = [_within(overview, *pair) for pair in np.stack([times.stamps[:-1], times.stamps[1:]], -1).tolist()]
    else:
        gaps = [times.longest_step_ns, *(_within(overview, *pause) for pause in pauses)]
    return StreamNumbers(rate_hz, max(gaps) / NS_PER_S if rate_hz is not None else None, len(pauses))


def pauses_of(overview: Overview, times: StreamTimes) -> list[tuple[int, int]]:
    """When the longest pauses began and ended (ns), but for those that are a gap of the whole recording."""
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
    streams = list(overview.streams.items())
    if not streams:
        return []
    axis = overview.time_axis(most=5, most_dates=MAX_DATES)
    rows = [_track(overview, topic, times, axis=axis) for topic, times in streams]
    key = element(
        "p", element("i", class_="swatch"), "messages", element("i", class_="swatch pause"), "pause", class_="muted"
    )
    line = element("div", key, *_axis_rows(axis), *rows, _axis_row(axis), class_="clock card")
    return [
        Section("timeline", "Time line", line, _lead(overview, axis)),
        Section("streams", "Streams", element("div", _table(overview, streams), class_="card")),
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
        f"{longest}: a dashed strip with the length stands for each, or the longest of many. Lines are {step} apart."
    )


def _axis_rows(axis: Axis) -> list[Html]:
    """The labels above the tracks, and the lengths of gaps where there are any."""
    lengths = element("div", element("span"), break_labels(axis, most=MAX_DATES), class_="track axis")
    return [_axis_row(axis), lengths] if axis.breaks else [_axis_row(axis)]


def _axis_row(axis: Axis) -> Html:
    return element("div", element("span"), x_labels(axis), class_="track axis")


def _track(overview: Overview, topic: Topic, times: StreamTimes, *, axis: Axis) -> Html:
    grid = element(
        "path",
        d=Html("".join(f"M{UNITS * axis.fraction(value):.0f} 0v{HEIGHT}" for value, _ in axis.ticks)),
        class_="grid",
    )
    marks = break_marks(axis, units=UNITS, height=HEIGHT, most=MAX_DATES)
    drawn = [grid, _density(overview, times, axis, most=MAX_STEPS), _pauses(overview, times, axis), marks]
    label = f"when {topic.name} came"
    image = element(
        "svg", *drawn, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", role="img", aria_label=label
    )
    return element("div", element("span", path_text(topic.name)), image, class_="track")


def _density(overview: Overview, times: StreamTimes, axis: Axis, *, most: int) -> Html:
    stamps = times.stamps
    if stamps is not None and times.count < most:
        return _moments(UNITS * axis.fractions(overview.seconds(stamps)))
    skylines = (_skyline(UNITS * axis.fractions(edges), heights) for edges, heights in densities(overview, times, most))
    return element("path", d=join_html(skylines), class_="density")


def _moments(x: Array) -> Html:
    """Single messages at x (n,), in units."""
    return element("path", d=Html("".join(f"M{position:.1f} {HEIGHT}V12" for position in x.tolist())), class_="moments")


def _skyline(x: Array, heights: Array) -> Html:
    """The outline of steps; x (n + 1,) in units, heights (n,) as shares."""
    y = np.rint(HEIGHT * (1 - 0.9 * heights)).astype(int)
    y[heights <= 0] = HEIGHT
    steps = [f"M{x[0]:.1f} {HEIGHT}"]
    for index in np.flatnonzero(np.diff(y, prepend=-1)).tolist():
        steps.append(f"H{x[index]:.1f}V{y[index]}")
    return Html("".join([*steps, f"H{x[-1]:.1f}V{HEIGHT}Z"]))


def _pauses(overview: Overview, times: StreamTimes, axis: Axis) -> Html:
    marks = []
    for pause in pauses_of(overview, times):
        start, end = UNITS * axis.fractions(overview.seconds(np.array(pause)))
        width = max(end - start, MIN_PAUSE)
        marks.append(f"M{start:.1f} {HEIGHT}v-40h{width:.1f}v40z")
    return element("path", d=Html("".join(marks)), class_="pause") if marks else Html("")


def _table(overview: Overview, streams: Sequence[tuple[Topic, StreamTimes]]) -> Html:
    heads = [
        ("Topic", ""),
        ("Messages", "number"),
        ("Rate", "number"),
        ("Largest gap", "number"),
        ("Rate over time", "spark"),
    ]
    head = element("thead", element("tr", *(element("th", name, class_=kind or None) for name, kind in heads)))
    rows = [_row(overview, topic, times) for topic, times in streams]
    return element("table", head, element("tbody", *rows), class_="streams")


def _row(overview: Overview, topic: Topic, times: StreamTimes) -> Html:
    numbers = stream_numbers(overview, times)
    rate = "–" if numbers.rate_hz is None else f"{number_text(numbers.rate_hz)} Hz"
    gap = "–" if numbers.longest_gap_s is None else duration_text(numbers.longest_gap_s)
    name = join_html(
        [
            element("div", path_text(topic.name)),
            element("div", path_text(topic.msgtype or "type unknown"), class_="type"),
        ]
    )
    return element(
        "tr",
        element("td", name),
        element("td", count_text(times.count), class_="number", data_head="messages"),
        element("td", rate, class_="number", data_head="rate"),
        element("td", gap, class_="number alarm" if numbers.pauses else "number", data_head="largest gap"),
        element("td", _spark(overview, times), class_="spark"),
    )


def _spark(overview: Overview, times: StreamTimes) -> Html:
    if not times.count:
        return Html("")
    axis = overview.time_axis()
    drawn = _density(overview, times, axis, most=SPARK_STEPS)
    marks = break_marks(axis, units=UNITS, height=HEIGHT)
    return element("svg", drawn, marks, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", aria_hidden="true")
