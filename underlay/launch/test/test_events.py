"""Events, the handlers that react to them, and timers."""

from __future__ import annotations

import pytest

from launch import Event, EventHandler, LaunchContext
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
    UnregisterEventHandler,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnExecutionComplete, OnProcessExit, OnProcessIO, OnProcessStart, event_named
from launch.events.process import ProcessExited, ProcessStarted, ProcessStderr, ProcessStdout
from launch.substitutions import LaunchConfiguration, LocalSubstitution


class Custom(Event):
    name = "test.Custom"

    def __init__(self, text: str = "") -> None:
        self.text = text


def words(outcome) -> list[str]:
    return [line.split("]: ")[1] for line in outcome.screen.splitlines() if "[launch.user]" in line]


def test_handler_reacts_to_each_matching_event_with_the_event_at_hand(run):
    handler = EventHandler(matcher=event_named("test.Custom"), entities=LogInfo(msg=LocalSubstitution("event.text")))

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


def test_handler_that_was_unregistered_does_not_react(run):
    handler = EventHandler(matcher=lambda event: isinstance(event, Custom), entities=[LogInfo(msg="never")])

    outcome = run(RegisterEventHandler(handler), UnregisterEventHandler(handler), EmitEvent(event=Custom()))

    assert words(outcome) == []


def test_handlers_registered_later_react_first_unless_appended(service, run):
    def handler(word):
        return EventHandler(matcher=lambda event: isinstance(event, Custom), entities=[LogInfo(msg=word)])

    for word in ("first", "second"):
        service.context.register_event_handler(handler(word))
    service.context.register_event_handler(handler("third"), append=True)

    assert words(run(EmitEvent(event=Custom()))) == ["second", "first", "third"]


def test_locals_end_with_the_handling_of_an_event(run):
    def extend(context):
        context.extend_locals({"mine": 1})

    def look(context):
        return [LogInfo(msg=str(sorted({"mine", "event"}.intersection(context.get_locals_as_dict()))))]

    on_custom = EventHandler(matcher=lambda event: isinstance(event, Custom), entities=[OpaqueFunction(function=look)])

    outcome = run(
        RegisterEventHandler(on_custom),
        OpaqueFunction(function=extend),
        EmitEvent(event=Custom()),
        OpaqueFunction(function=look),
    )

    assert words(outcome) == ["['event', 'mine']", "['event']"]


def test_globals_stay_and_locals_are_read_only():
    context = LaunchContext()
    context.extend_globals({"a": 1, "b": 1})
    context.extend_locals({"b": 2})

    assert (context.locals.a, context.locals.b) == (1, 2)
    with pytest.raises(AttributeError, match=r"'c'.*a, b"):
        _ = context.locals.c
    with pytest.raises(AttributeError, match="read-only"):
        context.locals.a = 3


def test_start_and_end_of_a_process_are_told(run, python):
    action = ExecuteProcess(cmd=python("raise SystemExit(3)"))
    told = []
    start = OnProcessStart(target_action=action, on_start=lambda event, context: told.append(event))
    end = OnProcessExit(target_action=action, on_exit=lambda event, context: told.append(event))

    run(RegisterEventHandler(start), RegisterEventHandler(end), action)

    assert [type(event) for event in told] == [ProcessStarted, ProcessExited]
    assert {event.pid for event in told} == {action.process_details["pid"]}
    assert told[-1].returncode == 3


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


def test_handler_without_target_reacts_to_any_process(run, python):
    names = []
    handler = OnProcessExit(on_exit=lambda event, context: names.append(event.process_name.split("-")[0]))

    run(RegisterEventHandler(handler), *(ExecuteProcess(cmd=python("pass"), name=name) for name in "ab"))

    assert sorted(names) == ["a", "b"]


def test_completion_of_an_action_is_told(run, python):
    process = ExecuteProcess(cmd=python("print('late')"), name="talker", output="screen")
    skipped = LogInfo(msg="skipped", condition=IfCondition("0"))
    info = LogInfo(msg="info")

    outcome = run(
        *(
            RegisterEventHandler(OnExecutionComplete(target_action=action, on_completion=[LogInfo(msg=word)]))
            for action, word in ((process, "process done"), (skipped, "never"), (info, "info done"))
        ),
        process,
        skipped,
        info,
    )

    assert words(outcome) == ["info", "info done", "process done"]
    assert outcome.screen.index("late") < outcome.screen.index("process done")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OnProcessExit(target_action="talker", on_exit=[]), "ExecuteLocal"),
        (lambda: OnProcessExit(on_exit=["text"]), "(?i)entit"),
        (lambda: OpaqueFunction(function="text"), "callable"),
        (lambda: TimerAction(period=None, actions=[]), "period"),
    ],
)
def test_wrong_types_are_refused_at_once(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_only_events_can_be_emitted():
    with pytest.raises(RuntimeError, match="event"):
        EmitEvent(event="text")


def test_timer_waits_for_its_period(run):
    outcome = run(
        TimerAction(period=0.05, actions=[LogInfo(msg="later")]),
        TimerAction(period=LaunchConfiguration("unset", default="0.0"), actions=[LogInfo(msg="soon")]),
        LogInfo(msg="now"),
    )

    assert words(outcome) == ["now", "soon", "later"]


def test_timer_that_is_cancelled_does_nothing(run):
    timer = TimerAction(period=3600.0, actions=[LogInfo(msg="never")])
    before = TimerAction(period=0.0, actions=[LogInfo(msg="never")])
    before.cancel()

    assert words(run(timer, before, OpaqueFunction(function=lambda context: timer.cancel()))) == []


@pytest.mark.parametrize(("cancel", "told"), [(True, []), (False, ["after all"])])
def test_shutdown_cancels_timers_unless_told_otherwise(run, cancel, told):
    timer = TimerAction(period=0.05, actions=[LogInfo(msg="after all")], cancel_on_shutdown=cancel)

    assert words(run(timer, Shutdown())) == told


def test_timer_remembers_the_locals_of_its_visit(run):
    handler = EventHandler(
        matcher=lambda event: isinstance(event, Custom),
        entities=[TimerAction(period=0.0, actions=[LogInfo(msg=LocalSubstitution("event.text"))])],
    )

    assert words(run(RegisterEventHandler(handler), EmitEvent(event=Custom("remembered")))) == ["remembered"]


def test_entities_of_handlers_and_timers_are_known_beforehand():
    info = LogInfo(msg="x")
    handler = RegisterEventHandler(OnProcessExit(on_exit=[info]))
    timer = TimerAction(period=1.0, actions=[info])
    group = GroupAction([SetLaunchConfiguration("a", "b")], condition=IfCondition("1"))

    assert [entities for _, entities in handler.describe_conditional_sub_entities()] == [[info]]
    assert timer.describe_conditional_sub_entities() == [("1.0 seconds pass without being canceled", [info])]
    assert group.describe_sub_entities() == []
    assert len(group.describe_conditional_sub_entities()) == 1
