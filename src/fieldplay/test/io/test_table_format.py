import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay.io.table_format import (
    ExpectedUnit,
    TableSpec,
    format_from_head,
    normal_title,
    units_of_titles,
)
from fieldplay.io.table_rows import Dialect

SPEC = TableSpec(
    layouts=[["time", "x", "y"], ["time", "x", "y", "_note"]],
    header={"time": ["(unix_)?time(stamp)?"], "x": ["pos_x", "x"], "y": ["pos_y", "y"]},
)
ROWS = b"1656931512.25,1,2\n1656931512.50,3,4\n"


def test_rows_without_header_are_read_by_position() -> None:
    table_format = format_from_head(ROWS, SPEC)
    assert table_format.dialect.columns == ("time", "x", "y")
    assert (table_format.first_byte, table_format.first_line, table_format.mapping) == (0, 1, "position")


def test_header_decides_order_and_unknown_columns_are_ignored() -> None:
    head = b"pos_y [m],comment,Timestamp (s),Pos X\n2,7,1656931512.25,1\n"
    table_format = format_from_head(head, SPEC)
    assert table_format.dialect.columns == ("y", "_1", "time", "x")
    assert table_format.dialect.numbers == ("y", "x")
    assert (table_format.first_byte, table_format.first_line, table_format.mapping) == (
        head.index(b"\n") + 1,
        2,
        "header",
    )


def test_header_ending_in_lone_carriage_return_shares_line_with_first_row() -> None:
    head = b"time,x\r1656931512.5,1\n1656931513.5,2\n"
    table_format = format_from_head(head, TableSpec(layouts=[["time", "x"]]))
    assert (table_format.first_byte, table_format.first_line) == (head.index(b"\r") + 1, 1)


def test_unrecognised_header_is_reported_and_position_decides() -> None:
    table_format = format_from_head(b"zeit,rechts,hoch\n" + ROWS, SPEC)
    assert table_format.dialect.columns == ("time", "x", "y")
    assert table_format.mapping == "position, header not recognised"


def test_comments_blank_lines_and_bom_may_precede_header() -> None:
    head = b"\xef\xbb\xbf# made by hand\n\ntime,x,y\r\n" + ROWS
    table_format = format_from_head(head, SPEC)
    assert head[table_format.first_byte :] == ROWS
    assert (table_format.first_line, table_format.mapping) == (4, "header")


def test_header_after_comment_character_counts() -> None:
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
def test_delimiter_and_decimal_character_are_detected(row: str, delimiter: str, decimal_comma: bool) -> None:
    table_format = format_from_head(f"{row}\n{row}\n".encode(), SPEC)
    assert table_format.dialect == Dialect(("time", "x", "y"), delimiter, decimal_comma)


def test_column_count_is_that_of_most_rows() -> None:
    table_format = format_from_head(b"1,2\n" + ROWS + b"1,2,3,4\n", SPEC)
    assert table_format.dialect.columns == ("time", "x", "y")


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
def test_unknown_layout_is_refused_with_expected_and_got(head: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        format_from_head(head, SPEC)


def test_titles_are_normalised_without_units_case_and_punctuation() -> None:
    assert normal_title('" Drive-1 Velocity (m/s) [raw]"') == "drive_1_velocity"


@given(st.binary(max_size=300))
def test_any_head_has_a_format_or_is_refused(head: bytes) -> None:
    try:
        table_format = format_from_head(head, SPEC)
    except ArchiveError:
        return
    assert 0 <= table_format.first_byte <= len(head)
    assert "time" in table_format.dialect.columns


def test_layout_of_blank_separated_log_follows_field_count() -> None:
    spec = TableSpec(
        layouts=[["time", "x"], ["time", "_label", "x"]], whitespace_delimited=True, extract={"x": r"(\d)"}
    )
    table_format = format_from_head(b"# begun\n  1656931512.25 imu 5)\r\n1656931512.50 imu 6)\r\n", spec)
    assert table_format.dialect == Dialect(
        ("time", "_label", "x"), ",", whitespace_delimited=True, extract={"x": r"(\d)"}
    )
    assert (table_format.first_line, table_format.first_byte) == (2, 8)
    assert table_format.rows_of([b"1656931512.25 imu 5)\n"])[0].values.tolist() == [[5]]


@pytest.mark.parametrize(
    ("head", "columns", "mapping"),
    [
        (b"1656931512.25,1,2,\n1656931512.50,3,4,\n", ("time", "x", "y", "_end"), "position"),
        (b"1656931512,25;1;2;\n1656931512,50;3,5;4;\n", ("time", "x", "y", "_end"), "position"),
        (b"1656931512.25\t1\t2\t\n", ("time", "x", "y", "_end"), "position"),
        (b"y,x,time\n1,2,1656931512.25,\n", ("y", "x", "time", "_end"), "header"),
        (b"y,x,time,\n1,2,1656931512.25,\n", ("y", "x", "time", "_end"), "header"),
        (b"y,x,time,\n1,2,1656931512.25\n", ("y", "x", "time"), "header"),
        (b"time,x,y,note\n1656931512.25,1,2,\n", ("time", "x", "y", "_3"), "header"),
        (b"0,1656931512.25,1,2\n1,1656931512.50,3,4\n", ("_index", "time", "x", "y"), "position, behind an index"),
        (b",y,x,time\n0,1,2,1656931512.25\n", ("_0", "y", "x", "time"), "header"),
        (b"time,x,y\n7,1656931512.25,1,2\n", ("_index", "time", "x", "y"), "header, behind an index"),
        (b"1656931512,1,2\n1656931513,3,4\n", ("time", "x", "y"), "position"),
        (b"0,1656931512.25,1,2,\n", ("_index", "time", "x", "y", "_end"), "position, behind an index"),
        (b"0,1656931512,2\n1,1656931513,4\n", ("time", "x", "y"), "position"),
    ],
)
def test_index_column_and_empty_last_column_are_ignored(head: bytes, columns: tuple[str, ...], mapping: str) -> None:
    table_format = format_from_head(head, SPEC)
    assert (table_format.dialect.columns, table_format.mapping) == (columns, mapping)
    assert len(table_format.rows_of([head[table_format.first_byte :]])[0].stamp_ns) == head[
        table_format.first_byte :
    ].count(b"\n")


@pytest.mark.parametrize("head", [b"time x y\n1656931512.25 1 2\n", b"  1656931512.25   1\t2  \r\n"])
def test_blanks_separate_fields_without_other_delimiter(head: bytes) -> None:
    table_format = format_from_head(head, SPEC)
    assert table_format.rows_of([head[table_format.first_byte :]])[0].values.tolist() == [[1, 2]]


def test_layout_may_have_any_number_of_ignored_columns() -> None:
    spec = TableSpec(layouts=[["time", "_*", "x", "y"]], whitespace_delimited=True)
    for labels in ("", "imu ", "imu: 17,3 x "):
        text = f"1656931512.25 {labels}1 2\n".encode()
        assert format_from_head(text, spec).rows_of([text])[0].values.tolist() == [[1, 2]]
    with pytest.raises(ArchiveError, match="expected 3 and more columns, got 2"):
        format_from_head(b"1656931512.25 1\n", spec)


@pytest.mark.parametrize(
    ("times", "digits"),
    [
        (("1656931512.25", "1656931512.50"), {}),
        (("1656931512250", "1656931512500"), {"time": 3}),
        (("1656931512250000", "1656931512500000.5"), {"time": 6}),
        (("1.65693151225e18", "1656931512500000000"), {"time": 9}),
        (("0", "17"), {}),
    ],
)
def test_time_unit_follows_magnitude(times: tuple[str, str], digits: dict[str, int]) -> None:
    head = "".join(f"{time},1,2\n" for time in times).encode()
    assert format_from_head(head, SPEC).dialect.digits == digits


@pytest.mark.parametrize("titles", ["time,x [deg],y", "time,x_deg,y", "time,x (°),y", "time,x,y\ns,deg,m"])
def test_header_unit_counts_unless_user_chose_another(titles: str) -> None:
    head = f"{titles}\n1656931512.25,180,2\n".encode()
    layouts = [["time", "x", "y"]]
    table_format = format_from_head(head, TableSpec(layouts=layouts, units={"x": ExpectedUnit("rad")}))
    assert table_format.rows_of([head[table_format.first_byte :]])[0].values.tolist() == [[pytest.approx(np.pi), 2]]
    assert "; x in deg by the header, made rad" in table_format.mapping
    chosen = format_from_head(head, TableSpec(layouts=layouts, units={"x": ExpectedUnit("rad", is_chosen=True)}))
    assert chosen.rows_of([head[chosen.first_byte :]])[0].values.tolist() == [[180, 2]]
    assert "; x in deg by the header, taken for rad, as chosen" in chosen.mapping
    same = format_from_head(
        head, TableSpec(layouts=layouts, units={"x": ExpectedUnit("deg"), "y": ExpectedUnit("rad")})
    )
    assert (same.dialect.factors, "made" in same.mapping) == ({}, False)


@pytest.mark.parametrize(
    ("title", "expected", "factor"),
    [
        ("mag_x [mG]", "G", 1e-3),
        ("mag_x_mg", "G", 1e-3),
        ("mag_x (µT)", "G", 1e-2),
        ("mag_x [G]", "mG", 1e3),
        ("gyro_y_rad_s", "deg/s", math.degrees(1)),
        ("gyro_y [°/s]", "rad/s", math.radians(1)),
        ("gyro y (dps)", "rad/s", math.radians(1)),
        ("Lat [degrees]", "rad", math.radians(1)),
        ("pressure (hPa)", "Pa", 100),
    ],
)
def test_title_unit_gives_factor_to_expected_unit(title: str, expected: str, factor: float) -> None:
    units = units_of_titles(("time", "x"), [["time", title]], {"x": ExpectedUnit(expected)})
    assert units.factors == {"x": pytest.approx(factor, rel=1e-12)}
    assert units.notes.startswith("; x in ") and units.notes.endswith(f" by the header, made {expected}")


@pytest.mark.parametrize(
    "title", ["gyro_y", "gyro_y [deg/s]", "gyro_y_deg_s", "gyro_y [m/s]", "gyro_y [raw]", "", "[]"]
)
def test_expected_other_kind_or_no_unit_changes_nothing(title: str) -> None:
    units = units_of_titles(("time", "x"), [["time", title]], {"x": ExpectedUnit("deg/s")})
    assert (dict(units.factors), units.notes) == ({}, "")


ASL = TableSpec(
    layouts=[["time", "w_RS_S_x", "a_RS_S_x"]],
    units={"time": ExpectedUnit("ns"), "w_RS_S_x": ExpectedUnit("rad/s"), "a_RS_S_x": ExpectedUnit("m/s2")},
)


def test_titles_with_units_are_understood_without_patterns() -> None:
    head = b"#timestamp [ns],w_RS_S_x [rad s^-1],a_RS_S_x [m s^-2]\n1403636579758555392,-0.1,8.1\n"
    table_format = format_from_head(head, ASL)
    assert table_format.dialect.columns == ("time", "w_RS_S_x", "a_RS_S_x")
    assert table_format.mapping == "header"
    assert dict(table_format.dialect.digits) == {"time": 9}
    assert table_format.has_known_clocks
    assert not table_format.dialect.factors


def test_units_of_another_size_are_converted() -> None:
    head = b"#timestamp [us],a_RS_S_x [g],w_RS_S_x [deg s^-1]\n5,1,90\n"
    table_format = format_from_head(head, ASL)
    assert table_format.dialect.columns == ("time", "a_RS_S_x", "w_RS_S_x")
    assert dict(table_format.dialect.digits) == {"time": 6}
    assert table_format.dialect.factors["w_RS_S_x"] == pytest.approx(math.pi / 180)
    assert table_format.dialect.factors["a_RS_S_x"] == pytest.approx(9.80665)


@pytest.mark.parametrize(
    ("head", "digits"),
    [
        (b"251350000000,0,9.81\n", 9),  # as the description says
        (b"#timestamp [ms], w_RS_S_x, a_RS_S_x\n251350,0,9.81\n", 3),  # as the header says
        (b"#timestamp [ns], w_RS_S_x, a_RS_S_x\n1403636579.758555392,0,9.81\n", 0),  # as the size says
    ],
)
def test_unit_of_time_is_that_of_its_size_then_header_then_description(head: bytes, digits: int) -> None:
    assert format_from_head(head, ASL).dialect.digits.get("time", 0) == digits


@pytest.mark.parametrize("unit", ["m s^-2", "m/s^2", "m/s2", "m*s^-2", "m s-2"])
def test_ways_to_write_unit_are_one(unit: str) -> None:
    units = units_of_titles(["a"], [[f"a [{unit}]"]], {"a": ExpectedUnit("m/s2")})
    assert (dict(units.factors), units.notes) == ({}, "")
