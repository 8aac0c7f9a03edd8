"""What ends a program bounds its end."""

import faulthandler
import subprocess
import sys
from pathlib import Path

import pytest

from fieldplay_player.nodes.ends import letting_go
from helpers.tiny_ameds import TinyAmeds

STUCK = """
from threading import Lock
from fieldplay_player.nodes.ends import letting_go
def wait_for_ever():
    lock = Lock()
    lock.acquire()
    lock.acquire()
with letting_go(0.2):
    wait_for_ever()
"""

LOST = """
import signal, sys
from fieldplay_player import node
def swallows(player):
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        pass
node.Player.say_mismatches = swallows
sys.exit(node.main(["--ros-args", "-p", "archive:=ARCHIVE", "-p", "loop:=true", "-p", "wait_for_subscribers:=1"]))
"""


def run(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_an_end_that_does_not_come_is_told_and_ended() -> None:
    ended = run(STUCK)
    assert ended.returncode == 1
    assert "in wait_for_ever" in ended.stderr


def test_what_fails_while_it_lets_go_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[object] = []
    monkeypatch.setattr(
        faulthandler, "dump_traceback_later", lambda seconds, **how: bounds.append((seconds, how["exit"]))
    )
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: bounds.append("none"))
    with pytest.raises(ValueError, match="no node"), letting_go(5.0):
        raise ValueError("no node")
    assert bounds == [(5.0, True), "none"]


def test_a_signal_whose_exception_is_lost_ends_the_player_all_the_same(tmp_path: Path) -> None:
    archive = TinyAmeds(tmp_path / "Traverse_5")
    archive.write_all()
    ended = run(LOST.replace("ARCHIVE", str(archive.root)))
    assert (ended.returncode, "published" in ended.stderr + ended.stdout) == (0, True)
