"""Declaring launch arguments, and passing them to included descriptions."""

from __future__ import annotations

import pytest

from launch import LaunchContext, LaunchDescription, LaunchDescriptionSource
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    ResetLaunchConfigurations,
    TimerAction,
)
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration


def test_required_argument_that_is_missing_is_named(run):
    outcome = run(DeclareLaunchArgument("archive", description="where the data is"))

    assert outcome.code == 1
    assert '"archive"' in outcome.screen
    assert "where the data is" in outcome.screen


def test_value_outside_of_the_choices_is_named_with_argument_and_choices(run, service):
    service.context.launch_configurations["mode"] = "fast"

    outcome = run(DeclareLaunchArgument("mode", choices=["live", "bag"]))

    assert outcome.code == 1
    assert "\"mode\" provided value \"fast\" is not valid. Valid options are: ['live', 'bag']" in outcome.screen


def test_default_outside_of_the_choices_is_refused_at_once():
    with pytest.raises(RuntimeError, match=r"fast.*live"):
        DeclareLaunchArgument("mode", default_value="fast", choices=["live", "bag"])


def test_empty_choices_are_refused():
    with pytest.raises(RuntimeError, match=r"mode|choices arg"):
        DeclareLaunchArgument("mode", choices=[])


def test_default_is_used_only_where_nothing_is_set():
    context = LaunchContext()
    context.launch_configurations.update(rate="2")

    DeclareLaunchArgument("rate", default_value="1").visit(context)
    DeclareLaunchArgument("twice", default_value=["x", LaunchConfiguration("rate")]).visit(context)

    assert context.launch_configurations == {"rate": "2", "twice": "x2"}


def test_description_tells_the_choices():
    assert DeclareLaunchArgument("a").description == "no description given"
    assert DeclareLaunchArgument("a", choices=["x"]).description == "One of: ['x']"
    assert DeclareLaunchArgument("a", description="Which.", choices=["x"]).description == (
        "Which. Valid choices are: ['x']"
    )


def test_arguments_are_found_through_groups_and_inclusions_but_once():
    inner = LaunchDescription([DeclareLaunchArgument("inner"), DeclareLaunchArgument("outer", default_value="2")])
    conditional = GroupAction([DeclareLaunchArgument("maybe")], condition=IfCondition("true"))
    description = LaunchDescription(
        [
            DeclareLaunchArgument("outer", default_value="1"),
            GroupAction([IncludeLaunchDescription(LaunchDescriptionSource(inner))]),
            TimerAction(period=1.0, actions=[conditional]),
            ResetLaunchConfigurations(),
            DeclareLaunchArgument("unreachable"),
        ]
    )

    found = {argument.name: argument for argument in description.get_launch_arguments()}

    assert list(found) == ["outer", "inner", "maybe"]
    assert found["outer"].default_value[0].text == "1"
    assert [found[name]._conditionally_included for name in found] == [False, False, True]


def test_inclusions_that_lead_to_an_argument_are_reported():
    include = IncludeLaunchDescription(LaunchDescriptionSource(LaunchDescription([DeclareLaunchArgument("inner")])))
    description = LaunchDescription([DeclareLaunchArgument("outer"), include])

    pairs = description.get_launch_arguments_with_include_launch_description_actions()

    assert [(argument.name, includes) for argument, includes in pairs] == [("outer", None), ("inner", [include])]


def test_inclusion_without_a_required_argument_names_it_and_what_was_given(run):
    inner = LaunchDescriptionSource(LaunchDescription([DeclareLaunchArgument("archive", description="data")]))

    outcome = run(IncludeLaunchDescription(inner, launch_arguments=[("rate", "2")]))

    assert outcome.code == 1
    assert "missing required argument 'archive' (description: 'data'), given: [rate]" in outcome.screen


@pytest.mark.stand_in("upstream finds out when it is visited, or never")
def test_arguments_of_an_inclusion_that_are_no_pairs_are_refused():
    with pytest.raises(TypeError, match="items"):
        IncludeLaunchDescription("x.launch.py", launch_arguments={"rate": "2"})


def test_inclusion_passes_arguments_even_those_not_declared(run):
    inner = LaunchDescriptionSource(
        LaunchDescription(
            [
                DeclareLaunchArgument("rate"),
                LogInfo(msg=["rate ", LaunchConfiguration("rate"), " extra ", LaunchConfiguration("extra")]),
            ]
        )
    )

    outcome = run(
        IncludeLaunchDescription(inner, launch_arguments={"rate": "2", "extra": ["a", "b"]}.items()),
        LogInfo(msg=["after: ", LaunchConfiguration("rate")]),
    )

    assert outcome.code == 0
    assert "[INFO] [launch.user]: rate 2 extra ab" in outcome.screen
    assert "after: 2" in outcome.screen
