from pathlib import Path

import pytest

from fieldplay.core.errors import Defect
from fieldplay.datasets.ida.products import DistinctTables, LatestThings
from fieldplay.io.containers import ListedFiles
from fieldplay.io.table import Table
from fieldplay.io.table_format import TableSpec

SPEC = TableSpec(layouts=[("time", "x")], repeated_times=True)
ALL = (0, 2**62)


def tables(folder: Path, *rows: list[tuple[float, float]]) -> tuple[DistinctTables, list[Defect]]:
    names = []
    for place, of_file in enumerate(rows):
        names.append(f"{place}.csv")
        (folder / names[-1]).write_text("".join(f"{time},{x}\n" for time, x in of_file))
    files, defects = ListedFiles(folder, names), []
    found = [Table(files, name, SPEC, defects.append, plausible_ns=ALL, is_one_of_many=True) for name in names]
    return DistinctTables(found), defects


def test_of_rows_at_one_time_the_first_in_the_order_of_the_tables_counts(tmp_path: Path) -> None:
    found, defects = tables(tmp_path, [(1, 10), (2, 20)], [(1, 11), (1.5, 15), (1.5, 15)], [(0, 5), (1.5, 17), (3, 30)])
    rows = [found.rows(index) for index in range(3)]
    assert [part["x"].tolist() for part in rows] == [[10, 20], [15], [5, 30]]
    assert [len(found.all_rows(index)) for index in range(3)] == [2, 3, 3]
    assert found.contradict(1, 0).tolist() == [True, False, False]
    assert defects == []


def test_rows_of_one_table_at_one_time_are_the_same_only_if_their_numbers_are(tmp_path: Path) -> None:
    found, _ = tables(tmp_path, [(1, 10), (1, 11), (1, 10), (2, 20)], [(1, 11), (1, 12), (2, 20), (2, -0.0), (2, 0.0)])
    assert [found.rows(index)["x"].tolist() for index in range(2)] == [[10, 11, 20], [12, 0]]
    assert found.are_in(1, 0).tolist() == [True, False, True, False, False]
    assert not found.contradict(1, 0).any()


def test_rows_of_later_blocks_of_a_table_are_compared_by_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldplay.io.table.BLOCK_SIZE", 8)
    found, _ = tables(tmp_path, [(1, 10), (1, 11), (1, 11), (1, 12), (2, 20)])
    assert len(found.blocks) > 2
    assert [x for index in range(len(found.blocks)) for x in found.rows(index)["x"].tolist()] == [10, 11, 12, 20]


def test_columns_that_each_table_counts_for_itself_are_not_compared(tmp_path: Path) -> None:
    rows = [[(1.0, 10.0)], [(1.0, 11.0)]]
    found, _ = tables(tmp_path, *rows)
    own = DistinctTables(found.tables, own=["x"])
    assert (found.contradict(1, 0).tolist(), own.contradict(1, 0).tolist()) == ([True], [False])


def test_only_blocks_that_share_a_stretch_of_time_are_compared(tmp_path: Path) -> None:
    found, _ = tables(tmp_path, [(1, 1), (2, 2)], [(2, 2), (3, 3)], [(5, 5), (6, 6)])
    assert [found.earlier(index) for index in range(3)] == [[], [0], []]
    assert [found.table_of(index).name for index in range(3)] == ["0.csv", "1.csv", "2.csv"]


def test_a_long_pause_is_no_defect_of_one_of_many(tmp_path: Path) -> None:
    rows = [(float(second), 0.0) for second in range(50)]
    found, defects = tables(tmp_path, [*rows, (90000.0, 0.0)])
    assert defects == [] and len(found.rows(0)) == 51


def test_only_so_many_things_are_kept() -> None:
    kept: LatestThings[int] = LatestThings(2)
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return key * 10

    for key in (1, 2, 1, 3, 1, 2):
        assert kept.get(key, lambda key=key: make(key)) == key * 10
    assert made == [1, 2, 3, 2]


@pytest.mark.parametrize("failing", [True, False])
def test_what_could_not_be_made_is_tried_again(failing: bool) -> None:
    kept: LatestThings[int] = LatestThings(2)
    if failing:
        with pytest.raises(ZeroDivisionError):
            kept.get(1, lambda: 1 // 0)
    assert kept.get(1, lambda: 7) == 7
