"""What conditions decide."""

from __future__ import annotations

import pytest

from launch import LaunchContext
from launch.actions import LogInfo
from launch.conditions import (
    IfCondition,
    InvalidConditionExpressionError,
    LaunchConfigurationEquals,
    LaunchConfigurationNotEquals,
    UnlessCondition,
    evaluate_condition_expression,
)
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions


@pytest.fixture
def context():
    context = LaunchContext()
    context.launch_configurations["mode"] = "bag"
    return context


@pytest.mark.parametrize(
    ("text", "truth"), [("true", True), (" TRUE ", True), ("1", True), ("False", False), ("0", False)]
)
def test_expression_is_read_in_any_case(context, text, truth):
    assert IfCondition(text).evaluate(context) is truth
    assert UnlessCondition(text).evaluate(context) is not truth


@pytest.mark.parametrize("text", ["", "yes", "2", "on", "truetrue"])
def test_expression_that_is_no_boolean_names_itself_and_its_origin(context, text):
    context.launch_configurations["flag"] = text
    expression = normalize_to_list_of_substitutions(LaunchConfiguration("flag"))

    named = rf"\[true, 1, false, 0\] but got '{text}'.*('flag'|LaunchConfiguration)"
    with pytest.raises(InvalidConditionExpressionError, match=named):
        evaluate_condition_expression(context, expression)


def test_expression_that_is_no_boolean_fails_the_launch(run):
    outcome = run(LogInfo(msg="never", condition=IfCondition("maybe")))

    assert outcome.code == 1
    assert "but got 'maybe'" in outcome.screen
    assert "never" not in outcome.screen


@pytest.mark.parametrize(
    ("name", "value", "equal"),
    [("mode", "bag", True), ("mode", "live", False), ("unset", None, True), ("mode", None, False)],
)
def test_launch_configuration_is_compared(context, name, value, equal):
    with pytest.warns(UserWarning, match="EqualsSubstitution"):
        conditions = LaunchConfigurationEquals(name, value), LaunchConfigurationNotEquals(name, value)

    assert [condition.evaluate(context) for condition in conditions] == [equal, not equal]


def test_actions_are_executed_only_where_their_condition_is_met(run):
    outcome = run(
        LogInfo(msg="first", condition=IfCondition("1")),
        LogInfo(msg="second", condition=UnlessCondition("1")),
        LogInfo(msg="third", condition=UnlessCondition("0")),
    )

    assert [word for word in ("first", "second", "third") if word in outcome.screen] == ["first", "third"]
