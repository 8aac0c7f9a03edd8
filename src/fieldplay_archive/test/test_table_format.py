import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.number_rows import Dialect
from fieldplay_archive.table_format import TableSpec, format_from_head, normal_title

SPEC = TableSpec(
    layouts=[["time", "x", "y"], ["time", "x", "y", "_note"]],
    header={"time": ["(unix_)?time(stamp)?"], "x": ["pos_x", "x"], "y": ["pos_y", "y"]},
)
ROWS = b"1656931512.25,1,2\n1656931512.50,3,4\n"


def test_rows_without_a_header_are_read_by_position() -> None:
    found = format_from_head(ROWS, SPEC)
    assert found.dialect.columns == ("time", "x", "y")
    assert (found.first_byte, found.first_line, found.mapping) == (0, 1, "position")


def test_a_header_decides_the_order_and_unknown_columns_are_passed_over() -> None:
    head = b"pos_y [m],comment,Timestamp (s),Pos X\n2,7,1656931512.25,1\n"
    found = format_from_head(head, SPEC)
    assert found.dialect.columns == ("y", "_1", "time", "x")
    assert found.dialect.numbers == ("y", "x")
    assert (found.first_byte, found.first_line, found.mapping) == (head.index(b"\n") + 1, 2, "header")


def test_a_header_in_other_words_is_said_and_the_position_decides() -> None:
    found = format_from_head(b"zeit,rechts,hoch\n" + ROWS, SPEC)
    assert found.dialect.columns == ("time", "x", "y")
    assert found.mapping == "position, its header is not understood"


def test_comments_blank_lines_and_a_byte_order_mark_come_before_the_header() -> None:
    head = b"\xef\xbb\xbf# made by hand\n\ntime,x,y\r\n" + ROWS
    found = format_from_head(head, SPEC)
    assert head[found.first_byte :] == ROWS
    assert (found.first_line, found.mapping) == (4, "header")


def test_a_header_behind_a_comment_sign_counts() -> None:
    assert format_from_head(b"# time, y, x\n" + ROWS, SPEC).dialect.columns == ("time", "y", "x")


@pytest.mark.parametrize(
    ("row", "delimiter", "decimal_comma"),
    [
        ("1656931512.25,1,2", ",", False),
        ("1656931512.25;1;2", ";", False),
        ("1656931512,25;1,5;2,5", ";", True),
        ("1656931512.25\t1\t2", "\t", False),
        ("1656931512,25\t1\t2", "\t", True),
        ('"1656931512.25","1","2"', ",", False),
    ],
)
def test_the_delimiter_and_the_decimal_sign_are_found(row: str, delimiter: str, decimal_comma: bool) -> None:
    found = format_from_head(f"{row}\n{row}\n".encode(), SPEC)
    assert found.dialect == Dialect(("time", "x", "y"), delimiter, decimal_comma)


def test_the_number_of_columns_is_what_most_rows_have() -> None:
    found = format_from_head(b"1,2\n" + ROWS + b"1,2,3,4\n", SPEC)
    assert found.dialect.columns == ("time", "x", "y")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "expected rows of numbers, got none"),
        (b"time,x,y\n", "expected rows of numbers, got none"),
        (b"1,2\n3,4\n", "expected 3 or 4 columns, got 2"),
        (b"5\n6\n", "expected 3 or 4 columns, got 1"),
        ("1,2,3\n".encode("utf-16"), "got UTF-16"),
    ],
)
def test_what_has_no_known_layout_is_refused_with_expected_and_got(head: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        format_from_head(head, SPEC)


def test_titles_lose_units_case_and_signs() -> None:
    assert normal_title('" Drive-1 Velocity (m/s) [raw]"') == "drive_1_velocity"


@given(st.binary(max_size=300))
def test_any_beginning_has_a_format_or_is_refused(head: bytes) -> None:
    try:
        found = format_from_head(head, SPEC)
    except ArchiveError:
        return
    assert 0 <= found.first_byte <= len(head)
    assert "time" in found.dialect.columns


def test_the_layout_of_a_log_with_blanks_is_told_by_the_number_of_its_fields() -> None:
    spec = TableSpec(layouts=[["time", "x"], ["time", "_label", "x"]], blanks=True, extract={"x": r"(\d)"})
    found = format_from_head(b"# begun\n  1656931512.25 imu 5)\r\n1656931512.50 imu 6)\r\n", spec)
    assert found.dialect == Dialect(("time", "_label", "x"), ",", blanks=True, extract={"x": r"(\d)"})
    assert (found.first_line, found.first_byte) == (2, 8)
    assert found.rows(b"1656931512.25 imu 5)\n").values.tolist() == [[5]]
