"""What ends a program bounds its end."""

import faulthandler
import os
import signal
import subprocess
import sys

import pytest

from fieldplay.core.process_exit import DONE, ExitTimer, exit_deadline

LAUNCHED = """
import signal
from fieldplay.core.process_exit import end_with_launch
end_with_launch()
print("begins", flush=True)
signal.pause()
"""
LAUNCH = """
import os, subprocess, sys
os.environ["FIELDPLAY_ENDS_WITH"] = str(os.getpid())
started = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
print(started.pid, started.stdout.readline(), flush=True)
os.kill(os.getpid(), 9)
"""

STUCK = """
from threading import Lock
from fieldplay.core.process_exit import ExitTimer, exit_deadline
def wait_for_ever():
    lock = Lock()
    lock.acquire()
    lock.acquire()
with exit_deadline(0.2):
    wait_for_ever()
"""


def run(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_shutdown_beyond_deadline_dumps_stacks_and_exits() -> None:
    ended = run(STUCK)
    assert ended.returncode == DONE
    assert "in wait_for_ever" in ended.stderr


def test_pending_error_exits_with_failure_at_deadline() -> None:
    program = STUCK.replace("with exit_deadline", "try:\n    raise ValueError\nfinally:\n  with exit_deadline")
    ended = run(program.replace("    wait_for_ever()\n", "      wait_for_ever()\n"))
    assert (ended.returncode, "in wait_for_ever" in ended.stderr) == (1, True)


def test_deadline_before_last_task_exits_with_failure() -> None:
    assert run(STUCK.replace("0.2", "0.2, is_last=False")).returncode == 1


def test_without_system_timer_deadline_exits_with_failure() -> None:
    ended = run(STUCK.replace("with exit_deadline", "ExitTimer._create = lambda self: -1\nwith exit_deadline"))
    assert ended.returncode == 1
    assert "in wait_for_ever" in ended.stderr


def test_deadline_exits_while_foreign_call_holds_the_gil() -> None:
    held = STUCK.replace("wait_for_ever()\n", "ctypes.PyDLL(None).sleep(30)\n", 1).replace(
        "    wait_for_ever()", "    ctypes.PyDLL(None).sleep(30)"
    )
    assert run(f"import ctypes\n{held}").returncode == DONE


def test_failure_during_shutdown_does_not_exit_process(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[object] = []
    monkeypatch.setattr(
        faulthandler, "dump_traceback_later", lambda seconds, **how: bounds.append((seconds, how["exit"]))
    )
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: bounds.append("none"))
    monkeypatch.setattr(ExitTimer, "start", lambda timer, seconds: bounds.append(seconds))
    monkeypatch.setattr(ExitTimer, "stop", lambda timer: bounds.append("stopped"))
    with pytest.raises(ValueError, match="no node"), exit_deadline(5.0):
        raise ValueError("no node")
    assert bounds == [(5.0, False), 5.2, "stopped", "none"]


def test_process_exits_when_its_launch_is_killed() -> None:
    launch = [sys.executable, "-c", LAUNCH, LAUNCHED]
    ended = subprocess.run(launch, capture_output=True, text=True, timeout=60, check=False)  # not before all who write
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split()[1:] == ["begins"]
    assert "KeyboardInterrupt" in ended.stderr


def test_process_started_after_its_launch_exited_exits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    monkeypatch.setenv("FIELDPLAY_ENDS_WITH", gone.stdout.decode().strip())
    assert "KeyboardInterrupt" in run(LAUNCHED).stderr


def test_killed_unreaped_launch_counts_as_exited(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-Sc", ""]) as killed:
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        monkeypatch.setenv("FIELDPLAY_ENDS_WITH", str(killed.pid))
        assert "KeyboardInterrupt" in run(LAUNCHED).stderr
