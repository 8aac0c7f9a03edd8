from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import Defect
from fieldplay.io.containers import open_files
from fieldplay.io.file_table import FileTable
from fieldplay.io.table_rows import RowCache

COLUMNS = ("latitude", "_unused", "longitude")


def table_of(folder: Path, texts: list[str], defects: list[Defect], *, held_bytes: int = 1 << 20) -> FileTable:
    names = [f"{index:03d}.txt" for index in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text)
    files = open_files(folder, defects.append)
    stamps = np.arange(len(names), dtype=np.int64)[::-1] * 100
    return FileTable(files, names, stamps, COLUMNS, stream="oxts", report=defects.append, cache=RowCache(held_bytes))


def test_each_file_is_a_row_at_its_time(tmp_path: Path) -> None:
    defects: list[Defect] = []
    table = table_of(tmp_path, ["49.5 x8 8.25\n", "1e1,7,-2.5", "3 4\n5"], defects)
    rows = table.rows(0)
    assert not [defect for defect in defects if defect.kind != "not_a_number"]
    assert rows.stamp_ns.tolist() == [0, 100, 200]
    assert rows["latitude"].tolist() == [3.0, 10.0, 49.5]
    assert rows["longitude"].tolist() == [5.0, -2.5, 8.25]
    assert not rows.has("_unused")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1 2\n", "short_row", "expected 3 columns, got 2: '1 2'"),
        ("1 2 3 4\n", "long_row", "expected 3 columns, got 4"),
        ("", "empty_file", "expected a row of 3 numbers, got an empty file"),
        ("one 2 3\n", "not_a_number", "column latitude: expected a number, got 'one'"),
        ("1 2 nan\n", "not_finite", "column longitude: expected a number, got 'nan'"),
        ("1 " * 40_000, "long_row", "got 80000 bytes"),
    ],
)
def test_file_that_is_no_row_is_named_and_others_are_read(tmp_path: Path, text: str, kind: str, message: str) -> None:
    defects: list[Defect] = []
    table = table_of(tmp_path, ["1 2 3", text, "4 5 6"], defects)
    (defect,) = defects
    assert (defect.file, defect.row, defect.kind) == ("001.txt", 1, kind)
    assert message in defect.message
    assert table.rows(0)["latitude"].tolist() == [4.0, 1.0]
    assert table.count == 2


def test_missing_file_is_reported(tmp_path: Path) -> None:
    defects: list[Defect] = []
    (tmp_path / "a.txt").write_text("1 2 3")
    files = open_files(tmp_path, defects.append)
    (tmp_path / "a.txt").unlink()
    table = FileTable(
        files, ["a.txt"], np.zeros(1, np.int64), COLUMNS, stream="oxts", report=defects.append, cache=RowCache()
    )
    assert table.count == 0
    assert [defect.kind for defect in defects] == ["damaged_file"]


def test_rows_without_room_in_the_cache_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowCache, "add", lambda self, rows: None)
    defects: list[Defect] = []
    table = table_of(tmp_path, ["1 2 3", "bad", "4 5 6"], defects)
    assert len(defects) == 1
    assert table.rows(0)["longitude"].tolist() == [6.0, 3.0]
    assert len(defects) == 1
