"""What substitutions stand for."""

from __future__ import annotations

import os
import sys

import pytest

from launch import LaunchContext, Substitution
from launch.substitutions import (
    AllSubstitution,
    AndSubstitution,
    AnySubstitution,
    Command,
    EnvironmentVariable,
    EqualsSubstitution,
    FindExecutable,
    IfElseSubstitution,
    LaunchConfiguration,
    LocalSubstitution,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFile,
    ThisLaunchFileDir,
)
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions


@pytest.fixture
def context():
    context = LaunchContext()
    context.launch_configurations.update(robot="thorvald", yes="true", no="False", name_of="robot")
    context.extend_locals({"event": TextSubstitution(text="of the event")})
    return context


ROBOT = LaunchConfiguration("robot")
YES = LaunchConfiguration("yes")
NO = LaunchConfiguration("no")


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
        (LocalSubstitution("event.text"), "of the event"),
        (NotSubstitution(YES), "false"),
        (NotSubstitution("0"), "true"),
        (AndSubstitution(YES, NO), "false"),
        (OrSubstitution(YES, NO), "true"),
        (AllSubstitution(YES, "true", "1"), "true"),
        (AnySubstitution(NO, "false", "0"), "false"),
        (EqualsSubstitution(ROBOT, "thorvald"), "true"),
        (EqualsSubstitution("1.0", 1), "true"),
        (EqualsSubstitution(YES, True), "true"),
        (EqualsSubstitution(None, ""), "true"),
        (EqualsSubstitution("1", "one"), "false"),
        (NotEqualsSubstitution(ROBOT, "husky"), "true"),
        (IfElseSubstitution(YES, if_value=ROBOT, else_value=LaunchConfiguration("unset")), "thorvald"),
        (IfElseSubstitution(NO, "a"), ""),
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
        (FindExecutable(name="no-such-program"), r"'(no-such-program|.*TextSubstitution.*)' not found on the PATH"),
        (NotSubstitution("maybe"), "maybe"),
        (AllSubstitution("false", "maybe"), "maybe"),
        (ThisLaunchFile(), "outside of a launch file"),
        (ThisLaunchFileDir(), "outside of a launch file"),
    ],
)
def test_failure_is_named(context, substitution, message):
    with pytest.raises(SubstitutionFailure, match=message):
        substitution.perform(context)


def test_environment_is_read_at_the_time_of_the_visit(context):
    substitution = EnvironmentVariable("SET_LATER")
    os.environ["SET_LATER"] = "now"

    assert substitution.perform(context) == "now"


def test_executable_on_the_path_is_found(context):
    os.environ["PATH"] = os.path.dirname(sys.executable)

    assert FindExecutable(name=os.path.basename(sys.executable)).perform(context) == sys.executable


WARNS = ["python3", " -S -c 'import sys; print(1); print(2, file=sys.stderr)'"]


class TestCommand:
    def test_output_is_the_text(self, context):
        assert Command(["python3", " -S -c 'print(1 + 1)'"]).perform(context) == "2\n"

    @pytest.mark.parametrize(("on_stderr", "text"), [("ignore", "1\n"), ("warn", "1\n")])
    def test_stderr_may_be_let_pass(self, context, on_stderr, text):
        assert Command(WARNS, on_stderr=on_stderr).perform(context) == text

    def test_stderr_may_be_captured(self, context):
        assert sorted(Command(WARNS, on_stderr="capture").perform(context).split()) == ["1", "2"]

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (Command(WARNS), "showed stderr output.*\n.*\n2"),
            (Command(WARNS, on_stderr="whatever"), "on_stderr.*(whatever|to be one of)"),
            (Command(["python3", " -S -c 'raise SystemExit(3)'"]), "command failed"),
            (Command("no-such-program"), "file not found"),
        ],
    )
    def test_failure_is_named(self, context, command, message):
        with pytest.raises(SubstitutionFailure, match=message):
            command.perform(context)


def test_texts_and_substitutions_in_a_list_make_one_text(context):
    assert perform_substitutions(context, normalize_to_list_of_substitutions(["a", ROBOT, "b"])) == "athorvaldb"


@pytest.mark.parametrize("wrong", [1, [1], ["a", ["b"]]])
def test_what_is_no_substitution_is_refused(wrong):
    with pytest.raises(TypeError):
        normalize_to_list_of_substitutions(wrong)


def test_conditional_without_any_value_is_refused():
    with pytest.raises(RuntimeError, match="if_value"):
        IfElseSubstitution("true")
