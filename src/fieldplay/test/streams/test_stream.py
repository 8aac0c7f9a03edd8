from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from fieldplay.io import table
from fieldplay.io.containers import open_files
from fieldplay.io.table import Table, Tables, TableStream
from fieldplay.io.table_format import TableSpec
from fieldplay.messages.records import Temperature
from fieldplay.streams.stream import (
    EvenlyTimedStream,
    InMemoryStream,
    JoinedStream,
    TruncatedStream,
)

START = 1656931512
S = 10**9
MS = 10**6

MakeTables = Callable[..., Tables]


@pytest.fixture
def make_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeTables]:
    """Makes tables of the given times in ms, in blocks of some ten rows; each row holds its own time."""
    monkeypatch.setattr(table, "BLOCK_SIZE", 200)
    with ExitStack() as stack:

        def make(*times_ms: list[int]) -> Tables:
            for index, times in enumerate(times_ms):
                text = "".join(f"{START + ms // 1000}.{ms % 1000:03},{ms}\n" for ms in times)
                (tmp_path / f"{index}.csv").write_text(text)
            files = stack.enter_context(open_files(tmp_path, [].append))
            spec = TableSpec(layouts=[["time", "ms"]])
            plausible = (0, 2**62)
            opened = [Table(files, name, spec, [].append, plausible_ns=plausible) for name in files.names]
            return Tables(opened)

        yield make


def at(*times_ms: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return START * S + np.array(times_ms, np.int64) * MS


def test_several_tables_are_merged_by_time(make_tables: MakeTables) -> None:
    tables = make_tables([0, 20, 40], [10, 30, 50])
    assert tables.count == 6
    assert tables.rows_between(int(at(10)[0]), int(at(40)[0]))["ms"].tolist() == [10, 20, 30, 40]


def test_nearest_row_is_on_either_side_and_within_limit(make_tables: MakeTables) -> None:
    tables = make_tables(list(range(0, 1000, 10)))
    rows, near = tables.nearest(at(-3, 4, 6, 994, 1100), 5 * MS)
    assert near.tolist() == [True, True, True, True, False]
    assert rows["ms"][near].tolist() == [0, 0, 10, 990]


def test_nearest_row_equals_brute_force(make_tables: MakeTables) -> None:
    draw = np.random.default_rng(4)
    times = np.sort(draw.choice(5000, 300, replace=False))
    requested = np.sort(draw.choice(np.arange(-200, 5200), 200, replace=False))
    rows, near = make_tables(times[::2].tolist(), times[1::2].tolist()).nearest(at(*requested.tolist()), 20 * MS)
    distance = np.abs(requested[:, None] - times[None, :]).min(axis=1)
    assert near.tolist() == (distance <= 20).tolist()
    assert np.abs(rows["ms"] - requested)[near].tolist() == distance[near].tolist()


def test_without_near_row_nothing_matches(make_tables: MakeTables) -> None:
    rows, near = make_tables([0, 10]).nearest(at(5000, 6000), 5 * MS)
    assert (len(rows), near.tolist()) == (2, [False, False])


def test_stream_has_one_span_per_block_converted_on_load(make_tables: MakeTables) -> None:
    tables = make_tables(list(range(0, 1000, 10)))
    stream = TableStream(tables, lambda rows: Temperature(stamp_ns=rows.stamp_ns, temperature_deg_c=rows["ms"]))
    assert len(stream.spans) > 5
    assert sum(span.count for span in stream.spans) == 100
    for index in reversed(range(len(stream.spans))):
        record, span = stream.load(index), stream.spans[index]
        assert isinstance(record, Temperature)
        assert (record.stamp_ns[0], record.stamp_ns[-1], len(record)) == (span.first_ns, span.last_ns, span.count)
        assert (record.stamp_ns == at(*record.temperature_deg_c.astype(int).tolist())).all()


def number_stream(make_tables: MakeTables, *times: list[int]) -> TableStream:
    """A stream of several tables whose values are their times in ms."""
    return TableStream(
        make_tables(*times), lambda rows: Temperature(stamp_ns=rows.stamp_ns, temperature_deg_c=rows["ms"])
    )


def test_stream_can_end_at_a_time(make_tables: MakeTables) -> None:
    whole = number_stream(make_tables, list(range(0, 1000, 10)))
    for last in (0, 455, 460, 5000):
        stream = TruncatedStream(whole, int(at(last)[0]))
        records = [stream.load(index) for index in range(len(stream.spans))]
        result_ns = np.concatenate([record.stamp_ns for record in records])
        assert result_ns.tolist() == at(*range(0, min(last, 990) + 1, 10)).tolist()
        assert max(span.last_ns for span in stream.spans) <= at(last)[0]


def test_times_are_spread_evenly_over_all_spans(make_tables: MakeTables) -> None:
    batched = [index // 5 * 50 for index in range(300)]
    stream = EvenlyTimedStream(number_stream(make_tables, batched))
    assert len(stream.spans) > 3
    first, last = at(0)[0], at(batched[-1])[0]
    start = 0
    for index, span in enumerate(stream.spans):
        record = stream.load(index)
        assert isinstance(record, Temperature)
        expected = [int(first + (int(last) - int(first)) * k // 299) for k in range(start, start + len(record))]
        assert record.stamp_ns.tolist() == expected
        assert (span.first_ns, span.last_ns, span.count) == (expected[0], expected[-1], len(expected))
        assert record.temperature_deg_c.tolist() == batched[start : start + len(record)]
        start += len(record)
    assert start == 300


def test_even_times_over_days_do_not_overflow(make_tables: MakeTables) -> None:
    stream = EvenlyTimedStream(number_stream(make_tables, [0, 1, 2, 90_000_000]))
    stamps = stream.load(0).stamp_ns
    assert (stamps - at(0)[0]).tolist() == [0, 30_000_000 * MS, 60_000_000 * MS, 90_000_000 * MS]


def test_held_stream_has_one_span_or_none() -> None:
    record = Temperature(stamp_ns=np.array([3, 5, 9]) * S, temperature_deg_c=np.zeros(3))
    held = InMemoryStream(record)
    assert [(span.first_ns, span.last_ns, span.count) for span in held.spans] == [(3 * S, 9 * S, 3)]
    assert held.load(0) is record
    assert InMemoryStream(record.only(np.zeros(3, bool))).spans == []


def test_joined_streams_load_their_own_spans(make_tables: MakeTables) -> None:
    whole = number_stream(make_tables, list(range(0, 200, 10)))
    streams = [whole, TruncatedStream(whole, START * S + 50 * MS)]
    joined = JoinedStream(streams)
    assert len(joined.spans) == sum(len(stream.spans) for stream in streams) > 2
    for index, span in enumerate(joined.spans):
        stamps = joined.load(index).stamp_ns
        assert stamps[0] == span.first_ns and stamps[-1] <= span.last_ns
