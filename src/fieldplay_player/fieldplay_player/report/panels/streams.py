"""All topics: a time line of when their messages came, and a table of how many and how often."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.stamps import NS_PER_S
from fieldplay_player.report.html.charts import UNITS, x_labels
from fieldplay_player.report.html.markup import Html, element, joined, path_text
from fieldplay_player.report.html.page import Section
from fieldplay_player.report.html.ticks import Axis, count_text, duration_text, many, number_text, time_axis
from fieldplay_player.report.recording import Recording
from fieldplay_player.report.source import Topic
from fieldplay_player.report.stream_times import StreamTimes

HEIGHT = 100
LEAST_PER_STEP = 8  # messages in a step of a density: fewer look like a comb
MOST_STEPS, SPARK_STEPS = 240, 48
HIGH_SHARE = 0.9  # of the steps are not higher than what is drawn as the full height
NEARLY_FULL = 0.93
LEAST_PAUSE = 3  # units of width, so that a short gap is seen

Array = NDArray[np.float64]


def stream_sections(recording: Recording) -> list[Section]:
    """The time line and the table."""
    streams = list(recording.streams.items())
    if not streams:
        return []
    axis = time_axis(recording.duration_s, most=5)
    gaps = sum(times.gap_count for _, times in streams)
    told = f"{many(gaps, 'pause')} in all." if gaps else "No topic pauses."
    lead = (
        "How dense the messages of each topic are, each beside its own highest density. A pause is longer than ten "
        f"usual steps and half a second. {told}"
    )
    rows = [_track(recording, topic, times, axis=axis) for topic, times in streams]
    key = element(
        "p", element("i", class_="swatch"), "messages", element("i", class_="swatch pause"), "pause", class_="muted"
    )
    line = element("div", key, _axis_row(axis), *rows, _axis_row(axis), class_="clock card")
    return [
        Section("timeline", "Time line", line, lead),
        Section("streams", "Streams", element("div", _table(recording, streams), class_="card")),
    ]


def _axis_row(axis: Axis) -> Html:
    return element("div", element("span"), x_labels(axis), class_="track axis")


def _track(recording: Recording, topic: Topic, times: StreamTimes, *, axis: Axis) -> Html:
    grid = element(
        "path",
        d=Html("".join(f"M{UNITS * axis.share(value):.0f} 0v{HEIGHT}" for value, _ in axis.ticks)),
        class_="grid",
    )
    drawn = [grid, _density(recording, times, axis), _pauses(recording, times, axis)]
    label = f"when {topic.name} came"
    picture = element(
        "svg", *drawn, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", role="img", aria_label=label
    )
    return element("div", element("span", path_text(topic.name)), picture, class_="track")


def _density(recording: Recording, times: StreamTimes, axis: Axis) -> Html:
    stamps = times.stamps
    if stamps is not None:
        return _moments(UNITS * axis.share(1) * recording.seconds(stamps))
    edges, heights = rates(recording, times, MOST_STEPS)
    return element("path", d=_skyline(edges * UNITS * axis.share(1), heights), class_="density")


def _moments(x: Array) -> Html:
    """Single messages at x (n,), in units."""
    return element("path", d=Html("".join(f"M{place:.1f} {HEIGHT}V12" for place in x.tolist())), class_="moments")


def rates(recording: Recording, times: StreamTimes, most: int) -> tuple[Array, Array]:
    """Borders of steps (n + 1,) in seconds, and the rate in each (n,) as a share of the highest."""
    count, width_ns = times.buckets.count, times.buckets.width_ns
    filled = max(int((count > 0).sum()), 1)
    group = int(max(np.ceil(len(count) / most), np.ceil(LEAST_PER_STEP * filled / max(times.count, 1)), 1))
    padded = np.append(count, np.zeros(-len(count) % group, np.int64)).reshape(-1, group).sum(axis=1)
    first = int(times.buckets.stamp_ns[0]) - width_ns // 2
    edges = recording.seconds(first + np.arange(len(padded) + 1) * width_ns * group)
    begin, end = recording.seconds(np.array([times.first_ns or 0, times.last_ns or 0]))
    edges = np.clip(edges, begin, max(end, begin))
    lengths = np.diff(edges)
    rate = np.divide(padded, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    filled_rates = np.sort(rate[padded > 0])
    highest = float(filled_rates[int(HIGH_SHARE * (len(filled_rates) - 1))]) if len(filled_rates) else 0.0
    # a step holds a message or two more or less by chance alone, which must not show
    chance = 1 + 2 / np.maximum(padded, 1)
    shares = np.clip(rate * chance / highest, 0.0, 1.0) if highest > 0 else rate
    return edges, np.where(shares > NEARLY_FULL, 1.0, shares)


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
    for end_ns, length_ns in times.gaps:
        begin, end = UNITS * axis.share(1) * recording.seconds(np.array([end_ns - length_ns, end_ns]))
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
    rate = "–" if times.rate_hz is None else f"{number_text(times.rate_hz)} Hz"
    gap = "–" if times.count < 2 else duration_text(times.longest_gap_ns / NS_PER_S)
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
        element("td", gap, class_="number alarm" if times.gap_count else "number", data_head="largest gap"),
        element("td", _spark(recording, times), class_="spark"),
    )


def _spark(recording: Recording, times: StreamTimes) -> Html:
    if not times.count:
        return Html("")
    scale = UNITS / max(recording.duration_s, 1e-9)
    stamps = times.stamps
    if stamps is not None and times.count < SPARK_STEPS:
        drawn = _moments(recording.seconds(stamps) * scale)
    else:
        edges, heights = rates(recording, times, SPARK_STEPS)
        drawn = element("path", d=_skyline(edges * scale, heights), class_="density")
    return element("svg", drawn, viewBox=f"0 0 {UNITS} {HEIGHT}", preserveAspectRatio="none", aria_hidden="true")
