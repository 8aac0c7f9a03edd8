"""All topics: a time line of when their messages came, and a table of how many and how often."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.breaks import break_labels, break_marks
from fieldplay.report.html.charts import UNITS, x_labels
from fieldplay.report.html.cut_axis import gap_text, grid_step_s
from fieldplay.report.html.markup import Html, element, joined, path_text
from fieldplay.report.html.page import Section
from fieldplay.report.html.ticks import Axis, count_text, duration_text, many, number_text
from fieldplay.report.panels.densities import densities, pauses_of, told_of
from fieldplay.report.recording import Recording
from fieldplay.report.stream_times import StreamTimes
from fieldplay_messages.batches import Topic

HEIGHT = 100
MOST_STEPS, SPARK_STEPS = 240, 48
MOST_DATES = 9
LEAST_PAUSE = 3  # units of width, so that a short gap is seen

Array = NDArray[np.float64]


def stream_sections(recording: Recording) -> list[Section]:
    """The time line and the table."""
    streams = list(recording.streams.items())
    if not streams:
        return []
    axis = recording.time_axis(most=5, most_dates=MOST_DATES)
    rows = [_track(recording, topic, times, axis=axis) for topic, times in streams]
    key = element(
        "p", element("i", class_="swatch"), "messages", element("i", class_="swatch pause"), "pause", class_="muted"
    )
    line = element("div", key, *_axis_rows(axis), *rows, _axis_row(axis), class_="clock card")
    return [
        Section("timeline", "Time line", line, _lead(recording, axis)),
        Section("streams", "Streams", element("div", _table(recording, streams), class_="card")),
    ]


def _lead(recording: Recording, axis: Axis) -> str:
    gaps = sum(told_of(recording, times).pauses for times in recording.streams.values())
    told = f"{many(gaps, 'pause')} in all." if gaps else "No topic pauses."
    lead = (
        "How dense the messages of each topic are, each beside its own highest density. A pause is longer than ten "
        f"usual steps and half a second. {told}"
    )
    if not axis.breaks:
        return lead
    longest = gap_text(max(each.end - each.begin for each in axis.breaks))
    step = gap_text(grid_step_s(recording.seconds(recording.pieces_ns)))
    return (
        f"{lead} All axes of time pass over {many(len(axis.breaks), 'stretch')} without messages, of up to "
        f"{longest}: a dashed strip with the length stands for each, or the longest of many. Lines are {step} apart."
    )


def _axis_rows(axis: Axis) -> list[Html]:
    """The labels above the tracks, and the lengths of gaps where there are any."""
    lengths = element("div", element("span"), break_labels(axis, most=MOST_DATES), class_="track axis")
    return [_axis_row(axis), lengths] if axis.breaks else [_axis_row(axis)]


def _axis_row(axis: Axis) -> Html:
    return element("div", element("span"), x_labels(axis), class_="track axis")


def _track(recording: Recording, topic: Topic, times: StreamTimes, *, axis: Axis) -> Html:
    grid = element(
        "path",
        d=Html("".join(f"M{UNITS * axis.share(value):.0f} 0v{HEIGHT}" for value, _ in axis.ticks)),
        class_="grid",
    )
    marks = break_marks(axis, units=UNITS, height=HEIGHT, most=MOST_DATES)
    drawn = [grid, _density(recording, times, axis, most=MOST_STEPS), _pauses(recording, times, axis), marks]
    label = f"when {topic.name} came"
    picture = element(
        "svg", *drawn, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", role="img", aria_label=label
    )
    return element("div", element("span", path_text(topic.name)), picture, class_="track")


def _density(recording: Recording, times: StreamTimes, axis: Axis, *, most: int) -> Html:
    stamps = times.stamps
    if stamps is not None and times.count < most:
        return _moments(UNITS * axis.shares(recording.seconds(stamps)))
    skylines = (_skyline(UNITS * axis.shares(edges), heights) for edges, heights in densities(recording, times, most))
    return element("path", d=joined(skylines), class_="density")


def _moments(x: Array) -> Html:
    """Single messages at x (n,), in units."""
    return element("path", d=Html("".join(f"M{place:.1f} {HEIGHT}V12" for place in x.tolist())), class_="moments")


def _skyline(x: Array, heights: Array) -> Html:
    """The outline of steps; x (n + 1,) in units, heights (n,) as shares."""
    y = np.rint(HEIGHT * (1 - 0.9 * heights)).astype(int)
    y[heights <= 0] = HEIGHT
    steps = [f"M{x[0]:.1f} {HEIGHT}"]
    for index in np.flatnonzero(np.diff(y, prepend=-1)).tolist():
        steps.append(f"H{x[index]:.1f}V{y[index]}")
    return Html("".join([*steps, f"H{x[-1]:.1f}V{HEIGHT}Z"]))


def _pauses(recording: Recording, times: StreamTimes, axis: Axis) -> Html:
    made = []
    for pause in pauses_of(recording, times):
        begin, end = UNITS * axis.shares(recording.seconds(np.array(pause)))
        width = max(end - begin, LEAST_PAUSE)
        made.append(f"M{begin:.1f} {HEIGHT}v-40h{width:.1f}v40z")
    return element("path", d=Html("".join(made)), class_="pause") if made else Html("")


def _table(recording: Recording, streams: Sequence[tuple[Topic, StreamTimes]]) -> Html:
    heads = [
        ("Topic", ""),
        ("Messages", "number"),
        ("Rate", "number"),
        ("Largest gap", "number"),
        ("Rate over time", "spark"),
    ]
    head = element("thead", element("tr", *(element("th", name, class_=kind or None) for name, kind in heads)))
    rows = [_row(recording, topic, times) for topic, times in streams]
    return element("table", head, element("tbody", *rows), class_="streams")


def _row(recording: Recording, topic: Topic, times: StreamTimes) -> Html:
    told = told_of(recording, times)
    rate = "–" if told.rate_hz is None else f"{number_text(told.rate_hz)} Hz"
    gap = "–" if told.longest_gap_s is None else duration_text(told.longest_gap_s)
    name = joined(
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
        element("td", gap, class_="number alarm" if told.pauses else "number", data_head="largest gap"),
        element("td", _spark(recording, times), class_="spark"),
    )


def _spark(recording: Recording, times: StreamTimes) -> Html:
    if not times.count:
        return Html("")
    axis = recording.time_axis()
    drawn = _density(recording, times, axis, most=SPARK_STEPS)
    marks = break_marks(axis, units=UNITS, height=HEIGHT)
    return element("svg", drawn, marks, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", aria_hidden="true")
