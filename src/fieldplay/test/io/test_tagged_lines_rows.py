"""Marked lines that are well written and yet cannot be right, and covariances of which a part is not there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import Defect
from fieldplay.io.containers import FolderFiles
from fieldplay.io.table import Table
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TaggedLines, TaggedSpec, rows_from_lines, texts_from_lines

ANGLES = ("start", "step", "end")
SCAN = TaggedLines(types={"SCAN": (*ANGLES, "n")}, values="n", angles=ANGLES, turn=360.0)
SENSOR = TaggedLines(types={"SENSOR": ("id", "value"), "OTHER": ("x",)}, choices={"id": (0, 1)})
NAV = TaggedLines(types={"NAV": ("a", "b", "c", "d", "e")}, values=9, covariance=3)
STATE, COVARIANCE = ["1", "2", "3", "4", "5"], ["4", "0.5", "0.6", "0.5", "5", "0.7", "0.6", "0.7", "6"]


def line_issues(rows: TimedRows) -> list[tuple[int, str]]:
    return [(bad.line, bad.kind) for bad in rows.bad]


def test_word_before_name_is_case_insensitive() -> None:
    read = texts_from_lines(b"*1.5 Vision_Frame a.bmp\n*2.5 vision_frame b.bmp\n", "VISION_FRAME")
    assert (read.texts, read.bad) == (("a.bmp", "b.bmp"), ())


def nav(*changed: list[str]) -> TimedRows:
    """A sound line, and others of these words."""
    lines = [[*STATE, *COVARIANCE], *changed]
    return rows_from_lines("".join(f"*1.5 NAV {' '.join(fields)}\n" for fields in lines).encode(), NAV)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ("-500 1 -498 3", "columns start, step: expected angles within a turn, 360, got -500 to -498"),
        ("-90 300 510 3", "got -90 to 510: in another unit?; the line is left out"),
        ("-90 0 -90 3", "column step: expected a step between 3 values, got 0; the line is left out"),
    ],
)
def test_impossible_angles_are_reported_and_line_left_out(numbers: str, text: str) -> None:
    rows = rows_from_lines(f"*1 SCAN -90 1 -88 3 7 8 9\n*2 SCAN {numbers} 7 8 9\n".encode(), SCAN)
    assert (rows.line.tolist(), line_issues(rows)) == ([0], [(1, "wrong_angle")])
    assert text in rows.bad[0].message


def test_single_value_needs_no_step_and_full_turn_is_allowed() -> None:
    rows = rows_from_lines(b"*1 SCAN -90 0 -90 1 7\n*2 SCAN 0 180 360 3 7 8 9\n", SCAN)
    assert (rows.line.tolist(), rows.bad) == ([0, 1], ())


def test_number_outside_choices_is_reported_and_line_left_out() -> None:
    rows = rows_from_lines(b"*1 SENSOR 1 5\n*2 SENSOR 6 5\n*3 sensor 0.5 5\n*4 OTHER 9\n", SENSOR)
    assert (rows.line.tolist(), line_issues(rows)) == ([0, 3], [(1, "out_of_range"), (2, "out_of_range")])
    assert rows.bad[0].message == "column id: expected one of 0, 1, got 6; the line is left out"


def test_negative_variance_is_reported_and_unknown() -> None:
    rows = nav([*STATE, *COVARIANCE[:4], "-5", *COVARIANCE[5:]])
    assert line_issues(rows) == [(1, "negative_variance")] and rows.lists is not None
    assert rows.bad[0].message.startswith(
        "covariance (2, 2): expected a variance of 0 or more, got -5; the row is kept"
    )
    assert np.isnan(rows.lists).tolist() == [[False] * 9, [index == 4 for index in range(9)]]


@pytest.mark.parametrize("cell", ["x", "nan", "inf"])
def test_bad_element_of_covariance_is_unknown_and_row_kept(cell: str) -> None:
    rows = nav([*STATE, *COVARIANCE[:3], cell, *COVARIANCE[4:]])
    assert rows.line.tolist() == [0, 1] and rows.values[1, :5].tolist() == [1, 2, 3, 4, 5]
    assert line_issues(rows) == [(1, "not_a_number" if cell == "x" else "not_finite")]
    assert (
        rows.bad[0].message
        == f"value 4: expected a number, got '{cell}'; the row is kept, its covariance is unknown there"
    )
    assert rows.lists is not None and np.isnan(rows.lists[1]).tolist() == [index == 3 for index in range(9)]
    assert line_issues(nav(["1", cell, *STATE[2:], *COVARIANCE]))[0][0] == 1
    assert nav(["1", cell, *STATE[2:], *COVARIANCE]).line.tolist() == [0]


@pytest.mark.parametrize("gone", range(14))
def test_missing_value_loses_row_only_if_columns_are_affected(gone: int) -> None:
    fields = [*STATE, *COVARIANCE]
    rows = nav([word for index, word in enumerate(fields) if index != gone])
    assert line_issues(rows) == [(1, "short_row")]
    assert rows.line.tolist() == ([0] if gone <= 5 else [0, 1])  # the first variance is not to be told from a column
    if gone > 5:
        assert rows.values[1, :5].tolist() == [1, 2, 3, 4, 5]
        assert rows.lists is not None and np.isnan(rows.lists[1]).all()


def test_line_cut_off_in_covariance_keeps_its_columns() -> None:
    assert nav([*STATE, *COVARIANCE[:2]]).line.tolist() == [0, 1]
    assert (
        nav(STATE).line.tolist() == nav(STATE[:4]).line.tolist() == nav([*STATE, *COVARIANCE, "1"]).line.tolist() == [0]
    )


def open_table(path: Path, text: bytes) -> tuple[Table, list[Defect]]:
    path.write_bytes(text)
    defects: list[Defect] = []
    files = FolderFiles(path.parent, defects.append)
    return Table(files, path.name, TaggedSpec(tagged=NAV), defects.append, plausible_ns=(0, 2**62)), defects


def test_log_without_covariances_is_read(tmp_path: Path) -> None:
    table, defects = open_table(tmp_path / "log.txt", b"".join(b"*%d.5 NAV 1 2 3 4 5\n" % k for k in range(50)))
    rows = table.rows_between(0, 2**62)
    assert len(rows) == 50 and rows.lists.shape == (50, 9) and np.isnan(rows.lists).all()
    assert defects == [] and "none of which has the 9 numbers of a covariance" in table.format.mapping


@pytest.mark.parametrize(
    ("end", "row"), [(b"", 2), (b"\n", None), (b"\r\n", None), (b"\n\n", None), (b"\n  ", None), (b" x", None)]
)
def test_last_row_without_line_end_is_reported(tmp_path: Path, end: bytes, row: int | None) -> None:
    line = " ".join(["NAV", *STATE, *COVARIANCE]).encode()
    table, _ = open_table(tmp_path / "log.txt", b"*1.5 " + line + b"\n*2.5 " + line + end)
    assert table.open_row == row


def test_contradictory_covariances_and_choices_are_refused() -> None:
    wrong: dict[str, Any]
    for wrong in ({"values": 8, "covariance": 3}, {"choices": {"y": (1.0,)}}):
        with pytest.raises(ValueError, match="expected"):
            TaggedLines(types={"A": ("x",)}, **wrong)
