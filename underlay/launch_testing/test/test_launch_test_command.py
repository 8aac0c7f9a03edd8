"""The command launch_test, on files, as a process of its own."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

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


def test_passing_tests_exit_with_0_and_are_reported(launch_test, tmp_path):
    report = tmp_path / "report.xml"
    done = launch_test(GREETER, f"--junit-xml={report}", "--package-name", "greetings")
    assert done.returncode == 0, done.stderr
    root = ET.parse(report).getroot()
    assert root.get("name") == "greetings.greeter_launch_test"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "0", "0")
    assert root.find("testsuite").get("name") == "greetings.greeter_launch_test.launch_tests"
    assert {(case.get("classname"), case.get("name")) for case in root.iter("testcase")} == {
        ("greetings.TestGreeter", "test_greets_the_world"),
        ("greetings.TestGreeterEnd", "test_ends_well"),
    }


BETWEEN = pytest.mark.stand_in("upstream's options stand before the file, or behind its arguments")


@pytest.mark.parametrize("is_between", [False, pytest.param(True, marks=BETWEEN)])
def test_a_failing_test_exits_with_1_and_is_told(launch_test, tmp_path, is_between):
    report = tmp_path / "report.xml"
    options = ("--junit-xml", str(report))
    done = launch_test(GREETER, *((*options, "whom:=nobody") if is_between else ("whom:=nobody", *options)))
    assert done.returncode == 1
    assert "FAIL: test_greets_the_world" in done.stderr
    root = ET.parse(report).getroot()
    assert root.get("failures") == "1"
    (failure,) = root.iter("failure")
    assert "hello world" in (failure.text or failure.get("message"))


def test_processes_that_die_early_exit_with_1_and_are_told(launch_test):
    text = GREETER.replace("@launch_testing.markers.keep_alive", "").replace("timeout=0", "timeout=600")
    done = launch_test(text, "whom:=x")
    assert done.returncode == 1
    assert "exited with code 0" in done.stdout or "stopped before tests completed" in done.stdout


def test_arguments_are_listed_without_launching(launch_test):
    done = launch_test(GREETER, "--show-args")
    assert done.returncode == 0, done.stderr
    for word in ("whom", "Who is greeted", "world"):
        assert word in done.stdout
    assert "TestGreeter" not in done.stderr


def test_a_test_without_arguments_says_so(launch_test):
    text = GREETER.replace("[whom, greeter,", "[")
    assert "No arguments." in launch_test(text, "-s").stdout


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


@pytest.mark.stand_in("upstream's main takes no arguments")
def test_a_missing_file_exits_with_2(tmp_path):
    from launch_testing.launch_test import main

    with pytest.raises(SystemExit) as stop:
        main([str(tmp_path / "missing.py")])
    assert stop.value.code == 2
