"""What is kept of streams of any length: thinned rows and samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.decimation import Decimator, RowDecimator, middle_index


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_decimated_rows_are_even_and_bounded_and_include_first_and_last(sizes: list[int]) -> None:
    rows, count = RowDecimator(1, limit=8), 0
    for size in sizes:
        values = np.arange(count, count + size)
        rows.add(values.astype(np.int64), values[:, None].astype(float))
        count += size
    stamp_ns, values = rows.rows()
    assert values[:, 0].tolist() == stamp_ns.tolist()
    assert (stamp_ns[0], stamp_ns[-1]) == (0, count - 1)
    assert min(count, 8) <= len(stamp_ns) <= 17
    assert len(set(np.diff(stamp_ns[:-1]).tolist())) <= 1


def test_decimator_creates_only_kept_items_and_the_last() -> None:
    created: list[int] = []

    def make(number: int) -> int:
        created.append(number)
        return number

    samples: Decimator[int] = Decimator(4)
    for number in range(1001):
        samples.offer(lambda number=number: make(number))
    assert samples.items() == [*range(0, 1000, 128), 1000]
    assert len(created) < 40
    assert samples.seen == 1001


def test_item_that_is_none_is_left_out() -> None:
    samples: Decimator[int] = Decimator(4)
    for number in (None, 1, None):
        samples.offer(lambda number=number: number)
    assert samples.items() == [1]


@pytest.mark.parametrize(("stamps", "index"), [([7], 0), ([0, 10], 0), ([0, 1, 2, 100], 2), ([0, 25, 51, 60], 1)])
def test_middle_is_nearest_in_time(stamps: list[int], index: int) -> None:
    assert middle_index(stamps) == index


def test_expected_count_changes_nothing_but_what_is_made() -> None:
    for count in (1, 9, 10, 11, 300):
        created: dict[bool, list[int]] = {False: [], True: []}
        remaining = []
        for is_known, log in created.items():
            decimator: Decimator[int] = Decimator(5, expected=count if is_known else 0)
            for number in range(count):
                decimator.offer(lambda number=number, log=log: log.append(number) or number)  # type: ignore[func-returns-value, misc]
            remaining.append(decimator.items())
        assert remaining[0] == remaining[1] and len(created[True]) <= min(len(created[False]), 11)
