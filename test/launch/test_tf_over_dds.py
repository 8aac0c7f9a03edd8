"""Two processes that know nothing of each other share a tf tree over DDS."""

import sys
import unittest
from pathlib import Path

import pytest

import launch_testing
from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from launch_testing.io_handler import ActiveIoHandler
from launch_testing.proc_info_handler import ActiveProcInfoHandler, ProcInfoHandler

NODES = Path(__file__).parents[1] / "support" / "nodes"


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, ExecuteProcess]]:
    talker = ExecuteProcess(cmd=[sys.executable, str(NODES / "tf_talker.py")], name="talker")
    listener = ExecuteProcess(cmd=[sys.executable, str(NODES / "tf_listener.py")], name="listener")
    return LaunchDescription([talker, listener, ReadyToTest()]), {"talker": talker, "listener": listener}


class WhileBothRun(unittest.TestCase):
    def test_listener_finds_chain_of_both_transforms(
        self, proc_output: ActiveIoHandler, proc_info: ActiveProcInfoHandler, listener: ExecuteProcess
    ) -> None:
        proc_output.assertWaitFor("odom -> lidar: x = 1.25", process=listener, timeout=30, stream="stdout")
        proc_info.assertWaitForShutdown(process=listener, timeout=10)


@launch_testing.post_shutdown_test()
class AfterBothEnded(unittest.TestCase):
    def test_both_end_well(self, proc_info: ProcInfoHandler) -> None:
        assertExitCodes(proc_info)
