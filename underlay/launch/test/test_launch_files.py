"""Launch files in Python, and those that are none."""

from __future__ import annotations

import textwrap

import pytest

from launch import InvalidLaunchFileError
from launch.actions import GroupAction, IncludeLaunchDescription, SetLaunchConfiguration
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    InvalidPythonLaunchFileError,
    PythonLaunchDescriptionSource,
    get_launch_description_from_any_launch_file,
    get_launch_description_from_python_launch_file,
)
from launch.substitutions import LaunchConfiguration


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
    path = write("robots/a.launch.py", HEAD.format("LogInfo(msg=[ThisLaunchFile(), ' in ', ThisLaunchFileDir()])"))

    outcome = run(IncludeLaunchDescription(source(path)))

    assert outcome.code == 0
    assert f"{path} in {path.removesuffix('/a.launch.py')}" in outcome.screen


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


def test_group_around_an_inclusion_keeps_its_arguments_in(run, write):
    path = write("inner.launch.py", HEAD.format("DeclareLaunchArgument('rate', default_value='1')"))
    after = write(
        "after.launch.py", HEAD.format("LogInfo(msg=['rate ', LaunchConfiguration('rate', default='unset')])")
    )

    outcome = run(GroupAction([IncludeLaunchDescription(path)]), IncludeLaunchDescription(after))

    assert "rate unset" in outcome.screen


def test_file_is_executed_once_per_inclusion(run, write, tmp_path):
    path = write(
        "count.launch.py",
        f"""
        from launch import LaunchDescription
        def generate_launch_description():
            with open({str(tmp_path / "count")!r}, "a") as file:
                file.write("x")
            return LaunchDescription([])
        """,
    )

    run(IncludeLaunchDescription(path))

    assert (tmp_path / "count").read_text() == "x"


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


def test_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidLaunchFileError, match=r"nowhere\.launch\.py"):
        get_launch_description_from_any_launch_file(str(tmp_path / "nowhere.launch.py"))


def test_file_without_the_function_is_refused(write):
    path = write("empty.launch.py", "x = 1")

    with pytest.raises(InvalidPythonLaunchFileError, match=r"empty\.launch\.py.*generate_launch_description"):
        get_launch_description_from_python_launch_file(path)


def test_description_is_had_without_a_launch_if_the_path_is_known(write):
    path = write("a.launch.py", HEAD.format("DeclareLaunchArgument('rate')"))

    known = PythonLaunchDescriptionSource(path).try_get_launch_description_without_context()
    unknown = PythonLaunchDescriptionSource(LaunchConfiguration("x")).try_get_launch_description_without_context()

    assert known is not None
    assert [argument.name for argument in known.get_launch_arguments()] == ["rate"]
    assert unknown is None


def test_deprecated_file_warns_with_the_reason(run, write):
    path = write(
        "old.launch.py",
        """
        from launch import LaunchDescription
        def generate_launch_description():
            return LaunchDescription([], deprecated_reason="use the new one")
        """,
    )

    outcome = run(IncludeLaunchDescription(path))

    warnings = [line for line in outcome.screen.splitlines() if line.startswith("[WARNING]")]
    assert [line.partition("]: ")[2] for line in warnings] == [f"launch file [{path}] is deprecated: use the new one"]
