"""Launch files in Python, and those that are none."""

from __future__ import annotations

import textwrap

import pytest

from launch import InvalidLaunchFileError, LaunchContext, LaunchDescription, LaunchDescriptionSource
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    TimerAction,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    InvalidPythonLaunchFileError,
    PythonLaunchDescriptionSource,
    get_launch_description_from_any_launch_file,
    get_launch_description_from_python_launch_file,
)
from launch.substitutions import EnvironmentVariable, LaunchConfiguration


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write_file


HEAD = """
    from launch import LaunchDescription
    from launch.actions import *
    from launch.substitutions import *
    from launch.launch_description_sources import *
    def generate_launch_description():
        return LaunchDescription([{}])
"""


@pytest.mark.parametrize("source", [PythonLaunchDescriptionSource, AnyLaunchDescriptionSource, str])
def test_file_knows_where_it_is(run, write, source):
    path = write("robots/a.launch.py", HEAD.format("LogInfo(msg=['in ', ThisLaunchFileDir()])"))

    outcome = run(IncludeLaunchDescription(source(path)))

    assert outcome.code == 0
    assert f"in {path.removesuffix('/a.launch.py')}" in outcome.screen


def test_path_may_be_made_of_substitutions_and_files_include_each_other(run, write):
    write("inner.launch.py", HEAD.format("LogInfo(msg=['inner got ', LaunchConfiguration('rate')])"))
    inner = (
        "IncludeLaunchDescription([ThisLaunchFileDir(), '/inner.launch.py'], launch_arguments={'rate': '2'}.items())"
    )
    outer = write("outer.launch.py", HEAD.format(inner))

    outcome = run(
        SetLaunchConfiguration("file", "outer"),
        IncludeLaunchDescription([outer.removesuffix("outer.launch.py"), LaunchConfiguration("file"), ".launch.py"]),
    )

    assert "inner got 2" in outcome.screen


@pytest.mark.stand_in("upstream does not name the file")
def test_failing_file_is_named_and_the_processes_started_before_are_ended(run, write, python):
    path = write("broken.launch.py", "raise KeyError('no such thing')")
    start = write(
        "start.launch.py",
        HEAD.format(f"ExecuteProcess(cmd={python('import os; os.read(0, 1)')!r}), IncludeLaunchDescription({path!r})"),
    )

    outcome = run(IncludeLaunchDescription(start))

    assert outcome.code == 1
    assert path in outcome.screen
    assert "KeyError: 'no such thing'" in outcome.screen


@pytest.mark.parametrize("name", ["a.launch.xml", "a.launch.yaml", "a.yml"])
@pytest.mark.stand_in("upstream reads them")
def test_files_of_other_front_ends_are_refused_by_name(write, name):
    with pytest.raises(InvalidLaunchFileError, match=rf"{name}.*(XML|YAML).*stand-in"):
        get_launch_description_from_any_launch_file(write(name, "<launch/>"))


def test_file_without_the_function_is_refused(write):
    path = write("empty.launch.py", "x = 1")

    with pytest.raises(InvalidPythonLaunchFileError, match=r"empty\.launch\.py.*generate_launch_description"):
        get_launch_description_from_python_launch_file(path)


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


def test_default_is_used_only_where_nothing_is_set():
    context = LaunchContext()
    context.launch_configurations.update(rate="2")

    DeclareLaunchArgument("rate", default_value="1").visit(context)
    DeclareLaunchArgument("twice", default_value=["x", LaunchConfiguration("rate")]).visit(context)

    assert context.launch_configurations == {"rate": "2", "twice": "x2"}


def test_arguments_are_found_through_groups_and_inclusions_but_once():
    inner = LaunchDescription([DeclareLaunchArgument("inner"), DeclareLaunchArgument("outer", default_value="2")])
    conditional = GroupAction([DeclareLaunchArgument("maybe")], condition=IfCondition("true"))
    description = LaunchDescription(
        [
            DeclareLaunchArgument("outer", default_value="1"),
            GroupAction([IncludeLaunchDescription(LaunchDescriptionSource(inner))]),
            TimerAction(period=1.0, actions=[conditional]),
        ]
    )

    found = {argument.name: argument for argument in description.get_launch_arguments()}

    assert list(found) == ["outer", "inner", "maybe"]
    assert found["outer"].default_value[0].text == "1"
    assert [found[name]._conditionally_included for name in found] == [False, False, True]


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


def test_opaque_function_gets_context_and_arguments_and_yields_entities(run):
    def function(context, *args, **kwargs):
        return [LogInfo(msg=f"{context.launch_configurations['a']} {args} {kwargs}")]

    outcome = run(
        SetLaunchConfiguration("a", "1"), OpaqueFunction(function=function, args=[2, "x"], kwargs={"key": "value"})
    )

    assert "1 (2, 'x') {'key': 'value'}" in outcome.screen
