import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.io.delimited import rows_from_block, rows_from_blocks, tidy_text
from fieldplay.io.table_rows import Dialect

COMMA = Dialect(columns=("time", "x", "y"), delimiter=",")


@pytest.mark.parametrize(
    "block",
    [
        b"1.5,2,3\n2.5,-4e1,.5\n",
        b"1.5,2,3\n2.5,-4e1,.5",
        b"1.5,2,3\r\n2.5,-4e1,.5\r\n",
        b"1.5, 2, 3\n2.5, -4e1, .5 \n",
        b'"1.5","2","3"\n"2.5","-4e1",".5"\n',
        b"\n1.5,2,3\n\n2.5,-4e1,.5\n\n",
    ],
)
def test_rows_in_any_notation_give_same_numbers(block: bytes) -> None:
    rows = rows_from_block(block, COMMA)
    assert rows.stamp_ns.tolist() == [1_500000000, 2_500000000]
    assert rows.values.tolist() == [[2, 3], [-40, 0.5]]
    assert rows.bad == ()


@pytest.mark.parametrize(("delimiter", "decimal_comma"), [(";", True), ("\t", True), (";", False), ("\t", False)])
def test_other_delimiters_and_the_decimal_comma_are_read(delimiter: str, decimal_comma: bool) -> None:
    text = delimiter.join(["1656931512.123456789", "2.25", "-3e-2"]) + "\n"
    text = text.replace(".", ",") if decimal_comma else text
    rows = rows_from_block(text.encode(), Dialect(("time", "x", "y"), delimiter, decimal_comma))
    assert rows.stamp_ns.tolist() == [1656931512_123456789]
    assert rows.values.tolist() == [[2.25, -0.03]]


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (b"2,3", "short_row", "expected 3 columns, got 2: '2,3'"),
        (b"2", "short_row", "expected 3 columns, got 1: '2'"),
        (b"2,3,4,5", "long_row", "expected 3 columns, got 4: '2,3,4,5'"),
        (b"2,abc,4", "not_a_number", "column x: expected a number, got 'abc'"),
        (b"2,3,", "not_a_number", "column y: expected a number, got nothing"),
        (b",3,4", "not_a_number", "column time: expected a time in seconds, got nothing"),
        (b"noon,3,4", "not_a_number", "column time: expected a time in seconds, got 'noon'"),
        (b"2,nan,4", "not_finite", "column x: expected a number, got 'nan'"),
        (b"2,3,-inf", "not_finite", "column y: expected a number, got '-inf'"),
        (b"2,3,1e999", "not_finite", "column y: expected a number, got '1e999'"),
        (b"2,\xff\xfe,4", "not_a_number", "column x: expected a number, got '\ufffd\ufffd'"),
        (b"2,0x10,4", "not_a_number", "column x: expected a number, got '0x10'"),
        (b"2,682 77,4", "not_a_number", "column x: expected a number, got '682 77'"),
        (b'2,0.4 5"1,4', "not_a_number", "column x: expected a number, got '0.4 5\"1'"),
        (b"1656931512 .25,3,4", "not_a_number", "column time: expected a time in seconds, got '1656931512 .25'"),
        (
            b"1656931512010000000,3,4",
            "implausible_time",
            "column time: expected a time in seconds, got 1656931512010000000, which is one in nanoseconds",
        ),
        (b"2," + 60 * b"z" + b",4", "not_a_number", f"column x: expected a number, got '{37 * 'z'}...'"),
    ],
)
@pytest.mark.parametrize("index", [0, 1, 2])
def test_bad_line_is_explained_and_others_are_kept(line: bytes, kind: str, message: str, index: int) -> None:
    lines = [b"1,2,3", b"9,8,7"]
    lines.insert(index, line)
    rows = rows_from_block(b"\n".join(lines) + b"\n", COMMA)
    assert rows.values.tolist() == [[2, 3], [8, 7]]
    assert rows.line.tolist() == [number for number in range(3) if number != index]
    assert rows.bad == ((index, kind, message),)


def test_long_and_short_line_do_not_hide_each_other() -> None:
    rows = rows_from_block(b"1,2,3\n1,2\n1,2,3,4\n5,6,7\n", COMMA)
    assert rows.line.tolist() == [0, 3]
    assert [(bad.line, bad.kind) for bad in rows.bad] == [(1, "short_row"), (2, "long_row")]


def test_second_clock_is_exact_and_ignored_columns_hold_anything() -> None:
    dialect = Dialect(("x", "_note", "time", "device_time"), ",")
    rows = rows_from_block(b"5,hello,1656931512.123456789,1656931500.987654321\n6,,1656931513,noon\n", dialect)
    assert rows.stamp_ns.tolist() == [1656931512_123456789]
    assert rows.clock_ns.tolist() == [[1656931500_987654321]]
    assert rows.values.tolist() == [[5]]
    assert [bad.message for bad in rows.bad] == ["column device_time: expected a time in seconds, got 'noon'"]


@pytest.mark.parametrize(("digits", "unit"), [(3, "milliseconds"), (6, "microseconds"), (9, "nanoseconds")])
def test_times_in_fractions_of_a_second_are_exact(digits: int, unit: str) -> None:
    times = ["1656931512123456789"[: 10 + digits], "1656931512123456789"[: 10 + digits] + ".5", "5"]
    dialect = Dialect(("time", "x"), ",", digits={"time": digits})
    rows = rows_from_block("".join(f"{time},1\n" for time in times).encode() + b"soon,2\n", dialect)
    exact = int(times[0]) * 10 ** (9 - digits)
    half = 5 * 10 ** (8 - digits) if digits < 9 else 1
    assert rows.stamp_ns.tolist() == [exact, exact + half, 5 * 10 ** (9 - digits)]
    assert [bad.message for bad in rows.bad] == [f"column time: expected a time in {unit}, got 'soon'"]


def test_nanoseconds_with_exponent_keep_written_precision() -> None:
    dialect = Dialect(("time", "x"), ",", digits={"time": 9})
    rows = rows_from_block(b"1.656931512010000000e+18,1\n1.6569315120100000125E18,2\n", dialect)
    assert rows.stamp_ns.tolist() == [1656931512_010000000, 1656931512_010000012]


def test_columns_in_other_units_are_scaled() -> None:
    rows = rows_from_block(b"1,180,2\n", Dialect(("time", "x", "y"), ",", factors={"x": np.pi / 180}))
    assert rows.values.tolist() == [[np.pi, 2]]


def test_empty_block_gives_no_rows() -> None:
    rows = rows_from_block(b"", COMMA)
    assert rows.values.shape == (0, 2)
    assert rows.bad == ()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.integers(0, 2**32), NUMBERS, NUMBERS), max_size=20))
def test_numbers_round_trip(rows: list[tuple[int, float, float]]) -> None:
    block = "".join(f"{time},{x!r},{y!r}\n" for time, x, y in rows).encode()
    read = rows_from_block(block, COMMA)
    assert read.stamp_ns.tolist() == [time * 10**9 for time, _, _ in rows]
    np.testing.assert_array_equal(read.values, np.array([row[1:] for row in rows], float).reshape(-1, 2))


@given(st.binary(max_size=200))
def test_random_bytes_give_rows_or_issues_but_no_crash(block: bytes) -> None:
    rows = rows_from_block(block, COMMA)
    lines = [line for line in tidy_text(block, delimiter=",").splitlines() if line.strip()]
    assert len(rows.line) + len(rows.bad) == len(lines)
    assert np.isfinite(rows.values).all()


BLANKS = Dialect(("time", "_label", "x", "y"), ",", whitespace_delimited=True, extract={"y": r"(\d)"})


@pytest.mark.parametrize(
    "block",
    [
        b"1.5 a 2 3)\n2.5 b -4e1 5)\n",
        b"1.5 a,2,3)\r\n2.5 b,-4e1,5)\r\n",
        b"  1.5\ta   2, 3) \n2.5 b ,-4e1 5)",
        b"\n1.5 a 2 3x\n\n2.5 b -4e1 (5\n\n",
    ],
)
def test_blank_separated_fields_and_numbers_extracted_by_regex(block: bytes) -> None:
    rows = rows_from_block(block, BLANKS)
    assert rows.stamp_ns.tolist() == [1_500000000, 2_500000000]
    assert rows.values.tolist() == [[2, 3], [-40, 5]]
    assert rows.bad == ()


def test_empty_field_between_commas_counts_with_blank_separator() -> None:
    rows = rows_from_block(b"1 a,,3\n2 b,4,5\n", BLANKS)
    assert [(bad.line, bad.kind) for bad in rows.bad] == [(0, "not_a_number")]
    assert rows.values.tolist() == [[4, 5]]


def test_text_without_extracted_number_is_reported() -> None:
    rows = rows_from_block(b"1 a 2 x)\n2 a 2\n3 a 4 5\n", BLANKS)
    assert [(bad.line, bad.kind, bad.message) for bad in rows.bad] == [
        (0, "not_a_number", "column y: expected a number, got 'x)'"),
        (1, "short_row", "expected 4 columns, got 3: '2,a,2'"),
    ]
    assert rows.line.tolist() == [2]


@pytest.mark.parametrize("block", [b"1 a 2\n", b"\x1a", bytes(50), b"\n" * 5000])
def test_block_without_rows_does_not_crash_with_extracted_numbers(block: bytes) -> None:
    rows = rows_from_block(block, BLANKS)
    assert rows.values.shape == (0, 2)
    assert len(rows.bad) == bool(block.strip())


def test_partial_rows_report_and_lose_only_bad_numbers() -> None:
    dialect = Dialect(("time", "x", "y"), ",", partial=True)
    rows = rows_from_block(b"1,2,3\n2,a,inf\n3,,5\nsoon,6,b\n5,7,8,9\n", dialect)
    assert rows.stamp_ns.tolist() == [1_000000000, 2_000000000, 3_000000000]
    np.testing.assert_array_equal(rows.values, [[2, 3], [np.nan, np.nan], [np.nan, 5]])
    assert [(bad.line, bad.kind) for bad in rows.bad] == [
        (1, "not_a_number"), (1, "not_finite"), (2, "not_a_number"), (3, "not_a_number"), (3, "not_a_number"),
        (4, "long_row"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "issue", [b"", b"5,x,7\n", b"5,6\n\n", b"5,6,7\r", b'"5" ,6 ,"7"\n', b"5,6,7\r\n", b"5,nan,7\n"]
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_blocks_parsed_together_equal_blocks_parsed_alone(issue: bytes, end: bytes) -> None:
    blocks = [b"1,2,3\n 2,3,4\n", b"3,4,5\n" + issue + b"4,5,6\n", b"\n", b" 7,8,9 \n8,9" + end]
    together = rows_from_blocks(blocks, COMMA)
    for rows, requested in zip(together, (rows_from_block(block, COMMA) for block in blocks), strict=True):
        assert rows.stamp_ns.tolist() == requested.stamp_ns.tolist()
        assert rows.values.tolist() == requested.values.tolist()
        assert (rows.line.tolist(), rows.bad) == (requested.line.tolist(), requested.bad)


@pytest.mark.parametrize("damaged", [b"1656931512.\0\0,2,3", b"\0\0\0\0931512.5,2,3", b"1656931512.5,2\0,3"])
def test_zero_bytes_do_not_end_a_number(damaged: bytes) -> None:
    rows = rows_from_block(b"1656931511.5,1,2\n" + damaged + b"\n1656931513.5,3,4\n", COMMA)
    assert rows.stamp_ns.tolist() == [1656931511_500_000_000, 1656931513_500_000_000]
    assert [(bad.line, bad.kind) for bad in rows.bad] == [(1, "not_a_number")]


def test_lone_carriage_return_ends_row_but_not_line_number() -> None:
    rows = rows_from_block(b"1.5,1,2\r\r\n2.5,2,3\r3.5,3,4\r\n4.5,4,5\n", COMMA)
    assert (rows.line.tolist(), rows.values[:, 0].tolist(), rows.bad) == ([0, 1, 1, 2], [1, 2, 3, 4], ())
    alone = rows_from_block(b"1.5,1,2\r2.5,2,3\r", COMMA)
    assert (alone.line.tolist(), alone.bad) == ([0, 1], ())


def test_long_text_as_time_does_not_widen_other_times() -> None:
    block = b"1.5,1,2\n" * 1000 + b"9" * 100_000 + b",2,3\n"
    tracemalloc.start()
    rows = rows_from_block(block, COMMA)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows.line) == 1000 and [bad.line for bad in rows.bad] == [1000]
    assert most < 10_000_000
