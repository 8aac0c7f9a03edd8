"""The command launch_test, on files, as a process of its own."""

import re
import subprocess
import sys

import pytest

GREETER = """
import sys
import unittest

import launch
import launch.actions
import launch.substitutions
import launch_testing
import launch_testing.actions
import launch_testing.asserts
import launch_testing.markers


@launch_testing.markers.keep_alive
def generate_test_description():
    code = "import sys; print('hello', sys.argv[1])"
    argument = launch.substitutions.LaunchConfiguration("whom")
    greeter = launch.actions.ExecuteProcess(cmd=[sys.executable, "-c", code, argument])
    whom = launch.actions.DeclareLaunchArgument("whom", default_value="world", description="Who is greeted")
    return launch.LaunchDescription([whom, greeter, launch_testing.actions.ReadyToTest()]), {"greeter": greeter}


class TestGreeter(unittest.TestCase):
    def test_greets_the_world(self, proc_output, proc_info, greeter):
        proc_info.assertWaitForShutdown(greeter)
        proc_output.assertWaitFor("hello world", greeter, stream="stdout", timeout=0)


@launch_testing.post_shutdown_test()
class TestGreeterEnd(unittest.TestCase):
    def test_ends_well(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
"""


@pytest.fixture
def launch_test(tmp_path):
    """Run launch_test on the text of a file, with further arguments."""

    def run(text, *arguments):
        path = tmp_path / "greeter_launch_test.py"
        path.write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "launch_testing.launch_test", str(path), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (("whom:=nobody",), 1),
        pytest.param(("-v", "whom:=x"), 1, marks=pytest.mark.stand_in("upstream's options stand before the file")),
    ],
)
def test_exit_code_reports_whether_the_tests_passed(launch_test, arguments, code):
    done = launch_test(GREETER, *arguments)

    assert done.returncode == code, done.stderr
    assert ("FAIL: test_greets_the_world" in done.stderr) == bool(code)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no (generate_test_description|attribute 'generate_test_description')"),
        ("raise OSError('nothing here')", "nothing here"),
        ("def generate_test_description(extra): ...", "unexpected extra argument 'extra'"),
        ("def generate_test_description(): ...", "containing a ReadyToTest action|'NoneType' object"),
    ],
    ids=["no description", "not importable", "bad parameters", "not ready"],
)
def test_what_cannot_be_run_exits_with_2(launch_test, text, message):
    done = launch_test(text)
    assert done.returncode == 2
    assert re.search(message, done.stderr)
