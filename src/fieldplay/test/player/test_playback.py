"""Playing in time that the test makes: waiting is a step of the clock, and what is asked for comes at its moment."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest

from fieldplay.player.read_ahead import DueMessage, ReadState
from fieldplay_testing.playback_stage import ARCHIVE, DAY, MS, ListReader, Stage

PATIENCE_S = 30.0


def test_messages_leave_at_their_times_after_what_is_latched() -> None:
    assert Stage().run() == [(0, b"static"), (0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (400, b"4")]


def test_at_twice_the_rate_it_takes_half_the_time() -> None:
    assert Stage(rate=2.0).run()[1:] == [(0, b"0"), (50, b"1"), (100, b"2"), (150, b"3"), (200, b"4")]


def test_another_rate_holds_from_where_it_is() -> None:
    stage = Stage()
    stage.at(150, stage.playback.set_rate, 0.5)
    stage.at(160, stage.playback.set_rate, 0.0)
    stage.at(170, stage.playback.set_rate, float("nan"))
    stage.at(180, stage.playback.set_rate, 5e-324)  # of no time that a machine can count is it the pace
    stage.at(190, stage.playback.set_rate, 1e300)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (250, b"2"), (450, b"3"), (650, b"4")]
    assert stage.time.answers == [True, False, False, False, False]


def test_while_paused_from_the_start_only_what_is_latched_leaves() -> None:
    stage = Stage(paused=True, clock_hz=100.0)
    stage.at(700, lambda: (list(stage.sink.sent), list(stage.sink.clocks)))
    stage.at(1000, stage.playback.resume)
    assert stage.run()[:3] == [(0, b"static"), (1000, b"0"), (1100, b"1")]
    assert stage.time.answers[0] == ([(0, b"static")], [])


def test_a_pause_moves_all_that_follows() -> None:
    stage = Stage()
    stage.at(150, stage.playback.toggle_paused)
    stage.at(650, stage.playback.toggle_paused)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (700, b"2"), (800, b"3"), (900, b"4")]


def test_steps_send_one_message_each_and_only_while_paused() -> None:
    stage = Stage()
    stage.at(50, stage.playback.play_next)
    stage.at(60, stage.playback.pause)
    stage.at(500, stage.playback.play_next)
    stage.at(600, stage.playback.play_next)
    stage.at(700, stage.playback.resume)
    assert stage.run()[1:] == [(0, b"0"), (500, b"1"), (600, b"2"), (800, b"3"), (900, b"4")]
    assert stage.time.answers == [False, None, True, True, None]


def test_a_burst_sends_so_many_or_all_that_are_left() -> None:
    stage = Stage(paused=True, on_end="exit")
    stage.at(10, stage.playback.burst, 2)
    stage.at(20, stage.playback.burst, 0)
    stage.at(30, stage.playback.burst, 3)
    stage.at(40, stage.playback.play_next)
    stage.at(50, stage.playback.resume)
    assert stage.run()[1:] == [(10, b"0"), (10, b"1"), (20, b"2"), (20, b"3"), (20, b"4")]
    assert stage.time.answers == [2, 3, 0, False, None]


def test_a_burst_is_nothing_while_it_plays() -> None:
    stage = Stage()
    stage.at(50, stage.playback.burst, 0)
    stage.run()
    assert stage.time.answers == [0]


def test_a_seek_goes_forth_and_back_without_what_is_latched() -> None:
    stage = Stage()
    stage.at(50, stage.playback.seek, ARCHIVE + 290 * MS)
    stage.at(150, stage.playback.seek, ARCHIVE + 100 * MS)
    assert stage.run() == [(0, b"static"), (0, b"0"), (60, b"3"), (150, b"1"), (250, b"2"), (350, b"3"), (450, b"4")]
    assert stage.time.answers == [True, True]


def test_a_seek_while_paused_sends_nothing_until_it_goes_on() -> None:
    stage = Stage(paused=True)
    stage.at(10, stage.playback.seek, ARCHIVE + 300 * MS)
    stage.at(20, lambda: stage.playback.status().position_ns - ARCHIVE)
    stage.at(30, stage.playback.resume)
    assert stage.run()[1:] == [(30, b"3"), (130, b"4")]
    assert stage.time.answers[1] == 300 * MS


@pytest.mark.parametrize("outside_ns", [ARCHIVE - 1, ARCHIVE + 400 * MS + 1])
def test_a_seek_outside_the_archive_is_refused_and_changes_nothing(outside_ns: int) -> None:
    stage = Stage()
    stage.at(50, stage.playback.seek, outside_ns)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (400, b"4")]
    assert stage.time.answers == [False]


def test_a_loop_begins_again_a_gap_later_with_the_same_times() -> None:
    stage = Stage(loop=True)
    stage.at(750, stage.playback.stop)
    assert stage.run()[5:] == [(400, b"4"), (500, b"0"), (600, b"1"), (700, b"2")]


def test_times_of_further_rounds_go_on_where_that_is_wanted() -> None:
    stage = Stage(loop=True, loop_stamps="continue", clock_hz=10.0)
    stage.at(1150, stage.playback.stop)
    sent = [data for _, data in stage.run()]
    assert sent[5:8] == [b"4", b"0+500000000", b"1+500000000"]
    assert sent[-2:] == [b"0+1000000000", b"1+1000000000"]
    told = [stamp // MS for _, stamp in stage.sink.clocks]
    assert told == sorted(told)
    assert sorted(set(told)) == list(range(0, 1200, 100))


def test_steps_go_round_with_a_loop_but_a_burst_of_all_ends_with_the_round() -> None:
    stage = Stage(loop=True, paused=True)
    stage.at(10, stage.playback.burst, 0)
    stage.at(20, stage.playback.burst, 7)
    stage.at(30, stage.playback.stop)
    assert b"".join(data for _, data in stage.run()[1:]) == b"01234" + b"0123401"
    assert stage.time.answers == [5, 7, None]


def test_at_the_end_it_pauses_where_that_is_wanted_and_can_go_back() -> None:
    stage = Stage(on_end="pause")
    stage.at(1000, lambda: stage.playback.status().paused)
    stage.at(1010, stage.playback.seek, ARCHIVE + 300 * MS)
    stage.at(1020, stage.playback.resume)
    stage.at(2000, stage.playback.stop)
    assert stage.run()[6:] == [(1020, b"3"), (1120, b"4")]
    assert stage.time.answers[:2] == [True, True]


def test_the_clock_follows_the_play_head_stops_with_it_and_jumps_with_it() -> None:
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


def test_the_clock_never_passes_a_message_that_has_not_left() -> None:
    stage = Stage(clock_hz=100.0)
    stage.sink.slow = {b"1": 250 * MS}
    stage.run()
    told = 0
    for item in stage.sink.order[1:]:
        if isinstance(item, bytes):
            assert told <= int(item) * 100 * MS
        else:
            assert isinstance(item, int)
            assert item >= told
            told = item
    assert told == 400 * MS


def test_a_step_tells_the_clock() -> None:
    stage = Stage(clock_hz=20.0, paused=True)
    stage.at(10, stage.playback.burst, 3)
    stage.at(20, stage.playback.stop)
    stage.run()
    assert [stamp // MS for _, stamp in stage.sink.clocks] == [0, 100, 200]


def test_behind_nothing_is_dropped_and_it_says_by_how_much() -> None:
    stage = Stage()
    stage.sink.slow = {b"1": 250 * MS}
    stage.at(380, lambda: stage.playback.status().lag_ns)
    assert stage.run()[1:] == [(0, b"0"), (100, b"1"), (350, b"2"), (350, b"3"), (400, b"4")]
    assert stage.time.answers == [50 * MS]
    assert [text.split(";")[0] for text in stage.reports] == ["is behind by 0.15 s", "has caught up"]


def test_a_pause_while_behind_goes_on_from_what_has_left() -> None:
    stage = Stage()
    stage.sink.slow = {b"1": 190 * MS}
    stage.at(295, stage.playback.pause)
    stage.at(1000, stage.playback.resume)
    assert stage.run()[2:] == [(100, b"1"), (290, b"2"), (1005, b"3"), (1105, b"4")]


def test_what_is_latched_at_the_begin_leaves_before_time_goes_on() -> None:
    messages = [DueMessage(0, ARCHIVE, b"map"), *(DueMessage(1, ARCHIVE + k * 100 * MS, b"%d" % k) for k in range(3))]
    stage = Stage(messages=[*messages, DueMessage(0, ARCHIVE + 200 * MS, b"next")], latched=frozenset({0}))
    stage.sink.slow = {b"map": 70 * MS}
    sent = stage.run()[1:]
    assert sent == [(0, b"map"), (70, b"0"), (170, b"1"), (270, b"2"), (270, b"next")]


def test_what_is_due_within_50_microseconds_leaves_together() -> None:
    messages = [DueMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 45_000, 60_000, 105_000)]
    stage = Stage(messages=messages)
    stage.run()
    assert [at for at, _ in stage.sink.sent[1:]] == [0, 0, 60_000, 60_000]


def test_woken_for_something_else_it_sends_no_more_than_is_due_then() -> None:
    stage = Stage(messages=[DueMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 100 * MS, 100 * MS + 45_000)])
    stage.time.script.append((100 * MS - 30_000, stage.playback.status))
    stage.run()
    assert [at for at, _ in stage.sink.sent[1:]] == [0, 100 * MS - 30_000, 100 * MS + 45_000]


def test_at_the_end_the_play_head_is_at_the_last_message_though_that_left_early() -> None:
    messages = [DueMessage(1, ARCHIVE + ns, b"%d" % ns) for ns in (0, 40_000)]
    stage = Stage(messages=messages, clock_hz=10.0)
    stage.run()
    assert stage.sink.sent[-1] == (0, b"40000")
    assert stage.sink.clocks[-1] == (0, 40_000)


def test_what_is_asked_for_before_playing_has_begun_waits_and_is_done() -> None:
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


def test_the_time_of_day_is_when_a_message_is_due_and_one_for_one_time_of_the_archive() -> None:
    times = [0, 100, 100, 200]
    stage = Stage(messages=[DueMessage(1, ARCHIVE + ms * MS, b"") for ms in times], stamps="now", rate=2.0)
    sent = stage.run()
    stamps = [ARCHIVE + ms * MS + int(data) - DAY for ms, (_, data) in zip(times, sent[1:], strict=True)]
    assert stamps == [0, 50 * MS, 50 * MS, 100 * MS]


def test_the_time_of_day_does_not_go_back_with_a_seek() -> None:
    stage = Stage(stamps="now")
    stage.at(150, stage.playback.seek, ARCHIVE)
    sent = stage.run()
    stamps = [ARCHIVE + int(data[:1]) * 100 * MS + int(data[1:]) - DAY for _, data in sent[1:]]
    assert [stamp // MS for stamp in stamps] == [0, 100, 150, 250, 350, 450, 550]


def test_defective_rows_are_counted_and_leave_no_message() -> None:
    messages = [DueMessage(1, ARCHIVE + k * MS, None if k % 2 else b"%d" % k) for k in range(5)]
    stage = Stage(messages=messages)
    assert [data for _, data in stage.run()] == [b"static", b"0", b"2", b"4"]
    status = stage.playback.status()
    assert (status.published, status.skipped) == ((1, 3), (0, 2))


def test_it_waits_for_the_subscribers() -> None:
    stage = Stage(wait_for_subscribers=2)
    stage.at(10, lambda: stage.playback.status().state)
    stage.at(500, stage.playback.release)
    assert stage.run()[:3] == [(0, b"static"), (500, b"0"), (600, b"1")]
    assert stage.time.answers[0] == "waiting for subscribers"


def with_a_gap(**options: Any) -> Stage:
    """Messages at 0 and 100 ms, then none until 10 s, then at 10.1 and 11 s; gaps above 2 s are passed over."""
    times = [0, 100, 10_000, 10_100, 11_000]
    messages = [DueMessage(1, ARCHIVE + ms * MS, b"%d" % k) for k, ms in enumerate(times)]
    return Stage(messages=messages, **{"skip_gaps_s": 2.0, **options})


def test_a_long_gap_is_passed_over_to_shortly_before_the_next_message() -> None:
    assert with_a_gap().run()[1:] == [(0, b"0"), (100, b"1"), (200, b"2"), (300, b"3"), (1200, b"4")]
    assert with_a_gap(skip_gaps_s=0.0).run()[3:] == [(10_000, b"2"), (10_100, b"3"), (11_000, b"4")]
    assert with_a_gap(skip_gaps_s=9.9).run()[3:] == [(10_000, b"2"), (10_100, b"3"), (11_000, b"4")]
    assert with_a_gap(skip_gaps_s=0.05, rate=2.0).run()[1:] == [
        (0, b"0"), (25, b"1"), (50, b"2"), (75, b"3"), (100, b"4"),
    ]  # fmt: skip


def test_the_clock_jumps_over_the_gap_with_the_play_head_and_then_goes_on() -> None:
    stage = with_a_gap(clock_hz=20.0)
    stage.run()
    told = [(at // MS, stamp // MS) for at, stamp in stage.sink.clocks]
    assert told[:8] == [(0, 0), (50, 50), (100, 100), (150, 9950), (200, 10_000), (250, 10_050), (300, 10_100),
                        (350, 10_150)]  # fmt: skip


def test_pauses_seeks_and_rates_hold_beside_a_gap_that_is_passed_over() -> None:
    stage = with_a_gap()
    stage.at(150, stage.playback.pause)
    stage.at(500, lambda: (stage.playback.status().position_ns - ARCHIVE) // MS)
    stage.at(600, stage.playback.resume)
    stage.at(700, stage.playback.seek, ARCHIVE + 5000 * MS)
    stage.at(850, stage.playback.set_rate, 3.0)
    assert stage.run()[3:] == [(650, b"2"), (800, b"2"), (866, b"3"), (1166, b"4")]
    assert stage.time.answers == [None, 9950, None, True, True]


def test_a_seek_into_a_gap_that_is_short_from_there_is_waited_for() -> None:
    stage = with_a_gap()
    stage.at(50, stage.playback.seek, ARCHIVE + 8500 * MS)
    assert stage.run()[2:] == [(1550, b"2"), (1650, b"3"), (2550, b"4")]


def test_each_round_of_a_loop_passes_over_the_gap() -> None:
    stage = with_a_gap(loop=True, loop_stamps="continue")
    stage.at(1600, stage.playback.stop)
    sent = stage.run()
    assert sent[5:9] == [(1200, b"4"), (1300, b"0+11100000000"), (1400, b"1+11100000000"), (1500, b"2+11100000000")]


def test_a_fault_of_the_reading_comes_out() -> None:
    stage = Stage()

    class Broken(ListReader):
        def peek(self) -> DueMessage | ReadState:
            raise OSError("the disk is gone")

    stage.playback._open_reader = lambda first: Broken([])
    with pytest.raises(OSError, match="the disk is gone"):
        stage.run()
    assert not stage.playback.seek(ARCHIVE)


def test_a_step_that_cannot_be_sent_keeps_nobody_waiting() -> None:
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
