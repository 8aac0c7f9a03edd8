"""Lines of a time, a type and numbers, in all forms that they may have, and every fault of one."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.io.containers import FolderFiles
from fieldplay.io.table import Table
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TaggedLines, TaggedSpec, fields_from_block, rows_from_lines, texts_from_lines

ANGLES = ("start", "step", "end")
SCAN = TaggedLines(types={"RANGE_DATA": (*ANGLES, "unit", "n")}, values="n", angles=ANGLES)
STATE = TaggedLines(types={"STATE": ("a", "_b", "c")}, values=2)
SPECTRUM = TaggedLines(types={"": ("angle",)}, values="any")
SEVERAL = TaggedLines(types={"SENSOR": ("id", "value"), "BRAKE": ("left", "right", "value")})
FIELDS = ["1224050945.437123456", "RANGE_DATA", "-1.5", "0.5", "0", "2", "4", "100", "2e2", "+300.25", ".5"]
NUMBERS, RANGES = [-1.5, 0.5, 0, 2, 4, 4], [100, 200, 300.25, 0.5]


def line(*fields: str, star: str = "*", between: str = " ", end: str = "\n") -> bytes:
    return (star + between.join(fields) + end).encode()


def scan(count: int, *ranges: float, stamp: str = "1224050945.5", end: float | None = None) -> bytes:
    last = -1.5 + 0.5 * (len(ranges) - 1) if end is None else end
    return line(stamp, "RANGE_DATA", "-1.5", "0.5", str(last), "2", str(count), *map(str, ranges))


def line_issues(rows: TimedRows) -> list[tuple[int, str]]:
    return [(bad.line, bad.kind) for bad in rows.bad]


FORMS = list(
    product(
        ["*", "* ", "*\t", " * ", "", "  "], [" ", "\t", ",", ", ", " , ", "   ", "\t\t "], ["\n", "\r\n", " \n", ",\n"]
    )
)


@pytest.mark.parametrize(("star", "between", "end"), FORMS)
def test_stars_separators_and_line_ends_make_no_difference(star: str, between: str, end: str) -> None:
    for fields in (FIELDS, [FIELDS[0], *FIELDS[2:]]):  # with its type, and as Matlab has it
        rows = rows_from_lines(line(*fields, star=star, between=between, end=end) * 2, SCAN)
        assert (rows.stamp_ns.tolist(), rows.line.tolist(), rows.bad) == ([1224050945_437123456] * 2, [0, 1], ())
        assert rows.values.tolist() == [NUMBERS] * 2
        assert rows.lists is not None and rows.lists.tolist() == [RANGES] * 2


def test_separators_may_be_mixed_and_last_line_needs_no_end() -> None:
    rows = rows_from_lines(b"*1.25\tRANGE_DATA, -1.5 0.5,0\t2 ,2 7,\t8\n\n \n1.5 -1.5,0.5 0 2 2 9\t9", SCAN)
    assert (rows.stamp_ns.tolist(), rows.line.tolist(), line_issues(rows)) == (
        [1_250_000_000, 1_500_000_000],
        [0, 3],
        [(0, "wrong_angle"), (3, "wrong_angle")],
    )
    assert rows.lists is not None and rows.lists.tolist() == [[7, 8], [9, 9]]


def test_lists_of_any_length_are_padded() -> None:
    lengths = [180, 181, 101, 401, 721, 1]
    block = b"".join(scan(length, *range(length)) for length in lengths)
    rows = rows_from_lines(block, SCAN)
    assert rows.bad == () and rows.lists is not None
    assert rows.values[:, SCAN.dialect.numbers.index("count")].tolist() == lengths
    for own, length in zip(rows.lists, lengths, strict=True):
        assert own[:length].tolist() == list(range(length))
        assert np.isnan(own[length:]).all() and len(own) == 721


def test_numbers_equal_those_of_python_and_times_are_exact() -> None:
    rng = np.random.default_rng(5)
    values = [
        *rng.normal(0, 1e6, 300).tolist(),
        *rng.uniform(0, 1, 300).tolist(),
        1e-300,
        1.7976931348623157e308,
        0.1,
        1 / 3,
    ]
    stamps = [f"1224050945.{nano:09d}" for nano in rng.integers(0, 10**9, len(values))]
    block = b"".join(
        line(stamp, "STATE", repr(value), "x", "1", "2", "3") for stamp, value in zip(stamps, values, strict=True)
    )
    rows = rows_from_lines(block, STATE)
    assert rows.values[:, 0].tolist() == [float(value) for value in values]
    assert rows.stamp_ns.tolist() == [int(stamp.replace(".", "")) for stamp in stamps]


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ([*FIELDS[:-1]], "short_row", "expected 4 values, as n says, got 3: '1224050945.437123456 RANGE_DATA"),
        ([*FIELDS, "7"], "long_row", "expected 4 values, as n says, got 5"),
        ([*FIELDS[:6], "0"], "short_row", "expected at least 1 value, got 0"),
        ([*FIELDS[:6], "4.5", *FIELDS[7:]], "short_row", "expected 4.5 values, as n says, got 4"),
        (FIELDS[:4], "short_row", "expected 5 numbers, got 2"),
        (FIELDS[:2], "short_row", "expected 5 numbers, got 0"),
        (FIELDS[:1], "short_row", "expected 5 numbers, got 0"),
        ([*FIELDS[:8], "x1", *FIELDS[9:]], "not_a_number", "value 2: expected a number, got 'x1'"),
        ([*FIELDS[:8], "nan", *FIELDS[9:]], "not_finite", "value 2: expected a number, got 'nan'"),
        ([*FIELDS[:8], "-inf", *FIELDS[9:]], "not_finite", "value 2: expected a number, got '-inf'"),
        ([*FIELDS[:3], "o.5", *FIELDS[4:]], "not_a_number", "column step: expected a number, got 'o.5'"),
        ([*FIELDS[:6], "four", *FIELDS[7:]], "not_a_number", "column n: expected a number, got 'four'"),
        ([FIELDS[0], "range_dat", *FIELDS[2:]], "wrong_type", "expected RANGE_DATA behind the time, got 'range_dat'"),
        (["now", *FIELDS[1:]], "not_a_number", "column time: expected a time in seconds, got 'now'"),
        (FIELDS[1:], "not_a_number", "column time: expected a time in seconds, got 'RANGE_DATA'"),
        (["1224050945.4.3", *FIELDS[1:]], "not_a_number", "expected a time in seconds, got '1224050945.4.3'"),
        (["\x00\xff\xfe"], "not_a_number", "column time: expected a time in seconds"),
    ],
)  # fmt: skip
def test_invalid_line_is_reported_with_number_and_rest_is_read(fields: list[str], kind: str, message: str) -> None:
    block = line(*FIELDS) + line(*fields) + line(*FIELDS)
    rows = rows_from_lines(block, SCAN)
    assert line_issues(rows) == [(1, kind)]
    assert message in rows.bad[0].message
    assert rows.line.tolist() == [0, 2] and rows.values.tolist() == [NUMBERS] * 2


def test_empty_field_between_commas_shifts_no_columns() -> None:
    rows = rows_from_lines(b"*1,5,10,20\n*2,5,10,,20\n*3,5,30,40\n", SPECTRUM)
    assert (rows.line.tolist(), line_issues(rows)) == ([0, 2], [(1, "not_a_number")])
    assert rows.bad[0].message == "value 2: expected a number, got nothing"
    assert rows.lists is not None and rows.lists.tolist() == [[10, 20], [30, 40]]


def test_two_merged_lines_are_one_issue() -> None:
    block = scan(2, 7, 8) + scan(2, 7, 8).rstrip(b"\n") + scan(2, 7, 8) + scan(2, 5, 6)
    rows = rows_from_lines(block, SCAN)
    assert rows.line.tolist() == [0, 2] and line_issues(rows) == [(1, "not_a_number")]


def test_inconsistent_end_angle_is_reported_and_line_kept() -> None:
    rows = rows_from_lines(scan(3, 1, 2, 3) + scan(3, 1, 2, 3, end=0.0) + scan(3, 1, 2, 3, end=-0.3), SCAN)
    assert len(rows.stamp_ns) == 3 and line_issues(rows) == [(1, "wrong_angle")]
    assert rows.bad[0].message == (
        "column end: expected -0.500000, where the first and the steps lead, got 0.000000; the row is kept"
    )


def test_several_types_have_their_own_columns() -> None:
    block = b"*1 SENSOR 4 2.5\n*1 BRAKE 0.1 0.2 3\n*2 OTHER 1 2\n*2 4 2.5\n*2 SENSOR 4 2.5 1\n"
    rows = rows_from_lines(block, SEVERAL)
    assert SEVERAL.dialect.numbers == ("type", "id", "value", "left", "right")
    np.testing.assert_array_equal(rows.values, [[0, 4, 2.5, math.nan, math.nan], [1, math.nan, 3, 0.1, 0.2]])
    assert line_issues(rows) == [(2, "wrong_type"), (3, "wrong_type"), (4, "long_row")]
    assert rows.bad[0].message == "expected SENSOR or BRAKE behind the time, got 'OTHER'"
    assert rows.lists.shape == (2, 0)


def test_ignored_columns_may_hold_anything() -> None:
    rows = rows_from_lines(b"*1 STATE 1 nan 3 4 5\n*2 STATE 1 -- 3 4 5\n*3 STATE x 2 3 4 5\n*4 STATE 1 2 3 4\n", STATE)
    assert (rows.line.tolist(), line_issues(rows)) == ([0, 1], [(2, "not_a_number"), (3, "short_row")])
    assert rows.values.tolist() == [[1, 3, 2]] * 2  # a, c, and how many values follow


def test_log_without_type_accepts_lines_with_any_word() -> None:
    rows = rows_from_lines(b"*1 45.5 1 2 3\n*2 HSR_DATA -45.5 4 5\n*3 45.5\n*4 nan 4 5\n", SPECTRUM)
    assert rows.values.tolist() == [[45.5, 3], [-45.5, 2]]
    assert line_issues(rows) == [(2, "short_row"), (3, "not_finite")]


@pytest.mark.parametrize("block", [b"", b"\n", b"\r\n \n\t\n", b","])
def test_empty_block_gives_no_rows(block: bytes) -> None:
    rows = rows_from_lines(block, SCAN)
    assert rows.values.shape == (0, 6) and rows.lists is not None and rows.lists.shape == (0, 0)
    assert rows.bad == ()


def test_random_bytes_are_parsed_without_error() -> None:
    rng = np.random.default_rng(3)
    characters = np.frombuffer(b"*0123456789.-e ,\t\r\n\x00\xffRANGE_DATA", np.uint8)
    for _ in range(200):
        block = rng.choice(characters, rng.integers(1, 400)).tobytes()
        for marked in (SCAN, STATE, SPECTRUM, SEVERAL):
            rows = rows_from_lines(block, marked)
            assert np.isfinite(rows.values[:, 0]).all()
        fields = fields_from_block(block)
        assert int(fields.count.sum()) <= len(fields.value)


def test_head_without_tagged_lines_is_refused_and_comments_are_skipped() -> None:
    spec = TaggedSpec(tagged=SCAN)
    for head in (b"", b"time,x\n1,2\n", b"*1224.5 NAV_DATA 1 2 3\n", b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(ArchiveError, match="expected lines of a time, RANGE_DATA and numbers, got none"):
            spec.format_from_head(head)
    table_format = spec.format_from_head(b"\xef\xbb\xbf# laser\n% more\n" + scan(1, 5))
    assert (table_format.first_byte, table_format.first_line) == (3 + 8 + 7, 3)


def test_contradictory_descriptions_are_refused() -> None:
    wrong: dict[str, Any]
    for wrong in ({"types": {"A": ("x",)}, "values": "n"}, {"types": {"A": ("x",), "": ("y",)}}, {"types": {}},
                  {"types": {"A": ("x",)}, "angles": ("x",)}):  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            TaggedLines(**wrong)


def test_table_blocks_may_have_lists_of_any_width(tmp_path: Path) -> None:
    lines = [
        scan(181 if k % 4 == 0 else 180, *range(181 if k % 4 == 0 else 180), stamp=f"{1000 + k}.25")
        for k in range(3000)
    ]
    lines[1500] = lines[1500][:-20] + b"\n"
    lines[1600] = b""
    (tmp_path / "log.txt").write_bytes(b"".join(lines))
    defects: list[Defect] = []
    table = Table(
        FolderFiles(tmp_path, defects.append),
        "log.txt",
        TaggedSpec(tagged=SCAN),
        defects.append,
        plausible_ns=(0, 2**62),
    )
    assert len(table.blocks) > 2
    assert [(defect.row, defect.kind) for defect in defects] == [(1501, "short_row")]
    rows = table.rows_between(1700 * 10**9, 1800 * 10**9)
    assert len(rows) == 100 and rows.lists.shape == (100, 181)
    assert rows["count"].tolist() == [181 if k % 4 == 0 else 180 for k in range(700, 800)]
    assert table.rows(len(table.blocks) - 1).line[-1] == 2999


def test_names_after_times_are_texts() -> None:
    block = (
        b"*1.5 VISION_FRAME Image1-05.bmp\n2.5\tImage2.bmp\n* 3.5\n\n*4.5 VISION_FRAME\n*5.5 VISION_FRAME a b\nx y\n"
    )
    texts_of_lines = texts_from_lines(block, "VISION_FRAME")
    assert texts_of_lines.stamp_ns.tolist() == [1_500_000_000, 2_500_000_000, 3_500_000_000]
    assert (texts_of_lines.texts, texts_of_lines.line.tolist()) == (("Image1-05.bmp", "Image2.bmp", ""), [0, 1, 2])
    assert [(bad.line, bad.kind) for bad in texts_of_lines.bad] == [
        (4, "short_row"),
        (5, "long_row"),
        (6, "not_a_number"),
    ]


@pytest.mark.parametrize("stamp", ["1656931512.5" + "0" * 60 + "e5", "12240\x0050945.5", "1224050945.e999999"])
def test_text_starting_with_time_is_no_time(stamp: str) -> None:
    rows = rows_from_lines(scan(3, 1, 2, 3, stamp=stamp) + scan(3, 4, 5, 6), SCAN)
    assert (rows.line.tolist(), line_issues(rows)) == ([1], [(0, "not_a_number")])
