"""The order in which samples of logs are replayed: by time, and at equal times as they are named."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay_cdff.logs.log import Entry, Log, open_log
from fieldplay_cdff.tools.replay import (
    replay,
    replay_files,
    replay_join,
    replay_sequence,
)
from fieldplay_testing.reference_logs import START_US, numbered_stream, write_log


def enter_log(stack: ExitStack, path: Path) -> Log:
    issues: list[Defect] = []
    log = stack.enter_context(open_log(path, issues.append))
    assert issues == []
    return log


def entries(name: str, *times: int) -> list[Entry]:
    return [Entry(time, name, "int", index) for index, time in enumerate(times)]


def order(entries: list[Entry]) -> list[str]:
    return [f"{entry.stream}{entry.sample}" for entry in entries]


def numbers(entries: list[Entry]) -> list[str]:
    return [entry.sample["number"] for entry in entries]


def test_log_streams_are_ordered_by_logging_time(tmp_path: Path) -> None:
    path = write_log(
        tmp_path / "a.msg",
        {
            "/a.x": numbered_stream(START_US, START_US + 20, prefix="a"),
            "/b.x": numbered_stream(START_US + 10, prefix="b", kind="T"),
        },
    )
    with ExitStack() as stack:
        entries = list(replay(enter_log(stack, path)))
    assert numbers(entries) == ["a0", "b0", "a1"]
    assert [entry.time_ns for entry in entries] == [START_US * 1000, (START_US + 10) * 1000, (START_US + 20) * 1000]
    assert [(entry.stream, entry.type) for entry in entries[:2]] == [("/a.x", "RigidBodyState"), ("/b.x", "T")]


@pytest.mark.parametrize("names", [("/a.x", "/b.x"), ("/b.x", "/a.x")])
def test_equal_times_are_ordered_by_stream_order(tmp_path: Path, names: tuple[str, ...]) -> None:
    same = numbered_stream(START_US, START_US, START_US + 5)
    path = write_log(tmp_path / "a.msg", {"/a.x": same, "/b.x": same})
    with ExitStack() as stack:
        streams = [entry.stream for entry in replay(enter_log(stack, path), names)]
    first, second = names
    assert streams == [first, first, second, second, first, second]


def test_order_of_file_is_kept_within_stream_though_times_go_back(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.msg", {"/a.x": numbered_stream(START_US + 9, START_US, START_US + 5)})
    with ExitStack() as stack:
        assert numbers(list(replay(enter_log(stack, path)))) == ["0", "1", "2"]


def test_unknown_stream_is_reported_with_known_ones(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.msg", {"/a.x": numbered_stream(START_US), "/b.x": numbered_stream(START_US)})
    with ExitStack() as stack:
        log = enter_log(stack, path)
        with pytest.raises(ArchiveError, match=r"no stream /c\.x; there are /a\.x, /b\.x"):
            replay(log, ["/a.x", "/c.x"])
        with pytest.raises(ArchiveError, match=r"no stream /c\.x; there are /a\.x, /b\.x"):
            replay_files([[log]], ["/c.x"])


def test_join_takes_earliest_sample_and_first_iterator_on_ties() -> None:
    entries_joined = replay_join([entries("a", 1, 3, 3), entries("b", 1, 2, 3)])
    assert order(list(entries_joined)) == ["a0", "b0", "b1", "a1", "a2", "b2"]


def test_join_continues_after_empty_iterators() -> None:
    assert list(replay_join([])) == []
    assert list(replay_join([iter(()), iter(())])) == []
    assert order(list(replay_join([iter(()), entries("a", 2), iter(()), entries("b", 1)]))) == ["b0", "a0"]


def test_join_reads_lazily() -> None:
    def endless() -> Iterator[Entry]:
        time = 0
        while True:
            time += 10
            yield Entry(time, "a", "int", time)

    joined = replay_join([endless(), entries("b", 15)])
    assert [next(joined).time_ns for _ in range(3)] == [10, 15, 20]


def test_sequence_concatenates_regardless_of_times() -> None:
    assert order(list(replay_sequence([entries("a", 5, 6), iter(()), entries("b", 1)]))) == ["a0", "a1", "b0"]


def test_file_groups_are_joined_sequences(tmp_path: Path) -> None:
    first = write_log(tmp_path / "a_0.msg", {"/a.x": numbered_stream(START_US, START_US + 40, prefix="a")})
    second = write_log(tmp_path / "a_1.msg", {"/a.x": numbered_stream(START_US + 20, START_US + 60, prefix="c")})
    other = write_log(tmp_path / "b_0.msg", {"/b.x": numbered_stream(START_US, START_US + 30, prefix="b")})
    with ExitStack() as stack:
        groups = [[enter_log(stack, first), enter_log(stack, second)], [enter_log(stack, other)]]
        assert numbers(list(replay_files(groups))) == ["a0", "b0", "b1", "a1", "c0", "c1"]
        assert numbers(list(replay_files(groups[::-1]))) == ["b0", "a0", "b1", "a1", "c0", "c1"]
        assert numbers(list(replay_files(groups, ["/b.x"]))) == ["b0", "b1"]


@given(st.lists(st.lists(st.integers(0, 6)).map(sorted), max_size=5))
def test_join_of_ordered_replays_is_stable_sort(times: list[list[int]]) -> None:
    replays = [entries(chr(97 + index), *own) for index, own in enumerate(times)]
    one_after_the_other = [entry for own in replays for entry in own]
    assert list(replay_join(replays)) == sorted(one_after_the_other, key=lambda entry: entry.time_ns)


@given(st.lists(st.lists(st.integers(0, 6)), max_size=4))
def test_join_keeps_all_samples_and_order_of_each_replay(times: list[list[int]]) -> None:
    replays = [entries(chr(97 + index), *own) for index, own in enumerate(times)]
    joined = list(replay_join(map(iter, replays)))
    for own in replays:
        assert [entry for entry in joined if own and entry.stream == own[0].stream] == own
    assert len(joined) == sum(map(len, times))
