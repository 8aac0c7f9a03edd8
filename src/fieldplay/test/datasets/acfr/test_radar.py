"""The turns of a scanner: the same wherever the blocks of its table end, and none without an end."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.datasets.acfr.acfr_radar import MAX_ROWS, RevolutionFinder
from fieldplay.datasets.spec import RotatingScanner
from fieldplay.io.table_rows import COUNT, Dialect, TimedRows

Floats = NDArray[np.float64]
SCANNER = RotatingScanner(column="bearing", turn=360.0)
MS = 10**6


def rows(angle_deg: Floats, *, stamp_ms: Floats | None = None, count: Floats | None = None) -> TimedRows:
    columns = ("time", "bearing") if count is None else ("time", "bearing", COUNT)
    times = np.arange(len(angle_deg)) if stamp_ms is None else stamp_ms
    return TimedRows(
        dialect=Dialect(columns, " "),
        stamp_ns=times.astype(np.int64) * MS,
        clock_ns=np.zeros((len(angle_deg), 0), np.int64),
        values=np.stack([angle_deg] if count is None else [angle_deg, count], axis=1),
        line=np.arange(len(angle_deg)) + 1,
        lists=np.zeros((len(angle_deg), 0)),
    )


def revolution_starts(whole: TimedRows, cuts: list[int]) -> list[int]:
    """The row of the whole at which each turn begins, when it comes in blocks."""
    finder = RevolutionFinder(SCANNER, "table", lambda defect: None)
    borders = [0, *sorted({cut for cut in cuts if 0 < cut < len(whole)}), len(whole)]
    for start, end in pairwise(borders):
        finder.add(whole.only(np.arange(start, end)))
    starts = [borders[turn.block] + turn.row for turn in finder.revolutions]
    stops = [finder.end_of(turn) for turn in finder.revolutions]
    assert [borders[block] + row for block, row in stops] == [*starts[1:], len(whole)]
    return starts


@given(
    cuts=st.lists(st.integers(1, 999), max_size=8),
    step_deg=st.floats(-20, 20).filter(lambda step: abs(step) > 0.5),
    first_deg=st.sampled_from([0.0, -180.0]),
)
def test_revolutions_do_not_depend_on_block_borders(cuts: list[int], step_deg: float, first_deg: float) -> None:
    angle_deg = (7.3 + step_deg * np.arange(1000)) % 360 + first_deg
    wraps = np.flatnonzero(np.abs(np.diff(angle_deg)) > 180) + 1
    assert revolution_starts(rows(angle_deg), cuts) == [0, *wraps.tolist()]


@given(cuts=st.lists(st.integers(1, 9999), max_size=5))
def test_revolution_of_stopped_scanner_is_split_by_row_count(cuts: list[int]) -> None:
    assert revolution_starts(rows(np.full(10_000, 12.0)), cuts) == [0, MAX_ROWS, 2 * MAX_ROWS]


@given(cuts=st.lists(st.integers(1, 99), max_size=5))
def test_revolution_ends_at_pause_and_at_backward_time(cuts: list[int]) -> None:
    stamp_ms = np.arange(100.0)
    stamp_ms[30:] += 501
    stamp_ms[60:] -= 700
    assert revolution_starts(rows(np.linspace(10, 20, 100), stamp_ms=stamp_ms), cuts) == [0, 30, 60]


def test_unwrapped_angle_ends_revolutions_at_full_turns() -> None:
    assert revolution_starts(rows(np.arange(0.5, 1000)), []) == [0, 360, 720]


def test_rows_of_unusual_length_belong_to_no_revolution() -> None:
    defects: list[Defect] = []
    finder = RevolutionFinder(SCANNER, "table", defects.append)
    count = np.full(10, 512.0)
    count[[2, 7]] = 511, 513
    block = rows(np.arange(10.0), count=count)
    finder.add(block)
    assert finder.usual_count == 512
    assert finder.usual(block).tolist() == [number not in (2, 7) for number in range(10)]
    assert [(defect.row, defect.kind) for defect in defects] == [(3, "short_row"), (8, "long_row")]


@pytest.mark.parametrize("turn", [0.0, -1.0, math.nan])
def test_revolution_size_must_be_positive(turn: float) -> None:
    with pytest.raises(ValueError, match="turn: expected a number above 0"):
        RotatingScanner(column="bearing", turn=turn)
