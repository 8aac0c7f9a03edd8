"""How launches of AMEDS end: at the end of the archive, by Ctrl-C, and with an archive that is not there."""

import signal
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # a plain `launch_test` does not look beside its file

import pytest

import launch_testing
import launch_testing.asserts
import launch_testing.markers
from helpers.audience import PATIENCE_S, Audience
from helpers.launch_ending import TELLS_ITS_PLACE, assert_it_ends, said
from helpers.tiny_ameds import TinyAmeds
from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch.events import matches_action
from launch.events.process import SignalProcess
from launch_testing.actions import ReadyToTest
from launch_testing.util import KeepAliveProc


def launched(archive: Path, namespace: str, *arguments: str) -> ExecuteProcess:
    """`ros2 launch` as a user types it."""
    command = ["ros2", "launch", "fieldplay_bringup", "ameds.launch.py", f"archive:={archive}", "images:=compressed"]
    apart = [f"namespace:={namespace}", f"frame_prefix:={namespace}/"]
    return ExecuteProcess(cmd=[*command, *apart, *arguments], additional_env=TELLS_ITS_PLACE)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5")
    archive.write_all()
    launches = {
        "to_the_end": launched(archive.root, "to_the_end", "rate:=4.0", "on_end:=exit"),
        "interrupted": launched(archive.root, "interrupted", "loop:=true"),
        "nothing": launched(archive.root / "nothing", "nothing"),
    }
    return LaunchDescription([*launches.values(), KeepAliveProc(), ReadyToTest()]), {**launches, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def test_the_end_of_the_archive_ends_the_launch(
        self, proc_info: Any, proc_output: Any, to_the_end: ExecuteProcess
    ) -> None:
        assert_it_ends(proc_info, proc_output, to_the_end)

    def test_ctrl_c_ends_the_launch(
        self, launch_service: Any, proc_info: Any, proc_output: Any, interrupted: ExecuteProcess
    ) -> None:
        proc_output.assertWaitFor("again and again", process=interrupted, timeout=PATIENCE_S, stream="stdout")
        audience = Audience("interrupted")
        self.addCleanup(audience.close)
        audience.hear("/interrupted/wheels/odom", "nav_msgs/msg/Odometry")
        audience.wait(lambda: audience.count("/interrupted/wheels/odom") > 0, lambda: "no odometry")
        launch_service.emit_event(
            SignalProcess(signal_number=signal.SIGINT, process_matcher=matches_action(interrupted))
        )
        assert_it_ends(proc_info, proc_output, interrupted)

    def test_an_archive_that_is_not_there_ends_the_launch(
        self, proc_info: Any, proc_output: Any, nothing: ExecuteProcess
    ) -> None:
        assert_it_ends(proc_info, proc_output, nothing)


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_a_launch_that_came_to_its_end_has_done_well(
        self, proc_info: Any, proc_output: Any, to_the_end: ExecuteProcess, folder: Any
    ) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info, process=to_the_end)
        told = said(proc_output, to_the_end)
        self.assertIn("published 3489 messages on 29 topics, skipped 0", told)
        self.assertNotIn("has died", told)

    def test_a_launch_that_was_interrupted_has_ended_all_its_processes_well(
        self, proc_output: Any, interrupted: ExecuteProcess
    ) -> None:
        told = said(proc_output, interrupted)
        self.assertNotIn("Traceback", told)
        self.assertNotIn("has died", told)
        self.assertEqual(told.count("process has finished cleanly"), told.count("process started with pid"))

    def test_an_archive_that_is_not_there_is_said(
        self, proc_info: Any, proc_output: Any, nothing: ExecuteProcess
    ) -> None:
        launch_testing.asserts.assertExitCodes(proc_info, [0, 1], process=nothing)  # 0 by ROS 2's own launch
        told = said(proc_output, nothing)
        self.assertIn("Traverse_5/nothing: there is no such folder or file", told)
        self.assertNotIn("process started", told)
        self.assertNotIn("Traceback", told)
