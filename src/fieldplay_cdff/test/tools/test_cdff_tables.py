"""Samples as columns: no number is lost, whatever a log mixes, and the order of columns is that of the fields."""

import json
import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.export.table_columns import (
    cells_of,
    columns_of,
    is_same_table,
    lists_of_word,
    merge_columns,
    ordered_names,
    series_of,
    to_json,
    values_of,
)

numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.integers(-9, 9), st.floats(allow_nan=False), st.booleans(), st.text(max_size=3)
)


def is_as_it_was(value: Any, result: Any, dtype: pl.DataType) -> bool:
    """What became text is that text, or JSON of the value."""
    if dtype != pl.String or isinstance(value, str):
        return bool(result == value)
    return float(json.loads(result)) == value if isinstance(value, float) else bool(json.loads(result) == value)


@given(st.lists(numbers, min_size=1, max_size=4), st.lists(numbers, min_size=1, max_size=4))
def test_values_of_two_blocks_stay_exact_in_one_column(first: list[Any], second: list[Any]) -> None:
    blocks = [values_of([{"n": value} for value in own]) for own in (first, second)]
    columns = merge_columns(*map(columns_of, blocks))
    for values, own in zip(blocks, (first, second), strict=True):
        assert is_same_table(merge_columns(columns, columns_of(values)), columns)
        series = series_of("n", columns["n"], values["n"], count=len(own))
        for value, value_read in zip(own, series.to_list(), strict=True):
            assert is_as_it_was(value, value_read, series.dtype), (value, value_read, series.dtype)


@given(st.lists(st.lists(st.sampled_from(["a", "a.0", "a.1", "a.1.x", "b", "b.c", "c..d"]), unique=True), max_size=4))
def test_columns_of_a_field_are_adjacent_and_unique(names: list[list[str]]) -> None:
    names_in_order = ordered_names(name for own in names for name in own)
    assert sorted(names_in_order) == sorted({name for own in names for name in own})
    tops = [name.split(".")[0] for name in names_in_order]
    assert tops == sorted(tops, key=tops.index)


def test_later_columns_follow_their_neighbours() -> None:
    assert ordered_names(["t", "pos.0", "pos.1", "name", "pos.2", "t.x"]) == [
        "t",
        "t.x",
        "pos.0",
        "pos.1",
        "pos.2",
        "name",
    ]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("none", {"p": "[[1, 2], [3]]", "q.r": "[5]", "n": 1}),
        ("all", {"p.0.0": 1, "p.0.1": 2, "p.1.0": 3, "q.r.0": 5, "n": 1}),
        ("p", {"p.0.0": 1, "p.0.1": 2, "p.1.0": 3, "q.r": "[5]", "n": 1}),
        ("r", {"p": "[[1, 2], [3]]", "q.r.0": 5, "n": 1}),
        (" q.r , x", {"p": "[[1, 2], [3]]", "q.r.0": 5, "n": 1}),
    ],
)
def test_lists_are_expanded_where_named(word: str, expected: dict[str, Any]) -> None:
    sample = {"p": [[1, 2], [3]], "q": {"r": [5]}, "nothing": None, "empty": {}, "n": 1}
    assert cells_of(sample, lists_of_word(word)) == expected


def test_json_cells_use_text_for_numbers_json_lacks() -> None:
    assert to_json([math.nan, -math.inf, math.inf, 1.5]) == '["NaN", "-Infinity", "Infinity", 1.5]'
    assert to_json(["NaN is a word", math.nan]) == '["NaN is a word", "NaN"]'
    assert to_json([b"\x00\xff", None, True, "é"]) == '["00ff", null, true, "é"]'
