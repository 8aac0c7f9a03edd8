"""How the processes of a launch are ended."""

from __future__ import annotations

import re
import signal

import pytest

from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events import matches_action
from launch.events.process import ShutdownProcess, SignalProcess, matches_name, matches_pid

WAIT = "import os; os.write(1, b'up\\n'); os.read(0, 1)"
STUBBORN = """
    import os, signal
    def tell(number, frame):
        os.write(1, f"got {{signal.Signals(number).name}}\\n".encode())
    for number in {}:
        signal.signal(getattr(signal, number), tell)
    os.write(1, b"up\\n")
    os.read(0, 1)
"""

pytestmark = pytest.mark.usefixtures("no_child_is_left")


def test_processes_get_sigint(run, once_up, python):
    action = ExecuteProcess(cmd=python(WAIT), name="waiter", output="screen")

    outcome = run(once_up(action, Shutdown()), action)

    assert outcome.code == 0
    assert f"[INFO] [{action.name}]: sending signal 'SIGINT' to process[{action.name}]" in outcome.screen
    assert action.return_code == -2
    assert "SIGTERM" not in outcome.screen


def test_process_that_ignores_sigint_gets_sigterm(run, once_up, python):
    action = ExecuteProcess(
        cmd=python(STUBBORN.format(["SIGINT"])), name="stubborn", output="screen", sigterm_timeout="0.1"
    )

    outcome = run(once_up(action, Shutdown()), action)

    assert outcome.code == 0
    assert action.return_code == -15
    assert "got SIGINT" in outcome.lines_of("stubborn")
    assert (
        f"[ERROR] [{action.name}]: process[{action.name}] failed to terminate '0.1' seconds after receiving 'SIGINT', "
        "escalating to 'SIGTERM'" in outcome.screen
    )


def test_process_that_ignores_sigterm_too_gets_sigkill(run, once_up, python):
    action = ExecuteProcess(cmd=python(STUBBORN.format(["SIGINT", "SIGTERM"])), name="stubborn", output="screen")

    outcome = run(
        SetLaunchConfiguration("sigterm_timeout", "0.1"),
        SetLaunchConfiguration("sigkill_timeout", "0.2"),
        once_up(action, Shutdown()),
        action,
    )

    assert outcome.code == 0
    assert action.return_code == -9
    assert outcome.lines_of("stubborn") == ["up", "got SIGINT", "got SIGTERM"]
    announced = [line for line in outcome.screen.splitlines() if "escalating" in line or "sending" in line]
    assert [line.split("'")[-2] if "escalating" in line else line.split("'")[1] for line in announced] == [
        "SIGINT",
        "SIGTERM",
        "SIGTERM",
        "SIGKILL",
        "SIGKILL",
    ]
    # Upstream tells the sum of both timeouts.
    assert re.search(r"failed to terminate '0\.(2|30*4)' seconds after receiving 'SIGTERM'", outcome.screen)


def test_shutdown_in_the_moment_of_the_start_reaches_the_process(run, python):
    action = ExecuteProcess(cmd=python(WAIT), name="waiter")

    outcome = run(action, EmitEvent(event=ShutdownProcess(process_matcher=matches_action(action))))

    assert outcome.code == 0
    assert action.return_code in (None, -2)


def test_nothing_is_started_once_the_launch_shuts_down(run, python):
    action = ExecuteProcess(cmd=python("print('late')"), name="late", output="screen")

    outcome = run(Shutdown(), TimerAction(period=0.0, actions=[action], cancel_on_shutdown=False))

    assert outcome.code == 0
    assert "late" not in outcome.screen


def test_one_process_is_shut_down_alone(run, once_up, python):
    first = ExecuteProcess(cmd=python(WAIT), name="first", output="screen")
    second = ExecuteProcess(cmd=python("import sys; print('still', sys.stdin.read(0))"), name="second", output="screen")
    chain = RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[second]))

    outcome = run(chain, once_up(first, EmitEvent(event=ShutdownProcess(process_matcher=matches_action(first)))), first)

    assert outcome.code == 0
    assert outcome.lines_of("second") == ["still "]


@pytest.mark.parametrize("by", ["action", "name", "pid"])
def test_signals_are_sent_to_matching_processes_only(run, once_up, python, by):
    target = ExecuteProcess(cmd=python(WAIT), name="target", output="screen")
    other = ExecuteProcess(cmd=python(WAIT), name="other", output="screen")

    def matcher():
        if by == "action":
            return matches_action(target)
        return matches_name(target.name) if by == "name" else matches_pid(target.process_details["pid"])

    def send(context):
        return [EmitEvent(event=SignalProcess(signal_number=signal.SIGTERM, process_matcher=matcher()))]

    end = RegisterEventHandler(OnProcessExit(target_action=target, on_exit=[Shutdown()]))
    outcome = run(end, once_up(target, OpaqueFunction(function=send)), other, target)

    assert target.return_code == -15
    assert other.return_code == -2
    assert f"sending signal 'SIGTERM' to process[{target.name}]" in outcome.screen


LATE = pytest.mark.stand_in("upstream finds out when it is sent")


@pytest.mark.parametrize(("number", "error"), [pytest.param("SIGTERM", ValueError, marks=LATE), (15, TypeError)])
def test_signal_that_upstream_would_not_take_is_refused(number, error):
    with pytest.raises(error):
        SignalProcess(signal_number=number, process_matcher=lambda action: True)
