from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import Timeline, TimelineSource


def source_of(spans: list[list[int]], loads: list[int] | None = None) -> TimelineSource[list[int]]:
    """A stream whose spans hold these times."""
    stamps = [sorted(span) for span in spans]

    def load(index: int) -> tuple[np.ndarray, list[int]]:
        if loads is not None:
            loads.append(index)
        return np.array(stamps[index], np.int64), stamps[index]

    return TimelineSource([Span(span[0], span[-1], len(span)) for span in stamps], load)


def events(timeline: Timeline[list[int]], *limits: int | None) -> list[tuple[int, int]]:
    """Times and sources, in the order they come."""
    rows = []
    for merged in timeline.slices(*limits):
        entries: dict[int, tuple[int, int]] = {}
        for span_slice in merged.slices:
            for row, position in zip(span_slice.rows, span_slice.positions, strict=True):
                assert span_slice.loaded[row] == merged.stamp_ns[position]
                entries[int(position)] = (span_slice.loaded[row], span_slice.source)
        assert sorted(entries) == list(range(len(merged.stamp_ns)))
        rows += [entries[position] for position in range(len(entries))]
    return rows


SPANS = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=8), max_size=5)


@given(st.lists(SPANS, min_size=1, max_size=4), st.integers(-5, 65), st.integers(-5, 65))
def test_events_are_ordered_by_time_then_source(spans: list[list[list[int]]], first: int, last: int) -> None:
    timeline = Timeline([source_of(part) for part in spans])
    everything = sorted((time, index) for index, part in enumerate(spans) for span in part for time in span)
    assert events(timeline) == everything
    assert events(timeline, first, last) == [event for event in everything if first <= event[0] <= last]


def test_rows_of_same_time_and_source_keep_their_order() -> None:
    timeline = Timeline([source_of([[5, 5, 5]])])
    (merged,) = timeline.slices()
    assert merged.slices[0].rows[np.argsort(merged.slices[0].positions)].tolist() == [0, 1, 2]


def test_only_overlapping_spans_are_open_and_none_is_loaded_early() -> None:
    loads: list[list[int]] = [[], []]
    timeline = Timeline([source_of([[10 * i, 10 * i + 9] for i in range(100)], loads[k]) for k in range(2)])
    stretches = timeline.slices()
    next(stretches)
    assert [len(part) for part in loads] == [1, 1]
    next(stretches)
    assert [len(part) for part in loads] == [2, 2]


def test_start_in_the_middle_loads_only_spans_from_there() -> None:
    loads: list[int] = []
    timeline = Timeline([source_of([[10 * i, 10 * i + 9] for i in range(1000)], loads)])
    next(timeline.slices(5_005))
    assert loads == [500]


@pytest.mark.parametrize("spans", [[], [[]]])
def test_empty_timeline_gives_no_events(spans: list[list[list[int]]]) -> None:
    assert events(Timeline([source_of([span for span in part if span]) for part in spans])) == []


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (0, [(1, 0), (2, 1), (4, 0), (5, 1), (9, 0), (9, 1)]),
        (4, [(4, 0), (5, 1), (9, 0), (9, 1)]),
        (5, [(5, 0), (5, 1), (9, 0), (9, 1)]),
        (8, [(8, 0), (9, 0), (9, 1)]),
        (60, [(60, 0)]),
    ],
)
def test_last_row_before_start_is_repeated_at_start_of_carrying_source(
    first: int, expected: list[tuple[int, int]]
) -> None:
    carrying = replace(source_of([[1, 4], [9]]), carries=True)
    rows = []
    for merged in Timeline([carrying, source_of([[2, 5, 9]])]).slices(first):
        sources = {int(at): span_slice.source for span_slice in merged.slices for at in span_slice.positions}
        rows += [(int(stamp), sources[at]) for at, stamp in enumerate(merged.stamp_ns)]
    assert rows == expected
