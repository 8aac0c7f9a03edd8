"""A whole ROS launch test: a node in a process of its own, heard by the tests, under pytest and launch_test."""

import os
import subprocess
import sys

import pytest

LAUNCH_TEST = '''
import sys
import unittest

import launch
import launch.actions
import launch_testing
import launch_testing.actions
import launch_testing.asserts
import pytest
from launch_testing_ros import WaitForTopics
from std_msgs.msg import String

NODE = """
import rclpy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node("talker")
publisher = node.create_publisher(String, "chatter", 10)
node.create_timer(0.05, lambda: publisher.publish(String(data="hello")))
try:
    rclpy.spin(node)
except KeyboardInterrupt:
    print("ended well", flush=True)
"""


@pytest.mark.rostest
def generate_test_description():
    talker = launch.actions.ExecuteProcess(cmd=[sys.executable, "-c", NODE], name="talker")
    return launch.LaunchDescription([talker, launch_testing.actions.ReadyToTest()]), {"talker": talker}


class TestTalker(unittest.TestCase):
    def test_talks(self):
        with WaitForTopics([("TOPIC", String)], timeout=TIMEOUT) as heard:
            self.assertEqual(heard.received_messages("chatter")[0].data, "hello")


@launch_testing.post_shutdown_test()
class TestTalkerEnd(unittest.TestCase):
    def test_ends(self, proc_info, proc_output, talker):
        launch_testing.asserts.assertExitCodes(proc_info, process=talker)
        launch_testing.asserts.assertInStdout(proc_output, "ended well", talker)
'''


@pytest.fixture
def run(tmp_path):
    """Run a command on the file of the launch test, waiting for a topic."""

    def run_on(*command, topic="chatter", timeout=15.0):
        path = tmp_path / "test_talker.py"
        path.write_text(LAUNCH_TEST.replace("TOPIC", topic).replace("TIMEOUT", str(timeout)))
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            [sys.executable, "-m", *command, str(path)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run_on


PYTEST = (
    *("pytest", "--strict-markers", "--rootdir=.", "-p", "no:cacheprovider"),
    *("-p", "launch_testing.pytest.hooks", "-p", "launch_testing_ros_pytest_entrypoint"),
)


def test_a_ros_launch_test_passes_as_one_item(run):
    done = run(*PYTEST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_topic_that_stays_silent_fails_it(run):
    done = run(*PYTEST, topic="nothing", timeout=0.2)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ERROR: test_talks" in done.stdout
    assert "Did not receive messages on these topics: ['nothing']" in done.stdout


def test_launch_test_runs_it_too(run):
    done = run("launch_testing.launch_test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_runner_is_the_one_of_this_package():
    from launch_testing_ros import LaunchTestRunner
    from launch_testing_ros.pytest.hooks import LaunchROSTestItem

    assert "LaunchROSTestItem" in LaunchROSTestItem.__name__
    assert LaunchTestRunner([]).run() == {}


def test_the_plugin_imports_no_ros_unless_a_test_is_marked():
    code = (
        "import sys, launch_testing_ros_pytest_entrypoint as plugin; "
        "plugin.pytest_launch_collect_makemodule(None, None, print); print('rclpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
