"""Events, the handlers that react to them, and timers."""

from __future__ import annotations

import pytest

from launch import Event, EventHandler
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart
from launch.events.process import ProcessExited, ProcessStarted, ProcessStderr, ProcessStdout
from launch.substitutions import LaunchConfiguration


class Custom(Event):
    name = "test.Custom"

    def __init__(self, text: str = "") -> None:
        self.text = text


LOG_TEXT = OpaqueFunction(function=lambda context: [LogInfo(msg=context.locals.event.text)])


def words(outcome) -> list[str]:
    return [line.split("]: ")[1] for line in outcome.screen.splitlines() if "[launch.user]" in line]


def test_handler_reacts_to_each_matching_event_with_the_event_at_hand(run):
    handler = EventHandler(matcher=lambda event: isinstance(event, Custom), entities=LOG_TEXT)

    outcome = run(
        RegisterEventHandler(handler),
        EmitEvent(event=Custom("one")),
        EmitEvent(event=Event()),
        EmitEvent(event=Custom("two")),
    )

    assert words(outcome) == ["one", "two"]


def test_handler_may_react_once_only(run):
    handler = EventHandler(
        matcher=lambda event: isinstance(event, Custom), entities=[LogInfo(msg="once")], handle_once=True
    )

    assert words(run(RegisterEventHandler(handler), *(EmitEvent(event=Custom()) for _ in range(2)))) == ["once"]


def test_handlers_registered_later_react_first_unless_appended(service, run):
    def handler(word):
        return EventHandler(matcher=lambda event: isinstance(event, Custom), entities=[LogInfo(msg=word)])

    for word in ("first", "second"):
        service.context.register_event_handler(handler(word))
    service.context.register_event_handler(handler("third"), append=True)

    assert words(run(EmitEvent(event=Custom()))) == ["second", "first", "third"]


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
        (lambda: OpaqueFunction(function="text"), "callable"),
        (lambda: TimerAction(period=None, actions=[]), "period"),
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


@pytest.mark.parametrize(("cancel", "told"), [(True, []), (False, ["after all"])])
def test_shutdown_cancels_timers_unless_told_otherwise(run, cancel, told):
    timer = TimerAction(period=0.05, actions=[LogInfo(msg="after all")], cancel_on_shutdown=cancel)

    assert words(run(timer, Shutdown())) == told


def test_timer_remembers_the_locals_of_its_visit(run):
    handler = EventHandler(
        matcher=lambda event: isinstance(event, Custom), entities=[TimerAction(period=0.0, actions=[LOG_TEXT])]
    )

    assert words(run(RegisterEventHandler(handler), EmitEvent(event=Custom("remembered")))) == ["remembered"]
