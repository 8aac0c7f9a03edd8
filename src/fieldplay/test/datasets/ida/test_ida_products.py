from pathlib import Path

import pytest

from fieldplay.core.errors import Defect
from fieldplay.datasets.ida.ida_products import DistinctTables, LruCache
from fieldplay.io.containers import ListedFiles
from fieldplay.io.table import Table
from fieldplay.io.table_format import TableSpec

SPEC = TableSpec(layouts=[("time", "x")], repeated_times=True)
ALL = (0, 2**62)


def tables(folder: Path, *rows: list[tuple[float, float]]) -> tuple[DistinctTables, list[Defect]]:
    names = []
    for number, of_file in enumerate(rows):
        names.append(f"{number}.csv")
        (folder / names[-1]).write_text("".join(f"{time},{x}\n" for time, x in of_file))
    files, defects = ListedFiles(folder, names), []
    tables_ = [Table(files, name, SPEC, defects.append, plausible_ns=ALL, is_one_of_many=True) for name in names]
    return DistinctTables(tables_), defects


def test_first_table_wins_for_rows_of_same_time(tmp_path: Path) -> None:
    distinct, defects = tables(
        tmp_path, [(1, 10), (2, 20)], [(1, 11), (1.5, 15), (1.5, 15)], [(0, 5), (1.5, 17), (3, 30)]
    )
    rows = [distinct.rows(index) for index in range(3)]
    assert [part["x"].tolist() for part in rows] == [[10, 20], [15], [5, 30]]
    assert [len(distinct.all_rows(index)) for index in range(3)] == [2, 3, 3]
    assert distinct.contradict(1, 0).tolist() == [True, False, False]
    assert defects == []


def test_rows_of_same_time_in_table_are_equal_only_with_same_numbers(tmp_path: Path) -> None:
    distinct, _ = tables(
        tmp_path, [(1, 10), (1, 11), (1, 10), (2, 20)], [(1, 11), (1, 12), (2, 20), (2, -0.0), (2, 0.0)]
    )
    assert [distinct.rows(index)["x"].tolist() for index in range(2)] == [[10, 11, 20], [12, 0]]
    assert distinct.are_in(1, 0).tolist() == [True, False, True, False, False]
    assert not distinct.contradict(1, 0).any()


def test_rows_of_later_blocks_are_compared_by_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldplay.io.table.BLOCK_SIZE", 8)
    distinct, _ = tables(tmp_path, [(1, 10), (1, 11), (1, 11), (1, 12), (2, 20)])
    assert len(distinct.blocks) > 2
    assert [x for index in range(len(distinct.blocks)) for x in distinct.rows(index)["x"].tolist()] == [10, 11, 12, 20]


def test_columns_counted_per_table_are_not_compared(tmp_path: Path) -> None:
    rows = [[(1.0, 10.0)], [(1.0, 11.0)]]
    distinct, _ = tables(tmp_path, *rows)
    own = DistinctTables(distinct.tables, own=["x"])
    assert (distinct.contradict(1, 0).tolist(), own.contradict(1, 0).tolist()) == ([True], [False])


def test_only_overlapping_blocks_are_compared(tmp_path: Path) -> None:
    distinct, _ = tables(tmp_path, [(1, 1), (2, 2)], [(2, 2), (3, 3)], [(5, 5), (6, 6)])
    assert [distinct.earlier(index) for index in range(3)] == [[], [0], []]
    assert [distinct.table_of(index).name for index in range(3)] == ["0.csv", "1.csv", "2.csv"]


def test_long_pause_is_no_defect_in_one_of_many_tables(tmp_path: Path) -> None:
    rows = [(float(second), 0.0) for second in range(50)]
    tables_, defects = tables(tmp_path, [*rows, (90000.0, 0.0)])
    assert defects == [] and len(tables_.rows(0)) == 51


def test_cache_is_bounded() -> None:
    cache: LruCache[int] = LruCache(2)
    created: list[int] = []

    def make(key: int) -> int:
        created.append(key)
        return key * 10

    for key in (1, 2, 1, 3, 1, 2):
        assert cache.get(key, lambda key=key: make(key)) == key * 10
    assert created == [1, 2, 3, 2]


@pytest.mark.parametrize("failing", [True, False])
def test_failed_creation_is_retried(failing: bool) -> None:
    cache: LruCache[int] = LruCache(2)
    if failing:
        with pytest.raises(ZeroDivisionError):
            cache.get(1, lambda: 1 // 0)
    assert cache.get(1, lambda: 7) == 7
