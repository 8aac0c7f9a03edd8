"""Events, the handlers that react to them, and timers."""

from __future__ import annotations

import pytest

from launch.actions import EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler, Shutdown, TimerAction
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart, OnShutdown
from launch.events import Shutdown as ShutdownEvent
from launch.events.process import ProcessExited, ProcessStarted, ProcessStderr, ProcessStdout
from launch.substitutions import LaunchConfiguration


def words(outcome) -> list[str]:
    return [line.split("]: ")[1] for line in outcome.screen.splitlines() if "[launch.user]" in line]


def test_handlers_registered_later_react_first_with_the_event_at_hand(run):
    def handler(word):
        return OnShutdown(on_shutdown=lambda event, context: LogInfo(msg=f"{word} {context.locals.event.reason}"))

    outcome = run(
        *(RegisterEventHandler(handler(word)) for word in ("first", "second")),
        EmitEvent(event=ShutdownEvent(reason="done")),
    )

    assert words(outcome) == ["second done", "first done"]


@pytest.mark.stand_in("upstream's output can come behind the end, or never")
def test_life_of_a_process_is_told_in_order(run, python):
    action = ExecuteProcess(cmd=python("import os; os.write(1, b'o'); os.close(1); os.write(2, b'e')"), name="talker")
    other = ExecuteProcess(cmd=python("print()"))
    told = []

    def note(event, context):
        told.append(event)

    handlers = [
        OnProcessStart(target_action=action, on_start=note),
        OnProcessIO(
            target_action=lambda candidate: candidate is action,
            on_stdout=lambda event: note(event, None),
            on_stderr=lambda event: note(event, None),
        ),
        OnProcessExit(target_action=action, on_exit=note),
    ]
    run(*(RegisterEventHandler(handler) for handler in handlers), action, other)

    assert {type(event) for event in told} == {ProcessStarted, ProcessStdout, ProcessStderr, ProcessExited}
    assert isinstance(told[0], ProcessStarted)
    assert isinstance(told[-1], ProcessExited)
    assert b"".join(event.text for event in told if isinstance(event, ProcessStdout)) == b"o"
    assert b"".join(event.text for event in told if isinstance(event, ProcessStderr)) == b"e"
    assert {event.pid for event in told} == {action.process_details["pid"]}
    assert {event.process_name for event in told} == {action.name}
    assert told[-1].returncode == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OnProcessExit(target_action="talker", on_exit=[]), "ExecuteLocal|runs a process"),
        (lambda: OnProcessExit(on_exit=["text"]), "(?i)entit"),
    ],
)
def test_wrong_types_are_refused_at_once(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_timer_waits_for_its_period(run):
    outcome = run(
        TimerAction(period=0.05, actions=[LogInfo(msg="later")]),
        TimerAction(period=LaunchConfiguration("unset", default="0.0"), actions=[LogInfo(msg="soon")]),
        LogInfo(msg="now"),
    )

    assert words(outcome) == ["now", "soon", "later"]


def test_shutdown_cancels_timers(run):
    assert words(run(TimerAction(period=0.05, actions=[LogInfo(msg="after all")]), Shutdown())) == []
