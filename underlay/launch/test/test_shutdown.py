"""How the processes of a launch are ended."""

from __future__ import annotations

import re
import signal
import threading

import pytest

from launch import LaunchDescription
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events import matches_action
from launch.events.process import ShutdownProcess, SignalProcess

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


def test_one_process_is_shut_down_alone(run, once_up, python):
    first = ExecuteProcess(cmd=python(WAIT), name="first", output="screen")
    second = ExecuteProcess(cmd=python("import sys; print('still', sys.stdin.read(0))"), name="second", output="screen")
    chain = RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[second]))

    outcome = run(chain, once_up(first, EmitEvent(event=ShutdownProcess(process_matcher=matches_action(first)))), first)

    assert outcome.code == 0
    assert outcome.lines_of("second") == ["still "]


def test_signals_are_sent_to_matching_processes_only(run, once_up, python):
    target = ExecuteProcess(cmd=python(WAIT), name="target", output="screen")
    other = ExecuteProcess(cmd=python(WAIT), name="other", output="screen")

    send = EmitEvent(event=SignalProcess(signal_number=signal.SIGTERM, process_matcher=matches_action(target)))
    end = RegisterEventHandler(OnProcessExit(target_action=target, on_exit=[Shutdown()]))
    outcome = run(end, once_up(target, send), other, target)

    assert target.return_code == -15
    assert other.return_code == -2
    assert f"sending signal 'SIGTERM' to process[{target.name}]" in outcome.screen


RETURNS_0 = pytest.mark.stand_in("upstream's launch returns 0")
LEAVES = pytest.mark.stand_in("upstream leaves the process behind")


@pytest.mark.parametrize("ending", [Shutdown(), [Shutdown(reason="done")], lambda event, context: Shutdown()])
@pytest.mark.parametrize(("code", "returned"), [(0, 0), pytest.param(3, 1, marks=RETURNS_0)])
def test_return_code_tells_whether_a_required_process_failed(run, python, ending, code, returned):
    required = ExecuteProcess(cmd=python(f"raise SystemExit({code})"), name="required", on_exit=ending)
    other = ExecuteProcess(cmd=python(WAIT), name="other")

    outcome = run(other, required)

    assert outcome.code == returned
    assert f"[INFO] [launch]: process[{required.name}] was required: shutting down launched system" in outcome.screen


def test_failure_of_a_process_that_is_not_required_is_no_failure_of_the_launch(run, python):
    assert run(ExecuteProcess(cmd=python("raise SystemExit(3)"))).code == 0


def test_required_process_that_the_shutdown_ends_has_not_failed(run, once_up, python):
    required = ExecuteProcess(cmd=python(WAIT), on_exit=Shutdown())

    outcome = run(once_up(required, Shutdown()), required)

    assert required.return_code == -2
    assert outcome.code == 0


def fail(context):
    raise RuntimeError("broken description")


def test_exception_ends_the_processes_that_were_started_before(run, once_up, python):
    action = ExecuteProcess(cmd=python(WAIT), name="waiter", output="screen")

    outcome = run(once_up(action, OpaqueFunction(function=fail)), action)

    assert outcome.code == 1
    assert "Caught exception in launch (see debug for traceback): broken description" in outcome.screen
    assert action.return_code == -2


@LEAVES
def test_exception_in_the_same_visit_leaves_no_process_behind(run, python):
    action = ExecuteProcess(cmd=python(WAIT), name="waiter")

    outcome = run(action, OpaqueFunction(function=fail))

    assert outcome.code == 1
    assert action.return_code in (None, -2)


@pytest.mark.stand_in("upstream's runs in the main thread alone")
def test_service_runs_in_another_thread(service, once_up, python):
    up = threading.Event()
    action = ExecuteProcess(cmd=python(WAIT))
    note = OpaqueFunction(function=lambda context: up.set())
    service.include_launch_description(LaunchDescription([once_up(action, note), action]))
    codes = []
    thread = threading.Thread(target=lambda: codes.append(service.run()))
    thread.start()

    assert up.wait(20.0)
    assert service.shutdown() is None
    thread.join(20.0)

    assert codes == [0]
    assert action.return_code == -2
