import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.io import spill_file, table
from fieldplay.io.containers import open_files
from fieldplay.io.table import Table
from fieldplay.io.table_format import TableSpec
from fieldplay.io.table_rows import RowCache, TimedRows

SPEC = TableSpec(layouts=[["time", "x"]])
START = 1656931512


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BLOCK_SIZE", 1000)


class TableOpener:
    """Opens tables in a folder of the test."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.path = folder / "archive"
        self._stack = stack

    def write(self, text: str, *, zipped: bool = False) -> None:
        if zipped:
            with zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a.csv", text)
        else:
            self.path.mkdir()
            (self.path / "a.csv").write_text(text)

    def write_again(self, text: str) -> None:
        self.path.mkdir(exist_ok=True)
        (self.path / "a.csv").write_text(text)

    def table(
        self, text: str | None = None, *, zipped: bool = False, cache: RowCache | None = None
    ) -> tuple[Table, list[Defect]]:
        if text is not None:
            self.write(text, zipped=zipped)
        defects: list[Defect] = []
        files = self._stack.enter_context(open_files(self.path, defects.append))
        plausible = (946684800 * 10**9, 4102444800 * 10**9)
        table = Table(files, "a.csv", SPEC, defects.append, plausible_ns=plausible, cache=cache)
        return table, defects


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[TableOpener]:
    with ExitStack() as stack:
        yield TableOpener(tmp_path, stack)


def text_of(times: list[float]) -> str:
    return "".join(f"{START + time:.3f},{index}\n" for index, time in enumerate(times))


@pytest.mark.parametrize("zipped", [False, True])
def test_blocks_together_are_the_complete_table(opener: TableOpener, zipped: bool) -> None:
    table, defects = opener.table("time,x\n" + text_of([i / 100 for i in range(500)]), zipped=zipped)
    assert table.count == 500
    assert len(table.blocks) > 5
    indices = list(range(len(table.blocks)))
    parts = {index: table.rows(index) for index in reversed(indices)}
    assert np.concatenate([parts[index].values[:, 0] for index in indices]).tolist() == list(range(500))
    assert np.concatenate([parts[index].line for index in indices]).tolist() == list(range(2, 502))
    assert np.concatenate([parts[index].stamp_ns for index in indices]).tolist() == [
        START * 10**9 + i * 10**7 for i in range(500)
    ]
    assert defects == []


def test_rows_between_two_times_are_found_across_blocks(opener: TableOpener) -> None:
    table, _ = opener.table(text_of([i / 100 for i in range(500)]))
    rows = table.rows_between(START * 10**9 + 1_000000000, START * 10**9 + 3_005000000)
    assert rows.values[:, 0].tolist() == list(range(100, 301))
    assert len(table.rows_between(0, 5)) == 0


def test_backward_and_repeated_times_are_reported_and_rows_sorted(opener: TableOpener) -> None:
    table, defects = opener.table(text_of([0, 1, 0.5, 2, 2, 3]))
    assert table.rows(0).values[:, 0].tolist() == [0, 2, 1, 3, 4, 5]
    assert [(defect.kind, defect.row) for defect in defects] == [("backward_time", 3), ("duplicate_time", 5)]
    assert "runs back by 0.500000000 s" in str(defects[0])


def test_backward_time_at_block_boundary_is_reported(opener: TableOpener) -> None:
    table, defects = opener.table(text_of([*range(300), *range(100)]))
    assert [(defect.kind, defect.row) for defect in defects] == [("backward_time", 301)]
    assert table.count == 400


def test_impossible_times_are_left_out_and_reported(opener: TableOpener) -> None:
    table, defects = opener.table(f"0,7\n{START},8\n9000000000,9\n")
    assert table.rows(0).values.tolist() == [[8]]
    assert [(defect.kind, defect.row) for defect in defects] == [("implausible_time", 1), ("implausible_time", 3)]


def test_bad_lines_are_reported_with_file_line(opener: TableOpener) -> None:
    lines = text_of([float(i) for i in range(200)]).splitlines()
    lines[150] = "oops"
    table, defects = opener.table("# comment\ntime,x\n" + "\n".join(lines))
    assert table.count == 199
    assert [str(defect) for defect in defects] == ["a.csv:153: expected 2 columns, got 1: 'oops'"]


def test_truncated_zip_gives_rows_before_its_end(opener: TableOpener) -> None:
    opener.write(text_of([i / 7 for i in range(50_000)]), zipped=True)
    content = bytearray(opener.path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2000] = b"\xff" * 2000
    opener.path.write_bytes(content)
    table, defects = opener.table()
    assert 10_000 < table.count < 50_000
    assert "damaged_file" in {defect.kind for defect in defects}
    assert all(len(table.rows(index)) == block.count for index, block in enumerate(table.blocks))


def test_table_of_unknown_layout_is_refused(opener: TableOpener) -> None:
    with pytest.raises(ArchiveError, match="expected 2 columns, got 3"):
        opener.table("1,2,3\n")


def test_allowed_repeated_times_are_counted_but_no_defect(opener: TableOpener) -> None:
    opener.write(text_of([index // 4 for index in range(400)]))
    defects: list[Defect] = []
    with open_files(opener.path, defects.append) as files:
        spec = TableSpec(layouts=[["time", "x"]], repeated_times=True)
        table = Table(files, "a.csv", spec, defects.append, plausible_ns=(0, 2**62))
    assert (table.count, table.repeated, defects) == (400, 300, [])
    assert opener.table()[0].repeated == 0


@pytest.mark.parametrize(
    ("rows", "last", "is_cut"),
    [
        ("1.25 -2.50 3.75", "-4.00", False),
        ("1.25 -2.50 3.75", "-4.0", True),
        ("1.25 -2.50 3.75", "-4", True),
        ("1.25 -2.5 3", "-4", False),
        ("12034 -12050", "-1206", True),
        ("12034 -12050", "12060", False),
        ("9.8e-01 1.1e+00", "9.8e-0", True),
        ("", "4", False),
    ],
)
@pytest.mark.parametrize("many", [1, 300])
def test_possibly_cut_last_number_loses_row_and_complete_one_does_not(
    opener: TableOpener, rows: str, last: str, *, is_cut: bool, many: int
) -> None:
    before = rows.split() * many
    text = "".join(f"{START + row},{number}\n" for row, number in enumerate(before))
    table, defects = opener.table(f"{text}{START + len(before)},{last}")
    assert table.count == len(before) + (not is_cut)
    assert sum(len(table.rows(index)) for index in range(len(table.blocks))) == table.count
    assert [(defect.kind, defect.row) for defect in defects] == [("cut_off_line", len(before) + 1)] * is_cut


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_last_line_with_line_end_is_complete(opener: TableOpener, end: str) -> None:
    table, defects = opener.table(f"{START},1.25\n{START + 1},4{end}")
    assert (table.count, defects) == (2, [])


def test_expectation_for_cut_line_is_reported(opener: TableOpener) -> None:
    _, defects = opener.table(text_of([0, 1]).replace(",", ",-425.961") + f"{START + 2},-4")
    expected = "expected 4 decimals or more, as in the rows before, got '-4'; the file ends here, without a line end"
    assert [str(defect) for defect in defects] == [f"a.csv:3: column x: {expected}"]


def rows_of(table: Table) -> list[TimedRows]:
    return [table.rows(index) for index in range(len(table.blocks))]


def test_rows_are_parsed_once_and_kept(opener: TableOpener) -> None:
    table, _ = opener.table(text_of([1, 2]))
    opener.write_again(text_of([7, 8]))
    assert table.rows(0)["x"].tolist() == [0, 1]


@pytest.mark.parametrize("numbers", ["1,-0,16777216", "1e300,0.1,3", "inf,1,2"])
def test_rows_spilled_to_file_are_read_back_unchanged(opener: TableOpener, numbers: str) -> None:
    values = numbers.split(",") * 400
    text = "".join(f"{START + row}.125,{value}\n" for row, value in enumerate(values))
    held, defects = opener.table(text)
    cache = RowCache(max_held=2000)
    table, _ = opener.table(cache=cache)
    for rows, requested in zip(rows_of(table), rows_of(held), strict=True):
        assert rows.dialect == requested.dialect
        for name in ("stamp_ns", "clock_ns", "values", "line", "lists"):
            column, expected = getattr(rows, name), getattr(requested, name)
            assert (column.dtype, column.shape, column.tobytes()) == (
                expected.dtype,
                expected.shape,
                expected.tobytes(),
            )
    assert "inf" in numbers or defects == []


def test_spill_file_is_unnamed_and_stores_float32_where_exact(
    opener: TableOpener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(spill_file, "spill_folder", lambda: str(folder))
    sizes = []
    for number in ("1.5", "0.1"):
        opener.write_again("".join(f"{START + row},{number}\n" for row in range(1000)))
        cache = RowCache(max_held=0)
        opener.table(cache=cache)
        sizes.append(cache.file.size)
    assert list(folder.iterdir()) == []
    assert sizes == [1000 * (8 + 8 + 4), 1000 * (8 + 8 + 8)]


def test_rows_without_room_are_parsed_again(opener: TableOpener, monkeypatch: pytest.MonkeyPatch) -> None:
    held, _ = opener.table(text_of([*range(200), 150, *range(200, 300)]))
    for case in ("no room", "no folder"):
        cache = RowCache(max_held=1000)
        if case == "no room":
            cache.file = spill_file.SpillFile(fraction=0)
        else:
            monkeypatch.setattr(spill_file, "spill_folder", lambda: "/nowhere")
        table, _ = opener.table(cache=cache)
        for rows, requested in zip(rows_of(table), rows_of(held), strict=True):
            assert rows["x"].tolist() == requested["x"].tolist()
            assert rows.line.tolist() == requested.line.tolist()
    opener.write_again(text_of([0, 1]))
    assert table.rows(0)["x"].tolist() != table.rows(len(table.blocks) - 1)["x"].tolist()


def test_issues_are_reported_in_line_order(opener: TableOpener) -> None:
    lines = text_of([float(i) for i in range(200)]).splitlines()
    lines[3], lines[120], lines[-1] = "oops", "x,1", f"{START + 200},"
    _, defects = opener.table("\n".join(lines))
    assert [(defect.row, defect.kind) for defect in defects] == [
        (4, "short_row"),
        (121, "not_a_number"),
        (200, "cut_off_line"),
    ]
