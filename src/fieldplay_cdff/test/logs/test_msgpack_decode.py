"""Items of MessagePack: lists of numbers as arrays, and samples that are alike but for their numbers as columns."""

import dataclasses
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs import index_scan as index_runs
from fieldplay_cdff.logs import type_table
from fieldplay_cdff.logs import type_table as numbers
from fieldplay_cdff.logs.file_index import FileIndex
from fieldplay_cdff.logs.index_scan import index_of_log
from fieldplay_cdff.logs.log import open_log
from fieldplay_cdff.logs.msgpack_decode import (
    TemplateMatch,
    arrays_from_bytes,
    list_header,
    numbers_at,
    plain_from_bytes,
    settings_from_bytes,
    template_of,
    vectors_at,
)
from fieldplay_cdff.logs.sample_rows import SampleRows, TemplateRows
from fieldplay_testing import tiny_sherpatt as tiny

MARKERS = [0, 1, 0x7F, 0x80, 0xCA, 0xCB, 0xCC, 0xCC, 0xCC, 0xCD, 0xE0, 0xFF]


def numbers_of(values: Any, suffix: bytes = b"") -> Any:
    data = msgpack.packb(values) + suffix
    header = list_header(data, 0)
    assert header is not None
    result = numbers_at(data, header)
    if result is not None:
        assert result.end == len(data) - len(suffix)
    return None if result is None else result.numbers


@given(st.lists(st.sampled_from(MARKERS) | st.integers(0, 255), min_size=1), st.binary())
def test_one_and_two_byte_numbers_are_read_whatever_follows(values: list[int], suffix: bytes) -> None:
    numbers = numbers_of(values, suffix)
    assert numbers is not None
    assert numbers.tolist() == values


@given(st.lists(st.integers(-(1 << 63), (1 << 64) - 1), min_size=1), st.binary(max_size=20))
def test_numbers_of_any_width_are_correct_or_left_to_msgpack(values: list[int], suffix: bytes) -> None:
    numbers = numbers_of(values, suffix)
    assert numbers is None or numbers.tolist() == values


@pytest.mark.parametrize("value", [-1, 200, -100, 300, -300, 1 << 17, -(1 << 17), 1 << 40, -(1 << 40), 1.5])
def test_lists_of_uniform_width_are_read_in_bulk(value: float) -> None:
    assert numbers_of([value] * 300).tolist() == [value] * 300


@given(st.lists(st.none() | st.booleans() | st.integers(0, 300) | st.text(max_size=3), min_size=1))
def test_non_numbers_are_never_read_as_numbers(values: list[Any]) -> None:
    numbers = numbers_of(values)
    assert numbers is None or numbers.tolist() == values


def test_truncated_list_has_no_numbers() -> None:
    data = msgpack.packb([200] * 300)[:-1]
    header = list_header(data, 0)
    assert header is not None and numbers_at(data, header) is None


@given(st.lists(st.tuples(*[st.floats(width=64)] * 3), min_size=1), st.sampled_from(["list", "data"]))
def test_vectors_are_columns_in_both_forms(rows: list[tuple[float, ...]], form: str) -> None:
    data = msgpack.packb([list(row) if form == "list" else {"data": list(row)} for row in rows]) + b"\xc0"
    header = list_header(data, 0)
    assert header is not None
    vectors = vectors_at(data, header)
    assert vectors is not None and vectors.end == len(data) - 1
    np.testing.assert_array_equal(vectors.numbers, np.array(rows))


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
def test_sample_is_equal_with_and_without_arrays(sample: dict[str, Any], seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, 2100).tolist()
    data = msgpack.packb({**sample, "pixels": pixels})
    with_arrays = arrays_from_bytes(data)
    assert isinstance(with_arrays["pixels"], np.ndarray)
    with_arrays["pixels"] = with_arrays["pixels"].tolist()
    assert with_arrays == plain_from_bytes(data)


@given(st.binary(max_size=200) | st.binary(min_size=2100, max_size=2300))
def test_any_bytes_give_item_or_error(data: bytes) -> None:
    for unpack in (plain_from_bytes, arrays_from_bytes, settings_from_bytes):
        try:
            unpack(data)
        except ArchiveError as error:
            assert "expected" in str(error)


@pytest.mark.parametrize(
    "head", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\x91" * 4000]
)
def test_impossible_lengths_and_depths_are_reported_without_allocating(head: bytes) -> None:
    for data in (head, b"\x81\xa1a" + head + b"\x00" * 3000):
        with pytest.raises(ArchiveError, match="expected an item of MessagePack"):
            arrays_from_bytes(data)


def test_settings_may_have_lists_for_keys() -> None:
    data = msgpack.packb({("imu", "body"): {"translation": [1, 2, 3]}})
    assert settings_from_bytes(data) == {("imu", "body"): {"translation": (1, 2, 3)}}


COUNT = 40
NAME = "/task.port"


def times(count: int = COUNT) -> list[int]:
    return [tiny.START_US + tiny.STEP_US * index for index in range(count)]


def index_of(data: bytes) -> FileIndex:
    return index_of_log(io.BytesIO(data), lambda offset: None)


def one_by_one(data: bytes, monkeypatch: pytest.MonkeyPatch) -> FileIndex:
    with monkeypatch.context() as patch:
        patch.setattr(index_runs, "SMALL_SAMPLE", 0)
        return index_of(data)


def assert_same(first: FileIndex, second: FileIndex) -> None:
    assert first.issues == second.issues
    assert [(p.stream, p.type, len(p)) for p in first.parts] == [(p.stream, p.type, len(p)) for p in second.parts]
    for one, other in zip(first.parts, second.parts, strict=True):
        for ours, theirs in ((one.samples, other.samples), (one.logged, other.logged)):
            np.testing.assert_array_equal(ours.table, theirs.table)
            assert (ours.count, ours.stop) == (theirs.count, theirs.stop)


def differing_sample(sample: dict[str, Any], how: int) -> Any:
    """A sample that differs from the others by more than its numbers."""
    changes: list[Callable[[], Any]] = [
        lambda: sample | {"sourceFrame": "Body"},
        lambda: sample | {"sourceFrame": "longer"},
        lambda: sample | {"pos": [1, 0.5, 0.25]},
        lambda: sample | {"timestamp": {"microseconds": 3}},
        lambda: sample | {"timestamp": {"microseconds": 1 << 63}},
        lambda: {"x": sample},
        lambda: 7,
        lambda: dict(reversed(sample.items())),
    ]
    return changes[how]()


@pytest.mark.parametrize("seed", range(12))
def test_bulk_index_equals_one_by_one_index(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    samples = [tiny.state(time) for time in times()]
    for _ in range(rng.randint(0, 4)):
        index = rng.randrange(COUNT)
        samples[index] = differing_sample(tiny.state(times()[index]), rng.randrange(8))
    data = tiny.pack(tiny.log_of({NAME: ("RigidBodyState", samples)}))
    assert_same(index_of(data), one_by_one(data, monkeypatch))
    for cut in rng.sample(range(len(data)), 20):
        assert_same(index_of(data[:cut]), one_by_one(data[:cut], monkeypatch))


@pytest.mark.parametrize("seed", range(12))
def test_damage_is_reported_at_same_offset_in_bulk_and_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(tiny.pack(tiny.log_of({NAME: ("RigidBodyState", [tiny.state(time) for time in times()])})))
    rng = random.Random(seed)
    for _ in range(10):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] = rng.choice([0xC1, 0xDD, 0xDB, 0x00, 0x90, 0xCB])
        assert_same(index_of(bytes(broken)), one_by_one(bytes(broken), monkeypatch))


def test_all_samples_over_several_chunks_are_indexed(tmp_path: Path) -> None:
    count = 6000  # some four megabytes
    log = tiny.log_of({NAME: ("RigidBodyState", [tiny.state(time) for time in times(count)])})
    path = tiny.write(tmp_path / "x.msg", log)
    with open_log(path, lambda defect: None) as opened:
        stream = opened.streams[NAME]
        assert stream.own_ns().tolist() == [time * 1000 for time in times(count)]
        assert tiny.pack(stream.sample(5999)) == tiny.pack(log[NAME][5999])


CONVERSIONS: dict[str, tuple[Callable[[int], Any], Callable[..., Any]]] = {
    "states": (tiny.state, type_table.odometry_from_states),
    "states of Rock": (tiny.rock_state, type_table.odometry_from_states),
    "transforms": (tiny.transform, type_table.odometry_from_transforms),
    "joints": (tiny.joints, numbers.joints_from_samples),
    "imu": (tiny.imu, numbers.imu_from_samples),
    "fixes": (tiny.solution, numbers.fixes_from_samples),
    "fixes without a solution": (lambda time: tiny.solution(time, kind="NO_SOLUTION"), numbers.fixes_from_samples),
    "states that are none": (lambda time: tiny.state(time, pos=[1.0, 2.0]), type_table.odometry_from_states),
    "states without a place": (lambda time: tiny.state(time, pos=None), type_table.odometry_from_states),
    "states with whole numbers": (lambda time: tiny.state(time, pos=[1, 2, 3]), type_table.odometry_from_states),
    "states with texts": (lambda time: tiny.state(time, orient="x"), type_table.odometry_from_states),
    "joints without names": (lambda time: tiny.joints(time) | {"names": []}, numbers.joints_from_samples),
    "joints with too few names": (lambda time: tiny.joints(time) | {"names": ["a"]}, numbers.joints_from_samples),
}


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_columns_from_bytes_equal_columns_from_samples(kind: str) -> None:
    make, convert = CONVERSIONS[kind]
    samples = [make(time) for time in times()]
    packed = [tiny.pack(sample) for sample in samples]
    template = template_of(packed[0])
    assert template is not None
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(COUNT, -1)
    assert template.fitting(rows) == COUNT
    stamps = np.array(times(), np.int64) * 1000
    alike, plain = TemplateRows(TemplateMatch(template, rows)), SampleRows(samples)
    with np.errstate(all="ignore"):
        first, second = convert(alike, stamps), convert(plain, stamps)
    assert alike.issues == plain.issues
    for field in dataclasses.fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        else:
            assert one == other, field.name


@given(st.binary(max_size=300))
def test_template_needs_complete_items(data: bytes) -> None:
    template = template_of(data)
    assert template is None or template.data == data


def test_rows_match_template_up_to_first_difference() -> None:
    packed = [tiny.pack(tiny.state(time)) for time in times(10)]
    packed[6] = packed[6].replace(b"odometry", b"Odometry")
    template = template_of(packed[0])
    assert template is not None
    assert template.fitting(np.frombuffer(b"".join(packed), np.uint8).reshape(10, -1)) == 6
