import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from fieldplay_archive.files.containers import open_files
from fieldplay_archive.tables import table as tables
from fieldplay_archive.tables.table import Table
from fieldplay_archive.tables.table_format import TableSpec
from fieldplay_messages.errors import ArchiveError, Defect

SPEC = TableSpec(layouts=[["time", "x"]])
START = 1656931512


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK_SIZE", 1000)


class Opened:
    """Opens tables in a folder of the test and closes them at its end."""

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

    def table(self, text: str | None = None, *, zipped: bool = False) -> tuple[Table, list[Defect]]:
        if text is not None:
            self.write(text, zipped=zipped)
        defects: list[Defect] = []
        files = self._stack.enter_context(open_files(self.path, defects.append))
        table = Table(files, "a.csv", SPEC, defects.append, plausible_ns=(946684800 * 10**9, 4102444800 * 10**9))
        self._stack.callback(table.close)
        return table, defects


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with ExitStack() as stack:
        yield Opened(tmp_path, stack)


def text_of(times: list[float]) -> str:
    return "".join(f"{START + time:.3f},{index}\n" for index, time in enumerate(times))


@pytest.mark.parametrize("zipped", [False, True])
def test_the_blocks_together_are_the_whole_table(opened: Opened, zipped: bool) -> None:
    table, defects = opened.table("time,x\n" + text_of([i / 100 for i in range(500)]), zipped=zipped)
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


def test_rows_between_two_times_are_found_across_blocks(opened: Opened) -> None:
    table, _ = opened.table(text_of([i / 100 for i in range(500)]))
    found = table.rows_between(START * 10**9 + 1_000000000, START * 10**9 + 3_005000000)
    assert found.values[:, 0].tolist() == list(range(100, 301))
    assert len(table.rows_between(0, 5)) == 0


def test_times_that_run_back_or_stand_still_are_reported_and_their_rows_kept_in_order(opened: Opened) -> None:
    table, defects = opened.table(text_of([0, 1, 0.5, 2, 2, 3]))
    assert table.rows(0).values[:, 0].tolist() == [0, 2, 1, 3, 4, 5]
    assert [(defect.kind, defect.row) for defect in defects] == [("backward_time", 3), ("duplicate_time", 5)]
    assert "runs back by 0.500000000 s" in str(defects[0])


def test_a_time_that_runs_back_at_the_border_of_two_blocks_is_reported(opened: Opened) -> None:
    table, defects = opened.table(text_of([*range(300), *range(100)]))
    assert [(defect.kind, defect.row) for defect in defects] == [("backward_time", 301)]
    assert table.count == 400


def test_impossible_times_are_left_out_and_reported(opened: Opened) -> None:
    table, defects = opened.table(f"0,7\n{START},8\n9000000000,9\n")
    assert table.rows(0).values.tolist() == [[8]]
    assert [(defect.kind, defect.row) for defect in defects] == [("implausible_time", 1), ("implausible_time", 3)]


def test_bad_lines_are_reported_with_the_line_of_the_file(opened: Opened) -> None:
    lines = text_of([float(i) for i in range(200)]).splitlines()
    lines[150] = "oops"
    table, defects = opened.table("# comment\ntime,x\n" + "\n".join(lines))
    assert table.count == 199
    assert [str(defect) for defect in defects] == ["a.csv:153: expected 2 columns, got 1: 'oops'"]


def test_a_zip_that_breaks_off_gives_the_rows_before_the_break(opened: Opened) -> None:
    opened.write(text_of([i / 7 for i in range(50_000)]), zipped=True)
    content = bytearray(opened.path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2000] = b"\xff" * 2000
    opened.path.write_bytes(content)
    table, defects = opened.table()
    assert 10_000 < table.count < 50_000
    assert "damaged_file" in {defect.kind for defect in defects}
    assert all(len(table.rows(index)) == block.count for index, block in enumerate(table.blocks))


def test_a_table_of_unknown_layout_is_refused(opened: Opened) -> None:
    with pytest.raises(ArchiveError, match="expected 2 columns, got 3"):
        opened.table("1,2,3\n")


def test_where_rows_may_share_a_time_they_are_counted_and_no_defect(opened: Opened) -> None:
    opened.write(text_of([index // 4 for index in range(400)]))
    defects: list[Defect] = []
    with open_files(opened.path, defects.append) as files:
        spec = TableSpec(layouts=[["time", "x"]], repeated_times=True)
        table = Table(files, "a.csv", spec, defects.append, plausible_ns=(0, 2**62))
        table.close()
    assert (table.count, table.repeated, defects) == (400, 300, [])
    assert opened.table()[0].repeated == 0


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
def test_a_last_number_that_may_be_cut_costs_its_row_and_a_whole_one_does_not(
    opened: Opened, rows: str, last: str, *, is_cut: bool, many: int
) -> None:
    before = rows.split() * many
    text = "".join(f"{START + row},{number}\n" for row, number in enumerate(before))
    table, defects = opened.table(f"{text}{START + len(before)},{last}")
    assert table.count == len(before) + (not is_cut)
    assert sum(len(table.rows(index)) for index in range(len(table.blocks))) == table.count
    assert [(defect.kind, defect.row) for defect in defects] == [("cut_off_line", len(before) + 1)] * is_cut


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_last_line_with_its_end_is_whole(opened: Opened, end: str) -> None:
    table, defects = opened.table(f"{START},1.25\n{START + 1},4{end}")
    assert (table.count, defects) == (2, [])


def test_what_is_expected_of_a_cut_line_is_told(opened: Opened) -> None:
    _, defects = opened.table(text_of([0, 1]).replace(",", ",-425.961") + f"{START + 2},-4")
    expected = "expected 4 decimals or more, as in the rows before, got '-4'; the file ends here, without a line end"
    assert [str(defect) for defect in defects] == [f"a.csv:3: column x: {expected}"]
