"""Axes of time that pass over gaps: which gaps, where each time lies, what the labels say, and what is not drawn."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.gaps import length_within, merge_intervals, split_at_gaps
from fieldplay.core.number_text import gap_text, labelled_breaks, time_axis, time_axis_with_gaps
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.figures import Chart, Curve, line_chart
from fieldplay.report.overview import Overview
from fieldplay.report.signal_panel import SignalPanel
from fieldplay.report.stream_panel import stream_sections
from fieldplay.streams.stream_times import StreamTimes, stream_numbers
from fieldplay_testing.drawn import drawn_labels, drawn_lines, drawn_points
from fieldplay_testing.reference_messages import START_NS, batch, make

SECOND = 10**9
DAY_S = 86_400.0
DAY = 86_400 * SECOND
NOON_NS = 1_545_220_800 * SECOND  # 2018-12-19 12:00:00
SESSIONS = np.array([[0.0, 20.0], [190 * DAY_S, 190 * DAY_S + 20], [400 * DAY_S, 400 * DAY_S + 40]])


def recording_of(stamps: dict[str, np.ndarray], *, skip_gaps_s: float = 0.0, **notes: str) -> Overview:
    """A recording with topics of numbers at these times."""
    subject = RecordingInfo(title="", name="", kind="", size_bytes=0, skip_gaps_s=skip_gaps_s, notes=notes)
    overview = Overview(subject=subject)
    for name, stamp_ns in stamps.items():
        times = overview.streams.setdefault(Topic(name, "std_msgs/msg/Float64"), StreamTimes())
        times.add(NOON_NS + stamp_ns.astype(np.int64))
        times.flush_pending()
    return overview


def sessions(*starts_s: float, seconds: float = 20.0, rate_hz: float = 10.0) -> np.ndarray:
    """Times (n,) in ns of several sessions."""
    steps = np.arange(round(seconds * rate_hz)) / rate_hz
    return np.rint((np.array(starts_s)[:, None] + steps).reshape(-1) * SECOND).astype(np.int64)


def text_of(body: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", str.replace(body, "<wbr>", "")))


def chart_of(curve: Curve) -> str:
    """A chart of a curve over the sessions."""
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    return str(line_chart(Chart(title="c", curves=[curve], unit="m", x_axis=axis)))


def test_each_interval_has_axis_share_of_its_duration() -> None:
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    starts, stops = axis.fractions(SESSIONS[:, 0]), axis.fractions(SESSIONS[:, 1])
    assert (starts[0], stops[-1]) == (0.0, 1.0)
    lengths = stops - starts
    assert lengths / lengths[0] == pytest.approx([1.0, 1.0, 2.0])
    assert 0.9 < lengths.sum() < 1.0  # the marks take the rest
    assert axis.fraction(10.0) == pytest.approx(lengths[0] / 2)


def test_gap_marks_show_length_of_gap() -> None:
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    assert [each.label for each in axis.breaks] == ["190 d", "210 d"]
    assert [gap_text(s) for s in (45.0, 738.0, 19_440.0, 1_062_720.0)] == ["45 s", "12.3 min", "5.4 h", "12.3 d"]


def test_labels_are_dates_and_times_and_grid_lines_are_round() -> None:
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS + SECOND // 4, most=8)
    labels = [label for _, label in axis.ticks if label]
    assert labels[:2] == ["2018-12-19\n12:00:00", "2019-06-27\n12:00:00"]
    seconds = [(NOON_NS / SECOND + 0.25 + value) % 10.0 for value, label in axis.ticks if not label]
    assert np.minimum(seconds, 10.0 - np.array(seconds)) == pytest.approx(0.0, abs=1e-5)


def test_date_is_shown_once_per_day() -> None:
    intervals = np.array([[0.0, 3600.0], [6 * 3600.0, 7 * 3600.0]])
    labels = [label for _, label in time_axis_with_gaps(intervals, start_ns=NOON_NS, most=5).ticks if label]
    assert labels[0] == "2018-12-19\n12:00" and "18:00" in labels
    assert not any("\n" in label for label in labels[1:])


@pytest.mark.parametrize("start_ns", [NOON_NS, 0])
def test_short_recording_has_seconds_since_start(start_ns: int) -> None:
    intervals = np.array([[0.0, 20.0], [1830.0, 1850.0]])
    labels = [label for _, label in time_axis_with_gaps(intervals, start_ns=start_ns).ticks if label]
    assert labels == ["0 s", "1830 s"]


def test_unset_clock_has_no_dates() -> None:
    labels = [label for _, label in time_axis_with_gaps(SESSIONS, start_ns=0).ticks if label]
    assert labels and not any("1970" in label for label in labels)


LENGTHS = st.lists(st.tuples(st.integers(0, 10**14), st.integers(SECOND, 10**17)), min_size=2, max_size=40)


@given(LENGTHS, st.integers(0, 2 * 10**18))
def test_every_axis_with_gaps_is_monotonic_with_room_for_labels(lengths: list[tuple[int, int]], start: int) -> None:
    stops = np.cumsum([part / SECOND for pair in lengths for part in pair])
    borders = np.append(0.0, stops)[:-1].reshape(-1, 2)
    axis = time_axis_with_gaps(borders, start_ns=start, most=4)
    fractions = axis.fractions(np.sort(borders.reshape(-1)))
    assert (np.diff(fractions) >= -1e-12).all() and fractions[0] >= 0 and fractions[-1] <= 1 + 1e-9
    labelled = axis.fractions(np.array([value for value, label in axis.ticks if label]))
    assert len(labelled) >= 1 and (np.diff(labelled) >= 0.29).all()
    inner = np.linspace(0.0, 1.0, 101)
    values = axis.values(inner)
    there = np.isfinite(values)
    assert np.diff(values[there]).min(initial=0.0) >= 0
    if stops[-1] < 1e6 and (borders[:, 1] - borders[:, 0]).min() > 1:
        assert axis.fractions(values[there]) == pytest.approx(inner[there], abs=1e-6)


def test_flipped_axis_has_marks_in_same_gaps() -> None:
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    times = np.array([0.0, 5.0, 190 * DAY_S, 400 * DAY_S + 40])
    assert axis.flip().fractions(times) == pytest.approx(1.0 - axis.fractions(times))
    middle = np.mean(axis.breaks[0].fractions)
    assert np.isnan(axis.flip().values(np.array([1.0 - middle, 0.5]))).tolist() == [True, False]


def test_times_within_gap_map_to_its_start() -> None:
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    assert axis.fraction(100 * DAY_S) == axis.fraction(20.0)
    assert axis.segment_indices(np.array([20.0, 100 * DAY_S, 190 * DAY_S])).tolist() == [0, 0, 1]


def test_only_longest_of_many_gaps_are_labelled() -> None:
    intervals = np.cumsum(np.tile([5.0, DAY_S], 30)).reshape(-1, 2)
    intervals = np.stack([np.append(0.0, intervals[:-1, 1]), intervals[:, 0]], axis=-1)
    intervals[20:] += 9 * DAY_S
    axis = time_axis_with_gaps(intervals, start_ns=NOON_NS)
    labels = [each.label for each in labelled_breaks(axis.breaks)]
    assert len(axis.breaks) == 29 and "10 d" in labels and len(labels) < 8


def test_no_line_crosses_a_gap() -> None:
    x = np.concatenate([start + np.arange(0.0, 20.0, 0.5) for start in SESSIONS[:, 0]])
    chart = chart_of(Curve("", x, np.sin(x % 1000)))
    lines = [line[:, 0] for line in drawn_lines(chart, "line s0")]
    assert len(lines) == 3
    assert lines[0].max() < lines[1].min() and lines[1].max() < lines[2].min()
    assert chart.count('class="break strips"') == 1 and "190 d" in drawn_labels(chart)


def test_single_value_of_each_interval_is_a_point() -> None:
    chart = chart_of(Curve("", SESSIONS[:, 0], np.arange(3.0)))
    assert len(drawn_points(chart, "point s0")) == 3


def test_state_holds_until_next_message_across_intervals() -> None:
    times = np.array([5.0, 190 * DAY_S + 8])
    (line,) = drawn_lines(chart_of(Curve("", times, np.array([2.0, 7.0]), is_held=True)), "line s0")
    first, change, last = line[0, 0], line[np.argmax(np.abs(np.diff(line[:, 1]))), 0], line[-1, 0]
    assert line[0, 1] > line[-1, 1]  # upwards is less
    assert np.unique(np.abs(np.diff(line, axis=0)) > 0, axis=0).sum(axis=1).max() == 1  # across or upright
    axis = time_axis_with_gaps(SESSIONS, start_ns=NOON_NS)
    fractions = [axis.fraction(time) for time in (*times, axis.high)]
    assert (change - first) / (last - first) == pytest.approx(
        (fractions[1] - fractions[0]) / (1 - fractions[0]), abs=0.01
    )


def test_held_curve_has_no_band() -> None:
    times, values = np.array([5.0, 190 * DAY_S + 8]), np.array([2.0, 7.0])
    chart = chart_of(Curve("", times, values, values - 1, values + 1, is_held=True))
    assert "band" not in chart and "band" in chart_of(Curve("", times[:1] + np.arange(9), *np.eye(3, 9)))


def test_thousand_gaps_are_drawn_at_once() -> None:
    starts = np.arange(1000) * DAY_S
    axis = time_axis_with_gaps(np.stack([starts, starts + 60], axis=-1), start_ns=NOON_NS)
    chart = line_chart(Chart(title="c", curves=[Curve("", starts, starts)], unit="m", x_axis=axis))
    assert chart.count('class="break strips"') == 1 and len(drawn_labels(chart)) < 40


def test_overlapping_or_near_intervals_are_joined() -> None:
    intervals = np.array([[50, 60], [0, 10], [12, 20], [5, 14], [61, 61]])
    assert merge_intervals(intervals, 5).tolist() == [[0, 20], [50, 61]]
    assert length_within(np.array([[0, 20], [50, 61]]), 15, 55) == 10


def test_gaps_longer_than_dataset_limit_are_skipped() -> None:
    intervals = np.array([[0, 20], [32, 52], [57, 77]]) * SECOND
    assert len(split_at_gaps(intervals, skip_gaps_ns=10 * SECOND, usual_ns=SECOND / 10)) == 2
    assert len(split_at_gaps(intervals, skip_gaps_ns=15 * SECOND, usual_ns=SECOND / 10)) == 1


@pytest.mark.parametrize(
    ("gap_s", "recorded_s", "interval_count"),
    [
        (40.0, 20.0, 1),  # shorter than a minute
        (90.0, 20.0, 2),
        (90.0, 600.0, 1),  # less than a fifth of the whole
        (400.0, 600.0, 2),
    ],
)
def test_without_limit_only_dominating_gaps_are_skipped(gap_s: float, recorded_s: float, interval_count: int) -> None:
    intervals = np.array([[0.0, recorded_s / 2], [recorded_s / 2 + gap_s, recorded_s + gap_s]]) * SECOND
    result = split_at_gaps(intervals.astype(np.int64), skip_gaps_ns=0, usual_ns=SECOND / 10)
    assert len(result) == interval_count


def test_regular_slow_messages_are_no_gaps() -> None:
    overview = recording_of({"/pressure": np.arange(60) * 600 * SECOND})
    assert len(overview.intervals_ns) == 1
    assert not overview.time_axis().breaks


def test_invisible_gaps_are_not_skipped() -> None:
    """A day of driving with a pause of two minutes, and a week without anything."""
    long = sessions(0.0, 8 * 3600 + 120.0, 7 * DAY_S, seconds=8 * 3600.0, rate_hz=1.0)
    overview = recording_of({"/imu": long}, skip_gaps_s=10.0)
    assert [each.label for each in overview.time_axis().breaks] == ["6.33 d"]


def test_recording_without_gaps_has_plain_axis() -> None:
    overview = recording_of({"/imu": sessions(0.0, seconds=20.0)})
    assert overview.time_axis() == time_axis(overview.duration_s)


def test_sparse_topic_does_not_fill_gap() -> None:
    overview = recording_of({"/imu": sessions(0.0, 190 * DAY_S), "/tool": np.array([0, 190 * DAY])})
    assert np.diff(overview.intervals_ns)[:, 0].tolist() == [199 * SECOND // 10] * 2
    assert overview.recorded_s == pytest.approx(39.8)


def test_rates_and_pauses_count_recorded_time_only() -> None:
    imu = sessions(0.0, 190 * DAY_S)
    late = np.delete(imu, np.arange(50, 90))
    overview = recording_of({"/imu": imu, "/late": late, "/tool": np.array([0, 8 * SECOND, 190 * DAY])})
    numbers_by_topic = {
        topic.name: stream_numbers(times, overview.intervals_ns) for topic, times in overview.streams.items()
    }
    assert numbers_by_topic["/imu"].rate_hz == pytest.approx(10.0)
    assert (numbers_by_topic["/imu"].pauses, numbers_by_topic["/imu"].longest_gap_s) == (0, pytest.approx(0.1))
    assert (numbers_by_topic["/late"].pauses, numbers_by_topic["/late"].longest_gap_s) == (1, pytest.approx(4.1))
    # by exact times: 8 s to the second message, the rest of that session to the third
    assert numbers_by_topic["/tool"].longest_gap_s == pytest.approx(19.9 - 8)


def test_time_line_shows_gaps_with_length_and_date_but_not_as_pauses() -> None:
    overview = recording_of({"/imu": sessions(0.0, 190 * DAY_S)})
    (table,) = stream_sections(overview)
    text = text_of(table.body)
    assert "190 d" in text and "2018-12-19 12:00:00" in text and "2019-06-27 12:00:00" in text
    assert "No topic pauses." in table.lead and "pass over 1 stretch" in table.lead
    assert "/imu std_msgs/msg/Float64 400 10 Hz 0.1 s" in text


def numbers(*values: float) -> list[tuple[int, Any]]:
    return [(START_NS + k * 30 * SECOND, make("std_msgs/msg/UInt8", data=int(v))) for k, v in enumerate(values)]


def test_slow_integers_are_drawn_as_states_with_their_notes() -> None:
    panel = SignalPanel()
    received = batch("/tool", numbers(1, 4, 2))
    overview = recording_of({}, **{"/tool": "the archive's own number"})
    overview.streams[received.topic] = StreamTimes()
    overview.streams[received.topic].add(received.stamp_ns)
    overview.streams[received.topic].flush_pending()
    panel.add(received)
    (section,) = panel.sections(overview)
    assert "(the archive's own number)" in text_of(section.body).replace("&#x27;", "'")
    (points,) = drawn_lines(section.body, "line s0")
    assert all(np.diff(points, axis=0).min(axis=1) * np.diff(points, axis=0).max(axis=1) == 0)  # across or upright


def test_moment_is_formatted_like_its_axis() -> None:
    far = recording_of({"/imu": sessions(0.0, 190 * DAY_S)})
    assert far.moment_text(NOON_NS + 190 * DAY) == "2019-06-27 12:00:00 UTC"
    near = recording_of({"/imu": sessions(0.0)})
    assert near.moment_text(NOON_NS + 406_000) == "0 s"
    assert near.moment_text(NOON_NS + 12_840_000_000) == "12.84 s"
