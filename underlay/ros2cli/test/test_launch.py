"""With whichever launch is installed: upstream's or the stand-in."""

import pytest

HEAD = """\
from launch import *
from launch.actions import *
from launch.conditions import *
from launch.launch_description_sources import *
from launch.substitutions import *
"""


def description(*entities):
    return f"{HEAD}\ndef generate_launch_description():\n    return LaunchDescription([{', '.join(entities)}])\n"


def process(script, *, more=""):
    return f"ExecuteProcess(cmd=['sh', '-c', {script!r}], output='screen'{more})"


DECLARED = description(
    "DeclareLaunchArgument('plain')",
    "DeclareLaunchArgument('rate', default_value='1.0', description='Speed of the clock')",
    "DeclareLaunchArgument('mode', default_value='live', choices=['live', 'bag'], description='Where to')",
    "DeclareLaunchArgument('kind', choices=['a', 'b'])",
    "IncludeLaunchDescription(PythonLaunchDescriptionSource([ThisLaunchFileDir(), '/inner.launch.py']))",
)
DESCRIBED = """\
Arguments (pass arguments as '<name>:=<value>'):

    'plain':
        no description given

    'rate':
        Speed of the clock
        (default: '1.0')

    'mode':
        Where to. Valid choices are: ['live', 'bag']
        (default: 'live')

    'kind':
        One of: ['a', 'b']
"""


@pytest.mark.parametrize("words", [["demo", "outer.launch.py"], ["PATH"]])
def test_show_args_lists_the_arguments(ros2, demo_package, words):
    path = demo_package("share/demo/launch/outer.launch.py", DECLARED)
    outcome = ros2("launch", *[word.replace("PATH", str(path)) for word in words], "--show-args")
    assert (outcome.code, outcome.out) == (0, DESCRIBED)


def test_show_args_goes_through_includes_and_marks_what_is_conditional(ros2, demo_package):
    inner = demo_package(
        "share/demo/launch/inner.launch.py",
        description("DeclareLaunchArgument('deep', default_value=[LaunchConfiguration('rate'), 'x'])"),
    )
    demo_package(
        "share/demo/launch/outer.launch.py",
        description(
            f"IncludeLaunchDescription(PythonLaunchDescriptionSource({str(inner)!r}))",
            "DeclareLaunchArgument('maybe', default_value='1', condition=IfCondition('false'))",
        ),
    )
    assert ros2("launch", "-s", "demo", "outer.launch.py").out == (
        "Arguments (pass arguments as '<name>:=<value>'):\n\n"
        "    'deep':\n        no description given\n        (default: LaunchConfig('rate') + 'x')\n\n"
        "    'maybe':*\n        no description given\n        (default: '1')\n\n"
        "* argument(s) which are only used if specific conditions occur\n"
    )


def test_arguments_reach_the_launch_file_and_the_last_one_wins(start_ros2, demo_package):
    demo_package(
        "share/demo/launch/say.launch.py",
        description(
            "DeclareLaunchArgument('word', default_value='nothing')",
            "ExecuteProcess(cmd=['echo', 'said', LaunchConfiguration('word')], output='screen')",
        ),
    )
    command = start_ros2("launch", "demo", "say.launch.py", "word:=first", "word:=a:=b")
    code, out = command.finish()
    assert code == 0
    assert "said a:=b\n" in out


def test_a_launch_that_fails_is_exit_code_1(start_ros2, demo_package):
    path = demo_package("bad.launch.py", description("DeclareLaunchArgument('needed')"))
    code, out = start_ros2("launch", str(path)).finish()
    assert code == 1
    assert "needed" in out


def test_ctrl_c_ends_the_processes_and_the_launch(start_ros2, demo_package):
    script = "trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 0.05; done"
    path = demo_package("long.launch.py", description(process(script)))
    command = start_ros2("launch", str(path))
    assert "ready" in command.read_until("ready")
    command.interrupt_group()
    code, out = command.finish()
    assert "bye" in out
    assert "Traceback" not in out
    assert code in (0, 1)


def test_launch_prefix_goes_before_the_executables(start_ros2, demo_package):
    path = demo_package("prefixed.launch.py", description("ExecuteProcess(cmd=['echo', 'alone'], output='screen')"))
    out = start_ros2("launch", "--launch-prefix", "echo before", str(path)).finish()[1]
    assert "before echo alone" in out


TRACEBACK = pytest.mark.stand_in("upstream ends with a traceback")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["no_such_package", "x.launch.py"], "Package 'no_such_package' not found: "),
        pytest.param(["no/such.launch.py"], "Package 'no/such.launch.py' not found: ", marks=TRACEBACK),
        (["demo"], "file 'None' was not found in the share directory of package 'demo'"),
        (["demo", "ok.launch.py", "x=1"], "malformed launch argument 'x=1', expected format '<name>:=<value>'"),
    ],
)
def test_what_is_wrong_is_said(ros2, demo_package, words, error):
    demo_package("share/demo/ok.launch.py", description())
    outcome = ros2("launch", *words)
    assert outcome.code == 1
    assert outcome.err.startswith(error)
