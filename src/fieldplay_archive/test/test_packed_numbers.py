"""Long lists of numbers straight from their bytes agree with what msgpack makes of them."""

from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay_archive.logs.messagepack.number_lists import list_header, numbers_at, vectors_at
from fieldplay_archive.logs.messagepack.values import arrays_from_bytes, plain_from_bytes, settings_from_bytes
from fieldplay_messages.errors import ArchiveError

MARKERS = [0, 1, 0x7F, 0x80, 0xCA, 0xCB, 0xCC, 0xCC, 0xCC, 0xCD, 0xE0, 0xFF]


def numbers_of(values: Any, behind: bytes = b"") -> Any:
    data = msgpack.packb(values) + behind
    header = list_header(data, 0)
    assert header is not None
    found = numbers_at(data, header)
    if found is not None:
        assert found.end == len(data) - len(behind)
    return None if found is None else found.numbers


@given(st.lists(st.sampled_from(MARKERS) | st.integers(0, 255), min_size=1), st.binary())
def test_bytes_of_one_and_two_are_read_whatever_follows_the_list(values: list[int], behind: bytes) -> None:
    numbers = numbers_of(values, behind)
    assert numbers is not None
    assert numbers.tolist() == values


@given(st.lists(st.integers(-(1 << 63), (1 << 64) - 1), min_size=1), st.binary(max_size=20))
def test_numbers_of_any_width_are_either_right_or_left_to_msgpack(values: list[int], behind: bytes) -> None:
    numbers = numbers_of(values, behind)
    assert numbers is None or numbers.tolist() == values


@pytest.mark.parametrize("value", [-1, 200, -100, 300, -300, 1 << 17, -(1 << 17), 1 << 40, -(1 << 40), 1.5])
def test_lists_of_one_width_are_read_at_once(value: float) -> None:
    assert numbers_of([value] * 300).tolist() == [value] * 300


@given(st.lists(st.none() | st.booleans() | st.integers(0, 300) | st.text(max_size=3), min_size=1))
def test_what_is_no_number_is_never_taken_for_one(values: list[Any]) -> None:
    numbers = numbers_of(values)
    assert numbers is None or numbers.tolist() == values


def test_a_list_that_is_cut_off_has_no_numbers() -> None:
    data = msgpack.packb([200] * 300)[:-1]
    header = list_header(data, 0)
    assert header is not None and numbers_at(data, header) is None


@given(st.lists(st.tuples(*[st.floats(width=64)] * 3), min_size=1), st.sampled_from(["list", "data"]))
def test_vectors_are_columns_in_both_forms(rows: list[tuple[float, ...]], form: str) -> None:
    data = msgpack.packb([list(row) if form == "list" else {"data": list(row)} for row in rows]) + b"\xc0"
    header = list_header(data, 0)
    assert header is not None
    found = vectors_at(data, header)
    assert found is not None and found.end == len(data) - 1
    np.testing.assert_array_equal(found.numbers, np.array(rows))


def test_vectors_of_other_lengths_are_left_to_msgpack() -> None:
    data = msgpack.packb([[1.0, 2.0], [1.0, 2.0, 3.0], [4.0]])
    header = list_header(data, 0)
    assert header is not None and vectors_at(data, header) is None


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 70000) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=5), DATA), st.integers(0, 1 << 20))
def test_a_sample_is_the_same_with_and_without_arrays(sample: dict[str, Any], seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, 2100).tolist()
    data = msgpack.packb({**sample, "pixels": pixels})
    with_arrays = arrays_from_bytes(data)
    assert isinstance(with_arrays["pixels"], np.ndarray)
    with_arrays["pixels"] = with_arrays["pixels"].tolist()
    assert with_arrays == plain_from_bytes(data)


@given(st.binary(max_size=200) | st.binary(min_size=2100, max_size=2300))
def test_any_bytes_are_an_item_or_an_error(data: bytes) -> None:
    for unpack in (plain_from_bytes, arrays_from_bytes, settings_from_bytes):
        try:
            unpack(data)
        except ArchiveError as error:
            assert "expected" in str(error)


@pytest.mark.parametrize(
    "head", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\x91" * 4000]
)
def test_impossible_lengths_and_depths_are_told_without_making_room_for_them(head: bytes) -> None:
    for data in (head, b"\x81\xa1a" + head + b"\x00" * 3000):
        with pytest.raises(ArchiveError, match="expected an item of MessagePack"):
            arrays_from_bytes(data)


def test_settings_may_have_lists_for_keys() -> None:
    data = msgpack.packb({("imu", "body"): {"translation": [1, 2, 3]}})
    assert settings_from_bytes(data) == {("imu", "body"): {"translation": (1, 2, 3)}}
