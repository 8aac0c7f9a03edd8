import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import GapFinder

S = 10**9


def steps(*seconds: float) -> NDArray[np.int64]:
    return np.cumsum([round(step * S) for step in seconds])


def test_gap_is_longer_than_ten_usual_steps_and_half_a_second() -> None:
    assert GapFinder().gaps(steps(0, *[0.1] * 20, 1.01, *[0.1] * 20)) == [(21, 1_010_000_000)]
    assert GapFinder().gaps(steps(0, *[0.1] * 20, 0.99, *[0.1] * 20)) == []
    assert GapFinder().gaps(steps(0, *[0.01] * 20, 0.45, *[0.01] * 20)) == []


def test_gaps_within_and_between_parts_equal_those_of_all_rows_at_once() -> None:
    stamps = steps(0, *[0.1] * 50, 3, *[0.1] * 50, 5, 0.1)
    for size in (1, 2, 51, 60, 200):
        finder = GapFinder()
        parts = [(start, finder.gaps(stamps[start : start + size])) for start in range(0, len(stamps), size)]
        if size >= 51:
            assert [(start + row, gap) for start, gaps in parts for row, gap in gaps] == [(51, 3 * S), (102, 5 * S)]
    assert finder.gaps(np.zeros(0, np.int64)) == []


def test_short_last_part_uses_usual_step_of_previous_parts() -> None:
    finder = GapFinder()
    assert finder.gaps(steps(0, *[0.1] * 30)) == []
    assert finder.gaps(3 * S + steps(0.1, 2)) == [(1, 2 * S)]


def test_backward_times_are_no_gaps_and_do_not_change_usual_step() -> None:
    assert GapFinder().gaps(steps(5, -4, 1, 1, 1)) == []
    assert GapFinder().gaps(steps(0)) == []
