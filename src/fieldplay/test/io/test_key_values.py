import numpy as np
import pytest

from fieldplay.io.key_values import lines_of_text, numbers_of_value, plain_key


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_multi_line_values_keep_the_number_of_their_first_line(end: str) -> None:
    text = "first = 1\nmatrix = [ 1 2\n 3 4 ]\n\nbare = 1 2\n 3 - 4\nlast = 5 NAME\nnothing\n"
    lines = lines_of_text(text.replace("\n", end).encode())
    assert [(line.number, line.key) for line in lines] == [
        (1, "first"), (2, "matrix"), (5, "bare"), (7, "last"), (8, ""),
    ]  # fmt: skip
    values = [numbers_of_value(line.value) for line in lines[:3]]
    assert values[0] is not None and values[0].shape == () and values[0] == 1
    np.testing.assert_array_equal(values[1], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(values[2], [[1, 2], [3, -4]])
    assert numbers_of_value(lines[3].value) is None


def test_unclosed_bracket_loses_one_line() -> None:
    lines = lines_of_text(b"a = [ 1 2\nb = [ 3 4 ]\nc = 5\n")
    assert [line.key for line in lines] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[ 1 2 ]", [1, 2]),
        ("[1,2]", [1, 2]),
        ("(1; 2)", [1, 2]),
        ("- 1.5 + 2", [-1.5, 2]),
        ("1e-3 -4E+2", [0.001, -400]),
        ("0x10 0xFF", [16, 255]),
        ("l.5 1O", [1.5, 10]),
        ("[ 7 ]", [7]),
        ("1 nan", None),
        ("1 inf", None),
        ("", None),
        ("a b", None),
    ],
)
def test_numbers_are_read_in_any_notation(value: str, expected: list[float] | None) -> None:
    numbers = numbers_of_value(value)
    assert (numbers is None) == (expected is None)
    if numbers is not None:
        np.testing.assert_array_equal(numbers, expected)


def test_lines_of_one_number_and_of_unequal_length_are_vectors() -> None:
    uneven = numbers_of_value("1 2\x1f3")
    assert uneven is not None and uneven.tolist() == [1, 2, 3]


def test_keys_match_without_underscores_and_case() -> None:
    requested = plain_key("mtr_volt.sign_l")
    assert {plain_key(key) for key in ("mtr volt sign 1", "MTR_VOLT_SIGN_L", "mtrvo1t.signl")} == {requested}


def test_non_utf_8_bytes_are_latin_1_and_unicode_minus_is_minus() -> None:
    assert lines_of_text(b"\xb5 text\n")[0].text == "µ text"
    (line,) = lines_of_text("a = −5\n".encode())
    assert numbers_of_value(line.value) == -5


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "1" * 200_000 + "x", " " * 200_000 + "x", "- " * 100_000, "a=" * 100_000]
)
def test_malicious_text_is_parsed_quickly(text: str) -> None:
    for line in lines_of_text(f"key = 1\n{text}\n".encode()):
        assert numbers_of_value(line.value) is None or line.number == 1
        assert len(line.shown) <= 40
