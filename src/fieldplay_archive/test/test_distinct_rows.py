from pathlib import Path

import numpy as np
import pytest

from fieldplay_archive.distinct_rows import DistinctTables, Kept, OneOfMany
from fieldplay_archive.errors import Defect
from fieldplay_archive.files import ListedFiles
from fieldplay_archive.table_format import TableSpec

SPEC = TableSpec(layouts=[("time", "x")], repeated_times=True)
ALL = (0, 2**62)


def tables(folder: Path, *rows: list[tuple[float, float]]) -> tuple[DistinctTables, list[Defect]]:
    names = []
    for place, of_file in enumerate(rows):
        names.append(f"{place}.csv")
        (folder / names[-1]).write_text("".join(f"{time},{x}\n" for time, x in of_file))
    files, defects = ListedFiles(folder, names), []
    return DistinctTables([OneOfMany(files, name, SPEC, defects.append, plausible_ns=ALL) for name in names]), defects


def test_of_rows_at_one_time_the_first_in_the_order_of_the_tables_counts(tmp_path: Path) -> None:
    found, defects = tables(tmp_path, [(1, 10), (2, 20)], [(1, 11), (1.5, 15), (1.5, 16)], [(0, 5), (1.5, 17), (3, 30)])
    rows = [found.rows(index) for index in range(3)]
    assert [part["x"].tolist() for part in rows] == [[10, 20], [15], [5, 30]]
    assert [len(found.all_rows(index)) for index in range(3)] == [2, 3, 3]
    assert defects == []


def test_only_blocks_that_share_a_stretch_of_time_are_compared(tmp_path: Path) -> None:
    found, _ = tables(tmp_path, [(1, 1), (2, 2)], [(2, 2), (3, 3)], [(5, 5), (6, 6)])
    assert [found.earlier(index) for index in range(3)] == [[], [0], []]
    assert [found.table_of(index).name for index in range(3)] == ["0.csv", "1.csv", "2.csv"]


def test_a_long_pause_is_no_defect_of_one_of_many(tmp_path: Path) -> None:
    rows = [(float(second), 0.0) for second in range(50)]
    found, defects = tables(tmp_path, [*rows, (90000.0, 0.0)])
    assert defects == [] and len(found.rows(0)) == 51


def test_rows_are_read_from_the_file_again_when_they_are_wanted(tmp_path: Path) -> None:
    found, _ = tables(tmp_path, [(1, 1), (2, 2)])
    table = found.table_of(0)
    np.testing.assert_array_equal(table.rows(0)["x"], [1, 2])
    (tmp_path / "0.csv").write_text("1,3\n2,4\n")
    np.testing.assert_array_equal(table.rows(0)["x"], [3, 4])


def test_only_so_many_things_are_kept() -> None:
    kept: Kept[int] = Kept(2)
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return key * 10

    for key in (1, 2, 1, 3, 1, 2):
        assert kept.get(key, lambda key=key: make(key)) == key * 10
    assert made == [1, 2, 3, 2]


@pytest.mark.parametrize("failing", [True, False])
def test_what_could_not_be_made_is_tried_again(failing: bool) -> None:
    kept: Kept[int] = Kept(2)
    if failing:
        with pytest.raises(ZeroDivisionError):
            kept.get(1, lambda: 1 // 0)
    assert kept.get(1, lambda: 7) == 7
