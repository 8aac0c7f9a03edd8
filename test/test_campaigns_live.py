"""Campaigns with whole processes: what they judge, and one player that is started and ended."""

import sys
from pathlib import Path

import pytest
from campaigns.day import FIXES, Calls, Use, growth
from campaigns.frame import WrongError
from campaigns.starts import Ending, Start, ending_of

HANGS = "import signal; signal.signal(signal.SIGTERM, lambda *_: None)\nwhile True: signal.pause()"
LEAVES = "import subprocess, sys; subprocess.Popen([sys.executable, '-Sc', 'import time; time.sleep(60)'])"


def start(trajectory: str, *, is_launch: bool = False) -> Start:
    return Start(0, is_launch, trajectory, after_s=0.0, again_s=0.0, is_soon=False)


@pytest.mark.parametrize(
    ("program", "trajectory", "issue"),
    [
        ("", "end", ""),
        ("import sys; sys.exit(3)", "end", "ended with 3"),
        ("1 / 0", "end", "ended with 1, a traceback"),
        (HANGS, "SIGTERM", "did not end, a process was left"),
        (LEAVES, "end", "a process was left"),
        ("", "parent", ""),
    ],
)
def test_what_is_wrong_with_end_is_reported(
    monkeypatch: pytest.MonkeyPatch, program: str, trajectory: str, issue: str
) -> None:
    monkeypatch.setattr("campaigns.starts.LEFT_S", 0.2)
    monkeypatch.setattr("campaigns.starts._where", lambda mark: "there")
    ending = ending_of(start(trajectory), [sys.executable, "-Sc", program], ends_s=0.5 if program == HANGS else 60.0)
    assert ending.fault(start(trajectory)) == issue
    assert ending.stands == ("there" if "left" in issue else "")


def test_who_is_interrupted_before_its_first_line_gets_pythons_own_traceback() -> None:
    message = 'Traceback (most recent call last):\n  File "player", line {}, in <module>\nKeyboardInterrupt\n'
    issues = [Ending(-2, message.format(line), [], 1.0).fault(start("SIGINT")) for line in (0, 33)]
    assert issues == ["", "ended with -2, a traceback"]


def test_player_ends_well_at_two_signals(tmp_path: Path) -> None:
    requested = start("twice")
    ending = ending_of(requested, requested.command(tmp_path / "nothing"))
    assert ending.fault(requested) in ("", "ended with 1")  # it may have seen already that there is no archive
    assert not ending.left


def test_more_than_twentieth_is_growth() -> None:
    before = Use(kb=1000, threads=10, files=20, endpoints=30)
    assert growth([before], [before._replace(kb=1040)]) == "kb +4.0%, threads +0.0%, files +0.0%, endpoints +0.0%"
    with pytest.raises(WrongError, match=r"files has grown by 10.0%: from \(20,\) to \(22,\)"):
        growth([before], [before._replace(files=22)])


@pytest.mark.parametrize(
    ("received", "targets", "message"),
    [
        ([0, 1, 2, 7, 8, 3], [7, 50, 3], ""),
        ([FIXES - 1, 0, 1], [], ""),
        ([0, 2], [], "message 1: expected fix 1, got 2"),
        ([0, 7, 8, 3], [3, 7], "message 3: expected fix 9, got 3"),
    ],
)
def test_messages_come_in_order_or_after_seek(received: list[int], targets: list[int], message: str) -> None:
    calls = Calls.__new__(Calls)
    calls.heard, calls.targets = received, targets
    try:
        calls.judge()
    except WrongError as error:
        assert str(error) == message
    else:
        assert message == ""
