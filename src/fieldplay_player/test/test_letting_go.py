"""What ends a program bounds its end."""

import faulthandler
import subprocess
import sys

import pytest

from fieldplay_player.nodes.ends import letting_go

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
