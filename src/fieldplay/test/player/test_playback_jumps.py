"""Jumps of the play head: who hears them is told first, and what stands is that of the new place."""

from typing import Any

import pytest

from fieldplay.player.read_ahead import QueuedMessage
from fieldplay_testing.playback_stage import ARCHIVE, MS, Stage

pytestmark = pytest.mark.usefixtures("both_sinks")


def stage_on_the_truth(**options: Any) -> Stage:
    """What stands holds the place at which playing went on, of which the first 100 ms are one."""
    return Stage(
        static_tf_at=lambda ns: [
            QueuedMessage(0, ARCHIVE, b"static" if ns < ARCHIVE + 100 * MS else b"at %d" % ((ns - ARCHIVE) // MS))
        ],
        **options,
    )


def test_static_tf_is_published_first_after_seek() -> None:
    stage = stage_on_the_truth()
    for at, to in ((50, 200), (160, 300), (170, 100)):  # forward, forward, and back
        stage.at(at, stage.playback.seek, ARCHIVE + to * MS)
    stage.run()
    jumps = [index for index, each in enumerate(stage.sink.order) if isinstance(each, tuple)]
    following = [stage.sink.order[index + 1 : index + 3] for index in jumps]
    assert following == [[b"at 200", b"2"], [b"at 300", b"3"], [b"at 100", b"1"]]


def test_unchanged_static_tf_is_not_republished_after_seek() -> None:
    stage = stage_on_the_truth()
    stage.at(250, stage.playback.seek, ARCHIVE)
    stage.run()
    assert stage.sink.order[4:6] == [("jump", 0), b"0"] and stage.sink.order.count(b"static") == 1


def test_loop_restart_is_jump_to_start() -> None:
    stage = stage_on_the_truth(
        loop=True, messages=[QueuedMessage(1, ARCHIVE + k * 100 * MS, b"%d" % k) for k in (0, 2)]
    )
    stage.at(50, stage.playback.seek, ARCHIVE + 100 * MS)
    stage.at(350, stage.playback.stop)
    stage.run()
    assert stage.sink.order == [b"static", b"0", ("jump", 100), b"at 100", b"2", ("jump", 0), b"static", b"0"]


def test_jump_while_paused_is_published_before_step() -> None:
    stage = stage_on_the_truth(paused=True)
    stage.at(50, stage.playback.seek, ARCHIVE + 200 * MS)
    stage.at(60, lambda: list(stage.sink.order))
    stage.at(70, lambda: (stage.playback.seek(ARCHIVE + 300 * MS), stage.playback.play_next()))
    stage.at(80, stage.playback.stop)
    stage.run()
    assert stage.time.answers[1] == [b"static", ("jump", 200), b"at 200"]
    assert stage.sink.order[3:] == [("jump", 300), b"at 300", b"3"]
