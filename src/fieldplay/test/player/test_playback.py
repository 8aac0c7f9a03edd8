"""Playing in time that the test makes: waiting is a step of the clock, and what is asked for comes at its moment."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest

from fieldplay.player.read_ahead import QueuedMessage, ReadState
from fieldplay_testing.playback_stage import ARCHIVE, DAY, MS, ListReader, Stage

PATIENCE_S = 30.0
pytestmark = pytest.mark.usefixtures("both_sinks")


def test_messages_are_published_on_time_after_latched_ones() -> None:
    assert Stage().run() == [(0, b"static"), (0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (400, b"4")]


def test_double_rate_halves_duration() -> None:
    assert Stage(rate=2.0).run()[1:] == [(0, b"0"), (50, b"1"), (100, b"2"), (150, b"3"), (200, b"4")]


def test_new_rate_applies_from_current_position() -> None:
    stage = Stage()
    stage.at(150, stage.playback.set_rate, 0.5)
    stage.at(160, stage.playback.set_rate, 0.0)
    stage.at(170, stage.playback.set_rate, float("nan"))
    stage.at(180, stage.playback.set_rate, 5e-324)  # of no time that a machine can count is it the pace
    stage.at(190, stage.playback.set_rate, 1e300)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (250, b"2"), (450, b"3"), (650, b"4")]
    assert stage.time.answers == [True, False, False, False, False]


def test_only_latched_messages_are_published_when_started_paused() -> None:
    stage = Stage(paused=True, clock_hz=100.0)
    stage.at(700, lambda: (list(stage.sink.sent), list(stage.sink.clocks)))
    stage.at(1000, stage.playback.resume)
    assert stage.run()[:3] == [(0, b"static"), (1000, b"0"), (1100, b"1")]
    assert stage.time.answers[0] == ([(0, b"static")], [])


def test_pause_delays_all_later_messages() -> None:
    stage = Stage()
    stage.at(150, stage.playback.toggle_paused)
    stage.at(650, stage.playback.toggle_paused)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (700, b"2"), (800, b"3"), (900, b"4")]


def test_step_publishes_one_message_only_while_paused() -> None:
    stage = Stage()
    stage.at(50, stage.playback.play_next)
    stage.at(60, stage.playback.pause)
    stage.at(500, stage.playback.play_next)
    stage.at(600, stage.playback.play_next)
    stage.at(700, stage.playback.resume)
    assert stage.run()[1:] == [(0, b"0"), (500, b"1"), (600, b"2"), (800, b"3"), (900, b"4")]
    assert stage.time.answers == [False, None, True, True, None]


def test_burst_publishes_count_or_all_remaining() -> None:
    stage = Stage(paused=True, on_end="exit")
    stage.at(10, stage.playback.burst, 2)
    stage.at(20, stage.playback.burst, 0)
    stage.at(30, stage.playback.burst, 3)
    stage.at(40, stage.playback.play_next)
    stage.at(50, stage.playback.resume)
    assert stage.run()[1:] == [(10, b"0"), (10, b"1"), (20, b"2"), (20, b"3"), (20, b"4")]
    assert stage.time.answers == [2, 3, 0, False, None]


def test_burst_does_nothing_while_playing() -> None:
    stage = Stage()
    stage.at(50, stage.playback.burst, 0)
    stage.run()
    assert stage.time.answers == [0]


def test_seek_moves_both_directions_without_latched_messages() -> None:
    stage = Stage()
    stage.at(50, stage.playback.seek, ARCHIVE + 290 * MS)
    stage.at(150, stage.playback.seek, ARCHIVE + 100 * MS)
    assert stage.run() == [(0, b"static"), (0, b"0"), (60, b"3"), (150, b"1"), (250, b"2"), (350, b"3"), (450, b"4")]
    assert stage.time.answers == [True, True]


def test_seek_while_paused_publishes_nothing_until_resumed() -> None:
    stage = Stage(paused=True)
    stage.at(10, stage.playback.seek, ARCHIVE + 300 * MS)
    stage.at(20, lambda: stage.playback.status().position_ns - ARCHIVE)
    stage.at(30, stage.playback.resume)
    assert stage.run()[1:] == [(30, b"3"), (130, b"4")]
    assert stage.time.answers[1] == 300 * MS


@pytest.mark.parametrize("outside_ns", [ARCHIVE - 1, ARCHIVE + 400 * MS + 1])
def test_seek_outside_archive_is_rejected(outside_ns: int) -> None:
    stage = Stage()
    stage.at(50, stage.playback.seek, outside_ns)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (400, b"4")]
    assert stage.time.answers == [False]


def test_loop_restarts_after_gap_with_same_stamps() -> None:
    stage = Stage(loop=True)
    stage.at(750, stage.playback.stop)
    assert stage.run()[5:] == [(400, b"4"), (500, b"0"), (600, b"1"), (700, b"2")]


def test_loop_stamps_continue_if_requested() -> None:
    stage = Stage(loop=True, loop_stamps="continue", clock_hz=10.0)
    stage.at(1150, stage.playback.stop)
    sent = [data for _, data in stage.run()]
    assert sent[5:8] == [b"4", b"0+500000000", b"1+500000000"]
    assert sent[-2:] == [b"0+1000000000", b"1+1000000000"]
    clock_ms = [stamp // MS for _, stamp in stage.sink.clocks]
    assert clock_ms == sorted(clock_ms)
    assert sorted(set(clock_ms)) == list(range(0, 1200, 100))


def test_steps_wrap_around_loop_but_full_burst_stops_at_end() -> None:
    stage = Stage(loop=True, paused=True)
    stage.at(10, stage.playback.burst, 0)
    stage.at(20, stage.playback.burst, 7)
    stage.at(30, stage.playback.stop)
    assert b"".join(data for _, data in stage.run()[1:]) == b"01234" + b"0123401"
    assert stage.time.answers == [5, 7, None]


def test_playback_pauses_at_end_if_requested_and_can_seek_back() -> None:
    stage = Stage(on_end="pause")
    stage.at(1000, lambda: stage.playback.status().paused)
    stage.at(1010, stage.playback.seek, ARCHIVE + 300 * MS)
    stage.at(1020, stage.playback.resume)
    stage.at(2000, stage.playback.stop)
    assert stage.run()[6:] == [(1020, b"3"), (1120, b"4")]
    assert stage.time.answers[:2] == [True, True]


def test_clock_topic_follows_play_head() -> None:
    stage = Stage(clock_hz=20.0, on_end="pause")
    stage.at(120, stage.playback.pause)
    stage.at(620, stage.playback.resume)
    stage.at(700, stage.playback.seek, ARCHIVE + 50 * MS)
    stage.at(705, stage.playback.seek, ARCHIVE + 350 * MS)
    stage.at(2000, stage.playback.stop)
    stage.run()
    clocks = [(at // MS, stamp // MS) for at, stamp in stage.sink.clocks]
    assert clocks == [
        (0, 0),
        (50, 50),
        (100, 100),
        (620, 120),
        (670, 170),
        (700, 50),
        (705, 350),
        (755, 400),
        (755, 400),
    ]


def test_clock_never_passes_unpublished_message() -> None:
    stage = Stage(clock_hz=100.0)
    stage.sink.slow = {b"1": 250 * MS}
    stage.run()
    last_clock = 0
    for item in stage.sink.order[1:]:
        if isinstance(item, bytes):
            assert last_clock <= int(item) * 100 * MS
        else:
            assert isinstance(item, int)
            assert item >= last_clock
            last_clock = item
    assert last_clock == 400 * MS


def test_step_publishes_clock() -> None:
    stage = Stage(clock_hz=20.0, paused=True)
    stage.at(10, stage.playback.burst, 3)
    stage.at(20, stage.playback.stop)
    stage.run()
    assert [stamp // MS for _, stamp in stage.sink.clocks] == [0, 100, 200]


def test_lag_drops_nothing_and_is_reported() -> None:
    stage = Stage()
    stage.sink.slow = {b"1": 250 * MS}
    stage.at(380, lambda: stage.playback.status().lag_ns)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (350, b"2"), (350, b"3"), (400, b"4")]
    assert stage.time.answers == [50 * MS]
    assert [text.split(";")[0] for text in stage.reports] == ["is behind by 0.15 s", "has caught up"]


def test_pause_while_behind_resumes_after_last_published_message() -> None:
    stage = Stage()
    stage.sink.slow = {b"1": 190 * MS}
    stage.at(295, stage.playback.pause)
    stage.at(1000, stage.playback.resume)
    assert stage.run()[2:] == [(100, b"1"), (290, b"2"), (1005, b"3"), (1105, b"4")]


def test_latched_messages_at_start_are_published_before_clock_runs() -> None:
    messages = [
        QueuedMessage(0, ARCHIVE, b"map"),
        *(QueuedMessage(1, ARCHIVE + k * 100 * MS, b"%d" % k) for k in range(3)),
    ]
    stage = Stage(messages=[*messages, QueuedMessage(0, ARCHIVE + 200 * MS, b"next")], latched=frozenset({0}))
    stage.sink.slow = {b"map": 70 * MS}
    sent = stage.run()[1:]
    assert sent == [(0, b"map"), (70, b"0"), (170, b"1"), (270, b"2"), (270, b"next")]


def test_messages_due_within_50_microseconds_are_published_together() -> None:
    messages = [QueuedMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 45_000, 60_000, 105_000)]
    stage = Stage(messages=messages)
    stage.run()
    assert [at for at, _ in stage.sink.sent[1:]] == [0, 0, 60_000, 60_000]


def test_early_wake_up_publishes_only_due_messages() -> None:
    stage = Stage(messages=[QueuedMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 100 * MS, 100 * MS + 45_000)])
    stage.time.script.append((100 * MS - 30_000, stage.playback.status))
    stage.run()
    assert [at for at, _ in stage.sink.sent[1:]] == [0, 100 * MS - 30_000, 100 * MS + 45_000]


def test_play_head_ends_at_last_message() -> None:
    messages = [QueuedMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 40_000)]
    stage = Stage(messages=messages, clock_hz=10.0)
    stage.run()
    assert stage.sink.sent[-1] == (0, b"40000")
    assert stage.sink.clocks[-1] == (0, 40_000)


def test_requests_before_start_wait_until_playing() -> None:
    stage, starts = Stage(paused=True), Event()
    playback, changed = stage.playback, stage.playback._changed

    def early() -> tuple[bool, bool]:
        starts.set()
        return playback.seek(ARCHIVE + 300 * MS), playback.play_next()

    with ThreadPoolExecutor(1) as pool:
        requested = pool.submit(early)
        assert starts.wait(PATIENCE_S)
        stage.at(10, changed.wait_for, lambda: stage.sink.sent[1:], PATIENCE_S)
        stage.at(20, playback.stop)
        stage.run()
        assert requested.result(PATIENCE_S) == (True, True)
    assert stage.sink.order == [b"static", ("jump", 300), b"3"]


def test_wall_clock_stamps_are_due_times() -> None:
    times = [0, 100, 100, 200]
    stage = Stage(messages=[QueuedMessage(1, ARCHIVE + ms * MS, b"") for ms in times], stamps="now", rate=2.0)
    sent = stage.run()
    stamps = [ARCHIVE + ms * MS + int(data) - DAY for ms, (_, data) in zip(times, sent[1:], strict=True)]
    assert stamps == [0, 50 * MS, 50 * MS, 100 * MS]


def test_wall_clock_stamps_do_not_go_back_on_seek() -> None:
    stage = Stage(stamps="now")
    stage.at(150, stage.playback.seek, ARCHIVE)
    sent = stage.run()
    stamps = [ARCHIVE + int(data[:1]) * 100 * MS + int(data[1:]) - DAY for _, data in sent[1:]]
    assert [stamp // MS for stamp in stamps] == [0, 100, 150, 250, 350, 450, 550]


def test_defective_rows_are_counted_and_not_published() -> None:
    messages = [QueuedMessage(1, ARCHIVE + k * MS, None if k % 2 else b"%d" % k) for k in range(5)]
    stage = Stage(messages=messages)
    assert [data for _, data in stage.run()] == [b"static", b"0", b"2", b"4"]
    status = stage.playback.status()
    assert (status.published, status.skipped) == ((1, 3), (0, 2))


def test_playback_waits_for_subscribers() -> None:
    stage = Stage(wait_for_subscribers=2)
    stage.at(10, lambda: stage.playback.status().state)
    stage.at(500, stage.playback.release)
    assert stage.run()[:3] == [(0, b"static"), (500, b"0"), (600, b"1")]
    assert stage.time.answers[0] == "waiting for subscribers"


def with_a_gap(**options: Any) -> Stage:
    """Messages at 0 and 100 ms, then none until 10 s, then at 10.1 and 11 s; gaps above 2 s are passed over."""
    times = [0, 100, 10_000, 10_100, 11_000]
    messages = [QueuedMessage(1, ARCHIVE + ms * MS, b"%d" % k) for k, ms in enumerate(times)]
    return Stage(messages=messages, **{"skip_gaps_s": 2.0, **options})


def test_long_gap_is_skipped_to_shortly_before_next_message() -> None:
    assert with_a_gap().run()[1:] == [(0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (1200, b"4")]
    assert with_a_gap(skip_gaps_s=0.0).run()[3:] == [(10_000, b"2"), (10_100, b"3"), (11_000, b"4")]
    assert with_a_gap(skip_gaps_s=9.9).run()[3:] == [(10_000, b"2"), (10_100, b"3"), (11_000, b"4")]
    assert with_a_gap(skip_gaps_s=0.05, rate=2.0).run()[1:] == [
        (0, b"0"), (25, b"1"), (50, b"2"), (75, b"3"), (100, b"4"),
    ]  # fmt: skip


def test_clock_skips_gap_with_play_head() -> None:
    stage = with_a_gap(clock_hz=20.0)
    stage.run()
    clock_ms = [(at // MS, stamp // MS) for at, stamp in stage.sink.clocks]
    assert clock_ms[:8] == [(0, 0), (50, 50), (100, 100), (150, 9950), (200, 10_000), (250, 10_050), (300, 10_100),
                        (350, 10_150)]  # fmt: skip


def test_pause_seek_and_rate_work_around_skipped_gap() -> None:
    stage = with_a_gap()
    stage.at(150, stage.playback.pause)
    stage.at(500, lambda: (stage.playback.status().position_ns - ARCHIVE) // MS)
    stage.at(600, stage.playback.resume)
    stage.at(700, stage.playback.seek, ARCHIVE + 5000 * MS)
    stage.at(850, stage.playback.set_rate, 3.0)
    assert stage.run()[3:] == [(650, b"2"), (800, b"2"), (866, b"3"), (1166, b"4")]
    assert stage.time.answers == [None, 9950, None, True, True]


def test_short_rest_of_gap_after_seek_is_not_skipped() -> None:
    stage = with_a_gap()
    stage.at(50, stage.playback.seek, ARCHIVE + 8500 * MS)
    assert stage.run()[2:] == [(1550, b"2"), (1650, b"3"), (2550, b"4")]


def test_gap_is_skipped_in_each_loop() -> None:
    stage = with_a_gap(loop=True, loop_stamps="continue")
    stage.at(1600, stage.playback.stop)
    sent = stage.run()
    assert sent[5:9] == [(1200, b"4"), (1300, b"0+11100000000"), (1400, b"1+11100000000"), (1500, b"2+11100000000")]


def test_read_error_is_raised_by_playback() -> None:
    stage = Stage()

    class Broken(ListReader):
        def peek(self) -> QueuedMessage | ReadState:
            raise OSError("the disk is gone")

    stage.playback._open_reader = lambda first: Broken([])
    with pytest.raises(OSError, match="the disk is gone"):
        stage.run()
    assert not stage.playback.seek(ARCHIVE)


def test_failed_step_does_not_block_others() -> None:
    stage = Stage(paused=True)

    def broken(stamp_ns: int) -> None:
        raise OSError("nobody hears of jumps")

    def step() -> bool:
        stage.playback.seek(ARCHIVE + 200 * MS)
        with patch.object(stage.sink, "jump", broken), pytest.raises(OSError, match="nobody hears of jumps"):
            stage.playback.play_next()
        return stage.playback._busy

    stage.at(40, step)
    stage.at(50, stage.playback.resume)
    assert [data for _, data in stage.run()] == [b"static", b"3", b"4"]
    assert stage.time.answers == [False, None]
