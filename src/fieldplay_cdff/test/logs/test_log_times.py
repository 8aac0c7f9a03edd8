"""Logs of many samples: what is known of them stays small, and rows, times and order are as if all were held."""

import io
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay_cdff.datasets.sherpatt.dgps import MAX_ROWS, NEAR_NS, _match_rows
from fieldplay_cdff.logs import file_index
from fieldplay_cdff.logs import log_times as external_sort
from fieldplay_cdff.logs.file_index import NO_TIME, FileWindow
from fieldplay_cdff.logs.index_scan import index_of_log
from fieldplay_cdff.logs.log import Log, open_log
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.log_times import RowTimes, StreamDefects, times_of
from fieldplay_cdff.logs.topic_builder import RecordStream
from fieldplay_cdff.logs.type_table import odometry_from_states
from fieldplay_testing import tiny_sherpatt as tiny

A, B = "/task.a", "/task.b"
COUNT = 5000
STAMPS = [tiny.START_US + 1000 * index for index in range(COUNT)]
CLOSED_AFTERWARDS = ExitStack()


@pytest.fixture(autouse=True)
def small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks, and what is sorted in memory, are so small that a few thousand samples are many."""
    monkeypatch.setenv("FIELDPLAY_CACHE", str(tmp_path / "cache"))
    for name, value in (("BLOCK_ROWS", 256), ("BLOCK_BYTES", 1 << 14), ("LARGE", 1 << 12), ("MAX_WAITING", 1000)):
        monkeypatch.setattr(file_index, name, value)
    monkeypatch.setattr(external_sort, "AT_ONCE", 700)
    monkeypatch.setattr(external_sort, "MIN_READ", 16)
    with CLOSED_AFTERWARDS:
        yield


def enter_log(path: Path, log: dict[str, Any]) -> Log:
    return CLOSED_AFTERWARDS.enter_context(open_log(tiny.write(path, log), lambda defect: None))


def states(stamps: list[int], draw: random.Random) -> list[Any]:
    """Runs that are alike, samples of other lengths, without a time and large ones, mixed."""
    samples = []
    for index, stamp in enumerate(stamps):
        is_odd = index // 700 % 2 and draw.random() < 0.5
        sample = tiny.state(stamp, frames=("b" * draw.randint(1, 9) if is_odd else "body", "odometry"))
        if index % 997 == 5:
            sample["more"] = list(range(5000))
        if index % 701 == 3:
            del sample["timestamp"]
        samples.append(sample)
    return samples


def meta(stamps: list[int]) -> dict[str, Any]:
    return {"timestamps": stamps, "type": "RigidBodyState"}


def test_any_rows_and_their_times_are_read_back(tmp_path: Path) -> None:
    draw = random.Random(1)
    samples = states(STAMPS, draw)
    logged = [0 if index % 811 == 0 else stamp + 50 for index, stamp in enumerate(STAMPS)]
    for part in range(2):
        half = slice(part * COUNT // 2, (part + 1) * COUNT // 2)
        tiny.write(tmp_path / "log" / f"x_{part:09d}.msg", {A: samples[half], f"{A}.meta": meta(logged[half])})
    log = CLOSED_AFTERWARDS.enter_context(open_log(tmp_path / "log", lambda defect: None))
    stream = log.streams[A]
    own = np.array([sample["timestamp"]["microseconds"] * 1000 if "timestamp" in sample else -1 for sample in samples])
    own[own < 0] = NO_TIME
    either = np.array([1000 * stamp if stamp else had for stamp, had in zip(logged, own.tolist(), strict=True)])
    sizes = [len(tiny.pack(sample)) for sample in samples]
    for _ in range(60):
        start = draw.randrange(COUNT)
        end = min(start + draw.choice([1, 10, 300, COUNT]), COUNT)
        assert stream.own_ns(start, end).tolist() == own[start:end].tolist()
        assert stream.logged_ns(start, end).tolist() == either[start:end].tolist()
        assert stream.sizes(start, end).tolist() == sizes[start:end]
        assert tiny.pack(stream.samples(start, min(end, start + 20))) == tiny.pack(samples[start:end][:20])
    assert stream.byte_count() == sum(sizes)
    assert [row for rows in stream.ranges() for row in range(*rows)] == list(range(COUNT))


def orders() -> dict[str, list[int]]:
    draw = random.Random(2)
    shuffled = draw.sample(STAMPS, COUNT)
    return {
        "in order": STAMPS,
        "each time often": [STAMPS[index // 900 * 900] for index in range(COUNT)],
        "a little out of order": [STAMPS[index ^ 5 if (index ^ 5) < COUNT else index] for index in range(COUNT)],
        "one far ahead": [STAMPS[-1] + 10**6 if index == 3 else stamp for index, stamp in enumerate(STAMPS)],
        "two one over the other": [STAMPS[2 * index % COUNT] for index in range(COUNT)],
        "in no order": shuffled,
        "some that are none": [3 if index % 500 == 1 else stamp for index, stamp in enumerate(STAMPS)],
    }


def times_of_log(stream: LogStream, *, by_log: bool) -> RowTimes:
    plausible_ns = (tiny.START_US * 1000 - 1, 2 * tiny.START_US * 1000)
    return times_of(stream, by_log=by_log, plausible_ns=plausible_ns, report=lambda *what: None)


@pytest.mark.parametrize("by_log", [False, True])
@pytest.mark.parametrize("name", orders())
def test_rows_are_published_in_time_order(name: str, by_log: bool, tmp_path: Path) -> None:
    stamps = orders()[name]
    own, logged = (STAMPS, stamps) if by_log else (stamps, STAMPS)
    samples = [tiny.state(stamp, pos=[float(row), 0.0, 0.0]) for row, stamp in enumerate(own)]
    stream = enter_log(tmp_path / "x.msg", {A: samples, f"{A}.meta": meta(logged)}).streams[A]
    log_times = np.array(stamps) * 1000
    expected = np.argsort(log_times, kind="stable")
    expected = expected[log_times[expected] > 3000]
    defects = StreamDefects(report=lambda what: None, stream="")
    played = RecordStream(stream, times_of_log(stream, by_log=by_log), odometry_from_states, defects)
    records = [played.load(index) for index in range(len(played.spans))]
    assert [int(x) for record in records for x in record.position_m[:, 0]] == expected.tolist()
    assert [int(time) for record in records for time in record.leaves_ns] == log_times[expected].tolist()
    for span, record in zip(played.spans, records, strict=True):
        assert (span.first_ns, span.last_ns, span.count) == (record.leaves_ns[0], record.leaves_ns[-1], len(record))


@pytest.mark.parametrize("most", [3, 1000, 10**9])
def test_external_sort_is_stable(most: int) -> None:
    draw = np.random.default_rng(most)
    rows = np.stack([draw.integers(0, most, 9000), np.arange(9000)], axis=1)
    blocks = [rows[start : start + 130] for start in range(0, len(rows), 130)]
    ordered = external_sort.in_order(blocks, 2)
    expected = rows[np.argsort(rows[:, 0], kind="stable")]
    assert len(ordered) == len(rows)
    np.testing.assert_array_equal(ordered.rows(0, 10_000), expected)
    np.testing.assert_array_equal(ordered.rows(4321, 4400), expected[4321:4400])
    assert len(external_sort.in_order([], 2)) == 0


@pytest.mark.parametrize("name", ["in order", "a little out of order", "in no order", "each time often"])
def test_row_pairing_of_streams_equals_in_memory_pairing(name: str, tmp_path: Path) -> None:
    unit_us = [stamp + 300 for stamp in orders()[name]]
    log = {A: [tiny.state(stamp) for stamp in unit_us], B: [tiny.state(stamp) for stamp in orders()[name][::-1]]}
    streams = enter_log(tmp_path / "x.msg", log | {f"{A}.meta": meta(STAMPS), f"{B}.meta": meta(STAMPS)}).streams
    unit, odometry = (streams[each].own_ns() for each in (A, B))
    order = np.argsort(odometry, kind="stable")
    known = np.flatnonzero((unit >= odometry.min()) & (unit <= odometry.max()))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MAX_ROWS).astype(int))]
    index = np.searchsorted(odometry[order], unit[chosen])
    near = odometry[order][index] - unit[chosen] <= NEAR_NS
    expected = np.stack([chosen[near], order[index[near]]], axis=1)
    np.testing.assert_array_equal(_match_rows(streams[A], streams[B]), expected)


TIMES: dict[str, list[Any]] = {
    "zeros": [0] * COUNT,
    "every other zero": [stamp if index % 2 else 0 for index, stamp in enumerate(STAMPS)],
    "runs": [stamp if index % 100 else None for index, stamp in enumerate(STAMPS)],
    "seconds": [stamp // 1_000_000 for stamp in STAMPS],
    "floating point": [float(stamp) for stamp in STAMPS],
}


@pytest.mark.parametrize("name", TIMES)
def test_times_of_other_widths_are_read_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log, looked_at = tiny.pack({f"{A}.meta": meta(TIMES[name])}), 0
    bytes_between = FileWindow.bytes_between

    def counted(window: FileWindow, start: int, end: int) -> bytes:
        nonlocal looked_at
        looked_at += len(chunk := bytes_between(window, start, end))
        return chunk

    monkeypatch.setattr(FileWindow, "bytes_between", counted)
    (part,) = index_of_log(io.BytesIO(log), lambda offset: None).parts
    known = sum(type(time) is int and time > 0 for time in TIMES[name])
    assert (part.logged.count, int(part.logged.table["known"].sum())) == (COUNT, known)
    assert looked_at < 40 * len(log)


@pytest.mark.parametrize(("before", "row"), [(20, 20), (999, 999), (1000, 0)])
def test_first_sample_with_fields_is_searched_near_start(before: int, row: int, tmp_path: Path) -> None:
    samples = [*[None] * before, *map(tiny.state, STAMPS[before : before + 20])]
    own = meta(STAMPS[: len(samples)]) | {"type": "Joints"}
    stream = enter_log(tmp_path / "x.msg", {A: samples, f"{A}.meta": own}).streams[A]
    assert (stream.first_row, stream.kind) == (row, "RigidBodyState" if row else "Joints")


def test_few_large_samples_without_fields_are_inspected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    sample = LogStream.sample

    def counted(log: LogStream, row: int, *, arrays: bool = False) -> Any:
        read.append(row)
        return sample(log, row, arrays=arrays)

    monkeypatch.setattr(LogStream, "sample", counted)
    samples: list[Any] = [["x" * 1000] * 100 for _ in range(100)]
    enter_log(tmp_path / "x.msg", {A: samples, f"{A}.meta": meta(STAMPS[:100])})
    assert len(read) == 20 + (4 << 20) // len(tiny.pack(samples[0]))


def test_index_of_many_samples_needs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    count = 1_000_000
    sample = tiny.pack({"timestamp": {"microseconds": tiny.START_US}, "value": 0.5})
    log = b"\x81" + tiny.pack(A) + b"\xdd" + count.to_bytes(4, "big") + sample * count
    file = io.BytesIO(log)
    tracemalloc.start()
    try:
        (part,) = index_of_log(file, lambda offset: None).parts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(part) == count and len(part.samples.table) < count // 2000
    assert peak < 12 << 20  # most of it the bytes that are looked at; a number for each sample would be 8 MB more
