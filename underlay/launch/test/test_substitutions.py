"""What substitutions stand for."""

from __future__ import annotations

import pytest

from launch import LaunchContext, Substitution
from launch.actions import LogInfo
from launch.conditions import (
    IfCondition,
    InvalidConditionExpressionError,
    UnlessCondition,
    evaluate_condition_expression,
)
from launch.substitutions import (
    EnvironmentVariable,
    LaunchConfiguration,
    PathJoinSubstitution,
    PythonExpression,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFileDir,
)
from launch.utilities import normalize_to_list_of_substitutions


@pytest.fixture
def context():
    context = LaunchContext()
    context.launch_configurations.update(robot="thorvald", name_of="robot")
    return context


ROBOT = LaunchConfiguration("robot")


@pytest.mark.parametrize(
    ("substitution", "text"),
    [
        (TextSubstitution(text="plain"), "plain"),
        (ROBOT, "thorvald"),
        (LaunchConfiguration(LaunchConfiguration("name_of")), "thorvald"),
        (LaunchConfiguration("unset", default=5), "5"),
        (LaunchConfiguration("unset", default=["a", ROBOT, 1.5]), "athorvald1.5"),
        (PathJoinSubstitution(["a", ROBOT, "c"]), "a/thorvald/c"),
        (PythonExpression(["1 + ", "2 * 3"]), "7"),
        (PythonExpression("cos(0) == math.cos(0)"), "True"),
        (PythonExpression("os.sep + str(sorted([2, 1]))", ["os"]), "/[1, 2]"),
        (EnvironmentVariable("UNSET_ANYWHERE", default_value=["x", ROBOT]), "xthorvald"),
    ],
    ids=lambda value: value.describe() if isinstance(value, Substitution) else None,
)
def test_text(context, substitution, text):
    assert context.perform_substitution(substitution) == text


@pytest.mark.parametrize(
    ("substitution", "message"),
    [
        (LaunchConfiguration("unset"), "'unset' does not exist"),
        (EnvironmentVariable("UNSET_ANYWHERE"), "'UNSET_ANYWHERE' does not exist"),
        (ThisLaunchFileDir(), "outside of a launch file"),
    ],
)
def test_failure_is_named(context, substitution, message):
    with pytest.raises(SubstitutionFailure, match=message):
        substitution.perform(context)


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


def test_actions_are_executed_only_where_their_condition_is_met(run):
    outcome = run(
        LogInfo(msg="first", condition=IfCondition("1")),
        LogInfo(msg="second", condition=UnlessCondition("1")),
        LogInfo(msg="third", condition=UnlessCondition("0")),
    )

    assert [word for word in ("first", "second", "third") if word in outcome.screen] == ["first", "third"]
