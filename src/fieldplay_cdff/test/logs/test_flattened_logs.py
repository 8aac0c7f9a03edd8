"""Columns of flattened logs: passed over in runs, read as arrays, and up to the item that has a fault."""

import io
import math
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs import file_index, index_scan
from fieldplay_cdff.logs import flattened_logs as column_items
from fieldplay_cdff.logs import flattened_logs as column_samples
from fieldplay_cdff.logs import index_scan as index_runs
from fieldplay_cdff.logs.file_index import (
    NO_TIME,
    PER_BLOCK,
    FileIndex,
    StreamPart,
)
from fieldplay_cdff.logs.flattened_logs import own_times, rows_of_columns, samples_of_columns
from fieldplay_cdff.logs.index_scan import index_of_log
from fieldplay_cdff.logs.sample_rows import SampleRows
from fieldplay_cdff.logs.type_table import (
    imu_from_samples,
    joints_from_samples,
    odometry_from_states,
    scans_from_samples,
)
from fieldplay_testing import tiny_sherpatt as tiny

STREAM = "/task.port"
LONG = 3 * PER_BLOCK + 5

ITEMS: dict[str, Callable[[int], Any]] = {
    "doubles": lambda i: 0.5 * i,
    "whole numbers of eight bytes": lambda i: tiny.START_US + i,
    "whole numbers of one byte": lambda i: i % 128 if i % 3 else -(i % 32) - 1,
    "whole numbers of all sizes": lambda i: 3**i % 2**60,
    "numbers and nothing": lambda i: None if i % 50 == 49 else 0.25 * i,
    "truth values": lambda i: i % 7 == 0,
    "the same text": lambda i: "odometry",
    "texts of one length": lambda i: f"{i:06d}",
    "texts of many lengths": lambda i: "x" * (i % 40),
    "vectors": lambda i: [0.1 * i, math.nan, -1.0],
    "squares": lambda i: [[float(i)] * 3, [0.0] * 3, [math.inf] * 3],
    "lists of many lengths": lambda i: [0.5] * (i % 5),
    "lists of small numbers": lambda i: [i % 2, True, None],
    "maps": lambda i: {"a": float(i), "b": "text"},
    "maps of several forms": lambda i: {"a": float(i)} if i % 3 else {"b": [0.5], "a": "text"},
    "numbers of two kinds": lambda i: [0.5 * i, i % 3, 1.0],
    "long lists": lambda i: [1000 + i] * 300,
    "runs that change": lambda i: 0.5 if i // 100 % 2 else i,
}


def log_of(columns: dict[str, list[Any]]) -> bytes:
    return bytes(tiny.pack({f"{STREAM}/{name}": values for name, values in columns.items()}))


def index_of(data: bytes) -> FileIndex:
    return index_of_log(io.BytesIO(data), lambda offset: None)


def part_of(data: bytes) -> StreamPart:
    index = index_of(data)
    assert not index.issues
    (part,) = index.parts
    return part


def reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda start, size: data[start : start + size]


def samples_of(
    data: bytes, part: StreamPart, start: int = 0, end: int | None = None, *, arrays: bool = False
) -> list[Any]:
    return samples_of_columns(part, start, len(part) if end is None else end, reader(data), arrays=arrays)


def same(actual: Any, expected: Any) -> bool:
    return bool(tiny.pack(actual) == tiny.pack(expected))  # NaN equals NaN there


def offsets_of(data: bytes, name: str, count: int) -> list[int]:
    """Where each item of a column begins, by msgpack alone, and where the last ends."""
    unpacker = msgpack.Unpacker(io.BytesIO(data[data.index(tiny.pack(f"{STREAM}/{name}")) :]))
    base = data.index(tiny.pack(f"{STREAM}/{name}"))
    unpacker.skip()
    unpacker.read_array_header()
    offsets = [base + unpacker.tell()]
    for _ in range(count):
        unpacker.skip()
        offsets.append(base + unpacker.tell())
    return offsets


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (file_index, index_scan):
        monkeypatch.setattr(module, "CHUNK", 1000)


@pytest.mark.parametrize("kind", ITEMS)
def test_item_offsets_match_msgpack(kind: str, small_chunks: None) -> None:
    data = log_of({"time/microseconds": [tiny.START_US] * LONG, "x": [ITEMS[kind](i) for i in range(LONG)]})
    part = part_of(data)
    column, offsets = part.columns["x"], offsets_of(data, "x", LONG)
    assert (column.count, column.end, column.is_cut) == (LONG, offsets[-1], False)
    assert column.step == PER_BLOCK and column.begins.tolist() == offsets[:-1:PER_BLOCK]


@pytest.mark.parametrize("kind", ITEMS)
def test_items_match_msgpack(kind: str) -> None:
    values = [ITEMS[kind](i) for i in range(LONG)]
    data = log_of({"x": values})
    part = part_of(data)
    for start, end in ((0, LONG), (255, 257), (300, 301), (PER_BLOCK, 2 * PER_BLOCK), (LONG - 3, LONG)):
        assert same(samples_of(data, part, start, end), [{"x": value} for value in values[start:end]])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(ITEMS)), st.integers(1, 400)), min_size=1, max_size=5))
def test_columns_of_any_runs_are_complete(runs: list[tuple[str, int]]) -> None:
    values = [ITEMS[kind](i) for kind, count in runs for i in range(count)]
    data = log_of({"x": values})
    part = part_of(data)
    assert part.columns["x"].end == offsets_of(data, "x", len(values))[-1]
    assert same(samples_of(data, part), [{"x": value} for value in values])


@pytest.mark.parametrize("kind", ITEMS)
def test_column_numbers_match_samples(kind: str) -> None:
    values = [ITEMS[kind](i) for i in range(LONG)]
    data = log_of({"Some_X": values, "y/data": values, "elements/z": [[0.5]] * LONG})
    part = part_of(data)
    for start, end in ((0, LONG), (250, 300)):
        quick, plain = rows_of_columns(part, start, end, reader(data)), SampleRows(samples_of(data, part, start, end))
        for name in ("somex", "y", "y.data", "somex.a", "none"):
            for length in (1, 3, 9):
                np.testing.assert_array_equal(quick.vectors(length, name), plain.vectors(length, name))
                assert quick.issues.keys() == plain.issues.keys()
                quick.issues.clear()
                plain.issues.clear()
            from_columns = [value.tolist() if isinstance(value, np.ndarray) else value for value in quick.values(name)]
            assert same(from_columns, plain.values(name))
        assert same(list(quick.samples), list(plain.samples)) and len(quick) == end - start


def test_quaternion_of_rock_is_read_from_its_two_columns() -> None:
    turns: dict[str, list[Any]] = {
        "orientation/im": [[0.0, 0.0, 0.1 * i] for i in range(9)],
        "orientation/re": [1.0] * 9,
    }
    data = log_of(turns)
    rows = rows_of_columns(part_of(data), 2, 9, reader(data))
    assert rows.vectors(4, "orient", "orientation")[:2].tolist() == [[0.0, 0.0, 0.2, 1.0], [0.0, 0.0, 0.1 * 3, 1.0]]
    assert rows.has_parts("orientation").all()


def test_numeric_records_are_built_without_assembling_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [tiny.START_US + tiny.STEP_US * index for index in range(LONG)]
    stamps = np.array(many, np.int64) * 1000
    makers: dict[Callable[[SampleRows, Any], Any], tuple[Callable[[int], Any], ...]] = {
        odometry_from_states: (tiny.state, tiny.rock_state),
        joints_from_samples: (tiny.joints,),
        imu_from_samples: (tiny.imu,),
        scans_from_samples: (lambda time: tiny.laser_scan(time) | {"ranges": [1500 + time % 7] * 30},),
    }
    for convert, forms in makers.items():
        for form in forms:
            samples: list[Any] = [form(time) for time in many]
            data = tiny.pack(tiny.columns_of(STREAM, samples))
            rows = rows_of_columns(part_of(data), 0, LONG, reader(data))
            expected = convert(SampleRows(samples), stamps)
            with monkeypatch.context() as patched:
                patched.setattr(column_samples, "samples_of_items", lambda items, count: pytest.fail("one was"))
                record = convert(rows, stamps)
            assert not rows.issues
            for name, value in vars(expected).items():
                np.testing.assert_array_equal(getattr(record, name), value)


def test_names_may_be_written_with_each_sample_or_once() -> None:
    samples = [tiny.joints(time) for time in tiny.times()]
    for once in (True, False):
        data = tiny.pack(tiny.columns_of(STREAM, samples, names_once=once))
        rows = rows_of_columns(part_of(data), 1, tiny.COUNT, reader(data))
        record = joints_from_samples(rows, np.arange(4, dtype=np.int64))
        assert record.names == tuple(tiny.JOINT_NAMES) and not rows.issues
        assert record.position is not None and record.position[:, 0].tolist() == [0.1, 0.2, 0.1 * 3, 0.4]


@pytest.mark.parametrize("kind", ["doubles", "texts of many lengths", "vectors", "whole numbers of all sizes"])
@pytest.mark.parametrize("issue", ["cut", "damaged"])
def test_column_plays_up_to_its_defect_which_is_reported_with_its_location(
    kind: str, issue: str, small_chunks: None
) -> None:
    values = [ITEMS[kind](i) for i in range(LONG)]
    data = log_of({"w": list(range(LONG)), "x": values})
    offsets = offsets_of(data, "x", LONG)
    for item in (0, 1, 100, 255, 256, 257, 700, LONG - 1):
        start, end = offsets[item], offsets[item + 1]
        broken = data[: end - 1] if issue == "cut" else data[:start] + b"\xc1" + data[start + 1 :]
        index = index_of(broken)
        ((label, message),) = index.issues
        assert label == ("truncated_log" if issue == "cut" else "corrupt_log")
        assert message.startswith(f"corrupt near byte {start}: ")
        assert f"item {item} of the column x of {STREAM}" in message
        (part,) = index.parts
        expected = [{"w": i, "x": values[i]} if i < item else {"w": i} for i in range(LONG)]
        assert same(samples_of(broken, part), expected)
        low, high = max(item - 4, 0), item + 4
        rows = rows_of_columns(part, low, min(high, LONG), reader(broken))
        assert same(list(rows.samples), expected[low:high])


def test_column_alone_has_samples_before_its_defect() -> None:
    data = log_of({"x": [0.5] * LONG})
    (part,) = index_of(data[:-1]).parts
    assert len(part) == LONG - 1 and samples_of(data, part) == [{"x": 0.5}] * (LONG - 1)


def test_elements_missing_a_field_after_defect_keep_others() -> None:
    data = tiny.pack(tiny.columns_of(STREAM, [tiny.joints(time) for time in tiny.times()]))
    (part,) = index_of(data[:-1]).parts
    samples = samples_of(data[:-1], part)
    assert [sorted(sample["elements"][0]) for sample in samples[-2:]] == [
        ["acceleration", "effort", "position", "raw", "speed"], ["effort", "position", "raw", "speed"],
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["eight bytes", "of all sizes", "some are none"])
def test_own_times_of_interval_are_read(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldplay_cdff.logs.flattened_logs.AT_ONCE", 100)
    times: list[Any] = [tiny.START_US + i for i in range(LONG)]
    if form == "of all sizes":
        times = [i + 1 for i in range(LONG)]
    if form == "some are none":
        times[300:303] = [None, -5, 1 << 63]
    data = log_of({"x": [0.5] * LONG, "ref_time/microseconds": times})
    part = part_of(data)
    expected = [time if time is not None and 0 < time < 1 << 63 else NO_TIME for time in times]
    for start, end in ((0, LONG), (290, 310), (LONG - 1, LONG)):
        assert own_times(part, start, end, reader(data)).tolist() == expected[start:end]
    data = log_of({"x": [0.5] * 9})
    assert own_times(part_of(data), 2, 5, reader(data)).tolist() == [NO_TIME] * 3


def test_large_items_have_own_offsets_though_first_is_empty() -> None:
    images = [[], *([list(range(256)) * 40] * 5)]
    data = log_of({"x": images})
    part = part_of(data)
    assert part.columns["x"].step == 1 and part.columns["x"].begins.tolist() == offsets_of(data, "x", 6)[:-1]
    samples = samples_of(data, part, arrays=True)
    assert isinstance(samples[3]["x"], np.ndarray) and samples[3]["x"].tolist() == images[3]
    assert same(samples_of(data, part), [{"x": image} for image in images])


def test_large_items_after_many_small_ones_are_read_individually(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_items, "MAX_BYTES", 50_000)
    values = [[1]] * (PER_BLOCK + 3) + [[7] * 9000] * 20
    data = log_of({"x": values})
    part = part_of(data)
    largest = 0

    def read(start: int, size: int) -> bytes:
        nonlocal largest
        largest = max(largest, size)
        return data[start : start + size]

    monkeypatch.setattr(column_items, "READ_SIZE", 10_000)
    for start, end in ((260, 261), (270, 279), (0, len(values))):
        samples = samples_of_columns(part, start, end, read, arrays=False)
        assert samples == [{"x": value} for value in values[start:end]]
    assert largest <= 10_000


def test_few_offsets_are_kept_of_many_items() -> None:
    count = 100_000
    part = part_of(log_of({"x": [0.5] * count, "y": ["text" * (i % 3) for i in range(count)]}))
    assert [len(column.begins) for column in part.columns.values()] == [math.ceil(count / PER_BLOCK)] * 2


def test_runs_are_not_passed_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0
    one_by_one = index_runs.ColumnRuns._one_by_one

    def counted(items: index_runs.ColumnRuns, count: int) -> int:
        nonlocal passed
        passed += count
        return one_by_one(items, count)

    monkeypatch.setattr(index_runs.ColumnRuns, "_one_by_one", counted)
    part_of(log_of({"x": [[0.5, 1.0]] * 20_000}))
    assert passed < 30


@pytest.mark.parametrize("order", [("x", "x/y"), ("x/y", "x")])
def test_field_that_is_map_and_number_is_harmless(order: tuple[str, str]) -> None:
    data = log_of({name: [1.5] * 9 for name in order})
    part = part_of(data)
    assert samples_of(data, part) == [{"x": {"y": 1.5}}] * 9
    rows = rows_of_columns(part, 0, 9, reader(data))
    assert rows.values("x.y") == [1.5] * 9


def test_undecodable_item_raises_readable_error() -> None:
    data = log_of({"x": [{"a": 1}] * 9}).replace(tiny.pack({"a": 1}), b"\x81\x01\x01")
    part = part_of(data)
    with pytest.raises(ArchiveError, match="expected 9 items of a column, got another thing than a text"):
        samples_of(data, part)


def test_empty_column_has_no_items() -> None:
    index = index_of(tiny.pack({f"{STREAM}/x": [], f"{STREAM}.meta/type": "Joints"}))
    (part,) = index.parts
    assert len(part) == 0 == part.columns["x"].count and part.type == "Joints"
