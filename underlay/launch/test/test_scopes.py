"""Where launch configurations and environment variables are seen."""

from __future__ import annotations

import os
import re

import pytest

from launch.actions import (
    AppendEnvironmentVariable,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    PopEnvironment,
    PopLaunchConfigurations,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    UnsetEnvironmentVariable,
    UnsetLaunchConfiguration,
)
from launch.conditions import IfCondition
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, TextSubstitution


def tell(label: str) -> LogInfo:
    a, b, env = (
        LaunchConfiguration("a", default="-"),
        LaunchConfiguration("b", default="-"),
        EnvironmentVariable("SCOPE_TEST", default_value="-"),
    )
    return LogInfo(msg=[label, "=", a, b, env])


@pytest.fixture
def tells(run):
    def told(*entities):
        outcome = run(SetLaunchConfiguration("a", "1"), SetEnvironmentVariable("SCOPE_TEST", "x"), *entities)
        assert outcome.code == 0, outcome.screen
        return dict(line.split("]: ")[1].split("=") for line in outcome.screen.splitlines() if "launch.user" in line)

    return told


CHANGES = [
    SetLaunchConfiguration("a", "2"),
    SetLaunchConfiguration("b", "3"),
    SetEnvironmentVariable("SCOPE_TEST", "y"),
]


def test_group_keeps_what_its_actions_set_to_itself(tells):
    assert tells(GroupAction([tell("before"), *CHANGES, tell("in")]), tell("after")) == {
        "before": "1-x",
        "in": "23y",
        "after": "1-x",
    }


def test_group_without_scope_lets_it_out(tells):
    assert tells(GroupAction(CHANGES, scoped=False), tell("after")) == {"after": "23y"}


def test_launch_configurations_of_a_group_are_set_within_it(tells):
    group = GroupAction([tell("in")], launch_configurations={"a": ["2", LaunchConfiguration("a")], "b": "4"})

    assert tells(group, tell("after")) == {"in": "214x", "after": "1-x"}


def test_launch_configurations_of_a_group_without_scope_stay(tells):
    assert tells(GroupAction([], scoped=False, launch_configurations={"b": "4"}), tell("after")) == {"after": "14x"}


def test_group_that_does_not_forward_inherits_nothing_but_what_it_names(tells):
    group = GroupAction([tell("in")], forwarding=False, launch_configurations={"b": ["4", LaunchConfiguration("a")]})

    assert tells(group, tell("after")) == {"in": "-41-", "after": "1-x"}


def test_groups_nest(tells):
    inner = GroupAction([SetLaunchConfiguration("b", "5"), tell("inner")])

    assert tells(GroupAction([SetLaunchConfiguration("a", "2"), inner, tell("outer")])) == {
        "inner": "25x",
        "outer": "2-x",
    }


def test_group_whose_condition_is_not_met_does_nothing(tells):
    assert tells(GroupAction([tell("in")], condition=IfCondition("false")), tell("after")) == {"after": "1-x"}


def test_unsetting_is_fine_for_what_is_not_set(tells):
    removals = [
        UnsetLaunchConfiguration("a"),
        UnsetLaunchConfiguration("a"),
        UnsetEnvironmentVariable("SCOPE_TEST"),
        UnsetEnvironmentVariable("SCOPE_TEST"),
    ]

    assert tells(*removals, tell("after")) == {"after": "---"}


def test_environment_variables_are_appended_and_prepended_to(tells):
    told = tells(
        AppendEnvironmentVariable("SCOPE_TEST", "end"),
        AppendEnvironmentVariable("SCOPE_TEST", "begin", prepend=TextSubstitution(text="true"), separator="+"),
        tell("after"),
        UnsetEnvironmentVariable("SCOPE_TEST"),
        AppendEnvironmentVariable("SCOPE_TEST", "only"),
        tell("again"),
    )

    assert told == {"after": f"1-begin+x{os.pathsep}end", "again": "1-only"}


@pytest.mark.parametrize("pop", [PopEnvironment, PopLaunchConfigurations])
def test_ending_a_scope_that_was_not_begun_fails(run, pop):
    outcome = run(pop())

    assert outcome.code == 1
    assert re.search("popped|stack unexpectedly empty", outcome.screen)


def test_opaque_function_gets_context_and_arguments_and_yields_entities(run):
    def function(context, *args, **kwargs):
        return [LogInfo(msg=f"{context.launch_configurations['a']} {args} {kwargs}")]

    outcome = run(
        SetLaunchConfiguration("a", "1"), OpaqueFunction(function=function, args=[2, "x"], kwargs={"key": "value"})
    )

    assert "1 (2, 'x') {'key': 'value'}" in outcome.screen
