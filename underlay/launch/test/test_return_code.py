"""What the return code of a launch tells, and that nothing is left behind."""

from __future__ import annotations

import time

import pytest

from launch import LaunchDescription, LaunchService
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events import Shutdown as ShutdownEvent

RETURNS_0 = pytest.mark.stand_in("upstream's launch returns 0")
LEAVES = pytest.mark.stand_in("upstream leaves the process behind")
WAIT = "import os; os.write(1, b'up\\n'); os.read(0, 1)"

pytestmark = pytest.mark.usefixtures("no_child_is_left")


@pytest.mark.parametrize("ending", [Shutdown(), [Shutdown(reason="done")], lambda event, context: Shutdown()])
@pytest.mark.parametrize(("code", "returned"), [(0, 0), pytest.param(3, 1, marks=RETURNS_0)])
def test_return_code_tells_whether_a_required_process_failed(run, python, ending, code, returned):
    required = ExecuteProcess(cmd=python(f"raise SystemExit({code})"), name="required", on_exit=ending)
    other = ExecuteProcess(cmd=python(WAIT), name="other")

    outcome = run(other, required)

    assert outcome.code == returned
    assert f"[INFO] [launch]: process[{required.name}] was required: shutting down launched system" in outcome.screen


@RETURNS_0
def test_required_process_may_be_declared_by_a_handler_and_an_event(run, python):
    required = ExecuteProcess(cmd=python("raise SystemExit(3)"))
    end = OnProcessExit(target_action=required, on_exit=EmitEvent(event=ShutdownEvent(reason="over")))

    assert run(RegisterEventHandler(end), required).code == 1


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


@LEAVES
def test_exit_from_a_description_leaves_no_process_behind(run, once_up, python):
    def leave(context):
        raise SystemExit(7)

    action = ExecuteProcess(cmd=python(WAIT), name="waiter")

    with pytest.raises(SystemExit, match="7"):
        run(once_up(action, OpaqueFunction(function=leave)), action)
    assert action.return_code in (None, -15)


def test_exception_in_a_handler_fails_the_launch(run, python):
    outcome = run(ExecuteProcess(cmd=python("pass"), on_exit=lambda event, context: fail(context)))

    assert outcome.code == 1


def test_handler_that_returns_no_entity_fails_the_launch(run, python):
    outcome = run(ExecuteProcess(cmd=python("pass"), on_exit=lambda event, context: "text"))

    assert outcome.code == 1
    assert "expected a LaunchDescriptionEntity from event_handler" in outcome.screen


def test_empty_description_ends_at_once(run):
    assert run().code == 0


def test_shutdown_handlers_get_the_reason(run):
    reasons = []
    note = RegisterEventHandler(OnShutdown(on_shutdown=lambda event, context: reasons.append(event.reason)))

    run(note, RegisterEventHandler(OnShutdown(on_shutdown=[LogInfo(msg="bye")])), Shutdown(reason="enough"))

    assert reasons == ["enough"]


def test_service_that_does_not_run_has_nothing_to_shut_down(service):
    assert service.shutdown() is None
    assert service.event_loop is None


def test_shutdown_within_the_loop_can_be_awaited(run, service):
    async def end():
        await service.shutdown()

    def begin(context):
        context.add_completion_future(context.asyncio_loop.create_task(end()))

    assert run(OpaqueFunction(function=begin), TimerAction(period=3600.0, actions=[])).code == 0


@pytest.fixture
def outcome_of_a_broken_task(run):
    async def broken():
        raise RuntimeError("broken task")

    def begin(context):
        context.add_completion_future(context.asyncio_loop.create_task(broken()))

    return run(OpaqueFunction(function=begin))


def test_exception_of_a_task_that_the_launch_waits_for_fails_it(outcome_of_a_broken_task):
    assert outcome_of_a_broken_task.code == 1


@pytest.mark.stand_in("upstream keeps it to itself")
def test_exception_of_a_task_is_told(outcome_of_a_broken_task):
    assert "broken task" in outcome_of_a_broken_task.screen


def test_bounds_of_the_escalation_are_not_waited_for_when_not_needed(run, python):
    began = time.monotonic()

    run(ExecuteProcess(cmd=python("pass"), on_exit=Shutdown()))

    assert time.monotonic() - began < 4.0


def test_debug_mode_tells_the_traceback(capsys):
    service = LaunchService(debug=True, noninteractive=True)
    service.include_launch_description(LaunchDescription([OpaqueFunction(function=fail)]))

    assert service.run() == 1
    assert "in fail" in capsys.readouterr().out
